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

// A Player is a World while one schedule is played, in virtual time. For a search, Play repeats these steps:
//
//	possibleActions, choose   the packets, faults and calls that may come next, and the one that does
//	act                       the action happens, and its Footprint is noted in Touched
//	Settle                    every goroutine runs until it waits; then the log is written, and the state is checked
//	Wait                      in place of these, if no action is possible: time passes until a timer wakes a goroutine
type Player struct {
	World
	Srv        *zkserver.Server
	Start      time.Time
	Clients    []*Client
	Contenders []*Contender
	Run        *Run
	endLock    func() // what the lock's Begin has returned, or nil

	mu        sync.Mutex    // guards the fields below, all lines, clients and contenders
	gatesOpen bool          // no goroutine waits for the explorer (gate.go): the world is set up or taken down
	Turn      int           // the number of the action
	activity  chan struct{} // has room for one value: something has happened since ForgetActivity

	Camera Camera
	Paced  bool // by package film: packets arrive at instants drawn from a seed, and the film takes the place of the log
	// A paced run may have a hundred contenders, so it looks at them only after a change: Unnoted is a change since
	// takeNotesLocked checked them, Unscheduled one since package film gave the packets their instants.
	Unnoted, Unscheduled bool

	FaultCount   int               // how many faults have happened
	lastActor    string            // the client or contender that acted last
	Idle         int               // how many times a patience has passed since the last progress of a contender
	highestToken int64             // the highest fencing token so far
	Touched      Footprint         // of the action: a search tries two actions in one order if they touch different things
	gaps         []*gap            // where goroutines of the lock are kept
	sessions     map[int64]*Client // the clients of all sessions, also of those that have ended
	origins      map[string]origin // by path, of the nodes
	childrenMade map[string]int    // by path, how many children the node has been given
	czxids       map[string]int64  // by path, the zxid of the node's create
}

// Do calls f with the player's lock held. f may call the methods whose names end with Locked, and waits for nothing.
func (w *Player) Do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Read returns what f returns. It calls f as [Player.Do] does.
func Read[T any](w *Player, f func() T) (value T) {
	w.Do(func() { value = f() })
	return value
}

// Play starts the contenders, and carries out one action after the other until a violation or the end: [PlayWatched].
func (w *Player) Play(choose Chooser, acted func(n int, f Footprint)) {
	run := w.Run
	for _, k := range w.Contenders {
		k.Start()
		w.Settle()
	}

	for run.Violation == nil && !run.over {
		actions := w.possibleActions()
		if len(run.Points) >= maxPoints {
			w.Do(func() { w.ViolateLocked(w.endlessLocked(actions)) })
			break
		}

		if len(actions) == 0 {
			canAct := func() bool { return len(w.possibleActions()) > 0 }
			if !w.Wait(w.Lock.Timed || w.Lock.Lenient, canAct, w.ReportHang) {
				break
			}
			continue
		}

		p := w.point(actions)
		if p.Chosen = choose(p); p.Chosen < 0 || p.Chosen >= len(actions) {
			run.Aborted = true
			break
		}
		run.Points = append(run.Points, p)
		w.act(actions[p.Chosen])
		if acted != nil {
			acted(len(run.Points)-1, w.Touched)
		}
	}

	w.Do(w.ResultsLocked)
	if run.hashing { // a search counts the states: situation.go
		run.Final = Read(w, w.stateHashLocked)
	}
}

// endlessLocked is the violation of a schedule that has more than maxPoints actions.
func (w *Player) endlessLocked(actions []action) Violation {
	if waiter := w.waitsInVain(actions); waiter != "" {
		return Violation{Kind: Hang, Who: waiter, What: i18n.Textf("nothing goes on but a loop that does not wake %s", waiter)}
	}
	return Violation{Kind: Endless, What: i18n.Textf("%d actions, and no end", len(w.Run.Points))}
}

