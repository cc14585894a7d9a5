package timeout

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

const prefix = "lock-" // the server appends the number, ten digits

// curatorRevoke is what Curator's Revoker writes into the node of a holder.
const curatorRevoke = "__REVOKE__"

// A record is what a contender's node holds, as JSON. The id is here and not
// in the name, as it is with Curator, so that names are short and tell what
// the name before them is likely to be.
type record struct {
	ID     string `json:"id"` // by it a node is known again whose create was never answered
	Owner  string `json:"owner"`
	Data   []byte `json:"data"`
	Revoke bool   `json:"revoke,omitempty"`
}

// parseRecord reads the data of a node. False: it is not a node of ours.
func parseRecord(data []byte) (r record, ok bool) {
	return r, json.Unmarshal(data, &r) == nil && r.ID != ""
}

// sequence reads the number out of a contender's name: ours, and those of
// Curator and zk.Lock, which put "_c_<id>-" before it. False: the child is no
// contender.
func sequence(name string) (n int32, ok bool) {
	digits, ours := strings.CutPrefix(name, prefix)
	if !ours {
		i := strings.LastIndex(name, "-"+prefix)
		if i < 0 || !strings.HasPrefix(name, "_c_") {
			return 0, false
		}
		digits = name[i+len("-"+prefix):]
	}
	if len(digits) < 10 || digits[0] == '+' {
		return 0, false
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || len(digits) > 10 && digits != fmt.Sprintf("%010d", v) {
		return 0, false
	}
	return int32(v), true
}

// before says which of two numbers was given out first. The server's counter
// has 32 bits: where it wraps, 2³¹-1 is followed by -2³¹, and the difference
// wraps with it.
func before(a, b int32) bool { return a-b < 0 }

// call makes one request, notes when the server was last known to hear us,
// and sorts the error. The client's calls cannot be cancelled: only a place's
// own goroutine, or one that nobody waits for without a ctx, may call it.
func (m *Mutex) call(request func() error) error {
	session, sent := m.conn.SessionID(), time.Now()
	err := request()
	if transient(err) {
		return &noAnswer{m.conn.Server(), err}
	}
	if m.conn.SessionID() == session && session != 0 {
		m.mu.Lock()
		if !sent.Before(m.heard) {
			m.session, m.heard = session, sent
		}
		m.mu.Unlock()
	}
	return err
}

// noAnswer is the error of a request that no server has answered: it may have
// been carried out, or not.
type noAnswer struct {
	server string
	err    error
}

func (e *noAnswer) Error() string { return fmt.Sprintf("no answer from %s: %v", e.server, e.err) }
func (e *noAnswer) Unwrap() error { return e.err }

// maybe says that a request with this error may have been carried out: it was
// sent, not answered, and its session lives on.
func maybe(err error) bool {
	var lost *noAnswer
	return errors.As(err, &lost) && !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrShortBuffer) &&
		!errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, zk.ErrSessionMoved)
}

// transient says that an error tells of the connection or the session, not of
// the request. The client passes on what the net package says when a write
// fails, whatever that is; so all is transient that is not a server's answer.
func transient(err error) bool {
	for _, answer := range []error{
		nil, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrInvalidACL,
		zk.ErrNoChildrenForEphemerals, zk.ErrAPIError, zk.ErrAuthFailed, zk.ErrBadArguments, zk.ErrInvalidPath,
		zk.ErrUnknown, zk.ErrNothing, zk.ErrReconfigDisabled, zk.ErrInvalidFlags,
	} {
		if errors.Is(err, answer) {
			return false
		}
	}
	return !strings.HasPrefix(err.Error(), "unknown error: ") // a code that the client has no name for
}

const pause = 100 * time.Millisecond

// A retry paces the tries of one request that gets no answer.
type retry struct {
	disconnected int // how often in a row the client was found so
}

// errClosed says that the client has been closed. Its session ends with it,
// and takes all nodes along.
var errClosed = fmt.Errorf("the client has been closed: %w", zk.ErrClosing)

var errLeft = errors.New("timeout: nobody wants the place any more")

// again waits until the next try. It returns err if that is an answer and no
// reason to try again, errLeft once left is closed, and zk.ErrClosing if the
// client has been closed: that one does not say so, but fails every request
// at once and is never seen connecting again.
func (r *retry) again(m *Mutex, err error, left <-chan struct{}) error {
	var lost *noAnswer
	if !errors.As(err, &lost) {
		return err
	}
	if errors.Is(err, zk.ErrShortBuffer) { // and it will not grow
		return fmt.Errorf("the client sends no packet that large, see zk.WithMaxConnBufferSize: %w", lost.err)
	}
	m.mu.Lock()
	m.trouble, m.troubleAt = lost, time.Now()
	m.mu.Unlock()
	if errors.Is(err, zk.ErrClosing) {
		return errClosed
	}
	if r.disconnected++; m.conn.State() != zk.StateDisconnected {
		r.disconnected = 0
	}
	if r.disconnected == 5 {
		return errClosed
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-left:
		return errLeft
	}
}

