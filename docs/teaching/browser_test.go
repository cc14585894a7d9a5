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

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/when"
)

// opened opens a page in a browser.
func opened(t *testing.T, file string) context.Context {
	t.Helper()
	when.Landing(t, "opens a browser")
	exe := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		when.Missing(t, "no browser is installed: apt-get install chromium-headless-shell")
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
func built(t *testing.T, e edition) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.html"), []byte("<body>the lab<script>document.body.append(location.hash)</script>"), 0o644))
	require.NoError(t, run(io.Discard, e.lang, ".", dir, "lab.html"))
	return dir
}

// set skips a test whose page has letters that the browser has no font for: without
// one, nothing is as wide as it will be.
func set(t *testing.T, ctx context.Context, e edition) {
	t.Helper()
	wide := js[bool](t, ctx, `(() => { const c = document.createElement("canvas").getContext("2d"); c.font = "100px sans-serif"; return Math.abs(c.measureText("锁令会话").width - 400) < 1; })()`)
	if e.lang == language.Chinese && !wide {
		// Characters of another font have another width, and the page is not what a reader sees.
		when.Missing(t, "no Chinese font is installed: apt-get install fonts-wqy-microhei")
	}
}

// TestTheSlidesInABrowser: nothing is cut off on a screen of 1280 x 720 and on a wide
// one, the keys lead through all slides, and a scene is open on its own slide only.
func TestTheSlidesInABrowser(t *testing.T) {
	each(t, func(t *testing.T, e edition) {
		list, err := e.builder().slides()
		require.NoError(t, err)
		ctx := opened(t, filepath.Join(built(t, e), "slides.html"))
		set(t, ctx, e)
		for _, size := range [][2]int64{{1280, 720}, {1920, 1080}, {1024, 768}} {
			require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1]), chromedp.KeyEvent(kb.Home)))
			for i, s := range list {
				what := fmt.Sprintf("slide %d, %s, on %d x %d", i+1, s.Title, size[0], size[1])
				require.Equal(t, s.Title, js[string](t, ctx, `document.querySelector("section.shown h1").textContent`), what)
				require.Empty(t, js[string](t, ctx, `[...document.querySelectorAll("section.shown, section.shown .body, section.shown pre, section.shown table")]
				.filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + "." + e.className).join(" ")`), "%s: cut off", what)
				open := js[string](t, ctx, `[...document.querySelectorAll("iframe[src]")]
				.map(f => f.getAttribute("src") + (f.closest(".shown") ? "" : " elsewhere")).join()`)
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
	})
}

// TestThePicturesAreInColumns: in a picture made of characters a Chinese one is as wide
// as two others, so that what is in one column in the text is in one on the page.
func TestThePicturesAreInColumns(t *testing.T) {
	e := editions[1]
	ctx := opened(t, filepath.Join(built(t, e), "handout.html"))
	set(t, ctx, e)
	const left = `(word => { const node = document.createTreeWalker(document.querySelector("pre"), NodeFilter.SHOW_TEXT), range = document.createRange();
		for (let n; n = node.nextNode();) { const at = n.data.indexOf(word); if (at >= 0) { range.setStart(n, at); range.setEnd(n, at + 1); return range.getBoundingClientRect().left; } } })`
	require.InDelta(t, js[float64](t, ctx, left+`("4 reentrant")`), js[float64](t, ctx, left+`("第一次")`), 1.5)
	require.InDelta(t, js[float64](t, ctx, left+`("4 reentrant")`), js[float64](t, ctx, left+`("最后一次")`), 1.5)
	js[any](t, ctx, `void document.querySelectorAll(".wide").forEach(e => e.className = "")`)
	require.Greater(t, js[float64](t, ctx, left+`("4 reentrant")`)-js[float64](t, ctx, left+`("最后一次")`), 5.0, "without it they do not")
}

// TestTheHandoutHasTwoPages: it is meant for one sheet.
func TestTheHandoutHasTwoPages(t *testing.T) {
	each(t, func(t *testing.T, e edition) {
		dir := built(t, e)
		ctx := opened(t, filepath.Join(dir, "handout.html"))
		set(t, ctx, e)
		require.Equal(t, 2, printed(t, ctx))
		list, err := e.builder().slides()
		require.NoError(t, err)
		require.Equal(t, len(list), printed(t, opened(t, filepath.Join(dir, "slides.html"))), "a page for each slide")
	})
}

// printed is the number of pages of a page that is printed.
func printed(t *testing.T, ctx context.Context) int {
	t.Helper()
	yes := true
	pdf, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	require.NoError(t, err)
	return len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf.Data, -1))
}
