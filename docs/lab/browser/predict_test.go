package browser

import (
	"fmt"
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

const guessNothing = "run fill('#ask', {first: '-', n: 4}) | click #guess | wait one('#verdict')"

var releases = []pageCase{
	{name: "off, no question stops the run", at: "#lock=herd&n=3&latency=20&seed=1&t=0ns", rows: []row{
		{"", "one('#question').hidden", true}, // it is off until a reader asks for it
		{"run (app.speed = 1000, lab.play()) | wait s.t === s.end", "", nil},
	}},
	{name: "of a chain a release wakes one waiter", at: "#lock=predecessor&n=3&latency=20&seed=1&t=0ns&lang=en", rows: []row{
		{"click #predict | click #next-release | " + guessNothing + " | keep before text('#verdict')", "before", has{"woke 1 of 2 waiters"}},
		{"click #next-release | " + guessNothing, "text('#verdict')", has{"woke 1 of 1 waiters"}},
	}},
}

// Before a release the page asks, and what it says of the answer is what the film
// has: it is counted here a second time.
func TestAReleaseIsPredicted(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=5&t=0ns")
	for i, name := range []string{"naive", "herd", "predecessor", "timeout"} {
		f, err := lab.Run(t, locks.Scene{Lock: name, Contenders: 5, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		want := firstRelease(t, f)
		for wrong, right := range []string{"yes", "no"} {
			p.play(
				row{do: "open #lock=" + name + "&n=5&latency=20&seed=1&t=0ns&lang=" + []string{"en", "zh"}[i%2] + " | click #predict"},
				row{"run (app.speed = 1000, lab.play()) | wait one('#ask')", "[s.playing, s.t]", list{false, want.at}}, // just before the release
				row{fmt.Sprintf("run fill('#ask', {first: %s, n: %d}) | click #guess | wait one('#verdict')", quoted(want.wakes), want.requests+wrong),
					"[s.t, p.holders.join()]", list{want.until, want.get}}, // it plays until the next one holds the lock
				row{"", "all('#verdict b', b => b.dataset.right)", list{"yes", right}},
				row{"", "text('#verdict span')", has{fmt.Sprint(want.requests), want.get, fmt.Sprint(want.woken)}},
				row{do: "click #predict"},
			)
		}
	}
}
