// Tests of the lab's page: of its scripts, of the exercises in it, and of the page as one file.
package build

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/testenv"
)

// smallPage has the files of testdata/page: one of each kind that OneFile treats in a way of its own.
func smallPage(t *testing.T) *Page {
	t.Helper()
	p := &Page{Wasm: []byte("wasm"), Files: make(map[string][]byte)}
	for _, file := range testenv.Must(filepath.Glob("testdata/page/*"))(t) {
		p.Files[filepath.Base(file)] = testenv.Must(os.ReadFile(file))(t)
	}
	return p
}

func scriptIn(t *testing.T, page, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s) id="` + id + `"[^>]*>(.*?)</script>`).FindStringSubmatch(page)
	require.NotNil(t, found, "no script %s: %s", id, page)
	return found[1]
}

// scriptsOfThePage are the texts of the page's scripts, by the names of their files.
func scriptsOfThePage(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, file := range testenv.Must(filepath.Glob("../page/*.js"))(t) {
		texts[filepath.Base(file)] = string(testenv.Must(os.ReadFile(file))(t))
	}
	return texts
}

// TestNoScriptOfThePageImportsItself: no script imports one that imports it, directly or not.
func TestNoScriptOfThePageImportsItself(t *testing.T) {
	require.Empty(t, importCircle(scriptsOfThePage(t)))
	require.Equal(t, []string{"a.js", "b.js", "c.js", "a.js"}, importCircle(map[string]string{
		"a.js": "import { b } from \"./b.js\";\n", "b.js": "export {\n  c,\n} from \"./c.js\";\n", "c.js": "import \"./a.js\";\n",
	}))
}

// importCircle returns scripts of which each imports the next one, and the last is the first again; nil: there is no circle.
func importCircle(texts map[string]string) []string {
	var path []string
	done := make(map[string]bool)
	var visit func(name string) []string
	visit = func(name string) []string {
		if i := slices.Index(path, name); i >= 0 {
			return append(slices.Clone(path[i:]), name)
		}
		if done[name] {
			return nil
		}
		path = append(path, name)
		for _, m := range importLine.FindAllStringSubmatch(texts[name], -1) {
			if found := visit(m[2]); found != nil { // m[2] is the imported file
				return found
			}
		}
		path = path[:len(path)-1]
		done[name] = true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

func TestAScriptIsShortEnoughToBeReadInOneGo(t *testing.T) {
	for file, text := range scriptsOfThePage(t) {
		require.LessOrEqual(t, strings.Count(text, "\n"), 400, "%s, in lines: give a part of it a file of its own", file)
	}
}

// TestAFieldOfTheStoreHasOneWriter: only one script writes a field of app, the state of the page in store.js.
func TestAFieldOfTheStoreHasOneWriter(t *testing.T) {
	texts := scriptsOfThePage(t)
	writes := regexp.MustCompile(`\bapp\.(\w+)(?: = | [-+]= |\+\+)|\+\+app\.(\w+)`)
	writers := make(map[string]string)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for _, m := range writes.FindAllStringSubmatch(texts[file], -1) {
			field := m[1] + m[2] // one of the two groups is empty
			require.Contains(t, []string{"", file}, writers[field], "a second script, %s, writes app.%s", file, field)
			writers[field] = file
		}
	}
	require.Equal(t, "store.js", writers["scene"])
	require.Equal(t, "time.js", writers["t"])
}

// The lab plays each exercise that the explorer can play, and leaves out one that is not finished.
func TestTheExercisesAreInTheLab(t *testing.T) {
	b := testenv.Must(New(t.Context(), "."))(t)
	source := testenv.Must(b.exercises())(t)
	for _, e := range locks.Playable {
		require.Regexp(t, fmt.Sprintf(`AddExercise\(%q, .*"Exercise \d+: \w.*练习 \d+：\S`, e.Folder), source)
	}
	require.NotContains(t, source, "11-break", "in exercise 11 nobody writes a lock")

	dir := t.TempDir()
	writeLock := func(program string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lock.go"), []byte(program), 0o644))
	}
	writeLock("package predecessor\n\nfunc New() {}\n")
	b.Own = testenv.Must(b.OwnLock(dir))(t)
	require.Equal(t, "03-predecessor", b.Own.Folder)
	source = testenv.Must(b.exercises())(t)
	require.NotContains(t, source, "03-predecessor", "it has no Lock yet")
	require.Contains(t, source, "02-herd")

	writeLock("package other\n")
	require.ErrorContains(t, testenv.Err(b.OwnLock(dir)), "keep the package clause of the stub")
	require.ErrorContains(t, testenv.Err(b.OwnLock(t.TempDir())), "no Go file")
}

