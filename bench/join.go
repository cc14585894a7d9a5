package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/bench/internal/group"
)

// joinTimeout is the session timeout with -join. Until it is over a process that was killed counts
// as present, and a machine that stops for a while costs nobody the run.
var joinTimeout = usualTimeout

// join waits until enough processes are there. The group must be left, also after an
// error.
func (b *benchmark) join(ctx context.Context) error {
	b.group = group.New(ctx, group.Settings{
		Admin: b.admin, Server: b.zoo.String(), Path: b.cfg.path, Procs: b.cfg.procs, Flags: b.cfg.shared(),
		Say: b.progress.say, Remove: b.remove,
	})
	err := b.group.Meet()
	b.root = b.group.Root()
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return b.because(err)
}

// sessionTimeout is what to ask of the server.
func (b *benchmark) sessionTimeout() time.Duration {
	if b.cfg.join {
		return joinTimeout
	}
	return usualTimeout
}

// shared are the flags in which all processes must agree.
func (cfg config) shared() [][2]string {
	var sizes []string
	for _, l := range cfg.loads {
		sizes = append(sizes, strconv.Itoa(l.n))
	}
	return [][2]string{
		{"-procs", strconv.Itoa(cfg.procs)},
		{"-locks", strings.Join(namesOf(cfg.locks), ",")},
		{"-n", strings.Join(sizes, ",")},
		{"-sessions", strconv.Itoa(cfg.loads[0].sessions)},
		{"-closed", strconv.Itoa(cfg.loads[0].times)},
		{"-rounds", strconv.Itoa(cfg.rounds)},
	}
}

// because returns why the line-up has ended, where that is the reason for err.
func (b *benchmark) because(err error) error {
	if err == nil || b.group == nil || errors.Is(err, group.ErrTwoHolders) || errors.Is(err, errTwoGoroutines) || errors.Is(err, errInterrupted) {
		return err
	}
	if cause := context.Cause(b.group.Context()); cause != nil {
		return cause
	}
	return err
}
