package timeout

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// The scout is the goroutine that finds out for the first of our places that
// wait who is before it, and waits until they have gone. Our other places are
// behind that one, and need not know more. There is a scout only while it has
// something to do.
//
// It watches the two nodes before the place. When the farther one goes, it
// lists the queue while the nearer one still holds the lock, and most often
// finds that nobody else is left. Then the lock is ours the moment that one
// goes, without another request: the numbers before ours have been given out,
// and cannot be given out again while our node keeps the parent in being.

// What the scout knows of a place.
type scouted struct {
	unlisted bool // expect the two numbers before it there, rather than list
	nearer   sentry
	farther  sentry
	alone    bool // a list has shown nobody before it but the nearer one
}

// A sentry is a node before ours that is watched.
type sentry struct {
	name string
	gone <-chan zk.Event
	ours bool // it is of our session
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
	go func() {
		for {
			m.mu.Lock()
			p := m.nextLocked()
			m.scouting = p != nil
			m.mu.Unlock()
			if p == nil {
				return
			}
			if err := m.look(p); err != nil {
				var r retry
				if err := r.again(m, err, p.left); err != nil {
					p.tell(m, err)
				}
			}
		}
	}()
}

// nextLocked returns the first place that waits, nil if there is none, or if
// its turn comes when the place of ours before it goes.
func (m *Mutex) nextLocked() *place {
	for i, p := range m.line {
		if p.told || isClosed(p.left) {
			continue
		}
		if i > 0 && p.directlyBehind(m.line[i-1]) {
			return nil
		}
		return p
	}
	return nil
}

// look takes one step towards a place's turn: it sets a watch that is
// missing, or else waits.
func (m *Mutex) look(p *place) error {
	switch {
	case p.unlisted:
		p.unlisted = false
		p.nearer.name = fmt.Sprintf("%s%010d", prefix, p.number-1)
		p.farther.name = fmt.Sprintf("%s%010d", prefix, p.number-2)
	case p.nearer.name == "":
		return m.list(p)
	}
	for _, s := range []*sentry{&p.nearer, &p.farther} {
		if s.name == "" || s.gone != nil {
			continue
		}
		// Get and not Exists, which would leave a watch on a node that has gone.
		var stat *zk.Stat
		err := m.call(func() (err error) { _, stat, s.gone, err = m.conn.GetW(m.path + "/" + s.name); return err })
		if errors.Is(err, zk.ErrNoNode) {
			return m.passed(p, s, zk.EventNodeDeleted)
		}
		if err != nil {
			return err
		}
		s.ours = stat.EphemeralOwner == p.session
	}
	select {
	case ev := <-p.nearer.gone:
		return m.passed(p, &p.nearer, ev.Type)
	case ev := <-p.farther.gone:
		return m.passed(p, &p.farther, ev.Type)
	case <-m.kick:
		return nil
	}
}

// passed is what follows when a sentry has gone. It may also have changed, for
// somebody asks it for the lock, or the session may have ended: then only a
// list can tell. If it was of our own session, that may have ended, too: our
// node goes in the same transaction then, and which of the two we are told of
// first is open.
func (m *Mutex) passed(p *place, s *sentry, what zk.EventType) error {
	ours := s.ours
	*s = sentry{}
	if p.alone && what == zk.EventNodeDeleted && !ours { // it was the nearer one
		p.tell(m, nil)
		return nil
	}
	return m.list(p)
}

// list looks through the queue for who is before a place. If there is nobody,
// or a place of ours, it says so to whom it concerns.
func (m *Mutex) list(p *place) error {
	nearer, farther, err := m.predecessors(p)
	if err != nil {
		return err
	}
	if p.nearer.name != nearer {
		p.nearer = sentry{name: nearer}
	}
	if p.farther.name != farther {
		p.farther = sentry{name: farther}
	}
	p.alone = farther == ""
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

// predecessors lists the queue and returns who is directly before a place, and
// who is before that one; "" for nobody.
func (m *Mutex) predecessors(p *place) (nearer, farther string, err error) {
	names, err := m.children()
	if errors.Is(err, zk.ErrNoNode) {
		return "", "", errGone
	}
	if err != nil {
		return "", "", err
	}
	own, found := path.Base(p.node), false
	var n1, n2 int32 // the numbers of the two
	for _, child := range names {
		n, ok := sequence(child)
		switch {
		case child == own:
			found = true
		case !ok || !before(n, p.number):
		case nearer == "" || before(n1, n):
			nearer, n1, farther, n2 = child, n, nearer, n1
		case farther == "" || before(n2, n):
			farther, n2 = child, n
		}
	}
	if !found {
		return "", "", errGone
	}
	return nearer, farther, nil
}

// tryFirst is nil if nobody is before a place, and ErrHeld if somebody is.
func (m *Mutex) tryFirst(p *place) error {
	var r retry
	for {
		nearer, _, err := m.predecessors(p)
		if err == nil && nearer != "" {
			return ErrHeld
		}
		if err == nil {
			p.tell(m, nil)
			return nil
		}
		if err := r.again(m, err, p.left); err != nil {
			return err
		}
	}
}
