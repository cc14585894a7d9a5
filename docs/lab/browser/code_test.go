package browser

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore/film"
)

// inSight keeps whether an element of the code is in its list and above the bar.
const inSight = `keep seen e => {
	const b = e.getBoundingClientRect(), list = e.closest(".source").getBoundingClientRect();
	return b.height > 0 && b.top >= list.top - 1 && b.bottom <= list.bottom + 1 && b.bottom <= one("#transport").getBoundingClientRect().top;
}`

// The source beside the picture.
var listings = []pageCase{
	{name: "the source is shown if it has room", at: "#lock=predecessor&n=3&t=100ms", window: "1440x900", rows: []row{
		{"", "shown('.source')", true},
		{"click [data-action=code]", "shown('.source')", false},
	}},
	{name: "the source is shown on a phone at the reader's choice", at: "#lock=predecessor&n=3&t=100ms", window: "390x844", rows: []row{
		{"", "shown('.source')", false},
		{"click [data-action=code]", "shown('.source')", true},
		{"", "narrow()", list{}},
		{"", "text('.source li.here')", match(`l\.|<-`)},
	}},
	{name: "a crowd has no pointers", at: "#lock=predecessor&n=13&t=0ns", window: "1440x900", rows: []row{
		{"", "count('.code.empty')", 1},
	}},
	{name: "a holder is at the line that it has left, and no pane opens on a helper", at: scene("D3", "&t=0ns"), window: "1440x900", rows: []row{
		{"run lab.pause() | " + inSight, "seen([...document.querySelectorAll('.source li')].find(li => li.textContent.includes('l.exists(\"/\"+businessCode, false)')))", nil},
		{"go s.end", "all('.source li.bug b.was', b => b.dataset.unit)", list{"B"}}, // at the instant of the two holders
		{"", "seen(one('.source li.bug'))", nil},
		{"keep before one('.diagram').clientWidth | click #code | wait one('.diagram').clientWidth > before + 100", "", nil},
		{"wait Math.abs(one('.diagram').width / devicePixelRatio - one('.diagram').clientWidth) < 2", "", nil}, // it is not stretched
	}},
	{name: "no letter covers a line's number", at: "#lock=naive&n=6&latency=20&seed=1&t=0ns", window: "1440x900", rows: []row{
		{"keep full () => [...document.querySelectorAll('.source li')].filter(li => li.querySelectorAll('b').length > 4)", "", nil},
		{"run [...Array(99).keys()].find(i => (lab.goto(i * 2e6), full().length))", "full().length > 0", nil},
		{"", "full().flatMap(li => [...li.querySelectorAll('b')].filter(b => b.getBoundingClientRect().right > li.querySelector('.number').getBoundingClientRect().left))",
			list{}},
	}},
	{name: "the code of two locks is in sight", at: "#lock=herd,predecessor&n=6&latency=20&seed=1&t=400ms", window: "1440x900", rows: []row{
		{"click #code | " + inSight, "all('.source', seen)", list{true, true}},
		{"", "[...document.querySelectorAll('.source')].every(e => e.querySelector('b') && [...e.querySelectorAll('li')].some(li => li.querySelector('b') && seen(li)))", nil},
	}},
	{name: "the line of the bug is marked", at: scene("D3"), window: "1440x900", rows: []row{
		{"", "text('.source li.bug')", has{"l.Wait()"}},
		{"open " + scene("A5", ""), "text('.source li.bug')", has{"[A1, A5, A6]"}}, // a line of three bugs
	}},
}

// filmOf is the film of a lock's own scene, as a run in this process has it.
func filmOf(t *testing.T, a locks.Address) *film.Film {
	t.Helper()
	if a.Mode == "schedule" {
		played, err := lab.Play(t, a.World(), a.Choices)
		require.NoError(t, err)
		return played.Film
	}
	f, err := lab.Run(t, a.Scene)
	require.NoError(t, err)
	return f
}

// Each contender's letter is at the line at which its goroutine is, on the way
// forwards and back. The page is compared with the stacks of a run in this process.
func TestAPointerIsWhereTheContenderIs(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+"#lock=naive&n=2&t=0ns", 1440, 900)
	for _, name := range []string{"naive", "herd", "predecessor", "D3", "D7", "A7", "zklock", "timeout"} {
		f := filmOf(t, address(name))
		require.NotEmpty(t, f.Where, name)
		p.play(row{"open " + scene(name, "&t=0ns") + " | run lab.pause()", "count('.code:not(.empty)')", 1})
		const stops = 5
		seen := 0
		for _, i := range []int{0, 1, 2, 3, 4, 3, 2, 1, 0} {
			at := f.Where[(2*i+1)*len(f.Where)/(2*stops)].From
			want := pointers(f, at, js[string](p, fmt.Sprintf("lab.goto(%d), one('.code select').value", at)))
			seen += len(want)
			p.play(row{"", "all('.source b', b => [b.dataset.unit, b.closest('li').dataset.line, b.className].join(' ')).sort()", want})
		}
		require.Greater(t, seen, 5, name)
	}
}

// pointers are those at an instant in a file: the contender, the line and its kind. A holder's
// are at the lines that it has left.
func pointers(f *film.Film, at time.Duration, file string) []string {
	list := []string{}
	for _, c := range f.Clients {
		for _, unit := range c.Contenders {
			var places, left []int
			for _, w := range f.Where {
				if w.Who == unit && w.From <= at {
					places, left = w.At, places
				}
			}
			kinds := map[int]string{0: "at"}
			if len(places) == 0 && stateOf(f, unit, at) == "holds" {
				places, kinds = left, map[int]string{0: "was", 1: "was", 2: "was"}
			}
			for depth, n := range places {
				if q := f.Places[n]; q.File == file {
					list = append(list, fmt.Sprint(unit, " ", q.Line, " ", cmp.Or(kinds[depth], "caller")))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// stateOf is the state of a contender at an instant.
func stateOf(f *film.Film, unit string, at time.Duration) (state string) {
	for _, m := range f.Marks {
		if m.Kind == "state" && m.Who == unit && m.At <= at {
			state = m.State
		}
	}
	return state
}
