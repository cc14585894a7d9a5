package main

import (
	"cmp"
	"context"
	"time"
)

// To begin is to start a process and to run each init: an attempt has so much processor time for it, or
// time in which nothing of it could run.
const beginning = 10 * time.Second

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
	if c.over().endless {
		return refuse("it does not begin: an init has not come to an end in %v", "程序没有开始运行：有一个 init 在 %v 内没有结束", l.time)
	}
	return c.tooBusy()
}
