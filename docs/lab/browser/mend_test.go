package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
)

// A contender whose Lock or Unlock has returned an error has failed, though its
// script has ended, and the page says with which error.
func TestALockThatReturnsAnErrorIsNotDrawnAsDone(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=6&do=20000001ns.A.lose-reply&t=0ns")
	p.goTo(p.state().End)
	require.Equal(t, "failed", js[string](p, "document.querySelector('[data-client=A]').dataset.state"))
	require.Equal(t, "✕", js[string](p, "document.querySelector('[data-client=A] .badge').textContent"))
	failed := js[float64](p, "lab.app.panels[0].F.marks.find(m => /^gets an error/.test(m.text || '')).at_ns")
	p.goTo(failed)
	require.Contains(t, js[string](p, "document.querySelector('.now').textContent"), "A: gets an error: zk: ")

	p.open("#lock=predecessor&n=2&do=150ms.A.expire&t=0ns")
	p.goTo(p.state().End)
	require.Equal(t, "failed", js[string](p, "document.querySelector('[data-client=A]').dataset.state"), "its Unlock says that it has lost the lock")

	p.open("#lock=predecessor&n=6&t=0ns")
	p.goTo(p.state().End)
	require.Equal(t, 6, js[int](p, "document.querySelectorAll('[data-client][data-state=done]').length"), "without a fault nothing fails")
	p.open(sceneOf(t, "D6").String())
	p.goTo(p.state().End)
	require.NotZero(t, js[int](p, "document.querySelectorAll('[data-client][data-state=failed]').length"))
}

// The schedule of a listing, played with the lock that cures it, has the fault
// that the listing does not survive.
func TestTheCureIsPlayedWithTheFault(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	for name, fault := range map[string]string{"D3": "A: expire", "A8": "C: expire"} {
		p.open(sceneOf(t, name).String())
		p.click("#cure")
		p.await("lab.state().scene.locks[0].startsWith('" + name + "-') && lab.state().scene.choices.length > 0")
		p.settled()
		require.Contains(t, js[[]string](p, "lab.state().scene.choices"), fault, name)
		require.True(t, js[bool](p, "lab.app.play.over && !lab.app.play.violation"), "%s: it ends, and nothing breaks", name)
	}
}

// A search in a listing's world is for the goal of that listing, or for anything.
func TestASearchIsForTheGoal(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=D3&n=3&mode=find&kinds=expire&faults=1")
	js[any](p, "void (lab.app.findFor = 3600)") // it finds it after as many schedules on every machine
	p.click("#start-find")
	p.await("!!document.querySelector('#find-result')")
	p.settled()
	require.Contains(t, js[string](p, "document.querySelector('#find-result').textContent"), "Two holders")
	p.click("#only-goal")
	p.click("#start-find")
	p.await("!!document.querySelector('#find-result')")
	p.settled()
	require.NotContains(t, js[string](p, "document.querySelector('#find-result').textContent"), "Two holders", "what comes first is easier")
}

// The time that passes in a schedule passes in its film: what an error says of it
// has happened by then.
func TestAWaitIsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	p.open(sceneOf(t, "D8").String())
	require.Greater(t, js[float64](p, "lab.app.panels[0].F.marks.find(m => m.kind === 'violation').at_ns"), 10e9)

	// In no schedule of a listing a client is drawn as connected that the page
	// offers to let reconnect.
	for _, name := range []string{"D8", "D10", "D3", "A2"} {
		a := sceneOf(t, name)
		for n := range len(a.Choices) + 1 {
			played, err := lab.Play(t, a.World(), a.Choices[:n])
			require.NoError(t, err)
			last := make(map[string]string)
			for _, m := range played.Film.Marks {
				if m.Kind == "client" {
					last[m.Who] = m.State
				}
			}
			for _, c := range played.Enabled {
				if c.What == "reconnect" {
					require.NotContains(t, []string{"", "connected", "runs on"}, last[c.Who], "%s after %d choices", name, n)
				}
			}
		}
	}
}

