package timeout

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// create makes the node of a place, once, whatever happens on the way. After
// an error there is none.
func (m *Mutex) create(p *place) error {
	for {
		if m.conn.SessionID() == 0 { // wait for a session: the answer to the create is to count for it
			err := m.link.insist(p.left, theLeader, func() error { _, err := m.conn.Sync(m.path); return err })
			if err != nil {
				return err
			}
		}
		session := m.conn.SessionID()
		var node string
		err := m.link.call(aQuorum, func() (err error) {
			node, err = m.conn.Create(m.path+"/"+prefix, p.rec.encode(), zk.FlagEphemeralSequential, m.acl)
			return err
		})
		if maybe(err) || err == nil && m.conn.SessionID() != session {
			// It was made or not, in this session or in another.
			var findErr error
			if node, session, findErr = m.find(p); findErr != nil {
				return fmt.Errorf("look for the node of a create that was not answered: %w", findErr)
			}
			if node != "" {
				err = nil
			} else if err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			n, ok := sequence(path.Base(node))
			if !ok || path.Dir(node) != m.path {
				return fmt.Errorf("the server says that it has made %q", node)
			}
			p.node, p.number, p.session = node, n, session
			if n == math.MaxInt32 {
				// A server that sticks at this number gives it out again and again.
				m.remove(p)
				return m.usedUp(zk.ErrNodeExists)
			}
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if err = m.createParents(m.path); err == nil {
				continue
			}
		case errors.Is(err, zk.ErrNodeExists):
			return m.usedUp(err)
		}
		if err := m.link.again(err, p.left); err != nil {
			return err
		}
	}
}

func (m *Mutex) usedUp(err error) error {
	return fmt.Errorf("%w: the server has given out the last number that there is: "+
		"when nobody uses the lock, delete %s", err, m.path)
}

// createParents makes containers, which go when they have become empty.
func (m *Mutex) createParents(dir string) error {
	for {
		err := m.link.call(aQuorum, func() error {
			_, err := m.conn.CreateContainer(dir, nil, zk.FlagContainer, m.acl)
			if err != nil && err.Error() == "unknown error: -6" { // unimplemented: before 3.5
				_, err = m.conn.Create(dir, nil, zk.FlagPersistent, m.acl)
			}
			return err
		})
		switch {
		case err == nil || errors.Is(err, zk.ErrNodeExists):
			return nil
		case errors.Is(err, zk.ErrNoNode):
			err = m.createParents(path.Dir(dir))
		default:
			err = fmt.Errorf("create the parent %s: %w", dir, err)
		}
		if err != nil {
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
	for refused := 0; ; refused++ {
		asked := m.asked.Add(1)
		m.searching <- struct{}{} // one at a time
		if m.search.began < asked {
			m.search = m.lookAround(m.asked.Add(1))
		}
		s := m.search
		<-m.searching
		if s.err == nil || errors.Is(s.err, errClosed) {
			return s.nodes[p.rec.ID], s.session, s.err
		}
		if refused == 2 {
			err := fmt.Errorf("look for the node of a create that was not answered: %w", s.err)
			m.settle(p, err)
			m.refused(p, err)
		}
		if err := m.link.afterRefusals(refused); err != nil {
			return "", 0, err
		}
	}
}

// lookAround finds the nodes of the present session.
func (m *Mutex) lookAround(began int64) search {
	for {
		s := search{began: began, session: m.conn.SessionID(), nodes: make(map[string]string)}
		s.err = m.readAll(nil, []error{zk.ErrNoNode, zk.ErrNoAuth}, func(node string, data []byte, stat *zk.Stat) {
			if r, ok := parseRecord(data); ok && stat.EphemeralOwner == s.session {
				s.nodes[r.ID] = node
			}
		})
		// In a new session what was made in the old one has gone.
		if s.err != nil || m.conn.SessionID() == s.session {
			return s
		}
	}
}

// readAll reads the contenders' nodes in their order, except those that it
// cannot read because of the errors to skip. It reads after a sync: the server
// that the client is connected to may not have heard yet of what was made
// through another.
func (m *Mutex) readAll(stop <-chan struct{}, skip []error, each func(node string, data []byte, stat *zk.Stat)) error {
	err := m.link.insist(stop, theLeader, func() error { _, err := m.conn.Sync(m.path); return err })
	if err != nil {
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
	err = m.link.insist(stop, anyServer, func() (err error) { names, _, err = m.conn.Children(m.path); return err })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	for _, name := range names {
		if n, ok := sequence(name); ok {
			queue = append(queue, contender{name, n})
		}
	}
	slices.SortFunc(queue, contender.order)
	return queue, nil
}

func (m *Mutex) getW(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = m.link.insist(stop, anyServer, func() (err error) { data, stat, changed, err = m.conn.GetW(node); return err })
	return data, stat, changed, err
}

func (m *Mutex) get(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, err error) {
	err = m.link.insist(stop, anyServer, func() (err error) { data, stat, err = m.conn.Get(node); return err })
	return data, stat, err
}

// remove deletes the node of a place, and tries until the node or its session
// has gone. It returns ErrLost if it was not this that ended the lock.
func (m *Mutex) remove(p *place) error {
	sent := false // a delete that was not answered
	refused := 0
	for {
		if m.conn.SessionID() != p.session {
			return fmt.Errorf("%w: session %#x has expired", ErrLost, p.session)
		}
		err := m.delete(p, sent)
		var lost *noAnswer
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode) && sent:
			// It went some time ago. The parent may have been made anew since, and
			// a node in the new one was not behind ours.
			m.mu.Lock()
			p.first = false
			m.mu.Unlock()
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: %s was gone", ErrLost, p.node)
		case errors.As(err, &lost):
			sent = sent || maybe(err)
			err = m.link.again(err, nil)
		default: // refused, which may pass: somebody has changed an ACL
			if refused == 2 {
				m.refused(p, fmt.Errorf("delete %s: %w", p.node, err))
			}
			err = m.link.afterRefusals(refused)
			refused++
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLost, err)
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
	if !sent {
		m.mu.Lock()
		p.heir = nil
		if i := slices.Index(m.line, p) + 1; i > 0 && i < len(m.line) && m.line[i].directlyBehind(p) {
			p.heir = m.line[i]
		}
		m.mu.Unlock()
		return m.link.call(aQuorum, func() error { return m.conn.Delete(p.node, -1) })
	}
	err := m.link.call(theLeader, func() error { _, err := m.conn.Sync(m.path); return err })
	if err != nil {
		return err
	}
	var there bool
	var stat *zk.Stat
	err = m.link.call(anyServer, func() (err error) { there, stat, err = m.conn.Exists(p.node); return err })
	if err == nil && (!there || !p.made(stat)) {
		err = zk.ErrNoNode
	}
	if err != nil {
		return err
	}
	return m.delete(p, false)
}
