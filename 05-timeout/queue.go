package timeout

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A place is one node of ours in the queue, and its owner's hold on the lock
// once nobody is before it. One goroutine, live, makes all its requests from
// the create to the delete. Callers wait on its channels, ctx in hand.
type place struct {
	owner *Owner
	try   bool   // does not wait
	rec   record // what the node is made with

	ready  chan struct{} // closed when the lock is held, or err says why not
	left   chan struct{} // closed when nobody wants the place any more
	lost   chan struct{} // closed when it is held and can no longer be trusted
	gone   chan struct{} // closed when the node has gone and no goroutine is left
	stuck  chan struct{} // closed when a server refuses what the node's end needs
	revoke chan struct{} // closed when somebody asks for the lock
	turn   chan error    // tells live, once, that nobody is before it (nil), or what went wrong

	// Written by live before the place is in the line, token before ready is closed.
	node    string
	number  int32
	session int64
	token   int64 // the node's czxid; 0 before it is known

	// Guarded by Mutex.mu.
	err      error // why the lock is not held
	unlocked error // what the last Unlock is told
	leases   []*Lease
	held     bool
	told     bool   // something was sent on turn
	first    bool   // and it was nil
	behind   *place // a place of ours that is directly before it
	heir     *place // a place of ours that was directly behind it when its delete was sent
	clock    *time.Timer

	scouted // what the scout knows of it
}

// errGone says that a place has lost its node.
var errGone = errors.New("timeout: the node in the queue has gone")

func newPlace(m *Mutex, owner *Owner, try bool) *place {
	return &place{
		owner: owner, try: try, rec: newRecord(owner.name, rand.Text(), m.data),
		ready: make(chan struct{}), left: make(chan struct{}), lost: make(chan struct{}), gone: make(chan struct{}),
		stuck: make(chan struct{}), revoke: make(chan struct{}), turn: make(chan error, 1),
	}
}

// live is the life of a place: it takes a place in the queue, stays until
// nobody wants it or it has lost its node, and leaves.
func (m *Mutex) live(p *place) {
	defer close(p.gone)
	err := m.create(p)
	if err != nil {
		m.settle(p, err)
		m.part(p, err)
		return
	}
	if p.try {
		err = m.tryFirst(p)
	}
	if err == nil {
		m.join(p)
		err = m.stay(p)
		m.mu.Lock()
		m.loseLocked(p) // before the node goes, and the next one is in
		m.mu.Unlock()
	}
	m.settle(p, err)
	switch {
	case errors.Is(err, errClosed):
		err = fmt.Errorf("%w: %w", ErrLost, errClosed)
	case errors.Is(err, errGone):
		err = fmt.Errorf("%w: %s has gone", ErrLost, p.node)
	default:
		err = m.remove(p)
	}
	m.part(p, err)
}

