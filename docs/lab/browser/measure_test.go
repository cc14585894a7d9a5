package browser

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var measure = flag.Bool("lab.measure", false, "measure what the page costs: go test ./docs/lab/browser -run TestWhatThePageCosts -lab.measure -v")

// TestWhatThePageCosts is a report, and no check: the figures are the
// machine's. Where it says CPU, another program that is busy changes little.
func TestWhatThePageCosts(t *testing.T) {
	if !*measure {
		t.Skip("a report on this machine: -lab.measure -v")
	}
	for _, address := range []string{"", "#lock=naive&n=100", "#lock=herd,predecessor&n=100"} {
		t.Run(address, func(t *testing.T) {
			before := cpu(t)
			p := open(t, address)
			js[any](p, "void lab.pause()")
			mark := func(name string) float64 {
				return js[float64](p, fmt.Sprintf("performance.getEntriesByName('lab %s')[0].startTime", name))
			}
			t.Logf("shown after %.0f ms, whole after %.0f ms; %.2f s of CPU in all processes until then", mark("shown"), mark("whole"), cpu(t)-before)
			_, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{})
			require.NoError(t, err)
			end := p.state().End
			var all []float64
			const places, frames = 6, 50
			for place := range places {
				var here []float64
				for i := range frames {
					at := end*(float64(place)+0.3)/places + float64(i)*2e6 // as it plays: on by 2 ms
					was := thread(p)
					js[any](p, fmt.Sprintf("void (lab.goto(%f), document.body.offsetHeight)", at))
					here = append(here, (thread(p)-was)*1000)
				}
				t.Logf("at %d%% of the film: %s", 100*place/places+5, spread(here))
				all = append(all, here...)
			}
			t.Logf("%d frames: %s ms of CPU each in the page's thread, with style and layout", len(all), spread(all))
			t.Logf("elements: %d; memory of the page's process: %d MB", js[int](p, "document.querySelectorAll('*').length"), memory(t))
		})
	}
}

func spread(list []float64) string {
	list = slices.Sorted(slices.Values(list))
	return fmt.Sprintf("median %.1f, p95 %.1f, most %.1f", list[len(list)/2], list[len(list)*95/100], list[len(list)-1])
}

// thread is the time that the page's thread has computed, in seconds.
func thread(p *tab) float64 {
	p.Helper()
	r, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p, err)
	for _, m := range r.Metrics {
		if m.Name == "ThreadTime" {
			return m.Value
		}
	}
	p.Fatal("the browser does not report its ThreadTime")
	return 0
}

// processes are those of the browser.
func processes(t *testing.T) []*systeminfo.ProcessInfo {
	t.Helper()
	r, err := chromedp.CallBrowser(browser, systeminfo.GetProcessInfo, cdp.Empty{})
	require.NoError(t, err)
	return r.ProcessInfo
}

// cpu is the time that the whole browser has computed, in seconds.
func cpu(t *testing.T) (sum float64) {
	t.Helper()
	for _, p := range processes(t) {
		sum += p.CPUTime
	}
	return sum
}

// memory is the largest memory of a page's process, in MB; 0: it is not known.
func memory(t *testing.T) (most int) {
	t.Helper()
	for _, p := range processes(t) {
		if p.Type != "renderer" {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.ID))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			var kB int
			if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kB); n == 1 {
				most = max(most, kB/1000)
			}
		}
	}
	return most
}
