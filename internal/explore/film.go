package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"example.com/zklock/internal/jute"
)

// A Film is a schedule as something to look at: each packet with its departure
// and its arrival, and what the server, the clients and the contenders came to
// meanwhile. What a page shows at an instant follows from the film and that
// instant alone. All instants are virtual time since the start.
type Film struct {
	Lock       string        `json:"lock"`
	Contenders int           `json:"contenders"`
	Shared     bool          `json:"shared"`
	Latency    time.Duration `json:"latency_ns"` // mean, of one way
	Session    time.Duration `json:"session_ns"` // the session timeout
	Seed       uint64        `json:"seed"`
	Changes    []Change      `json:"changes"`
	Clients    []FilmClient  `json:"clients"`
	End        time.Duration `json:"end_ns"`
	Packets    []Packet      `json:"packets"` // in order of departure
	Marks      []Mark        `json:"marks"`   // in order of time
	Counters   Counters      `json:"counters"`
	Formula    Formula       `json:"formula"`
	Results    []string      `json:"results"` // what became of each contender
	Violation  *Violation    `json:"violation"`
	// Known is the name of the Known that the violation is, if it is one.
	Known string `json:"known,omitempty"`
	Hash  string `json:"hash"` // SHA-256 of packets and marks
	// Where each contender is in the lock's source, in order of time, and the
	// lines that this names; none if the contenders are many.
	Where  []Where `json:"where,omitempty"`
	Places []Place `json:"places,omitempty"`
	// Choices are those of a schedule that a person or the explorer has chosen.
	Choices []FilmChoice `json:"choices,omitempty"`
	// Recorded: it was not played, but written down on the clients' side of
	// the Server that it names.
	Recorded bool   `json:"recorded,omitempty"`
	Server   string `json:"server,omitempty"`
	// System is what the server is, if it is not a ZooKeeper; then the packets
	// have a Text.
	System string `json:"system,omitempty"`
}

// A FilmChoice is a choice with its instant. If it lets the server carry out a
// request, that has an Op and a Path.
type FilmChoice struct {
	At     time.Duration `json:"at_ns"`
	Choice string        `json:"choice"`
	Op     string        `json:"op,omitempty"`
	Path   string        `json:"path,omitempty"`
}

// A FilmClient is a client with its contenders.
type FilmClient struct {
	Name       string   `json:"name"`
	Contenders []string `json:"contenders"`
}

// A Packet is a request, a reply or an event on its way.
type Packet struct {
	ID     int    `json:"id"` // from 1
	Client string `json:"client"`
	// The contender that a request belongs to, where that is known: a client
	// with one contender has no other.
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
	Lost    bool          `json:"lost,omitempty"`    // it never arrives; Arrived is when that is decided
	Pending bool          `json:"pending,omitempty"` // it is still on its way at the end of the film
	Of      int           `json:"of,omitempty"`      // of a reply: the request
	Text    string        `json:"text,omitempty"`    // to or from another system: what it says
}

// A Mark is a change of state at an instant. Which fields it has depends on
// its Kind:
//
//	"state"      a contender (Who) is "outside", "waits", "holds", "unlocks", "done" or "failed"
//	"client"     a client (Who) is "unconnected" as yet, "connected", "cut off", "expired", "stopped" or "runs on"
//	"lost"       a contender holds the lock and has lost it; Knows: the lock has told it; Token: its fencing token, if it has one
//	"node"       a znode is made or removed; Owner is the client whose session owns it
//	"watch"      a watch of a Client on a Path is set or gone; Of is "node" or "children"
//	"wakeup"     an event wakes a waiting contender
//	"violation"  Violation is the Kind
//	"note"       a remark
type Mark struct {
	At        time.Duration `json:"at_ns"`
	Kind      string        `json:"kind"`
	Who       string        `json:"who,omitempty"`
	State     string        `json:"state,omitempty"`
	Text      string        `json:"text,omitempty"`
	Knows     *bool         `json:"knows,omitempty"`
	Token     int64         `json:"token,omitempty"`
	Path      string        `json:"path,omitempty"`
	Made      *bool         `json:"made,omitempty"`
	Owner     string        `json:"owner,omitempty"`
	Client    string        `json:"client,omitempty"`
	Of        string        `json:"of,omitempty"`
	Set       *bool         `json:"set,omitempty"`
	Violation Kind          `json:"violation,omitempty"`
	Known     string        `json:"known,omitempty"`
}

// Counters are sums over a film.
type Counters struct {
	Requests int `json:"requests"` // that the contenders have sent
	Events   int `json:"events"`   // that have arrived
	Wakeups  int `json:"wakeups"`  // waiting contenders that events have woken
}