// create makes the node of a place, once, whatever happens on the way. After
// errLeft there is none.
func (m *Mutex) create(p *place) error {
	var err error
	if p.data, err = json.Marshal(record{ID: p.id, Owner: p.owner.name, Data: m.data}); err != nil {
		return err
	}
	var r retry
	for {
		session := m.conn.SessionID()
		var node string
		err := m.call(func() (err error) {
			node, err = m.conn.Create(m.path+"/"+prefix, p.data, zk.FlagEphemeralSequential, m.acl)
			return err
		})
		if maybe(err) || err == nil && m.conn.SessionID() != session {
			// It was made or not, in this session or in another.
			var findErr error
			if node, session, findErr = m.find(p.id); findErr != nil {
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
		if err := r.again(m, err, p.left); err != nil {
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
		err := m.call(func() error {
			_, err := m.conn.CreateContainer(dir, nil, zk.FlagContainer, m.acl)
			return err
		})
		if err != nil && err.Error() == "unknown error: -6" { // unimplemented: before 3.5
			err = m.call(func() error {
				_, err := m.conn.Create(dir, nil, zk.FlagPersistent, m.acl)
				return err
			})
		}
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("create the parent %s: %w", dir, err)
		}
		if err := m.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// A search is one look at all nodes that might be ours, for everybody who
// asked before it began: a connection that breaks may leave a thousand
// creates unanswered.
type search struct {
	done    chan struct{}
	session int64
	nodes   map[string]string // id to path
	err     error
}

// find returns the node of a create that was not answered, "" if it was not
// made and will not be.
func (m *Mutex) find(id string) (node string, session int64, err error) {
	m.mu.Lock()
	s := m.search
	if s == nil {
		s = &search{done: make(chan struct{})}
		m.search = s
		go func() {
			m.searching <- struct{}{} // one at a time
			m.mu.Lock()
			m.search = nil // who asks from now on needs another
			m.mu.Unlock()
			s.nodes, s.session, s.err = m.lookAround()
			<-m.searching
			close(s.done)
		}()
	}
	m.mu.Unlock()
	<-s.done
	return s.nodes[id], s.session, s.err
}

// lookAround returns the nodes of the present session that no place of ours
// knows of. It reads after a sync: the server that the client is connected to
// now may not have heard yet of what was made through another.
func (m *Mutex) lookAround() (nodes map[string]string, session int64, err error) {
	var r retry
	for {
		session = m.conn.SessionID()
		err := m.call(func() error { _, err := m.conn.Sync(m.path); return err })
		if err == nil {
			nodes, err = m.nodesOf(session)
		}
		if err == nil && m.conn.SessionID() == session {
			return nodes, session, nil
		}
		if err == nil {
			continue // a new session: what was made in the old one has gone
		}
		if err := r.again(m, err, nil); err != nil {
			return nil, 0, err
		}
	}
}

func (m *Mutex) nodesOf(session int64) (map[string]string, error) {
	nodes := make(map[string]string)
	names, err := m.children()
	if errors.Is(err, zk.ErrNoNode) {
		return nodes, nil
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	known := make(map[string]bool)
	for _, p := range m.line {
		known[p.node] = true
	}
	m.mu.Unlock()
	for _, name := range names {
		node := m.path + "/" + name
		if _, ok := sequence(name); !ok || !strings.HasPrefix(name, prefix) || known[node] {
			continue
		}
		var data []byte
		var stat *zk.Stat
		err := m.call(func() (err error) { data, stat, err = m.conn.Get(node); return err })
		switch {
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth): // not ours
		case err != nil:
			return nil, err
		case stat.EphemeralOwner == session:
			if r, ok := parseRecord(data); ok {
				nodes[r.ID] = node
			}
		}
	}
	return nodes, nil
}

func (m *Mutex) children() (names []string, err error) {
	err = m.call(func() (err error) { names, _, err = m.conn.Children(m.path); return err })
	return names, err
}

// remove deletes the node of a place, and tries until the node or its session
// has gone. It returns ErrLost if it was not this that ended the lock.
func (m *Mutex) remove(p *place) error {
	var r retry
	sent := false // a delete that was not answered
	for refused := 0; ; {
		if m.conn.SessionID() != p.session {
			return fmt.Errorf("%w: session %#x has expired", ErrLost, p.session)
		}
		err := m.delete(p, sent)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode) && sent:
			// It has gone earlier than now: the parent may have been made anew
			// since, and who is in it would not be behind us.
			m.mu.Lock()
			p.first = false
			m.mu.Unlock()
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: %s was gone", ErrLost, p.node)
		case transient(err):
			sent = sent || maybe(err)
		default: // refused, which may pass: somebody has changed an ACL
			if refused++; refused == 3 {
				m.refused(p, err)
			}
			err = &noAnswer{m.conn.Server(), err}
		}
		if err := r.again(m, err, nil); err != nil {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
}

// delete sends one delete of a place's node. The server goes by the name, and
// once the node has gone, another may have that: the parent is removed when it
// is empty, and the next one counts from 0. So there must be no delete that
// waits in the client for a connection, which may be the next session's; and
// after one that was not answered, it is looked first whose the node is.
func (m *Mutex) delete(p *place, sent bool) error {
	if m.conn.State() != zk.StateHasSession || m.conn.SessionID() != p.session {
		return &noAnswer{m.conn.Server(), zk.ErrNoServer}
	}
	if !sent {
		return m.call(func() error { return m.conn.Delete(p.node, -1) })
	}
	err := m.call(func() error { _, err := m.conn.Sync(m.path); return err })
	if err != nil {
		return err
	}
	var there bool
	var stat *zk.Stat
	err = m.call(func() (err error) { there, stat, err = m.conn.Exists(p.node); return err })
	if err == nil && (!there || !p.made(stat)) {
		err = zk.ErrNoNode
	}
	if err != nil {
		return err
	}
	return m.delete(p, false)
}

// made says whether a node with a place's name is the place's.
func (p *place) made(stat *zk.Stat) bool {
	return stat.EphemeralOwner == p.session && (p.token == 0 || p.token == stat.Czxid)
}
