package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// opened opens a page in a browser.
func opened(t *testing.T, file string) context.Context {
	t.Helper()
	exe := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		require.Empty(t, os.Getenv("CI"), "no browser is installed: apt-get install chromium-headless-shell")
		t.Skip("no browser is installed: apt-get install chromium-headless-shell")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.WindowSize(1280, 720))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute) // for a busy machine
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 720), chromedp.Navigate("file://"+file)))
	return ctx
}

func js[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err, expression)
	return v
}

// built writes the pages, and beside them a stand-in for the lab, which says that it
// has been opened.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.html"), []byte("<body>the lab<script>document.body.append(location.hash)</script>"), 0o644))
	require.NoError(t, run(io.Discard, ".", dir, "lab.html"))
	return dir
}

// TestTheSlidesInABrowser: nothing is cut off on a screen of 1280 x 720 and on a wide
// one, the keys lead through all slides, and a scene is open on its own slide only.
func TestTheSlidesInABrowser(t *testing.T) {
	list, err := (&builder{from: ".", lab: "lab.html"}).slides()
	require.NoError(t, err)
	ctx := opened(t, filepath.Join(built(t), "slides.html"))
	for _, size := range [][2]int64{{1280, 720}, {1920, 1080}, {1024, 768}} {
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1]), chromedp.KeyEvent(kb.Home)))
		for i, s := range list {
			what := fmt.Sprintf("slide %d, %s, on %d x %d", i+1, s.Title, size[0], size[1])
			require.Equal(t, s.Title, js[string](t, ctx, `document.querySelector("section.shown h1").textContent`), what)
			require.Empty(t, js[string](t, ctx, `[...document.querySelectorAll("section.shown, section.shown .body, section.shown pre, section.shown table")]
				.filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + "." + e.className).join(" ")`), "%s: cut off", what)
			open := js[string](t, ctx, `[...document.querySelectorAll("iframe[src]")].map(f => f.getAttribute("src") + (f.closest(".shown") ? "" : " elsewhere")).join()`)
			if s.Scene {
				require.Regexp(t, `^lab\.html#lock=[^ ]+$`, open, what)
			} else {
				require.Empty(t, open, what)
			}
			if s.ask != "" {
				require.Equal(t, "hidden", js[string](t, ctx, `getComputedStyle(document.querySelector("section.shown .answer")).visibility`), what)
				require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.ArrowRight)))
				require.Equal(t, "visible", js[string](t, ctx, `getComputedStyle(document.querySelector("section.shown .answer")).visibility`), what)
			}
			require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.ArrowRight)))
		}
		js[any](t, ctx, `void document.querySelectorAll(".answered").forEach(s => s.classList.remove("answered"))`)
	}
}

// TestTheHandoutHasTwoPages: it is meant for one sheet.
func TestTheHandoutHasTwoPages(t *testing.T) {
	dir := built(t)
	require.Equal(t, 2, printed(t, filepath.Join(dir, "handout.html")))
	list, err := (&builder{from: ".", lab: "lab.html"}).slides()
	require.NoError(t, err)
	require.Equal(t, len(list), printed(t, filepath.Join(dir, "slides.html")), "a page for each slide")
}

// printed is the number of pages of a printed file.
func printed(t *testing.T, file string) int {
	ctx := opened(t, file)
	yes := true
	pdf, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	require.NoError(t, err)
	return len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf.Data, -1))
}
