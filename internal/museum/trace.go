package museum

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/jute"
)

// Draw returns a trace of the explorer as a mermaid sequence diagram, in the words
// of the museum's own. A request and its reply are one arrow, drawn where the
// server carries the request out, unless the reply comes in a later action.
func Draw(tr *explore.Trace) string {
	var actors, lines []string
	for i, e := range tr.Log {
		if e.Who != "" && e.Who != "server" && !slices.Contains(actors, e.Who) {
			actors = append(actors, e.Who)
		}
		if line := lineOf(tr.Log, i); line != "" {
			lines = append(lines, "    "+line+"\n")
		}
	}
	slices.Sort(actors)
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for i, a := range actors {
		fmt.Fprintf(&b, "    participant %s as client %s\n", a, a)
		if i == 0 {
			b.WriteString("    participant S as server\n")
		}
	}
	if len(lines) > longest { // it never ends
		lines = append(lines[:longest-1], lines[len(lines)-1])
	}
	b.WriteString(strings.Join(lines, ""))
	return b.String()
}

const longest = 40 // lines of a diagram

// lineOf is the line of an entry of a log, "" if it has none.
func lineOf(log []explore.Entry, i int) string {
	e := log[i]
	if e.Op == jute.OpCloseSession.String() { // the client library sends it
		return ""
	}
	find := func(kind string) int {
		return slices.IndexFunc(log, func(o explore.Entry) bool { return o.Kind == kind && o.Who == e.Who && o.Point == e.Point })
	}
	switch e.Kind {
	case "carried out":
		if reply := find("reply"); reply >= 0 {
			e = log[reply]
		}
		return e.Who + "->>S: " + message(e) + answer(e)
	case "reply":
		if find("carried out") < 0 {
			return "S-->>" + e.Who + ": " + message(e) + cmp.Or(answer(e), ": done")
		}
	case "event":
		return "S-)" + e.Who + ": event: " + short(e.Path) + " " + cmp.Or(changes[e.Op], "is "+e.Op)
	case "lost":
		how := "is lost with the connection"
		if e.Text == "the reply is lost" {
			how = "is carried out, the reply is lost with the connection"
		}
		return fmt.Sprintf("Note over S: %s of client %s %s", strings.TrimSuffix(e.Op, "2"), e.Who, how)
	case "note":
		if text := plain(e.Text); text != "unlocks" { // its request says that
			return "Note over " + cmp.Or(strings.TrimPrefix(e.Who, "server"), "S") + ": " + text
		}
	}
	return ""
}

// message is a request with the node that it is about.
func message(e explore.Entry) string {
	text := strings.TrimSpace(strings.TrimSuffix(e.Op, "2") + " " + short(cmp.Or(e.Made, e.Path)))
	if e.Watch {
		text += " and watch"
	}
	return text
}

func answer(e explore.Entry) string {
	switch e.Err {
	case "":
		return ""
	case fmt.Sprintf("error %d", jute.ErrNoAuth):
		return ": no permission"
	case "no node", "node exists":
		return ": " + e.Err
	}
	return ": error"
}

var changes = map[string]string{
	jute.EventDataChanged.String():     eventName(jute.EventDataChanged),
	jute.EventChildrenChanged.String(): eventName(jute.EventChildrenChanged),
}

// words are the museum's for what the explorer says in others.
var words = map[string]string{
	string(explore.Hang): "waits forever", string(explore.Endless): "and so on", string(explore.Crash): "panics",
	"gets an error": "lock fails", "the connection breaks": "loses its connection",
}

// plain is a note in a few words, which have Chinese, and without what mermaid takes
// for its own.
func plain(text string) string {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "known: "), ": ")
	text = strings.ReplaceAll(text, ";", ",")
	return cmp.Or(words[text], text)
}
