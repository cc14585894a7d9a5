package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// -record writes one run as a film of the lab. Only the clients' side is
// known: when a request was sent and when its reply came. The server's instant
// lies between them; see server.

// What the lab's page can show.
const (
	maxRecorded        = 100 // contenders
	maxRecordedPackets = 30_000
)

// checkRecord says why the flags make no recording.
func (c config) checkRecord() error {
	switch {
	case c.join:
		return errors.New("-record: it knows the contenders of this process only, so it cannot go with -join")
	case len(c.locks) != 1 || len(c.loads) != 1 || c.rounds != 1 || c.loads[0].times != 1:
		return errors.New("-record: it records one run: name one lock with -locks, one number with -n, and leave -rounds and -closed at 1")
	case c.locks[0].java || c.locks[0].other != nil || c.locks[0].unsafe != "":
		return fmt.Errorf("-record: %s is not a lock of a Go client on ZooKeeper", c.locks[0].name)
	case c.loads[0].n > maxRecorded:
		return fmt.Errorf("-record: %d goroutines are more than the lab shows: lower -n to %d or less", c.loads[0].n, maxRecorded)
	}
	return nil
}

// A recording notes what the contenders of a run come to. Nil notes nothing.
type recording struct {
	tap   *wiretap.Tap
	conns []*zk.Conn
	n     int

	mu      sync.Mutex // guards what follows
	began   time.Time
	marks   []explore.Mark
	holders []int
	found   *explore.Violation
	own     map[int64]int // session → client
}

func newRecording(tap *wiretap.Tap, conns []*zk.Conn, n int) *recording {
	r := &recording{tap: tap, conns: conns, n: n, own: make(map[int64]int)}
	r.sessions()
	return r
}

// sessions notes which sessions the clients have.
func (r *recording) sessions() {
	for i, conn := range r.conns {
		if id := conn.SessionID(); id != 0 {
			r.own[id] = i
		}
	}
}

func (r *recording) begin(at time.Time) {
	if r != nil {
		r.began = at
	}
}

// state notes the state of a contender. It is called before Lock and Unlock
// and after them, so two that hold the lock by it do so indeed.
func (r *recording) state(contender int, state, text string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := contenderName(contender)
	at := time.Since(r.began)
	r.marks = append(r.marks, explore.Mark{At: at, Kind: "state", Who: name, State: state, Text: text})
	r.holders = slices.DeleteFunc(r.holders, func(c int) bool { return c == contender })
	if state != "holds" {
		return
	}
	r.holders = append(r.holders, contender)
	if len(r.holders) == 1 {
		return
	}
	v := explore.Violation{Kind: explore.TwoHolders, Who: name, What: contenderName(r.holders[0]) + " and " + name + " hold the lock at once"}
	r.marks = append(r.marks, explore.Mark{At: at, Kind: "violation", Violation: v.Kind, Who: v.Who, Text: v.What})
	if r.found == nil {
		r.found = &v
	}
}

// contenderName is what the lab calls a contender: A to Z, A2 to Z2, and so on.
func contenderName(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i/26 + 1)
	}
	return name
}

// clientName is the name of a client: that of its contender, if it has one and
// the others have, too.
func (r *recording) clientName(i int) string {
	switch len(r.conns) {
	case r.n:
		return contenderName(i)
	case 1:
		return "client"
	}
	return "client " + strconv.Itoa(i+1)
}

func (r *recording) contendersOf(client int) (names []string) {
	for i := client; i < r.n; i += len(r.conns) {
		names = append(names, contenderName(i))
	}
	return names
}

// log returns what has crossed the wire since the beginning, and is as far as
// the counts are: the tap counts a packet just before it logs it.
func (r *recording) log(before wiretap.Counts) (log []wiretap.Entry, counts wiretap.Counts) {
	for range 1000 {
		counts = r.tap.Counts()
		log = r.tap.Log()
		if i := slices.IndexFunc(log, func(e wiretap.Entry) bool { return !e.Time.Before(r.began) }); i >= 0 {
			log = log[i:]
		} else {
			log = nil
		}
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

// A traveller is a request with its reply, or an event.
type traveller struct {
	client    int
	asked     wiretap.Entry // of an event: the event
	answer    wiretap.Entry
	answered  bool
	lost      time.Duration // if its connection has ended: when that was known
	sent      time.Duration // by the client
	at        time.Duration // at the server
	came      time.Duration // to the client
	cause     *traveller    // of an event: the write that has caused it, and
	armed     *traveller    // the read that has set the watch; nil: unknown
	heardFrom time.Duration // of a write: when its first event or reply came
}

func (t *traveller) event() bool { return t.asked.Kind == wiretap.Event }

// writes says whether it has changed something, in a transaction of its own.
func (t *traveller) writes() bool {
	if t.event() || !t.answered || t.answer.Err != jute.OK {
		return false
	}
	switch t.asked.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpSetData, jute.OpMulti, jute.OpCloseSession:
		return true
	}
	return false
}

func (t *traveller) creates() bool {
	switch t.asked.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return t.writes()
	}
	return false
}

