//go:build linux || darwin

package leash

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A terminal is that from which the command may read. A nil one has no foreground.
type terminal struct{ *os.File }

// openTerminal returns the terminal if standard input and output are one. If the output is a
// pipe, the program that reads it may need the terminal, and is in this process's group.
func openTerminal() *terminal {
	if file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil && term.IsTerminal(syscall.Stdin) && term.IsTerminal(syscall.Stdout) {
		return &terminal{file}
	}
	return nil
}

// foreground returns the group of processes that has the terminal.
func (t *terminal) foreground() (group int) {
	if t != nil {
		group, _ = unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP)
	}
	return group
}

// give gives the terminal to another group if one has it.
func (t *terminal) give(from, to int) {
	if t != nil && t.foreground() == from {
		signal.Ignore(syscall.SIGTTOU) // a process in the background gets it for that
		unix.IoctlSetPointerInt(int(t.Fd()), unix.TIOCSPGRP, to)
		signal.Reset(syscall.SIGTTOU)
	}
}

const justThis, codeStopped = 1, 5 // P_PID, CLD_STOPPED

// waitFor waits for a child as waitid does, which need not reap it, and returns what has
// happened, or 0.
func waitFor(pid int, options uintptr) (code int32) {
	var info [32]int32 // siginfo_t: the signal, errno, the code
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, justThis, uintptr(pid), uintptr(unsafe.Pointer(&info)), options, 0, 0)
		if err != syscall.EINTR {
			return info[2]
		}
	}
}
