package museum_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../../docs/bugs.md"

// The text of each entry is checked by the test of its exhibit, and its place among
// the scenes by theirs.
func TestTheCatalogueHasEveryBugOnceInOneOrder(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	all := bugs(string(text), headings)
	require.Empty(t, twice(all), "headings that are there twice")
	for what, pattern := range map[string]string{
		"rows of the table": `(?m)^\| \[(\w+): `,
		"diagrams":          `(?m)^<!-- (\w+) -->$`,
	} {
		require.Equal(t, all, bugs(string(text), pattern), what)
	}
	files, err := filepath.Glob("bugs/bug_*_test.go")
	require.NoError(t, err)
	var exhibits []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_paused_test.go") { // E1's, once more
			id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "bug_"), "_test.go")
			exhibits = append(exhibits, strings.ToUpper(id))
		}
	}
	require.ElementsMatch(t, all, exhibits, "the bugs of docs/bugs.md, and those that have a test in bugs")
	require.ElementsMatch(t, all, bugs(section(string(text), "By article"), `\[([A-Z]\d+)\]`), "the bugs of docs/bugs.md, and those that it has by article")
}

const headings = `(?m)^### (\w+): `

// bugs are the IDs that a pattern finds.
func bugs(text, pattern string) (ids []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// twice are the IDs that a list has more than once.
func twice(ids []string) (again []string) {
	seen := make(map[string]bool)
	for _, id := range ids {
		if seen[id] {
			again = append(again, id)
		}
		seen[id] = true
	}
	return again
}

// section returns the text below a heading, up to the next heading of its depth.
func section(text, heading string) string {
	_, after, _ := strings.Cut(text, "\n## "+heading+"\n")
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

// Each cure names a function and a file; the file has that function. So it is
// with the reading guide.
func TestThePagesNameFunctionsThatExist(t *testing.T) {
	for page, atLeast := range map[string]int{page: 31, "../../docs/reading-guide.md": 50} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		flat := strings.ReplaceAll(string(text), "\n", " ")
		named := regexp.MustCompile("`(\\w+)` in \\[[\\w.]+\\]\\(\\.\\./([^)]+)\\)").FindAllStringSubmatch(flat, -1)
		require.GreaterOrEqual(t, len(named), atLeast, "functions that %s names", page)
		for _, f := range named {
			source, err := os.ReadFile("../../" + f[2])
			require.NoError(t, err)
			require.Regexp(t, `(?m)^func (\(.*\) )?`+f[1]+`\(`, string(source), "%s in %s", f[1], f[2])
		}
	}
}
