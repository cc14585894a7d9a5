package timeout

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// The scout is the goroutine that finds out for the first of our places that
// wait what is before it, and waits until that has gone. Our other places are
// behind that one, and need not know more. There is a scout only while it has
// something to do.
//
// It watches the two nodes before the place. When the farther one goes, it
// lists the queue while the nearer one still holds the lock, and most often
// finds that nobody else is left. Then the lock is ours the moment that one
// goes, without another request: the numbers before ours have been given out,
// and cannot be given out again while our node prevents the parent from
// being removed.

// What the scout knows of a place.
type scouted struct {
	unlisted bool   // expect the two numbers before it there, rather than list
	nearer   string // the names of the two nodes before it; "" if there is none
	farther  string
	alone    bool // a list has shown nobody before it but the nearer one
}

// A sentry is a node before ours that is watched. It stays watched when the
// place that needed it leaves, because the client cannot take a watch back; the
// next place uses it again.
type sentry struct {
	gone  <-chan zk.Event
	owner int64 // its session
}

func (m *Mutex) wakeScoutLocked() {
	if m.scouting {
		select {
		case m.kick <- struct{}{}:
		default: // it has been woken
		}
		return
	}
	m.scouting = true
	m.link.spawn(func() {
		for p := m.next(); p != nil; p = m.next() {
			if err := m.look(p); err != nil {
				p.tell(m, err)
			}
		}
	})
}

// next returns the first place that waits; nil, and then the scout ends, if
// there is none, or if its turn comes when the place of ours before it goes.
func (m *Mutex) next() *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.line, func(p *place) bool { return !p.told && !isClosed(p.left) })
	m.scouting = i == 0 || i > 0 && !m.line[i].directlyBehind(m.line[i-1])
	if !m.scouting {
		return nil
	}
	return m.line[i]
}

// look takes one step towards a place's turn: it sets a watch that is
// missing, or else waits.
func (m *Mutex) look(p *place) error {
	switch {
	case p.unlisted:
		p.unlisted = false
		p.nearer = fmt.Sprintf("%s%010d", prefix, p.number-1)
		p.farther = fmt.Sprintf("%s%010d", prefix, p.number-2)
	case p.nearer == "":
		return m.list(p)
	}
	for _, name := range []string{p.nearer, p.farther} {
		if _, ok := m.sentries[name]; ok || name == "" {
			continue
		}
		// Get and not Exists, which would leave a watch on a node that has gone.
		var stat *zk.Stat
		var gone <-chan zk.Event
		err := m.link.insist(p.left, anyServer, func() (err error) {
			_, stat, gone, err = m.conn.GetW(m.path + "/" + name)
			return err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode) && name == p.nearer && p.alone:
			p.tell(m, nil)
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return m.list(p)
		case err != nil:
			return err
		}
		m.sentries[name] = sentry{gone, stat.EphemeralOwner}
	}
	nearer, farther := m.sentries[p.nearer], m.sentries[p.farther]
	select {
	case ev := <-nearer.gone:
		delete(m.sentries, p.nearer)
		// If it was of our own session, that may have ended, too: our node goes
		// in the same transaction then, and the server may tell of either first.
		if p.alone && ev.Type == zk.EventNodeDeleted && nearer.owner != p.session {
			p.tell(m, nil)
			return nil
		}
	case <-farther.gone:
		delete(m.sentries, p.farther)
	case <-m.kick:
		return nil
	case <-m.link.closed:
		return errClosed
	}
	// It has gone; or it has changed, because another asks it for the lock; or
	// the session has ended. Only a list can tell.
	return m.list(p)
}

// list looks through the queue for what is before a place. If there is nobody,
// or a place of ours, it says so to the place that it concerns.
func (m *Mutex) list(p *place) error {
	for name, s := range m.sentries { // the parent may have been made anew before our create
		select {
		case <-s.gone:
			delete(m.sentries, name)
		default:
		}
	}
	nearer, farther, err := m.predecessors(p)
	if err != nil {
		return err
	}
	p.nearer, p.farther, p.alone = nearer, farther, farther == ""
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crowded = nearer != ""
	if nearer == "" {
		p.tellLocked(nil)
	}
	for _, q := range m.line {
		if q != p && q.node == m.path+"/"+nearer {
			p.behind = q
		}
	}
	return nil
}

// predecessors lists the queue and returns what is directly before a place, and
// what is before that one; "" for nothing.
func (m *Mutex) predecessors(p *place) (nearer, farther string, err error) {
	queue, err := m.queue(p.left)
	if err != nil {
		return "", "", err
	}
	own := contender{path.Base(p.node), p.number}
	if !slices.Contains(queue, own) {
		return "", "", errGone
	}
	before, _ := slices.BinarySearchFunc(queue, own, contender.order)
	if before > 0 {
		nearer = queue[before-1].name
	}
	if before > 1 {
		farther = queue[before-2].name
	}
	return nearer, farther, nil
}

// tryFirst is nil if nobody is before a place, and ErrHeld if somebody is.
func (m *Mutex) tryFirst(p *place) error {
	nearer, _, err := m.predecessors(p)
	if err == nil && nearer != "" {
		return ErrHeld
	}
	if err == nil {
		p.tell(m, nil)
	}
	return err
}
