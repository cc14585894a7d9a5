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
	var last Step                   // of steps
	arrived := make(map[Packet]int) // how many packets, by client and kind
	for i, e := range tr.Log {
		if e.Who != "" && e.Who != "server" && !slices.Contains(clients, e.Who) {
			clients = append(clients, e.Who)
		}
		switch e.Text.String() {
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
			step = noteStep(e, holders, last)
		}
		if step.Arrow() {
			step.Packet = packet
		}
		if step.Text.String() != "" {
			steps, last = append(steps, step), step
		}
	}
	slices.Sort(clients)
	return New(clients, "server", cutRepeats(steps))
}

// cutRepeats replaces steps that repeat themselves by a note, from the fourth time on: abababababab is ababab … 6 more.
func cutRepeats(steps []Step) (cut []Step) {
	for i := 0; i < len(steps); i++ {
		cut = append(cut, steps[i])
		if n, more := repeatedAt(steps, i+1); more > 1 {
			cut = append(cut, Note(i18n.Textf("… %d more", more), steps[i+1-3*n].From))
			i += more
		}
	}
	return cut
}

// repeatedAt returns the length n of a piece that is there three times before steps[at], and how many steps from there
// on go on repeating it. more is 0 or 1 if there is nothing to cut.
func repeatedAt(steps []Step, at int) (n, more int) {
	const longest = 6 // steps in a piece
	for n = 1; n <= longest && 3*n <= at; n++ {
		end := at
		for end < len(steps) && steps[end].like(steps[end-n]) {
			end++
		}
		threeTimes := slices.EqualFunc(steps[at-3*n:at-n], steps[at-2*n:at], Step.like)
		if more = end - at; more > 1 && threeTimes {
			return n, more
		}
	}
	return 0, 0
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
			answer := cmp.Or(answerText(e), i18n.Text(": done"))
			return Step{Kind: "-->>", From: "S", To: e.Who, Text: requestText(e, answer)}
		}
	case "event":
		return Step{Kind: "-)", From: "S", To: e.Who, Text: i18n.Textf(events[e.Op].String(), scenes.Short(e.Path))}
	case "lost":
		op := strings.TrimSuffix(e.Op, "2")
		if e.Text.String() == "the reply is lost" {
			return Note(i18n.Textf("%s of %s is carried out, the reply is lost with the connection", op, clientText(e.Who)), "S")
		}
		return Note(i18n.Textf("%s of client %s is lost with the connection", op, e.Who), "S")
	}
	return Step{}
}

// requestText is a request, the node that it is about, and its answer.
func requestText(e player.Entry, answer i18n.Text) i18n.Text {
	what := strings.TrimSpace(strings.TrimSuffix(e.Op, "2") + " " + scenes.Short(cmp.Or(e.Made, e.Path)))
	if e.Watch {
		return i18n.Both(what+" and watch"+answer.String(), what+" 并监听"+answer.In(i18n.Chinese))
	}
	return i18n.Both(what+answer.String(), what+answer.In(i18n.Chinese))
}

// answerText says which error a reply has; it is empty if the reply has none.
func answerText(e player.Entry) i18n.Text {
	if text, known := answers[e.Err]; known {
		return text
	}
	return ": error"
}

var answers = map[string]i18n.Text{
	"":                              "",
	player.Code(jute.ErrNoNode):     ": no node",
	player.Code(jute.ErrNodeExists): ": node exists",
	player.Code(jute.ErrNoAuth):     ": no permission",
}

// events say what an event of a node is about.
var events = map[string]i18n.Text{
	jute.EventDataChanged.String():     "event: %s has new data",
	jute.EventChildrenChanged.String(): "event: %s has other children",
	jute.EventDeleted.String():         "event: %s is deleted",
	jute.EventCreated.String():         "event: %s is created",
}

// museumWords has the words of the museum for a note whose explorer's words begin like this; "": it is not drawn.
var museumWords = map[string]i18n.Text{
	string(player.Hang):    "waits forever",
	string(player.Endless): "and so on",
	string(player.Crash):   i18n.Both("panics", "panic"), "panics": i18n.Both("panics", "panic"),
	"gets an error":         "lock fails",
	"the connection breaks": "loses its connection",
	"unlocks":               "", "has unlocked": "", // the request says that
}

var (
	saysFailure = regexp.MustCompile(`^(.*: )?(lock fails|finds the lock held)$`)
	secondsOver = regexp.MustCompile(`(\d)\.0\d+s`) // whole seconds, and a moment
)

// noteStep returns the step of a note; no text: it is not drawn. holders hold the lock, or go on as if they do.
func noteStep(e player.Entry, holders []string, last Step) Step {
	full := i18n.Both(strings.TrimPrefix(e.Text.String(), "known: "), strings.TrimPrefix(e.Text.In(i18n.Chinese), "出现已知问题："))
	head, details := cutAtColon(full)
	kind := player.Kind(head.String()) // if the note is a violation
	if slices.Contains(player.Kinds, kind) {
		full = details
	}

	over, text := []string{cmp.Or(strings.TrimPrefix(e.Who, "server"), "S")}, head
	words, known := museumWords[head.String()]
	usualHang := strings.HasSuffix(details.String(), "nothing can happen any more") // which museumWords has
	switch {
	case kind == player.TwoHolders || kind == player.Outlived:
		over, text = slices.Sorted(slices.Values(holders)), player.TwoHolders.Text()
	case kind == player.Failure && saysFailure.MatchString(last.Text.String()):
		return Step{} // the note before says it
	case kind == player.Hang && !usualHang:
		text = details
	case known:
		text = words
	case !noMermaid.MatchString(full.String()):
		wholeSeconds := func(s string) string { return secondsOver.ReplaceAllString(s, "${1}s") }
		text = i18n.Both(wholeSeconds(full.String()), wholeSeconds(full.In(i18n.Chinese)))
	}
	text = i18n.Both(strings.ReplaceAll(text.String(), ";", ","), text.In(i18n.Chinese))
	step := Note(text, over...)
	if step.like(last) {
		return Step{}
	}
	return step
}

// cutAtColon returns what is before the first colon of a text, and what is behind it.
func cutAtColon(text i18n.Text) (head, details i18n.Text) {
	headEn, detailsEn, _ := strings.Cut(text.String(), ": ")
	headZh, detailsZh, _ := strings.Cut(text.In(i18n.Chinese), "：")
	return i18n.Both(headEn, headZh), i18n.Both(detailsEn, detailsZh)
}

func clientText(name string) i18n.Text { return i18n.Textf("client %s", name) }
