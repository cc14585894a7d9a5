package zklock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// An entry is one node of ours in the queue. One goroutine at a time makes all its requests, from the create to the
// delete: the client's calls cannot be cancelled, so callers wait on channels, ctx in hand. While others are before the
// node there is no such goroutine: the entry is parked.
type entry struct {
	rec  record.Record // the node's
	node *client.Node  // nil before there is one

	left    chan struct{} // closed when the entry is leaving: the node is no longer needed
	refused chan struct{} // closed when the entry is stuck
	ended   chan zk.Event // closed when the entry has gone; nothing is sent

	// Used by that goroutine alone.
	token  int64           // the node's czxid, or a zxid as good; 0 before it is known
	own    <-chan zk.Event // the watch on the node; nil if there is none
	proved bool            // the session is being proved for it

	// What wait.go remembers of the queue before the node; for that goroutine, too.
	third   int32            // the number of the third node before it, if there were three in the last list
	marks   bool             // the queue was deep: the node's delete leaves a low-water mark, see deepQueue
	pollDue <-chan time.Time // when to look for the node before it; nil: it was looked for

	deleted bool // the node was there until our delete; written before ended is closed

	// Guarded by Mutex.mu.
	state   state
	parked  *parking    // nil: a goroutine of the entry runs
	holder  *turn       // the owner's that holds the lock by it, or has lost it
	failed  []*turn     // have got err, but their owners have not been notified yet
	holds   int         // how many have begun
	entered time.Time   // when the first hold began
	revoked bool        // another contender asks for the lock
	behind  bool        // it is queued, and another Mutex's node is before it
	err     error       // why the node has gone, or could not be deleted; nil if we have deleted it
	clock   *time.Timer // closes Lost
	cacheable
}

// A state says how far an entry is on its way. The diagram is in doc.go.
type state int

const (
	queued  state = iota // owners wait until the node is made, and is the first
	held                 // the lock is held by it
	idle                 // the node is the first, and nobody holds the lock
	leaving              // the node is given up, and is being deleted
	stuck                // the server refuses to delete the node, or to look for one whose create was not answered
	gone                 // the node has gone
)

// stateLocked returns the state of e, which may be nil.
func (e *entry) stateLocked() state {
	if e == nil {
		return gone
	}
	return e.state
}

// run is the life of an entry: it makes the node, waits until it is the first, takes
// the lock, keeps the node while its owners hold the lock, and deletes it.
func (m *Mutex) run(e *entry) {
	growStack() // parking.go
	var before queue
	err := m.create(e)
	if err == nil && !e.node.Alone { // as far as the create shows
		before, err = m.list(e)
	}
	if isFirst := before.length == 0; err == nil && isFirst && e.token == 0 {
		err = m.watchOwn(e) // which reads the token
	}
	m.proceed(e, before, err)
}

// proceed goes on with the life of e when those before it are known. It returns when e is parked: its events are then
// awaited without a goroutine of its own. It is called again, in another one, when something has changed.
func (m *Mutex) proceed(e *entry, before queue, err error) {
	for err == nil && before.length > 0 {
		m.refuseTry(e, before)
		if before, err = m.wait(e, before); errors.Is(err, errParked) {
			return
		}
	}
	if err == nil {
		m.refuseTry(e, before)
		err = m.take(e)
	}
	if err == nil {
		err = m.keep(e)
	}
	m.finish(e, err)
}

