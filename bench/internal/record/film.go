package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// maxPackets is how many packets the lab's page can show.
const maxPackets = 30_000

// Film makes the film of the run of a lock. There are the nodes that were there
// before; predicted is how many requests the lock's formula says, 0 if it has
// none.
func (r *Recording) Film(lock, server string, predicted float64, log []wiretap.Entry, there []string) (*film.Film, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions()
	f := &film.Film{
		Lock: lock, Contenders: r.n, Shared: len(r.conns) == 1 && r.n > 1, Session: r.tap.SessionTimeout(r.conns[0].SessionID()), Recorded: true,
		Server:  server + ", seen from the clients: the instants at the server are estimates",
		Changes: []film.Change{}, Packets: []film.Packet{}, Results: []string{}, Violation: r.found,
	}
	for i := range r.conns {
		f.Clients = append(f.Clients, film.Client{Name: r.clientName(i), Contenders: r.contendersOf(i)})
	}
	list, marks := r.exchanges(log)
	f.Latency = max(estimate(list), time.Microsecond)
	for _, m := range slices.Concat(marks, r.marks) {
		f.End = max(f.End, m.At)
	}
	for _, t := range list {
		f.End = max(f.End, t.sent, t.at, t.came)
	}
	for _, t := range list {
		f.Packets = append(f.Packets, t.packets(f, len(f.Packets)+1)...)
		switch {
		case t.event():
			f.Counters.Events++
		case t.asked.Op != jute.OpSetWatches && t.asked.Op != jute.OpCloseSession:
			f.Counters.Requests++
		}
	}
	if len(f.Packets) > maxPackets {
		return nil, fmt.Errorf("the run has %d packets, and the lab shows %d: lower -n", len(f.Packets), maxPackets)
	}
	number(f.Packets)
	happened := replay{film: f, nodes: make(map[string]string), watches: make(map[watch]int)}
	happened.play(list, there)
	// A stable sort: of two at one instant that of the server comes first.
	f.Marks = slices.Concat(happened.marks, marks, happened.wakeups, r.marks)
	slices.SortStableFunc(f.Marks, func(a, b film.Mark) int { return cmp.Compare(a.At, b.At) })
	f.Counters.Wakeups = len(happened.wakeups)
	f.Results = r.results()
	if predicted > 0 {
		f.Formula.Requests = new(int(predicted))
	}
	f.Seal()
	return f, nil
}

// results are what each contender has come to last.
func (r *Recording) results() (list []string) {
	last := make(map[string]string)
	for _, m := range r.marks {
		if m.Kind == "state" {
			last[m.Who] = cmp.Or(m.Text, m.State)
		}
	}
	for i := range r.n {
		list = append(list, player.Letter(i)+": "+cmp.Or(last[player.Letter(i)], "outside"))
	}
	return list
}

// contenderOf names the contender of a client that has one.
func contenderOf(c film.Client) string {
	if len(c.Contenders) == 1 {
		return c.Contenders[0]
	}
	return ""
}

// packets are those of a exchange, numbered from first on.
func (t *exchange) packets(f *film.Film, first int) []film.Packet {
	c := f.Clients[t.client]
	p := film.Packet{ID: first, Client: c.Name, Who: contenderOf(c), Path: t.asked.Path}
	if t.event() {
		p.Kind, p.Event, p.Sent, p.Arrived = "event", t.asked.Event.String(), t.at, t.came
		return []film.Packet{p}
	}
	p.Kind, p.Op, p.Watch, p.Sent, p.Arrived = "request", t.asked.Op.String(), t.asked.Watch, t.sent, t.at
	// Whether a request without a reply has reached the server is not known.
	switch {
	case t.answered:
		reply := p
		reply.Kind, reply.Sent, reply.Arrived, reply.Of, reply.Error = "reply", t.at, t.came, first, player.Code(t.answer.Err)
		reply.ID++
		if t.creates() {
			reply.Made = t.answer.Path
		}
		return []film.Packet{p, reply}
	case t.lost != 0:
		p.Lost, p.Arrived = true, t.lost
	default:
		p.Pending, p.Arrived = true, f.End
	}
	return []film.Packet{p}
}

