package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) {
	os.Setenv("LC_ALL", "C") // the tests read English, whatever their reader's language is
	counterexample.Serve(os.Args[1:])
	if len(os.Args) > 1 && others[os.Args[1]] != nil {
		others[os.Args[1]](os.Args[2:])
		os.Exit(0)
	}
	cache, err := os.MkdirTemp("", "exercises-cache-")
	if err != nil {
		panic(err)
	}
	os.Setenv("EXERCISES_CACHE", cache)
	status := m.Run()
	os.RemoveAll(cache)
	os.Exit(status)
}

// The first argument of the test binary, if it is to be another program than the tests.
const commandArg, dialArg, dyingArg = "be the command", "dial", "replay-dying"

// others are these programs, by that argument. They take the arguments after it.
var others = map[string]func(args []string){commandArg: beTheCommand, dialArg: dial, dyingArg: replayDying}

func beTheCommand(args []string) {
	os.Args = append(os.Args[:1], args...)
	main()
}

func dial(args []string) {
	if _, err := net.Dial("tcp", args[0]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// saidBy calls the command, and returns what it prints, and then its error.
func saidBy(t *testing.T, args ...string) string {
	out, err := called(t, args...)
	if err != nil {
		out += err.Error()
	}
	return out
}

func called(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	var out bytes.Buffer
	lang := i18n.Of("")
	if err = run(t.Context(), args, &out, &lang); err != nil {
		err = errors.New(i18n.TextOf(err).In(lang))
	}
	return out.String(), err
}

func rootOf(t *testing.T) string {
	t.Helper()
	return testenv.Must(findRoot())(t)
}

func fileText(t *testing.T, elements ...string) string {
	t.Helper()
	b := testenv.Must(os.ReadFile(filepath.Join(elements...)))(t)
	return string(unixLines(b))
}

// TestWatchOutlivesAFileThatIsAway does what some editors do to save a file: they remove it and write it again.
func TestWatchOutlivesAFileThatIsAway(t *testing.T) {
	root := t.TempDir()
	e := exercises[0]
	require.NoError(t, os.MkdirAll(e.dir(root), 0o755))
	file := filepath.Join(e.dir(root), "lock.go")
	// A refused attempt is not built, so this takes no time. The sleeps below are in virtual time: several looks.
	save := func(name string) {
		require.NoError(t, os.WriteFile(file, []byte("package naive\n\nimport \""+name+"\"\n"), 0o644))
	}
	save("os")
	bubble.Test(t, func(t *testing.T) {
		var out testenv.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		ended := bubble.Aside(func() error { return (&app{root: root, out: &out}).watch(ctx, e, false) })
		synctest.Wait()
		require.Contains(t, out.String(), "imports os,")

		require.NoError(t, os.Remove(file))
		time.Sleep(2 * poll) // of virtual time: it has looked again
		synctest.Wait()
		require.NotContains(t, out.String(), "no Go files", "it is away for a moment only")
		time.Sleep(20 * poll) // of virtual time: twice as long as watch waits before it says so
		synctest.Wait()
		require.Equal(t, 1, strings.Count(out.String(), "no Go files"))

		save("net")
		time.Sleep(2 * poll) // it has looked again
		synctest.Wait()
		require.Contains(t, out.String(), "imports net,")
		cancel()
		require.NoError(t, <-ended)
	})
}

// TestStudentsOfOneName asserts that each folder is a student, whatever its name, and which attempts it has.
func TestStudentsOfOneName(t *testing.T) {
	root, dir := rootOf(t), t.TempDir()
	for _, name := range []string{"a/anna", "b/anna", "b/bob"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755))
	}
	t.Chdir(filepath.Join(dir, "b"))
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	dirs := expand([]string{in("a/anna"), in("b") + "/*", in("b/bob") + "/", "."})
	require.Equal(t, []string{in("a/anna"), in("b/anna"), in("b/bob"), "."}, dirs, "a pattern stands for what it matches, and no folder comes twice")
	require.Equal(t, []string{in("a/anna"), in("b/anna"), "bob", "b"}, studentsOf(dirs), "two students of one name are two")
	_, err := findAttempts(in("nobody"), nil)
	require.EqualError(t, err, "there is no folder "+in("nobody"))
	require.NoError(t, os.WriteFile(in("zip"), nil, 0o644))
	require.ErrorContains(t, testenv.Err(findAttempts(in("zip"), nil)), "zip is not a folder")
	require.NoError(t, os.WriteFile(in("b/bob/catalog.go"), []byte("package herd\n"), 0o644))
	found := testenv.Must(findAttempts(in("b/bob"), nil))(t, "a file may have the name of one of ours")
	require.Equal(t, []string{in("b/bob")}, found)
	found = testenv.Must(findAttempts(filepath.Join(root, "docs", "exercises"), nil))(t)
	require.Len(t, found, len(exercises), "our own folder is not one attempt")
}