// finish ends the life of an entry, because of err or because nobody needs it.
func (m *Mutex) finish(e *entry, err error) {
	defer m.tasks.End()
	m.mu.Lock()
	if e.proved {
		m.client.Use(&m.tasks, -1)
	}
	m.leaveLocked(e, err)
	m.queueLocked() // with the next entry, if owners wait
	m.mu.Unlock()

	if e.node != nil && !errors.Is(err, client.ErrGone) && !errors.Is(err, client.ErrClosed) {
		e.deleted, err = e.node.Delete(m.reportRefusal(e))
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = slices.DeleteFunc(m.entries, func(other *entry) bool { return other == e })
	if e.err = err; err != nil && e.node != nil {
		e.err = m.lostBy(e, err)
	}
	e.state = gone
	close(e.ended)
	e.notifyLocked()
}

// leaveLocked gives e up, and finish deletes its node. If the lock is held by e, it is lost. Owners that wait for e:
//   - get err, when the node has gone, if it says more than that the node has gone;
//   - otherwise wait for the next entry. Its create is sent together with e's delete, and most likely carried out after
//     it: then the new node is not behind the old one.
func (m *Mutex) leaveLocked(e *entry, err error) {
	switch e.state {
	case queued:
		if errors.Is(err, client.ErrGone) {
			m.stats.Retried++
		} else if err != nil {
			for _, t := range m.waiting {
				m.failLocked(e, t, err)
			}
			m.waiting = nil
		}
	case held:
		t := e.holder
		m.loseLocked(t, m.lostBy(e, err))
		delete(m.owners, t.owner)
		m.stats.HoldDuration += time.Since(t.since)
		m.client.AddHolders(-1)
	case idle:
	default:
		return // it has left
	}

	e.state, m.current = leaving, nil
	close(e.left)
	if e.parked != nil {
		m.resumeLocked(e, (*parking).stopped)
	}
	for _, t := range []*time.Timer{e.clock, e.expiry} {
		if t != nil {
			t.Stop()
		}
	}
}

func (m *Mutex) create(e *entry) (err error) {
	e.node, err = m.parent.Create(e.left, func(id string) (string, []byte) {
		e.rec.ID = id
		return record.Prefix(id), e.rec.Encode()
	}, m.reportRefusal(e))
	if err != nil {
		return err
	}

	e.token = e.node.Zxid
	m.mu.Lock()
	m.entries = append(m.entries, e)
	m.mu.Unlock()
	// After the last number but one ZooKeeper repeats numbers, and the parent's pzxid, which may be a token, stays.
	if e.node.Number == math.MaxInt32 || e.node.Number < 0 {
		return fmt.Errorf("%w: %s has a number that comes again: delete %s until that succeeds, when it is empty",
			zk.ErrNodeExists, e.node.Path, m.path)
	}
	return nil
}

// entryLocked returns the entry of a node, nil if it has none here.
func (m *Mutex) entryLocked(name string) *entry {
	if i := slices.IndexFunc(m.entries, func(e *entry) bool { return e.node.Name() == name }); i >= 0 {
		return m.entries[i]
	}
	return nil
}

// keep keeps the node of the holder until the Mutex gives it up (nil), or it has gone (client.ErrGone).
func (m *Mutex) keep(e *entry) error {
	pause := m.client.Timeout() / 3 // between looks: the client may miss an event while it reconnects
	next := pause                   // until the second look
	look := time.NewTimer(pause)
	defer look.Stop()
	if e.own == nil {
		// A contender that was alone sets its watch only now: if the lock is not held for long, nothing is sent between
		// the create and the delete. It looks at the queue no later than others.
		first := m.client.Timeout() / 8
		look.Reset(first)
		next -= first
	}

	rivals, err := m.watchForRivals(e)
	for err == nil {
		select {
		case ev := <-e.own:
			err = m.ownChanged(e, ev)
		case ev := <-rivals:
			rivals, err = nil, m.queueChanged(e, ev)
		case <-look.C:
			look.Reset(next)
			next = pause
			err = m.lookWithoutEvent(e, rivals != nil)
		case <-e.left:
			return nil
		case <-m.client.Closed():
			err = client.ErrClosed
		}
	}
	return err
}

// lookWithoutEvent looks at e's node, and at the queue if that is watched, in case an event of theirs is lost.
func (m *Mutex) lookWithoutEvent(e *entry, queueIsWatched bool) error {
	if e.own == nil {
		return m.watchOwn(e)
	}
	if queueIsWatched {
		if err := m.lookForRivals(e); err != nil {
			return err
		}
	}
	data, stat, err := m.client.Get(e.left, e.node.Path)
	if err = m.recognize(e, data, stat, err); errors.Is(err, client.ErrGone) {
		return err
	}
	return nil // after another error the next look may succeed
}

// ownChanged handles an event of e's own node.
func (m *Mutex) ownChanged(e *entry, ev zk.Event) error {
	if err := m.client.EventErr(ev); err != nil {
		return err
	}
	if ev.Type != zk.EventNodeDataChanged {
		if m.client.WasClosed() {
			return client.ErrClosed
		}
		return fmt.Errorf("%w: %w", client.ErrGone, cmp.Or(ev.Err, zk.ErrNoNode))
	}
	return m.watchOwn(e)
}

func (m *Mutex) watchOwn(e *entry) error {
	data, stat, own, err := m.client.GetW(e.left, e.node.Path)
	e.own = own
	return m.recognize(e, data, stat, err)
}

// recognize handles what was read from e's node: when it was made, and whether another contender asks for the lock. A
// record that a client has written over, as Curator's Revoker does, is written again; only Participants needs it.
func (m *Mutex) recognize(e *entry, data []byte, stat *zk.Stat, err error) error {
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != e.node.Session {
		return client.ErrGone
	}
	if err != nil {
		return err
	}

	if e.token == 0 {
		e.token = stat.Czxid
	}
	r, ok := record.Parse(e.node.Name(), data)
	if ok && r.Revoke || string(data) == record.CuratorRevoke { // another contender asks for the lock
		e.rec.Revoke = true
		m.mu.Lock()
		if !e.revoked && e.holder != nil {
			close(e.holder.revoke)
		}
		e.revoked = true
		m.passLocked(e)
		m.mu.Unlock()
	}
	if own := e.rec.Encode(); !bytes.Equal(data, own) {
		m.client.Set(e.left, e.node.Path, own, stat.Version)
	}
	return nil
}

// reportRefusal returns the function that reports to the waiting callers, and to those of
// Unlock, that the server refuses a request which must succeed in the end.
func (m *Mutex) reportRefusal(e *entry) client.RefusalFunc {
	const patience = 3 // tries: the reason may pass
	return func(n int, err error) {
		if n != patience {
			return // too early, or reported before
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		err = fmt.Errorf("zklock: %w (it is tried again until the session ends)", err)
		for _, t := range e.failed { // with another error
			t.err = errors.Join(t.err, err)
		}
		m.leaveLocked(e, err)
		e.notifyLocked()
		e.err = err
		if e.state == leaving {
			e.state = stuck
			close(e.refused)
		}
	}
}
