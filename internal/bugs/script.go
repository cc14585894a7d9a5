package bugs

import (
	"slices"
	"testing"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/i18n"
)

// A Script is the play of a bug of a lock that is not on ZooKeeper: one goroutine plays all clients in turn, and records
// what it does.
type Script struct {
	*testing.T
	server i18n.Text
	actors []string
	steps  []diagram.Step
}

// Say records a client's request to the server, with the answer, in both languages.
func (s *Script) Say(actor, en, zh string, args ...any) {
	s.meet(actor)
	s.steps = append(s.steps, diagram.Request(actor, i18n.Textf(en, zh, args...)))
}

// Note writes a note beside a client's line, or beside the server's, which is
// S.
func (s *Script) Note(actor, en, zh string, args ...any) {
	if actor != "S" {
		s.meet(actor)
	}
	s.steps = append(s.steps, diagram.Note(i18n.Textf(en, zh, args...), actor))
}

// TwoHolders writes a note that both clients hold the lock, which the play has
// asserted.
func (s *Script) TwoHolders(a, b string) {
	s.steps = append(s.steps, diagram.Note(i18n.Textf("two holders", "两个持有者"), a, b))
}

func (s *Script) meet(actor string) {
	if !slices.Contains(s.actors, actor) {
		s.actors = append(s.actors, actor)
	}
}
