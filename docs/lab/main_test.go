package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/ascii85"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/docs/lab/nodetest"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/when"
)

// TestMain leaves the tests out where ZK names a server: the lab has its own,
// and has been tested without.
func TestMain(m *testing.M) {
	if when.Elsewhere() {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ready is a page that is small.
func ready() *builtPage {
	return &builtPage{wasm: []byte("wasm"), page: map[string][]byte{
		"index.html":   []byte("<!doctype html>\n<html>\n<head>\n<link rel=\"icon\" href=\"icon.svg\">\n<link rel=\"stylesheet\" href=\"lab.css\">\n<script type=\"module\" src=\"main.js\"></script>\n</head>\n<body></body>\n</html>\n"),
		"reader.html":  []byte("<!doctype html>\n<html>\n<head>\n<script type=\"module\" src=\"b.js\"></script>\n</head>\n<body></body>\n</html>\n"),
		"lab.css":      []byte("body { color: black }\n"),
		"icon.svg":     []byte("<svg/>"),
		"main.js":      []byte("import {\n  a,\n} from \"./a.js\";\nexport { b } from \"./b.js\";\nsay(a, \"./not-a-module.js\");\n"),
		"a.js":         []byte("import { b } from \"./b.js\";\nexport const a = b;\n"),
		"b.js":         []byte("import \"./a.js\";\nexport const b = 1;\n"),
		"packed.js":    []byte("// packed\n"),
		"worker.js":    []byte("const s = \"</script>\";\n"),
		"wasm_exec.js": []byte("// exec\n"),
	}}
}

// TestEachScriptOfThePageIsShort: a reader finds a script by what it does, and
// reads it at one sitting.
func TestEachScriptOfThePageIsShort(t *testing.T) {
	files, err := filepath.Glob("page/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 400, "%s: give a part of it a file of its own", file)
	}
}

// TestNoScriptOfThePageImportsItself: no script imports one that imports it, directly or not,
// and each field of the store has one script that writes it.
func TestNoScriptOfThePageImportsItself(t *testing.T) {
	files, err := filepath.Glob("page/*.js")
	require.NoError(t, err)
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[filepath.Base(file)] = string(text)
	}
	require.Empty(t, circle(texts))
	require.Equal(t, []string{"a.js", "b.js", "c.js", "a.js"}, circle(map[string]string{
		"a.js": "import { b } from \"./b.js\";\n", "b.js": "export {\n  c,\n} from \"./c.js\";\n", "c.js": "import \"./a.js\";\n",
	}))

	writes := regexp.MustCompile(`\bapp\.(\w+)(?: = | [-+]= |\+\+)|\+\+app\.(\w+)`)
	writers := make(map[string]string)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for _, m := range writes.FindAllStringSubmatch(texts[file], -1) {
			field := m[1] + m[2]
			require.Contains(t, []string{"", file}, writers[field], "a second script, %s, writes app.%s", file, field)
			writers[field] = file
		}
	}
	require.Equal(t, "store.js", writers["scene"])
	require.Equal(t, "time.js", writers["t"])
}

