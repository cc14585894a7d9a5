package bugs

import (
	"slices"
	"testing"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/i18n"
)

// A Script records the run of a bug of a lock that is not on ZooKeeper: one goroutine acts for
// all clients in turn, and says what each of them does.
type Script struct {
	*testing.T
	server i18n.Text
	actors []string // the clients, in the order of their first acts
	steps  []diagram.Step
}

// Say records a client's request to the server, with the answer, in both languages.
func (s *Script) Say(actor, format string, args ...any) {
	s.addActor(actor)
	s.steps = append(s.steps, diagram.Request(actor, i18n.Textf(format, args...)))
}

// Note records a note over a client's lane, or over the server's, whose name is S.
func (s *Script) Note(actor, format string, args ...any) {
	if actor != "S" {
		s.addActor(actor)
	}
	s.steps = append(s.steps, diagram.Note(i18n.Textf(format, args...), actor))
}

// TwoHolders records that both clients hold the lock. The caller has asserted it.
func (s *Script) TwoHolders(a, b string) {
	s.steps = append(s.steps, diagram.Note("two holders", a, b))
}

func (s *Script) addActor(actor string) {
	if !slices.Contains(s.actors, actor) {
		s.actors = append(s.actors, actor)
	}
}
