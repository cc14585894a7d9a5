package museum

import (
	"fmt"
	"strings"
	"testing"

	"example.com/zklock/internal/stage"
)

// A Script is a Stage for a lock that is not on ZooKeeper: one thread plays all
// clients in turn, and records what it does.
type Script struct {
	*testing.T
	server string
	actors []string
	lines  []string
}

// Say records a client's request to the server, with the answer.
func (s *Script) Say(actor, format string, args ...any) {
	s.meet(actor)
	s.lines = append(s.lines, actor+"->>S: "+fmt.Sprintf(format, args...))
}

// Note writes a note beside a client's line, or beside the server's, which is
// S.
func (s *Script) Note(actor, format string, args ...any) {
	if actor != "S" {
		s.meet(actor)
	}
	s.lines = append(s.lines, "Note over "+actor+": "+fmt.Sprintf(format, args...))
}

// TwoHolders writes a note that both clients hold the lock, which the play has
// asserted.
func (s *Script) TwoHolders(a, b string) {
	s.lines = append(s.lines, "Note over "+a+","+b+": two holders")
}

func (s *Script) meet(actor string) {
	for _, a := range s.actors {
		if a == actor {
			return
		}
	}
	s.actors = append(s.actors, actor)
}

func (s *Script) diagram() string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for i, a := range s.actors {
		fmt.Fprintf(&b, "    participant %s as client %s\n", a, a)
		if i == 0 {
			fmt.Fprintf(&b, "    participant S as %s\n", s.server)
		}
	}
	for _, line := range s.lines {
		b.WriteString("    " + line + "\n")
	}
	stage.CheckMermaid(s, b.String())
	return b.String()
}