func TestCommandLine(t *testing.T) {
	t.Setenv("EXERCISES_CACHE", t.TempDir()) // no hint is open yet, each time that this runs
	call := func(args ...string) (string, error) { return called(t, args...) }
	out := testenv.Must(call())(t)
	require.Contains(t, out, "go run ./cmd/exercises next")
	_, err := call("lst")
	require.ErrorContains(t, err, `no command "lst"; go run ./cmd/exercises lists them`)
	require.ErrorContains(t, testenv.Err(call("hint")), "go run ./cmd/exercises hint 3")
	require.ErrorContains(t, testenv.Err(call("hint", "99")), `no exercise "99": give a number from 1 to`)
	require.ErrorContains(t, testenv.Err(call("grade")), "grade students/*")
	require.EqualError(t, testenv.Err(call("grade", t.TempDir(), "nobody")), "there is no folder nobody")
	require.ErrorContains(t, testenv.Err(call("grade", t.TempDir(), "-memory", "17179869185GiB")), "give it as 512MiB")

	for n := 1; n <= 4; n++ {
		out = testenv.Must(call("hint", "3"))(t)
		require.Equal(t, min(n, 3), strings.Count(out, "Hint "), "hints open one by one:\n%s", out)
	}
	require.Contains(t, out, "There are no more.")
	require.Equal(t, 1, strings.Count(testenv.Must(call("hint", "4"))(t), "Hint "), "each exercise has its own count")
	for kept, want := range map[string]int{"": 1, "-7": 1, "many": 1, "1\n": 2, "99999999999999999999": 3} {
		file := testenv.Must((&app{root: rootOf(t)}).hintsFile(exercises[2]))(t)
		require.NoError(t, os.WriteFile(file, []byte(kept), 0o644))
		out = testenv.Must(call("hint", "3"))(t)
		require.Equal(t, want, strings.Count(out, "Hint "), "the file says %s", kept)
	}

	out, err = call("hint", "-1")
	require.EqualError(t, err, "flag provided but not defined: -1")
	require.Contains(t, out, "go run ./cmd/exercises hint 3", "what is not understood is followed by what is")
	nowhere := filepath.Join(t.TempDir(), "no", "grades.csv")
	out, err = call("grade", t.TempDir(), "-csv", nowhere)
	require.ErrorContains(t, err, "the results cannot be written")
	require.Empty(t, out, "that is said before all are graded")
	t.Run("no place for the count of hints", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		t.Setenv("EXERCISES_CACHE", file)
		out, err := call("hint", "3")
		require.Contains(t, out, "Hint 1 of 3")
		require.ErrorContains(t, err, "set the environment variable EXERCISES_CACHE to a folder that can be written")
	})

	out = testenv.Must(call("show", "3", "-give-up"))(t)
	require.Contains(t, out, "package predecessor")
}

// TestTheLanguageFollowsTheReader sets the flag, LC_ALL and LANG: the first of them that is set has the language.
func TestTheLanguageFollowsTheReader(t *testing.T) {
	t.Setenv("EXERCISES_CACHE", t.TempDir())
	said := func(lcAll, lang string, args ...string) string {
		t.Setenv("LC_ALL", lcAll)
		t.Setenv("LANG", lang)
		return saidBy(t, args...)
	}
	require.Contains(t, said("", "zh_CN.UTF-8", "hint", "1"), "提示 1（共 3 条）\n\n")
	require.Contains(t, said("zh_CN.UTF-8", "C", "hint", "1"), "提示 2（共 3 条）")
	forEnglish := []string{said("", "", "hint", "1"), said("en_US.UTF-8", "zh_CN.UTF-8", "hint", "1"),
		said("", "zh_CN.UTF-8", "hint", "1", "-lang", "en")}
	for _, english := range forEnglish {
		require.Contains(t, english, "Hint 1 of 3\n\nOnly one")
		require.NotRegexp(t, `\p{Han}`, english)
	}
	require.Contains(t, said("", "", "hint", "-lang=zh", "1"), "提示 1（共 3 条）")
	require.Contains(t, said("", "", "hint", "-lang=fr", "1"), "give en or zh")

	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "练习 1：一个临时节点\n\n**目标。**")
	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "docs/exercises/_01-naive/README.zh-CN.md")
	require.Contains(t, said("", "zh_CN.UTF-8", "watch", "-x"), "没有选项 -x")
	for _, line := range []string{"help", "nothing", "hint", "hint 99", "hint 1 2", "watch -x", "grade", "grade -j 0 x", "show 7", "next"} {
		require.Empty(t, leftEnglish(said("", "zh_CN.UTF-8", strings.Fields(line)...)), line)
	}
}

