package film

import (
	"cmp"
	"maps"
	"path"
	"runtime"
	"slices"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
)

// A recorder makes the film of a schedule: it is the player's Camera, and called with the player's lock held. There are
// two kinds of films. In that of a chosen schedule (screen.go) virtual time mostly stops, and each action lasts a slot.
// In that of a run in time (pace.go) a pacer sets the instant of each packet, and has the recorder add it.
type recorder struct {
	w     *player.Player
	film  Film
	slot  time.Duration // how long each action of a chosen schedule lasts; 0: a pacer sets the instants
	clock time.Duration // what the actions so far have lasted, beside the virtual time that has passed

	// What was there at the last look, and is compared with what is there now.
	clients    []knownClient // by their indices
	contenders map[*player.Contender]*knownContender
	nodes      map[string]knownNode  // by path
	lastStacks []runtime.StackRecord // of all goroutines
	stacks     []runtime.StackRecord // has room for the next look

	underway    []int              // indices of the packets on their way
	violations  []player.Violation // that are marks already
	randomTexts []string           // texts that were drawn at random, in order
}

// A knownClient, a knownContender and a knownNode are as the film shows them so far.
type knownClient struct {
	state   string
	watches map[watchKey]bool
	asked   map[watchKey][]string // contenders that have asked to be woken; "": it is not known which
}

type knownContender struct {
	at        []Place
	variables []Variable
	marks     []Mark // its changes of state until Noted: the contender's goroutine is still on its way in the lock
	noticed   bool   // the film shows that it has noticed the loss of its lock
}

type knownNode struct {
	owner, session, data string
	czxid                int64
	version              int32
}

type watchKey struct {
	path     string
	children bool
}

// A watch is one that a client has set.
type watch struct {
	watchKey
	by *player.Client
}

// of is what the watch is of, as a Mark has it.
func (k watchKey) of() string {
	if k.children {
		return "children"
	}
	return "node"
}

func newRecorder(w *player.Player) *recorder {
	r := &recorder{w: w, contenders: make(map[*player.Contender]*knownContender)}
	r.film.Packets, r.film.Marks = []Packet{}, []Mark{} // not null in JSON
	r.film.Changes, r.film.Results = []Change{}, []i18n.Text{}
	return r
}

// now is the instant in the film. In a run in time the clock stays at 0.
func (r *recorder) now() time.Duration { return r.clock + time.Since(r.w.Start) }

// begin makes the recorder the player's Camera, and records the start.
func (r *recorder) begin() {
	r.w.Camera = r
	for _, c := range r.w.Clients {
		r.clients = append(r.clients, knownClient{watches: make(map[watchKey]bool), asked: make(map[watchKey][]string)})
		shown := Client{Name: c.Name, Session: sessionNumber(c.Session)}
		for _, k := range c.Contenders {
			shown.Contenders = append(shown.Contenders, k.Name)
			r.contenders[k] = &knownContender{}
		}
		r.film.Clients = append(r.film.Clients, shown)
		if c.Session == 0 {
			r.Client(c, "unconnected")
		}
	}
	r.scan()
	for _, k := range r.w.Contenders {
		r.State(k, "")
	}
}

// mark adds a mark at the instant that it is now.
func (r *recorder) mark(m Mark) {
	m.At = r.now()
	r.film.Marks = append(r.film.Marks, m)
}

func (r *recorder) Note(who string, text i18n.Text) {
	r.mark(Mark{Kind: "note", Who: who, Text: text})
}

func (r *recorder) Client(c *player.Client, state string) {
	known := &r.clients[c.Index]
	if known.state == state {
		return
	}
	known.state = state
	m := Mark{Kind: "client", Who: c.Name, State: state}
	if state == "connected" {
		m.Session = sessionNumber(c.Session)
	}
	r.mark(m)
}

