package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
)

// Each story is played with Next, in both languages. At each stop the page shows
// the caption, and the contenders are what it says.
func TestNextPlaysEachStory(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=A2-naive&n=2&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('story').hidden"), "this lock has no story")
	var names []string
	for _, l := range locks.All() {
		if l.Story != nil {
			names = append(names, l.Name)
		}
	}
	for i, name := range names {
		l, err := locks.Find(name)
		require.NoError(t, err)
		lang := []string{"en", "zh"}[i%2]
		p.open("#lock=" + name + "&n=2&t=0ns&lang=" + lang)
		p.click("#tell")
		p.await("!!document.getElementById('story-next')")
		js[any](p, "void (lab.app.speed = 1000)")
		for n, stop := range l.Story.Stops {
			p.click("#story-next")
			p.await(fmt.Sprintf("lab.state().t === %d && !lab.state().playing", stop.At))
			want := stop.En
			if lang == "zh" {
				want = stop.Zh
			}
			require.Equal(t, want+stop.Quote, js[string](p, "document.getElementById('caption').textContent"), "%s, stop %d", name, n+1)
			var holders []string
			for i, state := range strings.Fields(stop.States) {
				if state == "holds" {
					holders = append(holders, string(rune('A'+i)))
				}
			}
			require.Equal(t, holders, append([]string(nil), p.state().Panels[0].Holders...), "%s, stop %d", name, n+1)
		}
		require.True(t, js[bool](p, "document.getElementById('story-next').disabled"))
		p.click("#story-back")
		require.Equal(t, float64(l.Story.Stops[len(l.Story.Stops)-2].At), p.state().T, name)
	}
	// A story is of one scene only.
	p.open("#lock=naive&n=3&latency=20&seed=2&t=0ns")
	require.True(t, js[bool](p, "!!document.getElementById('tell') && !document.getElementById('caption')"))
}

// A1's last stop is nearly two minutes behind the one before. A tenth of the way takes a
// tenth of twelve seconds, in the time that the page counts, however slow the machine is.
func TestNextIsNotLongOnItsWay(t *testing.T) {
	t.Parallel()
	l, err := locks.Find("A1")
	require.NoError(t, err)
	stops := l.Story.Stops
	from, to := stops[len(stops)-2].At, stops[len(stops)-1].At
	p := open(t, "#lock=A1&n=2&t=0ns")
	p.click("#tell")
	p.await("!!document.getElementById('story-next')")
	p.goTo(float64(from))
	p.click("#story-next")
	passed := js[float64](p, fmt.Sprintf(`new Promise(tell => {
		const shown = t => lab.app.clock.shown(t), end = shown(%d) + (shown(%d) - shown(%d)) / 10;
		let before = performance.now(), passed = 0;
		const frame = now => {
			passed += Math.max(0, Math.min(100, now - before));
			before = now;
			if (shown(lab.state().t) >= end) tell(passed); else requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
	})`, from, to, from))
	require.Less(t, passed, 3000.0, "milliseconds")
}
