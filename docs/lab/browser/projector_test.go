package browser

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
)

// On a projector the stage, the diagram and the code are in the window at once, with
// one bar below, and nothing scrolls but the code in its own box.
func TestAProjectorShowsAllAtOnce(t *testing.T) {
	t.Parallel()
	d3, err := locks.Find("D3")
	require.NoError(t, err)
	p := openAt(t, "file://"+file+"#projector", 1280, 720)
	const outside = `(() => {
		const wrong = [], bar = document.getElementById("transport").getBoundingClientRect();
		if (document.documentElement.scrollHeight > innerHeight) wrong.push("the page scrolls: " + document.documentElement.scrollHeight);
		if (bar.bottom > innerHeight + 1 || bar.height > 80) wrong.push("the bar: " + JSON.stringify(bar));
		for (const e of document.querySelectorAll(".panel .stage, .panel .diagram, .panel .now, body[data-code=on] .panel .code:not(.empty) .source, #caption")) {
			const r = e.getBoundingClientRect();
			if (!e.getClientRects().length && e.className === "now" && document.getElementById("caption")) continue; // the caption says more
			if (r.top < 0 || r.bottom > bar.top + 1 || r.left < 0 || r.right > innerWidth + 1 || r.width < 200 || r.height < 20) wrong.push(e.className.baseVal ?? e.className + ": " + JSON.stringify(r));
		}
		return wrong;
	})()`
	const letters = `[...document.querySelectorAll(".stage .word")].map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)`
	for _, address := range []string{
		"#projector", "#lock=naive&n=3&seed=2&projector=1&t=300ms", "#lock=predecessor&n=6&projector=1&t=300ms&lang=zh",
		"#lock=predecessor&n=3&latency=20&seed=1&projector=1&t=160ms", "#lock=zklock&n=12&projector=1&t=1s", "#lock=naive&n=100&projector=1&t=1s",
		d3.Open().String() + "&projector=1&t=3200ms", d3.Open().String() + "&projector=1&t=3200ms&lang=zh",
	} {
		p.open(address)
		js[any](p, "void lab.pause()")
		p.await("lab.app.panels.length > 0 && (lab.app.growing === false)")
		js[any](p, "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(null))))")
		require.Empty(t, js[[]string](p, outside), address)
		one := js[int](p, "lab.app.panels.length") == 1 && js[int](p, "lab.app.panels[0].F.units.length") <= 12
		require.Equal(t, one, js[bool](p, "(e => !!e && e.getClientRects().length > 0)(document.querySelector('.source'))"), "%s: the code is shown where there is one lock", address)
		if one {
			require.GreaterOrEqual(t, js[float64](p, "parseFloat(getComputedStyle(document.querySelector('.source')).fontSize)"), 17.0)
			if js[int](p, "lab.app.panels[0].F.units.length") <= 6 {
				for _, size := range js[[]float64](p, letters) {
					require.GreaterOrEqual(t, size, 12.0, address)
				}
			}
		}
	}
	require.Contains(t, p.state().Link, "projector=1", "the address keeps it")
	p.click("#leave")
	require.NotContains(t, p.state().Link, "projector")
	require.True(t, js[bool](p, "document.getElementById('workbench').getClientRects().length > 0"))
	p.click("#projector")
	require.Empty(t, js[[]string](p, outside))
}
