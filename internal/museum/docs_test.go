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

// all is every bug of the articles, in the order of the catalogue.
var all = strings.Fields("A1 A2 A3 A4 A5 A6 A11 A7 A8 A9 A10 B1 C2 D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 C1 B2 B3 B4 D11 D12 E1 E2")

// The text of each entry is checked by the test of its exhibit.
func TestTheCatalogueHasEveryBugOnceInOneOrder(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for what, pattern := range map[string]string{
		"rows of the table": `(?m)^\| \[(\w+): `,
		"headings":          `(?m)^### (\w+): `,
		"diagrams":          `(?m)^<!-- (\w+) -->$`,
	} {
		var ids []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			ids = append(ids, m[1])
		}
		require.Equal(t, all, ids, what)
	}
	exhibits, err := filepath.Glob("../../0*/bug_*_test.go")
	require.NoError(t, err)
	for _, file := range exhibits {
		_, name, _ := strings.Cut(file, "../../")
		if !strings.HasSuffix(file, "_paused_test.go") {
			require.Contains(t, string(text), "(../"+name+")", "the catalogue does not link this exhibit")
		}
	}
}

// Each cure names a function and a file; the file has that function. So it is
// with the reading guide.
func TestThePagesNameFunctionsThatExist(t *testing.T) {
	for page, atLeast := range map[string]int{page: len(all), "../../docs/reading-guide.md": 50} {
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