// circle returns scripts each of which imports the next one, and the last is the first; nil:
// there are none.
func circle(texts map[string]string) []string {
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
			if found := visit(m[2]); found != nil {
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

// TestEachCommandOnThePagesOpensAScene: each -scene in a command on a page of the
// project, and each scene that it names, exists, and
// docs/lab/scenes.md has its address.
func TestEachCommandOnThePagesOpensAScene(t *testing.T) {
	list, err := os.ReadFile("scenes.md")
	require.NoError(t, err)
	named := regexp.MustCompile("(?:-scene |[Ss]cenes? `)([\\w-]+)")
	seen := make(map[string]bool)
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".md") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			a, err := find(m[1])
			require.NoError(t, err, "%s says %s", file, m[0])
			require.Contains(t, string(list), "\n"+a+"\n", "%s says %s, which docs/lab/scenes.md does not list: go test ./docs/lab/locks -update writes it", file, m[0])
			seen[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	require.True(t, seen["naive"] && seen["A7"] && seen["E1"], "this test finds no commands: %v", seen)
	capital, err := find("A7")
	require.NoError(t, err)
	small, err := find("a7")
	require.NoError(t, err)
	require.Equal(t, capital, small)
}

// The lab plays what the explorer can play, and leaves out what is not finished.
func TestTheExercisesAreInTheLab(t *testing.T) {
	b, err := newBuilder(t.Context(), ".")
	require.NoError(t, err)
	source, err := b.exercises()
	require.NoError(t, err)
	for _, e := range locks.Playable {
		require.Contains(t, source, fmt.Sprintf("locks.AddExercise(%q,", e.Folder))
	}
	for _, other := range []string{"11-kill", "12-break"} {
		require.NotContains(t, source, other)
	}

	dir := t.TempDir()
	write := func(program string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lock.go"), []byte(program), 0o644))
	}
	write("package predecessor\n\nfunc New() {}\n")
	b.own, err = b.ownLock(dir)
	require.NoError(t, err)
	require.Equal(t, "03-predecessor", b.own.folder)
	source, err = b.exercises()
	require.NoError(t, err)
	require.NotContains(t, source, "03-predecessor", "it has no Lock yet")
	require.Contains(t, source, "02-herd")
	write("package other\n")
	_, err = b.ownLock(dir)
	require.ErrorContains(t, err, "keep the package clause of the stub")
	_, err = b.ownLock(t.TempDir())
	require.ErrorContains(t, err, "no Go file")
}

func TestTheOneFileHoldsEverything(t *testing.T) {
	b := ready()
	page, err := oneFile(b)
	require.NoError(t, err)
	text := string(page)
	require.NotRegexp(t, `(src|href)="[^"d#]`, text, "nothing is loaded")
	require.Contains(t, text, "<style>\nbody { color: black }")
	require.NotContains(t, text, `type="module"`, "no module is loaded before the import map")
	require.Contains(t, text, `<script>
// packed
startModules(document.getElementById("lab-modules"));
</script>`)
	m := regexp.MustCompile(`(?s)id="lab-modules" data-first="lab/main.js">(.*?)</script>`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	z, err := gzip.NewReader(bytes.NewReader(unpack(t, m[1])))
	require.NoError(t, err)
	var modules map[string]string
	require.NoError(t, json.NewDecoder(z).Decode(&modules))
	require.Equal(t, map[string]string{
		"lab/main.js": "import {\n  a,\n} from \"lab/a.js\";\nexport { b } from \"lab/b.js\";\nsay(a, \"./not-a-module.js\");\n",
		"lab/a.js":    "import { b } from \"lab/b.js\";\nexport const a = b;\n",
		"lab/b.js":    "import \"lab/a.js\";\nexport const b = 1;\n",
	}, modules)
	worker := regexp.MustCompile(`(?s)id="lab-worker">(.*?)</script>`).FindStringSubmatch(text)
	require.Contains(t, worker[1], `"<\/script>"`)
	require.Contains(t, worker[1], "// exec")
	engine := regexp.MustCompile(`(?s)id="lab-wasm">(.*?)</script>`).FindStringSubmatch(text)
	require.Equal(t, compressed(b.wasm), unpack(t, engine[1]))

	delete(b.page, "b.js")
	_, err = oneFile(b)
	require.ErrorContains(t, err, "b.js")
	b = ready()
	delete(b.page, "lab.css")
	_, err = oneFile(b)
	require.ErrorContains(t, err, "lab.css")
}

// unpack is what packed.js does.
func unpack(t *testing.T, text string) []byte {
	t.Helper()
	require.NotContains(t, text, "<")
	out := make([]byte, 4*len(text)) // a z is four
	n, _, err := ascii85.Decode(out, []byte(strings.ReplaceAll(text, "~", "<")), true)
	require.NoError(t, err)
	return out[:n]
}

func TestThePageUnpacksWhatIsPacked(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("page", "packed.js"))
	require.NoError(t, err)
	all := make([]byte, 9) // four zeros are one character
	for i := range 5000 {
		all = append(all, byte(i*i>>3^i))
	}
	var packed []string
	var want [][]byte
	for _, n := range []int{0, 1, 2, 3, 12, 13, 14, 5000} {
		require.Equal(t, string(all[:n]), string(unpack(t, pack(all[:n]))))
		packed, want = append(packed, pack(all[:n])), append(want, all[:n])
	}
	require.Equal(t, want, nodetest.Ask[[][]byte](t, "page", nil, packed, string(script)+`
		const answer = asked.map(text => Buffer.from(unpack(text)).toString("base64"));`))
}

// TestAContenderOfAStubHasNotSucceeded: the error of its Lock is what the page shows to the end,
// whatever Unlock says after it.
func TestAContenderOfAStubHasNotSucceeded(t *testing.T) {
	const stub = "gets an error: naive: not written yet: docs/exercises/_01-naive/lock.go"
	marks := []map[string]any{
		{"kind": "state", "who": "A", "at_ns": 0, "state": "waits"}, {"kind": "state", "who": "A", "at_ns": 1, "state": "outside", "text": stub},
		{"kind": "state", "who": "A", "at_ns": 2, "state": "outside"}, {"kind": "state", "who": "A", "at_ns": 3, "state": "done"},
		{"kind": "state", "who": "A", "at_ns": 4, "state": "outside", "text": "has unlocked"}, {"kind": "state", "who": "A", "at_ns": 5, "state": "done"},
	}
	film := map[string]any{"end_ns": 5, "clients": []any{map[string]any{"name": "A"}}, "packets": []any{}, "marks": marks}
	require.Equal(t, []string{stub, stub, stub, ""}, nodetest.Ask[[]string](t, "page", nil, film, `
		import { indexFilm, stateAt } from "./film.js";
		const F = indexFilm(asked), answer = [1, 2, 3, 5].map(t => stateAt(F, t).units[0].error);`))
}

func TestErrorsAreOneClearLine(t *testing.T) {
	t.Run("no go command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		err := run(t.Context(), nil, io.Discard, io.Discard)
		require.ErrorContains(t, err, "no go command")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("outside the project", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-mod=mod")
		_, err := newBuilder(t.Context(), t.TempDir())
		require.ErrorContains(t, err, "inside them")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("cannot write", func(t *testing.T) {
		_, err := write(filepath.Join(t.TempDir(), "none", "lab.html"), ready())
		require.ErrorContains(t, err, "cannot be written")
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		_, err = write(file+"/", ready())
		require.ErrorContains(t, err, "cannot be written")
	})
	t.Run("no such scene", func(t *testing.T) {
		err := run(t.Context(), []string{"-scene", "Z9"}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "docs/lab/scenes.md")
		require.NotContains(t, err.Error(), "\n")
		require.ErrorContains(t, run(t.Context(), []string{"-scene", "#lock=none&do=x"}, io.Discard, io.Discard), "-scene #lock=none")
	})
	t.Run("an argument too many", func(t *testing.T) {
		require.ErrorContains(t, run(t.Context(), []string{"x"}, io.Discard, io.Discard), "not understood")
	})
}

func TestTheBooksPartsAreAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "parts") + "/"
	_, err := write(dir, ready())
	require.NoError(t, err)
	engine, err := os.ReadFile(filepath.Join(dir, "wasm.js"))
	require.NoError(t, err)
	m := regexp.MustCompile(`textContent: (".*") }`).FindSubmatch(engine)
	require.NotNil(t, m)
	var packed string
	require.NoError(t, json.Unmarshal(m[1], &packed))
	require.Equal(t, compressed([]byte("wasm")), unpack(t, packed))
	for name, rule := range map[string]string{"lab.html": "script-src 'self' file: 'unsafe-inline'", "reader.html": readerPolicy} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(page), rule, name)
		require.NotContains(t, string(page), `src="b.js"`, "%s needs no server", name)
		require.NotContains(t, string(page), "lab-wasm\">", "%s has no engine", name)
	}
}

