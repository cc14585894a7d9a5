package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
)

func TestTheOpeningScenePlays(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	first := p.state()
	require.Len(t, first.Panels, 2)
	require.Equal(t, "herd", first.Panels[0].Lock)
	require.Equal(t, "predecessor", first.Panels[1].Lock)
	require.True(t, first.Playing, "it moves when it opens")
	p.await(fmt.Sprintf("lab.state().t > %f", first.T))
	before := p.dom()
	p.await("document.querySelectorAll('[data-packet]').length > 0")
	p.await(fmt.Sprintf("document.getElementById('panels').innerHTML != %s", quoted(before)))
	end := p.state().End
	p.goTo(end)
	s := p.state()
	require.False(t, s.Playing, "somebody who goes to an instant stays there")
	require.Greater(t, s.Panels[0].Wakeups, s.Panels[1].Wakeups, "the herd wakes more")
	require.Equal(t, 5, s.Panels[1].Wakeups, "the chain wakes one contender at each release")
	require.Empty(t, kind(s.Panels[0].FilmViolation))
}

func TestOnlyOneFileAndNotALargeOne(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(3_300_000), "bytes")
	asked := js[[]string](p, "performance.getEntriesByType('resource').map(e => e.name).filter(n => !/^(blob|data):/.test(n))")
	require.Empty(t, asked, "what the page has asked for")
}

func TestEachSceneOfTheMuseumEndsInItsViolation(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns&lang=zh")
	for _, s := range scenes.All {
		t.Run(s.ID, func(t *testing.T) {
			p := &tab{T: t, ctx: p.ctx}
			a := sceneOf(t, s.ID)
			p.open(a.String() + "&lang=zh")
			p.goTo(p.state().End)
			p.inChinese(s.ID)
			shown := p.state()
			require.Len(t, shown.Panels, 1)
			require.Equal(t, s.ID, shown.Panels[0].Lock)
			var kinds []string
			for _, k := range s.Kinds {
				kinds = append(kinds, string(k))
			}
			require.Contains(t, kinds, kind(shown.Panels[0].Violation), "shown at the end")
			require.NotEmpty(t, js[string](p, "document.querySelector('[data-panel] .verdict').textContent"))

			// Our lock, in the same world, with the same choices where they are
			// possible.
			ours := js[string](p, fmt.Sprintf(`(async (ours, choices) => {
				const world = {lock: ours, contenders: %d, kinds: %s, faults: %d};
				for (const made = []; ;) {
					const r = await lab.app.engine.ask({do: "play", world, choices: made});
					if (r.violation || r.film.known || r.over || made.length > 300) return r.violation ? r.violation.kind : r.film.known || "";
					const at = choices.findIndex(c => r.enabled.some(e => e.choice === c));
					made.push(at < 0 ? r.enabled[0].choice : choices.splice(0, at + 1)[at]);
				}
			})(%s, %s)`, a.Contenders, list(a.Kinds), a.Faults, quoted(s.Ours.Name), list(a.Choices)))
			require.NotContains(t, kinds, ours, "with %s", s.Ours.Name)
		})
	}
}

func TestBackAndForthIsTheSame(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=herd,predecessor&n=6&do=300ms.B.lose-reply&t=0ns")
	end := p.state().End
	var there []string
	const stops = 10
	for i := range stops {
		p.goTo(end * (float64(i) + 0.5) / stops)
		there = append(there, p.dom())
	}
	require.NotEqual(t, there[2], there[7])
	for i := range 100 {
		stop := (i * 7) % stops // near and far, on and back
		p.goTo(end * (float64(stop) + 0.5) / stops)
		require.Empty(t, difference(there[stop], p.dom()), "at stop %d, the %d. time", stop, i)
	}
	// With the keys, a step on and a step back.
	p.goTo(end / 2)
	for range 20 {
		before := p.state().T
		require.NoError(t, chromedp.Do(p.ctx, chromedp.KeyEvent(kb.ArrowRight)))
		p.await(fmt.Sprintf("lab.state().t > %f", before))
		on := p.state().T
		require.NoError(t, chromedp.Do(p.ctx, chromedp.KeyEvent(kb.ArrowLeft)))
		p.await(fmt.Sprintf("lab.state().t < %f", on))
		require.NoError(t, chromedp.Do(p.ctx, chromedp.KeyEvent(kb.ArrowRight)))
		p.await(fmt.Sprintf("lab.state().t == %f", on))
	}
}

