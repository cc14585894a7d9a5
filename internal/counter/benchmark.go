package counter

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// A Benchmark tries each lock, and then runs it with each load: see Run.
type Benchmark struct {
	Players   []Player
	Loads     []Load
	Rounds    int
	WarmUp    time.Duration // before the first run that is measured; 0: none
	Limit     time.Duration // of a run, which its player ends then; 0: none
	Untried   bool          // leaves out the trials
	Processes int           // how many contend for the same locks; 0 or 1: this one is alone
	Watcher   Watcher

	Results []report.Run   // in the order of Loads and Players, once Run has returned
	stopped map[string]int // by lock: the number of goroutines with which it has reached the limit
}

// Run tries every lock, then runs it with every load, the locks taking turns. It stops at the first run that fails.
func (b *Benchmark) Run(ctx context.Context) error {
	defer b.sort()
	b.stopped = make(map[string]int)
	if err := b.tryAll(ctx); err != nil {
		return err
	}
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	for _, l := range b.Loads {
		for round := range b.Rounds {
			// Each round begins with the next lock, so that none is always the first, or after the same neighbour.
			first := round % len(b.Players)
			players := slices.Concat(b.Players[first:], b.Players[:first])
			// Locks that take long come last, so that the times of the others are there soon.
			slices.SortStableFunc(players, func(x, y Player) int { return cmp.Compare(x.Lock().cost(l.N), y.Lock().cost(l.N)) })
			for _, p := range players {
				if err := b.play(ctx, Job{Player: p, Load: l, Round: round + 1}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

type Job struct {
	Player
	Load
	Round int
}

func (b *Benchmark) Close() (err error) {
	for _, p := range b.Players {
		err = cmp.Or(err, p.Close())
	}
	return err
}

// play runs one lock and records the result. A lock that has reached the limit does not run with more goroutines. Among
// several processes to reach the limit is a failure, because the others would wait for this one.
func (b *Benchmark) play(ctx context.Context, j Job) error {
	name := j.Lock().Name
	stoppedWith, stopped := b.stopped[name]
	if stopped && j.N >= stoppedWith {
		b.Watcher.Begin(j)
		// One row says that a load is skipped. A load of stoppedWith goroutines has the row of the run that was stopped.
		if j.N > stoppedWith && j.Round == 1 {
			why := i18n.Textf("skipped: stopped after %v with %d", b.Limit, stoppedWith)
			b.record(b.newResult(j), report.StatusSkipped, why)
		}
		return nil
	}
	b.announce(ctx, j)
	b.Watcher.Begin(j)
	r := b.newResult(j)
	err := j.Player.Run(ctx, &r)
	switch {
	case ctx.Err() != nil:
		return ErrInterrupted // half a run is not a result
	case err == nil:
		b.record(r, report.StatusOK, "")
		return nil
	case errors.As(err, new(Stopped)) && b.Processes <= 1:
		b.stopped[name] = j.N
		b.record(r, report.StatusStopped, i18n.Textf("%v, at %d of %d", err, r.Count, j.Count()))
		return nil
	case errors.As(err, new(CannotRun)):
		if j.Round == 1 {
			b.record(r, report.StatusNone, i18n.TextOf(err))
		}
		return nil
	}
	b.record(r, report.StatusFailed, i18n.TextOf(err))
	b.notRun(j)
	return i18n.Errorf("%s with %s on %s: %w", name, j.Text(), r.Server, err)
}

func (b *Benchmark) newResult(j Job) report.Run {
	l, server := j.Lock(), j.Server()
	r := report.Run{
		Lock: l.Name, Server: server.String(), Where: server, Goroutines: j.N, Sessions: j.Sessions, Times: j.Times, Round: j.Round,
		Processes: max(b.Processes, 1), About: l.About(), Aside: j.Aside,
	}
	if b.Processes <= 1 && j.Times == 1 { // the formulas are of one process, and of one acquisition per goroutine
		r.Predicted = l.Formula.Predict(j.N)
	}
	return r
}

// record keeps a result with its status, and shows it.
func (b *Benchmark) record(r report.Run, status string, why i18n.Text) {
	r.Status, r.Error, r.Says = status, why.String(), why
	b.Keep(r)
}

// Keep keeps the result of a run, and shows it. A player calls it for a run that the benchmark has not asked for: the
// first run of each JVM of Curator's, which is reported apart.
func (b *Benchmark) Keep(r report.Run) {
	b.Results = append(b.Results, r)
	b.Watcher.End(r)
}

// sort puts the results into the order of the tables: by load, then by lock.
func (b *Benchmark) sort() {
	position := func(r report.Run) int {
		lock := slices.IndexFunc(b.Players, func(p Player) bool { return p.Lock().Name == r.Lock })
		return slices.IndexFunc(b.Loads, func(l Load) bool { return l.of(r) })*len(b.Players) + lock
	}
	slices.SortStableFunc(b.Results, func(x, y report.Run) int { return cmp.Compare(position(x), position(y)) })
}

// tryAll tries every lock, all at the same time, and fails with the first in the list that fails.
func (b *Benchmark) tryAll(ctx context.Context) error {
	if b.Untried {
		return nil
	}
	errs := make([]error, len(b.Players))
	var wg sync.WaitGroup
	for i, p := range b.Players {
		if p.Lock().Unsafe.String() == "" {
			wg.Go(func() { errs[i] = p.Try(ctx) })
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	for i, p := range b.Players {
		if err := errs[i]; err != nil {
			j := Job{Player: p, Load: b.Loads[0], Round: 1}
			r := b.newResult(j)
			b.record(r, report.StatusFailed, i18n.TextOf(err))
			b.notRun(j)
			return i18n.Errorf("%s, tried with %d contenders on %s: %w", r.Lock, TrialContenders, r.Server, err)
		}
	}
	return nil
}

// warmUp runs the locks unmeasured, taking turns.
func (b *Benchmark) warmUp(ctx context.Context) error {
	for until := time.Now().Add(b.WarmUp); time.Now().Before(until); {
		anyWarmed := false
		for _, p := range b.Players {
			warmed, err := p.Warm(ctx, b.newResult(Job{Player: p, Load: b.Loads[0]})) // round 0: unmeasured
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			if err != nil && !errors.As(err, new(Stopped)) {
				return i18n.Errorf("%s, warming up on %v: %w", p.Lock().Name, p.Server(), err)
			}
			anyWarmed = anyWarmed || warmed
		}
		if !anyWarmed {
			return nil
		}
	}
	return nil
}

// announce says how long a run will take, if that is long: it runs the lock with a quarter of the contenders first.
func (b *Benchmark) announce(ctx context.Context, j Job) {
	l := j.Lock()
	if l.cost(j.N) == 0 || j.Round > 1 || b.Processes > 1 {
		return
	}

	const part = 4
	quarter := Load{N: j.N / part, Sessions: min(j.Sessions, j.N/part), Times: 1}
	r := b.newResult(Job{Player: j.Player, Load: quarter})
	if err := j.Player.Run(ctx, &r); err != nil {
		return // the run itself reports it
	}
	about := time.Duration(float64(r.Elapsed) * math.Pow(part, l.Formula.Growth)) // the time grows with that power of N
	unit := time.Second
	if about > 20*time.Second {
		unit = 5 * time.Second
	}
	text := i18n.Textf("about %d s", int(max(about.Round(unit), unit).Seconds()))
	if b.Limit > 0 && about > b.Limit {
		text = i18n.Textf("it will most likely reach the -limit of %v", b.Limit)
	}
	b.Watcher.Say(i18n.Textf("%s, %s: %s", l.Name, j.Text(), text))
}

// notRun adds a row for each lock and load that has none, because a job has failed.
func (b *Benchmark) notRun(failed Job) {
	why := i18n.Textf("not run: %s with %d failed", failed.Lock().Name, failed.N)
	for _, l := range b.Loads {
		for _, p := range b.Players {
			if !slices.ContainsFunc(b.Results, func(r report.Run) bool { return r.Lock == p.Lock().Name && l.of(r) }) {
				b.record(b.newResult(Job{Player: p, Load: l, Round: 1}), report.StatusNotRun, why)
			}
		}
	}
}
