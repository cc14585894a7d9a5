package player

import (
	"fmt"
	"slices"
	"time"

	"example.com/zklock/internal/i18n"
)

// An Entry is one line of a schedule's log: a packet at one point of its way, or a note.
type Entry struct {
	Point int `json:"point"` // the number of the action that caused it, from 1; 0: the start
	// At is virtual time since the start: it passes while the lock, the client library or a session timeout waits for it.
	At  time.Duration `json:"at_ns"`
	Who string        `json:"who"` // the name of the client or the contender
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

// Equal reports whether two entries are the same, except for For.
func (e Entry) Equal(f Entry) bool {
	return e.Point == f.Point && e.At == f.At && e.Who == f.Who && e.Kind == f.Kind && e.Op == f.Op && e.Path == f.Path &&
		e.Watch == f.Watch && e.Made == f.Made && e.Err == f.Err && e.Text.String() == f.Text.String() && slices.Equal(e.Names, f.Names)
}

// String is one line for people to read.
func (e Entry) String() string {
	line := fmt.Sprintf("%8.3fs %s ", e.At.Seconds(), e.Who)
	if e.Kind == "note" {
		return line + e.Text.String()
	}

	line += map[string]string{
		"reply":       "<- ",
		"event":       "<- event ",
		"sends":       "-> ",
		"carried out": "   at the server: ",
		"lost":        "-- " + e.Text.String() + ": ",
	}[e.Kind]
	line += e.Op + " " + e.Path
	if e.Watch {
		line += " (watch)"
	}
	switch {
	case e.Err != "":
		line += ": " + e.Err
	case e.Made != "":
		line += ": " + e.Made
	case len(e.Names) > 0:
		line += fmt.Sprintf(": %v", e.Names)
	}
	return line
}
