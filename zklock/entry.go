package zklock

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// An entry is one node of ours in the queue. One goroutine, run, makes all its
// requests, from the create to the delete: the client's calls cannot be
// cancelled, so callers wait on channels, ctx in hand.
type entry struct {
	prefix string // of the node's name: all but the number
	rec    record // what the node says
	data   []byte // the record, encoded

	left  chan struct{} // closed when nobody wants the node any more
	gone  chan struct{} // closed when the node has gone
	stuck chan struct{} // closed when the server refuses to delete the node

	// Written by create. The session and the token are those of the node.
	node    string
	number  int32
	session int64
	token   int64 // its czxid; 0 before it is known
	others  int   // other children of the parent when the node was made; -1: not known

	own    <-chan zk.Event // the watch on the node; nil if there is none. Used by run alone
	proved bool            // the session is being proved for it. Used by run alone

	deleted bool // the node was there until our delete; written before gone is closed

	// Guarded by Mutex.mu.
	holder  *hold     // by which the lock is held
	failed  []*hold   // that are still to be told so
	holds   int       // how many have begun
	entered time.Time // when the first did
	revoked bool
	err     error       // why the node has gone, or has not; nil if we have deleted it
	clock   *time.Timer // closes Lost
	ends    *time.Timer // until when the lock is handed on
	resting bool        // the lock is held by it, and it has no goroutine
	rests   *time.Timer // until when
}

// errGone: the node in the queue has gone, or its session has.
var errGone = errors.New("the node in the queue has gone")

func newEntry(m *Mutex, owner *Owner) *entry {
	return &entry{
		rec: newRecord(owner.name, m.data), others: -1,
		left: make(chan struct{}), gone: make(chan struct{}), stuck: make(chan struct{}),
	}
}

func (e *entry) name() string { return path.Base(e.node) }

// run is the life of an entry: it makes the node, waits until it is the first,
// keeps it while its owners hold the lock, and deletes it.
func (m *Mutex) run(e *entry) {
	err := m.create(e)
	if err == nil {
		err = m.wait(e)
	}
	if err == nil {
		if m.rest(e) {
			return
		}
		err = m.keep(e)
	}
	m.finish(e, err)
}

// rest spares a contender that was alone the watch on its node: if the lock is not
// held for long, nothing is sent between the create and the delete.
func (m *Mutex) rest(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.own != nil || isClosed(e.left) || len(m.waiting) > 0 {
		return false
	}
	e.resting = true
	e.rests = time.AfterFunc(m.session.timeout()/8, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.resting {
			e.resting = false
			go func() { m.finish(e, m.keep(e)) }()
		}
	})
	return true
}

// finish ends the life of an entry, because of err or because nobody wants it.
func (m *Mutex) finish(e *entry, err error) {
	defer m.tasks.end()
	m.leave(e, err)
	if e.node != "" && !isOneOf(err, []error{errGone, errClosed}) {
		err = m.remove(e)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, e.name())
	if e.err = err; err != nil {
		e.err = fmt.Errorf("%w: %s: %w", ErrLost, e.node, err)
	}
	close(e.gone)
	e.tellLocked()
}

// leave gives e up. If it could not be kept, those that wait get the reason, or
// wait for another entry if there is no other reason than that the node has gone.
func (m *Mutex) leave(e *entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.proved {
		m.session.use(-1)
	}
	m.loseLocked(e)
	if err != nil && !errors.Is(err, errGone) {
		m.failLocked(e, err, false)
	}
	m.leaveLocked(e)
}

// create makes the node, once, whatever happens on the way. After an error there
// is none, or e.node names it.
func (m *Mutex) create(e *entry) error {
	for {
		if m.conn.SessionID() == 0 { // wait for a session: the answer to the create is to count for it
			if err := m.session.insist(e.left, theLeader, m.session.sync); err != nil {
				return err
			}
		}
		session := m.conn.SessionID()
		if session == 0 {
			continue
		}
		if e.prefix == "" { // no other node, of whatever session, has this id
			e.rec.ID = fmt.Sprintf("%016x%016x", uint64(session), m.session.serial.Add(1))
			e.prefix, e.data = protected+e.rec.ID+suffix, e.rec.encode()
		}
		node, stat, err := m.createOnce(e)
		if maybe(err) || err == nil && m.conn.SessionID() != session {
			// It was made or not, in this session or in another.
			found, of, findErr := m.find(e)
			switch {
			case findErr != nil:
				return findErr
			case found != "":
				node, session, e.token, err = found, of.EphemeralOwner, of.Czxid, nil
			case err == nil:
				continue // it went with the other session
			}
		} else if stat != nil { // of the parent
			e.token, e.others = stat.Mzxid, int(stat.NumChildren)-1
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
			e.node, e.number, e.session = node, n, session
			m.mu.Lock()
			m.entries[e.name()] = e
			m.mu.Unlock()
			if n < math.MaxInt32 && e.token < math.MaxInt64>>passBits {
				return nil
			}
			return fmt.Errorf("%w: %s has the last number that there is, or a zxid beyond 2⁵³: "+
				"when nobody uses the lock, delete %s", zk.ErrNodeExists, node, m.path)
		case errors.Is(err, zk.ErrNodeExists):
			return fmt.Errorf("%w: the server has given out the last number that there is: "+
				"when nobody uses the lock, delete %s", zk.ErrNodeExists, m.path)
		}
		if err := m.session.again(err, e.left, 0); err != nil {
			return err
		}
	}
}

