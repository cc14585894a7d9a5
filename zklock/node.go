package zklock

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// create makes the node of a place, once, whatever happens on the way. After an
// error there is none, or place.node names it.
func (m *Mutex) create(p *place) error {
	for {
		if m.conn.SessionID() == 0 { // wait for a session: the answer to the create is to count for it
			if err := m.session.insist(p.left, theLeader, m.session.sync); err != nil {
				return err
			}
		}
		session := m.conn.SessionID()
		var node string
		err := m.session.call(aQuorum, func() (err error) {
			node, err = m.conn.Create(m.path+"/"+prefix, p.data, zk.FlagEphemeralSequential, m.acl)
			return err
		})
		if maybe(err) || err == nil && m.conn.SessionID() != session {
			// It was made or not, in this session or in another.
			found, in, findErr := m.find(p)
			switch {
			case findErr != nil:
				return findErr
			case found != "": // or else, if it was made, it has gone, which its first read tells
				node, session, err = found, in, nil
			}
		}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err = m.createParents(m.path); err == nil {
				continue
			}
		case err == nil:
			n, ok := sequence(path.Base(node))
			if !ok || path.Dir(node) != m.path {
				return fmt.Errorf("the server says that it has made %q", node)
			}
			p.node, p.number, p.session = node, n, session
			if n < math.MaxInt32 {
				return nil
			}
			fallthrough // a server that sticks at this number gives it out again and again
		case errors.Is(err, zk.ErrNodeExists):
			return fmt.Errorf("%w: the server has given out the last number that there is: "+
				"when nobody uses the lock, delete %s", zk.ErrNodeExists, m.path)
		}
		if err := m.session.again(err, p.left, 0); err != nil {
			return err
		}
	}
}

// createParents makes containers, which go when they have become empty.
func (m *Mutex) createParents(dir string) error {
	for {
		err := m.session.call(aQuorum, func() error {
			_, err := m.conn.CreateContainer(dir, nil, zk.FlagContainer, m.acl)
			if err != nil && err.Error() == "unknown error: -6" { // unimplemented: before 3.5
				_, err = m.conn.Create(dir, nil, zk.FlagPersistent, m.acl)
			}
			return err
		})
		switch {
		case err == nil || errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("create the parent %s: %w", dir, err)
		}
		if err := m.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// A search is one look at all nodes that might be ours. All places that asked
// before it began share it: a connection that breaks may leave a thousand
// creates unanswered.
type search struct {
	began   int64 // by the clock that counts searches and those that ask
	session int64
	nodes   map[string]string // id to path
	err     error
}

// find returns the node of a create that was not answered, "" if it was not
// made and will not be. It does not give up: the node would stay in the queue
// until the session ends.
func (m *Mutex) find(p *place) (node string, session int64, err error) {
	for refused := 1; ; refused++ {
		asked := m.asked.Add(1)
		m.searching <- struct{}{} // one at a time
		if m.search.began < asked {
			// If the session ends meanwhile its nodes go, and those of them that are found will notice.
			s := search{began: m.asked.Add(1), session: m.conn.SessionID(), nodes: make(map[string]string)}
			s.err = m.readAll(nil, []error{zk.ErrNoNode, zk.ErrNoAuth}, func(node string, data []byte, stat *zk.Stat) {
				if r, ok := parseRecord(data); ok && stat.EphemeralOwner == s.session {
					s.nodes[r.ID] = node
				}
			})
			m.search = s
		}
		s := m.search
		<-m.searching
		if s.err == nil {
			return s.nodes[p.rec.ID], s.session, nil
		}
		err := fmt.Errorf("look for the node of a create that was not answered: %w", s.err)
		if err := m.refused(p, refused, err); err != nil {
			return "", 0, err
		}
	}
}

// readAll reads the contenders' nodes in their order, but not those for which it
// gets an error to skip. It begins with a sync: the client's server may not have
// heard yet of what was made through another.
func (m *Mutex) readAll(stop <-chan struct{}, skip []error, each func(node string, data []byte, stat *zk.Stat)) error {
	if err := m.session.insist(stop, theLeader, m.session.sync); err != nil {
		return err
	}
	queue, err := m.queue(stop)
	if err != nil {
		return err
	}
	for _, c := range queue {
		node := m.path + "/" + c.name
		data, stat, err := m.get(stop, node)
		if err == nil {
			each(node, data, stat)
		} else if !isOneOf(err, skip) {
			return fmt.Errorf("read %s: %w", node, err)
		}
	}
	return nil
}

// queue lists the contenders in their order.
func (m *Mutex) queue(stop <-chan struct{}) (queue []contender, err error) {
	var names []string
	err = m.session.insist(stop, anyServer, func() (err error) { names, _, err = m.conn.Children(m.path); return err })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	for _, name := range names {
		if n, ok := sequence(name); ok {
			queue = append(queue, contender{name, n})
		}
	}
	slices.SortFunc(queue, func(a, b contender) int { return order(a.number, b.number) })
	return queue, nil
}

func (m *Mutex) getW(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = m.session.insist(stop, anyServer, func() (err error) { data, stat, changed, err = m.conn.GetW(node); return err })
	return data, stat, changed, err
}

func (m *Mutex) get(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, err error) {
	err = m.session.insist(stop, anyServer, func() (err error) { data, stat, err = m.conn.Get(node); return err })
	return data, stat, err
}

// remove deletes the node of a place, and tries until the node or its session
// has gone. Its error says what has ended the place if it was not this.
func (m *Mutex) remove(p *place) error {
	for sent, refused, busy := false, 0, 0; ; { // sent: a delete that was not answered
		if m.conn.SessionID() != p.session {
			return fmt.Errorf("session %#x has expired", p.session)
		}
		err := m.delete(p, sent)
		var lost *noAnswer
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode) && !sent:
			return errGone
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case errors.As(err, &lost):
			sent, busy = sent || maybe(err), busy+lost.busy()
			err = m.session.again(err, nil, busy)
		default: // refused, which may pass: somebody has changed an ACL
			refused++
			err = m.refused(p, refused, fmt.Errorf("delete %s: %w", p.node, err))
		}
		if err != nil {
			return err
		}
	}
}

// delete sends one delete of a place's node. The server goes by the name, and
// once the node has gone, another may have that: the parent is removed when it
// is empty, and the next one counts from 0. So there must be no delete that
// waits in the client for a connection, which may be the next session's. And
// after one that was not answered, delete first checks whether the node is ours.
func (m *Mutex) delete(p *place, sent bool) error {
	if m.conn.State() != zk.StateHasSession || m.conn.SessionID() != p.session {
		return &noAnswer{m.conn.Server(), zk.ErrNoServer}
	}
	p.heir = nil // what was behind the node at an earlier try may have gone with the parent
	if !sent {
		m.mu.Lock()
		first := isClosed(p.turn) && p.failed == nil
		if i := slices.Index(m.line, p) + 1; first && i > 0 && i < len(m.line) && m.line[i].directlyBehind(p) {
			p.heir = m.line[i]
		}
		m.mu.Unlock()
		return m.session.call(aQuorum, func() error { return m.conn.Delete(p.node, -1) })
	}
	if err := m.session.call(theLeader, m.session.sync); err != nil {
		return err
	}
	err := m.session.call(anyServer, func() error {
		there, stat, err := m.conn.Exists(p.node)
		if err == nil && (!there || !p.made(stat)) {
			return zk.ErrNoNode
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.delete(p, false)
}
