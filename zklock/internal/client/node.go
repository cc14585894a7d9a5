package client

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// A Parent is a node that has a queue below it.
type Parent struct {
	c    *Client
	path string
	acl  []zk.ACL     // of all nodes that are made
	mode atomic.Int32 // how nodes are made: unknown, unread, counting or creating

	// closedInARow counts the connections that the server has closed, one after the other, in place of making a
	// container. A server that has done so mostClosed times is taken for one that knows no containers.
	closedInARow atomic.Int32

	Crowded atomic.Bool // so many contend that a create need not ask whether its node is alone
}

const mostClosed = 3 // connections

// The modes of a Parent. A create may also write the parent, in one transaction: the answer then says whether the new
// node is alone. But the data of another program must stay. The mark is the low-water mark of lowwater.go.
const (
	unknown  = iota // do not write the parent, until a list shows whether it has data, or we make it
	unread          // do not write the parent, until we have read it: its data has the size of a mark
	counting        // write the parent: it has no data but a mark
	creating        // do not write the parent: it has other data, or we may not
)

// Parent returns the node at a path. It sends nothing.
func (c *Client) Parent(path string, acl []zk.ACL) *Parent {
	return &Parent{c: c, path: path, acl: acl}
}

// A Node is ephemeral and sequential. One goroutine may use it.
type Node struct {
	parent  *Parent
	Path    string
	Number  int32
	Session int64 // whose node it is
	Zxid    int64 // with which it was made; 0: not known
	Alone   bool  // the parent had no other child then
	Born    int64 // the zxid with which the parent was made; 0: not known
	First   bool  // all before it have gone, and its delete writes that to the parent, as a low-water mark
}

func (n *Node) Name() string { return path.Base(n.Path) }

// A RefusalFunc is called when the server has refused a request for the n-th time, before the next try.
type RefusalFunc func(n int, err error)

// Create makes a node, once, whatever happens on the way. named returns the node's name before the number, and its
// data, for an id that no other node ever has. By the id the node is found if the reply to the create was lost.
func (p *Parent) Create(stop <-chan struct{}, named func(id string) (prefix string, data []byte), refused RefusalFunc) (*Node, error) {
	c := p.c
	var prefix string
	var data []byte
	for {
		session := c.SessionID()
		for session == 0 { // the create must belong to one
			if err := c.Sync(stop); err != nil {
				return nil, err
			}
			session = c.SessionID()
		}
		if p.mode.Load() == unread {
			p.read(stop) // if that fails, the parent stays unread
		}
		if prefix == "" {
			prefix, data = named(fmt.Sprintf("%016x%016x", uint64(session), c.serial.Add(1)))
			prefix = p.path + "/" + prefix
		}

		node := &Node{parent: p, Session: session}
		err := node.create(prefix, data)
		otherSession := err == nil && c.SessionID() != session
		if maybe(err) || otherSession {
			// The node was made or not, in this session or in another. If it is not found after an answer, it has gone with
			// its session, and node.Session tells the caller so. If there was no answer, the create is tried again.
			found, findErr := p.find(prefix, refused)
			switch {
			case findErr != nil:
				return nil, findErr
			case found != nil:
				node, err = found, nil
			}
		}

		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err = p.makeDir(p.path); err == nil {
				continue
			}
		case err == nil:
			digits, ok := strings.CutPrefix(node.Path, prefix)
			number, err := strconv.ParseInt(digits, 10, 32)
			if !ok || err != nil {
				return nil, fmt.Errorf("the server says that it has made %q", node.Path)
			}
			node.Number = int32(number)
			return node, nil
		case errors.Is(err, zk.ErrNodeExists):
			return nil, fmt.Errorf("%w: the server has given out the last number that there is: "+
				"delete %s until that succeeds, when it is empty", zk.ErrNodeExists, p.path)
		}
		if err := c.again(err, stop, 0); err != nil {
			return nil, err
		}
	}
}

// create sends one create. If the parent has no data, "no data" is written to it in the same transaction. The answer
// has the parent's Stat: the czxid of our node, and the number of children. So a node that is alone needs no list.
func (n *Node) create(prefix string, data []byte) error {
	p, mode := n.parent, n.parent.mode.Load()
	counts := mode == counting && !p.Crowded.Load()
	conn := p.c.conn
	err := p.c.call(aQuorum, func() (err error) { // a quorum answers each write
		if !counts {
			n.Path, err = conn.Create(prefix, data, zk.FlagEphemeralSequential, p.acl)
			return err
		}
		done, err := conn.Multi(
			&zk.CreateRequest{Path: prefix, Data: data, Acl: p.acl, Flags: zk.FlagEphemeralSequential},
			&zk.SetDataRequest{Path: p.path, Version: -1})
		if err == nil {
			n.Path, n.Zxid, n.Alone = done[0].String, done[1].Stat.Mzxid, done[1].Stat.NumChildren == 1
		}
		return err
	})
	switch {
	case mode == creating:
	case errors.Is(err, zk.ErrNoNode):
		p.mode.Store(unknown) // the next parent may have data
	case counts && p.noteRefusal(err):
		return n.create(prefix, data)
	}
	return err
}

// noteRefusal reports whether an error may say that the parent must not be written. Then it is not, from now on.
func (p *Parent) noteRefusal(err error) bool {
	refused := errors.Is(err, zk.ErrNoAuth) || isUnimplemented(err)
	if refused {
		p.mode.Store(creating)
	}
	return refused
}

func isUnimplemented(err error) bool { return err != nil && err.Error() == "unknown error: -6" }

