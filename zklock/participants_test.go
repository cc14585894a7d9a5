package zklock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// inBubble runs a test on a server of its own in virtual time. Connect opens
// a session.
func inBubble(t *testing.T, test func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn)) {
	t.Helper()
	onTable(t, func(tb *table) {
		test(tb.T, tb.srv, func() *zk.Conn { return tb.connectWith(ensemble.Options{}) })
	})
}

func mutex(t *testing.T, conn *zk.Conn, options ...zklock.Option) *zklock.Mutex {
	t.Helper()
	m, err := zklock.New(conn, lockPath, append([]zklock.Option{zklock.WithSessionTimeout(sessionTimeout)}, options...)...)
	require.NoError(t, err)
	return m
}

func mustLock(t *testing.T, m *zklock.Mutex, owner string) *zklock.Lease {
	t.Helper()
	l, err := m.Lock(t.Context(), zklock.NewOwner(owner))
	require.NoError(t, err)
	return l
}

func TestParticipantsAreShownInTheOrderOfTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		a := mutex(t, connect(), zklock.WithData([]byte("host a\n\xff")))
		all, err := a.Participants(t.Context())
		require.NoError(t, err)
		require.Empty(t, all, "of a lockPath that is not there")

		first := mustLock(t, a, "first")
		other := connect()
		_, err = other.Create(lockPath+"/config", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		curator, err := other.Create(lockPath+"/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", []byte("192.0.2.1"),
			zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		done := make(chan *zklock.Lease)
		go func() {
			l, _ := mutex(t, other, zklock.WithData(nil)).Lock(t.Context(), zklock.NewOwner("last"))
			done <- l
		}()
		synctest.Wait()

		all, err = a.Participants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.Regexp(t, "^"+lockPath+"/_c_[0-9a-f]{32}-lock-0000000003$", all[2].Node)
		for i := range all {
			node, _ := srv.Node(all[i].Node)
			require.Equal(t, node.Stat.Czxid<<10, all[i].Token)
			require.Equal(t, node.Stat.EphemeralOwner, all[i].Session)
			require.Equal(t, node.Stat.Ctime, all[i].Since.UnixMilli())
			all[i].Token, all[i].Session, all[i].Since = 0, 0, time.Time{}
		}
		require.Equal(t, []zklock.Participant{
			{Owner: "first", Data: []byte("host a\n\xff"), Position: 0, Holds: true, Node: first.Node(), Library: "zklock"},
			{Owner: "", Data: []byte("192.0.2.1"), Position: 1, Node: curator, Library: "Curator mutex"},
			{Owner: "last", Data: nil, Position: 2, Node: all[2].Node, Library: "zklock"},
		}, all)

		require.NoError(t, first.Unlock(t.Context()))
		require.NoError(t, other.Delete(curator, -1))
		last := <-done
		require.Equal(t, all[2].Node, last.Node())
		require.NoError(t, last.Unlock(t.Context()))
	})
}

func TestAParticipantThatLeavesMeanwhileIsNotShown(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		holder := mustLock(t, mutex(t, connect()), "holder")
		m := mutex(t, connect())
		held := srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpGetData })
		done := make(chan error)
		go func() {
			all, err := m.Participants(t.Context())
			if err == nil && len(all) > 0 {
				err = errors.New("somebody is shown who has left")
			}
			done <- err
		}()
		<-held.Hit()
		require.NoError(t, holder.Unlock(t.Context()))
		held.Release()
		require.NoError(t, <-done)
	})
}

