package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestARecordedRunIsShown lets the benchmark record a run and gives the file
// to the page.
func TestARecordedRunIsShown(t *testing.T) {
	t.Parallel()
	p := open(t, "#lock=naive&n=2&latency=20&seed=1")
	file := filepath.Join(t.TempDir(), "run.json")
	out, err := exec.CommandContext(t.Context(), "go", "run", "../../../bench", "-locks", "predecessor", "-n", "6", "-sessions", "6", "-record", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var film struct {
		Hash     string
		Counters struct{ Requests, Events, Wakeups int }
		Marks    []struct {
			At               float64 `json:"at_ns"`
			Kind, Who, State string
		}
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &film))
	require.NoError(t, chromedp.Do(p.ctx, chromedp.SetUploadFiles("#file", []string{file})))
	p.await("lab.state().panels[0].hash == " + quoted(film.Hash))
	require.Contains(t, js[string](p, "document.querySelector('[data-panel=\"0\"] header').textContent"), "run.json · recorded on embedded")
	end := p.state().End
	p.goTo(end)
	last := p.state().Panels[0]
	require.Equal(t, []int{film.Counters.Requests, film.Counters.Events, film.Counters.Wakeups}, []int{last.Requests, last.Events, last.Wakeups})
	require.Empty(t, kind(last.Violation))
	require.Equal(t, 6, js[int](p, `document.querySelectorAll('[data-client][data-state="done"]').length`))
	held := 0
	for _, m := range film.Marks {
		if m.Kind == "state" && m.State == "holds" {
			p.goTo(m.At)
			require.Equal(t, []string{m.Who}, p.state().Panels[0].Holders)
			held++
		}
	}
	require.Equal(t, 6, held)
}
