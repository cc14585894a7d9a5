package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore/film"
)

// wasted is how many contenders had woken for nothing by an instant: before they held
// the lock they woke again.
func wasted(f *film.Film, by time.Duration) (n int) {
	woken := make(map[string]bool)
	for _, m := range f.Marks {
		switch {
		case m.At > by:
			return n
		case m.Kind == "wakeup":
			if woken[m.Who] {
				n++
			}
			woken[m.Who] = true
		case m.Kind == "state" && m.State == "holds":
			woken[m.Who] = false
		}
	}
	return n
}

// The captions of the opening say what its films show.
func TestTheOpeningIsTrue(t *testing.T) {
	films := make([]*film.Film, 2)
	for i, name := range locks.Opening.Locks {
		scene := locks.Opening.Scene
		scene.Lock = name
		var err error
		films[i], err = lab.Run(t, scene)
		require.NoError(t, err)
	}
	herd, chain := films[0], films[1]
	require.Greater(t, herd.End, chain.End+chain.End/4, "the herd is later")
	require.Equal(t, []int{250, 98}, []int{herd.Counters.Requests, chain.Counters.Requests})
	require.Equal(t, []int{171, 0}, []int{wasted(herd, herd.End), wasted(chain, chain.End)})

	stops := locks.OpeningStops
	require.Len(t, stops, 6)
	for i, s := range stops {
		require.LessOrEqual(t, s.At, herd.End)
		require.True(t, i == 0 || s.At > stops[i-1].At)
		require.True(t, s.Text.En != "" && s.Text.Zh != "")
	}
	count := func(f *film.Film, stop int, state string) int {
		return strings.Count(seen(f, stops[stop].At).States, state)
	}
	packets := func(f *film.Film, stop int, kind string) (list []film.Packet) {
		return slices.DeleteFunc(slices.Clone(f.Packets), func(p film.Packet) bool { return p.Kind != kind || p.Sent > stops[stop].At })
	}
	for _, f := range films {
		at := seen(f, stops[1].At)
		require.True(t, strings.HasPrefix(at.States, "holds ") && count(f, 1, "waits") == 19, "A holds, all others wait: %s", at.States)
	}
	more := len(packets(chain, 1, "request")) - len(packets(herd, 1, "request"))
	require.Equal(t, 19, more, "each waiter of the chain has sent one more request")
	others := func(list []film.Packet) (names []string) { // than A, which gives the lock back
		for _, p := range list {
			if p.Who != "A" {
				names = append(names, p.Who)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	events := packets(herd, 2, "event")
	require.Len(t, others(events), 19)
	require.Equal(t, []string{"B"}, others(packets(chain, 2, "event")))
	asks := packets(chain, 2, "request")
	require.Equal(t, "B", asks[len(asks)-1].Who)
	asks = slices.DeleteFunc(packets(herd, 3, "request"), func(p film.Packet) bool { return p.Sent < events[0].Sent })
	require.Len(t, others(asks), 19, "all ask")
	line := slices.DeleteFunc(asks, func(p film.Packet) bool { return p.Queued == 0 || p.Queued > stops[3].At || p.Arrived <= stops[3].At })
	require.Greater(t, len(line), 10, "the line at the server's door")
	require.True(t, strings.HasPrefix(seen(chain, stops[3].At).States, "done unlocks "), "B has had the lock")
	require.Equal(t, 20, count(chain, 4, "done"))
	require.Equal(t, 12, count(herd, 4, "done"))
	require.Greater(t, wasted(herd, stops[4].At), 140)
}

// The captions of the second opening say what its films show.
func TestTheOpeningOfZklockIsTrue(t *testing.T) {
	films := make([]*film.Film, 2)
	made, holds := make([]int, 2), make([][]time.Duration, 2)
	for i, name := range locks.Memory.Locks {
		scene := locks.Memory.Scene
		scene.Lock = name
		var err error
		films[i], err = lab.Run(t, scene)
		require.NoError(t, err)
		for _, m := range films[i].Marks {
			if m.Kind == "node" && m.Owner != "" && *m.Made {
				made[i]++
			}
			if m.Kind == "state" && m.State == "holds" {
				holds[i] = append(holds[i], m.At)
			}
		}
	}
	require.Equal(t, []int{16, 1}, made, "nodes")
	require.Equal(t, []int{94, 3}, []int{films[0].Counters.Requests, films[1].Counters.Requests})
	had := func(film, stop int) (n int) { // how many have had the lock by a stop
		for _, at := range holds[film] {
			if at <= locks.MemoryStops[stop].At {
				n++
			}
		}
		return n
	}
	for stop, want := range [][]int{{0, 0}, {1, 1}, {1, 8}, {3, 16}, {16, 16}} {
		require.Equal(t, want, []int{had(0, stop), had(1, stop)}, "stop %d", stop+1)
	}
	require.LessOrEqual(t, locks.MemoryStops[4].At, films[0].End)
	require.Equal(t, 16, strings.Count(seen(films[1], locks.MemoryStops[3].At).States, "done"))
}
