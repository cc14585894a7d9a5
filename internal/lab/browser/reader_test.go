//go:build browser

package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// reader opens a page of the reader in the book, from the disk.
func reader(t *testing.T, address string, width, height int64) *tab {
	t.Helper()
	dir := testenv.Must(written())(t)
	p := openAt(t, "file://"+dir+"/"+address, width, height, noLab)
	p.await("count('.row') > 0 && (one('#lab').getAttribute('src') || !one('#empty').hidden)")
	return p
}

// phrases are those of the guide, in its order, without what the page has to do
// with them.
func phrases(t *testing.T) (list []string) {
	t.Helper()
	text := testenv.Must(os.ReadFile("../../../docs/reading-guide.md"))(t)
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
	}
	reader(t, "reader.zh-CN.html#C/1", 1440, 900).play(append(inOrder, row{"", "one('#lab').getAttribute('src')", has{"lang=zh"}},
		row{"", "[one('#language').href, text('.theirs'), text('.note')].join()", has{"/reader.html#C/1", "predecessor ↔ 文章：checkLocked()", "紧挨在自己前面"}})...)
	p := reader(t, "reader.html#A/1", 1440, 900)
	p.play(inOrder...)
	p.play(
		// In one go: the lab in the frame need not show what is left at once.
		row{`keep rows all('.row', () => {
			const row = one(".row[aria-current]"), pres = all("#code pre");
			const coded = row.dataset.code === "yes", short = pres.filter(text => text.length < 20).length, phrase = row.querySelector("q").textContent;
			const shown = { code: pres.length > 0, short, coded, phrase, hash: location.hash, name: row.dataset.row };
			document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
			return shown;
		})`, "rows.map(r => r.phrase)", want},
		row{"", `rows.filter(r => r.coded && !r.code || r.short || r.hash !== "#" + r.name)`, list{}}, // the address names the row
		row{"", "rows.filter(r => r.coded).length > 140", nil},
		row{"", "one('#web').href", has{"https://www.bing.com/search?q="}},
		// A bug's row has the article's listing beside the lock that cures it.
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent === '当前一个子节点被删除时,重新执行第四步').click()",
			"all('pre.bug .marked').join()", has{"without another list of the children"}},
		row{"", "text('pre.cure')", has{") Lock("}},
		row{"", "count('pre.cure .marked') > 0", nil},
		// A link in its text opens the book's page on the bug, and a link to a file the function that
		// is named with it; one more leads back.
		row{"click .row[aria-current] a[data-see] | wait location.hash.includes('see=')", "one('#page').getAttribute('src')", has{"docs/bugs.html#d3-"}},
		row{"click #back | wait !location.hash.includes('see=')", "count('pre.bug') > 0", nil},
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent.startsWith('6、当上一个节点删除后')).querySelector('a').click() | " +
			"wait location.hash.includes('see=')", "one('#page').getAttribute('src')", match(`^03-sequential-predecessor/lock\.go\.html#L\d+$`)},
		row{"", "text('.row[aria-current] q')", has{"6、当上一个节点删除后"}},
		// A phrase with nothing to see has an empty stage, which says why.
		row{"run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent.startsWith('TreeCache')).click()", "one('#lab').hidden", nil},
		row{"", "text('#empty')", has{"Nothing is to be seen here"}},
		row{do: "run document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))", look: "!one('#lab').hidden && one('#empty').hidden"},
	)
}

// The lab in the frame plays the scene of a row: served, the page may look into it.
func TestTheReaderPlaysItsScenes(t *testing.T) {
	t.Parallel()
	dir := testenv.Must(written())(t)
	server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
	defer server.Close()
	const frame = "one('#lab').contentWindow.lab"
	plays := func(lock string) string {
		return "wait " + frame + "?.state && " + frame + ".state().panels.length === 1 && " + frame + ".state().scene.locks[0] === '" + lock + "'"
	}
	openAt(t, server.URL+"/reader.zh-CN.html#A/2", 1440, 900, noLab).play(
		row{plays("naive"), "one('#lab').contentDocument.documentElement.lang", "zh-CN"},
		row{do: "run document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true})) | " + plays("predecessor")},
		// A phrase without a scene keeps the lab, which shows the scene and not what there is around it.
		row{do: "run one('#lab').contentWindow.kept = 1"},
		row{do: "run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent.startsWith('TreeCache')).click() | " +
			"run document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true})) | " + plays("predecessor"),
			look: "[one('#lab').contentWindow.kept, one('#lab').contentDocument.querySelector('#levels').checkVisibility()]", want: list{1, false}},
		// In a small window the frame has the stage, the sentence on the fate and the buttons in sight.
		row{do: "window 600x600 | run [...document.querySelectorAll('.row')].find(r => r.querySelector('q').textContent === '当前一个子节点被删除时,重新执行第四步').click() | " + plays("D3")},
		row{"keep w one('#lab').contentWindow | keep box s => w.document.querySelector(s).getBoundingClientRect() | wait box('#fate-line').height > 0",
			"['#fate-line', '#play'].map(s => box(s).height > 0 && box(s).bottom <= w.innerHeight).concat(box('.stage').top < box('#transport').top - 80)", list{true, true, true}},
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
	reader(t, "reader.html#D/35", 1440, 900).play(rows...)
}
