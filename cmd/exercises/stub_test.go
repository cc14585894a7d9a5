package main

import (
	"bytes"
	"encoding/json"
	goformat "go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

func withoutComments(t *testing.T, e *exercise, stub string) string {
	t.Helper()
	if e.file == counterexample.File {
		return regexp.MustCompile(`(?m)^#.*(?:\n#.*)*`).ReplaceAllString(stub, "#")
	}
	f := testenv.Must(parser.ParseFile(token.NewFileSet(), "", stub, parser.SkipObjectResolution))(t)
	var out bytes.Buffer
	require.NoError(t, goformat.Node(&out, token.NewFileSet(), f)) // without positions: blank lines do not count
	return out.String()
}

// TestStubsHaveChineseComments asserts that a Chinese stub differs from the English one in nothing but its comments.
func TestStubsHaveChineseComments(t *testing.T) {
	comment := regexp.MustCompile(`(?m)(?://|^#) (.*)$`)
	for _, e := range exercises {
		english := fileText(t, e.dir(rootOf(t)), e.writes())
		chinese, _ := testenv.Must2(e.chineseStub(rootOf(t)))(t)
		stub := string(unixLines(chinese))
		require.Equal(t, withoutComments(t, e, english), withoutComments(t, e, stub))
		said := comment.FindAllStringSubmatch(stub, -1)
		require.NotEmpty(t, said)
		for _, c := range said {
			require.LessOrEqual(t, i18n.Wide(c[1]), 90, "columns: a character of Chinese takes two")
			require.Empty(t, chinesetest.English(c[1]))
			require.NotRegexp(t, `^[，。；：、）”]|\p{Han}[,;:?!()]`, c[1], "punctuation is full-width, and begins no line")
		}
		if e.file != counterexample.File {
			formatted := testenv.Must(goformat.Source([]byte(stub)))(t)
			require.Equal(t, stub, string(formatted))
		}
	}

	// In the file of exercise 11, which is not Go, withoutComments keeps the number of an answer.
	last := exercises[len(exercises)-1]
	answers := fileText(t, last.dir(rootOf(t)), last.writes())
	require.NotEqual(t, withoutComments(t, last, answers), withoutComments(t, last, strings.Replace(answers, "\n3:", "\n33:", 1)))
}

// TestStartWritesTheStubInTheReadersLanguage also asserts that start does not change what a student has written.
func TestStartWritesTheStubInTheReadersLanguage(t *testing.T) {
	from, root := rootOf(t), t.TempDir()
	e := exercises[0]
	needed := []string{"go.mod", stubsFile}
	for _, name := range []string{"README.md", "README.zh-CN.md", "lock.go", "lock.zh-CN.go.txt"} {
		needed = append(needed, "docs/exercises/_01-naive/"+name)
	}
	for _, name := range needed {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(fileText(t, from, name)), 0o644))
	}
	t.Chdir(root)
	file := filepath.Join(e.dir(root), "lock.go")
	english := fileText(t, file)
	known := testenv.Must(readStubs(root))(t)
	stubLanguage := func() i18n.Language { // of the file; "" if it is no longer a stub
		at := testenv.Must(readAttempt(e.dir(root), e))(t)
		return known.language(at)
	}
	require.Contains(t, saidBy(t, "start", "1"), "Write docs/exercises/_01-naive/lock.go")
	require.Equal(t, english, fileText(t, file), "it was in the reader's language")

	const offer = "换成中文：go run ./cmd/exercises start 1"
	require.Contains(t, saidBy(t, "next", "-lang", "zh"), offer)
	require.NotContains(t, saidBy(t, "next"), "start 1")
	require.Contains(t, saidBy(t, "start", "1", "-lang", "zh"), "练习 1：一个临时节点\n\n**目标。**")
	require.Equal(t, i18n.Chinese, stubLanguage())
	require.Contains(t, fileText(t, file), "// Lock 一直等到拿到锁")
	require.NotContains(t, saidBy(t, "next", "-lang", "zh"), offer)
	require.Contains(t, saidBy(t, "start", "1", "-lang", "zh"), "练习 1", "once more")
	require.Equal(t, i18n.Chinese, stubLanguage())
	require.Contains(t, saidBy(t, "start", "1", "-lang", "en"), "git checkout docs/exercises/_01-naive/lock.go")
	require.Equal(t, i18n.Chinese, stubLanguage())

	mine := fileText(t, file) + "\nfunc mine() {}\n"
	require.NoError(t, os.WriteFile(file, []byte(mine), 0o644))
	for _, lang := range []string{"en", "zh"} {
		require.Contains(t, saidBy(t, "start", "1", "-lang", lang), "git checkout docs/exercises/_01-naive/lock.go")
		require.Equal(t, mine, fileText(t, file), "what is begun stays")
	}
	require.Equal(t, i18n.Language(""), stubLanguage())
}

// TestAStubOfEitherLanguageIsNotGraded grades Chinese stubs for a lecturer, whose table says that each is the stub.
func TestAStubOfEitherLanguageIsNotGraded(t *testing.T) {
	a := &app{root: rootOf(t)}
	a.stubs = testenv.Must(readStubs(a.root))(t)
	for _, e := range exercises {
		stub, _ := testenv.Must2(e.chineseStub(a.root))(t)
		at := writeAttempt(t, e, string(stub))
		r := a.gradeOne(t.Context(), "anna", at.dir, []*exercise{e})
		require.Equal(t, "the stub, as it was", r.Why.String())
	}
}

// TestStubsAreRecorded compares stubs.json with the stubs. It rightly fails where a student solves an exercise.
func TestStubsAreRecorded(t *testing.T) {
	root := rootOf(t)
	recorded := make(stubs)
	for _, e := range exercises {
		a := testenv.Must(readAttempt(e.dir(root), e))(t, "the stub is refused:", e)
		ofWindows := strings.ReplaceAll(fileText(t, e.dir(root), e.writes()), "\n", "\r\n")
		require.Equal(t, a.hash, writeAttempt(t, e, ofWindows).hash, "Git may check it out with other line ends")
		recorded[e.folder] = map[i18n.Language]string{i18n.English: a.hash}
		zh, translatedFrom := testenv.Must2(e.chineseStub(root))(t)
		require.Equal(t, a.hash, translatedFrom, "%s: translate the stub, and write this hash behind en: in the first line "+
			"of the Chinese one", e.folder)
		recorded[e.folder][i18n.Chinese] = writeAttempt(t, e, string(zh)).hash
	}
	want := testenv.Must(json.MarshalIndent(recorded, "", "\t"))(t)
	site.Holds(t, stubsFile, "", string(want)+"\n")
}
