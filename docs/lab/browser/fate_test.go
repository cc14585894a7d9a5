package browser

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const shares = "[...document.querySelectorAll('#fate-bars .bar')].map(b => Number(b.dataset.share))"

// D3 goes well until its last choice, and then no continuation does. A reader who
// plays the same by hand sees what the scene brings.
func TestTheStripSaysWhenItWasTooLate(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('fate').hidden"), "nobody chooses here")
	a := sceneOf(t, "D3")
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
	p.open(sceneOf(t, "D7").String() + "&lang=zh")
	got = js[[]int](p, shares)
	require.Equal(t, 0, got[0])
	require.Equal(t, 100, got[len(got)-1])
	require.True(t, slices.ContainsFunc(got, func(n int) bool { return n > 0 && n < 100 }), "%v", got)
	require.Contains(t, js[string](p, "document.getElementById('fate').textContent"), "从何时起无法挽回")
	p.open("#lock=naive&n=2&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('fate').hidden"))
}

// After the waiter has left in good order the page says that the goal is out of
// reach, beside the choices, too; as long as the fault may still come, it does not.
// After the end of a run no fault can come.
func TestTheGoalIsOutOfReach(t *testing.T) {
	t.Parallel()
	a := sceneOf(t, "D3")
	a.Faults = 0
	a.Choices = a.Choices[:len(a.Choices)-1]
	const (
		line  = "document.getElementById('fate-line').textContent"
		note  = "document.getElementById('out-of-reach').innerText"
		hides = "document.getElementById('out-of-reach').hidden"
		gone  = "can no longer be reached"
	)
	p := open(t, a.String())
	p.await(line + ".includes(" + quoted(gone) + ")")
	require.Contains(t, js[string](p, note), gone)
	a.Faults = 1
	p.open(a.String())
	p.await(shares + ".length == " + "11")
	require.NotContains(t, js[string](p, line), gone, "A's session may still end")
	require.True(t, js[bool](p, hides))

	a.Choices = []string{
		"A: request", "A: request", "A: request", "B: request", "B: request", "B: request", "B: request", "A: unlock", "A: request",
		"gap D2: go on", "A: request", "A: reconnect", "C: request", "C: request", "C: request", "C: request", "gap D2: go on",
	}
	p.open(a.String())
	p.await("lab.app.play.violation && lab.app.play.violation.kind == 'hang'")
	p.await(line + ".includes(" + quoted(gone) + ")")
	require.Contains(t, js[string](p, note), gone)
	require.Contains(t, js[string](p, "document.getElementById('reached').textContent"), "Broken, but not the goal: It hangs.")
}

// The holder's session is the first that a reader lets expire. Two contenders act
// as holders then, and the page says why that is not the goal.
func TestAnOutlivedSessionIsNotTheGoal(t *testing.T) {
	t.Parallel()
	a := sceneOf(t, "D3")
	a.Choices = []string{"A: request", "A: request", "A: request", "B: request", "B: request", "B: request", "B: request", "gap D2: go on", "A: expire"}
	p := open(t, a.String())
	const reached = "document.getElementById('reached')"
	require.Equal(t, "no", js[string](p, reached+".dataset.reached"))
	require.Contains(t, js[string](p, reached+".textContent"), "Broken, but not the goal: A holder outlives its session. A holder whose session has ended does not count")
	require.Contains(t, js[string](p, "document.querySelector('.faults summary').textContent"), "1 so far")
	p.open(a.String() + "&lang=zh")
	require.Contains(t, js[string](p, reached+".textContent"), "这不是目标")
}

// A goal brings its faults. A line names them, and the choices are in sight above
// the bar with the time, after the first of them, too.
func TestTheChoicesOfAGoalAreInSight(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1&t=0ns")
	require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(1280, 720)))
	const box = "document.querySelector('details.faults')"
	p.click("[data-choice=\"A: request\"]")
	p.await("!document.getElementById('fate').hidden")
	require.Equal(t, "What may go wrong: an expired session; at most 1 fault", js[string](p, box+".querySelector('summary').innerText"))
	require.Len(t, js[[]string](p, "[...document.querySelectorAll('[data-choice]')].map(e => e.dataset.choice)"), 6)
	const hidden = "[...document.querySelectorAll('[data-choice]')].filter(e => e.getBoundingClientRect().bottom > document.getElementById('transport').getBoundingClientRect().top).map(e => e.dataset.choice)"
	require.Empty(t, js[[]string](p, hidden))

	// A reader who opens the box finds it open after the next choice.
	js[any](p, "void ("+box+".open = true)")
	p.click("[data-choice=\"A: request\"]")
	require.True(t, js[bool](p, box+".open"))
	require.Contains(t, js[string](p, box+".innerText"), "faults, at most")
	p.click("[data-kind=expire]")
	require.Equal(t, "What may go wrong: nothing", js[string](p, box+".querySelector('summary').innerText"))

	// Where no goal brings faults, they are chosen.
	p.open("#lock=predecessor&n=2&mode=schedule&kinds=&faults=1")
	require.True(t, js[bool](p, box+".open"))
}
