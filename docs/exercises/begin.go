package main

import (
	"context"
	"strings"
	"sync"
	"time"
)

// A class is what the attempts of one call of grade share.
type class struct {
	asked  []*exercise
	limits limits
	stubs  map[string]string
	// stuck are the students of whom an attempt has used up its time before the first
	// case passed. Any further attempt of theirs must begin within beginning, so that
	// an init that never ends costs a student's folder one time limit, and not one for
	// each exercise.
	stuck sync.Map
}

// beginning is the time that an attempt has to begin, if another one of the same
// student never did. To begin is to start a process and to run each init.
const beginning = 3 * time.Second

// note remembers a student whose attempt may never have begun.
func (c *class) note(student string, r *result) {
	if r.Passed == 0 && strings.HasPrefix(r.Why, noEnd) {
		c.stuck.Store(student, true)
	}
}

// begins refuses an attempt that does not begin, if the student has had one that may
// not have begun.
func (c *class) begins(ctx context.Context, root, student string, at *attempt) error {
	if _, stuck := c.stuck.Load(student); !stuck || at.ext != "" {
		return nil
	}
	build, err := newCell(ctx, c.limits)
	if err != nil {
		return err
	}
	defer build.close()
	binary, err := build.build(root, at)
	if err != nil {
		return err
	}
	run, err := newCell(ctx, limits{min(beginning, c.limits.time), c.limits.memory})
	if err != nil {
		return err
	}
	defer run.close()
	cmd := run.command(binary, []string{"-test.list=^$"}, run.bare()) // each init, and no test
	cmd.Dir = run.dir
	if err := cmd.Start(); err != nil {
		return err
	}
	run.started(cmd.Process.Pid)
	cmd.Wait() // that an init fails, the cases say better
	run.done(cmd.Process.Pid)
	if why := run.over(); strings.HasPrefix(why, noEnd) {
		return refuse("it does not begin: an init has not come to an end in %v; it had no more time because another attempt of this student has used up %v in the same way", run.time, c.limits.time)
	}
	return nil
}
