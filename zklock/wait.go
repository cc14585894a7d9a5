package zklock

import (
	"errors"
	"maps"
	"time"

	"github.com/go-zookeeper/zk"
)

// A queue is what is before an entry: how many nodes, and the last two of them.
// It can only become shorter, because numbers grow.
type queue struct {
	length          int
	nearer, farther string // names; "" if there is none
	concluded       bool   // nearer was not seen in a list
}

// A watched node is one before an entry. It is watched, or is of this Mutex: then
// the entry's gone channel tells.
type watched struct {
	changed <-chan zk.Event
	session int64
	before  *entry // for which the watch was set
	entry   *entry
}

func (w watched) gone() <-chan struct{} {
	if w.entry == nil {
		return nil
	}
	return w.entry.gone
}

// wait returns when nobody is before e. It is the loop of step 3, with two
// differences. A release is one round trip away from the next holder: that one
// knows by then that no other node is before its own. So wait watches two nodes:
// when the farther one goes, the nearer one still holds the lock, and there is
// time for a list. There is no time for a look at the own node after the release.
// So that is watched, too. A server tells a client of changes in their order: the
// event of a node that went before the lock became free has come by then. (If the
// client comes back to its session in between, that is lost; see the package doc.)
func (m *Mutex) wait(e *entry) error {
	before, err := m.before(e)
	if err == nil && (before.length > 0 || e.token == 0) {
		err = m.watchOwn(e)
	}
	if err != nil {
		return err
	}
	again := time.NewTicker(m.session.timeout())
	defer again.Stop()
	for before.length > 0 {
		m.refuseTry(e, before)
		if before.length <= 2 {
			m.prove(e) // so that the proof is complete when its turn comes
		}
		if before, err = m.await(e, before, again.C); err != nil {
			return err
		}
	}
	return m.take(e)
}

// before returns what is before e when it has just been made. If one other node
// was there, and this Mutex has one that it has not given up, it was that one: if
// it goes by our own delete, which is sent later, it was there all the time.
func (m *Mutex) before(e *entry) (queue, error) {
	switch e.others {
	case 0:
		return queue{}, nil
	case 1:
		m.mu.Lock()
		for name, other := range m.entries {
			if !isClosed(other.left) && order(other.number, e.number) < 0 {
				m.mu.Unlock()
				return queue{length: 1, nearer: name, concluded: true}, nil
			}
		}
		m.mu.Unlock()
	}
	return m.list(e)
}

// list reads what is before e. The list has e's own node, so it is of the parent
// in which that was made: a parent that was made after an earlier one has gone has
// no old nodes.
func (m *Mutex) list(e *entry) (before queue, err error) {
	names, parent, err := m.children(e.left)
	if err != nil {
		return before, err
	}
	contenders, found := 0, false
	var nearer, farther int32
	for _, name := range names { // there may be thousands: no sort
		n, ok := sequence(name)
		if !ok {
			continue
		}
		contenders++
		switch {
		case name == e.name():
			found = true
		case order(n, e.number) >= 0:
		case before.nearer == "" || order(n, nearer) > 0:
			before = queue{length: before.length + 1, nearer: name, farther: before.nearer}
			nearer, farther = n, nearer
		case before.farther == "" || order(n, farther) > 0:
			before.length, before.farther, farther = before.length+1, name, n
		default:
			before.length++
		}
	}
	if !found {
		return before, errGone
	}
	if contenders == 1 && e.token == 0 {
		// The last change of this list is our create, or a later one. It comes
		// before the create of each later holder, and after the last look of each
		// earlier one. So it is as good a token as the czxid, and spares a request.
		e.token = parent.Pzxid
	}
	if m.way.Load() == unknown {
		how := counting
		if parent.DataLength > 0 {
			how = creating
		}
		m.way.Store(how)
	}
	return before, nil
}

