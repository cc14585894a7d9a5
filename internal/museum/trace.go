package museum

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/stage"
)

// Draw returns a trace of the explorer as a mermaid sequence diagram, in the words
// of the museum's own. A request and its reply are one arrow, drawn where the
// server carries the request out, unless the reply comes in a later action.
func Draw(tr *explore.Trace) string {
	var actors, lines, holders []string
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
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(actors)
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	all := strings.Join(lines, "\n")
	for i, a := range actors {
		if stage.TakesPart(a).MatchString(all) {
			fmt.Fprintf(&b, "    participant %s as client %s\n", a, a)
		}
		if i == 0 {
			b.WriteString("    participant S as server\n")
		}
	}
	for _, line := range cutRepeats(lines) {
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}

const longest = 6 // lines of which a repetition may consist

// cutRepeats cuts what repeats itself after the third time.
func cutRepeats(lines []string) (cut []string) {
	for i := 0; i < len(lines); i++ {
		cut = append(cut, lines[i])
		for n := 1; n <= longest && 3*n <= i+1; n++ {
			start, end := i+1-3*n, i+1
			for end < len(lines) && lines[end] == lines[end-n] {
				end++
			}
			if more := end - i - 1; more > 1 && slices.Equal(lines[start:start+2*n], lines[start+n:i+1]) {
				actor, _, _ := strings.Cut(lines[start], "-")
				cut = append(cut, fmt.Sprintf("Note over %s: … %d more", actor, more))
				i = end - 1
				break
			}
		}
	}
	return cut
}

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
		return "S-)" + e.Who + ": event: " + stage.Short(e.Path) + " " + cmp.Or(changes[e.Op], "is "+e.Op)
	case "lost":
		how := "is lost with the connection"
		if e.Text.En == "the reply is lost" {
			how = "is carried out, the reply is lost with the connection"
		}
		return fmt.Sprintf("Note over S: %s of client %s %s", strings.TrimSuffix(e.Op, "2"), e.Who, how)
	}
	return ""
}

// message is a request with the node that it is about.
func message(e explore.Entry) string {
	text := strings.TrimSpace(strings.TrimSuffix(e.Op, "2") + " " + stage.Short(cmp.Or(e.Made, e.Path)))
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
	jute.EventDataChanged.String():     stage.EventName(jute.EventDataChanged),
	jute.EventChildrenChanged.String(): stage.EventName(jute.EventChildrenChanged),
}

// words are the museum's for what the explorer says in others.
var words = map[string]string{
	string(explore.Hang): "waits forever", string(explore.Endless): "and so on", string(explore.Crash): "panics",
	"gets an error": "lock fails", "the connection breaks": "loses its connection",
	"unlocks": "", "has unlocked": "", // its request says that
}

var (
	refused = regexp.MustCompile(`: (lock fails|finds the lock held)$`)
	moment  = regexp.MustCompile(`(\d)\.0\d+s`) // a moment more than whole seconds
)

// noteOf is the line of a note behind lines. Holders are the clients that hold the lock, or
// go on as if they do.
func noteOf(e explore.Entry, holders, lines []string) string {
	over := cmp.Or(strings.TrimPrefix(e.Who, "server"), "S")
	text, what, _ := strings.Cut(strings.TrimPrefix(e.Text.En, "known: "), ": ")
	switch kind := explore.Kind(text); {
	case kind == explore.TwoHolders || kind == explore.Outlived:
		over, text = strings.Join(slices.Sorted(slices.Values(holders)), ","), "two holders"
	case kind == explore.Failure && len(lines) > 0 && refused.MatchString(lines[len(lines)-1]):
		return ""
	case kind == explore.Hang && !strings.HasSuffix(what, "nothing can happen any more"):
		text = what
	default:
		full := moment.ReplaceAllString(strings.TrimPrefix(e.Text.En, "known: "), "${1}s")
		if slices.Contains(explore.Kinds, kind) {
			_, full, _ = strings.Cut(full, ": ")
		}
		if word, known := words[text]; known {
			text = word
		} else if !stage.NoMermaid.MatchString(full) {
			text = full
		}
	}
	line := "Note over " + over + ": " + strings.ReplaceAll(text, ";", ",")
	if text == "" || len(lines) > 0 && lines[len(lines)-1] == line {
		return ""
	}
	return line
}
