package timeout

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A place is one node of ours in the queue, and its owner's hold on the lock
// once nobody is before it. One goroutine, live, makes all its requests from
// the create to the delete. Everybody else waits on its channels, ctx in hand.
type place struct {
	owner *Owner
	id    string
	try   bool // does not wait

	ready  chan struct{} // closed when the lock is held, or err says why not
	left   chan struct{} // closed when nobody wants the place any more
	lost   chan struct{} // closed when it is held and can no longer be trusted
	gone   chan struct{} // closed when the node has gone and no goroutine is left
	stuck  chan struct{} // closed when the server refuses to delete the node
	revoke chan struct{} // closed when somebody asks for the lock
	turn   chan error    // tells live, once, that nobody is before it (nil), or what went wrong

	// Written by live before the place is in the line, token before ready is closed.
	data    []byte // what the node was made with
	node    string
	number  int32
	session int64
	token   int64 // the node's czxid; 0 before it is known

	// Guarded by Mutex.mu.
	err      error // why the lock is not held
	unlocked error // what the last Unlock is told
	leases   int
	held     bool
	vanished bool   // its node has gone, or its name is another's now: there is none to remove
	told     bool   // something was sent on turn
	first    bool   // and it was nil
	behind   *place // a place of ours that is directly before it
	clock    *time.Timer

	scouted // what the scout knows of it
}

// errGone says that a place has lost its node before it held the lock.
var errGone = errors.New("timeout: the node in the queue has gone")

func newPlace(owner *Owner, try bool) *place {
	return &place{
		owner: owner, id: rand.Text(), try: try, leases: 1,
		ready: make(chan struct{}), left: make(chan struct{}), lost: make(chan struct{}), gone: make(chan struct{}),
		stuck: make(chan struct{}), revoke: make(chan struct{}), turn: make(chan error, 1),
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// live is the life of a place.
func (m *Mutex) live(p *place) {
	defer close(p.gone)
	err := m.create(p)
	made := err == nil
	if made && p.try {
		err = m.tryFirst(p)
	}
	if err == nil {
		m.join(p)
		if err = m.stay(p); err != nil {
			m.lose(p) // before the node goes, and the next one is in
		} else if m.hasVanished(p) {
			err = errGone
		}
	}
	m.settle(p, err)
	switch {
	case errors.Is(err, errClosed):
		err = fmt.Errorf("%w: %w", ErrLost, errClosed)
	case errors.Is(err, errGone):
		err = fmt.Errorf("%w: %s has gone", ErrLost, p.node)
	case made:
		err = m.remove(p)
	}
	m.part(p, err)
}

// stay keeps a place until nobody wants it (nil), it cannot be kept, or its
// node has gone (errGone). A place watches its own node. Should that go before
// the lock becomes free, the event comes first, for a server tells a client of
// changes in their order. So nobody takes the lock who is not in the queue.
// (Where the client comes back to its session in between, the order is lost;
// see the package doc.)
func (m *Mutex) stay(p *place) error {
	first := false
	for {
		own, err := m.watch(p)
		if err != nil {
			return err
		}
		if first && !m.take(p) {
			continue
		}
		first = false
		for {
			var ev zk.Event
			select {
			case ev = <-own:
			case err := <-p.turn:
				if err != nil {
					return err
				}
				first = true
				select {
				case ev = <-own:
				default:
				}
			case <-p.left:
				return nil
			}
			if ev.Type == 0 && m.take(p) {
				first = false
				continue
			}
			if ev.Type == 0 || ev.Type == zk.EventNodeDataChanged {
				break // look afresh
			}
			if errors.Is(ev.Err, zk.ErrClosing) {
				return errClosed
			}
			return errGone
		}
	}
}

// watch sets a watch on a place's own node, and reads when it was made and
// whether it has been asked for.
func (m *Mutex) watch(p *place) (own <-chan zk.Event, err error) {
	var r retry
	for {
		var data []byte
		var stat *zk.Stat
		err := m.call(func() (err error) { data, stat, own, err = m.conn.GetW(p.node); return err })
		if err == nil && m.recognize(p, data, stat) {
			return own, nil
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil, errGone
		}
		if err := r.again(m, err, p.left); err != nil {
			return nil, err
		}
	}
}

// recognize takes in what was read from a place's node. False: the node is
// another's of the same name, for the parent was made anew.
func (m *Mutex) recognize(p *place, data []byte, stat *zk.Stat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.made(stat) {
		return false
	}
	if !bytes.Equal(data, p.data) {
		rec, ours := parseRecord(data)
		if ours && rec.ID != p.id {
			return false
		}
		if (ours && rec.Revoke || string(data) == curatorRevoke) && !isClosed(p.revoke) {
			close(p.revoke)
		}
	}
	if p.token == 0 { // others read it later
		p.token = stat.Czxid
	}
	return true
}

// take takes the lock for a place that nobody is before. False: it is too
// long ago that the server was heard for the session to be trusted, or so long
// that the lock might be lost before the next answer comes.
func (m *Mutex) take(p *place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(p.left) {
		return true // and nobody wants it
	}
	if m.silence(p) >= m.timeout*2/3 {
		return false
	}
	p.held = true
	m.startClockLocked(p)
	close(p.ready)
	return true
}

// settle says why a place does not hold the lock, should anybody wait for it.
func (m *Mutex) settle(p *place, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(p.ready) {
		return
	}
	if err == nil {
		err = errLeft
	}
	p.err = err
	close(p.ready)
	if m.owners[p.owner] == p {
		delete(m.owners, p.owner)
	}
}

// leaveLocked gives a place up. Its goroutine does the rest.
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
	p.unlisted = m.crowded || len(m.line) > 0
	i := len(m.line)
	for i > 0 && before(p.number, m.line[i-1].number) {
		i--
	}
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
	m.line = slices.Delete(m.line, i, i+1)
	// The short way, without a request: our node was the first until we
	// deleted it, and the next number is ours, too. So the parent has been
	// there all the time, and a number below cannot be given out again.
	if removed == nil && p.first && i < len(m.line) && m.line[i].directlyBehind(p) {
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