// causes says whether a write causes an event.
func (t *traveller) causes(e wiretap.Entry) bool {
	p := t.answer.Path
	switch e.Event {
	case jute.EventCreated:
		return t.creates() && p == e.Path
	case jute.EventDeleted:
		return t.asked.Op == jute.OpDelete && p == e.Path
	case jute.EventDataChanged:
		return t.asked.Op == jute.OpSetData && p == e.Path
	case jute.EventChildrenChanged:
		return (t.creates() || t.asked.Op == jute.OpDelete) && path.Dir(p) == e.Path
	}
	return false
}

// sets returns the watch that a read has set.
func (t *traveller) sets() (of string, ok bool) {
	if t.event() || !t.answered || !t.asked.Watch {
		return "", false
	}
	switch t.asked.Op {
	case jute.OpGetChildren, jute.OpGetChildren2:
		return "children", t.answer.Err == jute.OK
	case jute.OpExists:
		return "node", t.answer.Err == jute.OK || t.answer.Err == jute.ErrNoNode
	}
	return "node", t.answer.Err == jute.OK
}

// travellers pairs requests with replies.
func (r *recording) travellers(log []wiretap.Entry) (list []*traveller, cuts []explore.Mark) {
	type key struct {
		conn int
		xid  int32
	}
	pending := make(map[key]*traveller)
	byConn := make(map[int]int)
	for _, e := range r.tap.Log() {
		if i, ok := r.own[e.Session]; ok {
			byConn[e.Conn] = i
		}
	}
	for _, e := range log {
		client, ok := byConn[e.Conn]
		if !ok {
			continue // a session that has ended before it was known
		}
		at := e.Time.Sub(r.began)
		k := key{e.Conn, e.Xid}
		switch {
		case e.Op == jute.OpConnect && e.Kind == wiretap.Request:
			for k, t := range pending {
				if t.client == client && k.conn != e.Conn {
					t.lost = at
					delete(pending, k)
				}
			}
			cuts = append(cuts, explore.Mark{At: at, Kind: "client", Who: r.clientName(client), State: "cut off"})
		case e.Op == jute.OpConnect:
			cuts = append(cuts, explore.Mark{At: at, Kind: "client", Who: r.clientName(client), State: "connected"})
		case e.Kind == wiretap.Request:
			t := &traveller{client: client, asked: e, sent: at}
			pending[k] = t
			list = append(list, t)
		case e.Kind == wiretap.Event:
			list = append(list, &traveller{client: client, asked: e, sent: -1, came: at})
		case pending[k] != nil:
			t := pending[k]
			t.answer, t.answered, t.came, t.heardFrom = e, true, at, at
			delete(pending, k)
		}
	}
	return list, cuts
}

