package zklock_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func TestParticipantsAreShownInTheOrderOfTheQueue(t *testing.T) {
	onEachClient(t, func(tb *table) {
		a := tb.mutex(tb.connect(), zklock.WithData([]byte("host a\n\xff")))
		require.Empty(tb, tb.participants(a), "of a top that is not there")

		first := tb.mustLock(a, zklock.NewOwner("first"))
		other := tb.connect()
		tb.create(other, top+"/config", "", zk.FlagPersistent)
		curator := tb.create(other, top+"/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", "192.0.2.1", zk.FlagEphemeralSequential)
		done := lockAside(tb.Context(), tb.mutex(other, zklock.WithData(nil)), zklock.NewOwner("last"))
		synctest.Wait()

		all := tb.participants(a)
		require.Len(tb, all, 3)
		require.Regexp(tb, "^"+top+"/_c_[0-9a-f]{32}-lock-0000000003$", all[2].Node)
		tokens := []int64{first.Token(), 0, all[2].Token}
		require.Equal(tb, tokens[0], all[0].Token)
		for i := range all {
			node, _ := tb.srv.Node(all[i].Node)
			require.Equal(tb, node.Stat.Czxid<<10, all[i].Token, "what a waiter will hold the lock with, too")
			require.Equal(tb, node.Stat.EphemeralOwner, all[i].Session)
			require.Equal(tb, node.Stat.Ctime, all[i].Since.UnixMilli())
			all[i].Token, all[i].Session, all[i].Since = 0, 0, time.Time{}
		}
		require.Equal(tb, []zklock.Participant{
			{Owner: "first", Data: []byte("host a\n\xff"), Position: 0, Holds: true, Node: first.Node(), Library: "zklock"},
			{Owner: "", Data: []byte("192.0.2.1"), Position: 1, Node: curator, Library: "Curator mutex"},
			{Owner: "last", Data: nil, Position: 2, Node: all[2].Node, Library: "zklock"},
		}, all)

		require.NoError(tb, first.Unlock(tb.Context()))
		require.NoError(tb, other.Delete(curator, -1))
		last := gets(tb, done)
		require.Equal(tb, all[2].Node, last.Node())
		require.Equal(tb, tokens[2], last.Token())
		require.Equal(tb, all[0].Node, first.Node(), "it is known after Unlock, too")
		require.NoError(tb, last.Unlock(tb.Context()))
	})
}

func TestAParticipantThatLeavesMeanwhileIsNotShown(t *testing.T) {
	onEachClient(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		m := tb.mutex(tb.connect())
		held := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpGetData })
		done := aside(func() error {
			all, err := m.Participants(tb.Context())
			if err == nil && len(all) > 0 {
				err = errors.New("somebody is shown who has left")
			}
			return err
		})
		<-held.Hit()
		require.NoError(tb, holder.Unlock(tb.Context()))
		held.Release()
		require.NoError(tb, <-done)
	})
}

// TestAHolderIsAskedForTheLock, and a waiter that was asked gets the request when it holds the lock.
func TestAHolderIsAskedForTheLock(t *testing.T) {
	onEachClient(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect(), zklock.WithData([]byte("who"))), zklock.NewOwner("holder"))
		waiter := queues(tb.mutex(tb.connect()))
		require.False(tb, isClosed(holder.RevokeRequested()), "nobody has asked")
		m := tb.mutex(tb.connect())
		all := tb.participants(m)
		require.Len(tb, all, 2)
		for _, p := range append(all, all...) { // each may be asked more than once
			require.NoError(tb, m.Revoke(tb.Context(), p))
		}
		<-holder.RevokeRequested()
		require.Equal(tb, all, tb.participants(m), "a holder that is asked is not shown as before")
		require.False(tb, isClosed(holder.Lost()), "a holder that is asked has lost the lock")
		require.NoError(tb, holder.Unlock(tb.Context()))
		require.NoError(tb, m.Revoke(tb.Context(), all[0]), "that it has gone is not an error")
		next := gets(tb, waiter)
		<-next.RevokeRequested()
		require.NoError(tb, next.Unlock(tb.Context()))
	})
}

