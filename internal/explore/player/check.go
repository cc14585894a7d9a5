package player

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
)

// checkLocked checks the state after an action, when all goroutines have got as far as they can.
func (w *Player) checkLocked() {
	if w.free {
		return
	}
	holders, outlived := w.holdersLocked()
	if w.Lock.tooMany(holders) && !w.Apart {
		w.ViolateLocked(Violation{Kind: TwoHolders, What: i18n.Textf("%s hold the lock at once", And(holders))})
	}
	if len(outlived) > 0 && len(holders) > 0 && !w.Apart && !slices.Contains(w.Run.Known, Outlived.Text()) {
		w.knownLocked(Outlived.Text(), Violation{Kind: Outlived, Who: outlived[0],
			What: i18n.Textf("%s had not noticed that it had lost the lock while %s held it", outlived[0], holders[0])})
	}

	if w.Lock.Check != nil {
		if v := w.Lock.Check(); v.Kind != "" {
			w.ViolateLocked(v)
		}
	}
	if w.Lock.Lenient && !w.Apart && !slices.Contains(w.Lock.Ignore, NodeMissing) {
		w.checkNodesLocked()
	}

	for _, k := range w.Contenders {
		if k.State == Waiting {
			w.checkWaitLocked(k)
		}
		if k.State == Inside && !k.checked {
			w.enteredLocked(k)
		}
		k.checked = k.State == Inside
	}
}

// holdersLocked returns the contenders that hold the lock, one for each owner. outlived are those whose
// session has ended while they held the lock, and that were not notified of that.
func (w *Player) holdersLocked() (holders, outlived []string) {
	for _, k := range w.Contenders {
		switch {
		case k.State != Inside || k.notified(): // it does not hold the lock, or knows that it has lost it
		case k.Lost || !w.sessionLives(k.held):
			outlived = append(outlived, k.Name)
		case !slices.Contains(holders, w.owner(k.Name)):
			holders = append(holders, k.Name)
		}
	}
	return holders, outlived
}

// checkWaitLocked checks that a contender does not wait for too long, and that there is another one to wait for.
func (w *Player) checkWaitLocked(k *Contender) {
	if !k.company {
		k.company = w.companyLocked(k)
	}
	if w.Lock.Within > 0 && time.Since(k.since) > w.Lock.Within {
		w.ViolateLocked(Violation{Kind: TooLong, Who: k.Name, What: i18n.Textf(
			"%s has waited for %v, and its Lock is to give up after %v", k.Name, time.Since(k.since).Round(time.Second), w.Lock.Within)})
	}
	l := k.Client.Line
	nothingUnderWay := !k.Client.faulted && !l.Broken && len(l.Up)+len(l.Down) == 0
	if w.Apart && nothingUnderWay {
		w.ViolateLocked(Violation{Kind: Hang, Who: k.Name, What: i18n.Textf(
			"%s waits for a lock that no other contender holds or asks for", k.Name)})
	}
}

// checkNodesLocked checks that there is a node for each holder of a client whose session lives.
func (w *Player) checkNodesLocked() {
	for _, c := range w.Clients {
		var inside []string
		for _, k := range c.Contenders {
			sessionHolds := func() bool { return !k.Lost && k.held == c.Conn.SessionID() && w.sessionLives(k.held) }
			if k.State != Inside || !sessionHolds() || k.notified() {
				continue
			}
			if o := w.owner(k.Name); !slices.Contains(inside, o) {
				inside = append(inside, o)
			}
		}

		switch n := len(w.nodesOf(c)); {
		case n >= len(inside):
		case len(inside) == 1:
			w.ViolateLocked(Violation{Kind: NodeMissing, Who: inside[0], What: i18n.Textf(
				"%s holds the lock, and there is no node: the next contender gets in, too", inside[0])})
		default:
			w.ViolateLocked(Violation{Kind: NodeMissing, Who: inside[0], What: i18n.Textf(
				"%s hold the lock, with %d node: the next contender gets in, too", And(inside), n)})
		}
	}
}