// server finds the instants of the server. Each lies between the request and
// the reply, in the middle if nothing speaks against it; but the server's
// transactions have numbers, so they must be in that order, an event comes
// from a transaction, and a read that has seen one comes after it.
func server(list []*traveller) {
	var writes []*traveller
	var way time.Duration // of a packet, on average
	answered := 0
	for _, t := range list {
		if t.writes() {
			writes = append(writes, t)
		}
		if t.answered {
			way += (t.came - t.sent) / 2
			answered++
		}
	}
	way /= time.Duration(max(1, answered))
	slices.SortStableFunc(writes, func(a, b *traveller) int { return cmp.Compare(a.answer.Zxid, b.answer.Zxid) })
	since := func(zxid int64) int { // the first write after that number
		i, _ := slices.BinarySearchFunc(writes, zxid+1, func(w *traveller, z int64) int { return cmp.Compare(w.answer.Zxid, z) })
		return i
	}

	// The cause of an event is the first fitting write after the watch was set.
	type watch struct {
		client int
		path   string
		of     string
	}
	armed := make(map[watch]*traveller)
	for _, t := range inOrderOfArrival(list) {
		if of, ok := t.sets(); ok {
			k := watch{t.client, t.asked.Path, of}
			if armed[k] == nil {
				armed[k] = t
			}
		}
		if !t.event() {
			continue
		}
		for _, of := range []string{"node", "children"} {
			if of == "children" && t.asked.Event != jute.EventChildrenChanged && t.asked.Event != jute.EventDeleted || of == "node" && t.asked.Event == jute.EventChildrenChanged {
				continue
			}
			k := watch{t.client, t.asked.Path, of}
			if t.armed == nil {
				t.armed = armed[k]
			}
			delete(armed, k)
		}
		if t.armed == nil {
			continue
		}
		for _, w := range writes[since(t.armed.answer.Zxid):] {
			if w.causes(t.asked) {
				t.cause = w
				w.heardFrom = min(w.heardFrom, t.came)
				break
			}
		}
	}

	earliest, latest := make([]time.Duration, len(writes)), make([]time.Duration, len(writes))
	for i, w := range writes {
		if earliest[i] = w.sent; i > 0 {
			earliest[i] = max(earliest[i], earliest[i-1])
		}
	}
	for i, w := range slices.Backward(writes) {
		if latest[i] = w.heardFrom; i+1 < len(writes) {
			latest[i] = min(latest[i], latest[i+1])
		}
	}
	// Middles in the wrong order: either the earlier ones are moved on or the
	// later ones back. What lies between the two is in order, too.
	middle := func(i int) time.Duration {
		return max(earliest[i], min((writes[i].sent+writes[i].came)/2, latest[i]))
	}
	on, back := make([]time.Duration, len(writes)), make([]time.Duration, len(writes))
	for i := range writes {
		if on[i] = middle(i); i > 0 {
			on[i] = max(on[i], on[i-1])
		}
	}
	for i := len(writes) - 1; i >= 0; i-- {
		if back[i] = middle(i); i+1 < len(writes) {
			back[i] = min(back[i], back[i+1])
		}
	}
	instants := make([]time.Duration, len(writes))
	for i := range writes {
		instants[i] = (on[i] + back[i]) / 2
	}
	for from := 0; from < len(writes); {
		to := from + 1
		for to < len(writes) && instants[to] == instants[from] {
			to++
		}
		// Those that all fall on one instant, as of contenders that start
		// together, are spread evenly around it.
		least, most := earliest[to-1], latest[from]
		if from > 0 {
			least = max(least, writes[from-1].at)
		}
		if to < len(writes) {
			most = min(most, instants[to])
		}
		room := max(0, min(instants[from]-least, most-instants[from])) / 2
		for i, w := range writes[from:to] {
			w.at = instants[from] - room + room*time.Duration(2*i+1)/time.Duration(to-from)
			w.at = max(w.sent, min(w.at, w.came)) // the servers of an ensemble may tell of it late
		}
		from = to
	}

	// The others, between their neighbours on the connection.
	next := make([]time.Duration, len(list)) // when the next write of the same client was carried out
	known := make(map[int]time.Duration)
	for i := len(list) - 1; i >= 0; i-- {
		t := list[i]
		if at, ok := known[t.client]; ok {
			next[i] = at
		} else {
			next[i] = 1<<63 - 1
		}
		if t.writes() {
			known[t.client] = t.at
		}
	}
	before := make(map[int]time.Duration)
	for i, t := range list {
		if t.event() {
			continue
		}
		if !t.writes() {
			most := next[i]
			switch {
			case t.answered:
				most = min(most, t.came)
				t.at = (t.sent + t.came) / 2
			case t.lost != 0:
				t.at = min(t.sent+way, t.lost)
			default:
				t.at = t.sent + way
			}
			least := max(t.sent, before[t.client])
			if t.answered {
				j := since(t.answer.Zxid)
				if j > 0 {
					least = max(least, writes[j-1].at)
				}
				if j < len(writes) && writes[j].at >= least {
					most = min(most, writes[j].at)
				}
			}
			t.at = min(max(t.at, least), max(most, t.sent))
		}
		before[t.client] = max(before[t.client], t.at)
	}
	for _, t := range list {
		if !t.event() {
			continue
		}
		t.at = t.came - way
		if t.cause != nil {
			t.at = t.cause.at
		}
		if t.armed != nil {
			t.at = max(t.at, t.armed.at)
		}
		t.at = min(max(t.at, 0), t.came)
	}
}

