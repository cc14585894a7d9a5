package bugs

import (
	"fmt"
	"strings"
	"testing"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
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

// inDocs compares the bug's entry in both editions of the catalogue with what has happened.
func (b Bug) inDocs(t *testing.T, drawn *diagram.Sequence) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		mermaid, err := drawn.Mermaid(lang)
		if err != nil {
			t.Fatal(err)
		}
		site.Holds(t, lang.Page("docs/bugs.md"), b.ID, b.shown().In(lang)+"\n\n```mermaid\n"+mermaid+"```\n")
	}
}