// Two panels side by side leave their titles room, at every width.
func TestTwoPanelsFitOnASmallScreen(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	for _, width := range []int64{768, 900, 1024, 1100} {
		require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(width, 720)))
		p.open("#lock=herd,predecessor&n=6&t=400ms")
		require.Less(t, js[float64](p, "document.querySelector('.stage').getBoundingClientRect().top + scrollY"), 520.0, "%d", width)
		require.Greater(t, js[float64](p, "Math.min(...[...document.querySelectorAll('.head')].map(e => e.clientWidth))"), 200.0, "%d", width)
	}
}

func TestChoicesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	a := sceneOf(t, "D3")
	p.open(a.String())
	made := js[[]string](p, "[...document.querySelectorAll('#trace li')].map(e => e.textContent)")
	require.Equal(t, "B: request: exists /lock", made[0])
	require.Equal(t, "C: request: create /lock_", made[3])
	require.Equal(t, "A: expire", made[len(made)-1])
	a.Choices = a.Choices[:9]
	p.open(a.String())
	require.Contains(t, js[string](p, "document.querySelector('[data-choice=\"gap D2: go on\"]').textContent"), "B, kept between two lines")
}

// The catalogue of bugs is named in a note, and can be read there.
func TestTheNoteOpensTheBug(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1")
	p.click(".note [data-bug=D3]")
	text := js[string](p, "document.querySelector('#bug-box[open]').textContent")
	require.Contains(t, text, "D3: a waiter that is woken does not read the list again")
	require.Contains(t, text, "What goes wrong.")
	require.Contains(t, text, "The cure")
	require.NotContains(t, text, "sequenceDiagram")
}

// A packet that was clicked is explained until the film plays on.
func TestTheSentenceDoesNotFreeze(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=3&t=60ms")
	js[any](p, "void document.dispatchEvent(new KeyboardEvent('keydown', {key: '.', bubbles: true}))")
	first := js[string](p, "document.querySelector('.now').textContent")
	require.Contains(t, first, " ms")
	p.click("#play")
	p.await("document.querySelector('.now').textContent != " + quoted(first))
}

func TestTheWayBackToWatch(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=herd,predecessor&n=6&t=0ns")
	for _, mode := range []string{"schedule", "find", "watch"} {
		p.click("[data-mode=" + mode + "]")
	}
	require.Contains(t, p.state().Link, "#lock=herd,predecessor&n=6&")
	require.Len(t, p.state().Panels, 2)
}

func TestKeysDoNotChooseAnotherLock(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=herd&n=3&t=0ns")
	js[any](p, "void document.getElementById('lock').focus()")
	require.NoError(t, chromedp.Do(p.ctx, chromedp.KeyEvent(kb.ArrowRight)))
	p.await("lab.state().t > 0")
	require.Equal(t, "herd", p.state().Panels[0].Lock)
}

func TestOddAddressesAndNumbers(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=herd&n=3&t=0ns&lang=constructor")
	require.Equal(t, "Watch", js[string](p, "document.querySelector('[data-mode=watch]').textContent"))
	p.set("seed", "1e30")
	require.Empty(t, said(p))
	require.Len(t, p.state().Panels, 1)
	require.Equal(t, "9007199254740991", js[string](p, "document.getElementById('seed').value"))
}

func TestADoubleClickOnSearchSearches(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=2&mode=find&kinds=expire&faults=1")
	p.set("for", "2")
	p.click("#start-find")
	js[any](p, "void document.querySelector('#stop-find, #start-find').click()")
	p.await("!!document.querySelector('#find-result')")
	require.NotEqual(t, "Stopped.", js[string](p, "document.querySelector('#find-result').textContent"))
	require.Contains(t, js[string](p, "document.querySelector('#find-result').textContent"), "schedules")
}

// Of a link with a choice that is not possible, what comes before is played.
func TestAnImpossibleChoiceKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=D3&n=3&mode=schedule&kinds=expire&faults=1&choices=B:+request,C:+request,A:+fly,A:+request")
	require.Equal(t, []string{"B: request", "C: request"}, js[[]string](p, "lab.state().scene.choices"))
	require.Len(t, p.state().Panels, 1)
	require.Contains(t, said(p), "first 2 of 4")
	require.Contains(t, said(p), "A: fly")
}
