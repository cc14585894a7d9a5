package explore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/zkserver"
)

// A world is a World while one schedule is played.
type world struct {
	World
	srv     *zkserver.Server
	start   time.Time
	clients []*client
	players []*contender
	run     *Run
	end     func() // of the lock's own set-up, or nil

	mu   sync.Mutex // guards what follows, all lines, clients and contenders
	free bool       // nobody is held: the world is set up or taken down
	turn int        // of the action
	stir chan struct{}
	// The film is all that is wanted of the schedule: it has no log.
	paced bool
	// In a paced run: what the last look at all contenders, and at all lines,
	// has not seen. With a hundred contenders a look takes a while, and most
	// packets concern one of them.
	unnoted, unscheduled bool

	faults   int    // that have happened
	last     string // the client or contender that acted last
	idle     int    // how often time has passed since a contender got on
	token    int64
	foot     footprint
	gaps     []*gap
	sessions map[int64]*client
	film     *recorder         // or nil
	origins  map[string]origin // of the nodes
	births   map[string]int    // how many children each node has been given
}

// A client is a session of the client library.
type client struct {
	w       *world
	index   int
	name    string
	conn    *zk.Conn
	players []*contender

	// Guarded by w.mu.
	line       *line
	session    int64         // that the explorer knows of
	expired    bool          // that session has ended, by a fault
	connecting chan struct{} // not nil: the library waits to connect
	dialing    chan struct{} // not nil: the library dials
	stopped    bool
	stalled    bool
	faulted    bool // a fault has happened to it
	refuse     bool // its next connection is refused
	gone       bool // it connects no more
	history    uint64
	past       digest // of its lines in the log
	carried    int    // requests that the server has answered
}

// A contender plays its script.
type contender struct {
	w      *world
	c      *client
	name   string
	lock   Lock
	script []Op

	// Guarded by w.mu.
	state  string        // see the constants
	gate   chan struct{} // not nil: waits until the explorer lets it unlock
	ctx    context.Context
	cancel context.CancelFunc
	ended  bool // its ctx was ended
	// A fault has happened to its client since Lock or TryLock was called, or
	// one from before may still reach the call.
	disturbed bool
	depth     int // how often it has got the lock and not unlocked; its own goroutine counts
	held      int64
	notes     []Entry
	results   []string
	bad       []Violation
	company   bool            // at some time during TryLock somebody else wanted the lock
	lost      bool            // its session ended while it held the lock
	told      <-chan struct{} // of a Leased lock, from when it was got: closed when it says that it is lost
	node      string
	since     time.Time // when Lock was called
	// Lock was called, and its first request was carried out, at these turns;
	// 0: it has not been.
	called, joined int
	passed         int // how often a later contender got in before this one
	// Of a schedule that is filmed.
	marks   []Mark
	goid    string        // of the goroutine that plays its script
	gateDue time.Duration // when it unlocks, in a paced run
}

const (
	outside   = "outside"
	waiting   = "waiting"
	inside    = "inside"
	unlocking = "unlocking"
	done      = "done"
	failed    = "failed"
)

// A gap is a place in a lock where a goroutine may be kept: Preemptible.
type gap struct {
	name string
	free chan struct{}
	goid string // of the goroutine that is kept there
}

// gap keeps a goroutine of the lock until the explorer lets it go on.
func (w *world) gap(name string) {
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return
	}
	for slices.ContainsFunc(w.gaps, func(g *gap) bool { return g.name == name }) {
		name += "'" // a goroutine is there already
	}
	g := &gap{name, make(chan struct{}), goid()}
	w.gaps = append(w.gaps, g)
	w.stirLocked()
	w.mu.Unlock()
	<-g.free
}

func (w *world) stirLocked() {
	w.unnoted, w.unscheduled = true, true
	select {
	case w.stir <- struct{}{}:
	default:
	}
}

// play plays one schedule. At each point with more than one action choose
// says which one; a negative number ends the run.
// After each action acted gets its number, from 0, and what it has touched.
func play(t *testing.T, config World, hashing bool, choose func(p *Point) int, acted func(n int, f footprint)) *Run {
	return inBubble(t, config, func(w *world) {
		w.run.hashing = hashing
		w.play(choose, acted)
	})
}

