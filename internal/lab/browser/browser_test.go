//go:build browser

// Package browser opens the lab in a browser, as its readers do.
package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

const ceiling = 50 * time.Minute // the time that a test may take on a very busy machine; no test waits until then

var (
	labCommand string // go run ./cmd/lab, built once
	labFile    string // the page as one file
	browser    context.Context
)

// TestMain builds the page once, and starts one browser. Each test has a tab.
func TestMain(m *testing.M) {
	// Elsewhere: ZK names another server, but the lab brings its own. Raced: only this process has the race detector, and
	// the lab runs in others.
	if testenv.Elsewhere() || testenv.Raced {
		os.Exit(0)
	}
	code, err := run(m)
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	flag.Parse()
	os.Setenv("LC_ALL", "en_US.UTF-8") // the page opens in this language
	if !testenv.AtLanding() {
		fmt.Println("skipped: ZKLOCK_TESTS=landing go test ./internal/lab/browser opens the lab's page in a browser")
		return 0, nil
	}

	exe := "" // of the first browser that is installed
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		return 0, errors.New("no browser is installed: apt-get install chromium-headless-shell")
	}
	dir, err := os.MkdirTemp("", "zklock-lab-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	labCommand = filepath.Join(dir, "lab")
	if out, err := exec.Command("go", "build", "-o", labCommand, "../../../cmd/lab").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build ./cmd/lab: %w\n%s", err, out)
	}
	labFile = filepath.Join(dir, "lab.html")
	if given := os.Getenv("LAB_FILE"); given != "" { // to try a broken page
		labFile = given
	} else if out, err := exec.Command(labCommand, "-out", labFile).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go run ./cmd/lab -out FILE: %w\n%s", err, out)
	}

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.WindowSize(1200, 900),
		chromedp.Flag("renderer-process-limit", "1"), // the process compiles the engine once for all tabs
		chromedp.Flag("js-flags", "--liftoff-only"),  // it does not compile the engine a second time, to faster code
		chromedp.WSURLReadTimeout(ceiling))           // how long the browser may take to start
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		return 0, fmt.Errorf("%s does not start: %w", exe, err)
	}
	return m.Run(), nil
}

// A tab is a page that is open.
type tab struct {
	*testing.T
	ctx           context.Context
	width, height int64
	shots         int // that it has taken

	mu       sync.Mutex
	errors   []string // that the page has logged or thrown
	expected string   // a part of errors that are allowed from now on; "": none is allowed
}

// ownStorage gives each tab a storage of its own: the goals that are reached in one are not in the others.
const ownStorage = `Object.defineProperty(window, "localStorage", {get: () => sessionStorage})`

// open opens the page at an address, which begins with #, and returns when it is ready.
func open(t *testing.T, address string) *tab {
	t.Helper()
	return openAt(t, "file://"+labFile+address, 1200, 900)
}

// readSources makes go test notice a change of the page's sources. If the tests have passed, go test repeats that
// result until a file changes that this process has read. Only other processes, which build the page, read its sources.
var readSources = sync.OnceFunc(func() {
	os.Stat(labFile)
	filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.ReadFile(name)
		}
		return err
	})
})

// openAt opens an address in a window of this size, and returns when the page is ready. The page runs scripts before
// its own.
func openAt(t *testing.T, url string, width, height int64, scripts ...string) *tab {
	t.Helper()
	readSources()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, ceiling)
	t.Cleanup(cancel)

	p := &tab{T: t, ctx: ctx, width: width, height: height}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || string(m.Type) == "error" {
				p.mu.Lock()
				if p.expected == "" || !strings.Contains(m.String(), p.expected) {
					p.errors = append(p.errors, m.String())
				}
				p.mu.Unlock()
			}
		}
	}()

	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, height)))
	for _, script := range append(scripts, ownStorage, seeScript) { // seeScript: functions that expressions call
		require.NoError(t, chromedp.Do(ctx, atStart(script)))
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	require.NoError(t, p.waits("document.readyState == 'complete' && typeof lab == 'object'"))
	js[any](p, "lab.ready.then(() => null)") // js waits for the promise
	require.NoError(t, p.run("null"))        // run waits until the engine has answered the page's first requests
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.errors, "what the page has logged or thrown")
	})
	return p
}
