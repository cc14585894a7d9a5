package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/exercises/killing"
	"example.com/zklock/internal/language"
)

var mutantsOfPage = regexp.MustCompile(`(?s)<!-- mutants -->\n.*<!-- /mutants -->`)

// TestThePagesListTheMutants compares exercise 11's pages with the mutants that are played on.
func TestThePagesListTheMutants(t *testing.T) {
	for _, l := range []language.Language{language.English, language.Chinese} {
		file := filepath.Join(must(find("11")).dir(rootOf(t)), l.Page("README.md"))
		page := text(t, file)
		require.Regexp(t, mutantsOfPage, page)
		want := mutantsOfPage.ReplaceAllLiteralString(page, "<!-- mutants -->\n"+killing.List(l)+"<!-- /mutants -->")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		require.Equal(t, want, text(t, file), "run go test ./docs/exercises -exercises.update")
	}
}

// TestAMutantIsStep3WithOnePlaceChanged plays the solution's schedules on the
// mutants of the exercise, and on step 3's own lock.go with each of the changes
// that the page shows or does not show: each schedule must do the same on both.
func TestAMutantIsStep3WithOnePlaceChanged(t *testing.T) {
	heavy(t)
	root := rootOf(t)
	e := must(find("11"))
	step3 := text(t, root, "03-sequential-predecessor/lock.go")
	dir := t.TempDir()
	folder := e.dir(root)
	overlay := map[string]string{filepath.Join(folder, e.writes()): filepath.Join(root, filepath.FromSlash(e.answer))}
	var imports, locks strings.Builder
	for i := range killing.Count {
		changed, err := killing.Patched(i, step3)
		require.NoError(t, err)
		file := filepath.Join(dir, fmt.Sprintf("lock%d.go", i))
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
		overlay[filepath.Join(root, "docs", "exercises", "killing", fmt.Sprintf("changed%d", i), "lock.go")] = file
		fmt.Fprintf(&imports, "\tchanged%d \"example.com/zklock/docs/exercises/killing/changed%d\"\n", i, i)
		fmt.Fprintf(&locks, "\t\tfunc(conn *zk.Conn, path string) museum.Lock { return changed%d.New(conn, path) },\n", i)
	}
	test := filepath.Join(dir, "changed_test.go")
	require.NoError(t, os.WriteFile(test, fmt.Appendf(nil, `package kill

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

%s
	"example.com/zklock/docs/exercises/killing"
	"example.com/zklock/internal/museum"
)

func TestChanged(t *testing.T) {
	for i, changed := range []museum.NewLock{
%s	} {
		for j, s := range Schedules {
			t.Run(fmt.Sprintf("changed %%d %%d.", i, j), func(t *testing.T) { museum.Play(t, changed, s.Play) })
			t.Run(fmt.Sprintf("mutant %%d %%d.", i, j), func(t *testing.T) { museum.Play(t, killing.Mutant(i), s.Play) })
		}
	}
}
`, imports.String(), locks.String()), 0o644))
	overlay[filepath.Join(folder, "changed_test.go")] = test
	file, err := writeOverlay(dir, overlay)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-vet=off", "-count=1", "-overlay="+file, "-run=^TestChanged$", "./docs/exercises/"+e.folder)
	cmd.Dir = root
	out, _ := cmd.CombinedOutput() // it fails, for schedules do
	for i := range killing.Count {
		deaths := 0
		for j := range killing.Count {
			verdict := make(map[string]string)
			for _, kind := range []string{"changed", "mutant"} {
				m := regexp.MustCompile(fmt.Sprintf(`(?m)^ *--- (PASS|FAIL): TestChanged/%s_%d_%d\.`, kind, i, j)).FindSubmatch(out)
				require.NotNil(t, m, "%s", out)
				verdict[kind] = string(m[1])
			}
			require.Equal(t, verdict["changed"], verdict["mutant"], "mutant %d, schedule %d", i+1, j+1)
			if verdict["mutant"] == "FAIL" {
				deaths++
			}
		}
		require.Positive(t, deaths, "mutant %d", i+1)
	}
}