// A Formula is what is predicted at most for a film without faults; null: not
// known.
type Formula struct {
	Requests *int `json:"requests"`
	Events   *int `json:"events"`
}

// A recorder makes the film of a schedule. Nil records nothing. Its methods
// need world.mu.
type recorder struct {
	w    *world
	film Film
	// clock, where the film is of a schedule in which time mostly does not
	// pass: each action gets a while of its own beside the time that passes.
	clock time.Duration
	slots bool

	nodes   map[string]string       // path → owner
	watches []map[watchKey]struct{} // of each client
	seen    map[watchKey]struct{}   // to be used again
	asked   map[watchKey][]string   // contenders of a client that have asked to be woken; "": it is not known which
	on      map[int]int             // id of a packet on its way → its index
	knows   map[*contender]bool
	said    map[Violation]bool
	states  map[string]string // of clients
	places  map[Place]int     // → index in film.Places
	at      map[*contender]string
}

type watchKey struct {
	path     string
	client   int
	children bool
}

func (k watchKey) of() string {
	if k.children {
		return "children"
	}
	return "node"
}

func newRecorder(w *world) *recorder {
	r := &recorder{w: w, nodes: make(map[string]string), seen: make(map[watchKey]struct{}), asked: make(map[watchKey][]string),
		on: make(map[int]int), knows: make(map[*contender]bool), said: make(map[Violation]bool), states: make(map[string]string),
		places: make(map[Place]int), at: make(map[*contender]string)}
	r.film.Packets, r.film.Marks, r.film.Changes, r.film.Results = []Packet{}, []Mark{}, []Change{}, []string{}
	return r
}

func (r *recorder) now() time.Duration {
	if r.slots {
		return r.clock + time.Since(r.w.start) // what passes while a client waits to connect, for example
	}
	return time.Since(r.w.start)
}

// begin notes what is there at the start.
func (r *recorder) begin() {
	for _, c := range r.w.clients {
		r.watches = append(r.watches, make(map[watchKey]struct{}))
		f := FilmClient{Name: c.name}
		for _, k := range c.players {
			f.Contenders = append(f.Contenders, k.name)
		}
		r.film.Clients = append(r.film.Clients, f)
		if c.session == 0 {
			r.client(c, "unconnected")
		}
	}
	r.scanNodes()
	r.scanWatches()
}

func (r *recorder) mark(m Mark) {
	m.At = r.now()
	r.film.Marks = append(r.film.Marks, m)
}

func yes(b bool) *bool { return &b }

func (r *recorder) note(who, text string) {
	if r != nil {
		r.mark(Mark{Kind: "note", Who: who, Text: text})
	}
}

// client notes the state of a client.
func (r *recorder) client(c *client, state string) {
	if r == nil || r.states[c.name] == state {
		return
	}
	r.states[c.name] = state
	r.mark(Mark{Kind: "client", Who: c.name, State: state})
}

// brokenLocked notes, in a film of a schedule of choices, which clients have
// lost their connection without a fault: the lock has closed them.
func (r *recorder) brokenLocked() {
	if r == nil || !r.slots || r.w.free {
		return
	}
	for _, c := range r.w.clients {
		if now := r.states[c.name]; c.line != nil && c.line.broken && !c.stopped && (now == "" || now == "connected" || now == "runs on") {
			r.client(c, "cut off")
		}
	}
}

func (r *recorder) violation(v Violation, known string) {
	if r == nil || r.said[v] {
		return
	}
	r.said[v] = true
	r.mark(Mark{Kind: "violation", Violation: v.Kind, Who: v.Who, Text: v.What, Known: known})
	if r.film.Violation == nil || r.film.Known != "" && known == "" {
		r.film.Violation, r.film.Known = &v, known
	}
}

// send notes a packet that departs, and gives it its number.
func (r *recorder) send(c *client, p *packet, kind string) {
	if r == nil {
		return
	}
	out := Packet{ID: len(r.film.Packets) + 1, Client: c.name, Kind: kind, Op: p.op.String(), Path: p.path, Watch: p.watch, Sent: r.now(), Pending: true}
	out.Who = p.tag
	if len(c.players) == 1 {
		out.Who = c.players[0].name
	}
	switch kind {
	case "event":
		out.Op, out.Event = "", p.event.String()
	case "reply":
		out.Made, out.Names, out.Error, out.Of = p.made, p.names, code(p.err), p.of
	}
	p.id = out.ID
	r.on[p.id] = len(r.film.Packets)
	r.film.Packets = append(r.film.Packets, out)
}

