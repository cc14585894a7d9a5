//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// ends are the signals that end a wait for the lock. The command gets these and the others.
var (
	ends   = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
	others = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

// A job is a command that is run under the lock.
type job struct {
	conn  *zk.Conn
	lock  *zklock.Mutex
	lease *zklock.Lease
	grace time.Duration // between SIGTERM and the end of the lease

	cmd    *exec.Cmd
	group  int       // of processes, the command's
	tty    *terminal // nil: none
	guards []*guard
	over   chan struct{} // closed when the leader of the group has ended
}

// run waits for the lock, and runs the command.
func (c *call) run(ctx context.Context) int {
	program, err := exec.LookPath(c.command[0])
	switch {
	case errors.Is(err, os.ErrPermission):
		return c.fail(exitNotRunnable, err)
	case err != nil && !errors.Is(err, exec.ErrDot):
		return c.fail(exitNotFound, err)
	}
	signals := make(chan os.Signal, 16)
	for _, s := range slices.Concat(ends, others) {
		if !signal.Ignored(s) { // as by nohup; the command ignores it, too
			signal.Notify(signals, s)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j, taken, early := new(job), make(chan int, 1), 0
	go func() { taken <- c.take(ctx, j) }()
	for {
		select {
		case s := <-signals:
			status := 128 + int(s.(syscall.Signal))
			switch {
			case s == syscall.SIGTSTP:
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			case !slices.Contains(ends, s):
			case early != 0:
				return status
			default:
				early = status
				cancel()
			}
		case status := <-taken:
			switch {
			case early != 0:
				j.release()
				return early
			case j.lease == nil:
				return status
			}
			return c.under(j, program, signals)
		}
	}
}

// take takes the lock. If it does not get it, it returns the exit status, and has left nothing
// behind.
func (c *call) take(ctx context.Context, j *job) (status int) {
	if c.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.wait)
		defer cancel()
	}
	if j.conn, status = c.open(ctx); status != 0 {
		return status
	}
	timeout, _ := zkconn.SessionTimeout(j.conn)
	j.grace = c.grace
	if c.grace == 0 {
		j.grace = timeout / 6
	}
	var options []zklock.Option
	if c.data != "" {
		options = append(options, zklock.WithData([]byte(c.data)))
	}
	var err error
	if j.lock, err = zklock.New(j.conn, c.path, options...); err == nil && (j.grace < 0 || j.grace >= timeout/5) {
		err = language.Errorf("-grace: %v is not less than a fifth of the session timeout, %v", "-grace：%v 不小于会话超时 %v 的五分之一", j.grace, timeout)
	}
	if err != nil {
		j.conn.Close()
		return c.usage(err)
	}
	if c.name == "" {
		c.name = strings.Join(c.command, " ")
		c.name = strings.ToValidUTF8(c.name[:min(len(c.name), 100)], "")
	}
	lock := j.lock.Lock
	if c.try {
		lock = j.lock.TryLock
	}
	if j.lease, err = lock(ctx, zklock.NewOwner(c.name)); err == nil {
		return 0
	}
	j.release()
	switch {
	case errors.Is(err, zklock.ErrHeld), errors.Is(err, context.DeadlineExceeded):
		return c.fail(c.held, err)
	case errors.Is(err, context.Canceled): // by a signal
		return exitFailure
	}
	return c.fail(exitUnavailable, err)
}

// release releases the lock, if it is held, and ends the session. The error is that of Unlock.
func (j *job) release() (err error) {
	if j.lock == nil {
		return nil
	}
	timeout, _ := zkconn.SessionTimeout(j.conn)
	ctx, cancel := context.WithTimeout(context.Background(), timeout/3) // what is not deleted by then goes with the session
	defer cancel()
	if j.lease != nil {
		err = j.lease.Unlock(ctx)
	}
	j.lock.Shutdown(ctx) // if that fails, the node goes with the session
	j.conn.Close()
	return err
}

// under runs the command under the lock.
func (c *call) under(j *job, program string, signals chan os.Signal) int {
	err := j.start(program, c.command, append(os.Environ(),
		fmt.Sprint("ZKLOCK_TOKEN=", j.lease.Token()), "ZKLOCK_NODE="+j.lease.Node(), "ZKLOCK_PATH="+c.path))
	if err != nil {
		j.release()
		return c.fail(exitOS, err)
	}
	lost, revoked, changes := j.lease.Lost(), j.lease.RevokeRequested(), make(chan bool, 1)
	if !c.revocable {
		revoked = nil
	}
	go j.follow(changes)
	for asked := false; ; {
		select {
		case s := <-signals:
			asked = j.pass(s.(syscall.Signal), asked)
		case <-revoked:
			revoked = nil
			j.signal(syscall.SIGTERM)
		case <-lost:
			lost = nil
			j.signal(syscall.SIGKILL)
		case ended := <-changes:
			if !ended {
				j.suspend()
				continue
			}
			state := j.end()
			if err := j.release(); lost == nil || errors.Is(err, zklock.ErrLost) {
				c.fail(exitFailure, language.Errorf("the lock was lost, and the command was ended: %v", "锁失去了，命令已被结束：%v", state))
			} else if err != nil {
				c.fail(exitFailure, err)
			}
			if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
				return 128 + int(ws.Signal())
			}
			return state.ExitCode()
		}
	}
}

