package film_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/steps"
)

// measured films a lock at the pace of the measured server.
func measured(t *testing.T, s explore.Subject, n int, changes ...film.Change) *film.Film {
	p := film.Measured(n)
	p.Seed, p.Changes = 2, changes
	s.Session = 4 * time.Second
	return paced(t, explore.World{Lock: s, Contenders: n}, p)
}

// The benchmark's page has the command that measured these: the median times of the
// steps, as multiples of step 3's.
func TestTheTimesHaveTheRatiosOfTheMeasuredServer(t *testing.T) {
	for _, x := range []struct {
		n           int
		herd, naive float64
	}{{6, 1.01, 1.45}, {20, 1.43, 2.44}, {50, 2.16, 3.50}, {100, 3.53, 5.67}} {
		if x.n > 20 && !everyFilm() {
			continue
		}
		chain := measured(t, steps.Predecessor(), x.n).End
		require.InEpsilon(t, x.herd, float64(measured(t, steps.Herd(), x.n).End)/float64(chain), 0.10, "herd, %d contenders", x.n)
		if x.n < 100 { // that many are slow to film
			require.InEpsilon(t, x.naive, float64(measured(t, steps.Naive(), x.n).End)/float64(chain), 0.30, "naive, %d contenders", x.n)
		}
	}
}

// TestAServerTakesOneRequestAfterTheOther: in the order in which they come, whatever
// fails meanwhile, and a reply waits until the server has worked for it.
func TestAServerTakesOneRequestAfterTheOther(t *testing.T) {
	for _, do := range append([]explore.Fault{""}, someFaults(0)...) {
		var changes []film.Change
		if do != "" { // C waits, and asks soon after A's first release
			changes = []film.Change{{At: 1600 * time.Microsecond, Who: "C", Do: do}, {At: 1800 * time.Microsecond, Who: "B", Do: do}}
		}
		f := measured(t, steps.Herd(), 6, changes...)
		require.Equal(t, f, measured(t, steps.Herd(), 6, changes...), "%s: a film repeats", do)
		var done []film.Packet
		waited := 0
		for _, p := range f.Packets {
			if p.Kind == "request" && !p.Lost {
				done = append(done, p)
			}
			if p.Queued != 0 {
				require.Less(t, p.Queued, p.Arrived)
				waited++
			}
			if p.Kind == "reply" {
				require.GreaterOrEqual(t, p.Sent-f.Packets[p.Of-1].Arrived, 45*time.Microsecond, do)
			}
		}
		require.Greater(t, waited, 10, do)
		slices.SortFunc(done, func(a, b film.Packet) int { return cmp.Compare(a.Arrived, b.Arrived) })
		for i, p := range done[1:] {
			last := done[i]
			require.GreaterOrEqual(t, cmp.Or(p.Queued, p.Arrived), cmp.Or(last.Queued, last.Arrived), do)
			require.GreaterOrEqual(t, p.Arrived-last.Arrived, 45*time.Microsecond, do)
		}
	}
}
