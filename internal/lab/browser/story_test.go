//go:build browser

package browser

import (
	"slices"
	"strings"

	"example.com/zklock/internal/lab/locks"
)

const tell = " | click #tell | wait one('#story-next')"

var stories = []pageCase{
	{name: "Next plays each story", at: "#lock=A2-naive&n=2&t=0ns", rows: told()},
	// A1's last stop is nearly two minutes behind the one before. A tenth of the way takes a
	// tenth of twelve seconds, in the time that the page counts, however slow the machine is.
	{name: "Next is not long on its way", at: "#lock=A1&n=2&t=0ns", rows: []row{
		{"click #tell | wait one('#story-next') | keep way app.byName.get('A1').story.stops.slice(-2).map(x => x.at_ns) | go way[0] | run void one('#story-next').click()",
			`new Promise(tell => {
				const [from, to] = way.map(app.clock.shown);
				let before = performance.now(), passed = 0;
				const frame = now => {
					passed += Math.max(0, Math.min(100, now - before));
					before = now;
					if (app.clock.shown(s.t) >= from + (to - from) / 10) tell(passed < 3000 || passed); else requestAnimationFrame(frame);
				};
				requestAnimationFrame(frame);
			})`, nil},
	}},
}

// told plays each story in one of both languages. At each stop the page shows the caption, and
// the contenders are what it says.
func told() []row {
	rows := []row{{"", "one('#story').hidden", true}} // this lock has no story
	for i, l := range slices.DeleteFunc(locks.All(), func(l locks.Lock) bool { return l.Story == nil }) {
		lang := []string{"en", "zh"}[i%2]
		rows = append(rows, row{do: "open #lock=" + l.Name + "&n=2&t=0ns&lang=" + lang + tell + " | run app.speed = 1000"})
		for _, stop := range l.Story.Stops {
			caption := map[string]string{"en": stop.Text.En, "zh": stop.Text.Zh}[lang] + stop.Quote
			holders := []string{}
			for i, state := range strings.Fields(stop.States) {
				if state == "holds" {
					holders = append(holders, string(rune('A'+i)))
				}
			}
			rows = append(rows, row{"click #story-next | wait !s.playing", "[s.t, text('#caption'), p.holders]", list{stop.At, caption, holders}})
		}
		rows = append(rows,
			row{"", "one('#story-next').disabled", nil},
			row{"click #story-back", "s.t", l.Story.Stops[len(l.Story.Stops)-2].At})
	}
	// A story is of one scene only.
	return append(rows, row{"open #lock=naive&n=3&latency=20&seed=2&t=0ns", "one('#tell') && !one('#caption')", true})
}