// owner returns the name of the owner for which a contender is opened: with OneOwner, A and B are both of the owner A.
func (w World) owner(name string) string {
	if w.OneOwner && name == "B" {
		return "A"
	}
	return name
}

// tooMany reports whether these contenders may not be inside at once.
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

// overtakenLocked counts, for each waiter that called Lock before k did, that k gets in first.
func (w *Player) overtakenLocked(k *Contender) {
	k.passed = 0
	for _, o := range w.Contenders {
		if o == k || o.State != Waiting || o.joined == 0 || o.joined > k.called || o.Client.faulted {
			continue
		}
		o.passed++
		if o.passed >= w.Lock.Bypass {
			w.ViolateLocked(Violation{Kind: Starves, Who: o.Name, What: i18n.Textf(
				"%d times a contender that called Lock later gets in before %s", o.passed, o.Name)})
		}
	}
}

// notified reports whether a holder of a Leased lock has been notified that it has lost the lock.
func (k *Contender) notified() bool { return k.lostSignal != nil && bubble.IsClosed(k.lostSignal) }

func (w *Player) sessionLives(session int64) bool {
	_, ok := w.Srv.Ephemerals(session)
	return ok
}

// nodesOf lists the ephemeral nodes of a client at or below the lock's path.
func (w *Player) nodesOf(c *Client) (nodes []string) {
	all, _ := w.Srv.Ephemerals(c.Conn.SessionID())
	for _, p := range all {
		if strings.HasPrefix(p, w.lockPath()) {
			nodes = append(nodes, p)
		}
	}
	return nodes
}

// enteredLocked checks a contender that has just got the lock: its token is higher than that of the last holder, its
// node is before those of all that wait, and none that waits has been overtaken too often.
func (w *Player) enteredLocked(k *Contender) {
	if leased, ok := k.Lock.(Leased); ok {
		token := leased.Token()
		if token < w.token || token == w.token && !w.OneOwner {
			w.ViolateLocked(Violation{Kind: TokenShrinks, Who: k.Name, What: i18n.Textf(
				"the token of %s is not above that of the holder before it", k.Name)})
		}
		w.token = max(w.token, token)
	}
	if w.Lock.Bypass > 0 && !w.Shared {
		w.overtakenLocked(k)
	}
	if !w.Lock.Queue || w.Shared || w.Apart || k.Lost {
		return
	}

	own := w.nodesOf(k.Client)
	if len(own) == 0 {
		w.enteredWithoutNodeLocked(k)
		return
	}
	if w.Lock.Permits > 1 && w.contendersBefore(own[0]) < w.Lock.Permits {
		return // the contenders before it may come in, too
	}

	for _, o := range w.Contenders {
		mayEnterToo := w.Lock.Together != nil && w.Lock.Together(o.Name, k.Name)
		if o == k || o.State != Waiting || o.Client.faulted || o.Ended || mayEnterToo {
			continue
		}
		for _, p := range w.nodesOf(o.Client) {
			if sequenceNumber(p)-sequenceNumber(own[0]) < 0 { // the difference wraps, as the counter does
				w.ViolateLocked(Violation{Kind: Overtaken, Who: k.Name, What: i18n.Textf(
					"%s gets in with %s, before %s with %s", k.Name, path.Base(own[0]), o.Name, path.Base(p))})
			}
		}
	}
}

// enteredWithoutNodeLocked reports a contender that has got the lock and has no node, unless a fault explains that.
func (w *Player) enteredWithoutNodeLocked(k *Contender) {
	if !k.Client.faulted || k.stripped && w.sessionLives(k.Client.Conn.SessionID()) {
		w.ViolateLocked(Violation{Kind: NodeMissing, Who: k.Name, What: i18n.Textf(
			"%s holds the lock, and its session has no node of the lock", k.Name)})
	}
}