// waitsInVain names a contender that waits while only the lock's own goroutines go on, such as a heartbeat; "": none.
func (w *Player) waitsInVain(actions []action) string {
	contenderAt := w.KeptInGaps()
	for _, a := range actions {
		if name, isGap := strings.CutPrefix(a.who, "gap "); !isGap || contenderAt[name] != "" {
			return ""
		}
	}
	if i := slices.IndexFunc(w.Contenders, func(k *Contender) bool { return k.State == Waiting }); i >= 0 {
		return w.Contenders[i].Name
	}
	return ""
}

// Wait lets time pass, one patience at most, when no action is possible. It returns true if something has happened, or
// possible returns true, unless maxIdle patiences have brought no progress of a contender. Otherwise the schedule is
// over, and Wait has called checkEnd if all scripts have ended, and hang if not.
func (w *Player) Wait(timed bool, possible func() bool, hang func()) (goOn bool) {
	mayRemoveNodes := timed && w.Idle <= maxIdle && w.nodesLeft() // by the clock, after the scripts
	if w.AllDone() && !mayRemoveNodes {
		w.checkEnd()
		return false
	}

	w.ForgetActivity()
	w.Do(func() { w.Idle++ }) // the progress of a contender sets it to 0
	w.NextTurn()
	happened := w.WaitForActivity(patience)
	goOn = (possible() || happened) && w.Idle <= maxIdle
	switch {
	case goOn:
	case w.AllDone():
		w.checkEnd()
	default:
		hang()
	}
	return goOn
}

func (w *Player) point(actions []action) *Point {
	p := &Point{Log: w.Run.Log, gaps: w.KeptInGaps()}
	for _, a := range actions {
		p.Enabled = append(p.Enabled, a.String())
		p.Faults = append(p.Faults, a.fault)
	}
	p.Situation = func() uint64 { return Read(w, w.situationHashLocked) }
	if w.Run.hashing {
		p.State = Read(w, w.stateHashLocked)
	}
	return p
}

