// Package counterexample judges the answers to exercise 11, break this lock. An answer is a
// link of the lab, with a schedule in which the lock of a listing does harm.
package counterexample

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// File is the file with the answers.
const File = "answers.txt"

const (
	maxLink    = 16 << 10 // bytes; the longest schedule that the lab shows has half of that
	maxChoices = 400      // more than a schedule in the lab can have
	maxShown   = 60       // bytes of a student's text in a message
)

// Read reads the answers, by number. A line is a number, a colon and a link. Empty lines and
// comments, which begin with a # and a blank, are skipped.
func Read(text []byte) (map[int]string, error) {
	answers := make(map[int]string)
	for i, line := range bytes.Split(text, []byte("\n")) {
		line := strings.TrimSpace(string(line))
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors on Windows begin a file with it
		}
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		before, link, ok := strings.Cut(line, ":")
		number, err := strconv.Atoi(strings.TrimSpace(before))
		if !ok || err != nil || number < 1 || number > len(locks.Tasks) {
			return nil, i18n.Errorf("%s, line %d: %s is not an answer: write the number of the listing, from 1 to %d, a colon and the link, all in one line", "%s 第 %d 行：%s 不是答案：请在同一行里写代码的编号（1 到 %d）、一个冒号和链接", File, i+1, shortened(line), len(locks.Tasks))
		}
		if _, twice := answers[number]; twice {
			return nil, i18n.Errorf("%s, line %d: there is an answer %d already: take one of them away", "%s 第 %d 行：已经有答案 %d：请去掉其中一个", File, i+1, number)
		}
		answers[number] = strings.TrimSpace(link)
	}
	return answers, nil
}

// shortened returns the beginning of a text, quoted.
func shortened(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return strconv.Quote(text)
}

// labKeys are the keys that the lab writes into a link.
var labKeys = []string{"lock", "n", "shared", "latency", "seed", "do", "vs", "mode", "kinds", "faults", "packets",
	"choices", "t", "lang", "speed",
	"play", "panel"}

// openCommand opens the listing of a task in the lab.
func openCommand(task locks.Task) string { return "go run ./cmd/lab -open -scene " + task.Lock.Name }

// parse reads the link that is the answer to a task. Its errors say what the student is to do.
func parse(task locks.Task, link string) (a locks.Address, err error) {
	if link == "" {
		return a, i18n.Errorf(`answer %d is not written yet: open the listing with %s, choose what happens until the lab says "Goal reached", press "Copy link" and paste the link behind "%d:"`, "答案 %d 还没有写：请用 %s 打开这段代码，选择接下来发生什么，直到实验室显示“目标达成”，按“复制链接”，把链接粘贴到“%d:”后面", task.Number, openCommand(task), task.Number)
	}
	if len(link) > maxLink {
		return a, i18n.Errorf("this link has %d bytes, more than any of the lab: copy it again", "这个链接有 %d 字节，实验室的链接没有这么长：请重新复制", len(link))
	}
	_, fragment, ok := strings.Cut(link, "#")
	if !ok {
		return a, i18n.Errorf(`%s is not a link of the lab, which has a # in it: press "Copy link" in the lab and paste all of it`, "%s 不是实验室的链接，那里面有一个 #：请在实验室里按“复制链接”，完整地粘贴", shortened(link))
	}
	if strings.ContainsAny(fragment, " \t#") {
		return a, i18n.Errorf("this link has a blank or a second # in it: paste one link, and nothing behind it", "这个链接里有空格，或者有第二个 #：请只粘贴一个链接，后面什么都不要加")
	}
	for pair := range strings.SplitSeq(fragment, "&") {
		if key, _, _ := strings.Cut(pair, "="); !slices.Contains(labKeys, key) {
			return a, i18n.Errorf("the link has %s, which the lab does not write: copy the link again", "链接里有 %s，实验室不会这样写：请重新复制链接", shortened(key))
		}
	}
	if strings.Count("&"+fragment, "&lock=") != 1 || strings.Count(fragment, "&choices=") > 1 {
		return a, i18n.Errorf("the link must say once which lock it is of, and once what the choices are: copy it again", "链接里应当恰好各有一次锁的名字和选择的列表：请重新复制")
	}
	if a, err = locks.ParseAddress("#" + fragment); err != nil {
		return a, i18n.Errorf("the link cannot be read (%s): copy it again", "链接读不懂（%s）：请重新复制", inOneLine(i18n.TextOf(err)))
	}
	return a, checkTask(a, task)
}

