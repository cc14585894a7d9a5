package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
)

const tell = " | click #tell | wait one('#story-next')"

// Each story is played with Next, in one of both languages. At each stop the page shows
// the caption, and the contenders are what it says.
func TestNextPlaysEachStory(t *testing.T) {
	t.Parallel()
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
	rows = append(rows, row{"open #lock=naive&n=3&latency=20&seed=2&t=0ns", "one('#tell') && !one('#caption')", true})
	open(t, "#lock=A2-naive&n=2&t=0ns").play(rows...)
}

// A1's last stop is nearly two minutes behind the one before. A tenth of the way takes a
// tenth of twelve seconds, in the time that the page counts, however slow the machine is.
func TestNextIsNotLongOnItsWay(t *testing.T) {
	t.Parallel()
	l, err := locks.Find("A1")
	require.NoError(t, err)
	stops := l.Story.Stops
	from, to := stops[len(stops)-2].At, stops[len(stops)-1].At
	open(t, "#lock=A1&n=2&t=0ns").play(row{"click #tell | wait one('#story-next')" + fmt.Sprintf(" | go %d | run void one('#story-next').click()", from),
		fmt.Sprintf(`new Promise(tell => {
			const shown = t => app.clock.shown(t), end = shown(%d) + (shown(%d) - shown(%d)) / 10;
			let before = performance.now(), passed = 0;
			const frame = now => {
				passed += Math.max(0, Math.min(100, now - before));
				before = now;
				if (shown(s.t) >= end) tell(passed < 3000 || passed); else requestAnimationFrame(frame);
			};
			requestAnimationFrame(frame);
		})`, from, to, from), nil})
}
