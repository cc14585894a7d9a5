package stage

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/wiretap"
)

// A note is in the diagram before the log's entry number at.
type note struct {
	at, scene int
	actor     string // the client whose thread has written it; "" for the play itself
	over      string // names, separated by commas
	text      language.Text
}

// Note writes a note beside the server's line, in both languages.
func (s *Stage) Note(en, zh string, args ...any) { s.note("", "S", language.Say(en, zh, args...)) }

// Note writes a note beside the client's line, in both languages.
func (c *Client) Note(en, zh string, args ...any) {
	c.s.note("", c.Name, language.Say(en, zh, args...))
}

func (s *Stage) note(actor, over string, text language.Text) {
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
	text  language.Text
}

// diagram draws the packets that have crossed the wire so far, and the notes.
//
// A scene is what happens between two moments at which everything was settled:
// one client acts, others may react. The order of two reactions is chance and
// not part of the schedule, so in a scene the lines of each client are
// together: first those of the client that acted, then the others by name. For
// the same reason a request and its reply are one arrow, unless the reply
// belongs to a later scene.
func (s *Stage) diagram() language.Text {
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
		l := line{s.scene(i), actor, float64(i), e.Kind == wiretap.Event, language.Text{}}
		switch e.Kind {
		case wiretap.Request:
			l.text = Line(actor+"->>S: "+request(e), Watch(e.Watch))
			if reply := replyTo(log, i); reply >= 0 && s.scene(reply) == l.scene {
				l.text = Line(actor+"->>S: "+request(log[reply]), Watch(e.Watch), outcome(log[reply]))
			}
		case wiretap.Reply:
			if s.scene(requestOf(log, i)) == l.scene {
				continue
			}
			l.text = Line("S-->>"+actor+": "+request(e), cmp.Or(outcome(e), Done))
		case wiretap.Event:
			l.text = Line("S-)"+actor+": ", EventText(Short(e.Path), e.Event))
		}
		lines = append(lines, l)
	}
	for _, n := range s.notes {
		text := Line("Note over "+n.over+": ", n.text)
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

	var clients []string
	for _, c := range s.clients {
		clients = append(clients, c.Name)
	}
	var texts []language.Text
	for _, l := range lines {
		texts = append(texts, l.text)
	}
	return Diagram(clients, language.Say("server", "服务器"), texts)
}

// Diagram makes a diagram of its lines, with those of the clients that take part in it. One
// of the name "client" is that of all contenders, and these are goroutines.
func Diagram(clients []string, server language.Text, lines []language.Text) language.Text {
	all := language.Join(lines, "\n").En
	var parts []language.Text
	for i, name := range clients {
		if TakesPart(name).MatchString(all) {
			text := clientText(name)
			if name == "client" {
				text = language.Say("their client", "共用的客户端")
			} else if slices.Contains(clients, "client") {
				text = language.Same("goroutine " + name)
			}
			parts = append(parts, Line("participant "+name+" as ", text))
		}
		if i == 0 {
			parts = append(parts, Line("participant S as ", server))
		}
	}
	return Line("sequenceDiagram\n    ", language.Join(append(parts, lines...), "\n    "), language.Same("\n"))
}

// Line joins the parts of a line, of which the first is the same in both languages.
func Line(same string, parts ...language.Text) language.Text {
	return language.Join(append([]language.Text{language.Same(same)}, parts...), "")
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

// Watch says that a request sets a watch.
func Watch(sets bool) (text language.Text) {
	if sets {
		text = language.Text{En: " and watch", Zh: " 并监听"}
	}
	return text
}

// Done says that a reply has no error and comes late, and the next ones which error it has.
var (
	Done         = language.Text{En: ": done", Zh: "：完成"}
	NoNode       = language.Text{En: ": no node", Zh: "：节点不存在"}
	NodeExists   = language.Text{En: ": node exists", Zh: "：节点已存在"}
	NoPermission = language.Text{En: ": no permission", Zh: "：没有权限"}
	OtherError   = language.Text{En: ": error", Zh: "：错误"}
)

func outcome(reply wiretap.Entry) language.Text {
	switch reply.Err {
	case jute.OK:
		return language.Text{}
	case jute.ErrNoNode:
		return NoNode
	case jute.ErrNodeExists:
		return NodeExists
	case jute.ErrNoAuth:
		return NoPermission
	case jute.ErrSessionExpired:
		return language.Text{En: ": session expired", Zh: "：会话已过期"}
	}
	return OtherError
}

// EventText says what an event of a node is about.
func EventText(node string, t jute.EventType) language.Text {
	switch t {
	case jute.EventDataChanged:
		return language.Say("event: %s has new data", "事件：%s 有新数据", node)
	case jute.EventChildrenChanged:
		return language.Say("event: %s has other children", "事件：%s 的子节点有变化", node)
	case jute.EventDeleted:
		return language.Say("event: %s is deleted", "事件：%s 已删除", node)
	}
	return language.Say("event: %s is %v", "事件：%[1]s 已创建", node, t)
}

var number = regexp.MustCompile(`\d{10}`)

// Short returns a node's name on the page: /lock/lock-0000000003 is lock-3.
func Short(p string) string {
	return number.ReplaceAllStringFunc(path.Base(p), func(digits string) string {
		n, _ := strconv.Atoi(digits)
		return strconv.Itoa(n)
	})
}
