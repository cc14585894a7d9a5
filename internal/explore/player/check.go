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

// Which of these checks are made depends on the World and on its lock, w.Lock. The fields of both are in world.go.

// checkLocked checks the state after an action, when all goroutines have got as far as they can.
func (w *Player) checkLocked() {
	if w.gatesOpen {
		return // the schedule is over
	}
	if !w.Apart { // otherwise each contender has a lock of its own, and all may hold theirs at once
		w.checkHoldersLocked()
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
		if k.State == Inside && !k.entryChecked {
			w.checkEntryLocked(k)
		}
		k.entryChecked = k.State == Inside
	}
}

// checkHoldersLocked checks that no more contenders hold the lock than may do so. It also notes a holder that does not
// know yet that its session has ended, while another contender holds the lock.
func (w *Player) checkHoldersLocked() {
	holders, outlived := w.holdersLocked()
	if w.Lock.tooMany(holders) {
		w.reportLocked(TwoHolders, "", "%s hold the lock at once", And(holders))
	}
	// No lock can rule Outlived out. So it is a known fault of each, is noted once in a schedule, and does not end it.
	if len(outlived) > 0 && len(holders) > 0 && !slices.Contains(w.Run.Known, Outlived.Text()) {
		w.knownLocked(Outlived.Text(), Violation{Kind: Outlived, Who: outlived[0],
			What: i18n.Textf("%s had not noticed that it had lost the lock while %s held it", outlived[0], holders[0])})
	}
}