// A way is how a Mutex makes its nodes.
type way = int32

const (
	unknown  way = iota // create, until a list tells whether the parent has data
	counting            // create and write the parent, which has no data
	creating            // create: the parent has data, or we may not write it
)

// createOnce sends one create. If the parent has no data, "no data" is written to
// it in the same transaction. The answer to that is the parent's Stat within the
// transaction: the czxid of our node, and the number of children. So a contender
// that is alone knows it without a list.
func (m *Mutex) createOnce(e *entry) (node string, parent *zk.Stat, err error) {
	name, how := m.path+"/"+e.prefix, m.way.Load()
	err = m.session.call(aQuorum, func() (err error) {
		if how != counting {
			node, err = m.conn.Create(name, e.data, zk.FlagEphemeralSequential, m.acl)
			return err
		}
		done, err := m.conn.Multi(
			&zk.CreateRequest{Path: name, Data: e.data, Acl: m.acl, Flags: zk.FlagEphemeralSequential},
			&zk.SetDataRequest{Path: m.path, Version: -1})
		if err == nil {
			node, parent = done[0].String, done[1].Stat
		}
		return err
	})
	switch {
	case how != counting:
	case errors.Is(err, zk.ErrNoNode):
		m.way.Store(unknown) // the next parent may have data
	case errors.Is(err, zk.ErrNoAuth) || isUnimplemented(err):
		m.way.Store(creating)
		return m.createOnce(e)
	}
	return node, parent, err
}

func isUnimplemented(err error) bool { return err != nil && err.Error() == "unknown error: -6" }

