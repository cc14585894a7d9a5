// Package record makes a film of the lab out of a run of the benchmark. Only the
// clients' side is known: when a request was sent and when its reply came. The
// server's instant lies between them; see estimate.
package record

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// A Recording notes the states of the contenders of a run. Nil notes nothing.
type Recording struct {
	tap   *wiretap.Tap
	conns []*zk.Conn
	n     int

	mu      sync.Mutex // guards what follows
	began   time.Time
	marks   []film.Mark
	holders []int
	found   *explore.Violation
	own     map[int64]int // session → client
}

// New begins a recording of n contenders, which share the connections.
func New(tap *wiretap.Tap, conns []*zk.Conn, n int) *Recording {
	r := &Recording{tap: tap, conns: conns, n: n, own: make(map[int64]int)}
	r.sessions()
	return r
}

// sessions notes which sessions the clients have.
func (r *Recording) sessions() {
	for i, conn := range r.conns {
		if id := conn.SessionID(); id != 0 {
			r.own[id] = i
		}
	}
}

// Begin says when the contenders start.
func (r *Recording) Begin(at time.Time) {
	if r != nil {
		r.began = at
	}
}

// State notes the state of a contender. It is called before Lock and Unlock
// and after them, so two that hold the lock by it do so indeed.
func (r *Recording) State(contender int, state, text string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := player.Letter(contender)
	at := time.Since(r.began)
	r.marks = append(r.marks, film.Mark{At: at, Kind: "state", Who: name, State: state, Text: text})
	r.holders = slices.DeleteFunc(r.holders, func(c int) bool { return c == contender })
	if state != "holds" {
		return
	}
	r.holders = append(r.holders, contender)
	if len(r.holders) == 1 {
		return
	}
	v := explore.Violation{Kind: explore.TwoHolders, Who: name, What: player.Letter(r.holders[0]) + " and " + name + " hold the lock at once"}
	r.marks = append(r.marks, film.Mark{At: at, Kind: "violation", Violation: v.Kind, Who: v.Who, Text: v.What})
	if r.found == nil {
		r.found = &v
	}
}

// clientName is the name of a client: that of its contender, if it has one and
// the others have, too.
func (r *Recording) clientName(i int) string {
	switch len(r.conns) {
	case r.n:
		return player.Letter(i)
	case 1:
		return "client"
	}
	return "client " + strconv.Itoa(i+1)
}

func (r *Recording) contendersOf(client int) (names []string) {
	for i := client; i < r.n; i += len(r.conns) {
		names = append(names, player.Letter(i))
	}
	return names
}

// Log returns what has crossed the wire since the beginning, and is as far as
// the counts are: the tap counts a packet just before it logs it.
func (r *Recording) Log(before wiretap.Counts) (log []wiretap.Entry, counts wiretap.Counts) {
	for range 1000 {
		counts = r.tap.Counts()
		log = r.tap.Log()
		log = slices.DeleteFunc(log, func(e wiretap.Entry) bool { return e.Time.Before(r.began) })
		var requests, events int64
		for _, e := range log {
			switch {
			case e.Kind == wiretap.Event:
				events++
			case e.Kind == wiretap.Request && e.Op != jute.OpConnect && e.Op != jute.OpSetWatches:
				requests++
			}
		}
		if since := counts.Since(before); since.Total() == requests && since.Events == events {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return log, counts
}
