package explore

import (
	"strings"
	"testing"

	"example.com/zklock/internal/explore/player"
)

// Series plays one schedule again and again: the one in which a holder unlocks when nothing else can happen. Each time
// another fault of the world's kinds happens, at another of its moments, until all have happened; and if the lock
// takes a ctx, the same again with a ctx that ends as soon as one can after the fault. It returns the number of
// schedules, and calls failed with each that ends in a violation.
func Series(t *testing.T, w player.World, failed func(*player.Trace)) (played int) {
	t.Helper()
	defer player.OneCore()()
	for _, kind := range w.Kinds {
		for _, ends := range []bool{false, true} {
			one := w
			one.Kinds, one.Faults, one.Each = []player.Fault{kind}, 1, 1
			if ends && (!w.Lock.Contexts || kind == player.EndContext) {
				continue
			}
			if ends {
				one.Kinds, one.Faults = append(one.Kinds, player.EndContext), 2
			}
			for n := 0; ; n++ {
				choose, happened := strikeNth(kind, n)
				tr := player.TraceOf(one, player.Play(t, one, false, choose, nil))
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

// strikeNth chooses the n-th of the faults of one kind that are possible, and then the first end of a ctx.
func strikeNth(kind player.Fault, n int) (choose func(p *player.Point) int, happened *bool) {
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