// leftEnglish returns the English words in a text for a reader of Chinese, besides the names of cases and what stays.
func leftEnglish(text string, stays ...string) []string {
	for _, e := range exercises {
		stays = append(stays, e.names()...)
	}
	slices.SortFunc(stays, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	return chinesetest.English(text, stays...)
}

// The command prepare compiles what a class runs: PATH has a script named go, which records how it is called.
func TestPrepareCompilesWhatAClassRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script takes the place of the command go here, and Windows does not run it")
	}
	root, dir := rootOf(t), t.TempDir()
	calls := filepath.Join(dir, "calls")
	fakeGo := func(then string) { // records the call, and then runs a line of shell
		program := "#!/bin/sh\necho \"$PWD $GOOS $*\" >>" + calls + "\n" + then + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(program), 0o755))
	}
	t.Setenv("PATH", dir)
	fakeGo("exit 0")
	said := testenv.Must(called(t, "prepare"))(t)
	require.Regexp(t, `^1 of 4: compiling the commands, .*\n2 of 4: .*\n3 of 4: .*\n4 of 4: .*\nReady, in \d+s\.\n$`, said)
	lines := strings.Split(strings.TrimSpace(fileText(t, calls)), "\n")
	require.Len(t, lines, len(preparations()))
	require.Contains(t, lines[len(lines)-1], root+" js build -o "+os.DevNull+" ./internal/lab/engine", "nothing is written into the clone")
	for _, c := range preparations() { // each folder that is compiled has Go files
		for _, arg := range c.args {
			if strings.HasPrefix(arg, "./") {
				require.NotEmpty(t, testenv.Must(filepath.Glob(filepath.Join(root, arg, "*.go")))(t), "%s has nothing to compile", arg)
			}
		}
	}

	fakeGo("echo no network; exit 1")
	_, err := called(t, "prepare", "-lang", "zh")
	require.ErrorContains(t, err, "go build ./cmd/exercises ")
	require.ErrorContains(t, err, "no network")
}

// TestAHandOutGrades has the grader of a hand-out grade solutions and wrong attempts, although the hand-out has no line
// of a solution. The solution of exercise 4 imports that of exercise 3.
func TestAHandOutGrades(t *testing.T) {
	takesMinutes(t)
	root, dir := rootOf(t), filepath.Join(t.TempDir(), "class")
	said := testenv.Must(called(t, "hand-out", dir))(t)
	require.Contains(t, said, "go run ./cmd/exercises next")
	require.ErrorContains(t, testenv.Err(called(t, "hand-out", dir)), "is not a new folder")

	var secret, given []string // lines of the solutions, and of the stubs
	for _, e := range exercises {
		require.Equal(t, fileText(t, e.dir(root), e.writes()), fileText(t, e.dir(dir), e.writes()))
		given = append(given, codeLines(fileText(t, e.dir(root), e.writes()))...)
	}
	for _, e := range exercises {
		secret = append(secret, secretLines(t, root, e, given)...)
	}
	secret = slices.DeleteFunc(secret, func(line string) bool { return len(line) <= 40 }) // bytes: other programs have shorter ones
	require.Greater(t, len(secret), 100, "too few lines for the comparison below to find a solution")
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" && !strings.Contains(path, "listings") {
			words := strings.Join(codeLines(fileText(t, path)), "\n")
			for _, line := range secret {
				require.NotContains(t, words, line, path)
			}
		}
		return err
	}))

	write := func(number, program string) {
		e := testenv.Must(find(number))(t)
		require.NoError(t, os.WriteFile(filepath.Join(e.dir(dir), e.writes()), []byte(program), 0o644))
	}
	write("1", "package naive\n\nfunc New() { undefined() }\n")
	write("2", fileText(t, "testdata/wrong/2-list-then-watch.go.txt"))
	for _, number := range []string{"3", "4", "11"} {
		write(number, fileText(t, root, testenv.Must(find(number))(t).answer))
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/exercises", "grade", "-limit", "10m", ".")
	cmd.Dir = dir
	out := testenv.Must(cmd.CombinedOutput())(t)
	require.Regexp(t, `01-naive +0/10 .* does not compile: lock\.go:3:14: undefined: undefined`, string(out))
	require.Regexp(t, `02-herd +0/10 .* fails: `, string(out))
	require.Regexp(t, `03-predecessor +15/15 `, string(out))
	require.Regexp(t, `04-reentrant +15/15 `, string(out))
	require.Regexp(t, `05-give-up +0/20 .* the stub, as it was`, string(out))
	require.Regexp(t, `11-break-this-lock +18/18 `, string(out))
}
