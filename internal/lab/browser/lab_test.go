//go:build browser

package browser

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// measuredTime is what docs/figures has for a lock with 1000 contenders on a real server, as the page says it.
func measuredTime(lock string) string {
	times, err := build.MeasuredTimes("../../..", lock)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%#.3g s", float64(times[0])/1e9) // of nanoseconds
}

// loaded are the addresses of what the page has loaded.
const loaded = "performance.getEntriesByType('resource').map(e => e.name).filter(n => !/^(blob|data):/.test(n))"

func TestOnlyOneFileAndNotALargeOne(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	info := testenv.Must(os.Stat(labFile))(t)
	require.LessOrEqual(t, info.Size(), int64(3_100_000), "bytes")
	p.play(row{look: loaded, want: list{}}) // row_test.go says what a row is
}

// filmed are scenes of which the page must show what go test sees.
var filmed = []string{
	"#lock=naive&n=6", "#lock=reentrant&n=6&shared=1", "#lock=naive&n=40&seed=5", "#lock=A7&n=2&seed=2",
	"#lock=timeout&n=3&latency=50&do=400ms.A.stop", "#lock=timeout&n=3&seed=8&do=150ms.A.expire,200ms.B.end-ctx",
	"#lock=herd&n=6&seed=2&do=100ms.B.cut", "#lock=predecessor&n=20&seed=4&do=200ms.B.stop",
	"#lock=zklock&n=3&seed=7&do=20ms.A.lose-reply", "#lock=herd&n=20&measured=1&seed=3",
	"#lock=reentrant&n=3&seed=1&scripts=lock.lock.unlock.unlock,lock.lock.unlock.unlock",
}

func TestTheFilmIsTheSameInThePageAndInGoTest(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, address := range filmed {
		a := testenv.Must(locks.ParseAddress(address))(t)
		film := testenv.Must(lab.Run(t, a.Scene))(t)
		rows = append(rows, row{do: "open " + address, look: "p.hash", want: film.Hash})
	}
	open(t, "#lock=naive&n=2").play(rows...)
}

// serve runs the lab's command, and returns the address that it prints when the page has been built.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	server := exec.Command(labCommand, args...)
	stdout := testenv.Must(server.StdoutPipe())(t)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	line := testenv.Must(bufio.NewReader(stdout).ReadString('\n'))(t)
	address := strings.TrimSpace(line[strings.Index(line, "http://"):])
	engine := testenv.Must(url.Parse(address))(t)
	engine.Path, engine.Fragment = "/engine.wasm", ""
	built := testenv.Must(http.Get(engine.String()))(t) // it waits for the build
	built.Body.Close()
	return address
}

// TestTheServedPageIsStrict: the served page has a strict policy. All that the page does is allowed by it, and
// what is not allowed is stopped.
func TestTheServedPageIsStrict(t *testing.T) {
	t.Parallel()
	served := serve(t, "-scene", "A7")
	p := openAt(t, served, 1200, 900, `window.violations = [];
		document.addEventListener("securitypolicyviolation", e => violations.push(e.effectiveDirective + " " + e.blockedURI));`)
	p.play(row{look: "p.lock", want: "A7"}) // the command's address shows its scene
	// The page in each of its modes, and what it does there.
	for _, address := range []string{"#", faces[0], faces[3], "#lock=timeout&n=2&do=200ms.A.stop&vs=parent"} {
		p.play(row{do: "open " + address + "&lang=zh | go s.end"})
	}
	p.play(
		row{do: "open " + scene("A7") + " | click #restart | click #rest | click [data-action=theme] | click [data-action=help]",
			look: "violations", want: list{}},
		row{look: loaded + ".filter(n => !n.startsWith(location.origin))", want: list{}},
	)

	// A forbidden request is not sent, and is reported. The browser logs it as well,
	// sometimes long after the page has the report.
	p.mu.Lock()
	require.Empty(t, p.errors)
	p.expected = "Content Security Policy"
	p.mu.Unlock()
	for directive, code := range map[string]string{
		"script-src-elem": "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = true'}))",
		"script-src":      "try { setTimeout('window.ran = true', 0) } catch { }",
		"style-src-attr":  "document.body.setAttribute('style', 'color: red')",
		"connect-src":     "fetch('http://127.0.0.1:1/').catch(() => 0)",
		"img-src":         "Object.assign(new Image(), {src: 'http://127.0.0.1:1/'})",
		"worker-src":      "try { new Worker(URL.createObjectURL(new Blob(['0']))).onerror = e => e.preventDefault() } catch { }",
		"form-action": "(() => { const f = document.createElement('form'); f.action = 'http://127.0.0.1:1/'; " +
			"document.body.append(f); f.submit(); })()",
		"frame-src": "document.body.append(Object.assign(document.createElement('iframe'), {src: 'http://127.0.0.1:1/'}))",
		"base-uri":  "document.head.append(Object.assign(document.createElement('base'), {href: 'http://127.0.0.1:1/'}))",
	} {
		p.play(row{do: fmt.Sprintf("run (() => { %s })() | wait violations.some(v => v.startsWith('%s '))", code, directive)})
	}
	p.play(row{look: "'ran' in window", want: false})
}

// atStart adds a script that a page runs before its own.
func atStart(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		return testenv.Err(cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
	})
}
