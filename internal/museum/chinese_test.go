package museum

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/stage"
)

// labels are what the diagrams say, and the same in Chinese. A hole takes what
// its kind allows, and the translation has the same holes.
var labels = [][2]string{
	{"client {who}", "客户端 {who}"},
	{"server", "服务器"},
	{"database", "数据库"},
	{"Redis", "Redis"},

	// Requests and events.
	{"{op} {node}", "{op} {node}"},
	{"{op} {node} and watch", "{op} {node} 并监听"},
	{"{op} {node}: node exists", "{op} {node}：节点已存在"},
	{"{op} {node}: no node", "{op} {node}：节点不存在"},
	{"{op} {node} and watch: no node", "{op} {node} 并监听：节点不存在"},
	{"{op} {node}: no permission", "{op} {node}：没有权限"},
	{"event: {node} is deleted", "事件：{node} 已删除"},
	{"event: {node} has other children", "事件：{node} 的子节点有变化"},
	{"{op} of client {who} is carried out, the reply is lost with the connection", "客户端 {who} 的 {op} 已经执行，连接断开，应答丢失"},
	{"{command}: {answer}", "{command}：{answer}"},
	{"insert into myLock: ok", "insert into myLock：成功"},
	{"insert into myLock: not unique", "insert into myLock：违反唯一约束"},
	{"delete from myLock: {n} row", "delete from myLock：{n} 行"},

	// What happens to a session, a client or the server.
	{"the session of client {who} has expired, and its nodes are deleted", "客户端 {who} 的会话已过期，它的节点已删除"},
	{"the session of client {who} expires, and its nodes are deleted", "客户端 {who} 的会话过期，它的节点随之删除"},
	{"{op} of client {who} is lost with the connection", "连接断开，客户端 {who} 的 {op} 丢失"},
	{"is cut off", "断线"},
	{"is cut off until its session has expired", "断线，直到会话过期"},
	{"is stopped, its session expires meanwhile", "停顿，会话在此期间过期"},
	{"runs on", "恢复运行"},
	{"is back", "重新连上"},
	{"loses its connection", "连接断开"},
	{"crashes", "崩溃"},
	{"{n} seconds later the key has expired", "{n} 秒后，键过期"},
	{"a year later", "一年以后"},
	{"nothing ever deletes the row", "再也没有谁来删除这一行"},

	// What a contender comes to.
	{"holds the lock", "持有锁"},
	{"holds the lock, and crashes", "持有锁，随后崩溃"},
	{"two holders", "两个持有者"},
	{"lock fails", "加锁失败"},
	{"panics", "panic"},
	{"waits forever", "永远等下去"},
	{"and so on", "如此反复"},
	{"… {n} more", "……还有 {n} 条"},
	{"does not get in, although nobody holds the lock", "锁没有持有者，它却拿不到"},
	{"locks again, without a request", "再次加锁，一个请求也没发"},

	// What a holder does with the resource.
	{"reads {n}", "读到 {n}"},
	{"reads {n}, and is paused", "读到 {n}，随后暂停"},
	{"reads {n}, adds one, writes {m}", "读到 {n}，加一，写入 {m}"},
	{"continues, adds one to what it has read, writes {n}", "恢复运行，在读到的数上加一，写入 {n}"},
	{"adds one to what it has read, writes {n}: one addition is lost", "在读到的数上加一，写入 {n}：有一次加一丢失了"},
	{"its unlock deletes nothing, but one addition is lost", "它的 unlock 什么也没删，但是有一次加一丢失了"},
}

var holes = map[string]string{
	"who":     `[A-Z]`,
	"op":      `create|delete|exists|getData|setData|getChildren`,
	"node":    `[^\s:]+`,
	"command": `(?:set|del|eval) [^:]+`, // of Redis
	"answer":  `OK|nil|true|false|\d+`,
	"n":       `\d+`,
	"m":       `\d+`,
}

// examples are the words that the test of labels puts in the holes.
var examples = map[string]string{
	"{who}": "A", "{op}": "create", "{node}": "lock-0", "{command}": "del key", "{answer}": "OK", "{n}": "7", "{m}": "8",
}

var hole = regexp.MustCompile(`\{(\w+)\}`)

// A phrase is a line of labels.
type phrase struct {
	en     string
	is     *regexp.Regexp
	become string
}

// compile makes a phrase of each label.
func compile(labels [][2]string) (list []phrase) {
	for _, l := range labels {
		pattern := regexp.QuoteMeta(l[0])
		for name, kind := range holes {
			pattern = strings.ReplaceAll(pattern, `\{`+name+`\}`, "(?P<"+name+">"+kind+")")
		}
		list = append(list, phrase{l[0], regexp.MustCompile("^" + pattern + "$"), hole.ReplaceAllString(l[1], "$${$1}")})
	}
	return list
}

var drawn = regexp.MustCompile(`(?m)^( +(?:participant \w+ as|Note over [\w,]+:|\w+-[->)]+\w+:)) (.*)$`)

// diagramInChinese translates the labels of a diagram. It returns those that
// labels lacks, and counts those that it has.
func diagramInChinese(diagram string, phrases []phrase, used map[string]int) (zh string, lacks []string) {
	zh = drawn.ReplaceAllStringFunc(diagram, func(line string) string {
		m := drawn.FindStringSubmatch(line)
		for _, p := range phrases {
			if p.is.MatchString(m[2]) {
				used[p.en]++
				return m[1] + " " + p.is.ReplaceAllString(m[2], p.become)
			}
		}
		lacks = append(lacks, m[2])
		return line
	})
	return zh, lacks
}

