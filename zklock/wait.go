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
	// From this length on, the parent's low-water mark (client/lowwater.go) has fewer bytes than a list. The delete of
	// the farther node leaves that mark, and the farther node has two contenders fewer before it.
	deepQueue   = 5
	leavesAMark = deepQueue - 2

	nearTurn     = 8 // as many contenders before an entry may go while it sends three requests
	mostUnproved = 3 // proofs in a row that fail: then Lock fails, too
)

// A watched node is a node before an entry. One of this Mutex has no watch: changed is closed when its entry has gone.
type watched struct {
	name    string
	changed <-chan zk.Event
	session int64  // whose node it is
	setFor  *entry // the one behind it, for which the watch was set
	entry   *entry // the node's own; nil if the node is another Mutex's
}

// wait watches what is before e and parks e: it returns errParked, and e goes on by an event (parking.go). If some
// have gone, it returns those that are left. This is the loop of step 3 (03-sequential-predecessor/lock.go), with
// three differences; a release lets the next holder in within a round trip.
//
//   - It watches two nodes. When the farther one goes, the nearer still holds the lock: there is time for a list.
//   - If only one node was before e's, and has gone, there is no list: later nodes have higher numbers.
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
	if e.pollDue == nil {
		e.pollDue = time.After(m.client.Timeout())
	}
	e.parked = &parking{m: m, e: e, before: before, nearer: nearer, farther: farther}
	e.parked.own, e.parked.closed, e.parked.pollDue = e.own, m.client.Closed(), e.pollDue
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

	type contender struct {
		name   string
		number int32
	}
	var last [3]contender // before e, the nearest first
	contenders := 0
	for _, name := range names { // there may be thousands: no sort
		n, ok := record.Sequence(name)
		if !ok {
			continue
		}
		contenders++
		if record.Order(n, e.node.Number) >= 0 {
			continue
		}
		before.length++
		isFarther := func(c contender) bool { return c.name == "" || record.Order(c.number, n) < 0 }
		if i := slices.IndexFunc(last[:], isFarther); i >= 0 {
			copy(last[i+1:], last[i:])
			last[i] = contender{name, n}
		}
	}
	before.nearer, before.farther, e.third = last[0].name, last[1].name, last[2].number

	if !slices.Contains(names, e.node.Name()) {
		return before, client.ErrGone
	}
	e.node.Born = parent.Czxid
	e.marks = e.marks || before.length >= leavesAMark
	m.parent.Crowded.Store(contenders > leavesAMark)

	if contenders == 1 && e.token == 0 {
		// The last change of this list is our create, or a later one. It comes before the create of each later holder,
		// and after the last list of each earlier one. So it is as good a token as the czxid, and saves a request.
		e.token = parent.Pzxid
	}
	return before, nil
}

// watchAll watches e's own node and the last two before it, and returns which of the two
// have gone. If e's turn may be near, the reads are sent together, and answered within one round
// trip; otherwise one after the other, by one goroutine. It returns when all answers have come: if they
// show that the lock is free, they also show that e's own node was there, or its event has come.
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
	nearerIsLast := func() bool {
		return before.length == 2 || before.length >= deepQueue && e.node.HaveGone(e.left, e.third)
	}
	switch {
	case before.length == len(deleted):
		return queue{}, nil
	case deleted[0] == before.farther && nearerIsLast():
		return queue{length: 1, nearer: before.nearer}, nil
	}
	return m.list(e) // if the nearer one gave up, only a list shows the next one
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
		// A watch whose event has come is taken only for the same entry, whose parent is the same. In a parent that was
		// made again the numbers begin again: another library's node may have the name of one that has gone.
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

// hasStrangers reports whether a contender of the queue is of another Mutex: its node is not among those of this Mutex,
// which are leaving. A name is known of the last two only, but a queue that is longer than our list has a stranger,
// too. It may be shorter: a node of ours may have gone, though its delete was not answered.
func (q queue) hasStrangers(leaving []string) bool {
	isStranger := func(name string) bool { return name != "" && !slices.Contains(leaving, name) }
	return q.length > len(leaving) || isStranger(q.farther) || isStranger(q.nearer)
}

// refuseTry ends the calls of TryLock, but not a Lock beside them, if a contender before e is another Mutex's.
func (m *Mutex) refuseTry(e *entry, before queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ours []string
	for _, other := range m.entries {
		if other.state == leaving {
			ours = append(ours, other.node.Name())
		}
	}
	e.behind = before.hasStrangers(ours)
	if !e.behind || e.state != queued {
		return
	}

	m.waiting = slices.DeleteFunc(m.waiting, func(t *turn) bool {
		if !t.mayWait {
			m.failLocked(e, t, ErrHeld)
		} else if t.refused != nil {
			close(t.refused)
			t.refused = nil
		}
		return !t.mayWait
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