func (p *Parent) List(stop <-chan struct{}) (names []string, stat *zk.Stat, err error) {
	names, stat, err = p.c.Children(stop, p.path)
	if stat != nil && p.mode.Load() == unknown {
		mode := int32(creating)
		switch int(stat.DataLength) {
		case 0:
			mode = counting
		case lowWaterSize:
			mode = unread
		}
		p.mode.Store(mode)
	}
	return names, stat, err
}

// makeDir makes a node and its parents: containers, which the server deletes when they have become empty, or ordinary
// nodes on a server that does not know containers.
func (p *Parent) makeDir(dir string) error {
	c := p.c
	for {
		err := c.call(aQuorum, func() error {
			err := zk.ErrBadArguments
			if p.closedInARow.Load() < mostClosed {
				_, err = c.conn.CreateContainer(dir, nil, zk.FlagContainer, p.acl)
			}
			if isUnimplemented(err) || errors.Is(err, zk.ErrBadArguments) { // before 3.5, or not ZooKeeper
				_, err = c.conn.Create(dir, nil, zk.FlagPersistent, p.acl)
			}
			if errors.Is(err, zk.ErrConnectionClosed) {
				p.closedInARow.Add(1)
			} else if p.closedInARow.Load() < mostClosed {
				p.closedInARow.Store(0)
			}
			return err
		})
		switch {
		case err == nil:
			if dir == p.path {
				p.mode.CompareAndSwap(unknown, counting) // we have just made it, without data
			}
			return nil
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("create the parent %s: %w", dir, err)
		}
		if err := p.makeDir(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// find returns the node of a create that was not answered, nil if it was not made and will not be, or has gone with its
// session. It does not give up: the node would stay in the queue until the session ends. It needs the sync because the
// client's server, perhaps a new one, may be behind the one through which the node was made.
func (p *Parent) find(prefix string, refused RefusalFunc) (*Node, error) {
	session := p.c.SessionID()
	for n := 1; ; n++ {
		node, err := p.look(prefix)
		if err == nil {
			return node, nil
		}
		if err := p.c.refused(n, fmt.Errorf("look for the node of a create that was not answered: %w", err), refused); err != nil {
			return nil, err
		}
		if p.c.SessionID() != session {
			return nil, nil // the node was deleted with its session
		}
	}
}

func (p *Parent) look(prefix string) (*Node, error) {
	if err := p.c.Sync(nil); err != nil {
		return nil, err
	}
	names, _, err := p.c.Children(nil, p.path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		node := &Node{parent: p, Path: p.path + "/" + name}
		if !strings.HasPrefix(node.Path, prefix) {
			continue
		}
		_, stat, err := p.c.Get(nil, node.Path)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil {
			node.Session, node.Zxid = stat.EphemeralOwner, stat.Czxid
		}
		return node, err
	}
	return nil, nil
}

// Delete deletes the node, and tries until the node or its session has gone. deleted is true if the node was there
// until then. If something else has ended the node, err says what. No other node ever has its name, so a delete that
// the client keeps back until it has another session does no harm.
func (n *Node) Delete(refused RefusalFunc) (deleted bool, err error) {
	c := n.parent.c
	sent := false       // a delete was sent and not answered: it may have been carried out
	times, busy := 0, 0 // how often the server has refused, and had too much to do
	for {
		if c.SessionID() != n.Session {
			return false, fmt.Errorf("session %#x has expired", n.Session)
		}
		err := n.delete()
		var lost *noAnswer
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrNoNode) && sent:
			return false, nil // by an earlier delete, and the parent may have gone since
		case errors.Is(err, zk.ErrNoNode):
			return false, ErrGone
		case errors.As(err, &lost): // it may have been carried out or not: errors.go has the type
			sent = sent || maybe(err)
			busy += lost.busy()
			err = c.again(err, nil, busy)
		default: // refused, which may pass: somebody has changed an ACL
			times++
			err = c.refused(times, fmt.Errorf("delete %s: %w", n.Path, err), refused)
		}
		if err != nil {
			return false, err
		}
	}
}

// delete sends one delete. If all before the node have gone, that is marked in the same transaction.
func (n *Node) delete() error {
	p, conn := n.parent, n.parent.c.conn
	if !n.First || p.mode.Load() != counting {
		return p.c.call(aQuorum, func() error { return conn.Delete(n.Path, -1) })
	}
	mark := []byte(lowWater(n.Born, n.Number))
	err := p.c.call(aQuorum, func() error {
		_, err := conn.Multi(&zk.DeleteRequest{Path: n.Path, Version: -1},
			&zk.SetDataRequest{Path: p.path, Data: mark, Version: -1})
		return err
	})
	if p.noteRefusal(err) {
		return n.delete()
	}
	return err
}

// refused waits before the next try of a request that must succeed in the end, after the server has refused it n times.
func (c *Client) refused(n int, err error, report RefusalFunc) error {
	report(n, err)
	return c.pause(c.backoff(n-1), nil)
}

// CheckPath returns an error that wraps zk.ErrInvalidPath if a path is not valid.
func CheckPath(name string) error {
	if !strings.HasPrefix(name, "/") || name == "/" {
		return fmt.Errorf("%w: it must begin with a slash and name a node", zk.ErrInvalidPath)
	}
	if path.Clean(name) != name {
		return fmt.Errorf("%w: it has an empty part, or one that is a dot or two", zk.ErrInvalidPath)
	}
	for _, r := range name {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Errorf("%w: it has the character %#U", zk.ErrInvalidPath, r)
		}
	}
	return nil
}
