// Tests of the command lab: of its flags, of its errors, and of the page after a source is saved.
package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/lab/build"
	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) { testenv.EmbeddedMain(m) }

// TestEachCommandOnThePagesOpensAScene: each scene that a page of the project names, in a command or in its
// text, exists, and docs/scenes.md has its address.
func TestEachCommandOnThePagesOpensAScene(t *testing.T) {
	listed := testenv.Must(os.ReadFile("../../docs/scenes.md"))(t)
	named := regexp.MustCompile("(?:-scene |[Ss]cenes? `)([\\w-]+)")
	seen := make(map[string]bool)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".md") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			at := testenv.Must(sceneAddress(m[1]))(t, file, "says", m[0])
			require.Contains(t, string(listed), "\n"+at+"\n", "%s: %s is not in docs/scenes.md: go generate ./...", file, m[0])
			seen[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	require.True(t, seen["naive"] && seen["A7"] && seen["E1"], "this test finds no commands: %v", seen)
	require.Equal(t, testenv.Must(sceneAddress("A7"))(t), testenv.Must(sceneAddress("a7"))(t))
}

func TestErrorsAreOneClearLine(t *testing.T) {
	requireLine := func(t *testing.T, err error, part string) {
		require.ErrorContains(t, err, part)
		require.NotContains(t, err.Error(), "\n")
	}
	t.Run("no go command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		requireLine(t, run(t.Context(), nil, io.Discard, io.Discard, new(i18n.Language)), "no go command")
	})
	t.Run("outside the project", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-mod=mod")
		requireLine(t, testenv.Err(build.New(t.Context(), t.TempDir())), "inside them")
	})
	dir := t.TempDir()
	for args, part := range map[string]string{"-out " + dir: "go run ./cmd/book -out " + dir, "-scene Z9": "docs/scenes.md",
		"-scene #lock=none&do=x": "-scene #lock=none", "x": "not understood"} {
		requireLine(t, run(t.Context(), strings.Fields(args), io.Discard, io.Discard, new(i18n.Language)), part)
	}
}

// TestASavedLockRunsInThePage serves a copy of the sources in which an exercise does not compile. Then it saves a lock
// that does not compile and one that does, and an exercise whose lock panics, which it plays in node.
func TestASavedLockRunsInThePage(t *testing.T) {
	testenv.Long(t, "compiles the engine of the page again and again; the browser's tests do once")
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, sources{os.DirFS(filepath.Join("..", ".."))}))
	lock := filepath.Join(root, "01-naive-ephemeral", "lock.go")
	lockText := testenv.Must(os.ReadFile(lock))(t)
	exercise := filepath.Join(root, "docs", "exercises", "_01-naive", "lock.go")
	exerciseText := testenv.Must(os.ReadFile(exercise))(t)
	tick := make(chan time.Time, 1) // a tick can wait in it until watch looks
	save := func(name string, text []byte, more string) {
		require.NoError(t, os.WriteFile(name, append(text, more...), 0o644))
		tick <- time.Time{} // the site looks at the sources
	}
	const wrong = "\nvar mark = 1 + \"\"\n"
	save(exercise, exerciseText, wrong) // 1: before the first build, an exercise does not compile

	ctx, cancel := context.WithCancel(t.Context())
	b := testenv.Must(build.New(ctx, root))(t)
	s, server := startSite(t)
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
	events := listenTo(t, server.URL+"/events?seen=1") // as a page that shows the first build
	events.until("error", "_01-naive")

	save(lock, lockText, "\nfunc {\n") // 2: a lock does not compile; with 3, it does
	events.until("error", "01-naive-ephemeral/lock.go")
	save(lock, bytes.Replace(lockText, []byte("naive: not locked"), []byte("naive: a-mark-of-the-test"), 1), "") // 3
	events.until("error", "_01-naive")
	require.True(t, first == engine(), "the last page that compiled is still there")
	save(exercise, bytes.Replace(exerciseText, []byte("\treturn errNotWritten"), // 4: the exercise compiles, and panics
		[]byte("\tgo badUnlock()\n\treturn errNotWritten"), 1), `
func badUnlock() {
	println("what a lock prints is not a reason")
	panic("the node is gone")
}
`)
	events.until("reload", "true")
	second := engine()
	require.Contains(t, second, "a-mark-of-the-test")
	t.Run("the page says why the engine has ended", func(t *testing.T) { saysWhyItEnded(t, b, second) })
	save(exercise, exerciseText, wrong) // 5: it does not compile again
	events.until("error", "_01-naive")
	require.True(t, second == engine(), "a page that lacks the exercises is worse than one that has them")
}

type sources struct{ fs.FS } // the files that the page is built from

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool {
		return strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "_test.go") || d.Name() == "testdata"
	}), err
}

// saysWhyItEnded plays an exercise in node that panics in a goroutine of its own.
func saysWhyItEnded(t *testing.T, b *build.Builder, engine string) {
	page := filepath.Join(b.Root, "internal", "lab", "page")
	files := testenv.Must(b.ReadFiles())(t)
	built := map[string]string{"engine.wasm": engine, "wasm_exec.js": string(files["wasm_exec.js"])}
	script := testenv.Must(os.ReadFile("testdata/ended.js"))(t)
	answer := nodetest.Ask[string](t, page, built, nil, string(script))
	require.True(t, strings.HasPrefix(answer, "the engine has ended\npanic: the node is gone\n"), "%s", answer)
	require.Contains(t, answer, "naive.badUnlock")
	require.NotContains(t, answer, "not a reason")
}

func TestTheLanguageIsThatOfTheEnvironment(t *testing.T) {
	const browsers = "" // the page opens in the language of the browser
	for _, c := range []struct {
		lcAll, lang string // LC_ALL and LANG
		want        i18n.Language
	}{
		{"", "zh_CN.UTF-8", i18n.Chinese},
		{"en_US.UTF-8", "zh_CN.UTF-8", i18n.English},
		{"", "", browsers},
		{"C.UTF-8", "zh_CN.UTF-8", browsers},
		{"", "POSIX", browsers},
	} {
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		require.Equal(t, c.want, languageOfEnvironment(), "%v", c)
	}
}

func TestTheFlagLangIsThatOfAllCommands(t *testing.T) {
	wrong := run(t.Context(), []string{"-lang", "fr"}, io.Discard, io.Discard, new(i18n.Language))
	require.ErrorContains(t, wrong, "see -help")
	var help strings.Builder
	require.NoError(t, run(t.Context(), []string{"-lang", "zh", "-help"}, io.Discard, &help, new(i18n.Language)))
	require.Empty(t, chinesetest.Flags(help.String()))
	require.Contains(t, help.String(), "\n  -out 文件\n")
}
