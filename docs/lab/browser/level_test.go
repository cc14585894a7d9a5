package browser

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A goal that a reader has reached by choices of their own counts, a schedule that
// was only looked at does not; and Next goal leads to another one, from its start.
func TestTheGoalsLeadOn(t *testing.T) {
	t.Parallel()
	a := sceneOf(t, "D1")
	const done = "Number(document.getElementById('level').dataset.done)"
	p := open(t, "#lock=naive&n=2&t=0ns")
	js[any](p, "void localStorage.clear()") // other tests have reached goals
	p = open(t, a.String())
	require.Equal(t, 0, js[int](p, done), "it was only looked at")
	p.click("#restart")
	for i, choice := range a.Choices {
		p.click(fmt.Sprintf("[data-choice=%s]", quoted(choice)))
		p.await(fmt.Sprintf("lab.app.play && lab.app.play.length == %d", i+1))
		p.settled()
	}
	require.Equal(t, "yes", js[string](p, "document.getElementById('reached').dataset.reached"))
	require.Equal(t, 1, js[int](p, done))
	require.Greater(t, js[int](p, "Number(document.getElementById('level').dataset.of)"), 20)
	p.click("#next-level")
	p.await("lab.app.scene.locks[0] != 'D1' && lab.app.play && lab.app.play.length == 0")
	require.NotEmpty(t, js[string](p, "document.getElementById('goal').textContent"))
	require.Equal(t, 1, js[int](p, done))
}
