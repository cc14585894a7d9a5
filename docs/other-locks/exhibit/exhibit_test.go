// Tests that the pages of these locks have what they promise.
package exhibit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// Every exhibit on the page names a test that exists, and that plays this exhibit.
func TestEveryExhibitHasATestThatPlaysIt(t *testing.T) {
	page := string(testenv.Must(os.ReadFile("../exhibits.md"))(t))
	var tests strings.Builder
	for _, file := range testenv.Must(filepath.Glob("../*/*_test.go"))(t) {
		tests.Write(testenv.Must(os.ReadFile(file))(t))
	}
	exhibits := regexp.MustCompile("(?s)<!-- (O\\d+) -->\n.*?-run '?(Test\\w+)").FindAllStringSubmatch(page, -1)
	require.Len(t, exhibits, strings.Count(page, "<!-- O"))
	for _, x := range exhibits {
		body := regexp.MustCompile(`(?s)\nfunc ` + x[2] + `\(.*?\n}\n`).FindString(tests.String())
		require.Contains(t, body, `"`+x[1]+`"`, "%s does not play %s", x[2], x[1])
	}
}

// A folder of a lock is a lesson: its README has what the steps' have.
func TestEveryLockHasALesson(t *testing.T) {
	const parts = "(?s)[*]Read[*].*[*]The idea.*```mermaid.*[*]What it costs.*" +
		"[*]What holds, and what does not.*[*]Its bugs.*[*]Run it.*[*]For a class"
	locks := testenv.Must(filepath.Glob("../*/lock.go"))(t)
	require.Len(t, locks, 5)
	for _, lock := range locks {
		text := testenv.Must(os.ReadFile(filepath.Join(filepath.Dir(lock), "README.md")))(t)
		require.Regexp(t, parts, string(text), lock)
	}
}
