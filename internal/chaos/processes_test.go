//go:build linux

// The tests of this file start ZooKeepers of their own, as processes:
//
//	ZKLOCK_TESTS=long go run ./internal/servers/with zookeeper -- go test ./internal/chaos -run 'OfProcesses' -v
package chaos_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

const whyLong = "starts servers and waits for session timeouts"

func addrsOf(zoo []*servers.ZooKeeper) (list []string) {
	for _, z := range zoo {
		list = append(list, z.Addr)
	}
	return list
}

// holdAll takes n locks, each in a session of its own. They are proved at different times.
func holdAll(t *testing.T, n int, list []string, session time.Duration, ordinary bool) (leases []*zklock.Lease) {
	for range n {
		conn := openAny(t, list, session, ordinary)
		t.Cleanup(conn.Close)
		m := testenv.Must(zklock.New(conn, "/held-"+rand.Text(), zklock.WithSessionTimeout(session)))(t)
		l := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("holder")))(t)
		leases = append(leases, l)
		time.Sleep(session / 3 / time.Duration(n)) // a proof is due each third of the session timeout
	}
	return leases
}

// openAny opens a client: an ordinary one, or zkconn.Connect's.
func openAny(t *testing.T, list []string, session time.Duration, ordinary bool) *zk.Conn {
	if ordinary {
		conn, _ := testenv.Must2(zk.Connect(list, session, silent))(t)
		return conn
	}
	return testenv.Must(zkconn.Connect(t.Context(), list, session))(t)
}

func countLost(leases []*zklock.Lease) (lost int) {
	for _, l := range leases {
		if bubble.IsClosed(l.Lost()) {
			lost++
		}
	}
	return lost
}

// No lease is lost if the only server, the leader of three, or a follower stops for a while. A lease outlasts 13/24 of
// the session timeout, an eighth of it (2 s) more than the longest pause. A run on a busy machine may be repeated.
func TestPausesOfProcesses(t *testing.T) {
	testenv.Long(t, whyLong)
	const session, n = 16 * time.Second, 30
	const quarter, most = session / 4, session * 5 / 12
	pauses := map[string][]time.Duration{"standalone": {session / 6, quarter, most}, "leader": {quarter, most}, "follower": {most, 2 * session}}
	testenv.Again(t, func(t *testing.T) {
		for _, size := range []int{1, 3} {
			zoo := servers.ZooKeepers(t, size)
			ours, theirs := holdAll(t, n, addrsOf(zoo), session, false), holdAll(t, n, addrsOf(zoo), session, true)
			for _, z := range zoo {
				mode := z.Mode(t)
				for _, d := range pauses[mode] {
					time.Sleep(session) // until each lease is proved
					z.Pause(t)
					time.Sleep(d)
					z.Continue(t)
					time.Sleep(session / 2) // until each is proved again, or lost
					lost := countLost(ours)
					t.Logf("%s stopped for %v, T = %v: leases lost of %d: zkconn.Connect %d, zk.Connect %d",
						mode, d, session, n, lost, countLost(theirs))
					if lost > 0 {
						testenv.Spoiled(t, "leases were lost")
					}
				}
			}
		}
	})
}

