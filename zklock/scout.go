package zklock

import (
	"errors"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// The scout is the goroutine that finds out for the first of our places that
// wait what is before it, and waits until that has gone. Our other places are
// behind that one, and need not know more. There is a scout only while it has
// something to do.
//
// It watches the two nodes before the place. When the farther one goes, it
// lists the queue while the nearer one still holds the lock. If nobody else is
// left, the lock is ours the moment that one goes, without another request: no
// number before ours is given out again while our node keeps the parent.

// A sentry is a node before ours that is watched. It stays when the place that
// needed it leaves, because the client cannot take a watch back, and serves the
// next one.
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
	again := time.Tick(m.session.timeout())
	m.tasks.spawn(func() {
		for p := m.next(); p != nil; p = m.next() {
			if first, err := m.look(p, again); first || err != nil {
				p.tell(err)
			}
		}
	})
}

// next returns the first place that waits; nil, and then the scout ends, if
// there is none, or if its turn comes when the place of ours before it goes.
func (m *Mutex) next() *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.line, func(p *place) bool { return !isClosed(p.turn) && !isClosed(p.left) })
	m.scouting = i == 0 || i > 0 && !m.line[i].directlyBehind(m.line[i-1])
	if !m.scouting {
		return nil
	}
	return m.line[i]
}

// look takes one step towards a place's turn: it sets a watch that is missing,
// or else waits. First: nobody is before the place.
func (m *Mutex) look(p *place, again <-chan time.Time) (first bool, err error) {
	if p.nearer == "" {
		return m.list(p)
	}
	// What earlier places looked for may have gone.
	maps.DeleteFunc(m.sentries, func(n string, s sentry) bool { return n != p.nearer && n != p.farther && len(s.gone) > 0 })
	for _, name := range []string{p.nearer, p.farther} {
		if _, ok := m.sentries[name]; ok || name == "" {
			continue
		}
		// Get and not Exists, which would leave a watch on a node that has gone.
		_, stat, gone, err := m.getW(p.left, m.path+"/"+name)
		switch {
		case errors.Is(err, zk.ErrNoNode) && p.farther == "": // so it was the nearer
			return true, nil
		case errors.Is(err, zk.ErrNoNode):
			return m.list(p)
		case err != nil:
			return false, err
		}
		m.sentries[name] = sentry{gone, stat.EphemeralOwner}
	}
	nearer, farther := m.sentries[p.nearer], m.sentries[p.farther]
	select {
	case ev := <-nearer.gone:
		delete(m.sentries, p.nearer)
		// If it was of our own session, that may have ended, too: our node goes
		// in the same transaction then, and the server may tell of either first.
		if p.farther == "" && ev.Type == zk.EventNodeDeleted && nearer.owner != p.session {
			return true, nil
		}
	case <-farther.gone:
		delete(m.sentries, p.farther)
	case <-m.kick:
		return false, nil
	case <-again: // a server may refuse to set the watches anew in the next connection, and the client says nothing
		if _, _, err := m.get(p.left, m.path+"/"+p.nearer); !errors.Is(err, zk.ErrNoNode) {
			return false, err
		}
		delete(m.sentries, p.nearer)
	case <-m.session.closed:
		return false, errClosed
	}
	// It has gone, or changed (another asks it for the lock), or the session has
	// ended. Only a list can tell.
	return m.list(p)
}

// list looks through the queue for what is before a place.
func (m *Mutex) list(p *place) (first bool, err error) {
	// The parent may have been made anew before our create.
	maps.DeleteFunc(m.sentries, func(_ string, s sentry) bool { return len(s.gone) > 0 })
	if err := m.findBefore(p); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone = p.nearer == ""
	if i := slices.Index(m.line, p); i > 0 && m.line[i-1].node == m.path+"/"+p.nearer {
		p.behind = m.line[i-1]
	}
	return m.alone, nil
}

// findBefore lists the queue and notes what is before a place.
func (m *Mutex) findBefore(p *place) error {
	queue, err := m.queue(p.left)
	if err != nil {
		return err
	}
	i := slices.Index(queue, contender{path.Base(p.node), p.number})
	if i < 0 {
		return errGone
	}
	p.nearer, p.farther = "", ""
	if i > 0 {
		p.nearer = queue[i-1].name
	}
	if i > 1 {
		p.farther = queue[i-2].name
	}
	return nil
}