// contendersBefore returns how many nodes of contenders have a lower number than the node.
func (w *Player) contendersBefore(node string) (n int) {
	for _, name := range w.Srv.Children(w.lockPath()) {
		if !slices.Contains(Strangers, name) && sequenceNumber(name)-sequenceNumber(node) < 0 {
			n++
		}
	}
	return n
}

// sequenceNumber returns the sequence number in a node's name, or 0. Numbers above 2³¹-1 become negative, as the
// server's do.
func sequenceNumber(p string) int32 {
	n, _ := strconv.ParseInt(p[max(0, len(p)-10):], 10, 64) // -2147483648 has lost its sign, and 2147483648 wraps to it
	return int32(n)
}

// Hang reports the contenders that wait when nothing can happen any more.
func (w *Player) Hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var who []string
	for _, k := range w.Contenders {
		if k.State != done {
			who = append(who, k.Name)
		}
	}
	what := i18n.Textf("%s wait, and nothing can happen any more", And(who))
	if len(who) == 1 {
		what = i18n.Textf("%s waits, and nothing can happen any more", who[0])
	}
	w.ViolateLocked(Violation{Kind: Hang, Who: who[0], What: what})
}

// And names contenders or clients: "A, B and C" is said as "A and B and C".
func And(names []string) i18n.Text {
	last := len(names) - 1
	if last < 1 {
		return i18n.Same(strings.Join(names, ""))
	}
	return i18n.Both(strings.Join(names, " and "), strings.Join(names[:last], "、")+" 和 "+names[last])
}

// staysText is about a node that is not ephemeral.
func staysText(node string) i18n.Text {
	return i18n.Textf("%s stays, and no end of a session removes it", node)
}

// checkEnd checks the nodes and sessions that are left, and the costs, when all scripts have ended.
func (w *Player) checkEnd() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.Clients {
		for _, p := range w.nodesOf(c) {
			w.ViolateLocked(Violation{Kind: NodeLeft, Who: c.Name, What: i18n.Textf("%s has left %s behind", c.Name, p)})
		}
	}
	for _, name := range w.Srv.Children(w.lockPath()) {
		node, ok := w.Srv.Node(w.lockPath() + "/" + name)
		if !slices.Contains(Strangers, name) && ok && node.Stat.EphemeralOwner == 0 {
			w.ViolateLocked(Violation{Kind: NodeLeft, What: staysText(name)})
		}
	}
	if node, ok := w.Srv.Node(w.lockPath()); ok && !w.Lock.Queue && !w.Lock.Exists && node.Stat.EphemeralOwner == 0 {
		w.ViolateLocked(Violation{Kind: NodeLeft, What: staysText(w.lockPath())})
	}

	for _, c := range w.Clients {
		if w.Lock.Closes && !c.faulted && w.sessionLives(c.Session) {
			w.ViolateLocked(Violation{Kind: SessionLeft, Who: c.Name, What: i18n.Textf(
				"the session of %s still exists after its call of Unlock", c.Name)})
		}
	}

	r, s, n := w.Run, w.Lock, w.Number()
	isPredicted := !w.Missing && !w.Apart && len(w.Scripts) == 0 && w.Happened == 0 // the formulas are of such a schedule
	if isPredicted {
		if s.Requests != nil && r.Requests > s.Requests(n) {
			w.ViolateLocked(Violation{Kind: Costly, What: i18n.Textf("%d requests, at most %d are predicted", r.Requests, s.Requests(n))})
		}
		if s.Events != nil && r.Events > s.Events(n) {
			w.ViolateLocked(Violation{Kind: Costly, What: i18n.Textf("%d watch events, at most %d are predicted", r.Events, s.Events(n))})
		}
	}

	watches := w.Srv.Watches()
	if w.Happened == 0 && len(watches) > 0 {
		w.ViolateLocked(Violation{Kind: WatchLeft, Who: w.OwnerLocked(watches[0].Session),
			What: i18n.Textf("%s has left a watch on %s", w.OwnerLocked(watches[0].Session), watches[0].Path)})
	}
}