// No lease is lost if three servers are restarted in turn, while some contenders hold a lock each and others lock and
// unlock one lock. That one is never without a release for a session timeout.
func TestRollingRestartOfProcesses(t *testing.T) {
	testenv.Long(t, whyLong)
	const session, n, hold = 10 * time.Second, 30, 5 * time.Millisecond
	zoo := servers.ZooKeepers(t, 3)
	leases := holdAll(t, n, addrsOf(zoo), session, false)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	var mu sync.Mutex         // guards the next four
	var longest time.Duration // without a release, since the last restart
	var lastRelease time.Time
	acquired, failed := 0, []error(nil)
	var inside atomic.Int32
	var wg sync.WaitGroup
	for i := range n {
		conn := openAny(t, addrsOf(zoo), session, false)
		defer conn.Close()
		m := testenv.Must(zklock.New(conn, "/busy"))(t)
		wg.Go(func() {
			for ctx.Err() == nil {
				err := m.Do(ctx, zklock.NewOwner(fmt.Sprint(i)), func(context.Context, *zklock.Lease) error {
					if inside.Add(1) != 1 {
						return errors.New("two hold the lock")
					}
					time.Sleep(hold)
					inside.Add(-1)
					return nil
				})
				mu.Lock()
				if err == nil {
					released := time.Now()
					longest, lastRelease, acquired = max(longest, released.Sub(lastRelease)), released, acquired+1
				} else if ctx.Err() == nil {
					failed = append(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(session)

	for i, z := range zoo {
		mu.Lock()
		longest = 0
		mu.Unlock()
		began := time.Now()
		z.Stop()
		z.Start(t)
		back := time.Since(began)
		time.Sleep(session) // in which an administrator would look whether the server follows
		mu.Lock()
		gap := max(longest, time.Since(lastRelease))
		mu.Unlock()
		t.Logf("server %d served again after %.1f s; longest time without release %.1f s", i+1, back.Seconds(), gap.Seconds())
		require.Less(t, gap, session)
	}
	stop()
	wg.Wait()
	t.Logf("%d acquisitions by %d sessions, %d errors %v; leases lost: %d of %d", acquired, n, len(failed), failed, countLost(leases), n)
	require.Zero(t, countLost(leases))
	require.Empty(t, failed)
}

// If a server comes back empty, or with the data of a while ago, the lease is lost, tokens are lower than before, and
// the client can lock again within one and a half session timeouts and 3 s.
func TestLostDataOfProcesses(t *testing.T) {
	testenv.Long(t, whyLong)
	testenv.Again(t, func(t *testing.T) {
		for _, session := range []time.Duration{4 * time.Second, 10 * time.Second} {
			for _, way := range []string{"wiped", "restored"} {
				zoo := servers.ZooKeepers(t, 1)
				conn := openAny(t, addrsOf(zoo), session, false)
				defer conn.Close()
				m := testenv.Must(zklock.New(conn, "/orders"))(t)
				lease := testenv.Must(m.Lock(t.Context(), nil))(t)
				copied := t.TempDir() + "/data"
				require.NoError(t, os.CopyFS(copied, os.DirFS(zoo[0].Data)))
				for range 100 {
					testenv.Must(conn.Create("/later-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
				}
				late := testenv.Must(zklock.New(conn, "/late"))(t)
				last := testenv.Must(late.Lock(t.Context(), nil))(t)

				zoo[0].Kill()
				require.NoError(t, os.RemoveAll(zoo[0].Data))
				if way == "restored" {
					require.NoError(t, os.Rename(copied, zoo[0].Data))
				}
				zoo[0].Start(t)
				began := time.Now()
				<-lease.Lost()
				again := testenv.Must(m.Lock(t.Context(), nil))(t)
				took := time.Since(began)
				t.Logf("T = %v, %s: the lock is there again %.1f s after the server", session, way, took.Seconds())
				if took >= session*3/2+3*time.Second {
					testenv.Spoiled(t, "it took longer")
				}
				require.Less(t, again.Token(), last.Token())
				require.NoError(t, again.Unlock(t.Context()))
				zoo[0].Kill()
			}
		}
	})
}

// No lease is lost if one server of three comes back empty: it gets its data from the others, and every session lives.
func TestOneOfThreeLosesItsDataOfProcesses(t *testing.T) {
	testenv.Long(t, whyLong)
	const session, n = 4 * time.Second, 10
	zoo := servers.ZooKeepers(t, 3)
	leases := holdAll(t, n, addrsOf(zoo), session, false)
	z := zoo[0]
	z.Kill()
	id := testenv.Must(os.ReadFile(z.Data + "/myid"))(t)
	require.NoError(t, os.RemoveAll(z.Data))
	require.NoError(t, os.Mkdir(z.Data, 0o755))
	require.NoError(t, os.WriteFile(z.Data+"/myid", id, 0o644))
	z.Start(t)
	time.Sleep(2 * session)
	t.Logf("leases lost: %d of %d", countLost(leases), n)
	require.Zero(t, countLost(leases))
}

// The memory of n locks is bounded, and no lease is lost, whether each has a session of its own or all share one. The
// clients have buffers of 4 and 64 KiB, and a session timeout of 40 s.
func TestSizesOfProcesses(t *testing.T) {
	testenv.Long(t, whyLong)
	const session = 40 * time.Second
	for _, embedded := range []bool{true, false} {
		for _, n := range []int{10, 1000, 10000} {
			for _, sessions := range []int{n, 1} {
				t.Run(fmt.Sprintf("embedded=%v", embedded), func(t *testing.T) { // its server ends before the next one is measured
					list, dial := []string{"127.0.0.1:2181"}, zkserver.Run(t).Dial
					if !embedded {
						zoo := servers.ZooKeepers(t, 1)[0]
						defer zoo.Kill()
						list, dial = []string{zoo.Addr}, net.DialTimeout
					}
					measure(t, list, dial, n, sessions, session)
				})
			}
		}
	}
}

// measure takes n locks on n paths, in a given number of sessions.
func measure(t *testing.T, list []string, dial zk.Dialer, n, sessions int, session time.Duration) {
	heap := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc + stats.StackInuse)
	}
	memoryBefore, began := heap(), time.Now()
	conns := make([]*zk.Conn, sessions)
	leases := make([]*zklock.Lease, n)
	inParallel := func(n int, f func(i int) error) {
		const workers = 50
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := w; i < n; i += workers {
					assert.NoError(t, f(i))
				}
			})
		}
		wg.Wait()
		require.False(t, t.Failed())
	}

	inParallel(sessions, func(i int) (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conns[i], err = zkconn.Connect(ctx, list, session, zkconn.WithDialer(dial),
			zkconn.WithZK(zk.WithMaxConnBufferSize(4<<10), zk.WithMaxBufferSize(64<<10)))
		return err
	})
	inParallel(n, func(i int) error {
		m, err := zklock.New(conns[i%sessions], fmt.Sprintf("/sizes/%d", i))
		if err == nil {
			leases[i], err = m.Lock(t.Context(), nil)
		}
		return err
	})
	took := time.Since(began)
	time.Sleep(session * 2 / 3) // until all leases are proved
	perLock := float64(heap()-memoryBefore) / 1024 / float64(n)
	t.Logf("%d locks in %d sessions: taken in %.1f s; memory of the clients %.1f KiB a lock; leases lost: %d",
		n, sessions, took.Seconds(), perLock, countLost(leases))
	require.Zero(t, countLost(leases))
	require.Less(t, perLock, 200.) // a client has buffers and goroutines
	if n/sessions >= 1000 {
		require.Less(t, perLock, 4.) // so many locks share one client
	}
	inParallel(n, func(i int) error { return leases[i].Unlock(t.Context()) })
	inParallel(sessions, func(i int) error { conns[i].Close(); return nil })
}