func TestTheOneFileHoldsEverything(t *testing.T) {
	p := smallPage(t)
	text := string(testenv.Must(p.OneFile())(t))
	require.NotRegexp(t, `(src|href)="[^"d#]`, text, "nothing is loaded: an address is empty, data: or #…")
	require.Contains(t, text, "<style>\nbody{color:black}")
	require.NotContains(t, text, `type="module"`, "no module is loaded before the import map")
	require.Contains(t, text, `<script>
// packed
startModules(document.getElementById("lab-modules"));
</script>`)
	require.Contains(t, text, `id="lab-modules" data-first="lab/main.js">`)
	z := testenv.Must(gzip.NewReader(bytes.NewReader(unpack(t, scriptIn(t, text, "lab-modules")))))(t)
	var modules map[string]string
	require.NoError(t, json.NewDecoder(z).Decode(&modules))
	require.Equal(t, map[string]string{
		"lab/main.js": "import {\na,\n} from \"lab/a.js\";\nexport { b } from \"lab/b.js\";\nsay(a, \"./not-a-module.js\");\n",
		"lab/a.js":    "import { b } from \"lab/b.js\";\nexport const a = b;\n",
		"lab/b.js":    "import \"lab/a.js\";\nexport const b = 1;\n",
	}, modules)
	worker := scriptIn(t, text, "lab-worker")
	require.Contains(t, worker, `"<\/script>"`)
	require.Contains(t, worker, "// exec")
	require.Equal(t, compressed(p.Wasm), unpack(t, scriptIn(t, text, "lab-wasm")))
}

func TestAFileThatThePageLacksIsAnError(t *testing.T) {
	for _, name := range []string{"b.js", "lab.css"} {
		p := smallPage(t)
		delete(p.Files, name)
		require.ErrorContains(t, testenv.Err(p.OneFile()), name)
	}
}

// unpack does what packed.js does, and reverses pack: each character has a group of 7 bits, or is of two bytes and has
// two groups, an unsafe character and the next one.
func unpack(t *testing.T, text string) (out []byte) {
	t.Helper()
	require.NotContains(t, text, "<")
	bits, count := 0, 0 // those that have been read and are in no byte yet
	for _, c := range text {
		groups := []int{int(c & 127)}
		if k := int(c >> 7); k > 0 && k <= len(unsafeChars) { // it stands for an unsafe character and the group after it
			groups = []int{int(unsafeChars[k-1]), int(c & 127)}
		}
		for _, group := range groups {
			bits, count = bits<<7|group, count+7
			if count >= 8 {
				count -= 8
				out = append(out, byte(bits>>count))
				bits &= 127 // at most 7 are left
			}
		}
	}
	return out
}

func TestThePageUnpacksWhatIsPacked(t *testing.T) {
	script := testenv.Must(os.ReadFile(filepath.Join("..", "page", "packed.js")))(t)
	all := make([]byte, 9) // unsafe characters, one after the other
	for i := range 5000 {
		all = append(all, byte(i*i>>3^i)) // looks random, and is the same each time
	}

	var packed []string
	var want [][]byte
	for _, n := range []int{0, 1, 2, 3, 6, 7, 8, 12, 13, 14, 5000} { // 7 bytes are 8 groups: lengths around its multiples
		require.Equal(t, string(all[:n]), string(unpack(t, pack(all[:n]))))
		require.NotRegexp(t, `[\x00\n\r"<\\]`, pack(all[:n]))
		packed, want = append(packed, pack(all[:n])), append(want, all[:n])
	}
	require.Equal(t, want, nodetest.Ask[[][]byte](t, "../page", nil, packed, string(script)+`
		const answer = asked.map(text => Buffer.from(unpack(text)).toString("base64"));`))
}

