package main

import (
	"bytes"
	"compress/gzip"
	"context"
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

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum/scenes"
)

// TestMain leaves the tests out where ZK names a server: the lab has its own,
// and has been tested without.
func TestMain(m *testing.M) {
	if zk := os.Getenv("ZK"); zk != "" && zk != "embedded" {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ready is a page that is small.
func ready() *builtPage {
	return &builtPage{wasm: []byte("wasm"), gz: compressed([]byte("wasm")), page: map[string][]byte{
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
	for _, other := range []string{"07-fence", "11-kill", "12-break"} {
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

func TestAPageWithoutTheExercisesIsBetterThanNone(t *testing.T) {
	s, _ := served(t)
	less, whole := ready(), ready()
	s.put(less, &compileError{"exercise"})
	b, builds, failure, _, _ := s.state()
	require.True(t, b == less && builds == 1 && failure != "")
	s.put(whole, nil)
	s.put(less, &compileError{"exercise"})
	b, builds, failure, _, _ = s.state()
	require.True(t, b == whole && builds == 2 && failure != "")
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
	require.Equal(t, b.gz, unpack(t, engine[1]))

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
	size, digits, _ := strings.Cut(text, " ")
	var n int
	fmt.Sscan(size, &n)
	var out []byte
	var bits, have uint
	for i := 0; i < len(digits); i += 2 {
		bits |= uint(strings.IndexByte(packing, digits[i])*91+strings.IndexByte(packing, digits[i+1])) << have
		for have += 13; have >= 8 && len(out) < n; have -= 8 {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}

func TestThePageUnpacksWhatIsPacked(t *testing.T) {
	node(t)
	text, err := os.ReadFile(filepath.Join("page", "packed.js"))
	require.NoError(t, err)
	var all []byte
	for i := range 5000 {
		all = append(all, byte(i*i>>3^i))
	}
	for _, n := range []int{0, 1, 2, 3, 12, 13, 14, 5000} {
		require.Equal(t, string(all[:n]), string(unpack(t, pack(all[:n]))))
		script := filepath.Join(t.TempDir(), "unpack.mjs")
		ask, err := json.Marshal(pack(all[:n]))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(script, append(text, "\nprocess.stdout.write(unpack("+string(ask)+"));\n"...), 0o644))
		out, err := exec.Command("node", script).Output()
		require.NoError(t, err)
		require.Equal(t, string(all[:n]), string(out))
	}
}

func node(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no node: apt-get install nodejs")
		}
		t.Skip("there is no node: apt-get install nodejs")
	}
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

func TestASiteIsAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site") + "/"
	_, err := write(dir, ready())
	require.NoError(t, err)
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(index), `http-equiv="Content-Security-Policy"`)
	require.NotContains(t, string(index), "lab-events")
	wasm, err := os.ReadFile(filepath.Join(dir, "engine.wasm"))
	require.NoError(t, err)
	require.Equal(t, "wasm", string(wasm))
	for name, policy := range map[string]string{"lab.html": inlinePolicy, "reader.html": readerPolicy} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(page), policy, name)
		require.NotContains(t, string(page), `src="b.js"`, "%s needs no server", name)
	}
}

// TestASavedLockRunsInThePage copies the sources, serves them, and saves a
// lock that does not compile, one that does, and an exercise.
func TestASavedLockRunsInThePage(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, sources{os.DirFS(filepath.Join("..", ".."))}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	b, err := newBuilder(ctx, root)
	require.NoError(t, err)
	s, server := served(t)
	tick := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		s.watch(ctx, b, tick)
		close(ended)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	go func() { // time passes
		for {
			select {
			case tick <- struct{}{}:
			case <-ended:
				return
			}
		}
	}()
	engine := func() []byte {
		_, body := get(t, server.URL+"/engine.wasm", "")
		return []byte(body)
	}
	first := engine()
	require.True(t, bytes.HasPrefix(first, []byte("\x00asm")))
	require.NotContains(t, string(first), "a-mark-of-the-test")
	lock := filepath.Join(root, "01-naive-ephemeral", "lock.go")
	text, err := os.ReadFile(lock)
	require.NoError(t, err)
	n := listenTo(t, server.URL+"/events?seen=1")
	n.until("current")
	require.NoError(t, os.WriteFile(lock, append(text, "\nfunc {\n"...), 0o644))
	require.Contains(t, n.until("error"), "lock.go")
	require.Equal(t, first, engine())
	require.NoError(t, os.WriteFile(lock, bytes.Replace(text, []byte("naive: not locked"), []byte("naive: a-mark-of-the-test"), 1), 0o644))
	n.until("reload")
	require.Contains(t, string(engine()), "a-mark-of-the-test")

	exercise := filepath.Join(root, "docs", "exercises", "_01-naive", "lock.go")
	text, err = os.ReadFile(exercise)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(exercise, append(text, "\nvar mark = 1 + \"\"\n"...), 0o644))
	require.Contains(t, n.until("error"), "_01-naive")
	require.NoError(t, os.WriteFile(exercise, bytes.ReplaceAll(text, []byte("not written yet"), []byte("a-mark-of-a-student")), 0o644))
	n.until("reload")
	require.Contains(t, string(engine()), "a-mark-of-a-student")
}

// sources are the files that the engine is built from.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return strings.HasPrefix(d.Name(), ".") || !d.IsDir() && strings.HasSuffix(d.Name(), "_test.go")
	}), err
}