func inOrderOfArrival(list []*traveller) []*traveller {
	list = slices.Clone(list)
	order := func(t *traveller) int {
		if t.answered {
			return t.answer.Order
		}
		return t.asked.Order
	}
	slices.SortStableFunc(list, func(a, b *traveller) int { return order(a) - order(b) })
	return list
}

// film makes the film of the run.
func (r *recording) film(res result, log []wiretap.Entry, there []string) (*explore.Film, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions()
	f := &explore.Film{
		Lock: res.Lock, Contenders: r.n, Shared: len(r.conns) == 1 && r.n > 1, Session: r.tap.SessionTimeout(r.conns[0].SessionID()), Recorded: true,
		Server:  res.Server + ", seen from the clients: the instants at the server are estimates",
		Changes: []explore.Change{}, Packets: []explore.Packet{}, Results: []string{}, Violation: r.found,
	}
	for i := range r.conns {
		f.Clients = append(f.Clients, explore.FilmClient{Name: r.clientName(i), Contenders: r.contendersOf(i)})
	}
	list, marks := r.travellers(log)
	server(list)
	for _, m := range slices.Concat(marks, r.marks) {
		f.End = max(f.End, m.At)
	}
	for _, t := range list {
		f.End = max(f.End, t.sent, t.at, t.came)
	}
	var ways time.Duration
	replies := make(map[*traveller]int)
	var packets []explore.Packet
	for _, t := range list {
		client := r.clientName(t.client)
		who := ""
		if c := f.Clients[t.client]; len(c.Contenders) == 1 {
			who = c.Contenders[0]
		}
		if t.event() {
			f.Counters.Events++
			packets = append(packets, explore.Packet{Client: client, Who: who, Kind: "event", Event: t.asked.Event.String(), Path: t.asked.Path, Sent: t.at, Arrived: t.came})
			continue
		}
		if t.asked.Op != jute.OpSetWatches && t.asked.Op != jute.OpCloseSession {
			f.Counters.Requests++
		}
		p := explore.Packet{Client: client, Who: who, Kind: "request", Op: t.asked.Op.String(), Path: t.asked.Path, Watch: t.asked.Watch, Sent: t.sent, Arrived: t.at}
		// Whether a request without a reply has reached the server is not known.
		switch {
		case t.answered:
		case t.lost != 0:
			p.Lost, p.Arrived = true, t.lost
		default:
			p.Pending, p.Arrived = true, f.End
		}
		packets = append(packets, p)
		if t.answered {
			replies[t] = len(packets)
			ways += t.came - t.sent
			// Of is the request's place for now.
			a := explore.Packet{Client: client, Who: who, Kind: "reply", Op: t.asked.Op.String(), Path: t.asked.Path, Watch: t.asked.Watch, Sent: t.at, Arrived: t.came, Of: len(packets), Error: errorText(t.answer.Err)}
			if t.creates() {
				a.Made = t.answer.Path
			}
			packets = append(packets, a)
		}
	}
	if len(packets) > maxRecordedPackets {
		return nil, fmt.Errorf("the run has %d packets, and the lab shows %d: lower -n", len(packets), maxRecordedPackets)
	}
	f.Latency = max(ways/time.Duration(2*max(1, len(replies))), time.Microsecond)
	f.Packets = number(packets)
	f.Marks, f.Counters.Wakeups = r.happened(list, marks, there, f)
	for i := range r.n {
		last := "outside"
		for _, m := range r.marks {
			if m.Kind == "state" && m.Who == contenderName(i) {
				last = cmp.Or(m.Text, m.State)
			}
		}
		f.Results = append(f.Results, contenderName(i)+": "+last)
	}
	if res.Predicted > 0 {
		predicted := int(res.Predicted)
		f.Formula.Requests = &predicted
	}
	f.Seal()
	return f, nil
}

