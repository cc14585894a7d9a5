package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	p.await("count('.row') > 0 && (one('#lab').getAttribute('src') || !one('#empty').hidden)")
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

// Each phrase of the guide has its row, in order, in both languages. A row with
// code shows it, and the keys go from row to row.
func TestTheReaderShowsTheGuideRowByRow(t *testing.T) {
	t.Parallel()
	want := phrases(t)
	inOrder := []row{
		{"", "all('.row q')", want},
		{"", "all('.row p', p => p.textContent.trim()).filter(text => !text)", list{}},
		{do: "click #language"},
	}
	p := reader(t, "#A/1&lang=en", 1440, 900)
	p.play(append(inOrder, inOrder...)...)
	p.play(
		// In one go: the lab in the frame need not show what is left at once.
		row{`keep rows all('.row', () => {
			const row = one(".row[aria-current]"), pres = all("#code pre");
			const coded = row.dataset.code === "yes", short = pres.filter(text => text.length < 20).length, phrase = row.querySelector("q").textContent;
			const shown = { code: pres.length > 0, short, coded, phrase, hash: location.hash, name: row.dataset.row };
			document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
			return shown;
		})`, "rows.map(r => r.phrase)", want},
		row{"", `rows.filter(r => r.coded && !r.code || r.short || r.hash !== "#" + r.name + "&lang=en")`, list{}}, // the address names the row
		row{"", "rows.filter(r => r.coded).length > 140", nil},
		row{"", "one('#web').href", has{"https://www.bing.com/search?q="}},
		// A bug's row has the article's listing beside the lock that cures it.
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent === '当前一个子节点被删除时,重新执行第四步').click()",
			"all('pre.bug .marked').join()", has{"without another list of the children"}},
		row{"", "text('pre.cure')", has{") Lock("}},
		row{"", "count('pre.cure .marked') > 0", nil},
		// A link in its text shows the bug, and a link to a file the function that is named
		// with it; one more leads back.
		row{"click .row[aria-current] a[data-see] | wait location.hash.includes('see=')", "text('#code')", has{"The cure"}},
		row{"click #back | wait !location.hash.includes('see=')", "count('pre.bug') > 0", nil},
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent.startsWith('6、当上一个节点删除后')).querySelector('a').click() | " +
			"wait location.hash.includes('see=')", "all('pre.whole .marked')[0]", has{"// Lock waits until"}},
		row{"", "text('.row[aria-current] .number')", "22"},
		// A phrase with nothing to see has an empty stage, which says why.
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent.startsWith('TreeCache')).click()", "one('#lab').hidden", nil},
		row{"", "text('#empty')", has{"Nothing is to be seen here"}},
		row{do: "run document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))", look: "!one('#lab').hidden && one('#empty').hidden"},
	)
}

// Each scene of a row is one that the lab has, and the lab in the frame plays it.
func TestTheReaderPlaysEachScene(t *testing.T) {
	t.Parallel()
	p := reader(t, "#A/1&lang=zh", 1440, 900)
	type shown struct{ Name, Src string }
	rows := js[[]shown](p, `all(".row", r => {
		r.click();
		return { Name: r.dataset.row, Src: r.dataset.scene === "yes" ? one("#lab").getAttribute("src") : "" };
	})`)
	tried := make(map[string]locks.Address)
	two := 0 // rows one after the other, which have scenes of different locks
	for i, r := range rows {
		link, ok := strings.CutPrefix(r.Src, "lab.html")
		if !ok {
			continue
		}
		if _, ok := tried[link]; !ok {
			a, err := locks.ParseAddress(link)
			require.NoError(t, err, link)
			require.Contains(t, a.Extra, "lang=zh", "in the page's language")
			filmOf(t, a)
			tried[link] = a
		}
		if before, ok := tried[strings.TrimPrefix(rows[max(i-1, 0)].Src, "lab.html")]; two == 0 && ok && before.Locks[0] != tried[link].Locks[0] {
			two = i
		}
	}
	require.Greater(t, len(tried), 20)
	require.Positive(t, two)
	lockOf := func(i int) string { return tried[strings.TrimPrefix(rows[i].Src, "lab.html")].Locks[0] }

	// The frame, served: there the page may look into it.
	url := serve(t, "-read")
	require.True(t, strings.HasSuffix(url, "/reader.html"), url)
	const frame = "one('#lab').contentWindow.lab"
	plays := func(lock string) string {
		return "wait " + frame + "?.state && " + frame + ".state().panels.length === 1 && " + frame + ".state().scene.locks[0] === '" + lock + "'"
	}
	openReader(t, url+"#"+rows[two].Name+"&lang=zh", 1440, 900).play(
		row{plays(lockOf(two)), "one('#lab').contentDocument.documentElement.lang", "zh-CN"},
		row{do: "run document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true})) | " + plays(lockOf(two-1))},
		row{do: "click #language | wait one('#lab').contentDocument.documentElement.lang === 'en'"},
	)
}

// The three parts are side by side, and above one another on a phone. The bug is beside its
// cure where there is room.
func TestTheReaderFits(t *testing.T) {
	t.Parallel()
	const (
		tops   = "['#rows', '#code', '#lab'].map(id => Math.round(one(id).getBoundingClientRect().top))"
		beside = "(l => l[0] === l[1])(all('.beside > div', e => e.getBoundingClientRect().top))"
	)
	var rows []row
	for _, window := range []struct {
		size string
		is   string
		room bool
	}{{"1920x1080", "beside", true}, {"1440x900", "beside", false}, {"1280x720", "beside", false}, {"768x1024", "below", false}, {"390x844", "below", false}} {
		for _, name := range []string{"light", "dark"} {
			rows = append(rows,
				row{"window " + window.size + " | theme " + name, "[...narrow(), ...contrast()]", list{}},
				row{"", "((a, b, c) => a === b && b === c ? 'beside' : a < b && b < c ? 'below' : [a, b, c])(..." + tops + ")", window.is},
				row{"", beside, window.room})
		}
	}
	reader(t, "#D/18&lang=en", 1440, 900).play(rows...)
}