// TestASavedLockRunsInThePage copies the sources, with an exercise that does not
// compile, and serves them. Then it saves a lock that does not compile and one that
// does, and an exercise whose lock panics. It plays the engines in node.
func TestASavedLockRunsInThePage(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, sources{os.DirFS(filepath.Join("..", ".."))}))
	lock := filepath.Join(root, "01-naive-ephemeral", "lock.go")
	lockText, err := os.ReadFile(lock)
	require.NoError(t, err)
	exercise := filepath.Join(root, "docs", "exercises", "_01-naive", "lock.go")
	exerciseText, err := os.ReadFile(exercise)
	require.NoError(t, err)
	tick := make(chan time.Time, 1)
	save := func(name string, text []byte, more string) {
		require.NoError(t, os.WriteFile(name, append(text, more...), 0o644))
		tick <- time.Time{} // time passes
	}
	const wrong = "\nvar mark = 1 + \"\"\n"
	save(exercise, exerciseText, wrong)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	b, err := newBuilder(ctx, root)
	require.NoError(t, err)
	s, server := served(t)
	ended := make(chan struct{})
	go func() {
		s.watch(ctx, b, tick)
		close(ended)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	engine := func() string {
		_, body := get(t, server.URL+"/engine.wasm", "")
		return body
	}
	first := engine()
	require.True(t, strings.HasPrefix(first, "\x00asm"), "a page without the exercises is better than none")
	n := listenTo(t, server.URL+"/events?seen=1")
	n.until("error", "_01-naive")
	t.Run("the films in node are those here", func(t *testing.T) { sameFilms(t, b, first) })

	save(lock, lockText, "\nfunc {\n")
	n.until("error", "01-naive-ephemeral/lock.go")
	save(lock, bytes.Replace(lockText, []byte("naive: not locked"), []byte("naive: a-mark-of-the-test"), 1), "")
	n.until("error", "_01-naive")
	require.True(t, first == engine(), "the last page that compiled is still there")
	save(exercise, bytes.Replace(exerciseText, []byte("\treturn errNotWritten"), []byte("\tgo badUnlock()\n\treturn errNotWritten"), 1), `
func badUnlock() {
	println("what a lock prints is not a reason")
	panic("the node is gone")
}
`)
	n.until("reload", "true")
	second := engine()
	require.Contains(t, second, "a-mark-of-the-test")
	t.Run("the page is told why the engine has ended", func(t *testing.T) { toldWhy(t, b, second) })
	save(exercise, exerciseText, wrong)
	n.until("error", "_01-naive")
	require.True(t, second == engine(), "a page that lacks the exercises is worse than one that has them")
}

