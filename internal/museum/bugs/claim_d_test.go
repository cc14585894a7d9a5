package bugs_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// Article D says of its first version: 此实现方式还可能存在死锁问题, a holder that
// crashes or loses its network blocks the whole lock. It does not: its node is
// ephemeral. The next contender gets the lock when the session has expired, in
// the article's lock as in ours.
func TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires(t *testing.T) {
	for name, lock := range map[string]museum.NewLock{"article D": listings.NewZkLock, "ours": newPredecessor} {
		t.Run(name, func(t *testing.T) {
			museum.Play(t, lock, func(s *museum.Stage) {
				a, b := s.Client(), s.Client()
				a.Lock()
				b.Start()
				a.CutOff()
				s.Pass(museum.SessionTimeout / 2)
				b.Waits()
				s.Pass(museum.SessionTimeout)
				require.Equal(s, "inside", b.State())
				require.Less(s, b.Took(), museum.SessionTimeout+2*time.Second)
			})
		})
	}
}

// Article D says: exists、create、getchildren三个方法都可以添加watcher, three
// methods can add a watcher. They are exists, getData and getChildren. A create
// cannot: the record that is its request has no field for a watch, and a server
// that has carried it out watches nothing.
func TestACreateSetsNoWatch(t *testing.T) {
	hasWatch := func(record any) bool {
		_, ok := reflect.TypeOf(record).FieldByName("Watch")
		return ok
	}
	require.True(t, hasWatch(jute.PathWatch{}), "the request of exists, getData and getChildren")
	require.False(t, hasWatch(jute.CreateRequest{}), "the request of create")

	museum.Play(t, newPredecessor, func(s *museum.Stage) {
		c, admin := s.Client(), s.Client()
		_, err := c.Create("/claim", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(s, err)
		require.Empty(s, s.Server.Watches(), "after create")
		for name, look := range map[string]func() (<-chan zk.Event, error){
			"exists":      func() (<-chan zk.Event, error) { _, _, events, err := c.ExistsW("/claim"); return events, err },
			"getData":     func() (<-chan zk.Event, error) { _, _, events, err := c.GetW("/claim"); return events, err },
			"getChildren": func() (<-chan zk.Event, error) { _, _, events, err := c.ChildrenW("/claim"); return events, err },
		} {
			events, err := look()
			require.NoError(s, err)
			require.Len(s, s.Server.Watches(), 1, "after %s", name)
			_, err = admin.Set("/claim", nil, -1)
			require.NoError(s, err)
			child, err := admin.Create("/claim/child", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(s, err)
			require.NoError(s, admin.Delete(child, -1))
			require.NoError(s, (<-events).Err, name)
			require.Empty(s, s.Server.Watches(), "a watch is one-shot")
		}
	})
}

// Article D sends a heartbeat with setData. That changes the node that the next waiter watches. The watch fires for
// the change and is used up, and the watcher reacts to nodedeleted alone, so the
// waiter gets no event of the release.
func TestAHeartbeatUsesUpTheWaitersWatch(t *testing.T) {
	start := func(s *museum.Stage) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		a.Lock()
		b.Start()
		s.Pass(2 * listings.HeartbeatRate)
		return a, b
	}
	t.Run("it happens to the article's lock", func(t *testing.T) {
		museum.Play(t, listings.NewHeartbeatLock, func(s *museum.Stage) {
			s.Path = "/lock/order"
			a, b := start(s)
			require.Empty(s, s.Server.Watches(), "the heartbeat has used up the watch of B")
			loop := s.HoldGap("D11", 1)
			require.NoError(s, a.Unlock())
			loop.Reached()
			b.WaitsForever()
			require.Len(s, b.Nodes(), 1)
			require.Len(s, s.Server.Children("/lock"), 1, "the node of B is the only one, and B waits")
		})
	})
	t.Run("it does not happen to ours", func(t *testing.T) {
		museum.Play(t, newTimeout, func(s *museum.Stage) {
			a, b := start(s)
			require.NoError(s, a.Unlock())
			b.GetsIn()
		})
	})
}
