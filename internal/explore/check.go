package explore

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/jute"
)

// A Kind of violation.
type Kind string

// What a schedule may show.
const (
	TwoHolders    Kind = "two holders"
	Hang          Kind = "hang" // nothing can happen any more, and a contender waits
	Endless       Kind = "endless"
	TokenShrinks  Kind = "token does not grow"
	Overtaken     Kind = "order overturned"
	NodeLeft      Kind = "node left"
	WatchLeft     Kind = "watch left"
	GoroutineLeft Kind = "goroutine left"
	Failure       Kind = "error not allowed"
	HidesLoss     Kind = "loss not reported"
	LateLoss      Kind = "loss reported too late"
	ForeignDelete Kind = "deletes another's node"
	Crash         Kind = "panic"
	NodeMissing   Kind = "holder without a node"
	Costly        Kind = "more requests or wake-ups than predicted"
	TooLong       Kind = "waits too long"
	Starves       Kind = "starves"
	SessionLeft   Kind = "session left"
	OwnCheck      Kind = "own check fails" // Subject.Check
	// Outlived is a holder whose session has ended while it held the lock, and
	// that cannot know: article E. It is reported apart, as Known, always.
	Outlived Kind = "holder outlives its session"
)

// Kinds are all kinds of violation that end a schedule.
var Kinds = []Kind{
	TwoHolders, Hang, Endless, TokenShrinks, Overtaken, NodeLeft, WatchLeft, GoroutineLeft, Failure, HidesLoss,
	LateLoss, ForeignDelete, Crash, NodeMissing, Costly, TooLong, Starves, SessionLeft, OwnCheck,
}

