package locks_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/museum/scenes"
)

var update = flag.Bool("update", false, "write docs/lab/scenes.md and docs/lab/scenes.zh-CN.md again")

// An edition is the page of scenes in a language.
type edition struct {
	file      string
	catalogue string // of the bugs, as the page links it
	text      func(locks.Text) string

	colon, stop, space              string // marks
	steps, bugs, exercise, without  string // headings
	opening, openingText            string
	besideZklock, besideZklockText  string
	memory, memoryText              string
	exerciseText                    string
	end, task, withoutBecause, near string // formats
}

var english = edition{
	file: "../scenes.md", catalogue: "../bugs.md",
	text: func(t locks.Text) string { return t.En },

	colon: ": ", stop: ".", space: " ",
	steps: "The steps", bugs: "The articles' bugs", exercise: "Exercise 12", without: "Bugs without a scene",
	opening: "The opening scene", openingText: "Step 2 beside step 3: the herd and the chain, with the times of [a measured server](../benchmark.md#where-the-labs-server-has-its-times-from).",
	besideZklock: "Step 5 beside zklock",
	besideZklockText: "A process for each contender. In zklock the next holder has checked beforehand that nobody else is before it: it " +
		"holds the lock once the event arrives.",
	memory: "A hand-over in memory",
	memoryText: "Six goroutines of one process. In step 5 each has a node. In zklock they share the Mutex's node, and five hold the lock " +
		"by it before 50 ms are over; the next node is on its way by then.",
	exerciseText:   "Here the listing is at its beginning, and the schedule is [the exercise](../exercises/_12-break-this-lock/README.md).",
	end:            "It ends with: ",
	task:           "%s, `internal/museum/listings/%s`. %s",
	withoutBecause: "There is no scene: ",
	near:           "Scene [%s](#%s) shows the same mistake on ZooKeeper.",
}

var chinese = edition{
	file: "../scenes.zh-CN.md", catalogue: "../bugs.zh-CN.md",
	text: func(t locks.Text) string { return t.Zh },

	colon: "：", stop: "。", space: "",
	steps: "各步骤", bugs: "文章里的 bug", exercise: "练习 12", without: "没有场景的 bug",
	opening: "打开时的场景", openingText: "第 2 步与第 3 步对照：惊群与链条，耗时取自[实测的服务器](../benchmark.md#where-the-labs-server-has-its-times-from)。",
	besideZklock:     "第 5 步与 zklock 对照",
	besideZklockText: "每个竞争者是一个进程。在 zklock 里，下一个持有者事先就知道前面没有别人了，事件一到就持有锁。",
	memory:           "内存里的交接",
	memoryText: "一个进程里的六个 goroutine。在第 5 步里，它们各有一个节点。在 zklock 里，它们共用 Mutex 的节点，不到 50 ms，" +
		"就有五个先后凭它持有锁；这时，下一个节点已经在路上。",
	exerciseText:   "这里的代码停在起点，要找的调度就是[练习](" + twin("../exercises/_12-break-this-lock/README") + ")。",
	end:            "结局：",
	task:           "%s，`internal/museum/listings/%s`。%s",
	withoutBecause: "没有场景的原因：",
	near:           "场景 [%s](#%s) 在 ZooKeeper 上展示了同样的错误。",
}

// twin is the path of a page in Chinese, of the English one if there is no other.
func twin(page string) string {
	if _, err := os.Stat("../" + page + ".zh-CN.md"); err == nil {
		return page + ".zh-CN.md"
	}
	return page + ".md"
}

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
		fmt.Fprintf(&b, "### %s\n\n%s\n\n`go run ./docs/lab -open%s`\n\n```\n%s\n```\n\n", heading, text, command, address)
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
		return fmt.Sprintf("[%s](%s#%s)%s%s%s", id, e.catalogue, scenes.Anchor(e.text(bug.Heading())), e.colon, e.text(bug.Title), e.stop)
	}
	section(e.steps)
	entry(e.opening, e.openingText, "", locks.Opening.String())
	entry(e.besideZklock, e.besideZklockText, " -scene '#lock=timeout,zklock&n=6&latency=20&seed=1'", "#lock=timeout,zklock&n=6&latency=20&seed=1")
	entry(e.memory, e.memoryText, " -scene '#lock=timeout,zklock&n=6&shared=1&latency=2&seed=1'", "#lock=timeout,zklock&n=6&shared=1&latency=2&seed=1")
	for _, l := range locks.All() {
		if l.Group == locks.Steps {
			scene(l.Name, strings.TrimSuffix(e.text(l.Title), e.stop)+e.stop)
		}
	}
	section(e.bugs)
	schedules := scenes.Schedules()
	for _, s := range scenes.All {
		text := link(s.ID) + e.space
		if s.Substitute.En != "" {
			text += e.text(s.Substitute) + e.space
		}
		scene(s.ID, text+e.end+"*"+e.text(schedules[s.ID].Violation)+"*"+e.stop)
	}
	section(e.exercise)
	b.WriteString(e.exerciseText + "\n\n")
	for _, task := range locks.Tasks {
		_, what, _ := strings.Cut(e.text(task.Lock.Title), e.colon)
		scene(task.Lock.Name, fmt.Sprintf(e.task, capital(what), task.Source, e.text(task.Lock.Goal.Text)))
	}
	section(e.without)
	for _, bug := range scenes.Bugs {
		n, near := bug.NoScene, ""
		if n == nil {
			continue
		}
		if n.Near != "" {
			near = e.space + fmt.Sprintf(e.near, n.Near, strings.ToLower(n.Near))
		}
		fmt.Fprintf(&b, "### %s\n\n%s%s%s%s%s%s\n\n", bug.ID, link(bug.ID), e.space, e.withoutBecause, e.text(n.Why), e.stop, near)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const below = "<!-- written by go test ./docs/lab/locks -update -->\n\n"

var stamps = regexp.MustCompile(`(?m)^(#+ .*\n)(<!-- en:\w* -->\n)`)

// generated is that part of the page, which it compares, or writes with -update.
// The stamps of the Chinese page are another test's, and stay.
func generated(t *testing.T, e edition) string {
	t.Helper()
	text, err := os.ReadFile(e.file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), below)
	require.True(t, ok)
	want := e.page(t)
	require.True(t, utf8.ValidString(want))
	if *update {
		stamped := want
		for _, m := range stamps.FindAllStringSubmatch(rest, -1) {
			stamped = strings.Replace(stamped, m[1], m[1]+m[2], 1)
		}
		require.NoError(t, os.WriteFile(e.file, []byte(head+below+stamped), 0o644))
		return want
	}
	rest = stamps.ReplaceAllString(rest, "$1")
	there := strings.Split(rest, "\n")
	for i, line := range strings.Split(want, "\n") { // and not the whole page
		require.Equal(t, line, there[min(i, len(there)-1)], "%s is stale: go generate ./...", e.file)
	}
	require.Len(t, rest, len(want), "%s is stale: go generate ./...", e.file)
	return rest
}
