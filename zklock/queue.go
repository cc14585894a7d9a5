package zklock

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A place is one node of ours in the queue, and its owner's hold on the lock
// once nobody is before it. One goroutine, live, makes all its requests from
// the create to the delete. Callers wait on its channels, ctx in hand.
type place struct {
	owner *Owner
	try   bool   // does not wait
	rec   record // what the node says
	data  []byte // the record, encoded

	ready  chan struct{} // closed when the lock is held, or err says why not
	left   chan struct{} // closed when nobody wants the place any more
	gone   chan struct{} // closed when the node has gone and no goroutine is left
	stuck  chan struct{} // closed when a server refuses what the node's end needs
	revoke chan struct{} // closed when somebody asks for the lock
	turn   chan struct{} // closed when nobody is before it, or failed says what went wrong
	failed error         // written before that
	told   sync.Once     // closes turn

	lost context.Context // ends when the place is held and can no longer be trusted
	lose func()

	// Written by live before the place is in the line, token before ready is closed.
	node    string
	number  int32
	session int64
	token   int64 // the node's czxid; 0 before it is known

	nearer, farther string // the names of the two nodes before it, for the scout; "" if there is none
	heir            *place // a place of ours that was directly behind it when it was deleted as the first of all

	// Guarded by Mutex.mu.
	err    error // why the lock is not held, or was not let go
	leases int
	held   bool
	behind *place // a place of ours that is directly before it
	clock  *time.Timer
}

var errGone = errors.New("the node in the queue has gone") // a place has lost it

func newPlace(m *Mutex, owner *Owner, try bool) *place {
	rec := newRecord(owner.name, rand.Text(), m.data)
	lost, lose := context.WithCancel(context.Background())
	return &place{
		owner: owner, try: try, rec: rec, data: rec.encode(), lost: lost, lose: lose,
		ready: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}),
		stuck: make(chan struct{}), revoke: make(chan struct{}), turn: make(chan struct{}),
	}
}

// live is the life of a place: it takes a place in the queue, stays until
// nobody wants it or it has lost its node, and leaves.
func (m *Mutex) live(p *place) {
	defer close(p.gone)
	err := m.create(p)
	if err == nil && p.try {
		if err = m.findBefore(p); err == nil && p.nearer != "" {
			err = ErrHeld
		}
		p.tell(err)
	}
	if err == nil {
		m.join(p)
		err = m.stay(p)
	}
	m.leave(p, err) // before the node goes, and the next one is in
	if p.node != "" && !isOneOf(err, []error{errGone, errClosed}) {
		err = m.remove(p)
	}
	m.part(p, err)
}

// stay keeps a place until nobody wants it (nil), it cannot be kept, or its
// node has gone (errGone). It is the loop of step 3, in which the scout looks
// for the node before and waits until that has gone. Meanwhile a place watches
// its own node, so that it does not take the lock when it is no longer in the
// queue: a server tells a client of changes in their order. (If the client
// comes back to its session in between, that is lost; see the package doc.)
func (m *Mutex) stay(p *place) error {
	own, err := m.watch(p)
	if err != nil {
		return err
	}
	try := (<-chan struct{})(p.turn) // closed when the lock may be taken; nil once it is held
	var look <-chan time.Time        // nil unless the lock is held: the client may miss an event while it reconnects
	for unproved := 0; ; {
		select {
		case ev := <-own:
			switch {
			case errors.Is(ev.Err, zk.ErrClosing):
				m.session.close()
				return errClosed
			case ev.Type != zk.EventNodeDataChanged:
				return errGone
			}
			if own, err = m.watch(p); err != nil {
				return err
			}
		case <-try:
			switch {
			case p.failed != nil:
				return p.failed
			case len(own) > 0: // which comes before the lock
			case m.take(p):
				try, look = nil, time.Tick(m.session.timeout()/3)
			default: // the session is not known to be safe
				if try, err = m.session.nextProof(); err == nil {
					unproved = 0
				} else if unproved++; unproved == 3 {
					return err
				}
			}
		case <-look:
			data, stat, err := m.get(p.left, p.node)
			if err = m.recognize(p, data, stat, err); errors.Is(err, errGone) {
				return err
			}
		case <-p.left:
			return nil
		case <-m.session.closed:
			return errClosed
		}
	}
}

