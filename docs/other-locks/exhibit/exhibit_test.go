package exhibit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exhibit on the page names a test, that test exists, and it records this
// exhibit.
func TestEveryExhibitHasATestThatDrawsIt(t *testing.T) {
	page, err := os.ReadFile("../exhibits.md")
	require.NoError(t, err)
	tests := make(map[string]string) // the text of each test, by name
	files, err := filepath.Glob("../*/*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for part := range strings.SplitSeq(string(text), "\nfunc Test") {
			name, _, _ := strings.Cut(part, "(")
			tests["Test"+name] = part
		}
	}
	exhibits := regexp.MustCompile("(?s)<!-- (O\\d+) -->\n.*?-run '?(Test\\w+)").FindAllStringSubmatch(string(page), -1)
	require.Len(t, exhibits, strings.Count(string(page), "<!-- O"))
	require.GreaterOrEqual(t, len(exhibits), 10)
	for _, x := range exhibits {
		require.Contains(t, tests, x[2], x[1])
		require.Contains(t, tests[x[2]], `"`+x[1]+`"`, "%s does not record %s", x[2], x[1])
	}
	drawn := regexp.MustCompile(`exhibit\.New\(t, "(O\d+)"`)
	for name, text := range tests {
		for _, x := range drawn.FindAllStringSubmatch(text, -1) {
			require.Contains(t, string(page), "<!-- "+x[1]+" -->", name)
		}
	}
}
