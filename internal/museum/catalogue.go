package museum

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/stage"
)

var update = flag.Bool("update", false, "write what is generated in docs/bugs.md, its Chinese edition and the steps' READMEs")

const (
	// Page is the catalogue, and bugs the folder of its tests, seen from there.
	Page   = "../../../docs/bugs.md"
	pageZh = "../../../docs/bugs.zh-CN.md"
	bugs   = "internal/museum/bugs"
)

// elsewhere are the folders in docs/other-locks, a module of its own, of the bugs' locks
// that are on another server.
var elsewhere = map[string]string{"B2": "sqlrow", "B3": "redis", "B4": "redis", "E2": "redis"}

// testFile is the name of the bug's test in the folder bugs.
func (b Bug) testFile() string { return "bug_" + strings.ToLower(b.ID) + "_test.go" }

// ByHand reports whether a person has written the bug's schedule: it has a test of its
// own. It is asked from this folder, or from that of the tests.
func (b Bug) ByHand() bool {
	_, here := os.Stat("bugs/" + b.testFile())
	_, there := os.Stat(b.testFile())
	return here == nil || there == nil || elsewhere[b.ID] != ""
}

// shown says what shows the bug, and which schedule is drawn below that.
func (b Bug) shown() scenes.Text {
	id := strings.ToLower(b.ID)
	test, file, folder := "BugByItsScene/"+b.ID+"$", "article_"+id[:1]+".go", "internal/museum/scenes"
	drawn := scenes.Text{En: ", with the schedule that is drawn here", Zh: "，调度与下图相同。"}
	if b.Play != nil {
		drawn = scenes.Text{En: ", and its story there has the schedule that is drawn here", Zh: "，其中故事的调度与下图相同。"}
	}
	if b.ByHand() {
		test, file, folder = "Bug"+b.ID+"_", b.testFile(), bugs
		drawn = scenes.Text{En: " with another schedule: the one that is drawn here is the test's", Zh: "，调度与下图不同：下图画的是测试里的。"}
	}
	play := fmt.Sprintf("`go run ./docs/lab -open -scene %s`", b.ID)
	where := scenes.Text{
		En: fmt.Sprintf("%s plays it in [the lab](lab/scenes.md#%s)%s", play, id, drawn.En),
		Zh: fmt.Sprintf("播放：%s，见[实验室](lab/scenes.zh-CN.md#%s)%s", play, id, drawn.Zh),
	}
	if _, ok := scenes.Find(b.ID); !ok {
		where = scenes.Text{
			En: fmt.Sprintf("it has [no scene in the lab](lab/scenes.md#%s)", id),
			Zh: fmt.Sprintf("[实验室里没有它的场景](lab/scenes.zh-CN.md#%s)。", id),
		}
	}
	run := fmt.Sprintf("`go test -v -run %s ./%s`", test, bugs)
	link := fmt.Sprintf("[%s](../%s/%[1]s)", file, folder)
	if lock := elsewhere[b.ID]; lock != "" {
		run = fmt.Sprintf("`go test -C docs/other-locks -v -run %s ./%s`", test, lock)
		link = fmt.Sprintf("[bugs_test.go](other-locks/%s/bugs_test.go)", lock)
	}
	return scenes.Text{En: run + " shows it: " + link + ";\n" + where.En, Zh: "重现：" + run + "，代码在 " + link + "。" + where.Zh}
}

// inDocs compares the diagrams of the bug's entry in both editions of the catalogue with
// what has happened.
func (b Bug) inDocs(t *testing.T, diagram language.Text) {
	t.Helper()
	if t.Failed() {
		return
	}
	for file, language := range map[string]language.Language{Page: language.English, pageZh: language.Chinese} {
		stage.CheckMermaid(t, diagram.In(language))
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
