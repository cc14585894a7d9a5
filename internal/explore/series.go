package explore

import (
	"strings"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// Series plays the schedule in which a holder unlocks only when nothing else is possible. It plays it once for each
// moment at which a fault of one of the world's kinds is possible, with that fault. If the lock takes a ctx, it plays
// each again, with a ctx that ends as soon as possible after the fault. It returns the number of schedules, and calls
// failed with each that ends in a violation.
func Series(t *testing.T, w player.World, failed func(*player.Trace)) (played int) {
	t.Helper()
	defer player.OneCore()()
	for _, kind := range w.Kinds {
		for _, ctxEnds := range []bool{false, true} {
			if ctxEnds && (!w.Lock.Contexts || kind == player.EndContext) {
				continue
			}
			oneFault := w
			oneFault.Kinds, oneFault.Faults, oneFault.Each = []player.Fault{kind}, 1, 1
			if ctxEnds {
				oneFault.Kinds, oneFault.Faults = append(oneFault.Kinds, player.EndContext), 2
			}
			for n := 0; ; n++ { // until the schedule has no n-th moment
				choose, happened := chooseNth(kind, n)
				tr := player.TraceOf(oneFault, player.Play(t, oneFault, false, choose, nil))
				if !*happened {
					break
				}
				played++
				if tr.Violation != nil {
					failed(tr)
				}
			}
		}
	}
	return played
}

// chooseNth returns a Chooser. It takes the fault of the kind at the n-th point at which one is possible, counted from
// 0, and after that the first end of a ctx. Otherwise it takes an action that is not an unlock, if there is one. After
// the schedule *happened reports whether the fault was taken.
func chooseNth(kind player.Fault, n int) (choose player.Chooser, happened *bool) {
	happened = new(bool)
	return func(p *player.Point) int {
		for i, f := range p.Faults {
			switch {
			case *happened && f == player.EndContext:
				return i
			case !*happened && f == kind:
				if n--; n < 0 {
					*happened = true
					return i
				}
			}
		}
		for i := range p.Plain() {
			if !strings.HasSuffix(p.Enabled[i], ": unlock") {
				return i
			}
		}
		return 0
	}, happened
}