// number puts packets into the order in which they are sent and numbers them.
func number(packets []explore.Packet) []explore.Packet {
	order := make([]int, len(packets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(packets[a].Sent, packets[b].Sent) })
	id := make([]int, len(packets))
	for place, i := range order {
		id[i] = place + 1
	}
	sorted := make([]explore.Packet, len(packets))
	for place, i := range order {
		p := packets[i]
		p.ID = place + 1
		if p.Of != 0 {
			p.Of = id[p.Of-1]
		}
		sorted[place] = p
	}
	return sorted
}

// happened derives from the packets what comes to nodes and watches at the
// server, and which contenders are woken.
func (r *recording) happened(list []*traveller, marks []explore.Mark, there []string, f *explore.Film) (all []explore.Mark, wakeups int) {
	yes := func(b bool) *bool { return &b }
	type watch struct{ client, path, of string }
	nodes, watches := make(map[string]string), make(map[watch]int) // path → owner; how many have asked
	for _, p := range there {
		nodes[p] = ""
		all = append(all, explore.Mark{Kind: "node", Path: p, Made: yes(true)})
	}
	rank := func(t *traveller) int { // of what happens at one instant
		switch {
		case t.writes():
			return 0
		case t.event():
			return 1
		}
		return 2 // its watch is set after the event, and is another one
	}
	zxid := func(t *traveller) int64 {
		switch {
		case t.cause != nil:
			return t.cause.answer.Zxid
		case t.event():
			return 1<<63 - 1
		}
		return t.answer.Zxid
	}
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *traveller) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(zxid(a), zxid(b)), rank(a)-rank(b))
	})
	for _, t := range order {
		client := r.clientName(t.client)
		p := t.answer.Path
		if of, ok := t.sets(); ok {
			k := watch{client, t.asked.Path, of}
			if watches[k]++; watches[k] == 1 {
				all = append(all, explore.Mark{At: t.at, Kind: "watch", Client: client, Path: k.path, Of: of, Set: yes(true)})
			}
		}
		switch owner, is := nodes[p]; {
		case t.creates() && !is:
			owner := ""
			if t.asked.Ephemeral {
				owner = client
			}
			nodes[p] = owner
			all = append(all, explore.Mark{At: t.at, Kind: "node", Path: p, Owner: owner, Made: yes(true)})
		case t.writes() && t.asked.Op == jute.OpDelete && is:
			delete(nodes, p)
			all = append(all, explore.Mark{At: t.at, Kind: "node", Path: p, Owner: owner, Made: yes(false)})
		case t.writes() && t.asked.Op == jute.OpCloseSession:
			var gone []string
			for p, owner := range nodes {
				if owner == client {
					gone = append(gone, p)
				}
			}
			slices.Sort(gone)
			for _, p := range gone {
				delete(nodes, p)
				all = append(all, explore.Mark{At: t.at, Kind: "node", Path: p, Owner: client, Made: yes(false)})
			}
		}
		if !t.event() {
			continue
		}
		for _, of := range []string{"node", "children"} {
			if of == "children" && t.asked.Event != jute.EventChildrenChanged && t.asked.Event != jute.EventDeleted || of == "node" && t.asked.Event == jute.EventChildrenChanged {
				continue
			}
			k := watch{client, t.asked.Path, of}
			n := watches[k]
			if n == 0 {
				continue
			}
			delete(watches, k)
			all = append(all, explore.Mark{At: t.at, Kind: "watch", Client: client, Path: k.path, Of: of, Set: yes(false)})
			// The client tells each contender that has asked.
			who := client
			if c := f.Clients[t.client]; len(c.Contenders) == 1 {
				who = c.Contenders[0]
			}
			for range n {
				wakeups++
				marks = append(marks, explore.Mark{At: t.came, Kind: "wakeup", Who: who})
			}
		}
	}
	all = slices.Concat(all, marks, r.marks)
	slices.SortStableFunc(all, func(a, b explore.Mark) int { return cmp.Compare(a.At, b.At) })
	return all, wakeups
}

func errorText(c jute.Code) string {
	switch c {
	case jute.OK:
		return ""
	case jute.ErrNoNode:
		return "no node"
	case jute.ErrNodeExists:
		return "node exists"
	}
	return fmt.Sprintf("error %d", c)
}

func writeFilm(w io.Writer, f *explore.Film) error {
	if f == nil {
		return errors.New("there is no run to write")
	}
	return json.NewEncoder(w).Encode(f)
}