func TestParticipantsAndRevokeEndWithCtxThoughNoServerAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		m := mutex(t, connect())
		holder := mustLock(t, m, "holder")
		all, err := m.Participants(t.Context())
		require.NoError(t, err)
		for _, f := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := m.Participants(ctx); return err },
			func(ctx context.Context) error { return m.Revoke(ctx, all[0]) },
		} {
			held := srv.Hold(func(zkserver.Request) bool { return true })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := f(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Second, time.Since(began))
			cancel()
			require.ErrorIs(t, f(ctx), context.DeadlineExceeded, "of a ctx that has ended")
			held.Release()
		}
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestAHolderIsAskedForTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		holder := mustLock(t, mutex(t, connect(), zklock.WithData([]byte("who"))), "holder")
		synctest.Wait()
		select {
		case <-holder.RevokeRequested():
			t.Fatal("nobody has asked")
		default:
		}
		m := mutex(t, connect())
		all, err := m.Participants(t.Context())
		require.NoError(t, err)
		for range 3 { // it may be asked more than once
			require.NoError(t, m.Revoke(t.Context(), all[0]))
		}
		<-holder.RevokeRequested()
		again, err := m.Participants(t.Context())
		require.NoError(t, err)
		require.Equal(t, all, again, "a holder that is asked is not shown as before")
		select {
		case <-holder.Lost():
			t.Fatal("a holder that is asked has lost the lock")
		default:
		}
		require.NoError(t, holder.Unlock(t.Context()))
		require.NoError(t, m.Revoke(t.Context(), all[0]), "that it has gone is not an error")
	})
}

func TestAWaiterThatWasAskedGetsTheRequestWhenItHoldsTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		conn := connect()
		m := mutex(t, conn)
		holder := mustLock(t, m, "holder")
		done := make(chan *zklock.Lease)
		other := mutex(t, connect())
		go func() {
			l, _ := other.Lock(t.Context(), zklock.NewOwner("waiter"))
			done <- l
		}()
		time.Sleep(time.Second) // until it waits
		all, err := m.Participants(t.Context())
		require.NoError(t, err)
		require.NoError(t, m.Revoke(t.Context(), all[1]))
		require.NoError(t, holder.Unlock(t.Context()))
		waiter := <-done
		<-waiter.RevokeRequested()
		require.NoError(t, waiter.Unlock(t.Context()))
	})
}

func TestCuratorsWayOfAskingIsUnderstoodAndSpoken(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		conn := connect()
		m := mutex(t, conn)
		holder := mustLock(t, m, "holder")
		all, err := m.Participants(t.Context())
		require.NoError(t, err)
		_, err = conn.Set(all[0].Node, []byte("__REVOKE__"), -1) // as Curator's Revoker does
		require.NoError(t, err)
		<-holder.RevokeRequested()
		theirs, err := conn.Create(lockPath+"/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", []byte("192.0.2.1"),
			zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.NoError(t, m.Revoke(t.Context(), zklock.Participant{Node: theirs}))
		node, _ := srv.Node(theirs)
		require.Equal(t, "__REVOKE__", string(node.Data))
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestRevokeOfSomethingElseIsAnErrorAndChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		conn := connect()
		m := mutex(t, conn)
		holder := mustLock(t, m, "holder")
		_, err := conn.Create(lockPath+"/config", []byte("x"), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		for _, node := range []string{"", lockPath, lockPath + "/config", "/elsewhere/lock-0000000000", "lock-0000000000"} {
			require.Error(t, m.Revoke(t.Context(), zklock.Participant{Node: node}), node)
		}
		node, _ := srv.Node(lockPath + "/config")
		require.Equal(t, "x", string(node.Data))
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestDoUnlocksWhateverHappens(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		m := mutex(t, connect())
		owner := zklock.NewOwner("owner")
		oops := errors.New("oops")
		free := func() {
			t.Helper()
			require.Empty(t, srv.Children(lockPath), "the lock is held still")
		}
		require.NoError(t, m.Do(t.Context(), owner, func(ctx context.Context, l *zklock.Lease) error {
			require.NoError(t, ctx.Err())
			require.Positive(t, l.Token())
			require.Len(t, srv.Children(lockPath), 1)
			return nil
		}))
		free()
		require.ErrorIs(t, m.Do(t.Context(), owner, func(context.Context, *zklock.Lease) error { return oops }), oops)
		free()
		require.PanicsWithValue(t, oops, func() {
			m.Do(t.Context(), owner, func(context.Context, *zklock.Lease) error { panic(oops) })
		})
		free()
		ctx, cancel := context.WithCancel(t.Context())
		err := m.Do(ctx, owner, func(ctx context.Context, l *zklock.Lease) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, zklock.ErrLost)
		free()
		called := false
		require.ErrorIs(t, m.Do(ctx, owner, func(context.Context, *zklock.Lease) error { called = true; return nil }),
			context.Canceled)
		require.False(t, called, "f is called without the lock")
	})
}

func TestDoEndsTheCtxWhenTheLockIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		conn := connect()
		m := mutex(t, conn)
		for _, want := range []error{nil, context.Canceled} {
			err := m.Do(t.Context(), zklock.NewOwner("owner"), func(ctx context.Context, l *zklock.Lease) error {
				require.True(t, srv.Expire(conn.SessionID()))
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
				return want
			})
			require.ErrorIs(t, err, zklock.ErrLost)
			if want != nil {
				require.ErrorIs(t, err, want)
			}
			synctest.Wait()
			require.Empty(t, srv.Children(lockPath))
		}
	})
}

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		conn := connect()
		for _, p := range []string{"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x1f", "/a\u0085", "/\ufff1"} {
			_, err := zklock.New(conn, p)
			require.ErrorIs(t, err, zk.ErrInvalidPath, "%q", p)
			require.ErrorContains(t, err, "zklock: ", "%q", p)
		}
		_, err := zklock.New(conn, "/zürich/锁")
		require.NoError(t, err)
		_, err = zklock.New(nil, lockPath)
		require.Error(t, err)
		for _, o := range []zklock.Option{
			zklock.WithSessionTimeout(0), zklock.WithSessionTimeout(-time.Second), zklock.WithACL(nil),
			zklock.WithData(make([]byte, 64<<10+1)),
		} {
			_, err := zklock.New(conn, lockPath, o)
			require.ErrorContains(t, err, lockPath)
		}
		m := mutex(t, conn, zklock.WithData(make([]byte, 64<<10)))
		l := mustLock(t, m, "owner")
		require.NoError(t, l.Unlock(t.Context()))
		require.ErrorIs(t, l.Unlock(t.Context()), zklock.ErrUnlocked)
	})
}

func TestUnlockReturnsARefusalOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		admin := connect()
		m := mutex(t, connect())
		l := mustLock(t, m, "owner")
		_, err := admin.SetACL(lockPath, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1)
		require.NoError(t, err)
		err = l.Unlock(t.Context())
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, lockPath)
		_, err = admin.SetACL(lockPath, zk.WorldACL(zk.PermAll), -1)
		require.NoError(t, err)
		require.NoError(t, l.Unlock(t.Context()), "Unlock, called again, waits until the node may go")
		require.Empty(t, srv.Children(lockPath))
	})
}

// TestParticipantsAreInOrderWhereTheNumbersWrap: the server's counter goes on
// from 2³¹-1 with -2³¹.
func TestParticipantsAreInOrderWhereTheNumbersWrap(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		tb.makeTop(admin)
		nodes := []string{top + "/lock-2147483646", top + "/lock-2147483647", top + "/lock--2147483648", top + "/lock--2147483647"}
		for _, node := range nodes {
			_, err := admin.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(tb, err)
		}
		queue, err := tb.mutex(tb.connect()).Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, len(nodes))
		for i, node := range nodes {
			require.Equal(tb, node, queue[i].Node)
			require.Equal(tb, i, queue[i].Position)
		}
	})
}

// TestAnOwnerHasItsNameThoughThatIsNotText: the record is JSON, which has text only.
func TestAnOwnerHasItsNameThoughThatIsNotText(t *testing.T) {
	inBubble(t, func(t *testing.T, srv *zkserver.Server, connect func() *zk.Conn) {
		l := mustLock(t, mutex(t, connect()), "caf\xe9")
		queue, err := mutex(t, connect()).Participants(t.Context())
		require.NoError(t, err)
		require.Equal(t, "caf\xe9", queue[0].Owner)
		require.NoError(t, l.Unlock(t.Context()))
	})
}
