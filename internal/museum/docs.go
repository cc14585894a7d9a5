package museum

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum/scenes"
)

var update = flag.Bool("update", false,
	"write the diagrams of docs/bugs.md")

const (
	// Page is the catalogue, and bugs the folder of its tests, seen from there.
	Page = "../../../docs/bugs.md"
	bugs = "internal/museum/bugs"
)

// inDocs compares the bug's entry in the catalogue with the schedule that was played.
func (b Bug) inDocs(t *testing.T, diagram string) {
	t.Helper()
	if t.Failed() {
		return
	}
	page, err := os.ReadFile(Page)
	require.NoError(t, err)
	text := string(page)
	heading := fmt.Sprintf("### %s: %s\n", b.ID, b.What)
	require.Contains(t, strings.SplitAfter(text, "\n"), heading, "docs/bugs.md has no entry with this heading")
	file := fmt.Sprintf("bug_%s_test.go", strings.ToLower(b.ID))
	require.FileExists(t, file, "the catalogue expects the bug's test in this file")

	lab := fmt.Sprintf("it has [no scene in the lab](lab/scenes.md#%s)", strings.ToLower(b.ID))
	if _, ok := scenes.Find(b.ID); ok {
		lab = fmt.Sprintf("`go run ./docs/lab -open -scene %s` plays it in [the lab](lab/scenes.md#%s)", b.ID, strings.ToLower(b.ID))
	}
	changed := text
	for _, part := range []struct{ pattern, want string }{
		{`(?m)^\| \[` + b.ID + `[\]:].*$`, b.row()},
		{"(?ms)^<!-- " + b.ID + " -->\n.*?^```\n", fmt.Sprintf(
			"<!-- %s -->\n`go test -v -run Bug%s_ ./%s` shows it: [%s](../%s/%s);\n%s\n\n```mermaid\n%s```\n",
			b.ID, b.ID, bugs, file, bugs, file, lab, diagram)},
	} {
		found := regexp.MustCompile(part.pattern).FindAllString(text, -1)
		require.Len(t, found, 1, "parts of docs/bugs.md that match %s", part.pattern)
		if !*update {
			require.Equal(t, found[0], part.want, "docs/bugs.md is stale: go generate ./...")
		}
		changed = strings.Replace(changed, found[0], part.want, 1)
	}
	if changed != text {
		require.NoError(t, os.WriteFile(Page, []byte(changed), 0o644))
	}
}

// row returns the bug's line in the table.
func (b Bug) row() string {
	heading := b.ID + ": " + b.What
	return fmt.Sprintf("| [%s](#%s) | %s | %s | %s |", heading, scenes.Anchor(heading), b.Article(), b.Kind, b.cure())
}
