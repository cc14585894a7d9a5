// Tests of Participants, Revoke, Do and New, for which one client or two are enough. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path"
	"slices"
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

// Participants returns all contenders, of Curator too, with what a waiter will hold the lock with, and nothing else.
func TestParticipantsAreShownInTheOrderOfTheQueue(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		a := tb.mutex(tb.connect(), zklock.WithData([]byte("host a\n\xff")))
		require.Empty(tb, tb.participants(a), "of a parent that is not there")

		first := tb.mustLock(a, zklock.NewOwner("first"))
		other := tb.connect()
		tb.create(other, lockPath+"/config", "", zk.FlagPersistent)
		curator := tb.create(other, curatorNode, "192.0.2.1", zk.FlagEphemeralSequential)
		waiter := startWaiter(tb.mutex(other, zklock.WithData(nil)), zklock.NewOwner("last"))

		all := tb.participants(a)
		require.Len(tb, all, 3)
		require.Regexp(tb, "^"+lockPath+"/_c_[0-9a-f]{32}-lock-0000000003$", all[2].Node)
		lastToken := all[2].Token
		require.Equal(tb, first.Token(), all[0].Token)
		for i := range all { // what differs from run to run is compared with the node, and then left out
			node := tb.stored(all[i].Node)
			require.Equal(tb, tokenOf(node), all[i].Token, "what a waiter will hold the lock with, too")
			require.Equal(tb, node.Stat.EphemeralOwner, all[i].Session)
			require.Equal(tb, node.Stat.Ctime, all[i].Since.UnixMilli())
			all[i].Token, all[i].Session, all[i].Since = 0, 0, time.Time{}
		}

		require.Equal(tb, []zklock.Participant{
			{Owner: "first", Data: []byte("host a\n\xff"), Position: 0, Holds: true, Node: first.Node(), Library: "zklock"},
			{Owner: "", Data: []byte("192.0.2.1"), Position: 1, Node: curator, Library: "Curator mutex"},
			{Owner: "last", Data: nil, Position: 2, Node: all[2].Node, Library: "zklock"},
		}, all)

		tb.mustUnlock(first)
		tb.delete(other, curator)
		last := tb.receiveLease(waiter)
		require.Equal(tb, all[2].Node, last.Node())
		require.Equal(tb, lastToken, last.Token())
		require.Equal(tb, all[0].Node, first.Node(), "it is known after Unlock, too")
		tb.mustUnlock(last)
	})
}

// Participants does not show a contender whose node goes after the list, before it is read.
func TestAParticipantThatLeavesMeanwhileIsNotShown(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()))
		m := tb.mutex(tb.connect())
		held := tb.srv.Hold(zkserver.On(jute.OpGetData, ""))
		done := inBackground(func() error {
			all, err := m.Participants(tb.Context())
			require.Empty(tb, all, "a participant is shown that has left")
			return err
		})
		<-held.Hit()
		tb.mustUnlock(holder)
		held.Release()
		require.NoError(tb, <-done)
	})
}

// A holder receives a request to release the lock. A waiter that was asked receives it when it holds the lock.
func TestAHolderIsAskedForTheLock(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect(), zklock.WithData([]byte("who"))), zklock.NewOwner("holder"))
		waiter := startQueuedWaiter(tb.mutex(tb.connect()))
		require.False(tb, isClosed(holder.RevokeRequested()), "nobody has asked")
		m := tb.mutex(tb.connect())
		all := tb.participants(m)
		require.Len(tb, all, 2)
		for _, p := range slices.Repeat(all, 2) { // each may be asked more than once
			require.NoError(tb, m.Revoke(tb.Context(), p))
		}
		<-holder.RevokeRequested()
		require.Equal(tb, all, tb.participants(m), "a holder that is asked is not shown as before")
		require.False(tb, isClosed(holder.Lost()), "a holder that is asked has lost the lock")
		tb.mustUnlock(holder)
		require.NoError(tb, m.Revoke(tb.Context(), all[0]), "that it has gone is not an error")
		next := tb.receiveLease(waiter)
		<-next.RevokeRequested()
		tb.mustUnlock(next)
	})
}