// stay keeps a place until nobody wants it (nil), it cannot be kept, or its
// node has gone (errGone). It is the loop of step 3, in which the scout looks
// for the node before and waits until that has gone. Meanwhile a place watches
// its own node. If that goes before the lock becomes free, its event comes
// first, because a server tells a client of changes in their order. So a
// contender that is no longer in the queue does not take the lock. (If the
// client comes back to its session in between, the order is lost; see the
// package doc.)
func (m *Mutex) stay(p *place) error {
	own, err := m.watch(p)
	if err != nil {
		return err
	}
	var proof <-chan struct{} // nil unless it is our turn and the session is not known to be safe
	var look <-chan time.Time // nil unless the lock is held: the client may miss an event while it reconnects
	for slow := 0; ; {
		var ev zk.Event
		select {
		case ev = <-own:
		case err := <-p.turn:
			if err != nil {
				return err
			}
			proof = closedChan
		case <-proof:
			select {
			case ev = <-own: // it comes before the lock
			default:
				if m.take(p) {
					proof, look = nil, time.Tick(m.link.timeout/3)
					break
				}
				var isSlow bool
				if proof, isSlow = m.link.nextProof(); !isSlow {
					slow = 0
				} else if slow++; slow == 3 {
					return errSlow
				}
			}
		case <-look:
			data, stat, err := m.get(p.left, p.node)
			if err == nil {
				if ours, _ := m.recognize(p, data, stat); ours {
					continue
				}
			}
			if err == nil || errors.Is(err, zk.ErrNoNode) {
				return errGone
			}
		case <-p.left:
			return nil
		case <-m.link.closed:
			return errClosed
		}
		switch {
		case ev.Type == 0:
		case ev.Type == zk.EventNodeDataChanged:
			if own, err = m.watch(p); err != nil {
				return err
			}
		case errors.Is(ev.Err, zk.ErrClosing):
			m.link.close()
			return errClosed
		default:
			return errGone
		}
	}
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

var errSlow = errors.New("the servers answer too slowly: before one answer proves that the session lives, " +
	"the session timeout is over; a round trip must take less than a twelfth of it")

// watch sets a watch on a place's own node, and reads when it was made and
// whether it has been asked for.
func (m *Mutex) watch(p *place) (<-chan zk.Event, error) {
	data, stat, own, err := m.getW(p.left, p.node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	ours, want := m.recognize(p, data, stat)
	if !ours {
		return nil, errGone
	}
	if !bytes.Equal(data, want) {
		// Another has written over the record, as Curator's Revoker does. If this
		// fails, only Participants misses it.
		m.link.call(aQuorum, func() error { _, err := m.conn.Set(p.node, want, stat.Version); return err })
	}
	return own, nil
}

// recognize takes in what was read from a place's node, and returns what ought
// to be there. False: the node has the same name, but is another's, because the
// parent was made anew.
func (m *Mutex) recognize(p *place, data []byte, stat *zk.Stat) (ours bool, want []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.made(stat) {
		return false, nil
	}
	rec, isRecord := parseRecord(data)
	if p.token == 0 { // the record tells, unless a late Revoke has put an earlier node's there
		if isRecord && rec.ID != p.rec.ID && (rec.Revoke == 0 || rec.Revoke == stat.Czxid) {
			return false, nil
		}
		p.token = stat.Czxid // others read it later
	}
	if (isRecord && rec.Revoke == p.token || string(data) == curatorRevoke) && !isClosed(p.revoke) {
		p.rec.Revoke = p.token
		close(p.revoke)
	}
	return true, p.rec.encode()
}

// made says whether a node with a place's name is the place's own.
func (p *place) made(stat *zk.Stat) bool {
	return stat.EphemeralOwner == p.session && (p.token == 0 || p.token == stat.Czxid)
}

// take takes the lock for a place whose turn has come. False: the session is
// not known to be safe, or not for as long as the next proof takes.
func (m *Mutex) take(p *place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(p.left) {
		return true // and nobody wants it
	}
	if !m.link.lasts(p.session) {
		return false
	}
	p.held = true
	m.startClockLocked(p)
	close(p.ready)
	return true
}

// settle tells the callers that wait for a place why it does not hold the lock.
func (m *Mutex) settle(p *place, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(p.ready) {
		return
	}
	p.err = cmp.Or(err, errStopped)
	close(p.ready)
	m.leaveLocked(p)
}

// leaveLocked gives a place up. Its goroutine then removes the node.
func (m *Mutex) leaveLocked(p *place) {
	if isClosed(p.left) {
		return
	}
	close(p.left)
	if p.clock != nil {
		p.clock.Stop()
	}
	if m.owners[p.owner] == p {
		delete(m.owners, p.owner)
	}
}

// join puts a place into the line.
func (m *Mutex) join(p *place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.link.use()
	p.unlisted = m.crowded || len(m.line) > 0
	i, _ := slices.BinarySearchFunc(m.line, p, func(a, b *place) int { return order(a.number, b.number) })
	m.line = slices.Insert(m.line, i, p)
	m.wakeScoutLocked()
}

// part takes a place out of the line. Removed is nil if it was our delete that
// ended it.
func (m *Mutex) part(p *place, removed error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaveLocked(p)
	p.unlocked = removed
	i := slices.Index(m.line, p)
	if i < 0 {
		return
	}
	m.link.release()
	m.line = slices.Delete(m.line, i, i+1)
	// The short way, without a request: our node was the first until we
	// deleted it, and the next number is ours, too, and was in the queue before
	// the delete was sent. So both were in one parent, which has been there all
	// the time, and a number below cannot be given out again.
	if removed == nil && p.first && i < len(m.line) && m.line[i] == p.heir {
		m.line[i].tellLocked(nil)
	} else {
		m.wakeScoutLocked()
	}
}

func (q *place) directlyBehind(p *place) bool { return q.behind == p || q.number == p.number+1 }

func (p *place) tellLocked(err error) {
	if !p.told {
		p.told, p.first = true, err == nil
		p.turn <- err // has room
	}
}

func (p *place) tell(m *Mutex, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.tellLocked(err)
}
