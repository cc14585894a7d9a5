package player

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// A Player is a World while one schedule is played.
type Player struct {
	World
	Srv        *zkserver.Server
	Start      time.Time
	Clients    []*Client
	Contenders []*Contender
	Run        *Run
	end        func() // what the lock's Begin has returned, or nil

	mu    sync.Mutex    // guards the fields below, all lines, clients and contenders
	free  bool          // no goroutine is kept waiting: the world is set up or taken down
	Turn  int           // the number of the action
	stir  chan struct{} // has room for one: something has happened since DrainStir
	Paced bool          // only the film of the schedule is needed, and no log is kept
	// In a paced run: something has changed since the contenders were checked (Unnoted), or since the packets got
	// their instants (Unscheduled). Both take a while with a hundred contenders, and most packets concern one of them.
	Unnoted, Unscheduled bool

	Happened int               // how many faults
	last     string            // the client or contender that acted last
	Idle     int               // how many times a patience has passed since the last progress of a contender
	token    int64             // the highest fencing token
	Foot     Footprint         // of the action that is carried out
	gaps     []*gap            // where goroutines are kept
	sessions map[int64]*Client // the clients of all sessions, also of those that have ended
	Camera   Camera
	origins  map[string]origin // by path, of the nodes
	births   map[string]int    // by path, how many children the node has been given
	born     map[string]int64  // by path, the zxid of the node's create
}

// Do calls f with the player's lock held: until it returns, nothing else of the schedule
// changes. f may call the methods whose names end with Locked, and waits for nothing.
func (w *Player) Do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// waitAt makes a gate, hands it to put, with mu held, and keeps the calling goroutine until the gate is opened. If no
// goroutine is kept waiting any more, it makes no gate and returns false at once.
func (w *Player) waitAt(put func(gate chan struct{})) bool {
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return false
	}
	gate := make(chan struct{})
	put(gate)
	w.stirLocked()
	w.mu.Unlock()
	<-gate
	return true
}

// openGate opens a gate, and reports whether there is one.
func openGate(gate *chan struct{}) bool {
	if *gate == nil {
		return false
	}
	close(*gate)
	*gate = nil
	return true
}

// NextTurn begins another action.
func (w *Player) NextTurn() { w.Do(func() { w.Turn++ }) }

// stirLocked notes that something has happened: Pass returns.
func (w *Player) stirLocked() {
	w.Unnoted, w.Unscheduled = true, true
	select {
	case w.stir <- struct{}{}:
	default:
	}
}

