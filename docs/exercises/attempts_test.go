package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/when"
)

// The attempts of testdata/attempts were written from the exercises' texts alone,
// by readers who had not seen our solutions. Their first line says whether they are
// right, or in which group they are wrong.
var attemptLine = regexp.MustCompile(`^// (right|wrong)(?: \((\w+)\))?: (.*)\n`)

// attemptsPage has what each of them gets. With -exercises.update the proof writes
// it.
const attemptsPage = "testdata/attempts/README.md"

const attemptsHead = `# Foreign attempts

Readers who had not seen our solutions wrote these attempts from the exercises' texts alone: right ones that are unusual, and wrong ones
that are plausible. The script .ci/run grades a right and a wrong one of each exercise, and .ci/long grades all. A right one gets
all points except perhaps those of the group cost, and a wrong one does not; one that is wrong in the group safety gets none. The last
column has the first message of the grader.

| attempt | what its author says | points | first message |
|---|---|---:|---|
`

// chosen are the files that are graded: for a landing the first of each kind, by which the grader is
// seen to give each exercise both verdicts, otherwise all. The kind of a file is what kind finds in its name.
func chosen(files []string, kind *regexp.Regexp) (some []string) {
	seen := make(map[string]bool)
	for _, file := range files {
		k := kind.FindString(filepath.Base(file))
		if !seen[k] || *update || when.AtLength() {
			some = append(some, file)
		}
		seen[k] = true
	}
	return some
}

// TestForeignAttempts grades them.
func TestForeignAttempts(t *testing.T) {
	heavy(t)
	files := must(filepath.Glob("testdata/attempts/*.go.txt"))
	require.GreaterOrEqual(t, len(files), 40)
	page := text(t, attemptsPage)
	files = chosen(files, regexp.MustCompile(`^\d+-(right|wrong)`))
	require.GreaterOrEqual(t, len(files), 20, "a right and a wrong one of exercises 1 to 10")
	rows := make([]string, len(files))
	var all sync.WaitGroup
	for i, file := range files {
		all.Add(1)
		name := strings.TrimSuffix(filepath.Base(file), ".go.txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer all.Done()
			program := text(t, file)
			says := attemptLine.FindStringSubmatch(program)
			require.NotNil(t, says, "the first line says whether it is right")
			e := exerciseOf(file)
			r := graded(t, written(t, e, program), generous, nil)
			require.Empty(t, r.Why)
			first := ""
			if len(r.Failed) > 0 {
				first = r.Failed[0].Case + ": " + r.Failed[0].Words.En
			}
			switch {
			case says[1] == "right":
				for _, f := range r.Failed {
					require.Equal(t, locktest.Cost, f.Group, "a right attempt fails %q: %s", f.Case, f.Words.En)
				}
			case says[2] == string(locktest.Safety):
				require.Zero(t, r.Points, "two can be inside: %s", first)
				require.True(t, r.Unsafe)
			default:
				require.Less(t, r.Points, r.Of, "the attempt is wrong: %s", says[3])
			}
			rows[i] = fmt.Sprintf("| [%s](%s) | %s: %s | %d of %d | %s |\n", name, filepath.Base(file), strings.TrimSpace(says[1]+" "+says[2]),
				cellText(says[3]), r.Points, r.Of, cellText(first))
			if !*update {
				require.Regexp(t, regexp.MustCompile(`(?m)^\| \[`+regexp.QuoteMeta(name)+`\]\(.* \| `+fmt.Sprintf("%d of %d", r.Points, r.Of)+` \| `), page,
					"%s is stale: ZKLOCK_TESTS=long go test ./docs/exercises -run TestForeignAttempts -exercises.update", attemptsPage)
			}
		})
	}
	if *update {
		t.Cleanup(func() {
			all.Wait()
			require.NoError(t, os.WriteFile(attemptsPage, []byte(attemptsHead+strings.Join(rows, "")), 0o644))
		})
	}
}

// TestUnusualSolutions: what is right gets all points, whatever it looks like; only
// what the READMEs say of cost may cost cost points.
func TestUnusualSolutions(t *testing.T) {
	heavy(t)
	files := must(filepath.Glob("testdata/right/*.go.txt"))
	require.NotEmpty(t, files)
	for _, file := range chosen(files, regexp.MustCompile(`^\d+-`)) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go.txt"), func(t *testing.T) {
			t.Parallel()
			e := exerciseOf(file)
			r := graded(t, written(t, e, text(t, file)), generous, nil)
			require.Empty(t, r.Why)
			for _, f := range r.Failed {
				require.Equal(t, locktest.Cost, f.Group, "it fails %q: %s", f.Case, f.Words.En)
			}
		})
	}
}

// cellText is a text for a cell of a table, in one line that is not too long.
func cellText(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "|", "\\|")), " ")
	if len(s) > 240 {
		s = strings.ToValidUTF8(s[:240], "") + "…"
	}
	return s
}
