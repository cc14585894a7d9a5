package museum

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum/scenes"
)

var update = flag.Bool("update", false, "write what is generated in docs/bugs.md, its Chinese edition and the steps' READMEs")

const (
	// Page is the catalogue, and bugs the folder of its tests, seen from there.
	Page = "../../../docs/bugs.md"
	bugs = "internal/museum/bugs"
)

// testFile is the name of the bug's test in the folder bugs.
func (b Bug) testFile() string { return "bug_" + strings.ToLower(b.ID) + "_test.go" }

// HasTest reports whether the bug has a test of its own, asked from the folder of the
// tests.
func (b Bug) HasTest() bool {
	_, err := os.Stat(b.testFile())
	return err == nil
}

// inDocs compares the diagram of the bug's entry in the catalogue with what has
// happened.
func (b Bug) inDocs(t *testing.T, diagram string) {
	t.Helper()
	if t.Failed() {
		return
	}
	page, err := os.ReadFile(Page)
	require.NoError(t, err)
	before, drawn, after, ok := cutDiagram(string(page), b.ID)
	require.True(t, ok, "docs/bugs.md needs an entry with the heading ### %s: and a line <!-- %[1]s --> in it: go generate ./... draws the diagram below that", b.ID)

	id := strings.ToLower(b.ID)
	test, file, folder := "Bug"+b.ID+"_", b.testFile(), bugs
	if !b.HasTest() {
		test, file, folder = "BugByItsScene/"+b.ID, "article_"+id[:1]+".go", "internal/museum/scenes"
	}
	lab := fmt.Sprintf("it has [no scene in the lab](lab/scenes.md#%s)", id)
	if _, ok := scenes.Find(b.ID); ok {
		lab = fmt.Sprintf("`go run ./docs/lab -open -scene %s` plays it in [the lab](lab/scenes.md#%s)", b.ID, id)
	}
	want := fmt.Sprintf("<!-- %s -->\n`go test -v -run %s ./%s` shows it: [%s](../%s/%s);\n%s\n\n```mermaid\n%s```\n",
		b.ID, test, bugs, file, folder, file, lab, diagram)
	if *update && drawn != want {
		require.NoError(t, os.WriteFile(Page, []byte(before+want+after), 0o644))
	} else {
		require.Equal(t, drawn, want, "docs/bugs.md is stale: go generate ./...")
	}
}

// cutDiagram cuts a catalogue around what is generated in a bug's entry: its
// mark, and all up to the end of the diagram, if there is one.
func cutDiagram(page, id string) (before, drawn, after string, ok bool) {
	mark := "<!-- " + id + " -->\n"
	before, after, ok = strings.Cut(page, mark)
	entry, _, _ := strings.Cut(after, "\n#")
	const end = "\n```\n"
	if i := strings.Index(entry+"\n", end); i >= 0 && strings.Contains(entry[:i], "```mermaid") {
		return before, mark + after[:i+len(end)], after[i+len(end):], ok
	}
	return before, mark, after, ok
}
