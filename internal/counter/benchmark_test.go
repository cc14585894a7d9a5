package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

type fakePlayer struct {
	lock Lock
	run  func(ctx context.Context, r *report.Run) error // nil: the run goes well
	try  error                                          // what its trial returns
}

func (p fakePlayer) Lock() Lock                                     { return p.lock }
func (p fakePlayer) Server() i18n.Text                              { return i18n.Same("here") }
func (p fakePlayer) Try(context.Context) error                      { return p.try }
func (p fakePlayer) Warm(context.Context, report.Run) (bool, error) { return false, nil }
func (p fakePlayer) Close() error                                   { return nil }

func (p fakePlayer) Run(ctx context.Context, r *report.Run) error {
	if p.run == nil {
		r.Count = r.Goroutines * r.Times
		return nil
	}
	return p.run(ctx, r)
}

// A watcher is a Watcher of a benchmark that keeps what it is told.
type watcher struct{ said []string }

func (w *watcher) Begin(j Job)        { w.said = append(w.said, "begin "+j.Lock().Name) }
func (w *watcher) Say(text i18n.Text) { w.said = append(w.said, text.String()) }
func (w *watcher) End(r report.Run)   { w.said = append(w.said, "end "+r.Lock) }

func playersNamed(names ...string) (players []Player) {
	for _, name := range names {
		players = append(players, fakePlayer{lock: Lock{Name: name}})
	}
	return players
}

func loads(ns ...int) (all []Load) {
	for _, n := range ns {
		all = append(all, Load{N: n, Sessions: 1, Times: 1})
	}
	return all
}

func resultRows(b *Benchmark) (all []string) {
	for _, r := range b.Results {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d %s: %s", r.Lock, r.Goroutines, r.Status, r.Error)))
	}
	return all
}

func TestEachRoundBeginsWithTheNextLock(t *testing.T) {
	w := new(watcher)
	b := &Benchmark{Players: playersNamed("naive", "herd", "predecessor"), Loads: loads(5, 7), Rounds: 4, Watcher: w}
	require.NoError(t, b.Run(t.Context()))
	begins := slices.DeleteFunc(w.said, func(said string) bool { return strings.HasPrefix(said, "end ") })
	locks := strings.ReplaceAll(strings.Join(begins, " "), "begin ", "")
	rotated := []string{"naive herd predecessor", "herd predecessor naive", "predecessor naive herd"}
	ofOneLoad := strings.Join(append(rotated, rotated[0]), " ")
	require.Equal(t, ofOneLoad+" "+ofOneLoad, locks)
}

// quadratic is a formula of a lock that sends far more requests than others.
var quadratic = Formula{Requests: func(n float64) float64 { return n * n }, Growth: 2}

// Locks that send far more requests run last, after a quarter of their contenders, which tells how long it will take.
func TestQuickLocksRunFirst(t *testing.T) {
	const quarter = 1000 / 4 // goroutines, with which the slow lock takes 1 s
	w := new(watcher)
	slow := fakePlayer{lock: Lock{Name: "slow", Formula: quadratic}, run: func(_ context.Context, r *report.Run) error {
		r.Elapsed = time.Duration(r.Goroutines) * time.Second / quarter
		return nil
	}}
	b := &Benchmark{Players: append([]Player{slow}, playersNamed("quick")...), Loads: loads(100, 1000),
		Rounds: 1, Watcher: w, Limit: 10 * time.Second}
	require.NoError(t, b.Run(t.Context()))
	require.Equal(t, []string{"begin slow", "end slow", "begin quick", "end quick", // with 100
		"begin quick", "end quick", "slow, 1000 goroutines: it will most likely reach the -limit of 10s", "begin slow", "end slow",
	}, w.said)
	require.Equal(t, []string{"slow 100 ok:", "quick 100 ok:", "slow 1000 ok:", "quick 1000 ok:"}, resultRows(b))
	b.Limit = 0
	require.NoError(t, b.Run(t.Context()))
	require.Contains(t, w.said, "slow, 1000 goroutines: about 16 s", "4² times as long as the quarter, by the formula")
}

func TestALockThatTakesTooLongIsStoppedAndOthersGoOn(t *testing.T) {
	slow := fakePlayer{lock: Lock{Name: "slow"}, run: func(context.Context, *report.Run) error { return Stopped{3 * time.Second} }}
	b := &Benchmark{Players: append(playersNamed("quick"), slow), Loads: loads(4, 2, 8), Rounds: 2, Watcher: new(watcher), Limit: 3 * time.Second}
	require.NoError(t, b.Run(t.Context()))
	require.Equal(t, []string{
		"quick 4 ok:", "quick 4 ok:", "slow 4 stopped: stopped after 3s, at 0 of 4",
		"quick 2 ok:", "quick 2 ok:", "slow 2 stopped: stopped after 3s, at 0 of 2", // fewer contenders are tried again
		"quick 8 ok:", "quick 8 ok:", "slow 8 skipped: skipped: stopped after 3s with 2",
	}, resultRows(b), "a second round would be stopped as well")

	b.Processes, b.Results = 2, nil // of several processes: a run that is stopped is a failure
	require.EqualError(t, b.Run(t.Context()), "slow with 4 goroutines on here: stopped after 3s")
}

// After a trial that fails, no lock is measured, unless trials are left out. A lock known to be unsafe has none.
func TestALockThatFailsItsTrialIsNotMeasured(t *testing.T) {
	wrong := fakePlayer{lock: Lock{Name: "wrong"}, try: ErrTwoHolders}
	yardstick := fakePlayer{lock: Lock{Name: "floor", Unsafe: i18n.Same("it excludes nobody")}, try: errors.New("it is not tried")}
	b := &Benchmark{Players: append([]Player{yardstick, wrong}, playersNamed("right")...), Loads: loads(5, 10), Rounds: 1, Watcher: new(watcher)}
	require.EqualError(t, b.Run(t.Context()), "wrong, tried with 5 contenders on here: two goroutines held the lock at once")
	const notRun = " not run: not run: wrong with 5 failed"
	require.Equal(t, []string{"floor 5" + notRun, "wrong 5 failed: two goroutines held the lock at once", "right 5" + notRun,
		"floor 10" + notRun, "wrong 10" + notRun, "right 10" + notRun}, resultRows(b))
	b.Untried, b.Results = true, nil
	require.NoError(t, b.Run(t.Context()))
}

// A lock without a formula has no prediction, and one with a formula only if its contenders lock once.
func TestALockWithoutAFormulaHasNoPrediction(t *testing.T) {
	require.Zero(t, Formula{}.Predict(100))
	b := &Benchmark{Players: []Player{fakePlayer{lock: Lock{Formula: quadratic}}}, Rounds: 1, Watcher: new(watcher),
		Loads: []Load{{N: 5, Times: 1}, {N: 5, Times: 2}}}
	require.NoError(t, b.Run(t.Context()))
	require.EqualValues(t, 25, b.Results[0].Predicted)
	require.Zero(t, b.Results[1].Predicted)
}
