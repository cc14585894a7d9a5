// Package zklocktest is for the tests of code that uses a lock of package zklock: a ZooKeeper for the test, other
// processes that hold the lock or wait for it, and leases that the test can have lost.
//
// Everything runs over pipes in this process, so a test can run in a testing/synctest bubble, where timeouts take no
// time. The page docs/testing-your-code.md has four complete tests.
package zklocktest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// TB is the part of testing.TB that the package needs.
type TB interface {
	zkserver.TB
	Fatalf(format string, args ...any)
}

const (
	sessionTimeout = 10 * time.Second
	patience       = time.Minute     // for what ends in time if nothing is wrong
	afterTheTest   = 5 * time.Second // for what the test has left under way
)

// Locks is a ZooKeeper for one test, with the processes that contend there. Its methods fail the test if something goes
// wrong, so call them from the goroutine of the test.
type Locks struct {
	Server *zkserver.Server // to look into, and to have requests go wrong
	t      TB
}

// Run starts a fresh ZooKeeper. It ends with the test. It is in its third epoch: a fencing token has more than 32 bits.
func Run(t TB, options ...zkserver.Option) *Locks {
	t.Helper()
	return &Locks{zkserver.Run(t, append([]zkserver.Option{zkserver.WithEpoch(3)}, options...)...), t}
}

// Connect returns a client with a session of its own, of 10 s, as another process has it. It is closed with the test.
func (z *Locks) Connect() *zk.Conn {
	z.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := zkconn.Connect(ctx, []string{"127.0.0.1:2181"}, sessionTimeout,
		zkconn.WithDialer(z.Server.Dial), zkconn.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		z.t.Fatalf("zklocktest: %v", err)
	}
	z.t.Cleanup(conn.Close)
	return conn
}

// Mutex returns the Mutex of one more process at path. It is shut down when the test ends, and the test fails if it has
// left a lease that is not unlocked, or a Lock that waits.
func (z *Locks) Mutex(path string, options ...zklock.Option) *zklock.Mutex {
	z.t.Helper()
	return z.mutex(z.Connect(), path, options...)
}

func (z *Locks) mutex(conn *zk.Conn, path string, options ...zklock.Option) *zklock.Mutex {
	z.t.Helper()
	m, err := zklock.New(conn, path, options...)
	if err != nil {
		z.t.Fatalf("zklocktest: %v", err)
	}
	z.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), afterTheTest)
		defer cancel()
		if err := m.Shutdown(ctx); err != nil {
			z.t.Errorf("zklocktest: at the end of the test: %v", err)
		}
	})
	return m
}

// Holder returns the lease of another process, which has taken the lock at path. It is unlocked when the test ends,
// unless the test has done so. If the lock is not free within a minute, the test fails.
func (z *Locks) Holder(path string) *zklock.Lease {
	z.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lease, err := z.Mutex(path).Lock(ctx, nil)
	if err != nil {
		z.t.Fatalf("zklocktest: the holder: %v", err)
	}
	z.t.Cleanup(func() { z.unlock(lease) })
	return lease
}

// Waiter has another process wait for the lock at path. It returns when the waiter is in the queue; the channel
// delivers its lease when it has got the lock. When the test ends, the waiter gives up, and its lease is unlocked.
func (z *Locks) Waiter(path string) <-chan *zklock.Lease {
	z.t.Helper()
	conn := z.Connect()
	m := z.mutex(conn, path)
	entered := z.Server.HoldReply(func(r zkserver.Request) bool {
		return r.Op == zkserver.OpCreate && r.Session == conn.SessionID() && strings.HasPrefix(r.Path, path+"/")
	})
	ctx, cancel := context.WithCancel(context.Background())
	var lease *zklock.Lease
	var err error
	got, done := make(chan *zklock.Lease, 1), make(chan struct{})
	go func() {
		defer close(done)
		if lease, err = m.Lock(ctx, nil); err == nil {
			got <- lease
		}
	}()
	z.t.Cleanup(func() {
		cancel()
		if <-done; lease != nil {
			z.unlock(lease)
		}
	})

	// The reply to the waiter's create is held until it is known that the node has been made.
	select {
	case <-entered.Hit():
		entered.Release()
	case <-done: // without the reply: Lock has returned an error
		entered.Release()
		z.t.Fatalf("zklocktest: the waiter: %v", err)
	}
	return got
}

// unlock ends a lease that the test may have ended, or lost.
func (z *Locks) unlock(l *zklock.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), afterTheTest)
	defer cancel()
	if err := l.Unlock(ctx); err != nil && !errors.Is(err, zklock.ErrUnlocked) && !errors.Is(err, zklock.ErrLost) {
		z.t.Errorf("zklocktest: at the end of the test: %v", err)
	}
}

// Lose has the session of a lease expire, and returns when the lease is lost. All leases of that session are.
func (z *Locks) Lose(l *zklock.Lease) {
	z.t.Helper()
	node, ok := z.Server.Node(l.Node())
	if !ok {
		z.t.Fatalf("zklocktest: there is no node %s: the lease has ended, or is of another server", l.Node())
	}
	z.Server.Expire(node.Stat.EphemeralOwner)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-l.Lost():
	case <-late.C:
		z.t.Fatalf("zklocktest: the lease of %s is not lost", l.Node())
	}
}

// Lease returns a lease of a lock that nobody else wants, for the test of a function that takes one. It has a ZooKeeper
// of its own, and is unlocked when the test ends.
func Lease(t TB) *zklock.Lease {
	t.Helper()
	return Run(t).Holder("/lock")
}
