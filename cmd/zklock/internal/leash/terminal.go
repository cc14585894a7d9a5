//go:build linux || darwin

package leash

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A terminal is that from which the command may read. A nil one has no foreground.
type terminal struct{ *os.File }

// openTerminal returns the terminal if standard input and output are one. If the output is a
// pipe, the program that reads it may need the terminal, and is in this process's group.
func openTerminal() *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil && term.IsTerminal(syscall.Stdin) && term.IsTerminal(syscall.Stdout) {
		return &terminal{file}
	}
	return nil
}

// has reports whether a group of processes has the terminal.
func (t *terminal) has(group int) bool {
	if t == nil {
		return false
	}
	foreground, err := unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == group
}

// give gives the terminal to another group if one has it.
func (t *terminal) give(from, to int) {
	if t.has(from) {
		signal.Ignore(syscall.SIGTTOU) // a process in the background gets it for that
		unix.IoctlSetPointerInt(int(t.Fd()), unix.TIOCSPGRP, to)
		signal.Reset(syscall.SIGTTOU)
	}
}