// sources are the files that the page is built from.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "_test.go") || d.Name() == "testdata"
	}), err
}

// inNode runs worker.js in node, asks an engine for runs of scenes, and returns the
// worker's last message.
func inNode(t *testing.T, b *builder, engine string, scenes []locks.Scene) (m struct {
	Broken string
	Hashes []string
}) {
	t.Helper()
	nodetest.Need(t)
	dir := t.TempDir()
	asked, err := json.Marshal(scenes)
	require.NoError(t, err)
	for name, text := range map[string]string{"engine.wasm": engine, "wasm_exec.js": string(b.exec), "scenes.json": string(asked), "ask.js": `
const { readFileSync, writeFileSync } = require("fs"), { runInThisContext } = require("vm");
const read = name => readFileSync(name, "utf8"), scenes = JSON.parse(read("scenes.json")), hashes = [];
const end = m => { writeFileSync("answer.json", JSON.stringify(m)); process.exit(0); };
globalThis.self = globalThis;
self.postMessage = m => {
  if (m.broken || m.ok === false) end({ broken: m.broken || m.error });
  if (m.ok && hashes.push(m.result.hash) == scenes.length) end({ hashes });
};
self.importScripts = name => runInThisContext(read(name));
self.fetch = async name => new Response(readFileSync(name), { headers: { "Content-Type": "application/wasm" } });
runInThisContext(read(process.argv[2]));
self.onmessage({ data: { wasm: null } });
scenes.forEach((scene, id) => self.onmessage({ data: { id, do: "run", scene } }));
`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("node", "--liftoff-only", "ask.js", filepath.Join(b.root, "docs", "lab", "page", "worker.js"))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	answer, err := os.ReadFile(filepath.Join(dir, "answer.json"))
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(answer, &m))
	return m
}

