package zklock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// The lock managers of clusters, such as those of VMS, OCFS2 and GFS2, cache a lock as WithCaching does: until another
// machine asks for it. Here a watch on the parent says that a rival, another contender, has come.
//
// A node is cached if its entry (entry.go) is idle. A hold that follows is as safe as one after a hand-over: the node
// was in the queue all the time, and is the first; its session is proved all the time, and the clock that closes Lost
// runs. The watch does not matter for that: if its event is late, another contender waits longer.

// WithCaching keeps the node of the Mutex for up to d after an Unlock, as long as no other contender comes, so that the
// next Lock sends nothing. It is for a lock that one process takes again and again, nearly alone: a scheduler, or the
// owner of a shard. The Mutex begins when it has made five nodes in a row, each within d of the release before it and
// with nobody in between, and later if that was of little use. By default d is 0, and no node is kept. More than a
// third of the session timeout is hardly worth it: the proof of the session goes on, and costs as much as a lock.
//
// While nobody else is in the queue, a node serves up to 1024 holds, not what WithHandOver says. What else differs:
//
//   - Another contender has the lock three round trips after it has come, or four, and not one. If a reconnect loses
//     the event of a watch, it waits for up to a third of the session timeout.
//   - TryLock of others, of any library, fails though nobody holds the lock. It takes the node away. Then no node is
//     kept for a while: for twice the time between this visit and the one before, from a second to two hours. So a
//     later TryLock finds what it would without caching, if these attempts are less than an hour apart.
//   - If the process crashes or is cut off after its Unlock, others wait until its session ends.
//   - Unlock returns before the node has gone. It returns nil, and not ErrLost, if the
//     session has ended, or the node was deleted, and the client has not noticed that yet.
//   - Participants has the node, with Cached if it is this Mutex's.
//   - A process that ends while no server can be reached leaves the node to its session, even after the last Unlock.
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
	defaultStreak = 4  // so that the fifth node in a row may stay
	mostStreak    = 64 // after streaks that were of little use
	worthwhile    = 4  // holds by a kept node: a rival that finds the node cached costs two or three requests more

	// For how long no node is kept after a rival has come.
	leastQuiet = time.Second
	mostQuiet  = 2 * time.Hour
)

// A habit is what the last nodes of a Mutex say about the next one: whether a rival is likely to come. Mutex.mu guards it.
type habit struct {
	released   time.Time // when an owner released the lock last
	lastNumber int32     // of the last node
	streak     int       // how many nodes in a row came so soon after the one before that it could have stayed
	needed     int       // the streak from which on a node may stay

	rivalCame time.Time     // when a rival came last
	quiet     time.Duration // for how long no node is kept from then on
}

// disturbed notes that a rival has come, which may be a TryLock that comes again and again. It has a chance while no
// node is kept. So the quiet time is longer than that between two visits.
func (h *habit) disturbed(now time.Time) {
	h.quiet = leastQuiet
	if !h.rivalCame.IsZero() {
		h.quiet = min(max(2*now.Sub(h.rivalCame), leastQuiet), mostQuiet)
	}
	h.rivalCame = now
}

// isQuiet reports whether no node is kept.
func (h *habit) isQuiet(now time.Time) bool { return now.Sub(h.rivalCame) < h.quiet }

// cacheable is what an entry has for WithCaching. Mutex.mu guards it.
type cacheable struct {
	soon   bool        // the node is made no later than WithCaching's time after the last release
	rivals rivals      // whether the node may stay
	expiry *time.Timer // gives up the node that stays
}

// Rivals are the other contenders in the queue, as far as they are known.
type rivals int

const (
	assumed rivals = iota // there may be some, and nobody looks: the node does not stay
	asked                 // a list is on its way; if it has no rival, the node may stay
	absent                // the list had none, and the watch on the parent has not fired
)

// decideStayLocked decides whether the node of e, which takes the lock, may stay. It may if the numbers show that
// nobody made a node between the last ones of this Mutex, and no rival has come for a while.
func (m *Mutex) decideStayLocked(e *entry) {
	if m.caching == 0 {
		return
	}
	now, h := time.Now(), &m.habit
	strangerBetween := e.node.Number != h.lastNumber+1 // another contender's node came between
	h.lastNumber = e.node.Number
	h.streak++
	if !e.soon || strangerBetween {
		h.streak = 0
	}

	switch isQuiet := h.isQuiet(now); {
	case isQuiet && strangerBetween:
		h.rivalCame = now // the quiet time begins again
	case !isQuiet && h.streak >= h.needed:
		e.rivals = asked // keep has the queue listed
	}
}

// watchForRivals lists the queue and watches it if the node of e may stay. Then changed gets the event of the watch.
func (m *Mutex) watchForRivals(e *entry) (changed <-chan zk.Event, err error) {
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
		m.rivalCameLocked(e)
		return nil, err
	}
	e.rivals = absent
	if len(m.waiting) > 0 {
		m.passLocked(e)
	}
	return changed, nil
}

// isAlone reports whether a list of the queue has only the node of e. If the node is not
// in it, err is ErrGone. If there is no list, because of err, nothing is known.
func (e *entry) isAlone(names []string, err error) (bool, error) {
	if err != nil {
		return false, nil
	}
	if !slices.Contains(names, e.node.Name()) {
		return false, client.ErrGone
	}
	for _, name := range names {
		if _, isContender := record.Sequence(name); isContender && name != e.node.Name() {
			return false, nil
		}
	}
	return true, nil
}

// queueChanged handles an event of the watch on the parent.
func (m *Mutex) queueChanged(e *entry, ev zk.Event) error {
	if err := m.client.EventErr(ev); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rivalCameLocked(e)
	return nil
}

// lookForRivals does what the event of the watch on the parent does, in case that is lost.
func (m *Mutex) lookForRivals(e *entry) error {
	names, _, err := m.client.Children(e.left, m.path)
	if err != nil {
		return nil // the next look may succeed
	}
	alone, err := e.isAlone(names, nil)
	if !alone {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.rivalCameLocked(e)
	}
	return err
}

// rivalCameLocked handles that a rival has come: e serves no more owners than WithHandOver says, and does not stay.
func (m *Mutex) rivalCameLocked(e *entry) {
	if e.state >= leaving {
		return
	}
	m.adjustStreakLocked(e)
	if m.leastStreak > 0 {
		m.habit.disturbed(time.Now())
	}
	e.rivals = assumed
	m.passLocked(e)
}

// adjustStreakLocked doubles the streak needed next if e, which might stay, has served few holds; or else halves it.
func (m *Mutex) adjustStreakLocked(e *entry) {
	h := &m.habit
	if e.holds < worthwhile {
		h.needed = min(h.needed*2, mostStreak)
	} else {
		h.needed = max(h.needed/2, m.leastStreak)
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
		if e.holds == 1 { // that it stayed has saved nothing
			m.adjustStreakLocked(e)
		}
		m.leaveLocked(e, nil)
	})
}