// inBubble sets a world up in a bubble of its own, plays it and takes it down.
func inBubble(t *testing.T, config World, playIt func(w *world)) (r *Run) {
	config.Name = config.Lock.Name
	r = &Run{Facts: Facts{World: config}}
	defer func() {
		if p := recover(); p != nil {
			// The bubble ends with goroutines that wait for something.
			if r.Violation == nil && !r.Aborted {
				r.Violation = &Violation{Kind: GoroutineLeft, What: fmt.Sprint(p)}
			}
		}
	}()
	if config.Lock.Lenient {
		// What it draws is the same each time. The lab is not a test binary, so
		// package cryptotest does not do.
		defer func(before io.Reader) { rand.Reader = before }(rand.Reader)
		rand.Reader = &drawn{source: mathrand.NewChaCha8([32]byte{})}
	}
	synctest.Test(t, func(*testing.T) {
		w := &world{World: config, run: r, start: time.Now(), free: true, stir: make(chan struct{}, 1), sessions: make(map[int64]*client), origins: make(map[string]origin), births: make(map[string]int)}
		w.setUp()
		defer w.takeDown()
		defer func() {
			if p := recover(); p != nil {
				panic(fmt.Sprintf("explore: %v\n%s", p, debug.Stack()))
			}
		}()
		playIt(w)
	})
	return r
}

// A drawn is a source of random bytes that goroutines share.
type drawn struct {
	mu     sync.Mutex
	source *mathrand.ChaCha8
}

func (d *drawn) Read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.source.Read(b)
}

var quiet = log.New(io.Discard, "", 0)

// setUp connects the clients and makes the contenders.
func (w *world) setUp() {
	// The server's own clock must not end a session: the explorer does.
	w.srv = zkserver.New(zkserver.WithTick(day))
	if w.Lock.Begin != nil {
		w.end = w.Lock.Begin(w.gap)
	}
	clients := w.contenders()
	if w.Shared {
		clients = 1
	}
	servers := []string{"127.0.0.1:2181"}
	if w.Ensemble {
		servers = append(servers, "127.0.0.2:2181", "127.0.0.3:2181")
	}
	for i := range clients {
		c := &client{w: w, index: i, name: letter(i)}
		if w.Shared {
			c.name = "client"
		}
		w.clients = append(w.clients, c)
		if i == 0 || !w.Unconnected {
			c.connect(servers)
		}
	}
	w.makeParents()
	if w.Unconnected {
		w.clients[0].conn.Close()
		synctest.Wait() // its goroutines have ended
		w.mu.Lock()
		w.free = false // from here on they wait for the explorer
		w.mu.Unlock()
		for _, c := range w.clients {
			c.line = newLine(w, c)
			c.line.broken = true
			c.connect(servers)
		}
	}
	for i := range w.contenders() {
		c := w.clients[min(i, clients-1)]
		k := &contender{w: w, c: c, name: letter(i), script: w.script(i), state: outside}
		c.players = append(c.players, k)
		w.players = append(w.players, k)
	}
	for _, c := range w.clients {
		at := w.at()
		if w.Apart {
			at += c.name
		}
		if w.tagged {
			for _, k := range c.players {
				k.lock = w.Lock.Open(c.conn, tagged(at, k.name))(k.name)
			}
			continue
		}
		open := w.Lock.Open(c.conn, at)
		for _, k := range c.players {
			k.lock = open(w.owner(k.name))
		}
	}
	synctest.Wait()
	w.mu.Lock()
	w.free = false
	w.mu.Unlock()
}

// connect makes the client of the library.
func (c *client) connect(servers []string) {
	w := c.w
	conn, _, err := zk.Connect(servers, w.session(), zk.WithDialer(c.dial), zk.WithLogger(quiet), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(64<<10), zk.WithMaxConnBufferSize(16<<10), zk.WithEventCallback(c.event))
	if err != nil {
		panic(err)
	}
	c.conn = conn
	synctest.Wait()
	c.session = conn.SessionID()
	if c.session == 0 {
		if !c.w.Unconnected {
			panic("a client has no session")
		}
		return
	}
	c.w.sessions[c.session] = c
}

func (w *world) makeParents() {
	acl := zk.WorldACL(zk.PermAll)
	last := acl // of the node in which the lock makes its own
	if w.Forbidden {
		last = zk.WorldACL(zk.PermAll &^ zk.PermCreate)
	}
	queue := w.Lock.Queue || w.Lock.Exists
	conn := w.clients[0].conn
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	if w.Missing && !w.Lock.Exists {
		return
	}
	var err error
	if dir := path.Dir(w.at()); dir != "/" {
		if queue {
			_, err = conn.Create(dir, nil, 0, acl)
		} else {
			_, err = conn.Create(dir, nil, 0, last)
		}
		must(err)
	}
	if queue {
		if slices.Contains(w.Kinds, Remake) {
			_, err = conn.CreateContainer(w.at(), nil, zk.FlagContainer, last)
		} else {
			_, err = conn.Create(w.at(), nil, 0, last)
		}
		must(err)
		if w.Stranger {
			_, err = conn.Create(w.at()+"/a-stranger", nil, 0, acl)
			must(err)
		}
		if w.Sequence != 0 {
			w.srv.SetSequence(w.at(), w.Sequence)
		}
	}
}