func TestAnInterferenceMakesABranch(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=3&t=0ns")
	first := p.state()
	require.Len(t, first.Branches, 1)
	hold := js[float64](p, `(() => { for (let t = 0; t < lab.state().end; t += 1e6) { lab.goto(t); if (lab.state().panels[0].holders.length) return t; } return -1; })()`)
	require.Positive(t, hold)
	who := p.state().Panels[0].Holders[0]
	js[any](p, fmt.Sprintf("lab.interfere(%s, 'expire', %f).then(() => null)", quoted(who), hold))
	p.settled()
	second := p.state()
	require.Len(t, second.Branches, 2)
	require.Equal(t, 1, second.Branch)
	require.NotEqual(t, first.Panels[0].Hash, second.Panels[0].Hash)
	require.Contains(t, second.Link, "do=")

	// A link is the run: another tab shows the same.
	again := open(t, second.Link)
	require.Equal(t, second.Panels[0].Hash, again.state().Panels[0].Hash)
	require.InDelta(t, second.T, again.state().T, 1)

	p.click("#undo")
	back := p.state()
	require.Len(t, back.Branches, 1)
	require.Equal(t, first.Panels[0].Hash, back.Panels[0].Hash)
}

// The jump to a hold ends at its first instant, and there the holder is stopped
// as a holder.
func TestAHolderCanBeStoppedAtItsFirstInstant(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=timeout&n=2&t=0ns")
	p.click("[data-action=hold-on]")
	p.await("lab.state().panels[0].holders.length > 0")
	holders := p.state().Panels[0].Holders
	js[any](p, fmt.Sprintf("lab.interfere(%s, 'stop').then(() => null)", quoted(holders[0])))
	p.settled()
	stopped := p.state()
	require.Len(t, stopped.Branches, 2)
	require.Equal(t, holders, stopped.Panels[0].Holders)

	// A link has the change at the same nanosecond.
	again := open(t, stopped.Link)
	require.Equal(t, stopped.Panels[0].Hash, again.state().Panels[0].Hash)
}

func TestALinkReproduces(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2")
	for _, address := range []string{
		"#lock=herd,predecessor&n=5&latency=50&seed=9&do=200ms.C.cut,900ms.A.stop&t=1234ms&lang=zh",
		"#lock=timeout&n=4&shared=1&latency=20&seed=3&do=150ms.B.end-ctx&t=500ms&lang=en",
	} {
		p.open(address)
		var seen []string
		for _, p := range []*tab{p, open(t, address)} {
			s := p.state()
			seen = append(seen, fmt.Sprint(s.Link, s.T, s.Panels[0].Hash), p.dom())
		}
		require.Equal(t, seen[:2], seen[2:])
		a, err := locks.ParseAddress(address)
		require.NoError(t, err)
		// The page writes the address as Go does.
		require.True(t, strings.HasPrefix(p.state().Link, strings.SplitN(a.String(), "&t=", 2)[0]), "%s\n%s", p.state().Link, a)
	}
}

// Contenders that share a session and more wake in an order that Go draws at
// random. An address is the same run all the same.
func TestASharedSessionRepeats(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2")
	const change = "25ms.A.%[1]s,300ms.C.%[1]s,2s.B.cut"
	var hashes []string
	for _, do := range []string{"lose-request", "lose-reply", "cut", "expire", "stop"} {
		address := fmt.Sprintf("#lock=timeout&n=6&shared=1&seed=3&do="+change+"&t=0ns", do)
		seen := make(map[string]bool)
		for range 10 { // fifty in all
			js[any](p, "void lab.app.films.clear()")
			p.open(address)
			seen[p.state().Panels[0].Hash] = true
		}
		require.Len(t, seen, 1, do)
		hashes = append(hashes, p.state().Panels[0].Hash)
	}
	// So does another page.
	p = open(t, "#lock=timeout&n=6&shared=1&seed=3&do="+fmt.Sprintf(change, "lose-request")+"&t=0ns")
	require.Equal(t, hashes[0], p.state().Panels[0].Hash)
}