// checkTask compares what the lab would play with the task: the lock, the world, and that the
// schedule is chosen by the student. Its errors say what the student is to do.
func checkTask(a locks.Address, task locks.Task) error {
	w, want, open := task.Lock.World, task.Lock.Name, openCommand(task)
	var shared i18n.Text
	if a.Shared {
		shared = i18n.Textf(" in one session", "（在同一个会话里）")
	}
	slices.Sort(a.Kinds)
	switch {
	case len(a.Locks) > 1:
		return i18n.Errorf("the link is of two locks beside each other: open the listing with %s", "链接里并排着两个锁：请用 %s 打开代码", open)
	case a.Lock != want:
		return i18n.Errorf("the link is of the lock %q, and answer %d is about %q: open it with %s", "链接里是锁 %q，而答案 %d 要的是 %q：请用 %s 打开", a.Lock, task.Number, want, open)
	case a.Mode == "find":
		return i18n.Errorf(`the link opens the search, and has no choices in it: press "You are the scheduler", make the choices that the search has listed, and copy the link then`, "这个链接打开的是搜索，里面没有选择：请按“由你调度”，照搜索列出的逐一选择，再复制链接")
	case a.Mode != "schedule" || len(a.Changes) > 0:
		return i18n.Errorf(`the link is of a run in which packets arrive by the clock: press "You are the scheduler" and choose what happens`, "链接里的这次运行，数据包按时钟到达：请按“由你调度”，由你选择发生什么")
	case a.Contenders != w.Contenders || a.Shared:
		return i18n.Errorf("the link has %d contenders%s, and answer %d has %d with a session each: open the listing with %s, which sets all of this", "链接里有 %d 个竞争者%s，而答案 %d 要 %d 个，各有自己的会话：请用 %s 打开代码，这些都会设好", a.Contenders, shared, task.Number, w.Contenders, open)
	case a.Packets:
		return i18n.Errorf("the link is of a world in which replies and events wait, too, and answer %d is not: open the listing with %s, which sets all of this", "链接里响应和事件也要排队等候选择，答案 %d 则不然：请用 %s 打开代码，这些都会设好", task.Number, open)
	case !slices.Equal(a.Kinds, w.Kinds) || len(w.Kinds) > 0 && a.Faults != w.Faults:
		return i18n.Errorf("the link is of a world with %s, and answer %d of one with %s: open the listing with %s, which sets all of this", "链接里有%s，而答案 %d 里有%s：请用 %s 打开代码，这些都会设好", faults(a.Kinds, a.Faults), task.Number, faults(w.Kinds, w.Faults), open)
	case len(a.Choices) > maxChoices:
		return i18n.Errorf("the link has %d choices, and no schedule of the lab has more than %d: copy it again", "链接里有 %d 次选择，而实验室的调度最多 %d 次：请重新复制", len(a.Choices), maxChoices)
	}
	return nil
}

// faults says what may go wrong, such as 1 fault ("expire").
func faults(kinds []player.Fault, n int) i18n.Text {
	if len(kinds) == 0 || n == 0 {
		return i18n.Textf("no fault", "0 个故障")
	}
	var names []string
	for _, k := range kinds[:min(len(kinds), 3)] {
		names = append(names, shortened(string(k)))
	}
	if len(kinds) > 3 {
		names = append(names, "…")
	}
	if n == 1 {
		return i18n.Textf("1 fault (%s)", "1 个故障（%s）", i18n.List(names))
	}
	return i18n.Textf("%d faults (%s)", "%d 个故障（%s）", n, i18n.List(names))
}

// Open returns the address in the lab of a student's link, from the # on. It is read and written
// again, so that nothing else is in it. It is "" if the link has no schedule.
func Open(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	if len(link) > maxLink {
		return ""
	}
	a, err := locks.ParseAddress("#" + fragment)
	if err != nil || a.Mode != "schedule" || len(a.Changes) > 0 || len(a.Choices) == 0 {
		return ""
	}
	for i, k := range a.Kinds {
		a.Kinds[i] = player.Fault(url.QueryEscape(strings.ReplaceAll(string(k), " ", "-")))
	}
	a.Extra = nil
	return a.String()
}