// A Violation is something that a lock must not do.
type Violation struct {
	Kind Kind   `json:"kind"`
	Who  string `json:"who,omitempty"`
	What string `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", v.Kind, v.What) }

func (w *world) violate(v Violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violateLocked(v)
}

// violateLocked notes a violation. The first one ends the schedule.
func (w *world) violateLocked(v Violation) {
	r := w.run
	if w.free || slices.Contains(w.Lock.Ignore, v.Kind) {
		return
	}
	known := ""
	for _, k := range w.Lock.Known {
		if known == "" && k.Match(v, r.Facts) {
			known = k.Name
		}
	}
	w.film.violation(v, known)
	if r.over || r.Violation != nil {
		return
	}
	for _, k := range w.Lock.Known {
		if k.Match(v, r.Facts) {
			w.knownLocked(k.Name, v)
			r.over = true // what follows follows from it
			return
		}
	}
	r.Violation = &v
	w.logLocked(Entry{Who: v.Who, Kind: "note", Text: v.String()})
}

func (w *world) knownLocked(name string, v Violation) {
	w.film.violation(v, name)
	if !slices.Contains(w.run.Known, name) {
		w.run.Known = append(w.run.Known, name)
		w.logLocked(Entry{Who: v.Who, Kind: "note", Text: "known: " + v.String()})
	}
}

// checkLocked checks a state in which all have got as far as they can.
func (w *world) checkLocked() {
	if w.free {
		return
	}
	var holders, outlived []string
	for _, k := range w.players {
		if k.state != inside {
			continue
		}
		if k.told != nil && isClosed(k.told) {
			continue // it knows
		}
		if k.lost || !w.lives(k.held) {
			outlived = append(outlived, k.name)
			continue
		}
		if !slices.Contains(holders, w.owner(k.name)) {
			holders = append(holders, k.name)
		}
	}
	if w.Lock.tooMany(holders) && !w.Apart {
		w.violateLocked(Violation{Kind: TwoHolders, What: strings.Join(holders, " and ") + " hold the lock at once"})
	}
	if len(outlived) > 0 && len(holders) > 0 && !w.Apart && !slices.Contains(w.run.Known, string(Outlived)) {
		w.knownLocked(string(Outlived), Violation{Kind: Outlived, Who: outlived[0], What: fmt.Sprintf("%s still believes that it holds the lock, and %s holds it", outlived[0], holders[0])})
	}
	if w.Lock.Check != nil {
		if what := w.Lock.Check(); what != "" {
			w.violateLocked(Violation{Kind: OwnCheck, What: what})
		}
	}
	for _, k := range w.players {
		if k.state == waiting && !k.company {
			k.company = w.companyLocked(k)
		}
		if k.state == waiting && w.Lock.Within > 0 && time.Since(k.since) > w.Lock.Within {
			w.violateLocked(Violation{Kind: TooLong, Who: k.name, What: fmt.Sprintf("%s has waited for %v, and its Lock is to give up after %v", k.name, time.Since(k.since), w.Lock.Within)})
		}
		if l := k.c.line; k.state == waiting && w.Apart && !k.c.faulted && !l.broken && len(l.up)+len(l.down) == 0 {
			w.violateLocked(Violation{Kind: Hang, Who: k.name, What: k.name + " waits for a lock that no other contender wants"})
		}
		if k.state == inside && k.node == "" {
			k.node = "-"
			w.enteredLocked(k)
		} else if k.state != inside {
			k.node = ""
		}
	}
}

// owner is the name under which a contender is opened.
func (w World) owner(name string) string {
	if w.OneOwner && name == "B" {
		return "A"
	}
	return name
}

// tooMany says whether these contenders may not be inside at once.
func (s Subject) tooMany(holders []string) bool {
	if s.Together == nil {
		return len(holders) > max(s.Permits, 1)
	}
	for i, a := range holders {
		for _, b := range holders[:i] {
			if !s.Together(a, b) {
				return true
			}
		}
	}
	return false
}

// overtakenLocked counts how often contenders that called Lock later get in
// before one that waits.
func (w *world) overtakenLocked(k *contender) {
	k.passed = 0
	for _, o := range w.players {
		if o == k || o.state != waiting || o.joined == 0 || o.joined > k.called || o.c.faulted {
			continue
		}
		if o.passed++; o.passed >= w.Lock.Bypass {
			w.violateLocked(Violation{Kind: Starves, Who: o.name, What: fmt.Sprintf("%d times a contender that called Lock later gets in before %s", o.passed, o.name)})
		}
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (w *world) lives(session int64) bool {
	_, ok := w.srv.Ephemerals(session)
	return ok
}

// nodesOf lists the ephemeral nodes of a client at or below the lock's path.
func (w *world) nodesOf(c *client) (nodes []string) {
	all, _ := w.srv.Ephemerals(c.conn.SessionID())
	for _, p := range all {
		if strings.HasPrefix(p, w.at()) {
			nodes = append(nodes, p)
		}
	}
	return nodes
}

// enteredLocked checks a contender that has just got the lock: its token
// grows, and nobody who queues before it has been overtaken.
func (w *world) enteredLocked(k *contender) {
	if leased, ok := k.lock.(Leased); ok {
		token := leased.Token()
		if token < w.token || token == w.token && !w.OneOwner {
			w.violateLocked(Violation{Kind: TokenShrinks, Who: k.name, What: fmt.Sprintf("the token of %s is not above that of the holder before it", k.name)})
		}
		w.token = max(w.token, token)
	}
	if w.Lock.Bypass > 0 && !w.Shared {
		w.overtakenLocked(k)
	}
	if !w.Lock.Queue || w.Shared || w.Apart || k.lost {
		return
	}
	own := w.nodesOf(k.c)
	if len(own) == 0 {
		if !k.c.faulted {
			w.violateLocked(Violation{Kind: NodeMissing, Who: k.name, What: k.name + " holds the lock, and its session has no node of the lock"})
		}
		return
	}
	if w.Lock.Permits > 1 && w.before(own[0]) < w.Lock.Permits {
		return // there is room for all before it, too
	}
	for _, o := range w.players {
		if o == k || o.state != waiting || o.c.faulted || o.ended || w.Lock.Together != nil && w.Lock.Together(o.name, k.name) {
			continue
		}
		for _, p := range w.nodesOf(o.c) {
			if number(p)-number(own[0]) < 0 { // the difference wraps, as the counter does

				w.violateLocked(Violation{Kind: Overtaken, Who: k.name, What: fmt.Sprintf("%s gets in with %s, before %s with %s", k.name, path.Base(own[0]), o.name, path.Base(p))})
			}
		}
	}
}

// before is how many contenders have a lower number than a node.
func (w *world) before(node string) (n int) {
	for _, name := range w.srv.Children(w.at()) {
		if name != "a-stranger" && number(name)-number(node) < 0 {
			n++
		}
	}
	return n
}

// number is the sequence number in a node's name, 0 if there is none.
func number(p string) int32 {
	n, _ := strconv.ParseInt(p[max(0, len(p)-10):], 10, 64) // -2³¹ has lost its sign, and wraps to it
	return int32(n)
}

// hang reports who waits when nothing can happen any more.
func (w *world) hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var who []string
	for _, k := range w.players {
		if k.state == done {
			continue
		}
		who = append(who, k.name)
	}
	waits := " waits"
	if len(who) > 1 {
		waits = " wait"
	}
	w.violateLocked(Violation{Kind: Hang, Who: who[0], What: strings.Join(who, " and ") + waits + ", and nothing can happen any more"})
	w.run.Known = slices.Compact(w.run.Known)
}

// final checks what is left when all scripts have ended.
func (w *world) final() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.clients {
		for _, p := range w.nodesOf(c) {
			w.violateLocked(Violation{Kind: NodeLeft, Who: c.name, What: fmt.Sprintf("%s has left %s behind", c.name, p)})
		}
	}
	for _, name := range w.srv.Children(w.at()) {
		node, ok := w.srv.Node(w.at() + "/" + name)
		if name != "a-stranger" && ok && node.Stat.EphemeralOwner == 0 {
			w.violateLocked(Violation{Kind: NodeLeft, What: fmt.Sprintf("%s stays, and no end of a session removes it", name)})
		}
	}
	if node, ok := w.srv.Node(w.at()); ok && !w.Lock.Queue && !w.Lock.Exists && node.Stat.EphemeralOwner == 0 {
		w.violateLocked(Violation{Kind: NodeLeft, What: w.at() + " stays, and no end of a session removes it"})
	}
	for _, c := range w.clients {
		if w.Lock.Closes && !c.faulted && w.lives(c.session) {
			w.violateLocked(Violation{Kind: SessionLeft, Who: c.name, What: "the session of " + c.name + " still exists, though " + c.name + " has unlocked"})
		}
	}
	if r, s, n := w.run, w.Lock, w.contenders(); w.faults == 0 && !w.Missing && !w.Apart && len(w.Scripts) == 0 {
		if s.Requests != nil && r.Requests > s.Requests(n) {
			w.violateLocked(Violation{Kind: Costly, What: fmt.Sprintf("%d requests, at most %d are predicted", r.Requests, s.Requests(n))})
		}
		if s.Events != nil && r.Events > s.Events(n) {
			w.violateLocked(Violation{Kind: Costly, What: fmt.Sprintf("%d watch events, at most %d are predicted", r.Events, s.Events(n))})
		}
	}
	if watches := w.srv.Watches(); w.faults == 0 && len(watches) > 0 {
		w.violateLocked(Violation{Kind: WatchLeft, Who: w.ownerLocked(watches[0].Session), What: fmt.Sprintf("%s has left a watch on %s", w.ownerLocked(watches[0].Session), watches[0].Path)})
	}
}

// A footprint is what an action has touched. Two actions that have touched
// different things can be swapped.
type footprint struct {
	clients    uint64
	everything bool // time has passed, or a session or a connection has ended
	fault      bool // it has used up a part of the budget
	access     []access
}

// An access is what a request does to a node or to a list of children.
type access struct {
	path string
	kids bool // the list
	mode byte // of a node: 'r' or 'w'; of a list: see clash
}

// clash says which two accesses to one list of children do not commute: 'r'
// reads the list, 'c' and 'd' make and delete a child, 'n' makes one with a
// number of the parent's, 'g' reads a child by name, which an 'n' may make.
func clash(a, b byte) bool {
	switch string([]byte{min(a, b), max(a, b)}) {
	case "cr", "dr", "nr", "gn", "cn", "nn":
		return true
	}
	return false
}

func (f *footprint) client(c *client) { f.clients |= 1 << c.index }

func (f *footprint) request(p packet) {
	dir := path.Dir(p.path)
	node := func(path string, mode byte) { f.access = append(f.access, access{path, false, mode}) }
	list := func(path string, mode byte) { f.access = append(f.access, access{path, true, mode}) }
	switch p.op {
	case jute.OpGetData, jute.OpExists:
		node(p.path, 'r')
		list(dir, 'g')
	case jute.OpGetChildren, jute.OpGetChildren2:
		node(p.path, 'r')
		list(p.path, 'r')
	case jute.OpMulti:
		if p.kindOf() != jute.OpCreate {
			f.everything = true
			return
		}
		// The parent is written as it is: no lock reads how often.
		node(dir, 'r')
		list(dir, 'n')
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		node(dir, 'r')
		if p.numbered {
			list(dir, 'n')
		} else {
			node(p.path, 'w')
			list(dir, 'c')
		}
	case jute.OpDelete:
		node(p.path, 'w')
		list(dir, 'd')
	case jute.OpSync:
	default:
		f.everything = true
	}
}

// dependent says whether the order of two actions may matter.
func dependent(a, b *footprint) bool {
	if a.everything || b.everything || a.clients&b.clients != 0 || a.fault && b.fault {
		return true
	}
	for _, x := range a.access {
		for _, y := range b.access {
			if x.path != y.path || x.kids != y.kids {
				continue
			}
			if x.kids && clash(x.mode, y.mode) || !x.kids && (x.mode == 'w' || y.mode == 'w') {
				return true
			}
		}
	}
	return false
}
