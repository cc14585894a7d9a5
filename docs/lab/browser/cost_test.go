package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
)

// Each point of the chart is a run that was counted, on its formula's curve where the
// run sends as much as the formula says; and the slider makes it grow.
func TestTheChartIsWhatRunsSend(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive,predecessor&n=2&latency=20&seed=1&t=0ns&lang=en")
	js[any](p, "void lab.pause()")
	require.True(t, js[bool](p, "document.getElementById('costs').hidden"))
	p.click("#cost")
	points := func(n int) {
		p.await(fmt.Sprintf(`["naive", "predecessor"].every(l => document.querySelector("#cost-chart .point[data-lock=" + l + "][data-n='%d']")) && document.getElementById("cost-state").textContent === ""`, n))
	}
	points(2)
	before := js[int](p, "document.querySelectorAll('#cost-chart .point').length")
	require.Equal(t, 2, before, "one for each lock")
	js[any](p, `void (() => { const s = document.getElementById("cost-n"); s.value = 12; s.dispatchEvent(new Event("input")); s.dispatchEvent(new Event("change")); })()`)
	points(12)
	p.settled()
	js[any](p, "void lab.pause()")
	require.Equal(t, "12", js[string](p, "document.getElementById('contenders').value"), "the run below is of as many contenders")
	curves := make(map[string]lab.Curve)
	for _, c := range lab.Curves() {
		curves[c.Lock] = c
	}
	type point struct {
		Lock                string
		N, Requests, Events int
		Y                   float64
	}
	all := js[[]point](p, `[...document.querySelectorAll("#cost-chart .point")].map(e => ({ Lock: e.dataset.lock, N: +e.dataset.n, Requests: +e.dataset.requests, Events: +e.dataset.events, Y: e.tagName === "circle" ? +e.getAttribute("cy") : +e.getAttribute("y") + 4 }))`)
	require.Greater(t, len(all), before+10)
	for _, x := range all {
		want, err := lab.CostOf(t, locks.Scene{Lock: x.Lock, Contenders: x.N, LatencyMs: 20, Seed: 1})
		require.NoError(t, err)
		require.Equal(t, []int{want.Requests, want.Events}, []int{x.Requests, x.Events}, "%+v", x)
		require.Equal(t, curves[x.Lock].Requests[x.N-1], x.Requests, "%+v: these locks send what their formulas say", x)
		line := js[string](p, fmt.Sprintf(`document.querySelector("#cost-chart .curve[data-lock=%s]").getAttribute("points")`, x.Lock))
		var cx, cy float64
		_, err = fmt.Sscanf(strings.ReplaceAll(strings.Fields(line)[x.N-1], ",", " "), "%f %f", &cx, &cy)
		require.NoError(t, err)
		require.InDelta(t, cy, x.Y, 0.2, "%+v: on the curve", x)
	}
	require.Contains(t, js[string](p, "document.getElementById('cost-words').textContent"), "14.0 requests and 5.5 events per acquisition; 168 and 66 in all.")

	// It goes with the run below, and with another lock.
	p.goTo(0)
	require.Equal(t, 0, js[int](p, "document.querySelectorAll('#cost-chart .live').length"))
	p.goTo(p.state().End)
	require.Equal(t, 2, js[int](p, "document.querySelectorAll('#cost-chart .live').length"))
	p.open("#lock=herd&n=5&latency=20&seed=1&t=0ns&lang=zh")
	p.await("!!document.querySelector('#cost-chart .point[data-lock=herd][data-n=\"5\"]')")
	require.Equal(t, 0, js[int](p, "document.querySelectorAll('#cost-chart .point[data-lock=naive]').length"))
	p.click("#cost")
	require.True(t, js[bool](p, "document.getElementById('costs').hidden"))
}