// holdersLocked returns the contenders that hold the lock, one of each owner, and those that outlived their session.
func (w *Player) holdersLocked() (holders, outlived []string) {
	for _, k := range w.Contenders {
		switch {
		case k.State != Inside || k.notified(): // it does not hold the lock, or knows that it has lost it
		case k.Lost || !w.sessionLives(k.holdSession):
			outlived = append(outlived, k.Name)
		case !slices.Contains(holders, w.owner(k.Name)):
			holders = append(holders, k.Name)
		}
	}
	return holders, outlived
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

// checkNodesLocked checks that there is a node for each holder of a client whose session lives: a student's lock
// (Lenient) may delete one that it still needs.
func (w *Player) checkNodesLocked() {
	for _, c := range w.Clients {
		var holders []string // by their owners
		for _, k := range c.Contenders {
			inSession := !k.Lost && k.holdSession == c.Conn.SessionID() && w.sessionLives(k.holdSession)
			holds := k.State == Inside && inSession && !k.notified()
			if o := w.owner(k.Name); holds && !slices.Contains(holders, o) {
				holders = append(holders, o)
			}
		}

		switch nodes := len(w.nodesOf(c)); {
		case nodes >= len(holders):
		case len(holders) == 1:
			w.reportLocked(NodeMissing, holders[0],
				"%s holds the lock, and there is no node: the next contender gets in, too", holders[0])
		default:
			w.reportLocked(NodeMissing, holders[0],
				"%s hold the lock, with %d node: the next contender gets in, too", And(holders), nodes)
		}
	}
}

// checkWaitLocked checks that a contender does not wait for too long, and that there is another one to wait for.
func (w *Player) checkWaitLocked(k *Contender) {
	if !k.contended {
		k.contended = w.othersContendLocked(k)
	}
	waited := time.Since(k.calledAt)
	if w.Lock.Within > 0 && waited > w.Lock.Within {
		w.reportLocked(TooLong, k.Name, "%s has waited for %v, and its Lock is to give up after %v",
			k.Name, waited.Round(time.Second), w.Lock.Within)
	}
	l := k.Client.Line
	nothingUnderWay := !k.Client.faulted && !l.Broken && len(l.Up)+len(l.Down) == 0
	if w.Apart && nothingUnderWay {
		w.reportLocked(Hang, k.Name, "%s waits for a lock that no other contender holds or asks for", k.Name)
	}
}

// checkEntryLocked checks a contender that has just got the lock: its token, its place in the queue, and overtakings.
func (w *Player) checkEntryLocked(k *Contender) {
	if leased, ok := k.Lock.(Leased); ok {
		token := leased.Token()
		ofOneHold := token == w.highestToken && w.OneOwner // the other goroutine of the same owner has got in before
		if token <= w.highestToken && !ofOneHold {
			w.reportLocked(TokenShrinks, k.Name, "the token of %s is not above that of the holder before it", k.Name)
		}
		w.highestToken = max(w.highestToken, token)
	}

	ownClient := !w.Shared // requests and nodes tell their contender
	if ownClient && w.Lock.Bypass > 0 {
		w.countOvertakenLocked(k)
	}
	if ownClient && w.Lock.Queue && !w.Apart && !k.Lost {
		w.checkOrderLocked(k)
	}
}

// countOvertakenLocked counts, for each waiter that had joined the queue when k called Lock, that k gets in first.
func (w *Player) countOvertakenLocked(k *Contender) {
	k.overtaken = 0
	for _, o := range w.Contenders {
		joinedBefore := o.joinedTurn != 0 && o.joinedTurn <= k.calledTurn
		if o == k || o.State != Waiting || !joinedBefore || o.Client.faulted {
			continue
		}
		o.overtaken++
		if o.overtaken >= w.Lock.Bypass {
			w.reportLocked(Starves, o.Name, "%d times a contender that called Lock later gets in before %s", o.overtaken, o.Name)
		}
	}
}

// checkOrderLocked checks that the node of a contender that has just got the lock is before those of all that wait.
func (w *Player) checkOrderLocked(k *Contender) {
	nodes := w.nodesOf(k.Client)
	if len(nodes) == 0 {
		w.checkEntryWithoutNodeLocked(k)
		return
	}
	own := nodes[0]
	if w.Lock.Permits > 1 && w.contendersBefore(own) < w.Lock.Permits {
		return // the contenders before it may come in, too
	}

	for _, o := range w.Contenders {
		mayEnterToo := w.Lock.Together != nil && w.Lock.Together(o.Name, k.Name)
		if o == k || o.State != Waiting || o.Client.faulted || o.Ended || mayEnterToo {
			continue
		}
		for _, node := range w.nodesOf(o.Client) {
			if isBefore(node, own) {
				w.reportLocked(Overtaken, k.Name, "%s gets in with %s, before %s with %s",
					k.Name, path.Base(own), o.Name, path.Base(node))
			}
		}
	}
}

// checkEntryWithoutNodeLocked reports a contender that has got the lock and has no node, unless a fault explains that,
// such as the end of its session. That somebody has deleted the node alone (NodeGoes) explains nothing.
func (w *Player) checkEntryWithoutNodeLocked(k *Contender) {
	deletedAlone := k.nodeDeleted && w.sessionLives(k.Client.Conn.SessionID())
	if !k.Client.faulted || deletedAlone {
		w.reportLocked(NodeMissing, k.Name, "%s holds the lock, and its session has no node of the lock", k.Name)
	}
}

// contendersBefore returns how many nodes of contenders have a lower number than the node.
func (w *Player) contendersBefore(node string) (n int) {
	for _, name := range w.Srv.Children(w.lockPath()) {
		if !slices.Contains(Strangers, name) && isBefore(name, node) {
			n++
		}
	}
	return n
}

// isBefore reports whether a node has a lower sequence number than another. The difference wraps, as the counter does.
func isBefore(node, other string) bool { return sequenceNumber(node)-sequenceNumber(other) < 0 }

// sequenceNumber returns the number in a node's name, or 0. Numbers above 2³¹-1 become negative, as the server's do.
func sequenceNumber(node string) int32 {
	n, _ := strconv.ParseInt(node[max(0, len(node)-10):], 10, 64)
	return int32(n) // also of -2147483648: its last ten characters lack the sign, and int32(2147483648) has it again
}

// ReportHang reports the contenders that wait when nothing can happen any more.
func (w *Player) ReportHang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var who []string
	for _, k := range w.Contenders {
		if k.State != done {
			who = append(who, k.Name)
		}
	}
	if len(who) == 1 {
		w.reportLocked(Hang, who[0], "%s waits, and nothing can happen any more", who[0])
	} else {
		w.reportLocked(Hang, who[0], "%s wait, and nothing can happen any more", And(who))
	}
}

