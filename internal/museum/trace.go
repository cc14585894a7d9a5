package museum

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/explore"
)

// Draw returns a trace of the explorer as a mermaid sequence diagram. A
// request and its reply are one arrow, drawn where the server carries the
// request out, unless the reply is lost or comes in a later action.
func Draw(tr *explore.Trace) string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	var actors []string
	for _, e := range tr.Log {
		if e.Who != "" && !slices.Contains(actors, e.Who) {
			actors = append(actors, e.Who)
		}
	}
	slices.Sort(actors)
	for i, a := range actors {
		fmt.Fprintf(&b, "    participant %s as client %s\n", a, a)
		if i == 0 {
			b.WriteString("    participant S as ZooKeeper\n")
		}
	}
	for i, e := range tr.Log {
		what := strings.TrimSpace(e.Op + " " + short(e.Path))
		switch e.Kind {
		case "carried out":
			reply := slices.IndexFunc(tr.Log[i:], func(r explore.Entry) bool {
				return r.Kind == "reply" && r.Who == e.Who && r.Point == e.Point
			})
			if reply >= 0 {
				what += result(tr.Log[i+reply])
			}
			fmt.Fprintf(&b, "    %s->>S: %s\n", e.Who, what)
		case "reply":
			if !slices.ContainsFunc(tr.Log[:i], func(r explore.Entry) bool {
				return r.Kind == "carried out" && r.Who == e.Who && r.Point == e.Point
			}) {
				fmt.Fprintf(&b, "    S-->>%s: %s%s\n", e.Who, what, cmp.Or(result(e), ": done"))
			}
		case "event":
			fmt.Fprintf(&b, "    S-)%s: event: %s %s\n", e.Who, short(e.Path), e.Op)
		case "lost":
			fmt.Fprintf(&b, "    Note over %s: %s: %s\n", e.Who, what, plain(e.Text))
		case "note":
			fmt.Fprintf(&b, "    Note over %s: %s\n", cmp.Or(e.Who, "S"), plain(e.Text))
		}
	}
	return b.String()
}

func result(e explore.Entry) string {
	switch {
	case e.Err != "":
		return ": " + e.Err
	case e.Made != "":
		return ": " + short(e.Made)
	case len(e.Names) > 0:
		var names []string
		for _, n := range e.Names {
			names = append(names, short(n))
		}
		return ": " + strings.Join(names, ", ")
	}
	return ""
}

var special = regexp.MustCompile(`[;#{}<>%]|\bend\b`)

// plain leaves out characters that have a meaning in mermaid.
func plain(text string) string {
	return strings.ReplaceAll(special.ReplaceAllString(text, ""), ": ", ", ")
}