func TestFindReturnsATraceForThreeBrokenLocks(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&t=0ns")
	for _, name := range []string{"broken-everybody-is-first", "broken-the-last-to-come-goes-first", "broken-look-first-watch-later"} {
		t.Run(name, func(t *testing.T) {
			p := &tab{T: t, ctx: p.ctx}
			p.open("#lock=" + name + "&n=2&mode=find&faults=0")
			p.click("#start-find")
			p.await("!!document.querySelector('#find-result')")
			require.NotZero(t, js[int](p, "document.querySelectorAll('#trace li').length"), js[string](p, "document.querySelector('#find-result').textContent"))
			p.await("lab.state().panels.length == 1")
			p.goTo(p.state().End)
			require.NotEmpty(t, kind(p.state().Panels[0].Violation), "the trace is shown")
		})
	}
}

// tenScenes are films: the page must show what go test sees.
var tenScenes = []string{
	"#lock=naive&n=6", "#lock=herd&n=6", "#lock=predecessor&n=6", "#lock=reentrant&n=6&shared=1", "#lock=timeout&n=6",
	"#lock=naive&n=40&seed=5", "#lock=predecessor&n=3&do=200ms.B.lose-reply", "#lock=herd&n=4&do=300ms.A.expire",
	"#lock=timeout&n=3&latency=50&do=400ms.A.stop", "#lock=A7&n=2&seed=2",
}

func TestTheFilmIsTheSameInThePageAndInGoTest(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2")
	for _, address := range tenScenes {
		a, err := locks.ParseAddress(address)
		require.NoError(t, err)
		film, err := lab.Run(t, a.Scene)
		require.NoError(t, err)
		p.open(address)
		require.Equal(t, film.Hash, p.state().Panels[0].Hash, address)
	}
}

// A film of 25,000 packets is shown before it is whole. The cost of each instant is
// bounded, wherever it is.
func TestACrowdIsShownSoonAndCheaply(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=100&t=0ns")
	require.Equal(t, "so far", js[string](p, "performance.getEntriesByName('lab shown')[0].detail"))
	require.False(t, js[bool](p, "lab.app.growing"))
	require.Empty(t, js[[]int](p, "lab.app.panels[0].F.packets.map(p => p.id).filter((id, i) => id !== i + 1)"), "the parts make one film")
	require.Greater(t, js[int](p, "lab.app.panels[0].F.packets.length"), 25_000)
	end := p.state().End
	type cost struct{ Marks, Packets, Strips, Lines, Writes int }
	_, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{})
	require.NoError(t, err)
	var times []float64
	for i := range 40 {
		if i == 20 { // with all that helps switched on
			p.click("#predict")
			p.click("#inspect")
			p.click("#cost")
		}
		// A jump, and the next frame of a film that plays.
		at := end * float64(i) / 40
		jump := js[cost](p, fmt.Sprintf("lab.cost(%f)", at))
		require.LessOrEqual(t, jump.Marks, 256, "at %f", at)
		require.LessOrEqual(t, jump.Packets, 6000, "at %f", at)
		require.LessOrEqual(t, jump.Strips, 9, "at %f", at)
		was := thread(p)
		next := js[cost](p, fmt.Sprintf("lab.cost(%f)", at+2e6))
		require.LessOrEqual(t, next.Packets, 4000, "at %f", at)
		require.LessOrEqual(t, next.Strips, 1, "at %f", at)
		// A strip is drawn once in many frames; all others have none.
		require.LessOrEqual(t, next.Lines, 1500*next.Strips+100, "at %f", at)
		require.LessOrEqual(t, next.Writes, 600, "at %f", at)
		times = append(times, (thread(p)-was)*1000)
		require.LessOrEqual(t, js[int](p, "document.querySelectorAll('*').length"), 2500, "elements at %f", at)
	}
	for _, aid := range []string{"#predict", "#inspect", "#cost"} {
		p.click(aid)
	}
	// The page is to draw within 16 ms. The work for it is counted above; its time
	// here depends on the machine, and is only reported.
	t.Logf("a frame of %d packets, in ms of CPU with style and layout: %s; with all that helps: %s", js[int](p, "lab.app.panels[0].F.packets.length"), spread(times[:20]), spread(times[20:]))

	// The film that has grown shows what one shows that is there at once.
	p.goTo(end / 3)
	grown := p.dom()
	p.open("#lock=naive&n=2")
	p.open(fmt.Sprintf("#lock=naive&n=100&t=%.0fns", end/3))
	require.Equal(t, "whole", js[string](p, "performance.getEntriesByName('lab shown').at(-1).detail"))
	require.Empty(t, difference(grown, p.dom()))
}