// sameFilms plays the ten scenes here and, compiled to WebAssembly, in node.
func sameFilms(t *testing.T, b *builder, engine string) {
	when.NotRaced(t, "a film made with it has no variables, and one made in node has them")
	m := inNode(t, b, engine, lab.Scenes())
	require.Empty(t, m.Broken)
	for i, s := range lab.Scenes() {
		f, err := lab.Run(t, s)
		require.NoError(t, err)
		require.Equal(t, f.Hash, m.Hashes[i], "scene %d", i)
	}
}

// toldWhy plays an exercise that panics in a goroutine of its own.
func toldWhy(t *testing.T, b *builder, engine string) {
	m := inNode(t, b, engine, []locks.Scene{{Lock: "exercise-01-naive", Contenders: 2, Seed: 1}})
	require.True(t, strings.HasPrefix(m.Broken, "the engine has ended\npanic: the node is gone\n"), m.Broken)
	require.Contains(t, m.Broken, "naive.badUnlock")
	require.NotContains(t, m.Broken, "no reason")
}

func TestThePageOpensInTheLanguageOfItsBuilder(t *testing.T) {
	for _, c := range []struct {
		args        []string
		lcAll, lang string
		want        language.Language
	}{
		{nil, "", "zh_CN.UTF-8", language.Chinese},
		{nil, "en_US.UTF-8", "zh_CN.UTF-8", language.English},
		{[]string{"-lang", "zh-CN"}, "", "en_US.UTF-8", language.Chinese},
		{[]string{"-lang=en"}, "zh_CN.UTF-8", "", language.English},
		{nil, "", "", ""},
		{nil, "C.UTF-8", "zh_CN.UTF-8", ""},
		{nil, "", "POSIX", ""},
	} {
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		lang := environment()
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Var(&lang, "lang", "")
		require.NoError(t, flags.Parse(c.args))
		require.Equal(t, c.want, lang, "%v", c)

	}
	for _, lang := range []language.Language{language.English, language.Chinese, ""} {
		b := &builder{root: "../..", lang: lang}
		page, err := b.page()
		require.NoError(t, err)
		made := &builtPage{page: page}
		one, err := oneFile(made)
		require.NoError(t, err)
		reader, err := readerFile(made)
		require.NoError(t, err)
		for _, text := range [][]byte{page["index.html"], page["reader.html"], one, reader} {
			said := regexp.MustCompile(`<meta name="lab-language" content="(\w+)">`).FindSubmatch(text)
			require.Equal(t, lang != "", said != nil, lang)
			if said != nil {
				require.Equal(t, string(lang), string(said[1]))
			}
		}
	}
	require.ErrorContains(t, run(t.Context(), []string{"-lang", "fr"}, io.Discard, io.Discard), "see -help")
}

// TestThePageExplainsEachBugInBothLanguages: what the page says of a bug is the text
// of both catalogues, paragraph by paragraph.
func TestThePageExplainsEachBugInBothLanguages(t *testing.T) {
	script, err := (&builder{root: "../.."}).texts()
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(script), "export const BUGS = ")
	require.True(t, ok)
	var bugs map[language.Language]map[string]bugText
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(text), ";")), &bugs))
	require.Greater(t, len(bugs["en"]), 30)
	require.Equal(t, slices.Sorted(maps.Keys(bugs["en"])), slices.Sorted(maps.Keys(bugs["zh"])))
	for id, en := range bugs["en"] {
		zh := bugs["zh"][id]
		require.Len(t, zh.Text, len(en.Text), id)
		require.GreaterOrEqual(t, len(zh.Text), 2, id)
		require.Equal(t, scenes.Get(id).Title, scenes.Text{En: en.Title, Zh: zh.Title})
		for i, p := range zh.Text {
			require.Regexp(t, `\p{Han}`, p, id)
			require.NotRegexp(t, `&lt;!--|[\p{Han}，。](?:</b>)? \p{Han}`, p, id)
			require.NotEqual(t, en.Text[i], p, id)
		}
	}
	require.Equal(t, "一行，接着是 two words 和第三行。", oneLine("一行， 接着是 two\nwords 和\n第三行。"))
}
