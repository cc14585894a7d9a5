// Package film makes films of the schedules of package player. [Play] and [Of] make a [Film] of a schedule that a
// person or the explorer has chosen. [Paced] makes one of a run in which nobody chooses: a seed draws how long each
// packet is on its way. The lab (cmd/lab) shows films.
package film

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// A Film shows a schedule: each packet with its departure and its arrival, and how the server, the clients and the
// contenders change. What a page shows at an instant follows from these alone. Instants are virtual, since the start.
type Film struct {
	Lock       string            `json:"lock"`
	Contenders int               `json:"contenders"`
	Shared     bool              `json:"shared"`
	Latency    time.Duration     `json:"latency_ns"` // mean, of one way
	Session    time.Duration     `json:"session_ns"` // the session timeout
	Seed       uint64            `json:"seed"`
	Changes    []Change          `json:"changes"`
	Clients    []Client          `json:"clients"`
	End        time.Duration     `json:"end_ns"`
	Packets    []Packet          `json:"packets"` // in order of departure
	Marks      []Mark            `json:"marks"`   // in order of time
	Counters   Counters          `json:"counters"`
	Formula    Formula           `json:"formula"`
	Results    []i18n.Text       `json:"results"` // of each contender
	Violation  *player.Violation `json:"violation"`
	Known      string            `json:"known,omitempty"` // the name of the violation if the lock is known for it: that of a player.Known
	Hash       string            `json:"hash"`            // SHA-256 of packets and marks
	// Where each contender is in the lock's source, in order of time, and the lines; none if the contenders are many.
	Where   []Where  `json:"where,omitempty"`
	Places  []Place  `json:"places,omitempty"`
	Choices []Choice `json:"choices,omitempty"` // of a schedule that a person or the explorer has chosen
}

// A Choice is a choice with its instant. Op and Path are those of the request that the server carries out then, if any.
type Choice struct {
	At     time.Duration `json:"at_ns"`
	Choice string        `json:"choice"`
	Op     string        `json:"op,omitempty"`
	Path   string        `json:"path,omitempty"`
}

// A Client is a client with its contenders.
type Client struct {
	Name       string   `json:"name"`
	Contenders []string `json:"contenders"`
	Session    string   `json:"session,omitempty"` // at the start
}

// A Packet is a request, a reply or an event on its way.
type Packet struct {
	ID     int    `json:"id"` // from 1
	Client string `json:"client"`
	// The contender that a request belongs to, if that is known; of replies and events, too, if the client has only one.
	Who     string        `json:"who,omitempty"`
	Kind    string        `json:"kind"` // "request", "reply" or "event"
	Op      string        `json:"op,omitempty"`
	Path    string        `json:"path,omitempty"`
	Watch   bool          `json:"watch,omitempty"`
	Made    string        `json:"made,omitempty"`  // by a create: the node
	Names   []string      `json:"names,omitempty"` // children, sorted
	Error   string        `json:"error,omitempty"`
	Event   string        `json:"event,omitempty"`
	Sent    time.Duration `json:"sent_ns"`
	Arrived time.Duration `json:"arrived_ns"`
	Queued  time.Duration `json:"queued_ns,omitempty"` // when a request came to a busy server, where it waited until Arrived; 0: it did not wait
	Lost    bool          `json:"lost,omitempty"`      // it never arrives; Arrived is when that is decided
	Pending bool          `json:"pending,omitempty"`   // it is still on its way at the end of the film
	Of      int           `json:"of,omitempty"`        // of a reply: the request
}

// A Mark is a change of state at an instant. Which fields it has depends on its Kind:
//
//	"state"      a contender (Who) is "outside", "waits", "holds", "unlocks", "done" or "failed"; Token: of a holder that has one
//	"client"     a client (Who) is "unconnected" as yet, "connected", "cut off", "closed", "expired", "stopped" or "runs on"; Session: that of the connection
//	"lost"       a contender holds the lock and has lost it; Knows: its Lost channel is closed; Token: its fencing token, if it has one
//	"node"       a znode is made or removed; Owner is the client whose Session owns it; of one that is made, Data and Czxid
//	"data"       the Data of a znode has changed; Version is its new version
//	"variables"  the Variables of a contender's lock have changed; not if the contenders are many
//	"watch"      a watch of a Client on a Path is set or gone; Of is "node" or "children"
//	"wakeup"     an event wakes a waiting contender
//	"violation"  Violation is the Kind
//	"note"       a remark
type Mark struct {
	At        time.Duration `json:"at_ns"`
	Kind      string        `json:"kind"`
	Who       string        `json:"who,omitempty"`
	State     string        `json:"state,omitempty"`
	Text      i18n.Text     `json:"text,omitzero"`
	Knows     *bool         `json:"knows,omitempty"`
	Token     int64         `json:"token,omitempty"`
	Path      string        `json:"path,omitempty"`
	Made      *bool         `json:"made,omitempty"`
	Owner     string        `json:"owner,omitempty"`
	Client    string        `json:"client,omitempty"`
	Of        string        `json:"of,omitempty"`
	Set       *bool         `json:"set,omitempty"`
	Session   string        `json:"session,omitempty"`
	Data      string        `json:"data,omitempty"`
	Czxid     int64         `json:"czxid,omitempty"`
	Version   int32         `json:"version,omitempty"`
	Variables []Variable    `json:"variables,omitempty"`
	Violation player.Kind   `json:"violation,omitempty"`
	Known     string        `json:"known,omitempty"`
}

// Counters are sums over a film.
type Counters struct {
	Requests int `json:"requests"` // that the contenders have sent
	Events   int `json:"events"`   // that have arrived
	Wakeups  int `json:"wakeups"`  // waiting contenders that events have woken
}

// A Formula is the most requests and events that a film without faults can have; null: it is not known.
type Formula struct {
	Requests *int `json:"requests"`
	Events   *int `json:"events"`
}

func (f *Film) hash() string {
	b, err := json.Marshal(struct {
		Packets []Packet `json:"packets"`
		Marks   []Mark   `json:"marks"`
	}{f.Packets, f.Marks})
	if err != nil {
		panic(err) // it is plain data
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