// noteClosed notes, in a chosen schedule, the clients that have lost their connection without a fault, or were closed.
func (r *recorder) noteClosed() {
	for _, c := range r.w.Clients {
		if r.slot == 0 || c.Line == nil || !c.Line.Broken || c.Stopped {
			continue
		}
		state := "closed"
		if _, lives := r.w.Srv.Ephemerals(c.Session); lives {
			state = "cut off"
		}
		shownConnected := []string{"", "connected", "runs on"} // "": connected since the start
		if slices.Contains(shownConnected, r.clients[c.Index].state) {
			r.Client(c, state)
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
	saysMore := r.film.Known != "" && known == "" // one that is not known says more than a known one
	if r.film.Violation == nil || saysMore {
		r.film.Violation, r.film.Known = &v, known
	}
}

// addPacket adds a packet that departs now, and gives it its number.
func (r *recorder) addPacket(c *player.Client, p *player.Frame, kind string) {
	out := Packet{ID: len(r.film.Packets) + 1, Client: c.Name, Kind: kind, Op: p.Op.String(), Path: p.Path, Watch: p.Watch,
		Who: p.Tag, Sent: r.now(), Pending: true}
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

// Arrived notes that a packet has arrived, or is lost. If the film does not have it, or has lost it, nothing is noted.
func (r *recorder) Arrived(p *player.Frame, lost bool) {
	i := slices.Index(r.underway, p.ID-1)
	if i < 0 {
		return
	}
	r.underway = slices.Delete(r.underway, i, i+1)
	out := &r.film.Packets[p.ID-1]
	out.Arrived, out.Lost, out.Pending = r.now(), lost, false
}

// slot is the time that an action lasts in the film of a chosen schedule.
const slot = 200 * time.Millisecond

// Action gives the next action its time. Answer gives the server's packets a part of it, for their way.
func (r *recorder) Action() { r.clock += r.slot }
func (r *recorder) Answer() { r.clock += r.slot / 2 }

// Sent notes a request of a chosen schedule.
func (r *recorder) Sent(c *player.Client, p *player.Frame) {
	if r.slot != 0 {
		r.addPacket(c, p, "request")
	}
}

// Settled notes the state of the contenders and the clients when all goroutines have got as far as they can.
func (r *recorder) Settled() {
	r.noteClosed()
	r.noteWhere()
	r.noteVariables()
}

// Depart notes the server's packets in a chosen schedule, and what has changed there.
func (r *recorder) Depart() {
	if r.slot == 0 {
		return
	}
	for _, c := range r.w.Clients {
		if c.Line == nil {
			continue
		}
		for i := range c.Line.Down {
			if p := &c.Line.Down[i]; p.ID == 0 {
				r.addPacket(c, p, p.Kind())
			}
		}
	}
	r.scan()
}

// Carried notes that a request asks for a watch.
func (r *recorder) Carried(c *player.Client, p player.Frame) {
	if p.Watch {
		k := watchKey{path: p.Path, children: p.Op == jute.OpGetChildren || p.Op == jute.OpGetChildren2}
		asked := r.clients[c.Index].asked
		asked[k] = append(asked[k], p.Tag)
	}
}

// scanAfter notes the changes that a request has made at the server. Only what it can have changed is compared.
func (r *recorder) scanAfter(c *player.Client, p player.Frame) {
	switch p.Op {
	case jute.OpGetData, jute.OpExists, jute.OpGetChildren, jute.OpGetChildren2:
		if p.Watch {
			r.scanWatches(c)
		}
	case jute.OpSync, jute.OpPing:
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete:
		if !c.Line.FailedLast {
			r.scan()
		}
	default:
		r.scan()
	}
}

func (r *recorder) scan() {
	r.scanNodes()
	r.scanWatches()
}

func (r *recorder) scanNodes() {
	found := make(map[string]knownNode, len(r.nodes))
	var walk func(at string)
	walk = func(at string) {
		for _, name := range r.w.Srv.Children(at) {
			p := path.Join(at, name)
			if p == "/zookeeper" {
				continue
			}
			n, ok := r.w.Srv.Node(p)
			if !ok {
				continue // it is a name with nodes below it
			}
			stat := n.Stat
			now := knownNode{data: string(n.Data), czxid: stat.Czxid, version: stat.Version, session: sessionNumber(stat.EphemeralOwner)}
			if stat.EphemeralOwner != 0 {
				now.owner = r.w.OwnerLocked(stat.EphemeralOwner)
			}
			found[p] = now
			walk(p)
		}
	}

	walk("/")
	for _, m := range nodeMarks(r.nodes, found) {
		m.Data = r.repeatable(m.Data)
		r.mark(m)
	}
	r.nodes = found
}

// nodeMarks returns the marks of what has changed from one look at the nodes to the next: first those that are removed,
// then those that are made, then those whose data has changed, each in the order of their paths.
func nodeMarks(before, after map[string]knownNode) []Mark {
	var removed, made, changed []Mark
	for p, was := range before {
		if is, ok := after[p]; !ok || is.owner != was.owner {
			removed = append(removed, Mark{Kind: "node", Path: p, Owner: was.owner, Made: new(false)})
		}
	}
	for p, is := range after {
		if was, ok := before[p]; !ok || is.owner != was.owner {
			made = append(made, Mark{Kind: "node", Path: p, Owner: is.owner, Made: new(true), Session: is.session, Data: is.data, Czxid: is.czxid})
		} else if is.version != was.version || is.czxid != was.czxid {
			changed = append(changed, Mark{Kind: "data", Path: p, Data: is.data, Czxid: is.czxid, Version: is.version})
		}
	}
	for _, list := range [][]Mark{removed, made, changed} {
		slices.SortFunc(list, func(a, b Mark) int { return cmp.Compare(a.Path, b.Path) })
	}
	return slices.Concat(removed, made, changed)
}

// scanWatches looks for changes of clients' watches: of all clients, if none is given.
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
		for _, found := range r.w.Srv.WatchesOf(c.Conn.SessionID()) {
			k := watchKey{found.Path, found.Children}
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

// markWatches adds a mark for each of some watches, in an order that repeats.
func (r *recorder) markWatches(list []watch, set bool) {
	slices.SortFunc(list, func(a, b watch) int {
		return cmp.Or(cmp.Compare(a.path, b.path), a.by.Index-b.by.Index, cmp.Compare(a.of(), b.of()))
	})
	for _, w := range list {
		r.mark(Mark{Kind: "watch", Client: w.by.Name, Path: w.path, Of: w.of(), Set: new(set)})
	}
}

// Woken notes which waiting contenders an event wakes: one that is kept in a gap does not sleep yet.
func (r *recorder) Woken(c *player.Client, p player.Frame) {
	var fired []watchKey
	if p.Event != jute.EventChildrenChanged {
		fired = append(fired, watchKey{path: p.Path})
	}
	if p.Event == jute.EventChildrenChanged || p.Event == jute.EventDeleted {
		fired = append(fired, watchKey{path: p.Path, children: true})
	}
	var asked []string // contenders that have set these watches
	for _, k := range fired {
		asked = append(asked, r.clients[c.Index].asked[k]...)
		delete(r.clients[c.Index].asked, k)
	}
	var woken []string
	awake := slices.Collect(maps.Values(r.w.KeptInGaps()))
	for _, k := range c.Contenders {
		mayHaveAsked := !r.w.Tagged || slices.Contains(asked, k.Name) // without tags a request does not tell its contender
		if k.State == player.Waiting && mayHaveAsked && !slices.Contains(awake, k.Name) {
			woken = append(woken, k.Name)
		}
	}

	for i := range min(len(asked), len(woken)) {
		who := c.Name // it is not known which contender of the client
		if len(c.Contenders) == 1 || r.w.Tagged {
			who = woken[i]
		}
		r.film.Counters.Wakeups++
		r.mark(Mark{Kind: "wakeup", Who: who})
	}
}

func (r *recorder) State(k *player.Contender, text i18n.Text) {
	state := map[string]string{player.Waiting: "waits", player.Inside: "holds", player.Unlocking: "unlocks"}[k.State]
	c := r.contenders[k]
	c.marks = append(c.marks, Mark{Kind: "state", Who: k.Name, State: cmp.Or(state, k.State), Text: text})
}

// Noted puts the changes of a contender into the film, and the loss of its lock if it has noticed that.
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

// Lost notes that a holder has lost the lock, and whether it has noticed that.
func (r *recorder) Lost(k *player.Contender, noticed bool) {
	c := r.contenders[k]
	if c.noticed && !noticed {
		return // the film shows more already
	}
	c.noticed = noticed
	m := Mark{Kind: "lost", Who: k.Name, Knows: new(noticed)}
	if leased, ok := k.Lock.(player.Leased); ok {
		m.Token = leased.Token()
	}
	r.mark(m)
}

// part returns the part of the film that cannot change any more: it ends before the first packet that is on its way.
func (r *recorder) part() *Film {
	until := r.now()
	for _, i := range r.underway {
		until = min(until, r.film.Packets[i].Sent)
	}
	f := r.film
	r.describe(&f)
	packets, _ := slices.BinarySearchFunc(f.Packets, until, func(p Packet, t time.Duration) int { return cmp.Compare(p.Sent, t) })
	marks, _ := slices.BinarySearchFunc(f.Marks, until, func(m Mark, t time.Duration) int { return cmp.Compare(m.At, t) })
	f.Packets, f.Marks = f.Packets[:packets:packets], f.Marks[:marks:marks] // an append to the part copies it
	f.End = until - 1
	return &f
}

// describe sets the fields of the film that are about all of it.
func (r *recorder) describe(f *Film) {
	w := r.w
	f.Lock, f.Contenders, f.Shared, f.Session = w.Lock.Name, w.Number(), w.Shared, w.Timeout()
	f.Counters.Requests, f.Counters.Events = w.Run.Requests, w.Run.Events
	if n := w.Number(); len(w.Scripts) == 0 && !w.Missing && !w.Apart {
		if w.Lock.Requests != nil {
			f.Formula.Requests = new(w.Lock.Requests(n))
		}
		if w.Lock.Events != nil {
			f.Formula.Events = new(w.Lock.Events(n))
		}
	}
}

// finish returns the film. It ends at this instant, or later if something is in it that happens later.
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
