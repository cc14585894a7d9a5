package main

import (
	"cmp"
	"context"
	"strings"
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
	hurry time.Duration // 0: hurry
}

// To begin is to start a process and to run each init. An attempt has beginning for
// it, or hurry, if another one of the same student never did.
const (
	beginning = 10 * time.Second
	hurry     = 3 * time.Second
)

// neverBegan is the refusal of an attempt that has not begun in time.
const neverBegan = "it does not begin: an init has not come to an end"

// of are the limits for an attempt of a student.
func (c *class) of(student string) limits {
	l := c.limits
	if _, stuck := c.stuck.Load(student); stuck {
		l.begin = cmp.Or(c.hurry, hurry)
	}
	return l
}

// note remembers a student whose attempt never began.
func (c *class) note(student string, r *result) {
	if strings.HasPrefix(r.Why.En, neverBegan) {
		c.stuck.Store(student, true)
	}
}

// begins refuses an attempt that does not begin.
func (g *grading) begins(ctx context.Context, binary string) error {
	l := g.limits
	l.time = min(cmp.Or(l.begin, beginning), l.time)
	c, err := newCell(ctx, l)
	if err != nil {
		return err
	}
	defer c.close()
	// Each init, and no test. That an init fails, the cases say better.
	if _, err := c.run(c.ofStudent(binary, []string{"-test.list=^$"})); err != nil {
		return err
	}
	switch why := c.over(); {
	case strings.HasPrefix(why.En, noEnd) && l.begin > 0:
		return refuse(
			"it does not begin: an init has not come to an end in %v; it had no more time because another attempt of this student never began", "程序没有开始运行：有一个 init 在 %v 内没有结束；时间只给这么多，因为这个学生的另一份答卷一直没有开始运行", l.time)
	case strings.HasPrefix(why.En, noEnd):
		return refuse("it does not begin: an init has not come to an end in %v", "程序没有开始运行：有一个 init 在 %v 内没有结束", l.time)
	}
	return nil
}
