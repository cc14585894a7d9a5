package zklock

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// A queue is the contenders before an entry. It can only become shorter, because numbers grow.
type queue struct {
	length          int
	nearer, farther string // the names of the last two; "" if there is none
}

const (
	deepQueue    = 5 // the length from which on the parent's low-water mark (client/lowwater.go) has fewer bytes than a list
	nearTurn     = 8 // as many contenders before an entry may go while it sends three requests
	mostUnproved = 3 // proofs in a row that fail: then Lock fails, too
)

// A watched node is a node before an entry. If it is of this Mutex, there is no watch:
// changed is closed when its entry has gone.
type watched struct {
	name    string
	changed <-chan zk.Event
	session int64  // whose node it is
	setFor  *entry // for which the watch was set
	entry   *entry // the node's own, of this Mutex
}

// wait watches what is before e and parks e (errParked). If some of the watched nodes have gone
// already, it returns the contenders that are left. This is the loop of step 3, with three
// differences, so that the next holder has the lock one round trip after a release.
//
//   - It watches two nodes. When the farther one goes, the nearer one still holds
//     the lock, and there is time for a list.
//   - If only one node was before e's, and has gone, there is no list: nobody is
//     before e then, because later nodes have higher numbers.
//   - It watches e's own node, too. If that was deleted before the lock became free,
//     its event arrives first: a server sends events in the order of the changes. (If
//     the client reconnects in between, the event is lost; see the package doc.)
func (m *Mutex) wait(e *entry, before queue) (queue, error) {
	if before.length <= 2 {
		m.prove(e) // so that the proof is complete when its turn comes
	}
	nearer, farther, missing, err := m.watchAll(e, before)
	switch {
	case err != nil:
		return before, err
	case missing != nil:
		return m.without(e, before, missing...)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if e.state != queued {
		return before, client.ErrStopped
	}
	if e.again == nil {
		e.again = time.After(m.client.Timeout())
	}
	e.parked = &parking{m: m, e: e, before: before, nearer: nearer, farther: farther}
	e.parked.own, e.parked.closed, e.parked.again = e.own, m.client.Closed(), e.again
	m.parked <- e.parked
	return before, errParked
}

// list reads which contenders are before e. The list has e's own node, so it is of the parent in which that node was
// made: a parent that was deleted and made again has no old nodes.
func (m *Mutex) list(e *entry) (before queue, err error) {
	names, parent, err := m.parent.List(e.left)
	if err != nil {
		return before, err
	}

	contenders, found := 0, false
	var nearer, farther int32    // the numbers of the last two before e; e.third is the next one's
	for _, name := range names { // there may be thousands: no sort
		n, ok := record.Sequence(name)
		if !ok {
			continue
		}
		contenders++
		found = found || name == e.node.Name()
		if record.Order(n, e.node.Number) >= 0 {
			continue
		}
		switch before.length++; { // n may be the last one before e so far, the last but one, or the third last
		case before.nearer == "" || record.Order(n, nearer) > 0:
			before.nearer, before.farther = name, before.nearer
			nearer, farther, e.third = n, nearer, farther
		case before.farther == "" || record.Order(n, farther) > 0:
			before.farther, farther, e.third = name, n, farther
		case before.length == 3 || record.Order(n, e.third) > 0:
			e.third = n
		}
	}

	if !found {
		return before, client.ErrGone
	}
	e.node.Born = parent.Czxid
	e.marks = e.marks || before.length >= deepQueue-2
	m.parent.Crowded.Store(contenders > deepQueue-2)
	if contenders == 1 && e.token == 0 {
		// The last change of this list is our create, or a later one. It comes before the create of each later holder,
		// and after the last list of each earlier one. So it is as good a token as the czxid, and saves a request.
		e.token = parent.Pzxid
	}
	return before, nil
}

// watchAll watches e's own node and the last two before it, and returns which of the two
// have gone. If its turn may be near, the reads are sent together, and answered within one round
// trip; otherwise one after the other, by one goroutine. When an answer shows that the lock is free,
// that of e's own node has come, too: it was there, or its event is.
func (m *Mutex) watchAll(e *entry, before queue) (nearer, farther watched, missing []string, err error) {
	var ownErr, fartherErr error
	var reads sync.WaitGroup
	read := func(f func()) { f() }
	if before.length <= nearTurn {
		read = reads.Go
	}
	if e.own == nil {
		read(func() { ownErr = m.watchOwn(e) })
	}
	if before.farther != "" {
		read(func() { farther, fartherErr = m.watch(e, before.farther) })
	}
	nearer, err = m.watch(e, before.nearer)
	reads.Wait()

	if errors.Is(fartherErr, zk.ErrNoNode) {
		missing, fartherErr = append(missing, before.farther), nil
	}
	if errors.Is(err, zk.ErrNoNode) {
		missing, err = append(missing, before.nearer), nil
	}
	return nearer, farther, missing, cmp.Or(ownErr, err, fartherErr)
}

// without returns the contenders before e when some of the watched nodes have gone. When the farther one
// goes, the low-water mark of the one before that, or of itself, may say that all others have gone, too.
func (m *Mutex) without(e *entry, before queue, deleted ...string) (queue, error) {
	switch {
	case before.length == len(deleted):
		return queue{}, nil
	case deleted[0] != before.farther: // the nearer one gave up: only a list shows the next one
	case before.length == 2, before.length >= deepQueue && e.node.HaveGone(e.left, e.third):
		return queue{length: 1, nearer: before.nearer}, nil
	}
	return m.list(e)
}

// watch watches a node before e, or finds that it is watched already: an entry
// that gave up has left its watch in the client, which cannot remove it.
func (m *Mutex) watch(e *entry, name string) (watched, error) {
	m.mu.Lock()
	w := watched{name: name, setFor: e}
	w.entry = m.entryLocked(name)
	i := slices.IndexFunc(m.watches, func(w watched) bool { return w.name == name })
	switch {
	case w.entry != nil:
		w.changed = w.entry.ended
	case i >= 0 && (len(m.watches[i].changed) == 0 || m.watches[i].setFor == e):
		// With an event, it is taken only for the same entry, whose parent is the same. In a parent that was made again
		// the numbers begin again: another library's node may have the name of one that has changed, and gone.
		w = m.watches[i]
	}
	m.mu.Unlock()
	if w.changed != nil {
		return w, nil
	}

	// Get and not Exists, which would leave a watch on a node that has gone.
	_, stat, changed, err := m.client.GetW(e.left, m.path+"/"+name)
	if err != nil {
		return w, err
	}
	w.changed, w.session = changed, stat.EphemeralOwner
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = slices.DeleteFunc(m.watches, func(w watched) bool { return w.name == name || len(w.changed) > 0 })
	m.watches = append(m.watches, w)
	return w, nil
}

// hasStrangers reports whether a contender of the queue is of another Mutex: its node is not among those
// of this Mutex that are leaving. Of these one may have gone already: its delete was not answered.
func (q queue) hasStrangers(leaving []string) bool {
	isStranger := func(name string) bool { return name != "" && !slices.Contains(leaving, name) }
	before := q.length > len(leaving) // a stranger, then our two
	between := isStranger(q.farther)  // a stranger, then ours
	behind := isStranger(q.nearer)    // ours, then a stranger
	return before || between || behind
}

// refuseTry ends the calls of TryLock, alone or beside a Lock of their owner, if a contender before e is another one's.
func (m *Mutex) refuseTry(e *entry, before queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ours []string
	for _, other := range m.entries {
		if other.state == leaving {
			ours = append(ours, other.node.Name())
		}
	}
	if e.behind = before.hasStrangers(ours); !e.behind || e.state != queued {
		return
	}

	m.waiting = slices.DeleteFunc(m.waiting, func(t *turn) bool {
		if !t.waits { // it is of TryLock alone
			m.failLocked(e, t, ErrHeld)
		} else if t.refused != nil {
			close(t.refused)
			t.refused = nil
		}
		return !t.waits
	})
	if len(m.waiting) > 0 {
		e.notifyLocked()
	} else {
		m.leaveLocked(e, nil) // and they are notified when the node has gone
	}
}

// prove makes the client prove the session for e from now on.
func (m *Mutex) prove(e *entry) {
	if !e.proved {
		e.proved = true
		m.client.Use(&m.tasks, 1)
	}
}

// take takes the lock for e, which is the first, once its session is safe for long enough.
func (m *Mutex) take(e *entry) (err error) {
	if e.token > math.MaxInt64>>passBits {
		return fmt.Errorf("%s has the zxid %#x, and a token has room for 53 bits of it", e.node.Path, e.token)
	}
	m.prove(e)
	e.node.First = e.marks
	for unproved := 0; err == nil; {
		switch {
		case len(e.own) > 0: // an event of our node is handled first
			err = m.ownChanged(e, <-e.own)
			continue
		case m.enter(e):
			return nil
		case m.client.SessionID() != e.node.Session:
			return client.ErrGone
		}

		proof, wrong := m.client.NextProof() // wrong is why the last one has failed
		if wrong == nil {
			unproved = 0
		} else if unproved++; unproved == mostUnproved {
			return wrong
		}
		select {
		case <-proof:
		case ev := <-e.own:
			err = m.ownChanged(e, ev)
		case <-e.left:
			err = client.ErrStopped
		case <-m.client.Closed():
			err = client.ErrClosed
		}
	}
	return err
}
