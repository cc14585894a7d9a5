package bugs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
)

var update = flag.Bool("update", false, "write what is generated in docs/bugs.md, its Chinese edition and the steps' READMEs")

const (
	// Page is the catalogue, seen from the folder of the bugs' tests.
	Page   = "../../../docs/bugs.md"
	pageZh = "../../../docs/bugs.zh-CN.md"
)

// elsewhere are the folders in docs/other-locks, a module of its own, of the bugs without a
// scene: their locks are on another server.
var elsewhere = map[string]string{"B2": "sqlrow", "B3": "redis", "B4": "redis"}

// shown says what shows the bug, and which schedule is drawn below that.
func (b Bug) shown() scenes.Text {
	id := strings.ToLower(b.ID)
	if b.NoScene != nil {
		run := fmt.Sprintf("`go test -C docs/other-locks -v -run Bug%s_ ./%s`", b.ID, elsewhere[b.ID])
		link := fmt.Sprintf("[bugs_test.go](other-locks/%s/bugs_test.go)", elsewhere[b.ID])
		return scenes.Text{
			En: fmt.Sprintf("%s shows it: %s;\nit has [no scene in the lab](scenes.md#%s)", run, link, id),
			Zh: fmt.Sprintf("重现：%s，代码在 %s。[实验室里没有它的场景](scenes.zh-CN.md#%s)。", run, link, id),
		}
	}
	drawn := scenes.Text{En: "with the schedule that is drawn here", Zh: "调度与下图相同"}
	if b.Play != nil {
		drawn = scenes.Text{En: "and its story there has the schedule that is drawn here", Zh: "其中故事的调度与下图相同"}
	}
	run := fmt.Sprintf("`go test -v -run BugByItsScene/%s$ ./internal/bugs/examples`", b.ID)
	link := fmt.Sprintf("[article_%s.go](../internal/bugs/scenes/article_%[1]s.go)", id[:1])
	play := fmt.Sprintf("`go run ./cmd/lab -open -scene %s`", b.ID)
	return scenes.Text{
		En: fmt.Sprintf("%s shows it: %s;\n%s plays it in [the lab](scenes.md#%s), %s", run, link, play, id, drawn.En),
		Zh: fmt.Sprintf("重现：%s，代码在 %s。播放：%s，见[实验室](scenes.zh-CN.md#%s)，%s。", run, link, play, id, drawn.Zh),
	}
}

// inDocs compares the diagrams of the bug's entry in both editions of the catalogue with
// what has happened.
func (b Bug) inDocs(t *testing.T, diagram i18n.Text) {
	t.Helper()
	if t.Failed() {
		return
	}
	for file, language := range map[string]i18n.Language{Page: i18n.English, pageZh: i18n.Chinese} {
		checkMermaid(t, diagram.In(language))
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		before, drawn, after, ok := cutDiagram(string(page), b.ID)
		require.True(t, ok, "%s needs an entry with the heading ### %s and a colon, and a line <!-- %[2]s --> in it: go generate ./... draws the "+
			"diagram below that", file, b.ID)

		want := fmt.Sprintf("<!-- %s -->\n%s\n\n```mermaid\n%s```\n", b.ID, b.shown().In(language), diagram.In(language))
		if *update && drawn != want {
			require.NoError(t, os.WriteFile(file, []byte(before+want+after), 0o644))
		} else {
			require.Equal(t, drawn, want, "%s is stale: go generate ./...", file)
		}
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
