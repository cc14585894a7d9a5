package locktest_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

// An idLock is a lock of one node that recognizes the node by an id in its data.
type idLock struct {
	conn       *zk.Conn
	path, data string
	held       bool
	id         func(l *idLock) string
}

var errNotMine = errors.New("not locked")

func (l *idLock) TryLock() (bool, error) {
	l.data = l.id(l)
	_, err := l.conn.Create(l.path, []byte(l.data), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	l.held = err == nil
	return l.held, err
}

func (l *idLock) Lock() error {
	_, err := l.TryLock()
	return err
}

func (l *idLock) Unlock() error {
	if !l.held {
		return errNotMine
	}
	data, stat, err := l.conn.Get(l.path)
	if err == nil && string(data) != l.data {
		err = zk.ErrNoNode
	}
	if err == nil {
		err = l.conn.Delete(l.path, stat.Version)
	}
	l.held = false
	if errors.Is(err, zk.ErrNoNode) {
		return errNotMine
	}
	return err
}

var (
	counter int
	seeded  = mathrand.New(mathrand.NewSource(1))
)

const idsCase = "Unlock distinguishes its own node from one that another process has made"

// TestIdsOfTwoProcesses: what two processes write the same is found out, and nothing
// else.
func TestIdsOfTwoProcesses(t *testing.T) {
	for what, c := range map[string]struct {
		id    func(l *idLock) string
		wrong bool
	}{
		"nothing":               {func(*idLock) string { return "" }, true},
		"a counter":             {func(*idLock) string { counter++; return fmt.Sprint(counter) }, true},
		"an address":            {func(l *idLock) string { return fmt.Sprintf("lock %p", l) }, true},
		"a seed":                {func(*idLock) string { return fmt.Sprint(seeded.Int63()) }, true},
		"random":                {func(*idLock) string { return rand.Text() }, false},
		"the clock":             {func(*idLock) string { return fmt.Sprint(time.Now().UnixNano()) }, false},
		"a session and a count": {func(l *idLock) string { counter++; return fmt.Sprint(l.conn.SessionID(), counter) }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			v, judged := locktest.VerdictOf(t, locktest.Subject{
				New: func(conn *zk.Conn, path string) locktest.Lock {
					return &idLock{conn: conn, path: path, id: c.id}
				},
				ErrNotLocked: errNotMine,
			}, idsCase)
			if !judged {
				return // this is one of the processes in which the case ran
			}
			require.Empty(t, v.Skipped)
			if c.wrong {
				require.Contains(t, v.Words.En, "the old holder has deleted another contender's node: two holders")
			} else {
				require.Empty(t, v.Words.En)
			}
		})
	}
}
