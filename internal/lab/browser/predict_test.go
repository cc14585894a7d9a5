//go:build browser

package browser

import (
	"fmt"
	"slices"
)

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
	// Of five contenders: the instant before the first release, and that at which the next one holds; which wakes
	// first and which holds next; how many wake, and how many requests are sent until then.
	{name: "a release is predicted", at: "#lock=naive&n=5&t=0ns", rows: slices.Concat(
		predicted("naive", 179789211, 280260810, "D", "D", 4, 6),
		predicted("herd", 203621348, 287637170, "D", "B", 4, 5),
		predicted("predecessor", 203621348, 301990624, "B", "B", 1, 2),
		predicted("timeout", 255202196, 373962161, "B", "B", 1, 3),
	)},
}

// predicted answers right, and then with a wrong number of requests.
func predicted(lock string, at, until int, wakes, next string, woken, requests int) (rows []row) {
	for wrong, right := range []string{"yes", "no"} {
		rows = append(rows,
			row{do: "open #lock=" + lock + "&n=5&latency=20&seed=1&t=0ns&lang=" + []string{"en", "zh"}[wrong] + " | click #predict"},
			row{"run (app.speed = 1000, lab.play()) | wait one('#ask')", "[s.playing, s.t]", list{false, at}},
			row{fmt.Sprintf("run fill('#ask', {first: %q, n: %d}) | click #guess | wait one('#verdict')", wakes, requests+wrong),
				"[s.t, p.holders.join()]", list{until, next}},
			row{"", "all('#verdict b', b => b.dataset.right)", list{"yes", right}},
			row{"", "text('#verdict span')", has{fmt.Sprint(requests), next, fmt.Sprint(woken)}},
			row{do: "click #predict"})
	}
	return rows
}
