package zklock

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// A node may stay when nobody holds the lock any more: the next Lock of its Mutex then sends nothing. It goes when
// another contender comes, of which a watch on the parent tells. The lock managers of clusters keep a lock in this way
// until another machine asks for it: the blocking AST of VMS's distributed lock manager, and of OCFS2 and GFS2.
//
// A node is cached if its entry is idle. A hold that follows is as safe as one after a hand-over: the node was in the
// queue all the time, and is the first; its session is proved all the time, and its clock runs. The watch does not
// matter for that: if its event is late, another contender waits longer.

// WithCaching keeps the node of the Mutex for up to d after an Unlock, as long as no other contender comes, so that the
// next Lock sends nothing. It is for a lock that one process takes again and again, nearly alone: a scheduler, or the
// owner of a shard. The Mutex begins when it has made five nodes in a row, each within d of the release before it and
// with nobody in between, and later if that was of little use. By default d is 0, and no node is kept. More than a
// third of the session timeout is hardly worth it: the proof of the session goes on, and costs as much as a lock.
//
// While nobody else is in the queue, a node serves up to 1024 holds, in place of what
// WithHandOver says. What else differs:
//
//   - Another contender has the lock three round trips after it has come, or four, and
//     not one. If a reconnect loses the event of a watch, it waits for up to a third
//     of the session timeout.
//   - TryLock of others, of any library, fails though nobody holds the lock. It takes
//     the node away, and no node is kept for twice the time since another contender took one away
//     last, from a second to two hours. So a later one finds what it would without caching,
//     if these attempts are less than an hour apart.
//   - If the process crashes or is cut off after its Unlock, others wait until its session ends.
//   - Unlock returns before the node has gone. It returns nil, and not ErrLost, if the
//     session has ended, or the node was deleted, and the client has not noticed that yet.
//   - Participants has the node, with Cached if it is this Mutex's.
//   - A process that ends while no server can be reached leaves the node to its session,
//     even if all leases were unlocked long ago.
func WithCaching(d time.Duration) Option {
	return func(s *settings) error {
		if d < 0 {
			return fmt.Errorf("WithCaching: %v is negative", d)
		}
		s.caching = d
		return nil
	}
}

const (
	leastStreak = 4
	mostStreak  = 64
	worthwhile  = 4 // holds: a contender that finds the node cached costs two or three requests more

	// For how long no node is kept after another contender has come.
	leastQuiet = time.Second
	mostQuiet  = 2 * time.Hour
)

// A habit is what the nodes of a Mutex say about the next one: whether another contender
// is likely to come. All is guarded by Mutex.mu.
type habit struct {
	released time.Time // when an owner released the lock last
	number   int32     // of the last node
	streak   int       // nodes in a row in place of which the one before could have stayed
	least    int       // of the streaks that let a node stay

	came  time.Time     // when a node that might stay, or would, kept another contender waiting last
	quiet time.Duration // from then on no node is kept
}

// disturbed notes that another contender has come, which may be a TryLock that comes again: while no
// node is kept, it has a chance. That is for longer than the time between two of them.
func (h *habit) disturbed(now time.Time) {
	h.quiet = leastQuiet
	if !h.came.IsZero() {
		h.quiet = min(max(2*now.Sub(h.came), leastQuiet), mostQuiet)
	}
	h.came = now
}

// isQuiet reports whether no node is kept.
func (h *habit) isQuiet(now time.Time) bool { return now.Sub(h.came) < h.quiet }

// cacheable is what an entry has for WithCaching. All is guarded by Mutex.mu.
type cacheable struct {
	soon   bool // after the last release the node was needed
	rivals rivals
	expiry *time.Timer // gives up the node
}

// Rivals are other contenders in the queue, as far as they are known.
type rivals int

const (
	assumed rivals = iota // there may be some: the node does not stay
	asked                 // a list is on its way; if it has no other contender, the node may stay
	absent                // so it was, and the watch on the parent has not fired
)

// expectLocked decides whether the node of e, which enters, may stay. It may if the numbers
// show that nobody made a node between the last ones of this Mutex, and nobody else has come for a while.
func (m *Mutex) expectLocked(e *entry) {
	if m.caching == 0 {
		return
	}
	if e.soon && e.node.Number == m.habit.number+1 {
		m.habit.streak++
	} else {
		m.habit.streak = 0
	}
	now := time.Now()
	quiet := m.habit.isQuiet(now)
	if quiet && e.node.Number != m.habit.number+1 {
		m.habit.came = now // it goes on
	}
	m.habit.number = e.node.Number
	if m.habit.streak >= m.habit.least && !quiet {
		e.rivals = asked
	}
}

// guard lists the queue and watches it if the node of e may stay.
func (m *Mutex) guard(e *entry) (changed <-chan zk.Event, err error) {
	m.mu.Lock()
	rivals := e.rivals
	m.mu.Unlock()
	if rivals != asked {
		return nil, nil
	}
	names, changed, err := m.client.ChildrenW(e.left, m.path)
	if errors.Is(err, zk.ErrNoNode) {
		err = nil // and nothing is in it
	}
	alone, err := e.isAlone(names, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !alone {
		m.contendLocked(e)
		return nil, err
	}
	e.rivals = absent
	if len(m.waiting) > 0 {
		m.passLocked(e)
	}
	return changed, nil
}

// isAlone reports whether a list of the queue has only the node of e. If the node is not
// in it, err is ErrGone; if there is no list, nothing is known.
func (e *entry) isAlone(names []string, err error) (bool, error) {
	if err != nil {
		return false, nil
	}
	contenders, found := 0, false
	for _, name := range names {
		if _, ok := record.Sequence(name); ok {
			contenders++
		}
		found = found || name == e.node.Name()
	}
	if !found {
		return false, client.ErrGone
	}
	return contenders == 1, nil
}

// queueChanged handles an event of the watch on the parent.
func (m *Mutex) queueChanged(e *entry, ev zk.Event) error {
	if err := m.client.EventErr(ev); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contendLocked(e)
	return nil
}

// lookAround does what the event of the watch on the parent does, in case that is lost.
func (m *Mutex) lookAround(e *entry) error {
	names, _, err := m.client.Children(e.left, m.path)
	if err != nil {
		return nil
	}
	alone, err := e.isAlone(names, nil)
	if !alone {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.contendLocked(e)
	}
	return err
}

// contendLocked handles that another contender has come: e serves no more owners than
// WithHandOver says, and does not stay.
func (m *Mutex) contendLocked(e *entry) {
	if e.state >= leaving {
		return
	}
	m.learnLocked(e)
	if m.least > 0 {
		m.habit.disturbed(time.Now())
	}
	e.rivals = assumed
	m.passLocked(e)
}

// learnLocked notes whether it was worthwhile that the node of e might stay.
func (m *Mutex) learnLocked(e *entry) {
	h := &m.habit
	if e.holds < worthwhile {
		h.least = min(h.least*2, mostStreak)
	} else {
		h.least = max(h.least/2, m.least)
	}
}

// keepLocked keeps the node of e, which is idle, for the time that WithCaching gives.
func (m *Mutex) keepLocked(e *entry) {
	if e.expiry != nil {
		e.expiry.Reset(m.caching)
		return
	}
	e.expiry = time.AfterFunc(m.caching, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.state != idle {
			return // it is Reset at the next release
		}
		if e.holds == 1 {
			m.learnLocked(e)
		}
		m.leaveLocked(e, nil)
	})
}