// TestAContenderOfAStubHasNotSucceeded: the page shows the error of its Lock from then on, whatever
// Unlock returns after it.
func TestAContenderOfAStubHasNotSucceeded(t *testing.T) {
	const stub = "gets an error: naive: not written yet: docs/exercises/_01-naive/lock.go"
	var marks []map[string]any
	for at, m := range []struct{ state, text string }{ // of A, at each nanosecond from 0
		{"waits", ""}, {"outside", stub}, {"outside", ""}, {"done", ""}, {"outside", "has unlocked"}, {"done", ""},
	} {
		marks = append(marks, map[string]any{"kind": "state", "who": "A", "at_ns": at, "state": m.state, "text": m.text})
	}
	film := map[string]any{"end_ns": 5, "clients": []any{map[string]any{"name": "A"}}, "packets": []any{}, "marks": marks}
	require.Equal(t, []string{stub, stub, stub, ""}, nodetest.Ask[[]string](t, "../page", nil, film, `
		import { indexFilm, stateAt } from "./film.js";
		const F = indexFilm(asked), answer = [1, 2, 3, 5].map(t => stateAt(F, t).units[0].error);`))
}

func TestThePageWithoutItsEngine(t *testing.T) {
	page, engine := testenv.Must2(smallPage(t).WithoutEngine())(t)
	m := regexp.MustCompile(`textContent: "(.*)" }`).FindSubmatch(engine)
	require.NotNil(t, m)
	require.Equal(t, compressed([]byte("wasm")), unpack(t, string(m[1])))
	require.Contains(t, string(page), "script-src 'self' file: 'unsafe-inline'")
	require.Contains(t, string(page), `<script src="films.js"></script>`)
	require.NotContains(t, string(page), "lab-wasm\">")
}

func TestThePageOpensInTheLanguageOfItsBuilder(t *testing.T) {
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese, ""} {
		b := &Builder{Root: "../../..", Lang: lang}
		page := testenv.Must(b.ReadFiles())(t)
		one := testenv.Must((&Page{Files: page}).OneFile())(t)
		want := ""
		if lang != "" {
			want = `<meta name="lab-language" content="` + string(lang) + `">`
		}
		for _, text := range [][]byte{page["index.html"], one} {
			require.Equal(t, want, string(regexp.MustCompile(`<meta name="lab-language"[^>]*>`).Find(text)))
		}
	}
}

// TestThePageExplainsEachBugInBothLanguages: the page has the same number of paragraphs on a bug in each,
// those of the two catalogues.
func TestThePageExplainsEachBugInBothLanguages(t *testing.T) {
	script := testenv.Must((&Builder{Root: "../../.."}).texts())(t)
	_, text, ok := strings.Cut(string(script), "export const BUGS = ")
	require.True(t, ok)
	var bugs map[i18n.Language]map[string]bugText
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(text), ";")), &bugs))
	require.Len(t, bugs["en"], len(scenes.Bugs))
	require.Equal(t, slices.Sorted(maps.Keys(bugs["en"])), slices.Sorted(maps.Keys(bugs["zh"])))
	for id, en := range bugs["en"] {
		zh := bugs["zh"][id]
		require.Len(t, zh.Text, len(en.Text), id)
		require.GreaterOrEqual(t, len(zh.Text), 2, id)
		require.Equal(t, []string{en.Title, zh.Title}, []string{scenes.Get(id).Title.In(i18n.English), scenes.Get(id).Title.In(i18n.Chinese)})
		for i, p := range zh.Text {
			require.Regexp(t, `\p{Han}`, p, id)
			require.NotRegexp(t, `&lt;!--|[\p{Han}，。](?:</b>)? \p{Han}`, p, id)
			require.NotEqual(t, en.Text[i], p, id)
		}
	}
	require.Equal(t, "一行，接着是 two words 和第三行。", oneLine("一行， 接着是 two\nwords 和\n第三行。"))
}