// number puts packets, numbered as they are made, into the order in which they
// are sent, and numbers them again.
func number(packets []film.Packet) {
	slices.SortStableFunc(packets, func(a, b film.Packet) int { return cmp.Compare(a.Sent, b.Sent) })
	place := make([]int, len(packets)+1) // of 0, which answers nothing: 0
	for i, p := range packets {
		place[p.ID] = i + 1
	}
	for i := range packets {
		packets[i].ID, packets[i].Of = i+1, place[packets[i].Of]
	}
}

// A replay follows the nodes and watches at the server, and the contenders that are
// woken, from the packets.
type replay struct {
	film    *film.Film
	nodes   map[string]string // path → owner
	watches map[watch]int     // how many have asked
	marks   []film.Mark
	wakeups []film.Mark
}

// rank orders what happens at one instant.
func (t *exchange) rank() int {
	switch {
	case t.writes():
		return 0
	case t.event():
		return 1
	}
	return 2 // its watch is set after the event, and is another one
}

// zxid is the number of the transaction that it is, or that it has seen.
func (t *exchange) zxid() int64 {
	switch {
	case t.cause != nil:
		return t.cause.answer.Zxid
	case t.event():
		return 1<<63 - 1
	}
	return t.answer.Zxid
}

// play goes through all that has reached the server.
func (h *replay) play(list []*exchange, there []string) {
	for _, p := range there {
		h.made(0, p, "")
	}
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *exchange) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.zxid(), b.zxid()), a.rank()-b.rank())
	})
	for _, t := range order {
		client := h.film.Clients[t.client].Name
		if of, ok := t.sets(); ok {
			k := watch{t.client, t.asked.Path, of}
			if h.watches[k]++; h.watches[k] == 1 {
				h.mark(film.Mark{At: t.at, Kind: "watch", Client: client, Path: k.path, Of: of, Set: new(true)})
			}
		}
		switch {
		case t.event():
			h.delivered(t, client)
		case t.writes():
			h.written(t, client)
		}
	}
}

func (h *replay) mark(m film.Mark) { h.marks = append(h.marks, m) }

func (h *replay) made(at time.Duration, path, owner string) {
	if _, is := h.nodes[path]; !is {
		h.nodes[path] = owner
		h.mark(film.Mark{At: at, Kind: "node", Path: path, Owner: owner, Made: new(true)})
	}
}

func (h *replay) removed(at time.Duration, path string) {
	if owner, is := h.nodes[path]; is {
		delete(h.nodes, path)
		h.mark(film.Mark{At: at, Kind: "node", Path: path, Owner: owner, Made: new(false)})
	}
}

// written applies a write.
func (h *replay) written(t *exchange, client string) {
	switch {
	case t.creates() && t.asked.Ephemeral:
		h.made(t.at, t.answer.Path, client)
	case t.creates():
		h.made(t.at, t.answer.Path, "")
	case t.asked.Op == jute.OpDelete:
		h.removed(t.at, t.answer.Path)
	case t.asked.Op == jute.OpCloseSession:
		for _, p := range slices.Sorted(maps.Keys(h.nodes)) {
			if h.nodes[p] == client {
				h.removed(t.at, p)
			}
		}
	}
}

// delivered applies an event: it uses up watches, and the client wakes each
// contender that has set one.
func (h *replay) delivered(t *exchange, client string) {
	for _, of := range taken(t.asked.Event) {
		k := watch{t.client, t.asked.Path, of}
		asked := h.watches[k]
		if asked == 0 {
			continue
		}
		delete(h.watches, k)
		h.mark(film.Mark{At: t.at, Kind: "watch", Client: client, Path: k.path, Of: of, Set: new(false)})
		for range asked {
			h.wakeups = append(h.wakeups, film.Mark{At: t.came, Kind: "wakeup", Who: cmp.Or(contenderOf(h.film.Clients[t.client]), client)})
		}
	}
}

// Write writes a film as JSON.
func Write(w io.Writer, f *film.Film) error {
	if f == nil {
		return errors.New("there is no run to write")
	}
	return json.NewEncoder(w).Encode(f)
}
