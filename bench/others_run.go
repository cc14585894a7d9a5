package main

import (
	"cmp"
	"context"
	"time"

	"example.com/zklock/bench/internal/report"
	"example.com/zklock/internal/language"
)

// watchEvery is the pause between two checks of a watched server.
const watchEvery = 2 * time.Second

// otherTTL is the life of a lock without a renewal: longer than watch takes, and a machine that
// stops for a while costs no holder the lock.
const otherTTL = time.Minute

// An otherPlayer plays a lock that is not on ZooKeeper.
type otherPlayer struct {
	*benchmark
	contestant
	arena        // nil: it has no server, or the server has gone
	kind  string // the lock's name, without the server's label
}

// elsewhere opens such a lock on its server. A wrong address or password
// ends the benchmark before it begins.
func elsewhere(kind string) opener {
	return func(ctx context.Context, b *benchmark, c contestant) (player, error) {
		p := &otherPlayer{b, c, nil, kind}
		if c.spec == "" {
			return p, nil
		}
		var err error
		if p.arena, err = arenas[kind](ctx, c.spec); err != nil {
			return nil, language.Errorf("-%s: %w", "-%s：%v", p.flag(), err)
		}
		return p, nil
	}
}

func (p *otherPlayer) String() string {
	if p.arena == nil {
		return p.kind
	}
	return p.arena.String()
}

func (p *otherPlayer) warm(context.Context, report.Run) (bool, error) { return false, nil }

func (p *otherPlayer) close() error {
	if p.arena == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if err := p.arena.close(ctx); err != nil {
		return language.Errorf("left behind on %v: %w", "%v 上有残留：%v", p.arena, err)
	}
	return nil
}

// clean removes what a run has made. It adds to err, for which there is most likely the
// same reason.
func (p *otherPlayer) clean(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	switch e := p.arena.end(ctx); {
	case e != nil && err != nil:
		p.arena.close(ctx)
		p.arena = nil
		return language.Errorf("%w; what it has made there is left behind: %v", "%v；所创建的东西残留在那里：%v", err, e)
	case e != nil:
		return language.Errorf("left behind on %v: %w", "%v 上有残留：%v", p.arena, e)
	}
	return err
}

// run is one round.
func (p *otherPlayer) run(ctx context.Context, r *report.Run, step func()) (err error) {
	if p.arena == nil {
		return errCannotRun{language.Errorf("it has no embedded server; name one that is running, -%s host:port",
			"没有内嵌的服务器可用；请指定一个正在运行的，-%s host:port", p.flag())}
	}
	r.Client = ""
	defer func() { err = p.clean(ctx, err) }()
	lockers, err := p.begin(ctx, r.Goroutines)
	if err != nil {
		return err
	}
	stock, counts := p.arena.(stock)
	c := &race{times: r.Times, limit: p.cfg.limit, step: step, stock: counts}
	for _, l := range lockers {
		c.contenders = append(c.contenders, l)
	}
	runCtx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if w, ok := p.arena.(watchedArena); ok {
		go watch(runCtx, w, c, fail)
	}
	before := p.sent()
	err = c.run(runCtx, r)
	r.Requests = p.sent() - before
	for _, l := range lockers {
		r.Attempts += l.Attempts()
	}
	if err == nil && counts {
		if r.Count, err = stock.count(runCtx); err == nil {
			err = c.isAll(r.Count)
		}
		r.Total = r.Count
	}
	return err
}

// watch ends a race whose server does not answer, three times in a row, while no contender gets the
// lock. A busy one may stop for some seconds.
func watch(ctx context.Context, w watchedArena, c *race, fail func(error)) {
	for failed := 0; sleep(ctx, watchEvery); {
		held := c.holds()
		err := w.answers(ctx)
		if failed++; err == nil || c.holds() != held {
			failed = 0
		}
		if failed == 3 && ctx.Err() == nil {
			fail(err)
		}
	}
}

// try plays the trial. Contenders give up when their context ends, the closed one, too.
func (p *otherPlayer) try(ctx context.Context) (err error) {
	if p.arena == nil {
		return nil
	}
	if _, counts := p.arena.(stock); counts {
		return nil
	}
	p.progress.say(language.Say("trying %s", "试跑 %s", p.name))
	lockers, err := p.begin(ctx, trialContenders)
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = cmp.Or(err, p.arena.end(clean))
	}()
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(ctx)
	closed, giveUp := context.WithCancel(runCtx)
	t := newTrial(runCtx, "the context of a waiter ended")
	defer t.end(stop)
	for _, l := range lockers {
		t.contenders = append(t.contenders, l)
	}
	t.contenders[theClosed] = closable{lockers[theClosed], closed}
	t.close = func() error { giveUp(); return nil }
	t.alive = func() (int64, bool) { // some ask again and again: that all of them have asked must do
		asked := 0
		for _, l := range lockers {
			if l.Attempts() > 0 {
				asked++
			}
		}
		return 0, asked < t.started
	}
	return t.run()
}

// A closable contender has a context of its own.
type closable struct {
	contender
	closed context.Context
}

func (c closable) Lock(context.Context) error { return c.contender.Lock(c.closed) }
