package browser

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
)

const shares = "[...document.querySelectorAll('#fate-bars .bar')].map(b => Number(b.dataset.share))"

// D3 goes well until its last choice, and then no continuation does. A reader who
// plays the same by hand sees what the scene brings.
func TestTheStripSaysWhenItWasTooLate(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('fate').hidden"), "nobody chooses here")
	l, err := locks.Find("D3")
	require.NoError(t, err)
	a := l.Open()
	began := time.Now()
	p.open(a.String())
	got := js[[]int](p, shares)
	require.Less(t, time.Since(began), 2*time.Second)
	want := append(make([]int, len(a.Choices)), 100)
	require.Equal(t, want, got)
	require.Contains(t, js[string](p, "document.getElementById('fate-line').textContent"), "A: expire")

	// The last moment is just before that choice: the session is still there.
	p.click("#last-moment")
	at := p.state().T
	require.Equal(t, js[float64](p, "lab.app.panels[0].F.film.choices.at(-1).at_ns"), at)
	require.Equal(t, "connected", js[string](p, "document.querySelector('[data-client=A]').dataset.conn"))

	// One choice less is a reader's own schedule, and is counted here.
	p.click("#take-back")
	p.await(shares + ".length == " + "11")
	require.Equal(t, make([]int, 11), js[[]int](p, shares))
	require.True(t, js[bool](p, "document.getElementById('last-moment').hidden"))
	p.await("!!document.querySelector('[data-choice=\"A: expire\"]')")
	p.click("[data-choice=\"A: expire\"]")
	require.Equal(t, want, js[[]int](p, shares))

	// After the fault of D7 it can go either way, and it is said in both languages.
	l, err = locks.Find("D7")
	require.NoError(t, err)
	p.open(l.Open().String() + "&lang=zh")
	got = js[[]int](p, shares)
	require.Equal(t, 0, got[0])
	require.Equal(t, 100, got[len(got)-1])
	require.True(t, slices.ContainsFunc(got, func(n int) bool { return n > 0 && n < 100 }), "%v", got)
	require.Contains(t, js[string](p, "document.getElementById('fate').textContent"), "从何时起无法挽回")
	p.open("#lock=naive&n=2&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('fate').hidden"))
}

// Somebody who has let the waiter leave in good order is told that the goal is out
// of reach; as long as the fault may still come, it is not said.
func TestTheGoalIsOutOfReach(t *testing.T) {
	t.Parallel()
	l, err := locks.Find("D3")
	require.NoError(t, err)
	a := l.Open()
	a.Faults = 0
	a.Choices = a.Choices[:len(a.Choices)-1]
	const line = "document.getElementById('fate-line').textContent"
	p := open(t, a.String())
	p.await(line + ".includes('can no longer be reached')")
	a.Faults = 1
	p.open(a.String())
	p.await(shares + ".length == " + "11")
	require.NotContains(t, js[string](p, line), "can no longer be reached", "A's session may still end")
}