// takeDown ends everything.
func (w *world) takeDown() {
	w.mu.Lock()
	w.free = true
	for _, c := range w.clients {
		c.stopped, c.stalled = false, false
		c.openLocked()
		if c.line != nil {
			for len(c.line.up) > 0 && !c.line.broken {
				c.line.carryLocked()
			}
			for len(c.line.down) > 0 {
				c.line.answerLocked()
			}
			c.line.client.Broadcast()
		}
	}
	for _, g := range w.gaps {
		close(g.free)
	}
	w.gaps = nil
	for _, k := range w.players {
		if k.gate != nil {
			close(k.gate)
			k.gate = nil
		}
		if k.cancel != nil {
			k.cancel()
		}
	}
	w.mu.Unlock()
	if w.end != nil {
		w.end()
		synctest.Wait()
	}
	if w.Lock.Lenient {
		// It may be cleaning up, and a request to a client that has been closed is
		// never answered. The end of its session wakes what waits.
		for range 2 {
			time.Sleep(5 * patience)
			for _, c := range w.clients {
				w.srv.Expire(c.conn.SessionID())
			}
		}
		time.Sleep(5 * patience)
	}
	for _, c := range w.clients {
		go c.conn.Close()
	}
	synctest.Wait()
	time.Sleep(patience) // a goroutine that waits for a timer gets to its end
	w.srv.Close()
}

// dial is the client library's dialer.
func (c *client) dial(string, string, time.Duration) (net.Conn, error) {
	w := c.w
	w.mu.Lock()
	if !w.free {
		// The library pauses for a second and locks for tenths of one: without
		// this moment both could end at the same instant, in either order.
		w.mu.Unlock()
		time.Sleep(137 * time.Microsecond)
		w.mu.Lock()
	}
	if !w.free {
		gate := make(chan struct{})
		c.dialing = gate
		w.stirLocked()
		w.mu.Unlock()
		<-gate
		w.mu.Lock()
	}
	if c.refuse {
		c.refuse = false
		w.mu.Unlock()
		return nil, syscall.ECONNREFUSED
	}
	l := newLine(w, c)
	c.line, c.stalled = l, false
	w.mu.Unlock()
	if err := w.srv.Serve(serverEnd{l}); err != nil {
		return nil, err
	}
	return clientEnd{l}, nil
}

// event is the client library's callback. When a connection has broken the
// library tells the watches, then fails the requests that were sent, and then,
// before it connects again, throws away those that were not. The goroutines
// that are told go on at once, beside it. Here each of these steps waits until
// all others have got as far as they can, so that the order is always the same.
func (c *client) event(ev zk.Event) {
	if ev.Type != zk.EventSession || ev.State != zk.StateConnecting && ev.State != zk.StateDisconnected {
		return
	}
	w := c.w
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return
	}
	gate := make(chan struct{})
	c.connecting = gate
	w.stirLocked()
	w.mu.Unlock()
	<-gate
}

func (c *client) openLocked() {
	for _, gate := range []*chan struct{}{&c.connecting, &c.dialing} {
		if *gate != nil {
			close(*gate)
			*gate = nil
		}
	}
}

