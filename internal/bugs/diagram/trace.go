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

// Of returns the sequence of a trace of the explorer, in the words of the bug museum. The entries of the log become steps:
//
//	A carried out create, A reply create    A ->> S: create lock-0       one arrow, where the request is carried out
//	A reply create, in a later action       S -->> A: create lock-0: done
//	note, two holders: A and B hold …       Note over A,B: two holders
func Of(tr *player.Trace) *Sequence {
	var clients, holders []string
	var steps []Step
	var last Step                   // of steps
	arrived := make(map[Packet]int) // how many packets so far, by client and kind: such a key has N 0
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
		if step.Text.String() == "" || e.Kind == "note" && step.like(last) {
			continue // nothing to draw, or the note is drawn already
		}
		steps, last = append(steps, step), step
	}
	slices.Sort(clients)
	return New(clients, "server", cutRepeats(steps))
}

// cutRepeats keeps three rounds of a loop, and replaces the steps after them by a note: abababababab is ababab … 6 more.
func cutRepeats(steps []Step) (cut []Step) {
	for i := 0; i < len(steps); i++ {
		cut = append(cut, steps[i])
		if n, more := repeatedAt(steps, i+1); more > 0 {
			cut = append(cut, Note(i18n.Textf("… %d more", more), steps[i+1-3*n].From))
			i += more
		}
	}
	return cut
}

// repeatedAt looks for a loop whose first three rounds end just before steps[at], and returns n, the number of steps in
// a round, and more, how many steps from steps[at] on go on with the loop. more is 0 if there is nothing to cut.
func repeatedAt(steps []Step, at int) (n, more int) {
	const longest = 6 // steps in a round
	for n = 1; n <= longest && 3*n <= at; n++ {
		first, second, third := steps[at-3*n:at-2*n], steps[at-2*n:at-n], steps[at-n:at]
		if !slices.EqualFunc(first, second, Step.like) || !slices.EqualFunc(second, third, Step.like) {
			continue
		}
		end := at
		for end < len(steps) && steps[end].like(steps[end-n]) {
			end++
		}
		if more = end - at; more > 1 { // a note in place of one step would save nothing
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
		op, client := strings.TrimSuffix(e.Op, "2"), i18n.Textf("client %s", e.Who)
		if e.Text.String() == "the reply is lost" {
			return Note(i18n.Textf("%s of %s is carried out, the reply is lost with the connection", op, client), "S")
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

var events = map[string]i18n.Text{
	jute.EventDataChanged.String():     "event: %s has new data",
	jute.EventChildrenChanged.String(): "event: %s has other children",
	jute.EventDeleted.String():         "event: %s is deleted",
	jute.EventCreated.String():         "event: %s is created",
}

// museumWords has the words of the museum for a note, by its text up to the first colon; "": the note is not drawn.
var museumWords = map[string]i18n.Text{
	string(player.Hang):    "waits forever",
	string(player.Endless): "and so on",
	string(player.Crash):   i18n.Both("panics", "panic"), "panics": i18n.Both("panics", "panic"),
	"gets an error":         "lock fails",
	"the connection breaks": "loses its connection",
	"unlocks":               "", "has unlocked": "", // the arrow of the delete shows the release
}

var (
	saysFailure = regexp.MustCompile(`^(.*: )?(lock fails|finds the lock held)$`)
	secondsOver = regexp.MustCompile(`(\d)\.0\d+s`) // whole seconds, and a moment
)

// noteStep returns the step of a note; no text: it is not drawn. holders hold the lock, or go on as if they do. The
// text of a violation begins with its kind: "two holders: A and B hold the lock at once".
func noteStep(e player.Entry, holders []string, last Step) Step {
	full := i18n.Both(strings.TrimPrefix(e.Text.String(), "known: "), strings.TrimPrefix(e.Text.In(i18n.Chinese), "出现已知问题："))
	head, details := cutAtColon(full)
	kind := player.Kind(head.String())
	if slices.Contains(player.Kinds, kind) { // the note is a violation
		full = details
	}

	over, text := []string{cmp.Or(strings.TrimPrefix(e.Who, "server"), "S")}, museumText(head, full)
	switch {
	case kind == player.TwoHolders || kind == player.Outlived:
		over, text = slices.Sorted(slices.Values(holders)), player.TwoHolders.Text()
	case kind == player.Failure && saysFailure.MatchString(last.Text.String()):
		return Step{} // the note before says it
	case kind == player.Hang && !strings.HasSuffix(details.String(), "nothing can happen any more"): // an unusual hang
		text = details
	}
	return Note(i18n.Both(strings.ReplaceAll(text.String(), ";", ","), text.In(i18n.Chinese)), over...)
}

// museumText is the museum's words for a note, if it has any, or the full text. Of a text that Mermaid would misread,
// it is the head alone.
func museumText(head, full i18n.Text) i18n.Text {
	if words, known := museumWords[head.String()]; known {
		return words
	}
	if noMermaid.MatchString(full.String()) {
		return head
	}
	wholeSeconds := func(s string) string { return secondsOver.ReplaceAllString(s, "${1}s") }
	return i18n.Both(wholeSeconds(full.String()), wholeSeconds(full.In(i18n.Chinese)))
}

// cutAtColon returns what is before the first colon of a text, and what is behind it.
func cutAtColon(text i18n.Text) (head, details i18n.Text) {
	headEn, detailsEn, _ := strings.Cut(text.String(), ": ")
	headZh, detailsZh, _ := strings.Cut(text.In(i18n.Chinese), "：")
	return i18n.Both(headEn, headZh), i18n.Both(detailsEn, detailsZh)
}
