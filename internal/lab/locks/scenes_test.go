package locks_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/lab/locks"
)

var update = flag.Bool("update", false, "write docs/scenes.md and docs/scenes.zh-CN.md again")

// An edition is the page of scenes in a language.
type edition struct {
	file, catalogue string // the page, and that of the bugs, as the page links it
	text            func(locks.Text) string
}

var (
	english = edition{"../../../docs/scenes.md", "bugs.md", func(t locks.Text) string { return t.En }}
	chinese = edition{"../../../docs/scenes.zh-CN.md", "bugs.zh-CN.md", func(t locks.Text) string { return t.Zh }}
)

// words are the page's own.
var words = map[string]locks.Text{
	"colon": {En: ": ", Zh: "："}, "stop": {En: ".", Zh: "。"}, "space": {En: " "},
	"steps": {En: "The steps", Zh: "各步骤"}, "bugs": {En: "The articles' bugs", Zh: "文章里的 bug"}, "exercise": {En: "Exercise 11", Zh: "练习 11"},
	"without": {En: "Bugs without a scene", Zh: "没有场景的 bug"}, "opening": {En: "The opening scene", Zh: "打开时的场景"},
	"opening.text": {
		En: "Step 2 beside step 3: the herd and the chain, with the times of [a measured server](benchmark.md#where-the-labs-server-has-its-times-from).",
		Zh: "第 2 步与第 3 步对照：惊群与链条，耗时取自[实测的服务器](benchmark.zh-CN.md#实验室的服务器的时间从何而来)。",
	},
	"beside": {En: "“%s” beside “%s”. The opening leads to it.", Zh: "“%s”与“%s”对照。打开时的场景可以一路走到这里。"},
	"exercise.text": {
		En: "Here the listing is at its beginning, and the schedule is [the exercise](exercises/_11-break-this-lock/README.md).",
		Zh: "这里的代码停在起点，要找的调度就是[练习](exercises/_11-break-this-lock/README.zh-CN.md)。",
	},
	"end": {En: "It ends with: ", Zh: "结局："}, "task": {En: "%s, `internal/bugs/listings/%s`. %s", Zh: "%s，`internal/bugs/listings/%s`。%s"},
	"because": {En: "There is no scene: ", Zh: "没有场景的原因："},
	"near":    {En: "Scene [%s](#%s) shows the same mistake on ZooKeeper.", Zh: "场景 [%s](#%s) 在 ZooKeeper 上展示了同样的错误。"},
}

func (e edition) say(word string) string { return e.text(words[word]) }

// capital begins a text with a capital letter, if its script has them.
func capital(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}

// page is what the edition has below the line that says how it is written: each
// scene with its command and its address, and how it ends.
func (e edition) page(t *testing.T) string {
	var b strings.Builder
	entry := func(heading, text, command, address string) {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n`go run ./cmd/lab -open%s`\n\n```\n%s\n```\n\n", heading, text, command, address)
	}
	section := func(heading string) { fmt.Fprintf(&b, "## %s\n\n", heading) }
	scene := func(name, text string) {
		l, err := locks.Find(name)
		require.NoError(t, err)
		entry(name, text, " -scene "+name, l.Open().String())
	}
	// link leads to a bug in the catalogue.
	link := func(id string) string {
		bug := scenes.Get(id)
		return fmt.Sprintf("[%s](%s#%s)%s%s%s", id, e.catalogue, scenes.Anchor(e.text(bug.Heading())), e.say("colon"), e.text(bug.Title), e.say("stop"))
	}
	section(e.say("steps"))
	entry(e.say("opening"), e.say("opening.text"), "", locks.Opening.String())
	for _, o := range locks.Openings[1:] {
		text := fmt.Sprintf(e.say("beside"), e.text(o.Titles[0]), e.text(o.Titles[1]))
		entry(strings.TrimSuffix(e.text(o.Name), " ›"), text, " -scene '"+o.String()+"'", o.String())
	}
	for _, l := range locks.All() {
		if l.Group == locks.Steps {
			scene(l.Name, strings.TrimSuffix(e.text(l.Title), e.say("stop"))+e.say("stop"))
		}
	}
	section(e.say("bugs"))
	schedules := scenes.Schedules()
	for _, s := range scenes.All {
		text := link(s.ID) + e.say("space")
		if s.Substitute.En != "" {
			text += e.text(s.Substitute) + e.say("space")
		}
		scene(s.ID, text+e.say("end")+"*"+e.text(schedules[s.ID].Violation)+"*"+e.say("stop"))
	}
	section(e.say("exercise"))
	b.WriteString(e.say("exercise.text") + "\n\n")
	for _, task := range locks.Tasks {
		_, what, _ := strings.Cut(e.text(task.Lock.Title), e.say("colon"))
		scene(task.Lock.Name, fmt.Sprintf(e.say("task"), capital(what), task.Source, e.text(task.Lock.Goal.Text)))
	}
	section(e.say("without"))
	for _, bug := range scenes.Bugs {
		n, near := bug.NoScene, ""
		if n == nil {
			continue
		}
		if n.Near != "" {
			near = e.say("space") + fmt.Sprintf(e.say("near"), n.Near, strings.ToLower(n.Near))
		}
		fmt.Fprintf(&b, "### %s\n\n%s%s%s%s%s%s\n\n", bug.ID, link(bug.ID), e.say("space"), e.say("because"), e.text(n.Why), e.say("stop"), near)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const below = "<!-- written by go test ./internal/lab/locks -update -->\n\n"

// generated is that part of the page, which it compares, or writes with -update.
func generated(t *testing.T, e edition) string {
	t.Helper()
	text, err := os.ReadFile(e.file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), below)
	require.True(t, ok)
	want := e.page(t)
	require.True(t, utf8.ValidString(want))
	if *update {
		require.NoError(t, os.WriteFile(e.file, []byte(head+below+want), 0o644))
		return want
	}
	there := strings.Split(rest, "\n")
	for i, line := range strings.Split(want, "\n") { // and not the whole page
		require.Equal(t, line, there[min(i, len(there)-1)], "%s is stale: go generate ./...", e.file)
	}
	require.Len(t, rest, len(want), "%s is stale: go generate ./...", e.file)
	return rest
}