// A holder reads requests of Curator's Revoker; Revoke asks a Curator mutex like that, and refuses a LeaderSelector.
func TestCuratorsWayOfAskingIsUnderstoodAndSpoken(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		conn := tb.connect()
		m := tb.mutex(conn, zklock.WithData([]byte("the host")))
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		tb.set(conn, holder.Node(), curatorRevoke) // as Curator's Revoker does
		<-holder.RevokeRequested()
		synctest.Wait() // until the record is written again
		first := tb.participants(m)[0]
		require.Equal(tb, "holder", first.Owner)
		require.Equal(tb, "the host", string(first.Data))

		theirs := tb.create(conn, curatorNode, "192.0.2.1", zk.FlagEphemeralSequential)
		require.NoError(tb, m.Revoke(tb.Context(), zklock.Participant{Node: theirs}))
		require.Equal(tb, curatorRevoke, string(tb.stored(theirs).Data))
		selector := tb.create(conn, curatorNode, "web-7:8080", zk.FlagEphemeralSequential)
		require.ErrorIs(tb, m.Revoke(tb.Context(), zklock.Participant{Node: selector}), zklock.ErrNotAsked)
		require.Equal(tb, "web-7:8080", string(tb.stored(selector).Data), "the id of a LeaderSelector")
		tb.mustUnlock(holder)
	})
}

// Do unlocks after its function has returned, failed or panicked, after the lock is lost, and after the end of its ctx.
func TestDoUnlocksWhateverHappens(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		oops := errors.New("oops")
		requireFree := func() { require.Empty(tb, tb.srv.Children(lockPath), "the lock is still held") }

		require.NoError(tb, m.Do(tb.Context(), owner, func(ctx context.Context, l *zklock.Lease) error {
			require.NoError(tb, ctx.Err())
			require.Positive(tb, l.Token())
			require.Len(tb, tb.srv.Children(lockPath), 1)
			return nil
		}))
		requireFree()
		require.ErrorIs(tb, m.Do(tb.Context(), owner, func(context.Context, *zklock.Lease) error { return oops }), oops)
		requireFree()
		require.PanicsWithValue(tb, oops, func() {
			m.Do(tb.Context(), owner, func(context.Context, *zklock.Lease) error { panic(oops) })
		})
		requireFree()
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
			requireFree()
		}

		ctx, cancel := context.WithCancel(tb.Context())
		err := m.Do(ctx, owner, func(ctx context.Context, l *zklock.Lease) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(tb, err, context.Canceled)
		require.NotErrorIs(tb, err, zklock.ErrLost)
		requireFree()
		called := false
		require.ErrorIs(tb, m.Do(ctx, owner, func(context.Context, *zklock.Lease) error { called = true; return nil }),
			context.Canceled)
		require.False(tb, called, "f is called without the lock")
	})
}

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	withEachClient(t, func(tb *serverTest) {
		conn := tb.connectWith(ensemble.Options{})
		for _, invalid := range []string{"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x1f", "/a\u0085", "/\ufff1",
			"/a/\U00010000", "/\U0010FFFF/a", "/a\U0001F512b", "/\ufff0", "/\uf8ff", "/\ue000", "/\u0001", "/\u007f", "/\u009f"} {
			_, err := zklock.New(conn, invalid)
			require.ErrorIs(tb, err, zk.ErrInvalidPath, "%q", invalid)
			require.ErrorContains(tb, err, "zklock: ", "%q", invalid)
		}
		for _, valid := range []string{"/zürich/锁", "/lock/ ", "/lock/~", "/lock/\u00a0", "/lock/\ud7ff", "/lock/\uf900", "/lock/\uffef"} {
			tb.lockAndUnlock(mutexAt(conn, valid))
		}
		require.Error(tb, testenv.Err(zklock.New(nil, lockPath)))
		for _, option := range []zklock.Option{
			zklock.WithSessionTimeout(0), zklock.WithSessionTimeout(-time.Second), zklock.WithACL(nil),
			zklock.WithData(make([]byte, 64<<10+1)),
			zklock.WithSessionTimeout(math.MaxInt32*time.Millisecond + 1), zklock.WithSessionTimeout(math.MaxInt64), // no server agrees to it
			zklock.WithHandOver(0, time.Second), zklock.WithHandOver(1025, time.Second), zklock.WithHandOver(2, -1), zklock.WithCaching(-1), nil,
			zklock.WithLogger(nil), zklock.WithLogger((*slog.Logger)(nil)),
		} {
			require.ErrorContains(tb, testenv.Err(zklock.New(conn, lockPath, option)), lockPath)
		}
		tb.mutex(conn, zklock.WithSessionTimeout(math.MaxInt32*time.Millisecond), zklock.WithHandOver(1, 0), zklock.WithHandOver(1024, 0))
		m := tb.mutex(conn, zklock.WithData(make([]byte, 64<<10)))
		l := tb.mustLock(m)
		tb.mustUnlock(l)
		require.ErrorIs(tb, l.Unlock(tb.Context()), zklock.ErrUnlocked)
	})
}

