package player

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
)

// An Entry is one line of a schedule's log.
type Entry struct {
	// Point is the number of the action that caused it, from 1; 0 is the start.
	Point int `json:"point"`
	// At is virtual time since the start. Time passes only while the lock, the
	// client library or a session timeout waits for it.
	At time.Duration `json:"at_ns"`
	// The name of the client or the contender.
	Who string `json:"who"`
	// Kind is "sends", "carried out", "reply", "event", "lost" or "note". A reply and an event arrive at the client.
	Kind  string    `json:"kind"`
	Op    string    `json:"op,omitempty"`
	Path  string    `json:"path,omitempty"`
	Watch bool      `json:"watch,omitempty"`
	Made  string    `json:"made,omitempty"`  // by a create: the node
	Names []string  `json:"names,omitempty"` // children, sorted
	Err   string    `json:"error,omitempty"`
	Text  i18n.Text `json:"text,omitzero"` // of a note, or of what is lost
	For   string    `json:"for,omitempty"` // of a request that is carried out in a tagged world: the contender
}

func (e Entry) hash() uint64 {
	return hashText(fmt.Sprint(e.Kind, e.Op, e.Path, e.Made, e.Names, e.Err))
}

// Equal reports whether two entries are the same.
func (e Entry) Equal(f Entry) bool {
	return e.Point == f.Point && e.At == f.At && e.Who == f.Who && e.Kind == f.Kind && e.Op == f.Op && e.Path == f.Path &&
		e.Watch == f.Watch && e.Made == f.Made && e.Err == f.Err && e.Text.String() == f.Text.String() && slices.Equal(e.Names, f.Names)
}

// String is one line for people to read.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8.3fs %s ", e.At.Seconds(), e.Who)
	switch e.Kind {
	case "note":
		b.WriteString(e.Text.String())
		return b.String()
	case "reply":
		b.WriteString("<- ")
	case "event":
		b.WriteString("<- event ")
	case "sends":
		b.WriteString("-> ")
	case "carried out":
		b.WriteString("   at the server: ")
	case "lost":
		fmt.Fprintf(&b, "-- %s: ", e.Text)
	}
	b.WriteString(e.Op + " " + e.Path)
	if e.Watch {
		b.WriteString(" (watch)")
	}
	switch {
	case e.Err != "":
		b.WriteString(": " + e.Err)
	case e.Made != "":
		b.WriteString(": " + e.Made)
	case len(e.Names) > 0:
		fmt.Fprintf(&b, ": %v", e.Names)
	}
	return b.String()
}
