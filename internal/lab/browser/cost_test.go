//go:build browser

package browser

import "fmt"

// points waits until both locks have a point of n contenders, and nothing is counted any more.
func points(n int) string {
	return fmt.Sprintf(" | wait ['naive', 'predecessor'].every(l => one(`#cost-chart .point[data-lock=${l}][data-n='%d']`)) && text('#cost-state') === ''", n)
}

// offCurve are the points that are not on their formula's curve. These locks send what their formulas say.
const offCurve = "all('#cost-chart .point', e => Math.abs((e.tagName === 'circle' ? +e.getAttribute('cy') : +e.getAttribute('y') + 4) - " +
	"one(`.curve[data-lock=${e.dataset.lock}]`).getAttribute('points').split(' ')[e.dataset.n - 1].split(',')[1])).filter(off => off >= 0.2)"

// The chart of what an acquisition costs.
var chart = []pageCase{
	{name: "each point of the chart is a run that was counted, and the slider makes it grow", at: "#lock=naive,predecessor&n=2&latency=20&seed=1&t=0ns&lang=en", rows: []row{
		{"run lab.pause()", "one('#costs').hidden", true},
		{"click #cost" + points(2), "count('#cost-chart .point')", 2},
		{`run (e => { e.value = 12; e.dispatchEvent(new Event("input")); e.dispatchEvent(new Event("change")); })(one("#cost-n"))` + points(12),
			"one('#contenders').value", "12"}, // the run below is of as many contenders
		{"run lab.pause()", "text('#cost-words')", has{"14.0 requests and 5.5 events per acquisition; 168 and 66 in all."}},
		{"", "count('#cost-chart .point') > 12 && " + offCurve, list{}},
		// It goes with the run below, and with another lock.
		{"go 0", "count('#cost-chart .live')", 0},
		{"go s.end", "count('#cost-chart .live')", 2},
		{`open #lock=herd&n=5&latency=20&seed=1&t=0ns&lang=zh | wait one('#cost-chart .point[data-lock=herd][data-n="5"]')`,
			"count('#cost-chart .point[data-lock=naive]')", 0},
		{"click #cost", "one('#costs').hidden", nil},
		// Each curve has a name, and a ring that has no room is left out.
		{`open #lock=herd,predecessor&n=6&latency=20&seed=1&t=0ns&lang=en | click #cost | wait count('#cost-chart .curve') == 3`,
			"all('#cost-chart text').filter(t => /^Step [123]: ≤ /.test(t)).length", 3},
		{"", "[...Array(20).keys()].flatMap(i => (lab.goto(s.end * i / 20), all('#cost-chart .live', e => +e.getAttribute('cy')))).filter(y => y <= 12)", list{}},
		{"", "text('.counter.requests .formula')", "at most n² + n + 1 = 43"},
	}},
}
