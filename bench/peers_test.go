// Tests of the requests that the locks and the yardsticks send, each on a server of the test's own.
package main

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zkserver"
)

// A contender that is alone creates and deletes its node, and sets no watch.
func TestAloneTheMinimumIsTwoRequests(t *testing.T) {
	const times = 7
	rs, _ := benchResults(t, "-n", "1", "-closed", strconv.Itoa(times), "-locks", "least,floor")
	for _, r := range rs {
		require.EqualValues(t, 2*times, r.Requests, r.Lock)
		require.Zero(t, r.WatchEvents, r.Lock)
	}
}

// The floor deletes its nodes in the order of their numbers, and none before all have been made.
func TestTheFloorKeepsItsOrder(t *testing.T) {
	const n = 20
	srv, addr := listen(t)
	var deleted []string
	made := 0
	observer := srv.Hold(func(r zkserver.Request) bool { // it holds no request back
		switch {
		case ofLock(r, jute.OpCreate):
			made++
		case ofLock(r, jute.OpDelete):
			require.Equal(t, n, made)
			deleted = append(deleted, filepath.Base(r.Path))
		}
		return false
	})
	defer observer.Release()
	status, _, stderr := bench(t, "-zk", addr, "-warmup", "0s", "-n", strconv.Itoa(n), "-locks", "floor", "-sessions", "4")
	require.Zero(t, status, stderr)
	require.Len(t, deleted, n)
	require.IsIncreasing(t, deleted)
}

// If all contenders are in the queue before the first one unlocks, the requests depend only on N.
func TestUnderContentionTheRequestsAreExactlyAsPredicted(t *testing.T) {
	const n = 12
	type prediction struct {
		kinds   map[string]int64 // the requests by kind; nil: only their sum is predicted, by the formula
		wakeUps int64            // as many as watches, when all wait
	}
	predictions := map[string]prediction{
		"predecessor": {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"timeout":     {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": 2*n - 1, "delete": n}, wakeUps: n - 1},
		"zk.Lock":     {kinds: map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"least":       {kinds: map[string]int64{"create": n, "get": n - 1, "delete": n}, wakeUps: n - 1},
		"floor":       {kinds: map[string]int64{"create": n, "delete": n}},
	}
	// Another peer that has a formula, a reader's lock, is taken for a queue in which each waiter has one watch.
	for _, c := range peers {
		if _, ok := predictions[c.Name]; !ok && c.Name != "curator" && c.Formula.Requests != nil {
			predictions[c.Name] = prediction{wakeUps: n - 1}
		}
	}
	for name, want := range predictions {
		// The session timeout is two ticks, so the test is over long before a lease must be proved by a request.
		srv, addr := listen(t, zkserver.WithTick(time.Minute))

		// The first delete is held until all others wait. Each has a connection of its own.
		firstDelete := srv.Hold(func(r zkserver.Request) bool { return ofLock(r, jute.OpDelete) })
		watches := make(chan int, 1)
		go func() {
			defer firstDelete.Release()
			const mostPolling = 30 * time.Second // the clients give up after 80 s
			set, end := 0, time.Now().Add(mostPolling)
			for set < int(want.wakeUps) && time.Now().Before(end) {
				time.Sleep(time.Millisecond) // a poll: the server does not report a watch that is set
				set = len(srv.Watches())
			}
			watches <- set
		}()

		rs, _ := benchResults(t, "-zk", addr, "-warmup", "0s", "-n", strconv.Itoa(n), "-sessions", strconv.Itoa(n), "-locks", name)
		require.GreaterOrEqual(t, <-watches, int(want.wakeUps), "%s: watches while %d wait. "+
			"A lock that polls has no formula; one with fewer watches needs a line in the table above", name, n-1)
		require.EqualValues(t, rs[0].Predicted, rs[0].Requests, "%s: the formula of its entry, and %v", name, rs[0].Kinds)
		if want.kinds == nil {
			continue
		}
		require.Equal(t, want.kinds, rs[0].Kinds, name)
		require.Equal(t, want.wakeUps, rs[0].WakeUps, name)
		require.Equal(t, want.wakeUps, rs[0].WatchEvents, name)
	}
}
