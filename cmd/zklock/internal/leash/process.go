//go:build linux || darwin

package leash

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// The starter reports what happens to the command with these words, a line each. A number follows: after begun that of
// the command's group, after ended its wait status, after the others 0.
const begun, stopped, warned, ended = "begun", "stopped", "warned", "ended"

// A Process is a command with all that it has started.
type Process struct {
	// Changes has a value when the command has stopped. It is closed after the command has ended: once nothing that it has
	// started is left, or what is left has had SIGTERM for the time grace. Then the caller calls End.
	Changes chan struct{}
	Status  syscall.WaitStatus // of the command, after End
	Warned  bool               // after End: it got SIGTERM because less than grace was left of the lease
	Ended   atomic.Bool        // by itself, or by a signal: it was not killed with its starter

	watcher             // has the plan, group, which is the command's, and gone: closed when no process is left below
	started  bool       // the first guard is there, and there is something to end
	hasBegun chan int   // has the command's group, once
	leases   []*os.File // this process's ends of the three pipes; End closes them
	told     time.Time  // the end that Extend has written last; it skips one that it has written
	tty      *terminal  // nil if there is none
}

// New returns a command that gets SIGTERM when a lease has less than grace left, and SIGKILL with less than margin.
func New(program string, command []string, grace, margin time.Duration) *Process {
	return &Process{
		Changes:  make(chan struct{}),
		Status:   syscall.WaitStatus(syscall.SIGKILL), // unless the starter reports another one
		hasBegun: make(chan int, 1),
		watcher:  watcher{plan: plan{Grace: grace, Margin: margin, Program: program, Command: command}, gone: make(chan struct{})},
	}
}

// Start starts the guards, and the command in a group of its own. until returns the end of the lease, or the zero Time
// if the lease is over. The command begins once the guards know an end that is further away than grace. If this process
// ends before that, the command does not begin.
func (p *Process) Start(until func() time.Time) error {
	if err := adoptOrphans(); err != nil {
		return err
	}
	p.tty = openTerminal()
	p.Foreground = p.tty.has(syscall.Getpgrp())

	reports, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	var outs []*os.File // the other ends of p.leases
	for range verbs {   // verbs has an element for each guard and one for the starter
		out, in, err := os.Pipe()
		if err != nil {
			return err
		}
		outs, p.leases = append(outs, out), append(p.leases, in)
	}
	if err := p.startNext(report, outs); err != nil {
		return fmt.Errorf("no guard: %w", err)
	}
	p.started = true
	go p.reap()
	go p.readReports(reports)
	p.awaitCommand(until)
	return nil
}

// awaitCommand returns when the command has begun, or will not begin because the guards or the lease have ended.
func (p *Process) awaitCommand(until func() time.Time) {
	for end := until(); !end.IsZero(); end = until() { // if it is zero, the caller notices that, too
		if time.Until(end) > p.Grace {
			p.Extend(end)
		}
		select {
		case p.group = <-p.hasBegun:
			p.told = time.Time{} // so that the caller's next Extend is not skipped: it tells the guards the group
			return
		case <-p.gone:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// readReports returns when the starter has ended, which closes the pipe of its reports.
func (p *Process) readReports(reports *os.File) {
	defer close(p.Changes)
	defer reports.Close()
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		var what string
		var number int
		fmt.Sscan(lines.Text(), &what, &number)
		switch what {
		case begun:
			p.hasBegun <- number
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

// Suspend stops this process, after the command has stopped: the shell that has started this process expects that.
// Without a terminal Suspend does nothing, for no shell waits.
func (p *Process) Suspend() {
	if p.tty != nil {
		p.tty.give(p.group, syscall.Getpgrp())
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// Extend tells the guards and the starter the end of the lease, in a line: the nanoseconds that are left, the time of
// the end, and the command's group. A guard that is stopped reads nothing, and os.File's Write would wait once its pipe
// is full. A raw write fails then, and the guard acts by an earlier line.
func (p *Process) Extend(until time.Time) {
	if until.IsZero() || until.Equal(p.told) { // the lease is over, or they know it
		return
	}
	p.told = until
	for _, lease := range p.leases {
		if raw, err := lease.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) {
				syscall.Write(int(fd), fmt.Appendln(nil, int64(time.Until(until)), until.UnixNano(), p.group))
			})
		}
	}
}

// End kills what is left of the command, of all that it has started, and of the guards. It returns when nothing
// is left. If some processes have not ended for long, stuck is called once.
func (p *Process) End(stuck func(pids []int)) {
	for _, lease := range p.leases {
		lease.Close()
	}
	if !p.started {
		return
	}
	kill(p.group, p.gone, stuck)
	for range p.Changes { // until the starter's last report is read
	}
	p.tty.give(p.group, syscall.Getpgrp())
}

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
