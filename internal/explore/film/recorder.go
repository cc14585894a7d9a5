package film

import (
	"cmp"
	"path"
	"runtime"
	"slices"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// A recorder makes the film of a schedule. It is a Camera. Its methods
// are called with the player's lock held.
type recorder struct {
	w     *player.Player
	film  Film
	slots bool          // the film is of a schedule of choices, in which time mostly does not pass
	clock time.Duration // with slots: what the actions so far have lasted, beside the time that has passed

	clients    []client // by their indices
	contenders map[*player.Contender]*contender
	nodes      map[string]znode      // by path
	underway   []int                 // indices of the packets on their way
	violations []player.Violation    // that are marks already
	drawn      []string              // texts that were drawn at random, in order
	lastStacks []runtime.StackRecord // of all goroutines, at the last look
	stacks     []runtime.StackRecord // has room for the next look
}

// A client is a film's record of one.
type client struct {
	state   string
	watches map[watchKey]bool
	asked   map[watchKey][]string // contenders that have asked to be woken; "": it is not known which
}

// A contender is a film's record of one.
type contender struct {
	at        []Place
	variables []Variable
	marks     []Mark // its changes that have not been noted yet
	noticed   bool   // that it has lost the lock
}

// A znode is a film's record of one.
type znode struct {
	owner, session, data string
	czxid                int64
	version              int32
}

type watchKey struct {
	path     string
	children bool
}

// A watch is one of a client.
type watch struct {
	watchKey
	by *player.Client
}

func (k watchKey) of() string {
	if k.children {
		return "children"
	}
	return "node"
}

func newRecorder(w *player.Player) *recorder {
	r := &recorder{w: w, contenders: make(map[*player.Contender]*contender)}
	r.film.Packets, r.film.Marks, r.film.Changes, r.film.Results = []Packet{}, []Mark{}, []Change{}, []i18n.Text{}
	return r
}

func (r *recorder) now() time.Duration {
	if r.slots {
		return r.clock + time.Since(r.w.Start) // the time while a client waits to connect, for example
	}
	return time.Since(r.w.Start)
}

// begin notes the state at the start.
func (r *recorder) begin() {
	r.w.Camera = r
	for _, c := range r.w.Clients {
		r.clients = append(r.clients, client{watches: make(map[watchKey]bool), asked: make(map[watchKey][]string)})
		f := Client{Name: c.Name, Session: sessionNumber(c.Session)}
		for _, k := range c.Contenders {
			f.Contenders = append(f.Contenders, k.Name)
			r.contenders[k] = &contender{}
		}
		r.film.Clients = append(r.film.Clients, f)
		if c.Session == 0 {
			r.Client(c, "unconnected")
		}
	}
	r.scan()
	for _, k := range r.w.Contenders {
		r.State(k, i18n.Text{})
	}
}

func (r *recorder) mark(m Mark) {
	m.At = r.now()
	r.film.Marks = append(r.film.Marks, m)
}

// Note notes a remark.
func (r *recorder) Note(who string, text i18n.Text) {
	r.mark(Mark{Kind: "note", Who: who, Text: text})
}

// Client notes the state of a client.
func (r *recorder) Client(c *player.Client, state string) {
	is := &r.clients[c.Index].state
	if *is == state {
		return
	}
	*is = state
	m := Mark{Kind: "client", Who: c.Name, State: state}
	if state == "connected" {
		m.Session = sessionNumber(c.Session)
	}
	r.mark(m)
}

// broken notes, in a film of a schedule of choices, which clients have lost their connection without a fault: the lock
// has closed them.
func (r *recorder) broken() {
	if !r.slots {
		return
	}
	for _, c := range r.w.Clients {
		if c.Line == nil || !c.Line.Broken || c.Stopped {
			continue
		}
		if now := r.clients[c.Index].state; now == "" || now == "connected" || now == "runs on" { // "": since the start
			r.Client(c, "cut off")
		}
	}
}

// Violation notes a violation, once.
func (r *recorder) Violation(v player.Violation, known string) {
	if slices.Contains(r.violations, v) {
		return
	}
	r.violations = append(r.violations, v)
	r.mark(Mark{Kind: "violation", Violation: v.Kind, Who: v.Who, Text: v.What, Known: known})
	if r.film.Violation == nil || r.film.Known != "" && known == "" {
		r.film.Violation, r.film.Known = &v, known
	}
}

// send notes a packet that departs, and gives it its number.
func (r *recorder) send(c *player.Client, p *player.Frame, kind string) {
	out := Packet{ID: len(r.film.Packets) + 1, Client: c.Name, Kind: kind, Op: p.Op.String(), Path: p.Path, Watch: p.Watch, Sent: r.now(), Pending: true}
	out.Who = p.Tag
	if len(c.Contenders) == 1 {
		out.Who = c.Contenders[0].Name
	}
	switch kind {
	case "event":
		out.Op, out.Event = "", p.Event.String()
	case "reply":
		out.Made, out.Names, out.Error, out.Of = p.Made, p.Names, player.Code(p.Err), p.Of
	}
	p.ID = out.ID
	r.underway = append(r.underway, len(r.film.Packets))
	r.film.Packets = append(r.film.Packets, out)
}

// Arrived notes that a packet has arrived, or is lost.
func (r *recorder) Arrived(p *player.Frame, lost bool) {
	i := slices.Index(r.underway, p.ID-1)
	if i < 0 {
		return
	}
	r.underway = slices.Delete(r.underway, i, i+1)
	out := &r.film.Packets[p.ID-1]
	out.Arrived, out.Lost, out.Pending = r.now(), lost, false
}

// slot is how long an action lasts in a film of a schedule of choices.
const slot = 200 * time.Millisecond

// Action gives the next action its time, in a film of a schedule of choices.
func (r *recorder) Action() {
	if r.slots {
		r.clock += slot
	}
}

// Answer gives the server's packets their time on the way.
func (r *recorder) Answer() {
	if r.slots {
		r.clock += slot / 2
	}
}

// Sent notes a request. A paced run does it when it gives the request its instant.
func (r *recorder) Sent(c *player.Client, p *player.Frame) {
	if r.slots {
		r.send(c, p, "request")
	}
}

// Settled notes the state when all have got as far as they can.
func (r *recorder) Settled() {
	r.broken()
	r.where()
	r.variables()
}

// Depart notes, in a film of a schedule of choices, the server's packets
// and the changes at the server. A paced run does it when it gives the
// packets their instants.
func (r *recorder) Depart() {
	if !r.slots {
		return
	}
	for _, c := range r.w.Clients {
		if c.Line == nil {
			continue
		}
		for i := range c.Line.Down {
			if p := &c.Line.Down[i]; p.ID == 0 {
				r.send(c, p, p.Kind())
			}
		}
	}
	r.scan()
}

// Carried notes that a request asks for a watch.
func (r *recorder) Carried(c *player.Client, p player.Frame) {
	if p.Watch {
		k, asked := watchKey{p.Path, p.Op == jute.OpGetChildren || p.Op == jute.OpGetChildren2}, r.clients[c.Index].asked
		asked[k] = append(asked[k], p.Tag)
	}
}

// executed notes the changes that a request has made at the server; its reply is on
// the way down.
func (r *recorder) executed(c *player.Client, p player.Frame) {
	switch p.Op {
	case jute.OpGetData, jute.OpExists, jute.OpGetChildren, jute.OpGetChildren2:
		if p.Watch {
			r.scanWatches(c)
		}
	case jute.OpSync, jute.OpPing:
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete:
		// Only one that has succeeded changes anything.
		if c.Line.FailedLast {
			return
		}
		r.scan()
	default:
		r.scan()
	}
}

// scan looks for changes at the server.
func (r *recorder) scan() {
	r.scanNodes()
	r.scanWatches()
}

func (r *recorder) scanNodes() {
	srv := r.w.Srv
	seen := make(map[string]znode, len(r.nodes))
	var walk func(at string)
	walk = func(at string) {
		for _, name := range srv.Children(at) {
			p := path.Join(at, name)
			if p == "/zookeeper" {
				continue
			}
			n, ok := srv.Node(p)
			if !ok {
				continue // it is a name with nodes below it
			}
			z := znode{data: string(n.Data), czxid: n.Stat.Czxid, version: n.Stat.Version, session: sessionNumber(n.Stat.EphemeralOwner)}
			if n.Stat.EphemeralOwner != 0 {
				z.owner = r.w.OwnerLocked(n.Stat.EphemeralOwner)
			}
			seen[p] = z
			walk(p)
		}
	}
	walk("/")
	var list []Mark
	for p, z := range r.nodes {
		if now, ok := seen[p]; !ok || now.owner != z.owner {
			list = append(list, Mark{Kind: "node", Path: p, Owner: z.owner, Made: new(false)})
		}
	}
	for p, z := range seen {
		if before, ok := r.nodes[p]; !ok || before.owner != z.owner {
			list = append(list, Mark{
				Kind: "node", Path: p, Owner: z.owner, Made: new(true), Session: z.session, Data: z.data, Czxid: z.czxid})
		} else if before.version != z.version || before.czxid != z.czxid {
			list = append(list, Mark{Kind: "data", Path: p, Data: z.data, Czxid: z.czxid, Version: z.version})
		}
	}
	slices.SortFunc(list, func(a, b Mark) int {
		order := func(m Mark) int {
			switch {
			case m.Made == nil:
				return 2
			case *m.Made:
				return 1
			}
			return 0
		}
		return cmp.Or(order(a)-order(b), cmp.Compare(a.Path, b.Path))
	})
	for _, m := range list {
		m.Data = r.text(m.Data)
		r.mark(m)
	}
	r.nodes = seen
}

// scanWatches compares the watches of clients, all if none is given.
func (r *recorder) scanWatches(clients ...*player.Client) {
	if len(clients) == 0 {
		clients = r.w.Clients
	}
	var gone, set []watch
	for _, c := range clients {
		watches := r.clients[c.Index].watches
		for k := range watches {
			watches[k] = false
		}
		for _, x := range r.w.Srv.WatchesOf(c.Conn.SessionID()) {
			k := watchKey{x.Path, x.Children}
			if _, ok := watches[k]; !ok {
				set = append(set, watch{k, c})
			}
			watches[k] = true
		}
		for k, there := range watches {
			if !there {
				gone = append(gone, watch{k, c})
				delete(watches, k)
			}
		}
	}
	r.markWatches(gone, false)
	r.markWatches(set, true)
}

func (r *recorder) markWatches(list []watch, set bool) {
	slices.SortFunc(list, func(a, b watch) int {
		return cmp.Or(cmp.Compare(a.path, b.path), a.by.Index-b.by.Index, cmp.Compare(a.of(), b.of()))
	})
	for _, k := range list {
		r.mark(Mark{Kind: "watch", Client: k.by.Name, Path: k.path, Of: k.of(), Set: new(set)})
	}
}

// Woken notes which waiting contenders an event wakes.
func (r *recorder) Woken(c *player.Client, p player.Frame) {
	var asked []string
	mine := r.clients[c.Index].asked
	for _, children := range []bool{false, true} {
		if children && p.Event != jute.EventChildrenChanged && p.Event != jute.EventDeleted ||
			!children && p.Event == jute.EventChildrenChanged {
			continue // such a watch does not wait for such an event; the end of the node fires both
		}
		k := watchKey{p.Path, children}
		asked = append(asked, mine[k]...)
		delete(mine, k)
	}
	var waits []string
	for _, k := range c.Contenders {
		if k.State == player.Waiting {
			waits = append(waits, k.Name)
		}
	}
	if w := r.w; w.Tagged {
		waits = slices.DeleteFunc(waits, func(name string) bool { return !slices.Contains(asked, name) })
	}
	for i := range min(len(asked), len(waits)) {
		who := c.Name
		if len(c.Contenders) == 1 || r.w.Tagged {
			who = waits[i]
		}
		r.film.Counters.Wakeups++
		r.mark(Mark{Kind: "wakeup", Who: who})
	}
}

// State notes the state of a contender.
func (r *recorder) State(k *player.Contender, text i18n.Text) {
	state := map[string]string{player.Waiting: "waits", player.Inside: "holds", player.Unlocking: "unlocks"}[k.State]
	c := r.contenders[k]
	c.marks = append(c.marks, Mark{Kind: "state", Who: k.Name, State: cmp.Or(state, k.State), Text: text})
}

// Noted puts the changes of the contenders into the film.
func (r *recorder) Noted(k *player.Contender) {
	c := r.contenders[k]
	for _, m := range c.marks {
		if leased, ok := k.Lock.(player.Leased); ok && m.State == "holds" && k.State == player.Inside {
			m.Token = leased.Token()
		}
		r.mark(m)
		if m.State != "holds" {
			c.noticed = false
		}
	}
	c.marks = nil
	if k.State != player.Inside || k.Client.Stopped {
		return
	}
	if leased, ok := k.Lock.(player.Leased); ok && !c.noticed && bubble.IsClosed(leased.Lost()) {
		r.Lost(k, true)
	}
}

// Lost notes that a holder has lost the lock.
func (r *recorder) Lost(k *player.Contender, noticed bool) {
	c := r.contenders[k]
	if !noticed && c.noticed {
		return
	}
	c.noticed = noticed
	m := Mark{Kind: "lost", Who: k.Name, Knows: new(noticed)}
	if leased, ok := k.Lock.(player.Leased); ok {
		m.Token = leased.Token()
	}
	r.mark(m)
}

// part returns the part of the film that cannot change any more: it ends
// before the departure of the first packet that is still on its way.
func (r *recorder) part() *Film {
	until := r.now()
	for _, i := range r.underway {
		until = min(until, r.film.Packets[i].Sent)
	}
	f := r.film
	r.describe(&f)
	packets, _ := slices.BinarySearchFunc(f.Packets, until, func(p Packet, t time.Duration) int { return cmp.Compare(p.Sent, t) })
	marks, _ := slices.BinarySearchFunc(f.Marks, until, func(m Mark, t time.Duration) int { return cmp.Compare(m.At, t) })
	f.Packets, f.Marks, f.End = f.Packets[:packets:packets], f.Marks[:marks:marks], until-1
	return &f
}

// describe sets the fields of the film that are about all of it.
func (r *recorder) describe(f *Film) {
	w := r.w
	f.Lock, f.Contenders, f.Shared, f.Session = w.Lock.Name, w.Number(), w.Shared, w.Timeout()
	f.Counters.Requests, f.Counters.Events = w.Run.Requests, w.Run.Events
	if n := w.Number(); len(w.Scripts) == 0 && !w.Missing && !w.Apart {
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
	w.Camera = player.NoCamera{}
	r.describe(f)
	f.Results = w.Run.Results
	for _, m := range f.Marks {
		end = max(end, m.At)
	}
	for _, p := range f.Packets {
		end = max(end, p.Arrived)
	}
	f.End = end
	for _, i := range r.underway {
		f.Packets[i].Arrived = end
	}
	f.Hash = f.hash()
	return f
}
