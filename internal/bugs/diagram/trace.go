package diagram

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// Of returns the sequence of a trace of the explorer, in the words of the museum's own. A request and its reply
// are one arrow, drawn where the server carries the request out, unless the reply comes in a later action.
func Of(tr *player.Trace) *Sequence {
	var actors, holders []string
	var lines []Step
	arrived := make(map[Packet]int)
	for i, e := range tr.Log {
		if e.Who != "" && e.Who != "server" && !slices.Contains(actors, e.Who) {
			actors = append(actors, e.Who)
		}
		switch e.Text.En {
		case "holds the lock":
			holders = append(holders, e.Who)
		case "unlocks":
			holders = slices.DeleteFunc(holders, func(who string) bool { return who == e.Who })
		}
		line := lineOf(tr.Log, i)
		if e.Kind == "note" {
			line = noteOf(e, holders, lines)
		}
		packet := Packet{Client: e.Who, Kind: e.Kind}
		if e.Kind == "carried out" {
			packet.Kind = "request"
		}
		arrived[packet]++
		packet.N = arrived[packet]
		if line.Text.En != "" {
			if strings.HasPrefix(line.Kind, "-") {
				line.Packet = packet
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(actors)
	return New(actors, i18n.Textf("server", "服务器"), cutRepeats(lines))
}

const longest = 6 // lines of which a repetition may consist

// cutRepeats cuts what repeats itself after the third time.
func cutRepeats(lines []Step) (cut []Step) {
	for i := 0; i < len(lines); i++ {
		cut = append(cut, lines[i])
		for n := 1; n <= longest && 3*n <= i+1; n++ {
			start, end := i+1-3*n, i+1
			for end < len(lines) && lines[end].like(lines[end-n]) {
				end++
			}
			if more := end - i - 1; more > 1 && slices.EqualFunc(lines[start:start+2*n], lines[start+n:i+1], Step.like) {
				cut = append(cut, Note(i18n.Textf("… %d more", "……还有 %d 条", more), lines[start].From))
				i = end - 1
				break
			}
		}
	}
	return cut
}

// lineOf is the line of an entry of a log, without a text if it has none.
func lineOf(log []player.Entry, i int) Step {
	e := log[i]
	if e.Op == jute.OpCloseSession.String() { // the client library sends it
		return Step{}
	}
	other := func(kind string) func(o player.Entry) bool { // of the same request
		return func(o player.Entry) bool {
			return o.Kind == kind && o.Who == e.Who && o.Point == e.Point && o.Op == e.Op
		}
	}
	says := func(e player.Entry, suffix i18n.Text) i18n.Text {
		watch := map[bool]i18n.Text{true: {En: " and watch", Zh: " 并监听"}}[e.Watch]
		return i18n.Join([]i18n.Text{i18n.Same(requestText(e)), watch, suffix}, "")
	}
	switch e.Kind {
	case "carried out":
		if reply := slices.IndexFunc(log[i:], other("reply")); reply >= 0 {
			e = log[i+reply]
		}
		return Request(e.Who, says(e, answerText(e)))
	case "reply":
		if !slices.ContainsFunc(log[:i], other("carried out")) {
			return Step{Kind: "-->>", From: "S", To: e.Who, Text: says(e, cmp.Or(answerText(e), i18n.Text{En: ": done", Zh: "：完成"}))}
		}
	case "event":
		return Step{Kind: "-)", From: "S", To: e.Who, Text: i18n.Textf(events[e.Op].En, events[e.Op].Zh, scenes.Short(e.Path))}
	case "lost":
		op := strings.TrimSuffix(e.Op, "2")
		if e.Text.En == "the reply is lost" {
			return Note(i18n.Textf("%s of %s is carried out, the reply is lost with the connection",
				"%[2]s 的 %[1]s 已经执行，连接断开，响应丢失", op, clientText(e.Who)), "S")
		}
		return Note(i18n.Textf("%s of client %s is lost with the connection", "连接断开，客户端 %[2]s 的 %[1]s 丢失", op, e.Who), "S")
	}
	return Step{}
}

// requestText is a request with the node that it is about.
func requestText(e player.Entry) string {
	return strings.TrimSpace(strings.TrimSuffix(e.Op, "2") + " " + scenes.Short(cmp.Or(e.Made, e.Path)))
}

// answerText says which error a reply has.
func answerText(e player.Entry) i18n.Text {
	if text, known := answers[e.Err]; known {
		return text
	}
	return i18n.Text{En: ": error", Zh: "：错误"}
}

var answers = map[string]i18n.Text{
	"":                              {},
	player.Code(jute.ErrNoNode):     {En: ": no node", Zh: "：节点不存在"},
	player.Code(jute.ErrNodeExists): {En: ": node exists", Zh: "：节点已存在"},
	player.Code(jute.ErrNoAuth):     {En: ": no permission", Zh: "：没有权限"},
}

// events say what an event of a node is about.
var events = map[string]i18n.Text{
	jute.EventDataChanged.String():     {En: "event: %s has new data", Zh: "事件：%s 有新数据"},
	jute.EventChildrenChanged.String(): {En: "event: %s has other children", Zh: "事件：%s 的子节点有变化"},
	jute.EventDeleted.String():         {En: "event: %s is deleted", Zh: "事件：%s 已删除"},
	jute.EventCreated.String():         {En: "event: %s is created", Zh: "事件：%s 已创建"},
}

var crash = i18n.Textf("panics", "panic")

// museumWords are the museum's for what the explorer says in others.
var museumWords = map[string]i18n.Text{
	string(player.Hang): i18n.Textf("waits forever", "永远等下去"), string(player.Endless): i18n.Textf("and so on", "如此反复"),
	string(player.Crash): crash, "panics": crash, "gets an error": i18n.Textf("lock fails", "加锁失败"),
	"the connection breaks": i18n.Textf("loses its connection", "连接断开"),
	"unlocks":               {}, "has unlocked": {}, // its request says that
}

var (
	refused = regexp.MustCompile(`^(.*: )?(lock fails|finds the lock held)$`)
	moment  = regexp.MustCompile(`(\d)\.0\d+s`) // a moment more than whole seconds
)

// noteOf is the line of a note behind lines. Holders are the clients that hold the lock, or
// go on as if they do.
func noteOf(e player.Entry, holders []string, lines []Step) Step {
	over := []string{cmp.Or(strings.TrimPrefix(e.Who, "server"), "S")}
	full := i18n.Text{En: strings.TrimPrefix(e.Text.En, "known: "), Zh: strings.TrimPrefix(e.Text.Zh, "出现已知问题：")}
	var text, what i18n.Text
	text.En, what.En, _ = strings.Cut(full.En, ": ")
	text.Zh, what.Zh, _ = strings.Cut(full.Zh, "：")
	switch kind := player.Kind(text.En); {
	case kind == player.TwoHolders || kind == player.Outlived:
		over, text = slices.Sorted(slices.Values(holders)), player.TwoHolders.Text()
	case kind == player.Failure && len(lines) > 0 && refused.MatchString(lines[len(lines)-1].Text.En):
		return Step{}
	case kind == player.Hang && !strings.HasSuffix(what.En, "nothing can happen any more"):
		text = what
	default:
		if slices.Contains(player.Kinds, kind) {
			full = what
		}
		if word, known := museumWords[text.En]; known {
			text = word
		} else if !noMermaid.MatchString(full.En) {
			text = i18n.Text{En: moment.ReplaceAllString(full.En, "${1}s"), Zh: moment.ReplaceAllString(full.Zh, "${1}s")}
		}
	}
	text.En = strings.ReplaceAll(text.En, ";", ",")
	if text.En == "" {
		return Step{}
	}
	line := Note(text, over...)
	if len(lines) > 0 && lines[len(lines)-1].like(line) {
		return Step{}
	}
	return line
}

func clientText(name string) i18n.Text { return i18n.Textf("client %s", "客户端 %s", name) }
