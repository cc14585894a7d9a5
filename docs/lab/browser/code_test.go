package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/internal/explore/film"
)

// Each contender's letter is at the line at which its goroutine is, on the way
// forwards and back. The page is compared with the stacks of a run in this process.
func TestAPointerIsWhereTheContenderIs(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+"#lock=naive&n=2&t=0ns", 1440, 900)
	for _, name := range []string{"naive", "herd", "predecessor", "D3", "D7", "A7", "zklock", "timeout"} {
		a := sceneOf(t, name)
		var f *film.Film
		var err error
		if a.Mode == "schedule" {
			played, err := lab.Play(t, a.World(), a.Choices)
			require.NoError(t, err)
			f = played.Film
		} else {
			f, err = lab.Run(t, a.Scene)
			require.NoError(t, err)
		}
		require.NotEmpty(t, f.Where, name)
		p.open(a.String() + "&t=0ns")
		js[any](p, "void lab.pause()")
		const stops = 5
		seen := 0
		for _, i := range []int{0, 1, 2, 3, 4, 3, 2, 1, 0} {
			at := f.Where[(2*i+1)*len(f.Where)/(2*stops)].From
			p.goTo(float64(at))
			shown := js[string](p, "document.querySelector('.code select').value")
			var want []string
			for _, c := range f.Clients {
				for _, unit := range c.Contenders {
					var places []int
					for _, w := range f.Where {
						if w.Who == unit && w.From <= at {
							places = w.At
						}
					}
					for depth, n := range places {
						if q := f.Places[n]; q.File == shown {
							cls := "at"
							if depth > 0 {
								cls = "caller"
							}
							want = append(want, fmt.Sprint(unit, " ", q.Line, " ", cls))
						}
					}
				}
			}
			seen += len(want)
			require.ElementsMatch(t, want, js[[]string](p, "[...document.querySelectorAll('.source b')].map(b => [b.dataset.unit, b.closest('li').dataset.line, b.className].join(' '))"), "%s at %v", name, at)
		}
		require.Greater(t, seen, 5, name)
		require.Equal(t, 1, js[int](p, "document.querySelectorAll('.code:not(.empty)').length"))
		if name == "D3" {
			require.Contains(t, js[string](p, "document.querySelector('.source li.bug').textContent"), "return true")
		}
	}
	p.open("#lock=predecessor&n=13&t=0ns")
	require.Equal(t, 1, js[int](p, "document.querySelectorAll('.code.empty').length"), "a crowd has no pointers")
}

// The source is shown where it has room, and elsewhere at the reader's choice.
func TestTheSourceIsShownIfItHasRoom(t *testing.T) {
	t.Parallel()
	const shown = "document.querySelector('.source')?.checkVisibility() ?? false"
	p := openAt(t, "file://"+file+"#lock=predecessor&n=3&t=100ms", 1440, 900)
	require.True(t, js[bool](p, shown))
	p.click("[data-action=code]")
	require.False(t, js[bool](p, shown))
	p = openAt(t, "file://"+file+"#lock=predecessor&n=3&t=100ms", 390, 844)
	require.False(t, js[bool](p, shown))
	p.click("[data-action=code]")
	require.True(t, js[bool](p, shown))
	require.Empty(t, js[[]string](p, narrow))
	line := js[string](p, "document.querySelector('.source li.here').textContent")
	require.True(t, strings.Contains(line, "l.") || strings.Contains(line, "<-"), line)
}