func (m *Mutex) watch(p *place) (<-chan zk.Event, error) {
	data, stat, own, err := m.getW(p.left, p.node)
	return own, m.recognize(p, data, stat, err)
}

// recognize takes in what was read from a place's node: when it was made, and
// whether it is asked for the lock. If another has written over the record, as
// Curator's Revoker does, it is put right; if that fails, only Participants
// misses it. ErrGone: there is no node, or one of the same name that is
// another's, because the parent was made anew.
func (m *Mutex) recognize(p *place, data []byte, stat *zk.Stat, err error) error {
	if errors.Is(err, zk.ErrNoNode) || err == nil && !p.made(stat) {
		return errGone
	}
	if err != nil {
		return err
	}
	rec, isRecord := p.rec, true
	same := bytes.Equal(data, p.data)
	if !same { // or else it need not be parsed
		rec, isRecord = parseRecord(data)
	}
	if p.token == 0 { // the record tells, unless a late write has put an earlier node's there
		if isRecord && rec.ID != p.rec.ID && (rec.Of == 0 || rec.Of == stat.Czxid) {
			return errGone
		}
		p.token = stat.Czxid
	}
	if same {
		return nil
	}
	if (isRecord && rec.Revoke == p.token || string(data) == curatorRevoke) && !isClosed(p.revoke) {
		p.rec.Revoke = p.token
		close(p.revoke)
	}
	p.rec.Of = p.token
	if p.data = p.rec.encode(); !bytes.Equal(data, p.data) {
		m.session.call(aQuorum, func() error { _, err := m.conn.Set(p.node, p.data, stat.Version); return err })
	}
	return nil
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
	if !m.session.lasts(p.session) {
		return false
	}
	p.held = true
	m.startClockLocked(p)
	close(p.ready)
	return true
}

// leave gives a place up, because of err or because nobody wants it.
func (m *Mutex) leave(p *place, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loseLocked(p)
	m.leaveLocked(p)
	if !p.held {
		p.err = cmp.Or(p.err, err, errStopped)
	}
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
	delete(m.owners, p.owner)
}

func (m *Mutex) join(p *place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session.use(1)
	if p.number > 1 && (!m.alone || len(m.line) > 0) { // expect the two numbers before it there, rather than list
		p.nearer = fmt.Sprintf("%s%010d", prefix, p.number-1)
		p.farther = fmt.Sprintf("%s%010d", prefix, p.number-2)
	}
	i, _ := slices.BinarySearchFunc(m.line, p, func(a, b *place) int { return order(a.number, b.number) })
	m.line = slices.Insert(m.line, i, p)
	m.wakeScoutLocked()
}

// part takes a place out of the line, and tells the callers that still wait for
// it. Its err is nil if it was our delete that ended it.
func (m *Mutex) part(p *place, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.held {
		if p.err = err; err != nil {
			p.err = fmt.Errorf("%w: %s: %w", ErrLost, p.node, err)
		}
	} else if !isClosed(p.ready) {
		close(p.ready)
	}
	i := slices.Index(m.line, p)
	if i < 0 {
		return
	}
	m.session.use(-1)
	m.line = slices.Delete(m.line, i, i+1)
	// The short way, without a request: our node was the first until we
	// deleted it, and the next number is ours, too, and was in the queue before
	// the delete was sent. So both were in one parent, which has been there all
	// the time, and a number below cannot be given out again.
	if err == nil && i < len(m.line) && m.line[i] == p.heir {
		p.heir.tell(nil)
	} else {
		m.wakeScoutLocked()
	}
}

func (q *place) directlyBehind(p *place) bool { return q.behind == p || q.number == p.number+1 }

// tell tells live, once, that nobody is before a place, or what went wrong.
func (p *place) tell(err error) {
	p.told.Do(func() {
		p.failed = err
		close(p.turn)
	})
}