// TestThePageShowsWhyTheEngineHasEnded runs worker.js in node, with a Go
// program that panics as a lock may.
func TestThePageShowsWhyTheEngineHasEnded(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no node: apt-get install nodejs")
		}
		t.Skip("there is no node: apt-get install nodejs")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module dies\n\ngo 1.24\n")
	write("main.go", `package main

import "fmt"

func main() {
	fmt.Println("what a lock prints is not a reason")
	go badUnlock()
	select {}
}

func badUnlock() { panic("the node is gone") }
`)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "engine.wasm", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	write("ask.js", `
const { readFileSync } = require("fs"), { runInThisContext } = require("vm");
const [, , worker, runtime] = process.argv;
globalThis.self = globalThis;
self.postMessage = m => { if (!m.module) { console.error(JSON.stringify(m)); process.exit(0); } };
self.importScripts = () => runInThisContext(readFileSync(runtime, "utf8"));
self.fetch = async () => new Response(readFileSync("engine.wasm"), { headers: { "Content-Type": "application/wasm" } });
runInThisContext(readFileSync(worker, "utf8"));
self.onmessage({ data: { wasm: null } });
`)
	worker, err := filepath.Abs(filepath.Join("page", "worker.js"))
	require.NoError(t, err)
	ask := exec.CommandContext(t.Context(), "node", "ask.js", worker, filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	ask.Dir = dir
	var said bytes.Buffer
	ask.Stderr = &said
	require.NoError(t, ask.Run(), "%s", said.String())
	lines := strings.Split(strings.TrimSpace(said.String()), "\n") // node warns of what is new in it
	var m struct{ Broken string }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &m), said.String())
	require.True(t, strings.HasPrefix(m.Broken, "the engine has ended\npanic: the node is gone\n"), m.Broken)
	require.Contains(t, m.Broken, "main.badUnlock")
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
			require.Equal(t, c.want != "", said != nil, "%v", c)
			if said != nil {
				require.Equal(t, string(c.want), string(said[1]))
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
		titleEn, titleZh := scenes.Title(id)
		require.Equal(t, titleEn, en.Title)
		require.Equal(t, titleZh, zh.Title)
		for i, p := range zh.Text {
			require.Regexp(t, `\p{Han}`, p, id)
			require.NotRegexp(t, `&lt;!--|[\p{Han}，。](?:</b>)? \p{Han}`, p, id)
			require.NotEqual(t, en.Text[i], p, id)
		}
	}
	require.Equal(t, "一行，接着是 two words 和第三行。", oneLine("一行， 接着是 two\nwords 和\n第三行。"))
}
