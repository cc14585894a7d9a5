package zklock_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/zklock"
)

// TestWhatAnOptionWasGivenMayBeChangedAfterNew is for the race detector, too.
func TestWhatAnOptionWasGivenMayBeChangedAfterNew(t *testing.T) {
	onTable(t, func(tb *table) {
		data, acl := []byte("the first words"), zk.WorldACL(zk.PermAll)
		m := tb.mutex(tb.connectAs(ordinary{}), zklock.WithData(data), zklock.WithACL(acl))
		holder := lockAside(context.Background(), m, zklock.NewOwner("holder"))
		copy(data, "CHANGED") // while the node is made
		acl[0].Perms = zk.PermAll &^ zk.PermAdmin
		got := gets(tb, holder)
		queue := tb.participants(m)
		require.Len(tb, queue, 1)
		require.Equal(tb, "the first words", string(queue[0].Data))
		for _, path := range []string{top, queue[0].Node} {
			node, ok := tb.srv.Node(path)
			require.True(tb, ok)
			require.EqualValues(tb, zk.PermAll, node.ACL[0].Perms, path)
		}
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestAParentThatIsThereKeepsItsList, which decides whose nodes may be made and deleted. Clients
// that have two passwords lead from one list to the next.
func TestAParentThatIsThereKeepsItsList(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.makeTop()
		list := func(password string) []zk.ACL { return zk.DigestACL(zk.PermAll, "orders", password) }
		mutex := func(writes string, passwords ...string) *zklock.Mutex {
			conn := tb.connect()
			for _, p := range passwords {
				require.NoError(tb, conn.AddAuth("digest", []byte("orders:"+p)))
			}
			return tb.mutex(conn, zklock.WithACL(list(writes)))
		}
		old, between, both, latest := mutex("old", "old"), mutex("old", "old", "new"), mutex("new", "old", "new"), mutex("new", "new")
		lease := tb.mustLock(old, nil)
		require.NoError(tb, admin.Delete(lease.Node(), -1), "the parent is open to everybody")
		require.ErrorIs(tb, lease.Unlock(context.Background()), zklock.ErrLost)
		_, err := admin.SetACL(top, list("old"), -1)
		require.NoError(tb, err)
		lease = tb.mustLock(old, nil)
		require.ErrorIs(tb, admin.Delete(lease.Node(), -1), zk.ErrNoAuth)
		_, err = latest.Lock(context.Background(), nil)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		require.NoError(tb, lease.Unlock(context.Background()))
		require.NoError(tb, admin.AddAuth("digest", []byte("orders:old")))
		for _, parent := range []string{"old", "new"} {
			_, err = admin.SetACL(top, list(parent), -1)
			require.NoError(tb, err)
			for _, waiter := range []<-chan locked{queues(between), queues(both), queues(mutex("old", "old", "new"))} {
				passes(tb, waiter)
			}
			require.NoError(tb, admin.AddAuth("digest", []byte("orders:new")))
		}
		passes(tb, queues(latest))
	})
}

func TestNewRefusesCharactersThatServersRefuse(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		for _, path := range []string{
			"/lock/\U00010000", "/lock/\U0001F512", "/\U0010FFFF/lock", "/lock/a\U0001F512b",
			"/lock/\ufff0", "/lock/\uf8ff", "/lock/\ue000", "/lock/\u0000", "/lock/\u0001", "/lock/\u001f", "/lock/\u007f", "/lock/\u009f",
		} {
			_, err := zklock.New(conn, path)
			require.ErrorIs(tb, err, zk.ErrInvalidPath, "%q", path)
		}
		for _, path := range []string{"/lock/ ", "/lock/~", "/lock/\u00a0", "/lock/锁", "/lock/\ud7ff", "/lock/\uf900", "/lock/\uffef"} {
			m, err := zklock.New(conn, path)
			require.NoError(tb, err, "%q", path)
			l, err := m.TryLock(context.Background(), zklock.NewOwner("owner"))
			require.NoError(tb, err, "%q", path)
			require.NoError(tb, l.Unlock(context.Background()))
		}
	})
}

// TestLostClosesInTimeThoughTheSessionTimeoutIsNotKnown: the client asks for 1 s, a
// server of default configuration makes it 4 s, and an ordinary client does not
// export that.
func TestLostClosesInTimeThoughTheSessionTimeoutIsNotKnown(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{sessionTimeout: time.Second})
		require.Equal(tb, 4*time.Second, tb.srv.Sessions()[0].Timeout)
		m, err := zklock.New(conn, top)
		require.NoError(tb, err)
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		next := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("next"))
		time.Sleep(10 * time.Second) // the holder is well
		require.False(tb, isClosed(holder.Lost()))
		sent := time.Now() // the server has received its last packet by now
		silence := tb.srv.Hold(from(conn.SessionID())).Every()
		select {
		case <-holder.Lost():
		case <-next:
			require.Fail(tb, "two holders: the next one is in, and Lost is open")
		}
		require.LessOrEqual(tb, time.Since(sent), 4*time.Second)
		got := gets(tb, next)
		silence.Release()
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestAZeroValuePanicsWithASentence in each method, and not somewhere inside.
func TestAZeroValuePanicsWithASentence(t *testing.T) {
	const mutex, lease = "zklock: a Mutex is made with New", "zklock: a Lease is what Lock or TryLock returns with a nil error"
	for zero, want := range map[any]string{
		new(zklock.Mutex): mutex, (*zklock.Mutex)(nil): mutex, new(zklock.Lease): lease, (*zklock.Lease)(nil): lease,
	} {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			method := v.Method(i)
			var args []reflect.Value
			for j := range method.Type().NumIn() {
				args = append(args, reflect.Zero(method.Type().In(j)))
			}
			require.PanicsWithValue(t, want, func() { method.Call(args) }, v.Type().Method(i).Name)
		}
	}
}