// arrive notes that a packet has arrived, or is lost.
func (r *recorder) arrive(p *packet, lost bool) {
	if r == nil {
		return
	}
	i, ok := r.on[p.id]
	if !ok {
		return
	}
	delete(r.on, p.id)
	out := &r.film.Packets[i]
	out.Arrived, out.Lost, out.Pending = r.now(), lost, false
}

// slot is how long an action lasts in a film of a schedule of choices.
const slot = 200 * time.Millisecond

// tick lets time pass in a film of a schedule of choices.
func (r *recorder) tick(d time.Duration) {
	if r != nil && r.slots {
		r.clock += d
	}
}

// departLocked notes, in a film of a schedule of choices, what the server has
// sent and what has changed there. A paced run does it when it gives the
// packets their instants.
func (r *recorder) departLocked() {
	if r == nil || !r.slots || r.w.free {
		return
	}
	for _, c := range r.w.clients {
		if c.line == nil {
			continue
		}
		for i := range c.line.down {
			if p := &c.line.down[i]; p.id == 0 {
				r.send(c, p, p.kind())
			}
		}
	}
	r.scan()
}

// askedLocked notes that a request asks for a watch.
func (r *recorder) askedLocked(c *client, p packet) {
	if r != nil && p.watch {
		k := watchKey{p.path, c.index, p.op == jute.OpGetChildren || p.op == jute.OpGetChildren2}
		r.asked[k] = append(r.asked[k], p.tag)
	}
}

// executed notes what a request has changed at the server; its reply is on
// the way down.
func (r *recorder) executed(c *client, p packet) {
	if r == nil {
		return
	}
	switch p.op {
	case jute.OpGetData, jute.OpExists, jute.OpGetChildren, jute.OpGetChildren2:
		if p.watch {
			r.scanWatches(c)
		}
	case jute.OpSync, jute.OpPing:
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete:
		// Only one that has succeeded changes anything.
		if c.line.failedLast {
			return
		}
		r.scan()
	default:
		r.scan()
	}
}

// scan looks for what has changed at the server.
func (r *recorder) scan() {
	if r != nil {
		r.scanNodes()
		r.scanWatches()
	}
}

func (r *recorder) scanNodes() {
	srv := r.w.srv
	seen := make(map[string]string, len(r.nodes))
	var walk func(at string)
	walk = func(at string) {
		for _, name := range srv.Children(at) {
			p := path.Join(at, name)
			if p == "/zookeeper" {
				continue
			}
			owner := ""
			if n, ok := srv.Node(p); ok && n.Stat.EphemeralOwner != 0 {
				owner = r.w.ownerLocked(n.Stat.EphemeralOwner)
			}
			seen[p] = owner
			walk(p)
		}
	}
	walk("/")
	var list []Mark
	for p, owner := range r.nodes {
		if now, ok := seen[p]; !ok || now != owner {
			list = append(list, Mark{Kind: "node", Path: p, Owner: owner, Made: yes(false)})
		}
	}
	for p, owner := range seen {
		if before, ok := r.nodes[p]; !ok || before != owner {
			list = append(list, Mark{Kind: "node", Path: p, Owner: owner, Made: yes(true)})
		}
	}
	slices.SortFunc(list, func(a, b Mark) int {
		order := func(m Mark) int {
			if *m.Made {
				return 1
			}
			return 0
		}
		return cmp.Or(order(a)-order(b), cmp.Compare(a.Path, b.Path))
	})
	for _, m := range list {
		r.mark(m)
	}
	r.nodes = seen
}

// scanWatches looks at the watches of clients, all if none is named.
func (r *recorder) scanWatches(clients ...*client) {
	if len(clients) == 0 {
		clients = r.w.clients
	}
	var gone, set []watchKey
	for _, c := range clients {
		clear(r.seen)
		for _, x := range r.w.srv.WatchesOf(c.conn.SessionID()) {
			k := watchKey{x.Path, c.index, x.Children}
			r.seen[k] = struct{}{}
			if _, ok := r.watches[c.index][k]; !ok {
				set = append(set, k)
			}
		}
		for k := range r.watches[c.index] {
			if _, ok := r.seen[k]; !ok {
				gone = append(gone, k)
				delete(r.watches[c.index], k)
			}
		}
	}
	r.markWatches(gone, false)
	r.markWatches(set, true)
	for _, k := range set {
		r.watches[k.client][k] = struct{}{}
	}
}

func (r *recorder) markWatches(list []watchKey, set bool) {
	slices.SortFunc(list, func(a, b watchKey) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.client, b.client), cmp.Compare(a.of(), b.of()))
	})
	for _, k := range list {
		r.mark(Mark{Kind: "watch", Client: r.w.clients[k.client].name, Path: k.path, Of: k.of(), Set: yes(set)})
	}
}

