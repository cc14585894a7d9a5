package zklock

import (
	"slices"
	"time"
)

// passBits is how far a node's czxid is shifted to make room in the token for the number of times that the lock was
// handed on within its Mutex. Then tokens grow with each holder: a later node has a higher czxid.
const passBits = 10

// A situation is all that decides what becomes of an idle entry: its node is the first, and nobody holds the lock.
type situation struct {
	mostHolds int           // the limits of WithHandOver
	mostAge   time.Duration // for holds and age
	holds     int           // how many the node has served
	age       time.Duration // the time since the first of them began
	rivals    rivals        // other contenders: absent, asked for by a list that is on its way, or assumed
	revoked   bool          // another contender asks for the lock
	wanted    bool          // an owner of the Mutex waits
	lasts     bool          // Client.Lasts: the session stays safe until the next proof, and long enough for a hold
	shut      bool          // Shutdown was called
}

// A verdict is what becomes of an idle entry.
type verdict int

const (
	leave       verdict = iota // the node is given up
	grant                      // the first owner that waits gets the lock
	keep                       // the node stays, cached
	waitForList                // the node stays, though owners wait: it serves them if the list shows no rivals
)

// verdict is the rule of hand-over (WithHandOver) and of caching (WithCaching).
func (s situation) verdict() verdict {
	inTurn := s.holds < s.mostHolds && s.age < s.mostAge // other contenders wait no longer than WithHandOver says
	alone := s.rivals == absent && s.holds < 1<<passBits // and the token has room for one more hold

	switch {
	case s.revoked:
		return leave
	case s.wanted && !s.lasts:
		return leave // the session may end: the owner queues again, in the next one
	case s.wanted && (inTurn || alone):
		return grant
	case s.wanted && s.rivals == asked:
		return waitForList
	case s.wanted:
		return leave // others have their turn
	case s.shut || s.rivals == assumed:
		return leave // nobody here needs the node, and a rival may
	}
	return keep
}

// passLocked hands the lock on, or keeps or gives up the node, if e is idle. e is nil if the Mutex has none.
func (m *Mutex) passLocked(e *entry) {
	if e == nil || e.state != idle {
		return
	}
	now := situation{
		mostHolds: m.holds, mostAge: m.during, holds: e.holds, age: time.Since(e.entered),
		rivals: e.rivals, revoked: e.revoked, wanted: len(m.waiting) > 0,
		lasts: m.client.Lasts(e.node.Session), shut: m.shut,
	}

	switch now.verdict() {
	case leave:
		m.leaveLocked(e, nil)
	case grant:
		m.grantLocked(e)
	case keep, waitForList:
		m.keepLocked(e)
	}
}

// releaseLocked ends a turn (queue.go) whose last lease has ended: an owner's wait in memory, or its hold of the lock.
func (m *Mutex) releaseLocked(t *turn) {
	if m.owners[t.owner] == t {
		delete(m.owners, t.owner)
	}
	if i := slices.Index(m.waiting, t); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
		m.queueLocked()
	}

	e := t.entry
	if e == nil || e.holder != t || e.state != held {
		return // it has waited, or has lost the lock
	}
	e.state, e.holder = idle, nil
	m.stats.HoldDuration += time.Since(t.since)
	m.habit.released = time.Now()
	m.passLocked(e)
	m.client.AddHolders(-1)
	t.nodeGoes = e.state >= leaving // the states from leaving on are those of a node that is given up
}

// grantLocked gives the lock to the first owner that waits: because the node is now the first, or by a hand-over.
func (m *Mutex) grantLocked(e *entry) {
	t := m.waiting[0]
	m.waiting = slices.Delete(m.waiting, 0, 1)
	t.entry, t.token = e, m.tokenLocked(e)
	e.state, e.holder = held, t
	m.client.AddHolders(1)
	m.stats.Acquired++
	e.holds++
	if e.holds > 1 {
		m.stats.HandedOn++
	}
	m.stats.WaitDuration += time.Since(t.since)
	t.since = time.Now()

	if e.revoked { // another contender asked while the node was queued; after that a node is not handed over
		close(t.revoke)
	}
	close(t.ready)
}

// tokenLocked is the token of the next hold by e. If e has served as many as it may, there is no next one, but the
// token is still higher than those of all holds before.
func (m *Mutex) tokenLocked(e *entry) int64 { return e.token<<passBits + int64(e.holds) }
