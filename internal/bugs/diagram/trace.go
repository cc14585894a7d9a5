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

// Of returns the sequence of a trace of the explorer, in the words of the bug museum. A request and its reply are one
// arrow, drawn where the server carries the request out, unless the reply comes in a later action.
func Of(tr *player.Trace) *Sequence {
	var clients, holders []string
	var steps []Step
	arrived := make(map[Packet]int) // how many packets, by client and kind
	for i, e := range tr.Log {
		if e.Who != "" && e.Who != "server" && !slices.Contains(clients, e.Who) {
			clients = append(clients, e.Who)
		}
		switch e.Text.En {
		case "holds the lock":
			holders = append(holders, e.Who)
		case "unlocks":
			holders = slices.DeleteFunc(holders, func(who string) bool { return who == e.Who })
		}

		packet := Packet{Client: e.Who, Kind: e.Kind}
		if e.Kind == "carried out" {
			packet.Kind = "request"
		}
		arrived[packet]++
		packet.N = arrived[packet]

		step := packetStep(tr.Log, i)
		if e.Kind == "note" {
			step = noteStep(e, holders, steps)
		}
		if step.Arrow() {
			step.Packet = packet
		}
		if step.Text.En != "" {
			steps = append(steps, step)
		}
	}
	slices.Sort(clients)
	return New(clients, i18n.Textf("server", "服务器"), cutRepeats(steps))
}

const maxRepeated = 6 // steps of which a repetition may consist

// cutRepeats puts a note in the place of what repeats itself after the third time.
func cutRepeats(steps []Step) (cut []Step) {
	for i := 0; i < len(steps); i++ {
		cut = append(cut, steps[i])
		for n := 1; n <= maxRepeated && 3*n <= i+1; n++ { // do the last n steps repeat themselves?
			start, end := i+1-3*n, i+1
			for end < len(steps) && steps[end].like(steps[end-n]) {
				end++
			}
			if more := end - i - 1; more > 1 && slices.EqualFunc(steps[start:start+2*n], steps[start+n:i+1], Step.like) {
				cut = append(cut, Note(i18n.Textf("… %d more", "……还有 %d 条", more), steps[start].From))
				i = end - 1
				break
			}
		}
	}
	return cut
}

// packetStep returns the step of an entry about a packet. The step has no text if nothing is drawn for the entry.
func packetStep(log []player.Entry, i int) Step {
	e := log[i]
	if e.Op == jute.OpCloseSession.String() { // the client library sends it
		return Step{}
	}
	sameRequest := func(kind string) func(other player.Entry) bool {
		return func(other player.Entry) bool {
			return other.Kind == kind && other.Who == e.Who && other.Point == e.Point && other.Op == e.Op
		}
	}
	switch e.Kind {
	case "carried out":
		answered := e
		if later := slices.IndexFunc(log[i:], sameRequest("reply")); later >= 0 {
			answered = log[i+later]
		}
		return Request(e.Who, requestText(answered, answerText(answered)))
	case "reply":
		if !slices.ContainsFunc(log[:i], sameRequest("carried out")) {
			answer := cmp.Or(answerText(e), i18n.Text{En: ": done", Zh: "：完成"})
			return Step{Kind: "-->>", From: "S", To: e.Who, Text: requestText(e, answer)}
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

// requestText is a request, the node that it is about, and its answer.
func requestText(e player.Entry, answer i18n.Text) i18n.Text {
	what := strings.TrimSpace(strings.TrimSuffix(e.Op, "2") + " " + scenes.Short(cmp.Or(e.Made, e.Path)))
	if e.Watch {
		return i18n.Text{En: what + " and watch" + answer.En, Zh: what + " 并监听" + answer.Zh}
	}
	return i18n.Text{En: what + answer.En, Zh: what + answer.Zh}
}

// answerText says which error a reply has; it is empty if the reply has none.
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

// museumWords has the words of the museum for a note whose explorer's words begin like this.
var museumWords = map[string]i18n.Text{
	string(player.Hang):     {En: "waits forever", Zh: "永远等下去"},
	string(player.Endless):  {En: "and so on", Zh: "如此反复"},
	string(player.Crash):    {En: "panics", Zh: "panic"},
	"panics":                {En: "panics", Zh: "panic"},
	"gets an error":         {En: "lock fails", Zh: "加锁失败"},
	"the connection breaks": {En: "loses its connection", Zh: "连接断开"},
	"unlocks":               {}, "has unlocked": {}, // the request says that
}

var (
	saysFailure = regexp.MustCompile(`^(.*: )?(lock fails|finds the lock held)$`)
	secondsOver = regexp.MustCompile(`(\d)\.0\d+s`) // whole seconds, and a moment
)

// noteStep returns the step of a note that follows the steps before it; it has no text if the
// note is not drawn. Holders are the clients that hold the lock, or go on as if they do.
func noteStep(e player.Entry, holders []string, before []Step) Step {
	full := i18n.Text{En: strings.TrimPrefix(e.Text.En, "known: "), Zh: strings.TrimPrefix(e.Text.Zh, "出现已知问题：")}
	var head, details i18n.Text // before the first colon, and behind it
	head.En, details.En, _ = strings.Cut(full.En, ": ")
	head.Zh, details.Zh, _ = strings.Cut(full.Zh, "：")
	var last Step
	if len(before) > 0 {
		last = before[len(before)-1]
	}

	over, text := []string{cmp.Or(strings.TrimPrefix(e.Who, "server"), "S")}, head
	kind := player.Kind(head.En)
	if slices.Contains(player.Kinds, kind) {
		full = details
	}
	words, known := museumWords[head.En]
	switch {
	case kind == player.TwoHolders || kind == player.Outlived:
		over, text = slices.Sorted(slices.Values(holders)), player.TwoHolders.Text()
	case kind == player.Failure && saysFailure.MatchString(last.Text.En):
		return Step{}
	case kind == player.Hang && !strings.HasSuffix(details.En, "nothing can happen any more"):
		text = details
	case known:
		text = words
	case !noMermaid.MatchString(full.En):
		text = i18n.Text{En: secondsOver.ReplaceAllString(full.En, "${1}s"), Zh: secondsOver.ReplaceAllString(full.Zh, "${1}s")}
	}
	text.En = strings.ReplaceAll(text.En, ";", ",")
	step := Note(text, over...)
	if step.like(last) {
		return Step{}
	}
	return step
}

func clientText(name string) i18n.Text { return i18n.Textf("client %s", "客户端 %s", name) }