var effectsZh = map[scenes.Effect]string{
	scenes.Hang: "永远等待", scenes.TwoHolders: "两个持有者", scenes.Leak: "残留", scenes.Starvation: "饿死", scenes.Crash: "崩溃",
}

var chinese = edition{
	file: "../../docs/bugs.zh-CN.md", colon: "：", comma: "、", step: "## 第 ",
	text:   func(t scenes.Text) string { return t.Zh },
	effect: func(e scenes.Effect) string { return effectsZh[e] },
}

// notes are the explorer's own labels: what the traces of the scenes say, in both languages.
func notes(t *testing.T) (said [][2]string) {
	for _, s := range scenes.All {
		tr, _ := explore.Play(t, s.World, s.Trace().Choices)
		log, ends := tr.Log, []*explore.Violation{tr.Violation}
		if s.Play != nil {
			tr, _ = explore.Play(t, s.Play.In(s.World), s.Play.Choices)
			log, ends = append(log, tr.Log...), append(ends, tr.Violation)
		}
		for _, v := range ends {
			if v != nil {
				log = append(log, explore.Entry{Text: v.What})
			}
		}
		for _, e := range log {
			said = append(said, [2]string{moment.ReplaceAllString(e.Text.En, "${1}s"), moment.ReplaceAllString(e.Text.Zh, "${1}s")})
		}
	}
	return said
}

// drawnZh is what docs/bugs.zh-CN.md has where docs/bugs.md has the diagram of a bug.
func drawnZh(t require.TestingT, english, id string, phrases []phrase, used map[string]int) string {
	_, drawn, _, _ := cutDiagram(english, id)
	_, there, ok := strings.Cut(drawn, "```mermaid\n")
	require.True(t, ok, "docs/bugs.md has no diagram of %s", id)
	diagram, lacks := diagramInChinese(strings.TrimSuffix(there, "```\n"), phrases, used)
	require.Empty(t, lacks, "the diagram of %s in docs/bugs.md says this, and labels in chinese_test.go has no Chinese for it", id)
	stage.CheckMermaid(t, diagram)
	return fmt.Sprintf("<!-- %s -->\n%s\n\n```mermaid\n%s```\n", id, Exhibit(id).shown().Zh, diagram)
}

// The Chinese catalogue has the bugs of the English one in its order. What the
// bugs' entries say is on it in Chinese, and so are the diagrams.
func TestTheChineseCatalogueHasTheSameRuns(t *testing.T) {
	english, page := read(t, catalogue), read(t, chinese.file)
	want := chinese.written(t, page)
	phrases, used := append(compile(labels), compile(notes(t))...), make(map[string]int)
	for _, b := range scenes.Bugs {
		before, _, after, ok := cutDiagram(want, b.ID)
		require.True(t, ok, "docs/bugs.zh-CN.md needs an entry with the heading ### %s： and a line <!-- %[1]s --> in it: go generate ./... draws "+
			"the diagram below that", b.ID)
		want = before + drawnZh(t, english, b.ID, phrases, used) + after
	}
	chinese.compare(t, page, want)
	for _, s := range scenes.All {
		saved := s.Trace()
		require.NotNil(t, saved, "%s has no schedule: go generate ./...", s.ID)
		tr, _ := explore.Play(t, s.World, saved.Choices)
		diagram, lacks := diagramInChinese(Draw(tr), phrases, used)
		require.Empty(t, lacks, "the diagram of scene %s says this, and labels in chinese_test.go has no Chinese for it", s.ID)
		stage.CheckMermaid(t, diagram)
	}
	var unused []string
	for _, l := range labels {
		if used[l[0]] == 0 {
			unused = append(unused, l[0])
		}
	}
	require.Empty(t, unused, "no diagram says this any more: take it out of labels")
}

// A label has one translation, with the same holes and with Chinese punctuation;
// a diagram that says something else is found.
func TestEachLabelHasOneTranslation(t *testing.T) {
	seen := make(map[string]bool)
	for _, l := range labels {
		require.False(t, seen[l[0]], "%q is there twice", l[0])
		seen[l[0]] = true
		require.ElementsMatch(t, hole.FindAllString(l[0], -1), hole.FindAllString(l[1], -1), "the holes of %q", l[0])
		require.NotRegexp(t, `[,:]`, l[1], "use ，：")
		matched := 0
		example := hole.ReplaceAllStringFunc(l[0], func(h string) string { return examples[h] })
		for _, p := range compile(labels) {
			if p.is.MatchString(example) {
				matched++
			}
		}
		require.Equal(t, 1, matched, "lines of labels that match %q", example)
	}
	zh, lacks := diagramInChinese("sequenceDiagram\n    participant A as client A\n    A->>S: create lock: node exists\n    Note over A,B: two "+
		"holders\n    Note over A: sings\n    A->>S: create lock; delete lock\n",
		compile(labels), make(map[string]int))
	require.Equal(t, []string{"sings", "create lock; delete lock"}, lacks)
	require.Contains(t, zh, "    participant A as 客户端 A\n    A->>S: create lock：节点已存在\n    Note over A,B: 两个持有者\n")
}
