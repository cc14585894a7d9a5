package locktest_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
)

// A firstAttempt has one ephemeral node, which every waiter watches.
type firstAttempt struct {
	conn *zk.Conn
	path string
	held bool

	session int64 // that has made the node
}

var errNotMine = errors.New("not locked")

func (m *firstAttempt) TryLock() (bool, error) {
	_, err := m.conn.Create(m.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	switch {
	case err == nil:
		m.held, m.session = true, m.conn.SessionID()
		return true, nil
	case errors.Is(err, zk.ErrNodeExists):
		return false, nil
	case errors.Is(err, zk.ErrNoNode):
		for i := 1; i < len(m.path); i++ {
			if m.path[i] == '/' {
				m.conn.Create(m.path[:i], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			}
		}
		return m.TryLock()
	}
	return false, err
}

func (m *firstAttempt) Lock() error {
	for {
		held, err := m.TryLock()
		if held || err != nil {
			return err
		}
		_, _, gone, err := m.conn.GetW(m.path)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if event := <-gone; event.Err != nil {
			return event.Err
		}
	}
}

func (m *firstAttempt) Unlock() error {
	if !m.held {
		return errNotMine
	}
	m.held = false
	_, stat, err := m.conn.Get(m.path)
	if err == nil && stat.EphemeralOwner != m.session {
		err = zk.ErrNoNode
	}
	if err == nil {
		err = m.conn.Delete(m.path, -1)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return errNotMine
	}
	return err
}

// TestYourOwnLock is all that grades a lock of your own. Without the line
// Level the suite asks for more than this lock does: its errors do not say
// which lock they are about, for one.
func TestYourOwnLock(t *testing.T) {
	locktest.Run(t, locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return &firstAttempt{conn: conn, path: path} },
		ErrNotLocked: errNotMine,
		Level:        locktest.Basic,
	})
}