// woken notes which waiting contenders an event wakes.
func (r *recorder) woken(c *client, p packet) {
	if r == nil {
		return
	}
	var asked []string
	for _, children := range []bool{false, true} {
		if children && p.event != jute.EventChildrenChanged && p.event != jute.EventDeleted || !children && p.event == jute.EventChildrenChanged {
			continue
		}
		k := watchKey{p.path, c.index, children}
		asked = append(asked, r.asked[k]...)
		delete(r.asked, k)
	}
	var waits []string
	for _, k := range c.players {
		if k.state == waiting {
			waits = append(waits, k.name)
		}
	}
	if w := r.w; w.tagged {
		waits = slices.DeleteFunc(waits, func(name string) bool { return !slices.Contains(asked, name) })
	}
	for i := range min(len(asked), len(waits)) {
		who := c.name
		if len(c.players) == 1 || r.w.tagged {
			who = waits[i]
		}
		r.film.Counters.Wakeups++
		r.mark(Mark{Kind: "wakeup", Who: who})
	}
}

// state notes the state of a contender.
func (r *recorder) state(k *contender, text string) {
	if r == nil {
		return
	}
	state := map[string]string{waiting: "waits", inside: "holds", unlocking: "unlocks"}[k.state]
	r.w.unnoted = true
	k.marks = append(k.marks, Mark{Kind: "state", Who: k.name, State: cmp.Or(state, k.state), Text: text})
}

// flush puts what the contenders have come to into the film.
func (r *recorder) flush(k *contender) {
	if r == nil {
		return
	}
	for _, m := range k.marks {
		r.mark(m)
		if m.State != "holds" {
			delete(r.knows, k)
		}
	}
	k.marks = nil
	if k.state != inside || k.c.stopped {
		return
	}
	if leased, ok := k.lock.(Leased); ok && !r.knows[k] && isClosed(leased.Lost()) {
		r.lost(k, true)
	}
}

// lost notes that a holder has lost the lock.
func (r *recorder) lost(k *contender, knows bool) {
	if r == nil {
		return
	}
	if knows {
		r.knows[k] = true
	}
	if !knows && r.knows[k] {
		return
	}
	m := Mark{Kind: "lost", Who: k.name, Knows: yes(knows)}
	if leased, ok := k.lock.(Leased); ok {
		m.Token = leased.Token()
	}
	r.mark(m)
}

// known returns how much of the film nothing can change any more: what is
// before the departure of the first packet that is still on its way. End is the
// last instant of it.
func (r *recorder) known() (packets, marks int, end time.Duration) {
	until := r.now()
	for _, i := range r.on {
		until = min(until, r.film.Packets[i].Sent)
	}
	packets, _ = slices.BinarySearchFunc(r.film.Packets, until, func(p Packet, t time.Duration) int { return cmp.Compare(p.Sent, t) })
	marks, _ = slices.BinarySearchFunc(r.film.Marks, until, func(m Mark, t time.Duration) int { return cmp.Compare(m.At, t) })
	return packets, marks, until - 1
}

// part returns the film as far as it is known.
func (r *recorder) part() *Film {
	packets, marks, end := r.known()
	f := r.film
	r.describe(&f)
	f.Packets, f.Marks, f.End = f.Packets[:packets:packets], f.Marks[:marks:marks], end
	return &f
}

// describe says what the film is about.
func (r *recorder) describe(f *Film) {
	w := r.w
	f.Lock, f.Contenders, f.Shared, f.Session = w.Lock.Name, w.contenders(), w.Shared, w.session()
	f.Counters.Requests, f.Counters.Events = w.run.Requests, w.run.Events
	if n := w.contenders(); len(w.Scripts) == 0 && !w.Missing && !w.Apart {
		if w.Lock.Requests != nil {
			x := w.Lock.Requests(n)
			f.Formula.Requests = &x
		}
		if w.Lock.Events != nil {
			x := w.Lock.Events(n)
			f.Formula.Events = &x
		}
	}
}

// finish returns the film.
func (r *recorder) finish(end time.Duration) *Film {
	w, f := r.w, &r.film
	r.describe(f)
	f.Results = w.run.Results
	for _, m := range f.Marks {
		end = max(end, m.At)
	}
	for _, p := range f.Packets {
		end = max(end, p.Arrived)
	}
	f.End = end
	end = f.End
	for _, i := range r.on {
		f.Packets[i].Arrived = end
	}
	f.Hash = f.hash()
	return f
}

func (f *Film) choices() []FilmChoice {
	if f == nil {
		return nil
	}
	return f.Choices
}

// Seal gives a film that was recorded elsewhere its hash.
func (f *Film) Seal() { f.Hash = f.hash() }

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
