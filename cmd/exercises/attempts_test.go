package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// attemptLine is the first line of a file in testdata/attempts: whether the attempt is right, or in which group it is
// wrong, and what its author says, such as "// wrong (safety): it locks without a list".
var attemptLine = regexp.MustCompile(`^(?://|#) (right|wrong)(?: \((\w+)\))?: (.*)\n`)

type authorsLine struct {
	file    string
	verdict string // right or wrong
	group   locktest.Group
	says    string
}

func lineOf(t *testing.T, file string) authorsLine {
	t.Helper()
	m := attemptLine.FindStringSubmatch(fileText(t, file))
	require.NotNil(t, m, "the first line says whether it is right")
	return authorsLine{file: file, verdict: m[1], group: locktest.Group(m[2]), says: m[3]}
}

// isShownBy reports whether a failure shows that the attempt is wrong in the way the line says.
func (l authorsLine) isShownBy(f failure) bool {
	return l.verdict == "wrong" && (f.unsafe() || l.group != locktest.Safety)
}

// requireGrade asserts that an attempt gets all points, some or none, as the line says.
func (l authorsLine) requireGrade(t *testing.T, r *result) {
	t.Helper()
	require.Empty(t, r.Why)
	switch {
	case l.verdict == "right":
		for _, f := range r.Failed { // a right one may send more requests than ours
			require.Equal(t, locktest.Cost, f.Group, "a right attempt fails %q: %s", f.Case, f.Words.String())
		}
	case l.group == locktest.Safety:
		require.Zero(t, r.Points, "two can be inside: %s", firstFailure(r))
		require.True(t, r.Unsafe)
	default:
		require.Less(t, r.Points, r.Of, "the attempt is wrong: %s", l.says)
	}
}

func (l authorsLine) row(r *result) string {
	return fmt.Sprintf("| [%s](%s) | %s: %s | %d of %d | %s |\n", attemptName(l.file), filepath.Base(l.file),
		strings.TrimSpace(l.verdict+" "+string(l.group)), cellText(l.says), r.Points, r.Of, cellText(firstFailure(r)))
}

// firstFailure is the first message, and its case; "" if all cases pass.
func firstFailure(r *result) string {
	if len(r.Failed) == 0 {
		return ""
	}
	return r.Failed[0].Case + ": " + r.Failed[0].Words.String()
}

const (
	attemptsPage = "testdata/attempts/README.md"
	attemptsHead = "\n| attempt | what its author says | points | first message |\n|---|---|---:|---|\n"
)

// attemptFiles are the files of all attempts, or of the first right one and the first wrong one of each exercise.
func attemptFiles(t *testing.T, all bool) []string {
	t.Helper()
	files := testenv.Must(filepath.Glob("testdata/attempts/*.txt"))(t)
	if !all {
		kind := func(file string) string { return regexp.MustCompile(`/\d+-(right|wrong)`).FindString(file) } // as /3-right
		files = slices.DeleteFunc(files, func(file string) bool { return kind(file) == "" })
		files = slices.CompactFunc(files, func(a, b string) bool { return kind(a) == kind(b) })
	}
	require.GreaterOrEqual(t, len(files), 2*len(exercises), "a right and a wrong one of each exercise")
	return files
}

// The attempts of readers who had not seen the grader get the points that the page has. All are graded, or for a
// landing a right one of each exercise, on a sample of cases, and a wrong one. With -update the test writes the table.
func TestForeignAttempts(t *testing.T) {
	takesMinutes(t)
	all := site.Updates() || testenv.AtLength()
	files := attemptFiles(t, all)
	attempts := attemptsIn(t, files)
	page := fileText(t, attemptsPage)
	rows := make([]string, len(files))
	var graded sync.WaitGroup
	for i, file := range files {
		graded.Add(1)
		a := attempts[file]
		if !all && strings.Contains(file, "-right") {
			a.exercise = sample(a.exercise, withBasics)
		}
		name := attemptName(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer graded.Done()
			line := lineOf(t, file)
			r := gradeOf(t, a, generous, func(f failure) (goesOn bool) { return all || !line.isShownBy(f) })
			line.requireGrade(t, r)
			rows[i] = line.row(r)
			if !site.Updates() {
				points := fmt.Sprintf("%d of %d", r.Points, r.Of)
				if !all && !r.Unsafe {
					points = `\d+ of \d+` // a wrong one has lost some, and a right one had a sample of the cases
				}
				require.Regexp(t, `(?m)^\| \[`+regexp.QuoteMeta(name)+`\]\(.* \| `+points+` \| `, page,
					"%s is stale: ZKLOCK_TESTS=long go test ./cmd/exercises -run TestForeignAttempts -update", attemptsPage)
			}
		})
	}

	if site.Updates() {
		t.Cleanup(func() {
			graded.Wait()
			site.Holds(t, "cmd/exercises/"+attemptsPage, "attempts", attemptsHead+strings.Join(rows, "")+"\n")
		})
	}
}

func attemptName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".txt"), ".go")
}

// cellText cuts a text for a cell of a table to one line that is not too long.
func cellText(s string) string {
	const most = 240 // bytes
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "\\|")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// exerciseOf returns the exercise whose number a file's name begins with.
func exerciseOf(t *testing.T, file string) *exercise {
	number, _, _ := strings.Cut(filepath.Base(file), "-")
	return testenv.Must(find(number))(t)
}

// A saidProgram is a program and what the grader must say of it. Where is its file, lock.go if empty, or its system.
type saidProgram struct{ name, where, says, text string }

// saidLine is the line above a program: its name, where, and what the grader says, such as
// "== hides an import (z.go): imports runtime/debug".
var saidLine = regexp.MustCompile(`(?m)^== (.+?)(?: \((.+)\))?: ?(.*)\n`)

func programsOf(t *testing.T, file string) (list []saidProgram) {
	t.Helper()
	texts := saidLine.Split(fileText(t, file), -1)
	for i, m := range saidLine.FindAllStringSubmatch(fileText(t, file), -1) {
		list = append(list, saidProgram{name: m[1], where: m[2], says: m[3], text: texts[i+1]}) // texts[0] is above the first line
	}
	require.NotEmpty(t, list)
	return list
}

// An attempt that imports what a lock does not need, or that is too large, is refused with one line; it is not run.
func TestUnneededImportsAreRefused(t *testing.T) {
	large := "package predecessor\n//" + strings.Repeat("x", maxBytes)
	refused := append(programsOf(t, "testdata/refused.txt"),
		saidProgram{name: "is larger than a lock", says: "too much to read", text: large})
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package predecessor\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, cmp.Or(test.where, "lock.go")), []byte(test.text), 0o644))
			e := testenv.Must(find("3"))(t)
			_, err := readAttempt(dir, e)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.ErrorAs(t, err, new(refusal))
			require.NotContains(t, err.Error(), "\n", "an error is one line")
		})
	}
}
