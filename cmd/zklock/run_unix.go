//go:build linux || darwin

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/cmd/zklock/internal/leash"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// endSignals end a wait for the lock. While the command runs, it gets these signals and otherSignals.
var (
	endSignals   = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	otherSignals = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

// helper plays a guard if this process was started as one. A variable, because other systems have none.
var helper = leash.Helper

// onceNode, behind the path of the lock, is the path of the node that has the last key of -once.
const onceNode = ".once"

// A job is a command that is run under the lock.
type job struct {
	conn   *zk.Conn
	lock   *zklock.Mutex
	lease  *zklock.Lease
	noted  *zk.Stat      // the node of -once; nil: there is none
	grace  time.Duration // between SIGTERM and the end of the lease
	margin time.Duration // between SIGKILL and the end of the lease: a guard may be late
}

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
	notify(endSignals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	j, taken := new(job), make(chan int, 1)
	signalStatus := 0 // the exit status after a signal that comes before the lock
	go func() { taken <- c.take(ctx, j) }()
	for {
		select {
		case s := <-signals:
			cancel()
			if signalStatus != 0 { // the second one
				return signalStatus
			}
			signalStatus = 128 + int(s.(syscall.Signal))
		case status := <-taken:
			switch {
			case signalStatus != 0:
				j.release()
				return signalStatus
			case j.lease == nil:
				return status
			}
			notify(otherSignals)
			return c.runCommand(j, program, signals)
		}
	}
}

// take takes the lock and completes j. If j has no lease then, the command must not run, and status is the exit status.
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
	const marginShare, graceShare, mostGraceShare = 48, 6, 5 // of the session timeout, as the message below says
	j.margin, j.grace = timeout/marginShare, cmp.Or(c.grace, timeout/graceShare)
	if j.grace <= j.margin || j.grace >= timeout/mostGraceShare {
		j.conn.Close()
		return c.usage(i18n.Errorf("-grace: %v is not between a 48th and a fifth of the session timeout, %v", j.grace, timeout))
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
	hasRun := false // by an earlier run with the key of -once
	j.lease, err = lock(ctx, zklock.NewOwner(c.name))
	if err == nil && c.once != "" {
		hasRun, err = c.hasRun(ctx, j)
	}
	if err == nil && !hasRun {
		return 0
	}

	j.release()
	j.lease = nil
	switch {
	case hasRun:
		return 0
	case errors.Is(err, zklock.ErrHeld), errors.Is(err, context.DeadlineExceeded):
		return c.fail(c.held, err)
	case errors.Is(err, context.Canceled): // by a signal
		return exitFailure
	}
	return c.fail(exitUnavailable, err)
}

// hasRun reports whether the command has run for the key of -once, or for a later one. An earlier holder has noted the
// key beside the lock. The server has made this holder's node, so it has that note, too.
func (c *call) hasRun(ctx context.Context, j *job) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, j.conn.Close)() // if patience is over before the deferred call, that ends the Get
	last, stat, err := j.conn.Get(c.path + onceNode)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	j.noted = stat
	return err == nil && string(last) >= c.once, err
}

// noteKey notes that the command has run for the key. It fails if a later holder has noted a key meanwhile.
func (c *call) noteKey(j *job) (err error) {
	defer time.AfterFunc(patience, j.conn.Close).Stop()
	if j.noted == nil {
		_, err = j.conn.Create(c.path+onceNode, []byte(c.once), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	} else {
		_, err = j.conn.Set(c.path+onceNode, []byte(c.once), j.noted.Version)
	}
	return err
}

// release releases the lock, if it is held, and ends the session. The error is that of Unlock.
func (j *job) release() (err error) {
	if j.lock == nil {
		return nil
	}
	timeout, _ := zkconn.SessionTimeout(j.conn)
	ctx, cancel := context.WithTimeout(context.Background(), timeout/3) // the rest goes with the session
	defer cancel()
	if j.lease != nil {
		err = j.lease.Unlock(ctx)
	}
	j.lock.Shutdown(ctx) // if that fails, the node goes with the session
	j.conn.Close()
	return err
}

// runCommand runs the command while the lock is held, and returns the exit status.
func (c *call) runCommand(j *job, program string, signals chan os.Signal) int {
	p := leash.New(program, c.command, j.grace, j.margin)
	stuck := func(pids []int) {
		c.note("these processes of the command do not end by SIGKILL, and the lock is held until they have: %v", pids)
	}
	defer func() {
		if fault := recover(); fault != nil { // of this program: the command ends, and then the lock is released
			p.End(stuck)
			j.release()
			panic(fault)
		}
	}()
	os.Setenv("ZKLOCK_TOKEN", strconv.FormatInt(j.lease.Token(), 10)) // which the command inherits
	os.Setenv("ZKLOCK_NODE", j.lease.Node())
	os.Setenv("ZKLOCK_PATH", c.path)
	if err := p.Start(j.lease.ValidUntil); err != nil {
		p.End(stuck)
		j.release()
		return c.fail(exitOS, err)
	}
	mustBeKilled := c.follow(j, p, signals)
	p.End(stuck)
	var unnoted error // of noteKey
	if c.once != "" && p.Status == 0 {
		unnoted = c.noteKey(j)
	}
	err := j.release()
	switch state := describe(p.Status); {
	case unnoted != nil:
		return c.fail(exitUnavailable, i18n.Errorf("the command has run, but -once could not be noted, so it may run again: %w", unnoted))
	case errors.Is(err, zklock.ErrLost):
		c.fail(exitFailure, i18n.Errorf("the lock was lost, and the command was ended: %v", state))
	case p.Warned:
		c.fail(exitFailure, i18n.Errorf("the lease had less than -grace left, %v, and the command got SIGTERM: %v", j.grace, state))
	case !p.Ended.Load() && !mustBeKilled:
		c.fail(exitFailure, i18n.Errorf("the lease had less than %v left, or somebody has killed a guard, and the "+
			"command was killed", j.margin))
	}
	if err != nil && !errors.Is(err, zklock.ErrLost) {
		c.fail(exitFailure, err)
	}
	if p.Status.Signaled() {
		return 128 + int(p.Status.Signal())
	}
	return p.Status.ExitStatus()
}

// describe says how a command has ended, as os.ProcessState does.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	return fmt.Sprint("exit status ", status.ExitStatus())
}

// follow does what has to be done while the command runs. mustBeKilled: after a second signal, or the loss of the lock.
func (c *call) follow(j *job, p *leash.Process, signals chan os.Signal) (mustBeKilled bool) {
	revoked, tick := j.lease.RevokeRequested(), time.NewTicker(pulse)
	if !c.revocable {
		revoked = nil
	}
	for asked := false; ; {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGINT {
				if asked { // the second one kills
					return true
				}
				asked = true
			}
			p.Pass(s.(syscall.Signal))
		case <-tick.C:
			p.Extend(j.lease.ValidUntil())
		case <-revoked:
			revoked = nil
			p.Signal(syscall.SIGTERM)
		case <-j.lease.Lost():
			return true
		case _, runs := <-p.Changes:
			if !runs {
				return false
			}
			p.Suspend()
		}
	}
}
