package stage

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// A note is in the diagram before the log's entry number at.
type note struct {
	at, scene int
	actor     string // the client whose thread has written it; "" for the play itself
	over      string // names, separated by commas
	text      string
}

// Note writes a note beside the server's line.
func (s *Stage) Note(format string, args ...any) { s.note("", "S", fmt.Sprintf(format, args...)) }

// Note writes a note beside the client's line.
func (c *Client) Note(format string, args ...any) {
	c.s.note("", c.Name, fmt.Sprintf(format, args...))
}

func (s *Stage) note(actor, over, text string) {
	n := len(s.tap.Log())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, note{n, len(s.marks), actor, over, text})
}

// Aside plays a part that is not drawn, such as repetitions.
func (s *Stage) Aside(f func()) {
	s.Settle()
	from, notes := len(s.tap.Log()), len(s.notes)
	f()
	s.Settle()
	s.aside = append(s.aside, from, len(s.tap.Log()))
	s.notes = s.notes[:notes]
}

// A line of the diagram.
type line struct {
	scene int
	actor string  // the client that did it; "" for the play itself
	place float64 // in the log
	event bool
	text  string
}

// diagram draws the packets that have crossed the wire so far, and the notes.
//
// A scene is what happens between two moments at which everything was settled:
// one client acts, others may react. The order of two reactions is chance and
// not part of the schedule, so in a scene the lines of each client are
// together: first those of the client that acted, then the others by name. For
// the same reason a request and its reply are one arrow, unless the reply
// belongs to a later scene.
func (s *Stage) diagram() string {
	actors := make(map[int64]string) // by session
	for _, c := range s.clients {
		for id := range c.sessions {
			actors[id] = c.Name
		}
	}
	var lines []line
	log := s.tap.Log()
	for i, e := range log {
		actor := actors[e.Session]
		if actor == "" || s.isAside(i) || e.Path == "/" || hidden(e.Op) && e.Kind != wiretap.Event {
			continue
		}
		l := line{s.scene(i), actor, float64(i), e.Kind == wiretap.Event, ""}
		switch e.Kind {
		case wiretap.Request:
			l.text = request(e) + watch(e)
			if reply := replyTo(log, i); reply >= 0 && s.scene(reply) == l.scene {
				l.text = request(log[reply]) + watch(e) + outcome(log[reply])
			}
			l.text = actor + "->>S: " + l.text
		case wiretap.Reply:
			if s.scene(requestOf(log, i)) == l.scene {
				continue
			}
			l.text = "S-->>" + actor + ": " + request(e) + cmp.Or(outcome(e), ": done")
		case wiretap.Event:
			l.text = "S-)" + actor + ": event: " + Short(e.Path) + " " + EventName(e.Event)
		}
		lines = append(lines, l)
	}
	for _, n := range s.notes {
		text := "Note over " + n.over + ": " + n.text
		lines = append(lines, line{n.scene, n.actor, float64(n.at) - 0.5, false, text})
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.scene, b.scene), cmp.Compare(a.place, b.place))
	})
	acts := make(map[int]string) // by scene
	for _, l := range lines {
		if _, known := acts[l.scene]; !known && l.actor != "" {
			acts[l.scene] = l.actor
			if l.event {
				acts[l.scene] = ""
			}
		}
	}
	rank := func(l line) string {
		if l.actor == acts[l.scene] {
			return ""
		}
		return l.actor
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.scene, b.scene), cmp.Compare(rank(a), rank(b)))
	})

	var b strings.Builder
	for _, l := range lines {
		b.WriteString("    " + l.text + "\n")
	}
	diagram := "sequenceDiagram\n"
	for i, c := range s.clients {
		if TakesPart(c.Name).MatchString(b.String()) {
			diagram += fmt.Sprintf("    participant %s as %v\n", c.Name, c)
		}
		if i == 0 {
			diagram += "    participant S as server\n"
		}
	}
	diagram += b.String()
	CheckMermaid(s, diagram)
	return diagram
}

// TakesPart matches the lines in which a client acts.
func TakesPart(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + name + `-|[ ,)>]` + name + `[:,]`)
}

// NoMermaid matches what mermaid takes for its own.
var NoMermaid = regexp.MustCompile(`[;#{}<]|\bend\b|%%`)

// CheckMermaid fails if a line would break the diagram: a semicolon is a new
// line, # begins an entity, and the word end closes a block.
func CheckMermaid(t require.TestingT, diagram string) {
	for line := range strings.Lines(diagram) {
		require.NotRegexp(t, NoMermaid, line, "mermaid cannot take this line")
		require.LessOrEqual(t, strings.Count(line, ": "), 3, line)
	}
}

func (s *Stage) isAside(i int) bool {
	for k := 0; k < len(s.aside); k += 2 {
		if i >= s.aside[k] && i < s.aside[k+1] {
			return true
		}
	}
	return false
}

// scene returns the number of the scene that entry i of the log belongs to.
func (s *Stage) scene(i int) int {
	for k, mark := range s.marks {
		if i < mark {
			return k
		}
	}
	return len(s.marks)
}

// hidden reports whether the client library sends op by itself.
func hidden(op jute.Op) bool {
	return op == jute.OpConnect || op == jute.OpPing || op == jute.OpSetWatches || op == jute.OpCloseSession
}

func replyTo(log []wiretap.Entry, request int) int {
	for i := request + 1; i < len(log); i++ {
		if log[i].Kind == wiretap.Reply && log[i].Conn == log[request].Conn && log[i].Xid == log[request].Xid {
			return i
		}
	}
	return -1
}

func requestOf(log []wiretap.Entry, reply int) int {
	for i := reply - 1; i >= 0; i-- {
		if log[i].Kind == wiretap.Request && log[i].Conn == log[reply].Conn && log[i].Xid == log[reply].Xid {
			return i
		}
	}
	return -1
}

func request(e wiretap.Entry) string {
	return strings.TrimSpace(opName(e.Op) + " " + Short(e.Path))
}

func opName(op jute.Op) string { return strings.TrimSuffix(op.String(), "2") }

func watch(e wiretap.Entry) string {
	if e.Watch {
		return " and watch"
	}
	return ""
}

func outcome(reply wiretap.Entry) string {
	switch reply.Err {
	case jute.OK:
		return ""
	case jute.ErrNoNode:
		return ": no node"
	case jute.ErrNodeExists:
		return ": node exists"
	case jute.ErrNoAuth:
		return ": no permission"
	case jute.ErrSessionExpired:
		return ": session expired"
	}
	return ": error"
}

// EventName says what an event is about.
func EventName(t jute.EventType) string {
	switch t {
	case jute.EventDataChanged:
		return "has new data"
	case jute.EventChildrenChanged:
		return "has other children"
	}
	return "is " + t.String()
}

var number = regexp.MustCompile(`\d{10}`)

// Short returns a node's name on the page: /lock/lock-0000000003 is lock-3.
func Short(p string) string {
	return number.ReplaceAllStringFunc(path.Base(p), func(digits string) string {
		n, _ := strconv.Atoi(digits)
		return strconv.Itoa(n)
	})
}
