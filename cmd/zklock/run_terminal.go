//go:build linux || darwin

package main

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// A terminal is that from which the command may read. A nil one has no foreground.
type terminal struct{ *os.File }

// openTerminal returns the terminal if standard input and output are one. If the output is a
// pipe, the program that reads it may need the terminal, and is in this process's group.
func openTerminal() *terminal {
	if file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
		return &terminal{file}
	}
	return nil
}

// foreground returns the group of processes that has the terminal.
func (t *terminal) foreground() int {
	var group int32
	if t != nil {
		syscall.Syscall(syscall.SYS_IOCTL, t.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	}
	return int(group)
}

// give gives the terminal to another group if one has it.
func (t *terminal) give(from, to int) {
	if group := int32(to); t != nil && t.foreground() == from {
		signal.Ignore(syscall.SIGTTOU) // a process in the background gets it for that
		syscall.Syscall(syscall.SYS_IOCTL, t.Fd(), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
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