func TestCuratorsWayOfAskingIsUnderstoodAndSpoken(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connect()
		m := tb.mutex(conn, zklock.WithData([]byte("the host")))
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		tb.set(conn, holder.Node(), "__REVOKE__") // as Curator's Revoker does
		<-holder.RevokeRequested()
		synctest.Wait() // until the record is written again
		first := tb.participants(m)[0]
		require.Equal(tb, "holder", first.Owner)
		require.Equal(tb, "the host", string(first.Data))
		theirs := tb.create(conn, top+"/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", "192.0.2.1", zk.FlagEphemeralSequential)
		require.NoError(tb, m.Revoke(tb.Context(), zklock.Participant{Node: theirs}))
		node, _ := tb.srv.Node(theirs)
		require.Equal(tb, "__REVOKE__", string(node.Data))
		selector := tb.create(conn, top+"/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-", "web-7:8080", zk.FlagEphemeralSequential)
		require.ErrorIs(tb, m.Revoke(tb.Context(), zklock.Participant{Node: selector}), zklock.ErrNotAsked)
		node, _ = tb.srv.Node(selector)
		require.Equal(tb, "web-7:8080", string(node.Data), "the id of a LeaderSelector")
		require.NoError(tb, holder.Unlock(tb.Context()))
	})
}

func TestDoUnlocksWhateverHappens(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		oops := errors.New("oops")
		free := func() {
			tb.Helper()
			require.Empty(tb, tb.srv.Children(top), "the lock is held still")
		}
		require.NoError(tb, m.Do(tb.Context(), owner, func(ctx context.Context, l *zklock.Lease) error {
			require.NoError(tb, ctx.Err())
			require.Positive(tb, l.Token())
			require.Len(tb, tb.srv.Children(top), 1)
			return nil
		}))
		free()
		require.ErrorIs(tb, m.Do(tb.Context(), owner, func(context.Context, *zklock.Lease) error { return oops }), oops)
		free()
		require.PanicsWithValue(tb, oops, func() {
			m.Do(tb.Context(), owner, func(context.Context, *zklock.Lease) error { panic(oops) })
		})
		free()
		for _, want := range []error{nil, oops} {
			err := m.Do(tb.Context(), owner, func(ctx context.Context, l *zklock.Lease) error {
				require.True(tb, tb.srv.Expire(conn.SessionID()))
				<-ctx.Done()
				require.ErrorIs(tb, context.Cause(ctx), zklock.ErrLost)
				return want
			})
			require.ErrorIs(tb, err, zklock.ErrLost)
			require.Equal(tb, want != nil, errors.Is(err, oops))
			synctest.Wait()
			free()
		}
		ctx, cancel := context.WithCancel(tb.Context())
		err := m.Do(ctx, owner, func(ctx context.Context, l *zklock.Lease) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(tb, err, context.Canceled)
		require.NotErrorIs(tb, err, zklock.ErrLost)
		free()
		called := false
		require.ErrorIs(tb, m.Do(ctx, owner, func(context.Context, *zklock.Lease) error { called = true; return nil }),
			context.Canceled)
		require.False(tb, called, "f is called without the lock")
	})
}

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connectWith(ensemble.Options{})
		for _, p := range []string{"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x1f", "/a\u0085", "/\ufff1",
			"/a/\U00010000", "/\U0010FFFF/a", "/a\U0001F512b", "/\ufff0", "/\uf8ff", "/\ue000", "/\u0001", "/\u007f", "/\u009f"} {
			_, err := zklock.New(conn, p)
			require.ErrorIs(tb, err, zk.ErrInvalidPath, "%q", p)
			require.ErrorContains(tb, err, "zklock: ", "%q", p)
		}
		for _, p := range []string{"/zürich/锁", "/lock/ ", "/lock/~", "/lock/\u00a0", "/lock/\ud7ff", "/lock/\uf900", "/lock/\uffef"} { // servers take them
			require.NoError(tb, tb.mustLock(tb.mutexAt(p, conn), nil).Unlock(tb.Context()))
		}
		require.Error(tb, testenv.Err(zklock.New(nil, top)))
		for _, o := range []zklock.Option{
			zklock.WithSessionTimeout(0), zklock.WithSessionTimeout(-time.Second), zklock.WithACL(nil),
			zklock.WithData(make([]byte, 64<<10+1)),
			zklock.WithSessionTimeout(math.MaxInt32*time.Millisecond + 1), zklock.WithSessionTimeout(math.MaxInt64), // no server agrees to it
			zklock.WithHandOver(0, time.Second), zklock.WithHandOver(1025, time.Second), zklock.WithHandOver(2, -1), zklock.WithCaching(-1), nil,
			zklock.WithLogger(nil), zklock.WithLogger((*slog.Logger)(nil)),
		} {
			require.ErrorContains(tb, testenv.Err(zklock.New(conn, top, o)), top)
		}
		tb.mutex(conn, zklock.WithSessionTimeout(math.MaxInt32*time.Millisecond), zklock.WithHandOver(1, 0), zklock.WithHandOver(1024, 0))
		m := tb.mutex(conn, zklock.WithData(make([]byte, 64<<10)))
		l := tb.mustLock(m, zklock.NewOwner("owner"))
		require.NoError(tb, l.Unlock(tb.Context()))
		require.ErrorIs(tb, l.Unlock(tb.Context()), zklock.ErrUnlocked)
	})
}

