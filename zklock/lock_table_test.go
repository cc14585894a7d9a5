package zklock_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

const top = "/lock" // the root is its parent, and does not go

const longest = 3 * time.Hour // of virtual time, for a schedule

// A table is the setting of a forced schedule: the embedded server, in virtual
// time. A sleep there is an exact moment of the schedule, and takes no real time.
type table struct {
	*testing.T
	srv *zkserver.Server
}

func onTable(t *testing.T, play func(tb *table)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// What waits for something that never happens would wait for as long as go test does.
		limit := time.AfterFunc(longest, func() { panic(fmt.Sprintf("%s waits for something that has not happened in %v", t.Name(), longest)) })
		t.Cleanup(func() { limit.Stop() })
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what is tried again in the background notices that the clients are closed
		play(&table{t, zkserver.Run(t)})
	})
}

// connect opens a session that ends with the test.
func (tb *table) connect() *zk.Conn {
	tb.Helper()
	return tb.connectWith(ensemble.Options{Buffer: 64 << 10})
}

// connectWith is connect with other options. The client has three servers, as
// one of an ensemble does, so that it does not call requests off that it has
// not sent while it changes over from one to the next.
func (tb *table) connectWith(options ensemble.Options) *zk.Conn {
	tb.Helper()
	if connectOtherwise != nil {
		return connectOtherwise(tb, options)
	}
	zoo := ensemble.OverPipes(tb.srv, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	options.SessionTimeout = 10 * time.Second
	conn, err := zoo.Connect(context.Background(), options)
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	return conn
}

// mutex is a Mutex of a client that was opened with 10 s, unless the options say
// otherwise.
func (tb *table) mutex(conn *zk.Conn, options ...zklock.Option) *zklock.Mutex {
	tb.Helper()
	m, err := zklock.New(conn, top, append([]zklock.Option{zklock.WithSessionTimeout(10 * time.Second)}, options...)...)
	require.NoError(tb, err)
	return m
}

func (tb *table) mustLock(m *zklock.Mutex, owner *zklock.Owner) *zklock.Lease {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := m.Lock(ctx, owner)
	require.NoError(tb, err)
	return l
}

// node returns the path of the i-th child of top in the order of the queue.
func (tb *table) node(i int) string {
	tb.Helper()
	names := tb.srv.Children(top)
	require.Greater(tb, len(names), i)
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[max(0, len(a)-10):], b[max(0, len(b)-10):]) })
	return top + "/" + names[i]
}

// ofNode is true of the requests of one kind that a session makes for its node in
// the queue.
func ofNode(session int64, op jute.Op) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == session && r.Op == op && strings.HasPrefix(r.Path, fmt.Sprintf("%s/_c_%016x", top, uint64(session)))
	}
}

// creates is true of a session's requests that make its node in the queue.
func creates(session int64) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == session && (r.Op == jute.OpCreate || r.Op == jute.OpMulti && strings.HasPrefix(r.Path, top+"/")) // and not the probe
	}
}

type locked struct {
	lease *zklock.Lease
	err   error
}

// lockAside locks in a goroutine of its own.
func lockAside(ctx context.Context, m *zklock.Mutex, owner *zklock.Owner) <-chan locked {
	done := make(chan locked, 1)
	go func() {
		l, err := m.Lock(ctx, owner)
		done <- locked{l, err}
	}()
	return done
}

func (tb *table) isLost(l *zklock.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// unlockUnanswered unlocks aside. The node goes, the reply is lost with the
// connection, and the session has no other one until back is released.
func (tb *table) unlockUnanswered(session int64, holder *zklock.Lease) (back *zkserver.Fault, unlocked <-chan error) {
	lost := tb.srv.LoseReply(of(session, jute.OpDelete, ""))
	back = tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == session })
	done := make(chan error, 1)
	go func() { done <- holder.Unlock(context.Background()) }()
	<-lost.Hit()
	<-back.Hit()
	return back, done
}

// unlockThrottled unlocks aside. The server refuses the deletes for three seconds: the
// node is about to go, and still in the queue.
func (tb *table) unlockThrottled(session int64, holder *zklock.Lease) (unlocked <-chan error) {
	for range 4 {
		tb.throttle(of(session, jute.OpDelete, holder.Node()))
	}
	unlocked = aside(func() error { return holder.Unlock(context.Background()) })
	synctest.Wait()
	return unlocked
}

// of is true of the requests of one kind that a session makes for one node.
func of(session int64, op jute.Op, path string) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == session && r.Op == op && (path == "" || r.Path == path)
	}
}
