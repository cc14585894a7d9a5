package zookeeper

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// inBubble runs a test in virtual time, on an embedded server.
func inBubble(t *testing.T, test func(t *testing.T, srv *zkserver.Server, s *Server)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		srv := zkserver.New()
		defer srv.Close()
		s := testenv.Must(Open(t.Context(), ensemble.OverPipes(srv), Settings{Path: "/bench", Say: func(i18n.Text) {}}))(t)
		defer func() {
			require.NoError(t, s.Close(nil))
			require.Equal(t, []string{"zookeeper"}, srv.Children("/"), "nothing is left behind")
			time.Sleep(time.Minute) // in virtual time: what is on its way arrives, and its goroutines end
		}()
		test(t, srv, s)
	})
}

// onServer runs a test in real time.
func onServer(t *testing.T, test func(s *Server)) {
	t.Helper()
	srv := zkserver.Run(t)
	zoo := testenv.Must(ensemble.Open(t.Context(), srv.Addr()))(t)
	s := testenv.Must(Open(t.Context(), zoo, Settings{Path: "/bench", Say: func(i18n.Text) {}}))(t)
	test(s)
	require.NoError(t, s.Close(nil))
	require.Equal(t, []string{"zookeeper"}, srv.Children("/"), "nothing is left behind")
}

// A fake is a lock with these functions.
type fake struct{ lock, unlock func() error }

func (f fake) Lock() error   { return f.lock() }
func (f fake) Unlock() error { return f.unlock() }

const twoHolders = "a contender got the lock although its holder had not unlocked: two goroutines held the lock at once"

func TestBrokenLocksAreCaught(t *testing.T) {
	var mutex sync.Mutex
	var queues int    // of the lock with two queues: contenders so far
	var empty []error // of the lock that panics
	for name, tc := range map[string]struct {
		kind Kind
		want string
	}{
		"everybody": {Kind{Make: func(c *zk.Conn, p string) Locker { return broken.New("everybody is first", c, p) }}, twoHolders},
		"giveup": {Kind{Make: func(c *zk.Conn, p string) Locker { return broken.New("no look after waking", c, p) }},
			"when the session of a waiter ended another contender got the lock, although its holder had not unlocked: two goroutines held the lock at once"},
		"two queues": {Kind{Make: func(c *zk.Conn, p string) Locker {
			queues++
			return zk.NewLock(c, fmt.Sprint(p, "/queue-", queues%2), zk.WorldACL(zk.PermAll))
		}}, twoHolders},
		"panics": {Kind{Node: true, Make: func(*zk.Conn, string) Locker { return fake{lock: func() error { return empty[0] }} }},
			"Lock panicked: runtime error: index out of range [0] with length 0 (trial_test.go:"},
		"New": {Kind{Node: true, Make: func(c *zk.Conn, p string) Locker { panic("too early") }}, "New panicked: too early (trial_test.go:"},
		// A lock that is only a mutex excludes, but not from another process.
		"a mutex": {Kind{Node: true, Make: func(*zk.Conn, string) Locker {
			return fake{func() error { mutex.Lock(); return nil }, func() error { mutex.Unlock(); return nil }}
		}}, "it sent nothing to ZooKeeper: it excludes no contender of another process"},
	} {
		t.Run(name, func(t *testing.T) {
			onServer(t, func(s *Server) {
				require.ErrorContains(t, (&Player{Of: counter.Lock{Name: name}, Kind: tc.kind, On: s}).Try(t.Context()), tc.want)
			})
		})
	}
}

// A waiter that takes the lock after half a minute passes a trial. It waits with a time limit, as in the article, and
// does not look which of the two has ended the wait.
func TestAHolderKeepsTheLockForLongerThanASession(t *testing.T) {
	late := Kind{Node: true, Make: func(c *zk.Conn, p string) Locker {
		return fake{lock: func() error {
			if _, err := c.Create(p, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != zk.ErrNodeExists {
				return err
			}
			_, _, gone, err := c.ExistsW(p)
			select {
			case <-gone:
			case <-time.After(30 * time.Second):
			}
			return err
		}}
	}}
	err := HoldLong(t, counter.Lock{Name: "latch"}, late)
	require.EqualError(t, err, "a contender got the lock after 30s of waiting, although its holder had not unlocked: "+
		"two goroutines held the lock at once")
	right := Kind{Make: func(c *zk.Conn, p string) Locker { return zk.NewLock(c, p, zk.WorldACL(zk.PermAll)) }}
	require.NoError(t, HoldLong(t, counter.Lock{Name: "zk.Lock"}, right))
}

// The server goes away after four sessions, as one does that takes no more connections.
func TestTooManySessionsNameTheSetting(t *testing.T) {
	sessionOf := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9} // a session for each contender
	inBubble(t, func(t *testing.T, srv *zkserver.Server, s *Server) {
		go func() {
			for len(srv.Sessions()) < 1+4 { // the session of s itself, and four of the contenders
				time.Sleep(time.Millisecond)
			}
			srv.Stop()
		}()
		with, err := (&Player{On: s}).setUp(t.Context(), sessionOf, 1, 20*time.Millisecond)
		require.ErrorContains(t, err, "session 5 of 10 cannot be opened; maxClientCnxns in zoo.cfg is how many connections a server takes from one address")
		srv.Start()
		with.close()
	})
}

// PerSession opens one value for each session, and again for each run.
func TestContendersOfASessionShareItsValue(t *testing.T) {
	opened := 0
	kind := PerSession(func(*zk.Conn, string, time.Duration) func() Locker {
		opened++
		return func() Locker { return fake{} }
	})
	a, b := new(zk.Conn), new(zk.Conn)
	run := Run{N: 4, SessionTimeout: func(*zk.Conn) time.Duration { return 0 }}
	first := kind.Begin(run)
	for _, conn := range []*zk.Conn{a, b, a, b} {
		first(conn, "/p")
	}
	require.Equal(t, 2, opened)
	kind.Begin(run)(a, "/p")
	require.Equal(t, 3, opened)
}

// zk.Lock sends three requests for one hold, and waits for the answer to each.
func TestADistanceIsPaidForEachRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *zkserver.Server, s *Server) {
		const rtt, times, trips = 20 * time.Millisecond, 3, 3 // trips: requests of a hold
		s.RTT = rtt
		r := report.Run{Goroutines: 1, Sessions: 1, Times: times, Round: 1}
		kind := Kind{Make: func(c *zk.Conn, p string) Locker { return zk.NewLock(c, p, zk.WorldACL(zk.PermAll)) }}
		require.NoError(t, (&Player{Of: counter.Lock{Name: "zk.Lock"}, Kind: kind, On: s}).Run(t.Context(), &r))
		require.EqualValues(t, times*trips, r.Requests)
		require.Equal(t, rtt, r.RTT)
		require.InDelta(t, times*trips*rtt, r.Elapsed, float64(rtt/2))
	})
}
