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

// A fake is a lock with these functions.
type fake struct{ lock, unlock func() error }

func (f fake) Lock() error   { return f.lock() }
func (f fake) Unlock() error { return f.unlock() }

const twoHolders = "a contender got the lock although its holder had not unlocked: two goroutines held the lock at once"

// A trial finds what is wrong with a lock, in words that name it.
func TestBrokenLocksAreCaught(t *testing.T) {
	var mutex sync.Mutex
	contenders := 0 // of the lock with two queues
	for name, tc := range map[string]struct {
		ownNode bool // Kind.OwnNode
		newLock func(c *zk.Conn, path string) Locker
		want    string
	}{
		"everybody is first": {want: twoHolders,
			newLock: func(c *zk.Conn, path string) Locker { return broken.New("everybody is first", c, path) }},
		"no look after waking": {want: "when the session of a waiter ended another contender got the lock, " +
			"although its holder had not unlocked: two goroutines held the lock at once",
			newLock: func(c *zk.Conn, path string) Locker { return broken.New("no look after waking", c, path) }},
		"two queues": {want: twoHolders, newLock: func(c *zk.Conn, path string) Locker {
			contenders++
			return zk.NewLock(c, fmt.Sprint(path, "/queue-", contenders%2), zk.WorldACL(zk.PermAll))
		}},
		"Lock panics": {ownNode: true, want: "Lock panicked: runtime error: index out of range [0] with length 0 (trial_test.go:",
			newLock: func(*zk.Conn, string) Locker { return fake{lock: func() error { var none []error; return none[0] }} }},
		"New panics": {ownNode: true, want: "New panicked: too early (trial_test.go:",
			newLock: func(*zk.Conn, string) Locker { panic("too early") }},
		"a mutex of this process": {ownNode: true, want: "it sent nothing to ZooKeeper: it excludes no contender of another process",
			newLock: func(*zk.Conn, string) Locker {
				return fake{func() error { mutex.Lock(); return nil }, func() error { mutex.Unlock(); return nil }}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := zkserver.Run(t) // in real time
			zoo := testenv.Must(ensemble.Open(t.Context(), srv.Addr()))(t)
			s := testenv.Must(Open(t.Context(), zoo, Settings{Path: "/bench", Say: func(i18n.Text) {}}))(t)
			player := &Player{Of: counter.Lock{Name: name}, Kind: Kind{OwnNode: tc.ownNode, Make: tc.newLock}, On: s}
			require.ErrorContains(t, player.Try(t.Context()), tc.want)
			require.NoError(t, s.Close(nil))
			require.Equal(t, []string{"zookeeper"}, srv.Children("/"), "nothing is left behind")
		})
	}
}

// The waiter of such a lock waits with a time limit, as the article's does, and then takes the lock. A trial ends
// before that. HoldLong, whose holder keeps the lock for longer than a session timeout, finds it.
func TestAHolderKeepsTheLockForLongerThanASession(t *testing.T) {
	late := Kind{OwnNode: true, Make: func(c *zk.Conn, p string) Locker {
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

// If a server takes no more connections, here after four sessions, the error names the setting.
func TestTooManySessionsNameTheSetting(t *testing.T) {
	sessionOf := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9} // contender i uses session i
	const rtt = 20 * time.Millisecond                // so that the goroutine sees each session before the next one is opened
	inBubble(t, func(t *testing.T, srv *zkserver.Server, s *Server) {
		go func() {
			for len(srv.Sessions()) < 1+4 { // the session of s itself, and four of the contenders
				time.Sleep(time.Millisecond)
			}
			srv.Stop()
		}()
		with, err := (&Player{On: s}).setUp(t.Context(), sessionOf, unmeasured, rtt)
		require.ErrorContains(t, err, "session 5 of 10 cannot be opened; maxClientCnxns in zoo.cfg is how many connections a server takes from one address")
		srv.Start()
		with.close()
	})
}

// The contenders of a session share the value that PerSession opens for it, in each run again.
func TestContendersOfASessionShareItsValue(t *testing.T) {
	opened := 0
	kind := PerSession(func(*zk.Conn, string, time.Duration) func() Locker {
		opened++
		return func() Locker { return fake{} }
	})
	a, b := new(zk.Conn), new(zk.Conn)
	run := Run{N: 4, SessionTimeout: func(*zk.Conn) time.Duration { return 0 }}
	newLocker := kind.Begin(run)
	for _, conn := range []*zk.Conn{a, b, a, b} {
		newLocker(conn, "/p")
	}
	require.Equal(t, 2, opened)
	nextRun := kind.Begin(run)
	nextRun(a, "/p")
	require.Equal(t, 3, opened)
}

// Each round trip takes the distance: zk.Lock sends three requests for a hold, and waits for the answer to each.
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
