package main

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A class is the state that the attempts of one call of grade share.
type class struct {
	asked  []*exercise
	limits limits
	stubs  stubs
	// stuck are the students of whom an attempt never began. Any further attempt of
	// theirs must begin within hurry, so that an init that never ends does not cost a
	// student's folder one time limit for each exercise.
	stuck sync.Map
}

// To begin is to start a process and to run each init. An attempt has beginning for
// it, or hurry, if another one of the same student never did: of processor time, or of time
// in which nothing of it could run.
const (
	beginning = 10 * time.Second
	hurry     = 3 * time.Second
)

// A neverBegan is the refusal of an attempt that has not begun in time.
type neverBegan struct{ error }

func (n neverBegan) Unwrap() error { return n.error }

// of are the limits for an attempt of a student.
func (c *class) of(student string) limits {
	l := c.limits
	if _, stuck := c.stuck.Load(student); stuck {
		l.begin = hurry
	}
	return l
}

// begins refuses an attempt that does not begin.
func (g *grading) begins(ctx context.Context, binary string) error {
	l := g.limits
	l.ceiling = l.clock()
	l.time = min(cmp.Or(l.begin, beginning), l.time)
	l.waiting = l.time // nobody but this process could end its wait
	c, err := newCell(ctx, l)
	if err != nil {
		return err
	}
	defer c.close()
	// Each init, and no test. That an init fails, the cases say better.
	if _, err := c.run(c.ofStudent(binary, []string{"-test.list=^$"})); err != nil {
		return err
	}
	switch {
	case c.endless() && l.begin > 0:
		return neverBegan{refuse(
			"it does not begin: an init has not come to an end in %v; it had no more time because another attempt of this student never began",
			"程序没有开始运行：有一个 init 在 %v 内没有结束；时间只给这么多，因为这个学生的另一份答卷一直没有开始运行", l.time)}
	case c.endless():
		return neverBegan{refuse("it does not begin: an init has not come to an end in %v", "程序没有开始运行：有一个 init 在 %v 内没有结束", l.time)}
	}
	return c.tooBusy()
}
