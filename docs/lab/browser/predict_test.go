package browser

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore/film"
)

// A release is the first one of a film: the instant before it, which contender
// wakes first, which holds the lock next and when, and how many requests are sent
// until then.
type release struct {
	at, until  time.Duration
	wakes, get string
	woken      int
	requests   int
}

func firstRelease(t *testing.T, f *film.Film) (r release) {
	t.Helper()
	for _, m := range f.Marks {
		switch {
		case m.Kind == "state" && m.State == "unlocks" && r.at == 0:
			r.at = m.At - 1
		case m.Kind == "wakeup" && r.at != 0:
			r.woken++
			if r.wakes == "" {
				r.wakes = m.Who
			}
		case m.Kind == "state" && m.State == "holds" && r.at != 0:
			r.get, r.until = m.Who, m.At
			for _, p := range f.Packets {
				if p.Kind == "request" && p.Sent > r.at && p.Sent <= r.until {
					r.requests++
				}
			}
			return r
		}
	}
	t.Fatal("nothing is released")
	return r
}

// Before a release the page asks, and what it says of the answer is what the film
// has: it is counted here a second time.
func TestAReleaseIsPredicted(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=5&t=0ns")
	require.True(t, js[bool](p, "document.getElementById('question').hidden"), "it is off until a reader asks for it")
	for i, name := range []string{"naive", "herd", "predecessor", "timeout"} {
		lang := []string{"en", "zh"}[i%2]
		f, err := lab.Run(t, locks.Scene{Lock: name, Contenders: 5, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		want := firstRelease(t, f)
		for _, wrong := range []int{0, 1} {
			p.open("#lock=" + name + "&n=5&latency=20&seed=1&t=0ns&lang=" + lang)
			p.click("#predict")
			js[any](p, "void (lab.app.speed = 1000, lab.play())")
			p.await("!!document.getElementById('ask')")
			s := p.state()
			require.False(t, s.Playing)
			require.Equal(t, float64(want.at), s.T, "%s: the page stops just before the release", name)
			js[any](p, fmt.Sprintf(`void (() => {
				const f = document.getElementById("ask");
				f.elements.first.value = %s;
				f.elements.n.value = %d;
			})()`, quoted(want.wakes), want.requests+wrong))
			p.click("#guess")
			p.await("!!document.getElementById('verdict')")
			require.Equal(t, float64(want.until), p.state().T, "%s: it plays until the next one holds the lock", name)
			require.Equal(t, []string{want.get}, p.state().Panels[0].Holders, name)
			right := js[[]string](p, "[...document.querySelectorAll('#verdict b')].map(b => b.dataset.right)")
			require.Equal(t, []string{"yes", []string{"yes", "no"}[wrong]}, right, name)
			said := js[string](p, "document.querySelector('#verdict span').textContent")
			require.Contains(t, said, fmt.Sprint(want.requests), name)
			require.Contains(t, said, want.get, name)
			require.Contains(t, said, fmt.Sprint(want.woken), name)
			p.click("#predict")
		}
	}
	// Off, nothing stops the run.
	p.open("#lock=herd&n=3&latency=20&seed=1&t=0ns")
	js[any](p, "void (lab.app.speed = 1000, lab.play())")
	p.await("lab.state().t === lab.state().end")

	// Of a chain a release wakes one waiter.
	p.open("#lock=predecessor&n=3&latency=20&seed=1&t=0ns&lang=en")
	p.click("#predict")
	var seen []string
	for range 2 {
		p.click("#next-release")
		js[any](p, `void (document.getElementById("ask").elements.first.value = "-", document.getElementById("ask").elements.n.value = 4)`)
		p.click("#guess")
		p.await("!!document.getElementById('verdict')")
		seen = append(seen, js[string](p, "document.getElementById('verdict').textContent"))
	}
	require.Contains(t, seen[0], "woke 1 of 2 waiters")
	require.Contains(t, seen[1], "woke 1 of 1 waiters")
	require.Equal(t, 2, len(slices.Compact(seen)))
}