// start starts the command in a group of its own, and the guards. Until the guards know the
// group, its process waits to become the command; if this process ends, so does that one.
func (j *job) start(program string, args, env []string) error {
	wait, begin, err := os.Pipe()
	if err != nil {
		return err
	}
	defer begin.Close()
	j.tty, j.over = openTerminal(), make(chan struct{})
	j.cmd = exec.Command(executable(), append([]string{startVerb, program}, args...)...)
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr, j.cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	j.cmd.ExtraFiles = []*os.File{wait}
	j.cmd.SysProcAttr = attributes()
	j.cmd.SysProcAttr.Setpgid = true
	if j.tty.foreground() == syscall.Getpgrp() {
		j.cmd.SysProcAttr.Foreground, j.cmd.SysProcAttr.Ctty = true, int(j.tty.Fd())
	}
	err = j.cmd.Start()
	wait.Close()
	if err != nil {
		return err
	}
	j.group = j.cmd.Process.Pid
	for _, grace := range []time.Duration{j.grace, 0} { // one of them sends SIGTERM
		g, err := newGuard(j.group, grace, j.lease.ValidUntil())
		if err != nil {
			j.end()
			return fmt.Errorf("no guard: %w", err)
		}
		j.guards = append(j.guards, g)
	}
	go j.feed()
	begin.Write([]byte{0}) // it fails if a guard has ended the group
	return nil
}

// signal sends a signal to all processes of the command. Its leader has not been reaped, so no
// other process has its number.
func (j *job) signal(s syscall.Signal) { syscall.Kill(-j.group, s) }

// pass passes a signal on. The second one that asks the command to end kills it.
func (j *job) pass(s syscall.Signal, asked bool) bool {
	switch s {
	case syscall.SIGCONT: // by fg or bg
		j.tty.give(syscall.Getpgrp(), j.group)
	case syscall.SIGTSTP:
		defer syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case syscall.SIGTERM, syscall.SIGINT:
		if asked {
			s = syscall.SIGKILL
		}
		asked = true
	}
	j.signal(s)
	return asked
}

// suspend stops this process when the command has stopped, as the shell expects that waits for
// it. Without a terminal no shell does.
func (j *job) suspend() {
	if j.tty != nil {
		j.tty.give(j.group, syscall.Getpgrp())
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// follow reports when the leader of the group stops, with false, and when it ends. It reaps
// nothing.
func (j *job) follow(ended chan<- bool) {
	for waitFor(j.group, syscall.WEXITED|syscall.WSTOPPED|syscall.WNOWAIT) == codeStopped {
		waitFor(j.group, syscall.WSTOPPED|syscall.WNOHANG) // takes note of the stop
		ended <- false
	}
	ended <- true
}

// feed tells the guards each end of the lease, until the job is over.
func (j *job) feed() {
	for told := (time.Time{}); ; {
		select {
		case <-j.over:
			return
		case <-time.After(50 * time.Millisecond):
		}
		if until := j.lease.ValidUntil(); !until.IsZero() && !until.Equal(told) { // zero: the lease is over
			told = until
			for _, g := range j.guards {
				g.tell(until)
			}
		}
	}
}

// end ends what is left of the group and the guards, and then reaps the leader.
func (j *job) end() *os.ProcessState {
	j.signal(syscall.SIGKILL)
	close(j.over)
	for _, g := range j.guards {
		g.cmd.Process.Kill()
		g.cmd.Wait()
	}
	j.cmd.Wait()
	for began := time.Now(); syscall.Kill(-j.group, 0) == nil && time.Since(began) < 200*time.Millisecond; {
		time.Sleep(time.Millisecond) // a process that was killed takes a moment to end, and if nobody reaps it, it stays
	}
	j.tty.give(j.group, syscall.Getpgrp())
	return j.cmd.ProcessState
}