// createParents makes containers, which go when they have become empty.
func (m *Mutex) createParents(dir string) error {
	for {
		err := m.session.call(aQuorum, func() error {
			_, err := m.conn.CreateContainer(dir, nil, zk.FlagContainer, m.acl)
			if isUnimplemented(err) { // before 3.5
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

// find returns the node of a create that was not answered, "" if it was not made
// and will not be. It does not give up: the node would stay in the queue until
// the session ends. The sync is there because the client's server, perhaps a new
// one, may not have heard yet of what was made through another.
func (m *Mutex) find(e *entry) (node string, stat *zk.Stat, err error) {
	session := m.conn.SessionID()
	for refused := 1; ; refused++ {
		node, stat, err = m.look(e)
		if err == nil {
			return node, stat, nil
		}
		err = fmt.Errorf("look for the node of a create that was not answered: %w", err)
		if err := m.refused(e, refused, err); err != nil {
			return "", nil, err
		}
		if m.conn.SessionID() != session {
			return "", nil, nil // and the node has gone with its session
		}
	}
}

func (m *Mutex) look(e *entry) (node string, stat *zk.Stat, err error) {
	if err := m.session.insist(nil, theLeader, m.session.sync); err != nil {
		return "", nil, err
	}
	names, _, err := m.children(nil)
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, e.prefix) {
			_, stat, err = m.get(nil, m.path+"/"+name)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			return m.path + "/" + name, stat, err
		}
	}
	return "", nil, nil
}

// children lists the parent. No parent has no children.
func (m *Mutex) children(stop <-chan struct{}) (names []string, parent *zk.Stat, err error) {
	err = m.session.insist(stop, anyServer, func() (err error) { names, parent, err = m.conn.Children(m.path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, nil
	}
	return names, parent, err
}

func (m *Mutex) get(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, err error) {
	err = m.session.insist(stop, anyServer, func() (err error) { data, stat, err = m.conn.Get(node); return err })
	return data, stat, err
}

func (m *Mutex) getW(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = m.session.insist(stop, anyServer, func() (err error) { data, stat, changed, err = m.conn.GetW(node); return err })
	return data, stat, changed, err
}

// keep keeps the node of the holder until the Mutex gives it up (nil), or it has
// gone (errGone).
func (m *Mutex) keep(e *entry) error {
	if e.own == nil {
		if err := m.watchOwn(e); err != nil {
			return err
		}
	}
	look := time.NewTicker(m.session.timeout() / 3) // the client may miss an event while it reconnects
	defer look.Stop()
	for {
		var err error
		select {
		case ev := <-e.own:
			err = m.ownChanged(e, ev)
		case <-look.C:
			data, stat, readErr := m.get(e.left, e.node)
			if err = m.recognize(e, data, stat, readErr); !errors.Is(err, errGone) {
				err = nil
			}
		case <-e.left:
			return nil
		case <-m.session.closed:
			return errClosed
		}
		if err != nil {
			return err
		}
	}
}

// ownChanged takes in an event of e's own node.
func (m *Mutex) ownChanged(e *entry, ev zk.Event) error {
	switch {
	case errors.Is(ev.Err, zk.ErrClosing):
		m.session.close()
		return errClosed
	case ev.Type != zk.EventNodeDataChanged:
		return errGone
	}
	return m.watchOwn(e)
}

func (m *Mutex) watchOwn(e *entry) error {
	data, stat, own, err := m.getW(e.left, e.node)
	e.own = own
	return m.recognize(e, data, stat, err)
}

// recognize takes in what was read from e's node: when it was made, and whether
// another contender asks for the lock. If a client has written over the record,
// as Curator's Revoker does, recognize writes it again; if that fails, only
// Participants misses it.
func (m *Mutex) recognize(e *entry, data []byte, stat *zk.Stat, err error) error {
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != e.session {
		return errGone
	}
	if err != nil {
		return err
	}
	if e.token == 0 {
		e.token = stat.Czxid
	}
	if bytes.Equal(data, e.data) {
		return nil
	}
	if rec, ok := parseRecord(e.name(), data); ok && rec.Revoke || string(data) == curatorRevoke {
		e.rec.Revoke = true
		m.mu.Lock()
		if !e.revoked && e.holder != nil {
			close(e.holder.revoke)
		}
		e.revoked = true
		m.queueLocked() // the others that wait need another node
		m.mu.Unlock()
	}
	if e.data = e.rec.encode(); !bytes.Equal(data, e.data) {
		m.session.call(aQuorum, func() error { _, err := m.conn.Set(e.node, e.data, stat.Version); return err })
	}
	return nil
}

// remove deletes the node, and tries until the node or its session has gone. Its
// error says what has ended the node if it was not this. No other node ever has
// its name, so a delete that the client keeps back until it has another session
// does no harm.
func (m *Mutex) remove(e *entry) error {
	for sent, refused, busy := false, 0, 0; ; { // sent: a delete that was not answered
		if m.conn.SessionID() != e.session {
			return fmt.Errorf("session %#x has expired", e.session)
		}
		err := m.session.call(aQuorum, func() error { return m.conn.Delete(e.node, -1) })
		var lost *noAnswer
		switch {
		case err == nil:
			e.deleted = true
			return nil
		case errors.Is(err, zk.ErrNoNode) && sent:
			return nil // by an earlier delete, and the parent may have gone since
		case errors.Is(err, zk.ErrNoNode):
			return errGone
		case errors.As(err, &lost):
			sent, busy = sent || maybe(err), busy+lost.busy()
			err = m.session.again(err, nil, busy)
		default: // refused, which may pass: somebody has changed an ACL
			refused++
			err = m.refused(e, refused, fmt.Errorf("delete %s: %w", e.node, err))
		}
		if err != nil {
			return err
		}
	}
}

// refused waits before the next try of a request that must succeed in the end,
// after the server has refused it n times: the reason may pass. The pauses grow.
// The waiting callers are told.
func (m *Mutex) refused(e *entry, n int, err error) error {
	if n == 3 {
		m.mu.Lock()
		err = fmt.Errorf("zklock: %w (it is tried again until the session ends)", err)
		m.failLocked(e, err, false)
		m.leaveLocked(e)
		for _, h := range e.failed {
			if !errors.Is(h.err, err) {
				h.err = errors.Join(h.err, err)
			}
		}
		e.tellLocked()
		e.err = err
		if !isClosed(e.stuck) {
			close(e.stuck)
		}
		m.mu.Unlock()
	}
	return m.session.pause(m.session.backoff(n-1), nil)
}
