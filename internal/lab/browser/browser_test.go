//go:build browser

// Package browser opens the lab in a browser, as its readers do.
package browser

import (
	"context"
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

// ceiling is for a machine that is very busy. Nothing waits for it.
const ceiling = 50 * time.Minute

var (
	labCommand string // go run ./cmd/lab, built once
	labFile    string // the page as one file
	browser    context.Context
	sources    sync.Once
)

// TestMain builds the page once, and starts one browser. Each test has a tab.
func TestMain(m *testing.M) {
	if testenv.Elsewhere() {
		os.Exit(0) // the lab has a server of its own
	}
	if testenv.Raced {
		os.Exit(0) // what runs here is in other processes
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	os.Setenv("LC_ALL", "en_US.UTF-8") // the page opens in this language
	if !testenv.AtLanding() {
		fmt.Println("the tests of the lab's page are skipped: ZKLOCK_TESTS=landing go test ./internal/lab/browser opens it in a browser")
		return 0
	}
	exe := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		fmt.Println("no browser is installed: apt-get install chromium-headless-shell")
		return 1
	}
	dir, err := os.MkdirTemp("", "zklock-lab-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	labCommand = filepath.Join(dir, "lab")
	if out, err := exec.Command("go", "build", "-o", labCommand, "../../../cmd/lab").CombinedOutput(); err != nil {
		fmt.Printf("go build ./cmd/lab: %v\n%s", err, out)
		return 1
	}
	labFile = filepath.Join(dir, "lab.html")
	if given := os.Getenv("LAB_FILE"); given != "" { // to try a broken page
		labFile = given
	} else if out, err := exec.Command(labCommand, "-out", labFile).CombinedOutput(); err != nil {
		fmt.Printf("go run ./cmd/lab -out FILE: %v\n%s", err, out)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.WindowSize(1200, 900),
		chromedp.Flag("renderer-process-limit", "1"), // the process compiles the engine once for all tabs
		chromedp.Flag("js-flags", "--liftoff-only"),  // and does not compile it again, to be faster later
		chromedp.WSURLReadTimeout(ceiling))           // until it has started
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		fmt.Printf("%s does not start: %v\n", exe, err)
		return 1
	}
	return m.Run()
}

// A tab is a page that is open.
type tab struct {
	*testing.T
	ctx           context.Context
	width, height int64
	shots         int // that it has taken

	mu       sync.Mutex
	errors   []string // that the page has logged or thrown
	expected string   // what errors are allowed to say from now on; "": none is allowed
}

// ownStorage keeps what a tab stores from those that play beside it: the goals reached.
const ownStorage = `Object.defineProperty(window, "localStorage", {get: () => sessionStorage})`

// open opens the page at an address, which begins with #, and returns when it
// is ready.
func open(t *testing.T, address string) *tab {
	t.Helper()
	return openAt(t, "file://"+labFile+address, 1200, 900)
}

// openAt opens an address in a window of a size. The page runs the scripts
// before its own.
func openAt(t *testing.T, url string, width, height int64, first ...string) *tab {
	t.Helper()
	sources.Do(func() {
		// go test remembers a result until a file changes that a test has read.
		os.Stat(labFile)
		filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = os.ReadFile(name)
			}
			return err
		})
	})
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, ceiling)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx, width: width, height: height}
	messages := chromedp.Console(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
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
	for _, script := range append(first, ownStorage, seeScript) {
		require.NoError(t, chromedp.Do(ctx, atStart(script)))
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	p.await("document.readyState == 'complete' && typeof lab == 'object'")
	js[any](p, "lab.ready.then(() => null)")
	require.NoError(t, p.run("null"))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.errors, "what the page has logged or thrown")
	})
	return p
}