// notExactly are paths that lead to a node of the queue only after a clean-up that
// no server does, and paths of something else.
func notExactly(name string) []string {
	return []string{
		top + "//" + name, "/" + top + "/" + name, top + "/./" + name,
		top + "/x/../" + name, top + "/" + name + "/", "lock/" + name, top + "/_c_x/y-lock-0000000000",
		"", top, top + "/config", "/elsewhere/lock-0000000000", "lock-0000000000",
	}
}

func TestRevokeTakesTheNodeOfAParticipantExactlyAsItIs(t *testing.T) {
	onTable(t, func(tb *table) {
		tap := new(wiretap.Tap)
		conn := tb.connectAs(ordinary{wrap: tapped(tap)})
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		m := tb.mutex(conn)
		for _, node := range notExactly(path.Base(holder.Node())) {
			before := tap.Counts()
			err := m.Revoke(context.Background(), zklock.Participant{Node: node})
			require.Error(tb, err, node)
			require.NotErrorIs(tb, err, zk.ErrInvalidPath, "it has come as far as the client")
			require.Zero(tb, tap.Counts().Since(before).Total(), "requests for %s", node)
		}
		require.False(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: tb.node(0)}))
		time.Sleep(2 * time.Second) // until the holder's node is watched
		require.True(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestRevokeAsksNoOtherNodeOfTheName: the parent was made again, and its numbers begin again.
func TestRevokeAsksNoOtherNodeOfTheName(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.makeTop()
		m := tb.mutex(admin)
		enqueue := func() string { return tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential) }
		node := enqueue()
		all := tb.participants(m)
		require.NoError(tb, admin.Delete(node, -1))
		tb.remakeTop(admin)
		require.Equal(tb, node, enqueue())
		require.NoError(tb, m.Revoke(context.Background(), all[0]))
		another, ok := tb.srv.Node(node)
		require.True(tb, ok)
		require.Empty(tb, another.Data, "it was asked")
	})
}

// TestAHolderIsAskedByTheTokenOfItsLease, which may be higher than the czxid of its
// node: the node before it has gone since.
func TestAHolderIsAskedByTheTokenOfItsLease(t *testing.T) {
	onOrdinary(t, func(tb *table, conn *zk.Conn) {
		before := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("before"))
		m := tb.mutex(conn)
		list := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, top))
		turn := lockAside(context.Background(), m, zklock.NewOwner("holder"))
		<-list.Hit()
		require.NoError(tb, before.Unlock(context.Background()))
		list.Release()
		l := gets(tb, turn)
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: l.Node(), Token: l.Token()}))
		time.Sleep(10 * time.Second) // by then its node has been read
		require.True(tb, isClosed(l.RevokeRequested()), "the holder is not asked")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestParticipantsAreReadSideBySide, a hundred at a time, and no others once ctx has ended.
func TestParticipantsAreReadSideBySide(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		tb.makeTop()
		for range 150 {
			tb.create(conn, top+"/lock-", "", zk.FlagSequence)
		}
		for _, ends := range []bool{false, true} {
			var reads atomic.Int32
			count := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpGetData && reads.Add(1) < 0 })
			answers := tb.srv.HoldReply(of(conn.SessionID(), jute.OpGetData, "")).Every()
			ctx, cancel := context.WithCancel(context.Background())
			all := aside(func() error {
				queue, err := tb.mutex(conn).Participants(ctx)
				require.True(tb, ends || len(queue) == 150)
				return err
			})
			synctest.Wait()
			require.EqualValues(tb, 100, reads.Load())
			if ends {
				cancel()
				require.ErrorIs(tb, <-all, context.Canceled)
			}
			answers.Release()
			time.Sleep(time.Minute) // long enough for all that would be asked
			require.EqualValues(tb, map[bool]int{false: 150, true: 100}[ends], reads.Load())
			if !ends {
				require.NoError(tb, <-all)
			}
			cancel()
			count.Release()
		}
	})
}
