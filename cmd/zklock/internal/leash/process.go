//go:build linux || darwin

package leash

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A Process is a command with all that it has started in its group.
type Process struct {
	cmd    *exec.Cmd
	group  int       // of processes, the command's
	tty    *terminal // nil: none
	guards []*guard
	told   time.Time // the end of the lease that the guards know
}

// Start starts a command in a group of its own, and the guards. The command gets SIGTERM when
// less than grace is left of the lease, of which until returns the end, or zero if it is over. Until
// the guards know that, its process waits to become the command; if this process ends, so does that one.
func Start(program string, args, env []string, until func() time.Time, grace time.Duration) (*Process, error) {
	wait, begin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer begin.Close()
	p := &Process{tty: openTerminal()}
	p.cmd = exec.Command(executable(), append([]string{startVerb, program}, args...)...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	p.cmd.ExtraFiles = []*os.File{wait}
	p.cmd.SysProcAttr = &attributes
	if p.tty.foreground() == syscall.Getpgrp() {
		attributes.Foreground, attributes.Ctty = true, int(p.tty.Fd())
	}
	err = p.cmd.Start()
	wait.Close()
	if err != nil {
		return nil, err
	}
	p.group = p.cmd.Process.Pid
	for _, grace := range []time.Duration{grace, 0} { // one of them sends SIGTERM
		g, err := newGuard(p.group, grace)
		if err != nil {
			p.End()
			return nil, fmt.Errorf("no guard: %w", err)
		}
		p.guards = append(p.guards, g)
	}
	end := until() // now: to start processes may have taken long
	for ; !end.IsZero() && time.Until(end) <= grace; end = until() {
		time.Sleep(time.Millisecond) // the next proof is due
	}
	if p.Extend(end); end.IsZero() {
		p.Signal(syscall.SIGKILL)
	}
	begin.Write([]byte{0}) // it fails if the group has been ended
	return p, nil
}

// Signal sends a signal to all processes of the command. Its leader has not been reaped, so no
// other process has its number.
func (p *Process) Signal(s syscall.Signal) { syscall.Kill(-p.group, s) }

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

// Follow reports when the command stops, with false, and when it ends. It reaps nothing.
func (p *Process) Follow(ended chan<- bool) {
	for waitFor(p.group, syscall.WEXITED|syscall.WSTOPPED|syscall.WNOWAIT) == codeStopped {
		waitFor(p.group, syscall.WSTOPPED|syscall.WNOHANG) // takes note of the stop
		ended <- false
	}
	ended <- true
}

// Extend tells the guards a new end of the lease. It is zero if the lease is over.
func (p *Process) Extend(until time.Time) {
	if !until.IsZero() && !until.Equal(p.told) {
		p.told = until
		for _, g := range p.guards {
			g.tell(until)
		}
	}
}

// End ends what is left of the group and the guards, and then reaps the leader.
func (p *Process) End() *os.ProcessState {
	p.Signal(syscall.SIGKILL)
	for _, g := range p.guards {
		g.cmd.Process.Kill()
		g.cmd.Wait()
	}
	p.cmd.Wait()
	for began := time.Now(); syscall.Kill(-p.group, 0) == nil && time.Since(began) < 200*time.Millisecond; {
		time.Sleep(time.Millisecond) // a process that was killed takes a moment to end, and if nobody reaps it, it stays
	}
	p.tty.give(p.group, syscall.Getpgrp())
	return p.cmd.ProcessState
}
