//go:build browser

package browser

import (
	"fmt"
	"html"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// noLab gives the book's pages, which have no lab, what openAt and the verbs of rows wait for.
const noLab = `if (!/lab.html/.test(location.pathname)) window.lab = { ready: Promise.resolve(), settled: () => {} };`

// writtenBook is the folder of the book, which the first test that needs it writes.
var writtenBook = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(labCommand), "book") // gone with the lab's file
	cmd := exec.Command("go", "run", "./cmd/book", "-lang", "en", "-out", dir)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return dir, err
})

func TestTheBook(t *testing.T) {
	t.Parallel()
	dir := testenv.Must(writtenBook())(t)
	size := int64(0)
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	}))
	require.Less(t, size, int64(15_000_000), "the book is too large to be sent")
	t.Run("a scene plays soon", func(t *testing.T) { playsSoon(t, dir) })
	t.Run("the slides", func(t *testing.T) { decksFit(t, dir) })
	t.Run("without the engine each scene plays", func(t *testing.T) { scenesPlay(t, dir) })
	t.Run("no page logs, and none scrolls sideways", func(t *testing.T) { pagesFit(t, dir) })
}

// pagesOfBook are the book's pages, without its listings.
func pagesOfBook(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(name); strings.HasSuffix(name, ".html") && strings.Contains(string(text), `<nav id="side">`) {
			all = append(all, name)
		}
		return err
	}))
	require.Greater(t, len(all), 100)
	return all
}

// scenesPlay opens each scene of the pages in a copy of the lab that has no engine.
func scenesPlay(t *testing.T, dir string) {
	alone := t.TempDir()
	for _, name := range []string{"lab.html", "films.js"} {
		text := testenv.Must(os.ReadFile(filepath.Join(dir, name)))(t)
		require.NoError(t, os.WriteFile(filepath.Join(alone, name), text, 0o644))
	}
	played := make(map[string]bool)
	for _, page := range pagesOfBook(t, dir) {
		text := testenv.Must(os.ReadFile(page))(t)
		for _, m := range regexp.MustCompile(`data-scene="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if address := html.UnescapeString(m[1]); !strings.HasPrefix(address, "#lock=exercise-") {
				played[address] = true
			}
		}
	}
	require.Greater(t, len(played), 40)
	p := openAt(t, "file://"+alone+"/lab.html"+scene("A7"), 900, 900)
	for address := range played {
		p.play(row{do: "open " + address, look: "s.panels.length > 0 && s.end > 0 && said() === ''"})
		p.play(row{do: `run 0 | wait !shown("#fate") || shown("#fate-bars .bar")`}) // until its fates are drawn
	}
}

// playsSoon touches ten scenes, each in a new frame, and logs the times until they play. At length, which runs on a
// machine that does nothing else, the best of three times has a limit.
func playsSoon(t *testing.T, dir string) {
	p := openAt(t, "file://"+dir+"/docs/bugs.html", deskWidth, deskHeight, noLab)
	const scenes = 10
	best := slices.Repeat([]float64{math.Inf(1)}, scenes) // in ms
	tries := 1
	if testenv.AtLength() {
		tries = 3
	}
	for range tries {
		times := js[[]float64](p, fmt.Sprintf("timesToPlay(%d)", scenes))
		require.Len(t, times, scenes)
		for i, ms := range times {
			best[i] = min(best[i], ms)
		}
	}
	t.Logf("from the click to the film, in ms: %.0f", best)
	if testenv.AtLength() {
		require.LessOrEqual(t, slices.Max(best), 500.0, "%.0f ms", best)
	}
}

// pagesFit opens each page in a window of a phone's size, and makes the window as large as that of a desk.
func pagesFit(t *testing.T, dir string) {
	p := openAt(t, "file://"+dir+"/index.html", phoneWidth, phoneHeight, noLab)
	for _, page := range pagesOfBook(t, dir) {
		require.NoError(t, p.perform(chromedp.EmulateViewport(phoneWidth, phoneHeight)))
		require.NoError(t, p.perform(chromedp.Navigate("file://"+page)))
		for _, window := range [][2]int64{{phoneWidth, phoneHeight}, {deskWidth, deskHeight}} {
			require.NoError(t, p.perform(chromedp.EmulateViewport(window[0], window[1])))
			require.LessOrEqual(t, js[int64](p, "document.documentElement.scrollWidth"), window[0],
				"%s is wider than the window: %v", page, js[[]string](p, `[...document.querySelectorAll("main *")]
					.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("pre, table, figure, .wide, svg"))
					.slice(0, 3).map(e => e.outerHTML.slice(0, 120))`))
		}
	}
}

// decksFit opens the slides and the handout of the lecture in both languages. Printed, each slide has
// a page, and the handout is the two sides of one sheet.
func decksFit(t *testing.T, dir string) {
	for _, lang := range []string{"", ".zh-CN"} {
		p := openAt(t, "file://"+dir+"/docs/teaching/deck"+lang+".html", 1280, 720, noLab)
		if lang != "" && !js[bool](p, `(() => { const c = document.createElement("canvas").getContext("2d"); c.font = "100px sans-serif";
			return Math.abs(c.measureText("锁令会话").width - 400) < 1; })()`) {
			// Characters of another font have another width, and the page is not what a reader sees.
			testenv.Missing(t, "no Chinese font is installed: apt-get install fonts-wqy-microhei")
		}
		for _, window := range []string{"1280x720", "1920x1080", "1024x768"} {
			p.play(row{do: "window " + window, look: "wrongSlides()", want: list{}})
		}
		require.Equal(t, js[int](p, "slides.length"), printed(p), "a page for each slide")
		p = openAt(t, "file://"+dir+"/docs/teaching/handout"+lang+".html", 1280, 720, noLab)
		require.Equal(t, 2, printed(p), "the handout is one sheet")
		if lang != "" { // a Chinese character is as wide as two others
			columns := js[[]float64](p, `["4 reentrant", "第一次", "最后一次"].map(left)`)
			require.InDelta(t, columns[0], columns[1], 1.5)
			require.InDelta(t, columns[0], columns[2], 1.5)
			js[any](p, `void document.querySelectorAll(".zh").forEach(e => e.className = "")`)
			require.Greater(t, js[float64](p, `left("4 reentrant") - left("最后一次")`), 5.0, "without their class, the columns are not flush")
		}
	}
}

func printed(p *tab) int {
	p.Helper()
	params := page.PrintToPDFParams{PreferCSSPageSize: new(true), PrintBackground: new(true)}
	pdf := testenv.Must(chromedp.Call(p.ctx, page.PrintToPDF, params))(p)
	return len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf.Data, -1))
}