// Play starts the contenders, and then carries out one action after the other, until a violation or the
// end. See the function [Play] for choose and acted.
func (w *Player) Play(choose Chooser, acted func(n int, f Footprint)) {
	r := w.Run
	for _, k := range w.Contenders {
		k.Start()
		w.Settle()
	}

	for r.Violation == nil && !r.over {
		actions := w.enabled()
		if len(r.Points) >= maxPoints {
			v := Violation{Kind: Endless, What: i18n.Textf("%d actions, and no end", len(r.Points))}
			if waiter := w.waitsInVain(actions); waiter != "" {
				v = Violation{Kind: Hang, Who: waiter, What: i18n.Textf("nothing goes on but a loop that does not wake %s", waiter)}
			}
			w.Violate(v)
			break
		}

		if len(actions) == 0 {
			if !w.Wait(w.Lock.Timed || w.Lock.Lenient, func() bool { return len(w.enabled()) > 0 }, w.Hang) {
				break
			}
			continue
		}

		p := w.point(actions)
		if p.Chosen = choose(p); p.Chosen < 0 || p.Chosen >= len(actions) {
			r.Aborted = true
			break
		}
		r.Points = append(r.Points, p)
		w.act(actions[p.Chosen])
		if acted != nil {
			acted(len(r.Points)-1, w.Foot)
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	w.ResultsLocked()
	if r.hashing {
		r.Final = w.hashLocked()
	}
}

// waitsInVain names a contender that waits while only goroutines of the lock's own go on, from gap to gap,
// such as the heartbeat of a holder that has gone; "" if there is none.
func (w *Player) waitsInVain(actions []action) string {
	kept := w.keptInGaps()
	for _, a := range actions {
		if name, ok := strings.CutPrefix(a.who, "gap "); !ok || kept[name] != "" {
			return ""
		}
	}
	if i := slices.IndexFunc(w.Contenders, func(k *Contender) bool { return k.State == Waiting }); i >= 0 {
		return w.Contenders[i].Name
	}
	return ""
}

// Wait lets time pass when no action is possible, until something happens or possible returns true. It returns false
// when the schedule is over: all scripts have ended, or nothing can happen any more and it has called hang. If timed,
// the lock may come back after the end of the scripts to remove a node.
func (w *Player) Wait(timed bool, possible func() bool, hang func()) (goOn bool) {
	if w.AllDone() && (!timed || !w.nodesLeft() || w.Idle > maxIdle) {
		w.checkEnd()
		return false
	}
	w.DrainStir()
	w.Do(func() { w.Idle++ })
	w.NextTurn()
	stirred := w.Pass(patience)
	goesOn := possible() || stirred
	switch {
	case w.Idle <= maxIdle && goesOn: // progress of a contender sets Idle to 0
		return true
	case w.AllDone():
		w.checkEnd()
	default:
		hang()
	}
	return false
}

// point makes the Point at which one of these actions is chosen.
func (w *Player) point(actions []action) *Point {
	p := &Point{Log: w.Run.Log, gaps: w.keptInGaps()}
	for _, a := range actions {
		p.Enabled = append(p.Enabled, a.String())
		p.Faults = append(p.Faults, a.fault)
	}
	p.Situation = func() uint64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.situationLocked()
	}
	if w.Run.hashing {
		w.Do(func() { p.State = w.hashLocked() })
	}
	return p
}

func (w *Player) act(a action) {
	w.mu.Lock()
	w.Foot = Footprint{}
	w.Turn++
	w.last = a.who
	w.Camera.Action()
	w.mu.Unlock()

	a.do()
	w.Settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.fault != "" {
		w.Happened++
		w.Run.Facts.Faults = append(w.Run.Facts.Faults, a.String())
		w.Foot.Fault = true
	}
}

// ResultsLocked notes the result of each contender.
func (w *Player) ResultsLocked() {
	for _, k := range w.Contenders {
		became := append(slices.Clone(k.results), i18n.Both(k.State, statesZh[k.State]))
		w.Run.Results = append(w.Run.Results, i18n.Textf("%s: %s", k.Name, i18n.Join(became, ", ")))
	}
}

// Settle returns when all goroutines have got as far as they can. Meanwhile clients go on that have lost
// their connection, one after the other, and replies arrive, unless they are choices.
func (w *Player) Settle() {
	for {
		synctest.Wait()
		w.mu.Lock()
		w.Camera.Depart()
		again := slices.ContainsFunc(w.Clients, func(c *Client) bool { return !c.Stopped && openGate(&c.connecting) })
		if !again && !w.Packets {
			for _, c := range w.Clients {
				if l := c.Line; !c.Stopped && !l.Broken && len(l.Down) > 0 {
					w.SortEvents(l.Down)
					w.Camera.Answer()
					for len(l.Down) > 0 {
						w.DeliverLocked(c)
					}
					again = true
				}
			}
		}
		if !again {
			w.takeNotesLocked()
			w.Camera.Settled()
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

// DeliverLocked delivers the first packet of a client's way down.
func (w *Player) DeliverLocked(c *Client) {
	p := c.Line.answerLocked()
	w.Foot.client(c)
	if p.IsEvent {
		w.Run.Events++
		w.Camera.Woken(c, p)
	}
	if w.Paced {
		return
	}
	e := Entry{Who: c.Name, Kind: "reply", Op: p.Op.String(), Path: p.Path, Made: p.Made, Watch: p.Watch, Err: Code(p.Err), Names: p.Names}
	if p.IsEvent {
		e = Entry{Who: c.Name, Kind: "event", Op: p.Event.String(), Path: p.Path}
	}
	if w.Run.hashing {
		c.history = c.history*1099511628211 ^ e.hash() // FNV-1's prime
	}
	c.past.add(uint64(p.rest))
	w.LogLocked(e)
}

// Code returns an error as text, for a log.
func Code(c jute.Code) string {
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

// SortEvents puts the events of one action into a fixed order. The end of a session, for
// example, removes the session's nodes in any order.
func (w *Player) SortEvents(down []Frame) {
	for i := 0; i < len(down); {
		j := i // down[i:j] are the events of one action
		for j < len(down) && down[j].IsEvent && down[j].turn == down[i].turn {
			j++
		}
		if w.Run.Unordered && j > i {
			slices.SortStableFunc(down[i:j], func(a, b Frame) int { return strings.Compare(b.Path, a.Path) })
		}
		i = max(j, i+1)
	}
}

// takeNotesLocked logs, in a fixed order, what clients have sent and contenders have noted since the last time,
// and checks the state.
func (w *Player) takeNotesLocked() {
	if !w.Unnoted && w.Calm() {
		return
	}
	w.Unnoted = false
	for _, c := range w.Clients {
		l := c.Line
		from := len(l.Up)
		for from > 0 && l.Up[from-1].turn == w.Turn {
			from--
		}
		sent := l.Up[from:]
		if len(sent) == 0 {
			continue
		}
		slices.SortStableFunc(sent, compareSent)
		for i := range sent {
			w.Foot.client(c)
			w.LogLocked(Entry{Who: c.Name, Kind: "sends", Op: sent[i].Op.String(), Path: sent[i].Path, Watch: sent[i].Watch})
			if sent[i].Op != jute.OpSetWatches {
				w.Run.Requests++
			}
			sent[i].turn = -1 // so that it is not logged again
			w.Camera.Sent(c, &sent[i])
		}
	}

	for _, k := range w.Contenders {
		for _, e := range k.notes {
			e.Who = k.Name
			w.LogLocked(e)
			w.Foot.client(k.Client)
			w.Idle = 0
		}

		k.notes = nil
		w.Camera.Noted(k)
		for _, v := range k.bad {
			w.ViolateLocked(v)
		}
		k.bad = nil
	}
	w.checkLocked()
}

// Calm reports whether, in a paced run, only packets and calls of contenders change anything:
// no fault has happened, and no clock matters.
func (w *Player) Calm() bool {
	l := w.Lock
	return w.Paced && w.Happened == 0 && !l.Timed && l.Within == 0 && l.Check == nil && !w.Apart
}

// LogLocked adds an entry to the log of the schedule.
func (w *Player) LogLocked(e Entry) {
	if w.Paced {
		return // its film has all of it, and it is not a situation to come back to
	}
	e.At = time.Since(w.Start)
	e.Point = len(w.Run.Points)
	for _, c := range w.Clients {
		if w.Shared || c.Name == e.Who {
			c.remember(e)
		}
	}
	w.Run.Log = append(w.Run.Log, e)
}

// Pass lets time pass until something happens, for at most that time.
func (w *Player) Pass(limit time.Duration) (stirred bool) {
	select {
	case <-w.stir:
		stirred = true
	case <-time.After(limit):
	}
	w.Settle()
	return stirred
}

// DrainStir forgets what has happened before: Pass waits for what happens next.
func (w *Player) DrainStir() {
	select {
	case <-w.stir:
	default:
	}
}

// AllDone reports whether all scripts have ended.
func (w *Player) AllDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.Contenders, func(k *Contender) bool { return k.State != done })
}

// nodesLeft reports whether a client still has a node of the lock: it may be about to remove it.
func (w *Player) nodesLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.Clients, func(c *Client) bool { return len(w.nodesOf(c)) > 0 })
}

// OwnerLocked names the client of a session.
func (w *Player) OwnerLocked(session int64) string {
	if c := w.sessions[session]; c != nil {
		return c.Name
	}
	for _, c := range w.Clients {
		if c.Conn.SessionID() == session {
			return c.Name
		}
	}
	return "another session"
}

// A Camera records a schedule while it is played, and makes a film of it. Its
// methods are called with the lock of the player held.
type Camera interface {
	Action()                             // an action is chosen
	Answer()                             // replies and events are about to arrive at once
	Depart()                             // the server may have sent something
	Settled()                            // all goroutines have got as far as they can
	Sent(c *Client, p *Frame)            // a request departs
	Arrived(p *Frame, lost bool)         // a packet arrives, or is lost
	Carried(c *Client, p Frame)          // a request is carried out
	Woken(c *Client, p Frame)            // an event has arrived, and wakes contenders
	Client(c *Client, state string)      // the state of a client; see Mark
	State(k *Contender, text i18n.Text)  // the state of a contender has changed
	Noted(k *Contender)                  // the notes of the contender are in the log
	Lost(k *Contender, noticed bool)     // a holder has lost the lock
	Violation(v Violation, known string) // known: the name of a Known, or ""
	Note(who string, text i18n.Text)
}

// NoCamera is the camera of a schedule without a film.
type NoCamera struct{}

func (NoCamera) Action()                     {}
func (NoCamera) Answer()                     {}
func (NoCamera) Depart()                     {}
func (NoCamera) Settled()                    {}
func (NoCamera) Sent(*Client, *Frame)        {}
func (NoCamera) Arrived(*Frame, bool)        {}
func (NoCamera) Carried(*Client, Frame)      {}
func (NoCamera) Woken(*Client, Frame)        {}
func (NoCamera) Client(*Client, string)      {}
func (NoCamera) State(*Contender, i18n.Text) {}
func (NoCamera) Noted(*Contender)            {}
func (NoCamera) Lost(*Contender, bool)       {}
func (NoCamera) Violation(Violation, string) {}
func (NoCamera) Note(string, i18n.Text)      {}