// await waits until something has changed before e, and returns what is before
// it then.
func (m *Mutex) await(e *entry, before queue, again <-chan time.Time) (queue, error) {
	nearer, err := m.watch(e, before.nearer)
	if errors.Is(err, zk.ErrNoNode) {
		if before.concluded {
			return m.list(e)
		}
		return m.nearerGone(e, before)
	}
	if err != nil {
		return before, err
	}
	var farther watched
	if before.farther != "" {
		farther, err = m.watch(e, before.farther)
		if errors.Is(err, zk.ErrNoNode) {
			return m.fartherGone(e, before)
		}
		if err != nil {
			return before, err
		}
	}
	select {
	case ev := <-e.own:
		return before, m.ownChanged(e, ev)
	case <-e.left:
		return before, errStopped
	case <-m.session.closed:
		return before, errClosed
	case <-again: // a server may refuse to set the watches again in the next connection, and the client says nothing
		_, _, err := m.get(e.left, m.path+"/"+before.nearer)
		if errors.Is(err, zk.ErrNoNode) {
			return m.list(e)
		}
		return before, err
	case <-nearer.gone():
		if nearer.entry.deleted {
			return m.nearerGone(e, before)
		}
	case ev := <-nearer.changed:
		m.forget(before.nearer)
		// If it was of our own session, that may have ended: our node goes in the
		// same transaction then, and the server may tell of either first.
		if ev.Type == zk.EventNodeDeleted && nearer.session != e.session {
			return m.nearerGone(e, before)
		}
	case <-farther.gone():
		if farther.entry.deleted {
			return m.fartherGone(e, before)
		}
	case ev := <-farther.changed:
		m.forget(before.farther)
		if ev.Type == zk.EventNodeDeleted {
			return m.fartherGone(e, before)
		}
	}
	// It has changed (another contender asks it for the lock), or the session has
	// ended. Only a list can tell.
	return m.list(e)
}

func (m *Mutex) nearerGone(e *entry, before queue) (queue, error) {
	if before.length == 1 {
		return queue{}, nil
	}
	return m.list(e)
}

func (m *Mutex) fartherGone(e *entry, before queue) (queue, error) {
	if before.length == 2 {
		return queue{length: 1, nearer: before.nearer}, nil
	}
	return m.list(e)
}

// watch watches a node before e, or finds that it is watched already: an entry
// that gave up has left its watch in the client, which cannot take it back.
func (m *Mutex) watch(e *entry, name string) (watched, error) {
	m.mu.Lock()
	w, ok := m.watches[name]
	// In a parent that was made again the numbers begin again: another library's
	// node may have the name of one that has changed, and gone. Not while the entry
	// for which that one was watched is there: its parent is still the same.
	ok = ok && (len(w.changed) == 0 || w.before == e)
	if other := m.entries[name]; other != nil {
		w, ok = watched{entry: other}, true
	}
	m.mu.Unlock()
	if ok {
		return w, nil
	}
	// Get and not Exists, which would leave a watch on a node that has gone.
	_, stat, changed, err := m.getW(e.left, m.path+"/"+name)
	if err != nil {
		return w, err
	}
	w = watched{changed: changed, session: stat.EphemeralOwner, before: e}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.watches, func(_ string, w watched) bool { return len(w.changed) > 0 })
	m.watches[name] = w
	return w, nil
}

func (m *Mutex) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches, name)
}

// refuseTry ends the attempts of those that do not wait for other contenders. A
// node of this Mutex that is about to go is not another contender's.
func (m *Mutex) refuseTry(e *entry, before queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	leaving := 0
	for _, other := range m.entries {
		if isClosed(other.left) && !isClosed(other.stuck) && order(other.number, e.number) < 0 {
			leaving++
		}
	}
	if leaving < before.length {
		m.failLocked(e, ErrHeld, true)
	}
}

// prove has the session proved for e from now on.
func (m *Mutex) prove(e *entry) {
	if !e.proved {
		e.proved = true
		m.session.use(1)
	}
}

// take takes the lock for e, which is the first, once its session is known to be
// safe.
func (m *Mutex) take(e *entry) error {
	m.prove(e)
	for unproved := 0; ; {
		if len(e.own) > 0 { // which comes before the lock
			if err := m.ownChanged(e, <-e.own); err != nil {
				return err
			}
			continue
		}
		if m.enter(e) {
			return nil
		}
		if m.conn.SessionID() != e.session {
			return errGone
		}
		proof, err := m.session.nextProof()
		if err == nil {
			unproved = 0
		} else if unproved++; unproved == 3 {
			return err
		}
		select {
		case <-proof:
		case ev := <-e.own:
			if err := m.ownChanged(e, ev); err != nil {
				return err
			}
		case <-e.left:
			return errStopped
		case <-m.session.closed:
			return errClosed
		}
	}
}
