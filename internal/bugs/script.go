package bugs

import (
	"testing"

	"example.com/zklock/internal/i18n"
)

// A Script is a Stage for a lock that is not on ZooKeeper: one thread plays all
// clients in turn, and records what it does.
type Script struct {
	*testing.T
	server i18n.Text
	actors []string
	lines  []i18n.Text
}

// Say records a client's request to the server, with the answer, in both languages.
func (s *Script) Say(actor, en, zh string, args ...any) {
	s.meet(actor)
	s.lines = append(s.lines, join(actor+"->>S: ", i18n.Textf(en, zh, args...)))
}

// Note writes a note beside a client's line, or beside the server's, which is
// S.
func (s *Script) Note(actor, en, zh string, args ...any) {
	if actor != "S" {
		s.meet(actor)
	}
	s.lines = append(s.lines, join("Note over "+actor+": ", i18n.Textf(en, zh, args...)))
}

// TwoHolders writes a note that both clients hold the lock, which the play has
// asserted.
func (s *Script) TwoHolders(a, b string) {
	s.lines = append(s.lines, join("Note over "+a+","+b+": ", i18n.Textf("two holders", "两个持有者")))
}

func (s *Script) meet(actor string) {
	for _, a := range s.actors {
		if a == actor {
			return
		}
	}
	s.actors = append(s.actors, actor)
}

func (s *Script) diagram() i18n.Text { return diagramOf(s.actors, s.server, s.lines) }