// act carries out an action, and records its footprint in Touched.
func (w *Player) act(a action) {
	w.Do(func() {
		w.Touched = Footprint{}
		w.Turn++
		w.lastActor = a.who
		w.Camera.Action()
	})

	a.do()
	w.Settle()

	w.mu.Lock()
	defer w.mu.Unlock()
	if a.fault != "" {
		w.FaultCount++
		w.Run.Facts.Faults = append(w.Run.Facts.Faults, a.String())
		w.Touched.Fault = true
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
	for goesOn := true; goesOn; {
		synctest.Wait()
		goesOn = Read(w, w.settleLocked)
	}
}

// settleLocked takes one step of Settle. If none is left, it logs and checks what has happened, and returns false.
func (w *Player) settleLocked() (goesOn bool) {
	w.Camera.Depart()
	if slices.ContainsFunc(w.Clients, func(c *Client) bool { return !c.Stopped && openGate(&c.lostGate) }) {
		return true
	}
	if !w.Packets && w.deliverAllLocked() {
		return true
	}
	w.takeNotesLocked()
	w.Camera.Settled()
	return false
}

// deliverAllLocked delivers the replies and events that are on their way to clients, and reports whether any were.
func (w *Player) deliverAllLocked() (delivered bool) {
	for _, c := range w.Clients {
		l := c.Line
		if c.Stopped || l.Broken || len(l.Down) == 0 {
			continue
		}
		delivered = true
		w.SortEvents(l.Down)
		w.Camera.Answer()
		for len(l.Down) > 0 {
			w.DeliverLocked(c)
		}
	}
	return delivered
}

// DeliverLocked delivers the first reply or event on its way to a client.
func (w *Player) DeliverLocked(c *Client) {
	p := c.Line.arriveAtClientLocked()
	w.Touched.addClient(c)
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
	if w.Run.hashing { // of the state, which has what the client has received
		c.received.addTexts(e.Kind, e.Op, e.Path, e.Made, e.Err)
		c.received.addTexts(e.Names...)
	}
	c.logDigest.add(uint64(p.replyDigest)) // of the situation; this is what the entry lacks
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

// SortEvents puts the events of each action into a fixed order, by their paths from the last to the first. Without it
// the order would differ from run to run: the end of a session, for example, removes its nodes in any order.
func (w *Player) SortEvents(down []Frame) {
	for begin := 0; begin < len(down); {
		end := begin // down[begin:end] are the events of one action; none if a reply is next
		for end < len(down) && down[end].IsEvent && down[end].turn == down[begin].turn {
			end++
		}
		if w.Run.Unordered {
			slices.SortStableFunc(down[begin:end], func(a, b Frame) int { return strings.Compare(b.Path, a.Path) })
		}
		begin = max(end, begin+1)
	}
}

// takeNotesLocked logs what clients have sent and contenders have noted, in a fixed order, and checks the state.
func (w *Player) takeNotesLocked() {
	if !w.Unnoted && w.Calm() {
		return // no contender has changed
	}
	w.Unnoted = false
	for _, c := range w.Clients {
		w.logSentLocked(c)
	}

	for _, k := range w.Contenders {
		for _, e := range k.notes {
			e.Who = k.Name
			w.LogLocked(e)
			w.Touched.addClient(k.Client)
			w.Idle = 0
		}
		k.notes = nil
		w.Camera.Noted(k)

		for _, v := range k.violations {
			w.ViolateLocked(v)
		}
		k.violations = nil
	}
	w.checkLocked()
}

// logSentLocked logs the requests that a client has sent during this action.
func (w *Player) logSentLocked(c *Client) {
	l := c.Line
	from := len(l.Up)
	for from > 0 && l.Up[from-1].turn == w.Turn {
		from--
	}
	sent := l.Up[from:]
	slices.SortStableFunc(sent, compareSent)
	for i := range sent {
		w.Touched.addClient(c)
		w.LogLocked(Entry{Who: c.Name, Kind: "sends", Op: sent[i].Op.String(), Path: sent[i].Path, Watch: sent[i].Watch})
		if sent[i].Op != jute.OpSetWatches {
			w.Run.Requests++
		}
		sent[i].turn = -1 // so that it is not logged again
		w.Camera.Sent(c, &sent[i])
	}
}

// Calm reports whether, in a paced run, only packets and calls of contenders change anything: no fault, and no clock.
func (w *Player) Calm() bool {
	l := w.Lock
	return w.Paced && w.FaultCount == 0 && !l.Timed && l.Within == 0 && l.Check == nil && !w.Apart
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

// NoteLocked adds a note to the log: what a contender, a client or the server does.
func (w *Player) NoteLocked(who string, text i18n.Text) {
	w.LogLocked(Entry{Who: who, Kind: "note", Text: text})
}

func (w *Player) NextTurn() { w.Do(func() { w.Turn++ }) }

// WaitForActivity lets virtual time pass until something happens, or the limit is over. It reports which.
func (w *Player) WaitForActivity(limit time.Duration) (happened bool) {
	select {
	case <-w.activity:
		happened = true
	case <-time.After(limit):
	}
	w.Settle()
	return happened
}

// ForgetActivity forgets what has happened before: WaitForActivity waits for what happens next.
func (w *Player) ForgetActivity() {
	select {
	case <-w.activity:
	default:
	}
}

// noteActivityLocked ends WaitForActivity: a client has sent something, or a contender has gone on.
func (w *Player) noteActivityLocked() {
	w.Unnoted, w.Unscheduled = true, true
	select {
	case w.activity <- struct{}{}:
	default: // it is noted already
	}
}

func (w *Player) AllDone() bool {
	return Read(w, func() bool {
		return !slices.ContainsFunc(w.Contenders, func(k *Contender) bool { return k.State != done }) // its script goes on
	})
}

// nodesLeft reports whether a client still has a node of the lock: it may be about to remove it.
func (w *Player) nodesLeft() bool {
	return Read(w, func() bool {
		return slices.ContainsFunc(w.Clients, func(c *Client) bool { return len(w.nodesOf(c)) > 0 })
	})
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