// Revoke refuses the path of a node that is not written exactly as Participants returns it, and then sends no request.
func TestRevokeTakesTheNodeOfAParticipantExactlyAsItIs(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tap := new(wiretap.Tap)
		conn := tb.connectOrdinaryWith(ordinary{wrap: tapped(tap)})
		holder := tb.mustLock(tb.mutex(tb.connect()))
		m := tb.mutex(conn)
		name := path.Base(holder.Node())
		for _, node := range []string{ // first paths of the node in another form, then those of other nodes
			lockPath + "//" + name, "/" + lockPath + "/" + name, lockPath + "/./" + name,
			lockPath + "/x/../" + name, lockPath + "/" + name + "/", "lock/" + name, lockPath + "/_c_x/y-lock-0000000000",
			"", lockPath, lockPath + "/config", "/elsewhere/lock-0000000000", "lock-0000000000",
		} {
			before := tap.Counts()
			err := m.Revoke(context.Background(), zklock.Participant{Node: node})
			require.Error(tb, err, node)
			require.NotErrorIs(tb, err, zk.ErrInvalidPath, "it has come as far as the client")
			require.Zero(tb, tap.Counts().Since(before).Total(), "requests for %s", node)
		}
		require.False(tb, isClosed(holder.RevokeRequested()))
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: tb.nodeAt(0)}))
		time.Sleep(untilNodeIsWatched)
		require.True(tb, isClosed(holder.RevokeRequested()))
		tb.mustUnlock(holder)
	})
}

// Revoke writes nothing after its ctx has ended and it has returned.
func TestRevokeStopsWhenItsCtxEnds(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		holder := tb.mustLock(tb.mutex(tb.connect()))
		conn := tb.connectOrdinary()
		late := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetData, ""))
		ctx, cancel := context.WithCancel(context.Background())
		asked := inBackground(func() error { return tb.mutex(conn).Revoke(ctx, zklock.Participant{Node: tb.nodeAt(0)}) })
		<-late.Hit()
		cancel()
		require.ErrorIs(tb, <-asked, context.Canceled)
		late.Release()
		time.Sleep(time.Minute) // long enough for the write, and for the holder to read it
		require.False(tb, isClosed(holder.RevokeRequested()))
		tb.mustUnlock(holder)
	})
}

// Revoke does not ask another contender whose node has the same name, because the parent was made again.
func TestRevokeAsksNoOtherNodeOfTheName(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin := tb.makeParent()
		m := tb.mutex(admin)
		node := tb.createForeign(admin)
		all := tb.participants(m)
		tb.delete(admin, node)
		tb.remakeParent(admin)
		require.Equal(tb, node, tb.createForeign(admin))
		require.NoError(tb, m.Revoke(context.Background(), all[0]))
		require.Empty(tb, tb.stored(node).Data, "it was asked")
	})
}

// Revoke finds a holder by the token of its lease. That is higher than the one that Participants computes from the
// czxid, if the node before the holder's has gone after the holder's was made, and before it listed the queue.
func TestAHolderIsAskedByTheTokenOfItsLease(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		before := tb.mustLock(tb.mutex(tb.connect()))
		m := tb.mutex(conn)
		list := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
		turn := startLock(context.Background(), m)
		<-list.Hit()
		tb.mustUnlock(before)
		list.Release()
		l := tb.receiveLease(turn)
		require.NoError(tb, m.Revoke(context.Background(), zklock.Participant{Node: l.Node(), Token: l.Token()}))
		time.Sleep(sessionTimeout) // by then its node has been read
		require.True(tb, isClosed(l.RevokeRequested()), "the holder is not asked")
		tb.mustUnlock(l)
	})
}

// Participants reads a hundred nodes at a time, and no others after its ctx has ended.
func TestParticipantsAreReadSideBySide(t *testing.T) {
	const nodes, atATime = 150, 100
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		tb.makeParent()
		for range nodes {
			tb.create(conn, lockPath+"/lock-", "", zk.FlagSequence)
		}
		for _, ctxEnds := range []bool{false, true} {
			reads := tb.countRequests(zkserver.On(jute.OpGetData, ""))
			answers := tb.srv.HoldReply(requestOf(conn.SessionID(), jute.OpGetData, "")).Every()
			ctx, cancel := context.WithCancel(context.Background())
			all := inBackground(func() error {
				queue, err := tb.mutex(conn).Participants(ctx)
				require.True(tb, ctxEnds || len(queue) == nodes)
				return err
			})
			synctest.Wait()
			require.EqualValues(tb, atATime, reads.Load())

			want := nodes
			if ctxEnds {
				want = atATime
				cancel()
				require.ErrorIs(tb, <-all, context.Canceled)
			}
			answers.Release()
			time.Sleep(time.Minute) // long enough for all that would be asked
			require.EqualValues(tb, want, reads.Load())
			if !ctxEnds {
				require.NoError(tb, <-all)
			}
			cancel()
		}
	})
}
