package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// Goroutines of a Mutex queue in its memory, and the Mutex queues at the server with one node for all of them. An owner
// that releases the lock hands it on to the next one in memory, without a request, a few times and not for long. Then
// the Mutex deletes the node and queues again, behind the waiters of other processes. It has no second node in the
// queue before: a contender that came after it would wait for two turns. (Lock cohorting: Dice et al., 2012.)
// The node is an entry (entry.go). After an owner has released the lock the entry is idle: see verdict (handover.go).

// A turn is one owner's place in the memory's queue, and then its hold of the lock.
type turn struct {
	owner  *Owner
	ready  chan struct{} // closed when the owner holds the lock, or has got err
	revoke chan struct{} // closed when another contender asks for the lock

	lostCtx context.Context // ends when the lock can no longer be trusted
	lose    context.CancelCauseFunc

	// Guarded by Mutex.mu. After ready is closed, entry and token do not change.
	leases   int           // of its calls of Lock and TryLock, until each has failed or is unlocked
	mayWait  bool          // for other contenders, because one of the calls is Lock
	refused  chan struct{} // closed if there are other contenders; nil while no TryLock waits for it
	since    time.Time     // since when the owner waits, or holds the lock
	entry    *entry        // the Mutex's node (entry.go) by which the lock is held; nil while the owner waits
	token    int64         // the fencing token
	mark     client.Mark   // of its Guards; none before the first
	nodeGoes bool          // nobody needs the node after this hold: Unlock waits until it has gone
	err      error         // why the owner does not get the lock
}

// isBehindLocked reports whether the owner of t, nil if it has none, is known to wait for another contender.
func (m *Mutex) isBehindLocked(t *turn) bool {
	state := m.current.stateLocked()
	holds := t != nil && t.entry != nil
	behindHolder := state == held && !holds                           // another owner of this Mutex
	behindWaiter := len(m.waiting) > 0 && m.waiting[0] != t && !holds // another owner, which came earlier
	behindOther := state == queued && m.current.behind                // a contender of another Mutex
	return behindHolder || behindWaiter || behindOther
}

// enqueueLocked adds an owner to those that wait.
func (m *Mutex) enqueueLocked(owner *Owner) *turn {
	t := &turn{owner: owner, ready: make(chan struct{}), revoke: make(chan struct{}), since: time.Now()}
	t.lostCtx, t.lose = context.WithCancelCause(context.Background())
	m.owners[owner] = t
	m.waiting = append(m.waiting, t)
	m.passLocked(m.current) // if the Mutex keeps an idle node, the owner may get the lock at once
	m.queueLocked()
	return t
}

// queueLocked makes a node at the queue's end if owners wait without one, and gives up a node that queues for nobody.
func (m *Mutex) queueLocked() {
	switch {
	case len(m.waiting) == 0:
		if m.current.stateLocked() == queued {
			m.leaveLocked(m.current, nil)
		}
	case m.current == nil:
		m.current = &entry{
			rec:  record.New(m.waiting[0].owner.name, m.data),
			left: make(chan struct{}), refused: make(chan struct{}), ended: make(chan zk.Event),
			cacheable: cacheable{soon: time.Since(m.habit.released) < m.caching},
		}
		m.tasks.Begin()
		go m.run(m.current)
	}
}

// enter makes e, which is the first in the queue, the holder of the lock. It returns false if nobody needs e any more,
// or if the session may end too soon.
func (m *Mutex) enter(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.state != queued || !m.client.Lasts(e.node.Session) {
		return false
	}
	e.entered = time.Now()
	m.startClockLocked(e)
	m.decideStayLocked(e)
	m.grantLocked(e)
	return true
}

// failLocked gives err to an owner that waits for e. It will not hold the lock.
func (m *Mutex) failLocked(e *entry, t *turn, err error) {
	t.err = err
	delete(m.owners, t.owner)
	e.failed = append(e.failed, t)
}

// notifyLocked notifies the owners that will not hold the lock by e.
func (e *entry) notifyLocked() {
	for _, t := range e.failed {
		close(t.ready)
	}
	e.failed = nil
}

// isLostLocked reports whether a lock is lost. It is lost, at the latest, when its session is no longer safe.
func (m *Mutex) isLostLocked(t *turn) bool {
	m.expireLocked(t.entry)
	return t.lostCtx.Err() != nil
}

// expireLocked gives e up if its session may end from now on.
func (m *Mutex) expireLocked(e *entry) {
	if client.IsOver(m.client.SafeUntil(e.node.Session)) {
		m.leaveLocked(e, nil)
	}
}

// startClockLocked starts the clock of a lock that is held: a holder that is cut off gets no event from its client
// before the next contender may hold the lock. The clock runs as long as the lock may be held by e. Its timer stops
// while the machine is suspended, so it also looks several times per session timeout, and sees a loss soon after.
func (m *Mutex) startClockLocked(e *entry) {
	const looks = 8
	tick := max(time.Millisecond, min(time.Until(m.client.SafeUntil(e.node.Session)), m.client.Timeout()/looks))
	e.clock = time.AfterFunc(tick, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.expireLocked(e)
		if e.state < leaving {
			m.startClockLocked(e)
		}
	})
}