// checkEnd checks the nodes and sessions that are left, and the costs, when all scripts have ended.
func (w *Player) checkEnd() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkNodesLeftLocked()
	for _, c := range w.Clients {
		if w.Lock.Closes && !c.faulted && w.sessionLives(c.Session) {
			w.reportLocked(SessionLeft, c.Name, "the session of %s still exists after its call of Unlock", c.Name)
		}
	}

	run, lock, n := w.Run, w.Lock, w.Number()
	isPredicted := !w.Missing && !w.Apart && len(w.Scripts) == 0 && w.FaultCount == 0 // the formulas are of such a schedule
	if isPredicted && lock.Requests != nil && run.Requests > lock.Requests(n) {
		w.reportLocked(Costly, "", "%d requests, at most %d are predicted", run.Requests, lock.Requests(n))
	}
	if isPredicted && lock.Events != nil && run.Events > lock.Events(n) {
		w.reportLocked(Costly, "", "%d watch events, at most %d are predicted", run.Events, lock.Events(n))
	}

	watches := w.Srv.Watches()
	if w.FaultCount == 0 && len(watches) > 0 {
		owner := w.OwnerLocked(watches[0].Session)
		w.reportLocked(WatchLeft, owner, "%s has left a watch on %s", owner, watches[0].Path)
	}
}

// checkNodesLeftLocked checks that no node of the lock is left, except for the parent of a queue.
func (w *Player) checkNodesLeftLocked() {
	for _, c := range w.Clients {
		for _, node := range w.nodesOf(c) {
			w.reportLocked(NodeLeft, c.Name, "%s has left %s behind", c.Name, node)
		}
	}
	lockPath := w.lockPath()
	for _, name := range w.Srv.Children(lockPath) {
		if !slices.Contains(Strangers, name) {
			w.checkStaysLocked(lockPath+"/"+name, name)
		}
	}
	if !w.Lock.Queue && !w.Lock.Exists {
		w.checkStaysLocked(lockPath, lockPath)
	}
}

// checkStaysLocked reports a node that is not ephemeral, under a name.
func (w *Player) checkStaysLocked(node, name string) {
	if found, ok := w.Srv.Node(node); ok && found.Stat.EphemeralOwner == 0 {
		w.reportLocked(NodeLeft, "", "%s stays, and no end of a session removes it", name)
	}
}

// owner returns the name of the owner for which a contender is opened: with OneOwner, A and B are both of the owner A.
func (w World) owner(name string) string {
	if w.OneOwner && name == "B" {
		return "A"
	}
	return name
}

// notified reports whether a holder of a Leased lock has been notified that it has lost the lock.
func (k *Contender) notified() bool { return k.lostChannel != nil && bubble.IsClosed(k.lostChannel) }

func (w *Player) sessionLives(session int64) bool {
	_, ok := w.Srv.Ephemerals(session)
	return ok
}

// nodesOf lists the ephemeral nodes of a client at or below the lock's path.
func (w *Player) nodesOf(c *Client) []string {
	all, _ := w.Srv.Ephemerals(c.Conn.SessionID())
	return slices.DeleteFunc(all, func(node string) bool { return !strings.HasPrefix(node, w.lockPath()) })
}

// And names contenders or clients: "A, B and C" is said as "A and B and C".
func And(names []string) i18n.Text {
	last := len(names) - 1
	if last < 1 {
		return i18n.Same(strings.Join(names, ""))
	}
	return i18n.Both(strings.Join(names, " and "), strings.Join(names[:last], "、")+" 和 "+names[last])
}
