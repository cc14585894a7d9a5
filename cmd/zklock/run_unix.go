//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/cmd/zklock/internal/leash"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// ends are the signals that end a wait for the lock. The command gets these and the others.
var (
	ends   = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	others = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

var helper = leash.Helper

// A job is a command that is run under the lock.
type job struct {
	conn  *zk.Conn
	lock  *zklock.Mutex
	lease *zklock.Lease
	grace time.Duration // between SIGTERM and the end of the lease
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
	notify := func(all []os.Signal) {
		for _, s := range all {
			if !signal.Ignored(s) { // as by nohup; the command ignores it, too
				signal.Notify(signals, s)
			}
		}
	}
	notify(ends)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	j, taken, early := new(job), make(chan int, 1), 0
	go func() { taken <- c.take(ctx, j) }()
	for {
		select {
		case s := <-signals:
			cancel()
			if early != 0 { // the second one
				return early
			}
			early = 128 + int(s.(syscall.Signal))
		case status := <-taken:
			switch {
			case early != 0:
				j.release()
				return early
			case j.lease == nil:
				return status
			}
			notify(others)
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
	var options []zklock.Option
	if c.data != "" {
		options = append(options, zklock.WithData([]byte(c.data)))
	}
	if j.conn, j.lock, status = c.open(ctx, options...); status != 0 {
		return status
	}
	timeout, _ := zkconn.SessionTimeout(j.conn)
	j.grace = c.grace
	if c.grace == 0 {
		j.grace = timeout / 6
	}
	if j.grace < 0 || j.grace >= timeout/5 {
		j.conn.Close()
		return c.usage(i18n.Errorf("-grace: %v is not less than a fifth of the session timeout, %v", "-grace：%v 不小于会话超时时间 %v 的五分之一", j.grace, timeout))
	}
	if c.name == "" {
		c.name = strings.Join(c.command, " ")
		c.name = strings.ToValidUTF8(c.name[:min(len(c.name), 100)], "")
	}
	lock := j.lock.Lock
	if c.try {
		lock = j.lock.TryLock
	}
	var err error
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
	p, err := leash.Start(program, c.command, append(os.Environ(),
		fmt.Sprint("ZKLOCK_TOKEN=", j.lease.Token()), "ZKLOCK_NODE="+j.lease.Node(), "ZKLOCK_PATH="+c.path), j.lease.ValidUntil, j.grace)
	if err != nil {
		j.release()
		return c.fail(exitOS, err)
	}
	lost, revoked, changes, tick := j.lease.Lost(), j.lease.RevokeRequested(), make(chan bool, 1), time.Tick(50*time.Millisecond)
	if !c.revocable {
		revoked = nil
	}
	go p.Follow(changes)
	for asked := false; ; {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGINT {
				if asked { // the second one kills
					s = syscall.SIGKILL
				}
				asked = true
			}
			p.Pass(s.(syscall.Signal))
		case <-tick:
			p.Extend(j.lease.ValidUntil())
		case <-revoked:
			revoked = nil
			p.Signal(syscall.SIGTERM)
		case <-lost:
			lost = nil
			p.Signal(syscall.SIGKILL)
		case ended := <-changes:
			if !ended {
				p.Suspend()
				continue
			}
			state := p.End()
			if err := j.release(); lost == nil || errors.Is(err, zklock.ErrLost) {
				c.fail(exitFailure, i18n.Errorf("the lock was lost, and the command was ended: %v", "锁已丢失，命令已被终止：%v", state))
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