// A holder that is stopped while its session ends breaks no promise of step 5,
// and the page says what happens to it; before that it does not.
func TestAStoppedHolderIsExplained(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=timeout&n=2&t=0ns")
	const shown = "document.querySelector('.verdict.stale:not(.quiet)')?.textContent ?? ''"
	// stop stops the first holder, and goes to where its session ends.
	stop := func() (who string, lost float64) {
		p.click("[data-action=hold-on]")
		who = p.state().Panels[0].Holders[0]
		js[any](p, fmt.Sprintf("lab.interfere(%s, 'stop').then(() => null)", quoted(who)))
		p.settled()
		js[any](p, "void lab.pause()")
		require.Empty(t, js[string](p, shown))
		lost = js[float64](p, "lab.app.panels[0].F.marks.find(m => m.kind === 'lost' && !m.knows).at_ns")
		p.goTo(lost)
		return who, lost
	}
	who, lost := stop()
	require.Regexp(t, `^`+who+` is stopped, and its session has ended.* token is \d+\. .* writes of `+who+` are refused\.$`, js[string](p, shown))
	p.goTo(lost - 1)
	require.Empty(t, js[string](p, shown), "back in time")
	p.goTo(p.state().End)
	require.Empty(t, js[string](p, shown), "it runs on and is notified")

	p.open("#lock=naive&n=2&t=0ns")
	stop()
	require.Contains(t, js[string](p, shown), "no fencing token")
}

// A person who plays the scheduler has all choices of the explorer, by the keyboard
// alone.
func TestTheSchedulerByKeyboard(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=predecessor&n=2&mode=schedule&kinds=&faults=1")
	boxes := js[[]string](p, "[...document.querySelectorAll('.kinds [data-kind]')].map(e => e.dataset.kind)")
	kinds := []string{string(explore.Pause), string(explore.Day), string(explore.Refuse), string(explore.Remake)}
	for _, k := range explore.AllFaults {
		if k != explore.EndContext { // step 3's Lock takes no ctx
			kinds = append(kinds, string(k))
		}
	}
	require.ElementsMatch(t, kinds, boxes)

	press := func(keys string) {
		require.NoError(t, chromedp.Do(p.ctx, chromedp.KeyEvent(keys)))
		p.settled()
	}
	js[any](p, "void document.querySelector('[data-kind=\"time passes\"]').focus()")
	press(" ")
	p.await("lab.state().scene.kinds.join() == 'time passes'")
	require.Equal(t, "time passes", js[string](p, "document.activeElement.dataset.kind"), "the focus stays where it was")
	p.await("!!document.querySelector('[data-choice=\"all: time passes\"]')")
	number := js[int](p, "lab.app.play.enabled.findIndex(c => c.choice === 'all: time passes') + 1")
	press(fmt.Sprint(number))
	p.await("lab.state().scene.choices.join() == 'all: time passes'")
	require.True(t, js[bool](p, "lab.app.play.film.marks.some(m => m.text === '18s pass')"))

	js[any](p, "void document.querySelector('[data-kind=refuse]').focus()")
	press(" ")
	p.await("!!document.querySelector('[data-choice=\"B: refuse\"]')")
	require.Equal(t, []string{"unconnected", "unconnected"}, js[[]string](p, "[...document.querySelectorAll('[data-client]')].map(e => e.dataset.conn)"))
	js[any](p, "void document.querySelector('[data-choice=\"B: refuse\"]').focus()")
	press(kb.Enter)
	p.await("lab.state().scene.choices.join() == 'B: refuse'")
	require.True(t, js[bool](p, "!!document.activeElement.dataset.choice"), "the focus goes to a choice")
	press(kb.Backspace)
	p.await("lab.state().scene.choices.length == 0")
}

// difference shows where two texts begin to differ; "" if they do not.
func difference(a, b string) string {
	if a == b {
		return ""
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-150)
	return fmt.Sprintf("…%s\n…%s", a[from:min(i+100, len(a))], b[from:min(i+100, len(b))])
}

func list[T ~string](all []T) string {
	var b []string
	for _, s := range all {
		b = append(b, quoted(string(s)))
	}
	return "[" + strings.Join(b, ",") + "]"
}
