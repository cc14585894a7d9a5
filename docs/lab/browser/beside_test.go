package browser

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The article's lock and the one that cures it play the same schedule in two
// panels, on one clock: the same fault at the same moment, and two holders in one of
// them only.
func TestTheBugBesideItsCure(t *testing.T) {
	t.Parallel()
	p := openAt(t, "file://"+file+sceneOf(t, "D3").String()+"&t=0ns", 1440, 900)
	require.Len(t, p.state().Panels, 1)
	p.click("#beside")
	p.await("lab.app.panels.length == 2")
	s := p.state()
	require.Equal(t, "two holders", kind(s.Panels[0].FilmViolation))
	require.Empty(t, kind(s.Panels[1].FilmViolation))
	fault := func(i string) float64 {
		return js[float64](p, "(lab.app.panels["+i+"].F.film.choices.find(c => c.choice == 'A: expire') || {at_ns: -1}).at_ns")
	}
	require.Positive(t, fault("0"))
	require.Equal(t, fault("0"), fault("1"), "the fault comes at the same moment")
	p.goTo(s.End)
	require.Len(t, p.state().Panels[0].Holders, 2)
	require.Less(t, len(p.state().Panels[1].Holders), 2)

	again := openAt(t, "file://"+file+s.Link, 1440, 900)
	require.Len(t, again.state().Panels, 2, "the address holds both")
	p.click("#beside")
	p.await("lab.app.panels.length == 1")
}
