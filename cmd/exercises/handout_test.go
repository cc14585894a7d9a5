package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

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
