package browser

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
)

// Each point of the chart is a run that was counted, on its formula's curve where the
// run sends as much as the formula says; and the slider makes it grow.
func TestTheChartIsWhatRunsSend(t *testing.T) {
	t.Parallel()
	points := func(n int) string {
		return fmt.Sprintf(" | wait ['naive', 'predecessor'].every(l => one(`#cost-chart .point[data-lock=${l}][data-n='%d']`)) && text('#cost-state') === ''", n)
	}
	p := open(t, "#lock=naive,predecessor&n=2&latency=20&seed=1&t=0ns&lang=en")
	p.play(
		row{"run lab.pause()", "one('#costs').hidden", true},
		row{"click #cost" + points(2), "count('#cost-chart .point')", 2},
		row{`run (e => { e.value = 12; e.dispatchEvent(new Event("input")); e.dispatchEvent(new Event("change")); })(one("#cost-n"))` + points(12),
			"one('#contenders').value", "12"}, // the run below is of as many contenders
		row{"run lab.pause()", "text('#cost-words')", has{"14.0 requests and 5.5 events per acquisition; 168 and 66 in all."}},
	)
	curves := make(map[string]lab.Curve)
	for _, c := range lab.Curves() {
		curves[c.Lock] = c
	}
	type point struct {
		Lock                string
		N, Requests, Events int
		Off                 float64 // the curve
	}
	all := js[[]point](p, `all("#cost-chart .point", e => {
		const { lock, n, requests, events } = e.dataset, y = e.tagName === "circle" ? +e.getAttribute("cy") : +e.getAttribute("y") + 4;
		const curve = one("#cost-chart .curve[data-lock=" + lock + "]").getAttribute("points").split(" ").map(xy => +xy.split(",")[1]);
		return { Lock: lock, N: +n, Requests: +requests, Events: +events, Off: Math.abs(y - curve[n - 1]) };
	})`)
	require.Greater(t, len(all), 12)
	for _, x := range all {
		want, err := lab.CostOf(t, locks.Scene{Lock: x.Lock, Contenders: x.N, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		require.Equal(t, []int{want.Requests, want.Events}, []int{x.Requests, x.Events}, "%+v", x)
		require.Equal(t, curves[x.Lock].Requests[x.N-1], x.Requests, "%+v: these locks send what their formulas say", x)
		require.Less(t, x.Off, 0.2, "%+v: on the curve", x)
	}
	p.play( // it goes with the run below, and with another lock
		row{"go 0", "count('#cost-chart .live')", 0},
		row{"go s.end", "count('#cost-chart .live')", 2},
		row{`open #lock=herd&n=5&latency=20&seed=1&t=0ns&lang=zh | wait one('#cost-chart .point[data-lock=herd][data-n="5"]')`,
			"count('#cost-chart .point[data-lock=naive]')", 0},
		row{"click #cost", "one('#costs').hidden", nil},
		// Each curve has a name, and a ring that has no room is left out.
		row{`open #lock=herd,predecessor&n=6&latency=20&seed=1&t=0ns&lang=en | click #cost | wait count('#cost-chart .curve') == 3`,
			"all('#cost-chart text').filter(t => /^Step [123]: ≤ /.test(t)).length", 3},
		row{"", "[...Array(20).keys()].flatMap(i => (lab.goto(s.end * i / 20), all('#cost-chart .live', e => +e.getAttribute('cy')))).filter(y => y <= 12)", list{}},
		row{"", "text('.counter.requests .formula')", "at most n² + n + 1 = 43"},
	)
}