// settle returns when all goroutines have got as far as they can.
func (w *world) settle() {
	for {
		synctest.Wait()
		w.mu.Lock()
		w.film.departLocked()
		again := false
		for _, c := range w.clients {
			if c.connecting != nil && !c.stopped {
				close(c.connecting)
				c.connecting = nil
				again = true
				break
			}
		}
		if !again && !w.Packets {
			for _, c := range w.clients {
				if l := c.line; !c.stopped && !l.broken && len(l.down) > 0 {
					w.sortEventsLocked(l)
					w.film.tick(slot / 2)
					for len(l.down) > 0 {
						w.arrivesLocked(c)
					}
					again = true
				}
			}
		}
		if !again {
			w.takeNotesLocked()
			w.film.brokenLocked()
			w.film.whereLocked()
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

// arrivesLocked delivers the first packet of a client's way down.
func (w *world) arrivesLocked(c *client) {
	p := c.line.answerLocked()
	w.foot.client(c)
	if w.paced {
		if p.isEvent {
			w.run.Events++
			w.film.woken(c, p)
		}
		return
	}
	e := Entry{Who: c.name, Kind: "reply", Op: p.op.String(), Path: p.path, Made: p.made, Watch: p.watch, Err: code(p.err), Names: p.names}
	if p.isEvent {
		e = Entry{Who: c.name, Kind: "event", Op: p.event.String(), Path: p.path}
		w.run.Events++
		w.film.woken(c, p)
	}
	c.history = c.history*1099511628211 ^ e.hash()
	c.past.num(uint64(p.tells))
	w.logLocked(e)
}

func code(c jute.Code) string {
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

// sortEventsLocked puts events that one transaction has caused for several
// paths into a fixed order: the end of a session takes its nodes in none.
func (w *world) sortEventsLocked(l *line) { w.sortEvents(l.down) }

func (w *world) sortEvents(down []packet) {
	for i := 0; i < len(down); {
		j := i
		for j < len(down) && down[j].isEvent && down[j].turn == down[i].turn {
			j++
		}
		if w.run.unordered && j > i {
			slices.SortStableFunc(down[i:j], func(a, b packet) int { return strings.Compare(b.path, a.path) })
		}
		i = max(j, i+1)
	}
}

// takeNotesLocked logs what the clients and contenders have done since the
// last time, in a fixed order, and checks the state.
func (w *world) takeNotesLocked() {
	if !w.unnoted && w.calm() {
		return
	}
	w.unnoted = false
	for _, c := range w.clients {
		l := c.line
		from := len(l.up)
		for from > 0 && l.up[from-1].turn == w.turn {
			from--
		}
		sent := l.up[from:]
		if len(sent) == 0 {
			continue
		}
		slices.SortStableFunc(sent, func(a, b packet) int {
			ra, oa, pa, da := a.what()
			rb, ob, pb, db := b.what()
			if ra != rb {
				return ra - rb
			}
			if oa != ob {
				return int(oa) - int(ob)
			}
			if pa != pb {
				return strings.Compare(pa, pb)
			}
			// What is in the data is last: an id that a lock draws differs each time.
			return cmp.Or(len(da)-len(db), byName(a.tag, b.tag), strings.Compare(da, db))
		})
		for i := range sent {
			w.foot.client(c)
			w.logLocked(Entry{Who: c.name, Kind: "sends", Op: sent[i].op.String(), Path: sent[i].path, Watch: sent[i].watch})
			if sent[i].op != jute.OpSetWatches {
				w.run.Requests++
			}
			sent[i].turn = -1 // it is noted
			if w.film != nil && w.film.slots {
				w.film.send(c, &sent[i], "request")
			}
		}
	}
	for _, k := range w.players {
		for _, e := range k.notes {
			e.Who = k.name
			w.logLocked(e)
			w.foot.client(k.c)
			w.idle = 0
		}
		k.notes = nil
		w.film.flush(k)
		for _, v := range k.bad {
			w.violateLocked(v)
		}
		k.bad = nil
	}
	w.checkLocked()
}

// calm says whether, in a paced run, nothing changes but by packets and by
// what contenders do: no fault has happened, and no clock plays a part.
func (w *world) calm() bool {
	l := w.Lock
	return w.paced && w.faults == 0 && !l.Timed && l.Within == 0 && l.Check == nil && !w.Apart
}

func (w *world) logLocked(e Entry) {
	if w.paced {
		return // its film has all of it, and it is not a situation to come back to
	}
	e.At = time.Since(w.start)
	e.Point = len(w.run.Points)
	for _, c := range w.clients {
		if w.Shared || c.name == e.Who {
			c.remember(e)
		}
	}
	w.run.Log = append(w.run.Log, e)
}

// pass lets time pass until something happens, for at most that time.
func (w *world) pass(limit time.Duration) bool {
	select {
	case <-w.stir:
		w.settle()
		return true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.stir:
		w.settle()
		return true
	case <-timer.C:
		w.settle()
		return false
	}
}

func (w *world) drainStir() {
	select {
	case <-w.stir:
	default:
	}
}

// play starts the contenders and then carries out one action after the other.
func (w *world) play(choose func(p *Point) int, acted func(n int, f footprint)) {
	r := w.run
	for _, k := range w.players {
		k.start()
		w.settle()
	}
	for {
		if r.Violation != nil || r.over {
			break
		}
		if len(r.Points) >= maxPoints {
			w.violate(Violation{Kind: Endless, What: fmt.Sprintf("%d actions, and no end", len(r.Points))})
			break
		}
		actions := w.enabled()
		if len(actions) == 0 {
			if w.allDone() && (!w.Lock.Timed && !w.Lock.Lenient || !w.left() || w.idle > maxIdle) {
				w.final()
				break
			}
			w.drainStir()
			w.mu.Lock()
			w.idle++
			w.turn++
			w.mu.Unlock()
			if !w.pass(patience) || w.idle > maxIdle {
				if len(w.enabled()) > 0 && w.idle <= maxIdle {
					continue
				}
				if w.allDone() {
					w.final()
					break
				}
				w.hang()
				break
			}
			continue
		}
		p := &Point{log: r.Log, gaps: w.kept()}
		for _, a := range actions {
			p.Enabled = append(p.Enabled, a.String())
			p.faults = append(p.faults, a.fault)
		}
		p.situation = func() uint64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.situationLocked()
		}
		if r.hashing {
			w.mu.Lock()
			p.state = w.hashLocked()
			w.mu.Unlock()
		}
		if p.Chosen = choose(p); p.Chosen < 0 || p.Chosen >= len(actions) {
			r.Aborted = true
			break
		}
		r.Points = append(r.Points, p)
		a := actions[p.Chosen]
		w.mu.Lock()
		w.foot = footprint{}
		w.turn++
		w.last = a.who
		w.film.tick(slot)
		w.mu.Unlock()
		a.do()
		w.settle()
		w.mu.Lock()
		if a.fault != "" {
			w.faults++
			r.Facts.Faults = append(r.Facts.Faults, a.String())
			w.foot.fault = true
		}
		p.foot = w.foot
		w.mu.Unlock()
		if acted != nil {
			acted(len(r.Points)-1, p.foot)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.players {
		r.Results = append(r.Results, k.name+": "+strings.Join(append(slices.Clone(k.results), k.state), ", "))
	}
	if r.hashing {
		r.final = w.hashLocked()
	}
}

// kept says which contender is kept in which gap.
func (w *world) kept() map[string]string {
	if len(w.gaps) == 0 {
		return nil
	}
	by := make(map[string]string)
	for _, g := range w.gaps {
		for _, k := range w.players {
			if k.goid == g.goid {
				by[g.name] = k.name
			}
		}
	}
	return by
}

// left says whether a client still has a node of the lock: it may be about to
// remove it.
func (w *world) left() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.clients, func(c *client) bool { return len(w.nodesOf(c)) > 0 })
}

func (w *world) allDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.players {
		if k.state != done {
			return false
		}
	}
	return true
}

// An action is what the explorer can do next.
type action struct {
	who, what string
	fault     Fault
	do        func()
}

func (a action) String() string { return a.who + ": " + a.what }

// enabled lists the actions, first those of the client that acted last, and
// the faults at the end.
func (w *world) enabled() []action {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first, rest, faults []action
	add := func(who, what string, do func()) {
		if who == w.last {
			first = append(first, action{who, what, "", do})
		} else {
			rest = append(rest, action{who, what, "", do})
		}
	}
	for _, c := range w.clients {
		l := c.line
		cutOff := l.broken || l.serverEnd && len(l.down) == 0
		switch {
		case c.stopped:
			add(c.name, "run on", func() { w.runOn(c) })
			continue
		case cutOff && !c.gone:
			add(c.name, "reconnect", func() { w.reconnect(c) })
		}
		if c.stalled && !cutOff {
			add(c.name, string(Expire), func() { w.expire(c) })
		}
		if len(l.up) > 0 && !cutOff {
			add(c.name, "request", func() { w.request(c) })
		}
		if w.Packets && len(l.down) > 0 && !l.broken {
			what := "reply"
			if l.down[0].isEvent {
				what = "event"
			}
			add(c.name, what, func() {
				w.mu.Lock()
				w.sortEventsLocked(l)
				w.arrivesLocked(c)
				w.mu.Unlock()
			})
		}
		for _, k := range c.players {
			if k.gate != nil {
				add(k.name, "unlock", func() {
					w.mu.Lock()
					w.foot.client(c)
					close(k.gate)
					k.gate = nil
					w.mu.Unlock()
				})
			}
		}
		faults = append(faults, w.faultsLocked(c, cutOff)...)
	}
	for _, g := range w.gaps {
		first = slices.Insert(first, 0, action{"gap " + g.name, "go on", "", func() {
			w.mu.Lock()
			w.foot.everything = true
			w.gaps = slices.DeleteFunc(w.gaps, func(h *gap) bool { return h == g })
			close(g.free)
			w.mu.Unlock()
		}})
	}
	if len(first)+len(rest) == 0 {
		return nil
	}
	for _, f := range []Fault{Pause, Day} {
		if w.faults < w.Faults && slices.Contains(w.Kinds, f) {
			faults = append(faults, action{"all", string(f), f, func() { w.pause(f) }})
		}
	}
	if w.faults < w.Faults && slices.Contains(w.Kinds, Remake) {
		if node, ok := w.srv.Node(w.at()); ok && node.Container && node.Stat.Cversion > 0 && node.Stat.NumChildren == 0 {
			faults = append(faults, action{"server", string(Remake), Remake, w.remake})
		}
	}
	return append(append(first, rest...), faults...)
}

// request carries out a client's next request.
func (w *world) request(c *client) packet {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := c.line.carryLocked()
	w.executedLocked(c, p)
	return p
}

// executedLocked notes a request that reaches the server.
func (w *world) executedLocked(c *client, p packet) {
	w.foot.client(c)
	w.foot.request(p)
	w.run.unordered = p.op == jute.OpSetWatches || p.kindOf() == jute.OpMulti
	w.film.askedLocked(c, p)
	w.logLocked(Entry{Who: c.name, Kind: "carried out", Op: p.op.String(), Path: p.path, Watch: p.watch})
	for _, k := range c.players {
		if k.state == waiting && k.joined == 0 {
			k.joined = w.turn
		}
	}
	if p.op == jute.OpDelete {
		node, ok := w.srv.Node(p.path)
		if owner := node.Stat.EphemeralOwner; ok && owner != 0 && owner != c.conn.SessionID() {
			w.violateLocked(Violation{Kind: ForeignDelete, Who: c.name, What: fmt.Sprintf("%s deletes %s, the node of %s", c.name, p.path, w.ownerLocked(owner))})
		}
	}
}

func (w *world) ownerLocked(session int64) string {
	if c := w.sessions[session]; c != nil {
		return c.name
	}
	for _, c := range w.clients {
		if c.conn.SessionID() == session {
			return c.name
		}
	}
	return "another session"
}

// reconnect lets a client that has lost its connection connect. Time passes
// while the client library pauses.
func (w *world) reconnect(c *client) {
	w.mu.Lock()
	w.foot.client(c)
	// Where a fault has happened to one client only, no other contender waits
	// for a timer, so the pause makes no difference to it.
	w.foot.everything = w.Lock.Timed || w.Lock.Lenient || w.faults > 1
	w.mu.Unlock()
	for deadline := time.Now().Add(5 * time.Second); ; {
		w.mu.Lock()
		gate := c.dialing
		w.mu.Unlock()
		if gate != nil {
			break
		}
		if left := time.Until(deadline); left > 0 {
			w.pass(left)
			continue
		}
		w.mu.Lock()
		c.gone = true // its lock has closed it
		w.mu.Unlock()
		return
	}
	w.mu.Lock()
	close(c.dialing)
	c.dialing = nil
	w.mu.Unlock()
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connectedLocked(c)
}

// connectedLocked notes what has become of a client that has connected.
func (w *world) connectedLocked(c *client) {
	what, state := "is connected again", "connected"
	switch id := c.conn.SessionID(); {
	case id == 0 && c.session == 0:
		what, state = "cannot connect", "unconnected"
	case id == 0:
		what, state = "is told that its session has expired", "expired"
	case id != c.session:
		c.session, c.expired = id, false
		w.sessions[id] = c
		what = "is connected, in a new session"
	}
	w.logLocked(Entry{Who: c.name, Kind: "note", Text: what})
	w.film.client(c, state)
	w.film.note(c.name, what)
}

// companyLocked says whether another contender holds the lock, waits for it
// or unlocks it, or has left a node.
func (w *world) companyLocked(k *contender) bool {
	for _, o := range w.players {
		if o != k && (o.state == waiting || o.state == inside || o.state == unlocking || o.c != k.c && len(w.nodesOf(o.c)) > 0) {
			return true
		}
	}
	return false
}

func (k *contender) start() {
	go func() {
		k.goid = goid()
		defer func() {
			if p := recover(); p != nil {
				k.note(failed, "panics", Violation{Kind: Crash, Who: k.name, What: fmt.Sprintf("%s panics: %v", k.name, p)})
			}
		}()
		k.playScript()
	}()
}

// note changes the state of a contender, and says so in the log.
func (k *contender) note(state, text string, bad ...Violation) {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.free {
		return // the schedule is over
	}
	k.state = state
	w.film.state(k, text)
	if text != "" {
		k.notes = append(k.notes, Entry{Kind: "note", Text: text})
		k.results = append(k.results, text)
	}
	k.bad = append(k.bad, bad...)
	w.stirLocked()
}

func (k *contender) playScript() {
	for i, op := range k.script {
		switch {
		case op != UnlockOp && k.depth > 0:
			k.getInAgain(op)
		case op != UnlockOp:
			if k.getIn(op) {
				k.depth = 1
			}
		case k.depth > 1:
			k.letGoOnce()
		case k.depth == 1:
			k.depth = 0
			if !k.letGo() {
				k.note(done, "")
				return
			}
		case k.w.Lock.Closes:
			k.close()
		}
		if k.depth > 0 && (i+1 == len(k.script) || k.script[i+1] == UnlockOp) && !k.gated() {
			return // the schedule is over
		}
	}
	k.unlockAgain()
	k.note(done, "")
}

// getIn calls Lock or TryLock.
func (k *contender) getIn(op Op) bool {
	w := k.w
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	k.ctx, k.cancel, k.ended = ctx, cancel, false
	k.since, k.called, k.joined = time.Now(), w.turn, 0
	k.state = waiting
	k.company = w.companyLocked(k)
	k.disturbed = !k.c.soundLocked()
	w.film.state(k, "")
	session := k.c.conn.SessionID()
	w.mu.Unlock()
	defer cancel()
	ok, err := true, error(nil)
	if op == LockOp {
		err = k.lock.Lock(ctx)
	} else {
		ok, err = k.lock.TryLock(ctx)
	}
	w.mu.Lock()
	k.cancel = nil
	alone := !k.company && !w.companyLocked(k) && !w.run.Facts.OrphanCreate
	allowed := k.disturbed && !w.Lock.Requeues || k.ended
	w.mu.Unlock()
	switch {
	case err != nil && !allowed:
		k.note(outside, "gets an error: "+short(err), Violation{Kind: Failure, Who: k.name, What: fmt.Sprintf("%s of %s fails: %v", op, k.name, short(err))})
		return false
	case err != nil:
		k.note(outside, "gets an error: "+short(err))
		return false
	case !ok && alone:
		k.note(outside, "finds the lock held", Violation{Kind: Failure, Who: k.name, What: "TryLock of " + k.name + " finds the lock held, and nobody else holds it or waits for it"})
		return false
	case !ok:
		k.note(outside, "finds the lock held")
		return false
	case !w.Lock.Requeues && !w.Lock.Lenient && !w.OneOwner && !w.Ensemble && session != 0 && session != k.c.conn.SessionID():
		k.note(outside, "gets the lock in a new session", Violation{Kind: Failure, Who: k.name, What: fmt.Sprintf("%s of %s succeeds, though its session ended meanwhile", op, k.name)})
		return false
	}
	var told <-chan struct{}
	if leased, ok := k.lock.(Leased); ok {
		told = leased.Lost() // once: it must be closed though nobody asks again
	}
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	k.told = told
	k.held, k.lost = k.c.conn.SessionID(), false
	w.mu.Unlock()
	k.note(inside, "holds the lock")
	return true
}

// gated waits until the explorer lets the contender unlock. False: the schedule
// is over.
func (k *contender) gated() bool {
	w := k.w
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	gate := make(chan struct{})
	k.gate = gate
	w.stirLocked()
	w.mu.Unlock()
	<-gate
	return true
}

// getInAgain calls Lock or TryLock while the contender holds the lock. It gets it
// at once, unless the lock has been lost.
func (k *contender) getInAgain(op Op) {
	ok, err := true, error(nil)
	if op == LockOp {
		err = k.lock.Lock(context.Background())
	} else {
		ok, err = k.lock.TryLock(context.Background())
	}
	switch {
	case err == nil && ok:
		k.depth++
		k.note(inside, "holds the lock once more")
	case k.excused():
		k.note(inside, "does not get it once more")
	case err != nil:
		k.note(inside, "does not get it once more", Violation{Kind: Failure, Who: k.name, What: fmt.Sprintf("%s of %s, which holds the lock, fails: %v", op, k.name, short(err))})
	default:
		k.note(inside, "does not get it once more", Violation{Kind: Failure, Who: k.name, What: "TryLock of " + k.name + ", which holds the lock, finds it held"})
	}
}

// letGoOnce calls Unlock, after which the contender still holds the lock.
func (k *contender) letGoOnce() {
	k.depth--
	err := k.lock.Unlock(context.Background())
	if err == nil || k.excused() {
		k.note(inside, "has unlocked once")
		return
	}
	k.note(inside, "cannot unlock once", Violation{Kind: Failure, Who: k.name, What: fmt.Sprintf("Unlock of %s, which has locked twice, fails: %v", k.name, short(err))})
}

// excused says whether a fault may be the reason of an error.
func (k *contender) excused() bool {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	return k.c.faulted
}

// letGo calls Unlock, and again if that fails after a fault. False: it did
// not work in the end.
func (k *contender) letGo() bool {
	w := k.w
	for try := 0; ; try++ {
		w.mu.Lock()
		lost := k.lost
		w.mu.Unlock()
		if try == 0 {
			k.note(unlocking, "unlocks")
		}
		err := k.lock.Unlock(context.Background())
		w.mu.Lock()
		faulted, held := k.c.faulted, k.held
		sound := w.Lock.Requeues && k.told != nil && !isClosed(k.told) && !k.lost
		w.mu.Unlock()
		sound = sound && w.lives(held) // without mu: a server that closes a line has its own lock, and waits for mu
		notLocked := err != nil && w.Lock.NotLocked != nil && w.Lock.NotLocked(err)
		switch {
		case err == nil && lost && try == 0 && w.Lock.NotLocked != nil && !w.OneOwner: // another goroutine of the owner may be the last
			k.note(outside, "has unlocked", Violation{Kind: HidesLoss, Who: k.name, What: "Unlock of " + k.name + " reports success, but the lock was lost before"})
			return true
		case err == nil:
			k.note(outside, "has unlocked")
			return true
		case notLocked && faulted && sound: // a lock that tries again must know that it has deleted its node itself
			k.note(outside, "learns that the lock was lost", Violation{Kind: Failure, Who: k.name, What: "Unlock of " + k.name + " says that the lock was lost, though its session lives"})
			return true
		case notLocked && faulted:
			k.note(outside, "learns that the lock was lost")
			return true
		case !faulted || w.Lock.Requeues:
			k.note(outside, "cannot unlock: "+short(err), Violation{Kind: Failure, Who: k.name, What: fmt.Sprintf("Unlock of %s fails: %v", k.name, short(err))})
			return false
		case try == 5:
			k.note(outside, "cannot unlock: "+short(err))
			return false
		}
		k.note(unlocking, "fails to unlock and tries again")
		time.Sleep(time.Second)
	}
}

// close calls Unlock after a Lock that failed.
func (k *contender) close() {
	if err := k.lock.Unlock(context.Background()); err != nil {
		k.note(outside, "Unlock fails, too: "+short(err))
	}
}

// unlockAgain calls Unlock once more than the lock was got.
func (k *contender) unlockAgain() {
	w := k.w
	if w.Lock.NotLocked == nil || w.OneOwner { // another goroutine of the owner may hold it
		return
	}
	w.mu.Lock()
	over := w.free
	w.mu.Unlock()
	if over {
		return
	}
	if err := k.lock.Unlock(context.Background()); err == nil || !w.Lock.NotLocked(err) {
		what := "succeeds"
		if err != nil {
			what = "says " + short(err)
		}
		k.note(outside, "", Violation{Kind: Failure, Who: k.name, What: "Unlock of " + k.name + ", which does not hold the lock, " + what})
	}
}

// short is an error without what differs between runs.
func short(err error) string {
	for _, e := range []error{context.Canceled, zk.ErrSessionExpired, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrNoNode, zk.ErrNodeExists} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	s := err.Error()
	if len(s) > 100 {
		s = s[:100]
	}
	return s
}

func (w *world) hashLocked() uint64 {
	var b strings.Builder
	for _, c := range w.clients {
		fmt.Fprintf(&b, "%s %x %v %v %v", c.name, c.history, c.stopped, c.line.broken, c.expired)
		for _, p := range c.line.up {
			fmt.Fprintf(&b, " >%d%s", p.op, p.path)
		}
		for _, p := range c.line.down {
			fmt.Fprintf(&b, " <%d%s%d%s", p.op, p.path, p.err, p.made)
		}
	}
	for _, k := range w.players {
		fmt.Fprintf(&b, " %s %s %v", k.name, k.state, k.results)
	}
	for _, dir := range []string{path.Dir(w.at()), w.at()} {
		fmt.Fprint(&b, w.srv.Children(dir))
	}
	for _, x := range w.srv.Watches() {
		fmt.Fprint(&b, x.Path, x.Children, w.ownerLocked(x.Session))
	}
	fmt.Fprint(&b, w.faults)
	return mix(b.String())
}
