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

// An entry is one node of a Mutex in the queue. Owners of the Mutex wait for the lock in memory, each with a turn
// (queue.go), and hold it one after the other by the same entry.
//
// One goroutine at a time makes all requests of an entry, from the create to the delete: the client's calls cannot be
// cancelled, so callers wait on channels, ctx in hand. While others are before the node there is no such goroutine: the
// entry is parked (parking.go).
type entry struct {
	rec  record.Record // the node's data
	node *client.Node  // nil before there is one

	left    chan struct{} // closed when the entry is leaving: the node is no longer needed
	refused chan struct{} // closed when the entry is stuck
	ended   chan zk.Event // closed when the entry has gone; nothing is sent

	// Used by that goroutine alone.
	token  int64           // the node's czxid, or a zxid as good; 0 before it is known
	own    <-chan zk.Event // the watch on the node; nil if there is none
	proved bool            // prove (wait.go) has asked for proofs of the session; finish takes that back

	// What wait.go remembers of the queue before the node; for that goroutine, too.
	third   int32            // the number of the third node before it in the last list, if there was one
	marks   bool             // the queue was deep: the node's delete writes into the parent that all before it have gone
	pollDue <-chan time.Time // when to look for the node before it, whose watch may be lost; nil: it was looked for

	deleted bool // the node was there until our delete; written before ended is closed

	// Guarded by Mutex.mu.
	state     state
	parked    *parking    // nil: a goroutine of the entry runs
	holder    *turn       // of the owner that holds the lock, or has lost it; nil while queued or idle
	failed    []*turn     // have an error, but their owners have not been notified yet
	holds     int         // how many have begun
	entered   time.Time   // when the first hold began
	revoked   bool        // another contender asks for the lock
	behind    bool        // another Mutex's node is before it, so TryLock is refused
	err       error       // why the node has gone, or could not be deleted; nil if we have deleted it
	clock     *time.Timer // closes Lost when the session is no longer safe (queue.go)
	cacheable             // whether an idle node stays (caching.go)
}

// A state says how far an entry is on its way. The diagram in doc.go has what leads from one to the next.
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

// run begins the life of an entry: it makes the node, and reads which contenders are before it. proceed goes on.
func (m *Mutex) run(e *entry) {
	growStack() // parking.go: otherwise the stacks of waiting calls are in the way
	var before queue
	err := m.create(e)
	if err == nil && !e.node.Alone { // as far as the create shows
		before, err = m.list(e)
	}
	if isFirst := before.length == 0; err == nil && isFirst && e.token == 0 {
		err = m.watchOwn(e) // which reads the token: neither the create nor the list has shown it
	}
	m.proceed(e, before, err)
}

// proceed goes on with the life of e when the contenders before it are known:
//   - While there are any, refuseTry ends the calls of TryLock, and wait parks the entry. Then proceed returns. When
//     something has changed, parking.go calls proceed again, in another goroutine.
//   - take waits until the session is safe, and gives the lock to an owner: the entry is held.
//   - keep watches the node while it is held or idle, until the Mutex gives it up, and finish deletes it.
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
	// From MaxInt32 on ZooKeeper repeats numbers, and the parent's pzxid, which may be a token, no longer grows.
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
	first, second := pause, pause   // until the first look, and from there to the second
	if e.own == nil {
		// A contender that was alone sets its watch only in the first look: if the lock is not held for long, nothing is
		// sent between the create and the delete. The second look is when that of others is the first.
		first = m.client.Timeout() / 8
		second = pause - first
	}
	look, next := time.NewTimer(first), second
	defer look.Stop()

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
	return nil // after any other error the next look may succeed
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

// recognize handles what was read from e's node: it may have gone, or ask for the lock. A record that a client has
// written over, as Curator's Revoker does, is written again, for Participants.
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
		m.passLocked(e) // an idle node is given up
		m.mu.Unlock()
	}
	if own := e.rec.Encode(); !bytes.Equal(data, own) {
		m.client.Set(e.left, e.node.Path, own, stat.Version)
	}
	return nil
}

// reportRefusal returns the function that reports to waiting callers, those of Unlock too, that the server refuses a
// request which must succeed in the end. It gets the number of the try and its error.
func (m *Mutex) reportRefusal(e *entry) client.RefusalFunc {
	const patience = 3 // the try that is reported: before that, the reason may pass
	return func(n int, err error) {
		if n != patience {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		err = fmt.Errorf("zklock: %w (it is tried again until the session ends)", err)
		for _, t := range e.failed { // they have another error
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
