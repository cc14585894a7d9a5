package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
)

var (
	folder     string
	folderOnce sync.Once
)

// reader opens the reader from the disk.
func reader(t *testing.T, address string, width, height int64) *tab {
	t.Helper()
	needBrowser(t)
	folderOnce.Do(func() {
		folder = filepath.Join(filepath.Dir(labCommand), "site") // gone with the lab's file
		out, err := exec.Command(labCommand, "-out", folder+"/").CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	p := openReader(t, "file://"+folder+"/reader.html"+address, width, height)
	p.await("document.querySelectorAll('.row').length > 0 && !!document.getElementById('lab').getAttribute('src')")
	return p
}

// openReader opens the reader, which has no engine of its own.
func openReader(t *testing.T, url string, width, height int64) *tab {
	t.Helper()
	return openAt(t, url, width, height, `if (/reader.html/.test(location.pathname)) window.lab = { ready: Promise.resolve(), settled: () => {} };`)
}

// phrases are those of the guide, in its order, without what the page has to do
// with them.
func phrases(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../../reading-guide.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	require.Greater(t, len(list), 100)
	return list
}

const rowsShown = "[...document.querySelectorAll('.row')]"

// Each phrase of the guide has its row, in order, in both languages. A row with
// code shows it, and the keys go from row to row.
func TestTheReaderShowsTheGuideRowByRow(t *testing.T) {
	t.Parallel()
	p := reader(t, "#A1&lang=en", 1440, 900)
	want := phrases(t)
	for _, lang := range []string{"en", "zh"} {
		require.Equal(t, want, js[[]string](p, rowsShown+".map(r => r.querySelector('q').textContent)"), lang)
		require.Empty(t, js[[]string](p, rowsShown+".filter(r => !r.querySelector('p').textContent.trim()).map(r => r.dataset.row)"))
		js[any](p, "void document.getElementById('language').click()")
	}
	coded := 0
	type row struct {
		Code, Empty               int
		Coded, Phrase, Hash, Name string
	}
	// In one go: the lab in the frame need not show what is left at once.
	rows := js[[]row](p, rowsShown+`.map(() => {
		const row = document.querySelector(".row[aria-current]"), pres = [...document.querySelectorAll("#code pre")];
		const shown = { Code: pres.length, Empty: pres.filter(e => e.textContent.length < 20).length, Coded: row.dataset.code, Phrase: row.querySelector("q").textContent, Hash: location.hash, Name: row.dataset.row };
		document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
		return shown;
	})`)
	require.Len(t, rows, len(want))
	for i, r := range rows {
		require.Equal(t, r.Coded == "yes", r.Code > 0, "row %d", i)
		require.Zero(t, r.Empty, "row %d", i)
		if r.Code > 0 {
			coded++
		}
		require.Equal(t, want[i], r.Phrase)
		require.Equal(t, "#"+r.Name+"&lang=en", r.Hash, "the address names the row")
	}
	require.Greater(t, coded, 60)
	require.Contains(t, js[string](p, "document.getElementById('web').href"), "https://www.bing.com/search?q=")

	// A bug's row has the article's listing beside the lock that cures it.
	js[any](p, "void "+rowsShown+".find(r => r.querySelector('q').textContent === '当前一个子节点被删除时,重新执行第四步').click()")
	require.Contains(t, js[string](p, "[...document.querySelectorAll('pre.bug .marked')].map(e => e.textContent).join()"), "without another list of the children")
	require.Contains(t, js[string](p, "document.querySelector('pre.cure').textContent"), ") Lock(")
	require.NotZero(t, js[int](p, "document.querySelectorAll('pre.cure .marked').length"))
}

// Each scene of a row is one that the lab has, and the lab in the frame plays it.
func TestTheReaderPlaysEachScene(t *testing.T) {
	t.Parallel()
	p := reader(t, "#A1&lang=zh", 1440, 900)
	scenes := js[[]string](p, `(() => { const seen = []; for (const r of [...document.querySelectorAll('.row')]) { if (r.dataset.scene !== "yes") continue; r.click(); seen.push(document.getElementById('lab').getAttribute('src')); } return seen; })()`)
	require.Greater(t, len(scenes), 60)
	tried := make(map[string]bool)
	for _, src := range scenes {
		address, ok := strings.CutPrefix(src, "lab.html")
		require.True(t, ok, src)
		if tried[address] {
			continue
		}
		tried[address] = true
		a, err := locks.ParseAddress(address)
		require.NoError(t, err, address)
		require.Contains(t, a.Extra, "lang=zh", "in the page's language")
		if a.Mode == "schedule" {
			_, err = lab.Play(t, a.World(), a.Choices)
		} else {
			_, err = lab.Run(t, a.Scene)
		}
		require.NoError(t, err, address)
	}

	// Two rows one after the other, which have scenes of different locks.
	rows := js[[]string](p, `[...document.querySelectorAll('.row')].map(r => { r.click(); return r.dataset.row + " " + (r.dataset.scene === "yes" ? document.getElementById('lab').getAttribute('src').match(/lock=([^&]*)/)[1] : ""); })`)
	two := slices.IndexFunc(rows[1:], func(row string) bool {
		_, lock, _ := strings.Cut(row, " ")
		_, before, _ := strings.Cut(rows[slices.Index(rows, row)-1], " ")
		return lock != "" && before != "" && lock != before
	})
	require.GreaterOrEqual(t, two, 0, rows)
	_, before, _ := strings.Cut(rows[two], " ")
	name, lock, _ := strings.Cut(rows[two+1], " ")

	// The frame, served: there the page may look into it.
	url := serve(t, "-read")
	require.True(t, strings.HasSuffix(url, "/reader.html"), url)
	p = openReader(t, url+"#"+name+"&lang=zh", 1440, 900)
	const frame = "document.getElementById('lab').contentWindow.lab"
	p.await(frame + "?.state && " + frame + ".state().panels.length === 1 && " + frame + ".state().scene.locks[0] === '" + lock + "'")
	require.Equal(t, "zh-CN", js[string](p, "document.getElementById('lab').contentDocument.documentElement.lang"))
	js[any](p, "void document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true}))")
	p.await(frame + ".state().scene.locks[0] === '" + before + "' && " + frame + ".state().panels.length === 1")
	js[any](p, "void document.getElementById('language').click()")
	p.await("document.getElementById('lab').contentDocument.documentElement.lang === 'en'")
}

// The three parts are side by side, and above one another on a phone.
func TestTheReaderFits(t *testing.T) {
	t.Parallel()
	p := reader(t, "#D8&lang=en", 1440, 900)
	for _, size := range [][2]int64{{1920, 1080}, {1440, 900}, {1280, 720}, {768, 1024}, {390, 844}} {
		require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(size[0], size[1])))
		for _, theme := range []string{"light", "dark"} {
			emulate(p, theme)
			require.Empty(t, js[[]string](p, narrow), "%v", size)
			require.Empty(t, js[[]string](p, contrast), "%v %s", size, theme)
		}
		tops := js[[]float64](p, "['rows', 'code', 'lab'].map(id => Math.round(document.getElementById(id).getBoundingClientRect().top))")
		listings := js[[]float64](p, "[...document.querySelectorAll('.beside > div')].map(e => e.getBoundingClientRect().top)")
		require.Equal(t, size[0] >= 1700, listings[0] == listings[1], "%v: the bug is beside its cure where there is room: %v", size, listings)
		require.Equal(t, size[0] > 900, tops[0] == tops[1] && tops[1] == tops[2], "%v: %v", size, tops)
		if size[0] <= 900 {
			require.IsIncreasing(t, tops, "%v", size)
		}
	}
}
