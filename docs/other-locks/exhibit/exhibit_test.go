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

// Every exhibit on the page names a test, that test exists, and it records this
// exhibit.
func TestEveryExhibitHasATestThatDrawsIt(t *testing.T) {
	page := testenv.Must(os.ReadFile("../exhibits.md"))(t)
	tests := make(map[string]string) // the text of each test, by name
	files := testenv.Must(filepath.Glob("../*/*_test.go"))(t)
	for _, file := range files {
		text := testenv.Must(os.ReadFile(file))(t)
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
}

// A folder of a lock is a lesson: its README has what the steps' have.
func TestEveryLockHasALesson(t *testing.T) {
	locks := testenv.Must(filepath.Glob("../*/lock.go"))(t)
	require.Len(t, locks, 5)
	overview := testenv.Must(os.ReadFile("../README.md"))(t)
	for _, lock := range locks {
		folder := filepath.Dir(lock)
		text, err := os.ReadFile(filepath.Join(folder, "README.md"))
		require.NoError(t, err, "%s has no README", folder)
		for _, part := range []string{"**Read**", "**The idea.**", "```mermaid", "**What it costs", "**What holds, and what does not:**", "**Its bugs**",
			"**Run it.**", "**For a class.**"} {
			require.Contains(t, string(text), part, folder)
		}
		require.Contains(t, string(overview), "("+filepath.Base(folder)+"/README.md)")
	}
}
