//go:build linux || darwin

package leash

import (
	"bufio"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// What the starter reports, with a number: the command's group, or its status.
const begun, stopped, warned, ended = "begun", "stopped", "warned", "ended"

// A Process is a command with all that it has started.
type Process struct {
	// Changes has a value when the command has stopped. It is closed when the command has ended, and what it has left
	// behind has, or has had SIGTERM for as long as grace is: then End is to be called.
	Changes chan struct{}
	Status  syscall.WaitStatus // of the command, after End
	Warned  bool               // after End: it got SIGTERM because less than grace was left of the lease
	Ended   atomic.Bool        // by itself, or by a signal: it was not killed with its starter

	watcher
	started bool
	begun   chan int   // the command's group, once
	ends    []*os.File // where the processes below are told the end of the lease; nothing else closes them
	told    time.Time  // that end
	tty     *terminal  // nil: none
}

// New returns a command that gets SIGTERM when less than grace is left of a lease, and SIGKILL when less
// than margin is left.
func New(program string, command []string, grace, margin time.Duration) *Process {
	return &Process{
		Changes: make(chan struct{}), Status: syscall.WaitStatus(syscall.SIGKILL), begun: make(chan int, 1),
		watcher: watcher{plan: plan{Grace: grace, Margin: margin, Program: program, Command: command}, gone: make(chan struct{})},
	}
}

// Start starts the command in a group of its own, and the guards. Of the lease until returns the end, or zero if it is
// over. The command begins when they know the end, and more than grace is left. If this process ends before, it does
// not begin.
func (p *Process) Start(until func() time.Time) error {
	if err := adopt(); err != nil {
		return err
	}
	p.tty = openTerminal()
	p.Foreground = p.tty.has(syscall.Getpgrp())
	reports, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	var outs []*os.File
	for range verbs {
		out, in, err := os.Pipe()
		if err != nil {
			return err
		}
		outs, p.ends = append(outs, out), append(p.ends, in)
	}
	if err := p.startNext(report, outs); err != nil {
		return fmt.Errorf("no guard: %w", err)
	}
	p.started = true
	go p.reap()
	go p.follow(reports)
	for end := until(); !end.IsZero(); end = until() { // otherwise the caller notices it, too
		if time.Until(end) > p.Grace {
			p.Extend(end)
		}
		select {
		case p.group = <-p.begun:
			p.told = time.Time{} // they are to know the group
			return nil
		case <-p.gone: // it never will
			return nil
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// follow reads the reports, until the starter has ended.
func (p *Process) follow(reports *os.File) {
	defer close(p.Changes)
	defer reports.Close()
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		var what string
		var number int
		fmt.Sscan(lines.Text(), &what, &number)
		switch what {
		case begun:
			p.begun <- number
		case stopped:
			p.Changes <- struct{}{}
		case warned:
			p.Warned = true
		case ended:
			p.Status = syscall.WaitStatus(number)
			p.Ended.Store(true)
		}
	}
}

// Signal sends a signal to all processes of the command's group.
func (p *Process) Signal(s syscall.Signal) {
	if p.group != 0 && !p.Ended.Load() {
		syscall.Kill(-p.group, s)
	}
}

// Pass passes a signal on that this process has received.
func (p *Process) Pass(s syscall.Signal) {
	switch {
	case s == syscall.SIGCONT: // by fg or bg
		p.tty.give(syscall.Getpgrp(), p.group)
	case s == syscall.SIGTSTP && p.tty == nil: // otherwise Suspend does it, once
		defer syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	p.Signal(s)
}

// Suspend stops this process when the command has stopped, as the shell expects that waits for
// it. Without a terminal no shell does.
func (p *Process) Suspend() {
	if p.tty != nil {
		p.tty.give(p.group, syscall.Getpgrp())
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// Extend tells the guards a new end of the lease: what is left of it, and the time. It is zero if the lease is over.
// It does not wait: a guard that is stopped does not read it. A deadline would not do: it may be over before the write.
func (p *Process) Extend(until time.Time) {
	if until.IsZero() || until.Equal(p.told) {
		return
	}
	p.told = until
	for _, end := range p.ends {
		if in, err := end.SyscallConn(); err == nil {
			in.Control(func(fd uintptr) {
				syscall.Write(int(fd), fmt.Appendln(nil, int64(time.Until(until)), until.UnixNano(), p.group))
			})
		}
	}
}

// End kills what is left of the command, of all that it has started, and of the guards. It returns when nothing
// is left. If some processes have not ended for long, stuck is called once.
func (p *Process) End(stuck func(pids []int)) {
	for _, end := range p.ends {
		end.Close()
	}
	if !p.started {
		return
	}
	kill(p.group, p.gone, stuck)
	for range p.Changes { // until the last report is read
	}
	p.tty.give(p.group, syscall.Getpgrp())
}
