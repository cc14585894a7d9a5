// Tests of a contender's node: record, token, delete and parent. Helpers are in helpers_test.go and caching_test.go.
package zklock_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// A request to release the lock reaches the holder although it comes while the holder repairs its record.
func TestARevokeOutlastsARepair(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		holder := tb.mustLock(tb.mutex(conn))
		time.Sleep(untilNodeIsWatched)
		repair := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpSetData, tb.nodeAt(0)))
		tb.set(admin, tb.nodeAt(0), "mine")
		<-repair.Hit()
		tb.set(admin, tb.nodeAt(0), curatorRevoke) // as Curator's Revoker does
		repair.Release()
		synctest.Wait()
		require.True(tb, isClosed(holder.RevokeRequested()), "the repair has written over the request")
		tb.mustUnlock(holder)
	})
}

// A lease is not lost when its holder loses the rights to read its node and to list the queue. The holder reads and
// lists only to make up for a lost event; its session is proved without that.
func TestALeaseOutlastsTheRightToRead(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		ours := tb.mutex(conn, cacheAlways...)
		tb.srv.Fail(jute.ErrNoAuth, requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
		tb.lockAndUnlock(ours)
		tb.requireNotCached(ours) // without the list, others would wait for a node that is kept
		tb.lockAndLeaveCached(ours)
		l := tb.mustLock(ours)
		time.Sleep(untilNodeIsWatched)
		tb.allow(admin, tb.nodeAt(0), zk.PermAll&^zk.PermRead)
		refused := tb.srv.Fail(jute.ErrNoAuth, requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath)).Every()
		time.Sleep(time.Minute) // long enough for the lease to be lost by mistake
		tb.mustUnlock(l)
		require.NotEmpty(tb, refused.Hit())
	})
}

// After an event or a read has shown that the holder's node has gone, no read and no delete of the node is sent.
func TestANodeThatHasGoneIsNotAskedFor(t *testing.T) {
	for what, goes := range map[string]func(tb *serverTest, conn, admin *zk.Conn, node string){
		"with its session": func(tb *serverTest, conn, _ *zk.Conn, _ string) { tb.srv.Expire(conn.SessionID()) },
		"by hand":          func(tb *serverTest, _, admin *zk.Conn, node string) { tb.delete(admin, node) },
	} {
		onServerCase(t, what, func(tb *serverTest) {
			conn, admin := tb.connect(), tb.connect()
			m := tb.mutex(conn)
			holder := tb.mustLock(m)
			time.Sleep(untilNodeIsWatched)
			node := tb.nodeAt(0)
			asked := tb.countRequests(func(r zkserver.Request) bool { return r.Path == node && r.Session != admin.SessionID() })
			goes(tb, conn, admin, node)
			time.Sleep(10 * time.Second) // until the client has another session
			require.Zero(tb, asked.Load())
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// A contender that may not list the queue looks for its node, whose create was not answered, until its session ends.
func TestASearchThatIsRefusedEndsWithItsSession(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		tb.allow(tb.makeParent(), lockPath, zk.PermAll&^zk.PermRead)
		m := tb.mutex(conn)
		lost := tb.srv.LoseReply(createRequestOf(conn.SessionID()))
		_, err := m.Lock(context.Background(), zklock.NewOwner("owner"))
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		require.ErrorIs(tb, m.Shutdown(tb.within(time.Minute)), context.DeadlineExceeded, "it is looked for until it is found")
		tb.srv.Expire(conn.SessionID())
		require.NoError(tb, m.Shutdown(tb.within(time.Minute)))
	})
}

// farEpoch makes two zxids in answers too large for a token: czxid and pzxid, the first and the last field of a Stat,
// with which the answers to reads and lists end.
func farEpoch(nc net.Conn) net.Conn {
	return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		const header, stat = 4 + 4 + 8 + 4, 68 // bytes: of length, xid, zxid and error code; and of a Stat
		if n := len(packet); n >= header+stat {
			packet[n-stat], packet[n-8] = 0x40, 0x40 // the highest byte of each
		}
		return packet
	}})
}

// Lock fails if a token has no room for a zxid of a list or of a read: it would be lower than an earlier token.
func TestAZxidThatATokenHasNoRoomForIsAnError(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		far := func() *zklock.Mutex { return tb.mutex(tb.connectOrdinaryWith(ordinary{wrap: farEpoch})) }
		require.ErrorContains(tb, testenv.Err(far().Lock(context.Background(), nil)), "a token has room for 53 bits")
		holder := tb.mustLock(tb.mutex(tb.connect()))
		waiter := startQueuedWaiter(far())
		tb.mustUnlock(holder)
		require.ErrorContains(tb, (<-waiter).err, "a token has room for 53 bits")
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// The error of Lock has words for an error of the server for which the client has only a number.
func TestAnErrorThatTheClientKnowsByItsNumberIsNamed(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		for code, means := range map[jute.Code]string{-124: "enforce.auth.enabled", -125: "quota"} {
			conn := tb.connect()
			tb.srv.Fail(code, createRequestOf(conn.SessionID()))
			require.ErrorContains(tb, testenv.Err(tb.mutex(conn).Lock(context.Background(), nil)), means)
		}
	})
}

// Unlock returns ErrLost if the node is gone, although the client has dropped the delete before it was sent.
func TestUnlockReturnsErrLostThoughItsDeleteWasDropped(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin, conn := tb.connect(), tb.connectOrdinary()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn))
		away := tb.srv.LoseRequest(requestOf(id, jute.OpConnect, "")).Every() // no server accepts the client
		tb.srv.Cut(id)
		<-away.Hit()
		unlocked := inBackground(func() error { return holder.Unlock(context.Background()) })
		time.Sleep(1500 * time.Millisecond) // until the client has dropped the delete
		tb.delete(admin, tb.nodeAt(0))
		away.Release()
		require.ErrorIs(tb, <-unlocked, zklock.ErrLost)
	})
}

// A contender reads its token if another one has come before the list, which does not show the token then.
func TestATokenIsReadIfAnotherHasQueuedBeforeTheList(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tb.makeParent() // or the first makes it, and lists nothing
		conn := tb.connectOrdinary()
		list := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, lockPath))
		first := startLock(context.Background(), tb.mutex(conn))
		<-list.Hit()
		second := startQueuedWaiter(tb.mutex(tb.connect()))
		list.Release()
		got := tb.receiveLease(first)
		require.Equal(tb, tokenOf(tb.stored(got.Node())), got.Token())
		tb.handOverAndUnlock(got, second)
	})
}

// On a server that does not know containers, the parent is made as an ordinary node. Such a server answers with one of
// two codes; one that is not ZooKeeper's own closes the connection.
func TestAServerWithoutContainersGetsAnOrdinaryParent(t *testing.T) {
	makesContainer := zkserver.On(jute.OpCreateContainer, "")
	const closes = jute.Code(0) // the server closes the connection, and has no code
	for _, code := range []jute.Code{jute.ErrUnimplemented, jute.ErrBadArguments, closes} {
		for _, isOrdinary := range []bool{false, true} {
			onServerCase(t, fmt.Sprintf("%d, an ordinary client: %v", code, isOrdinary), func(tb *serverTest) {
				tb.ordinary = isOrdinary
				asked := tb.countRequests(makesContainer)
				refuse := func(when func(zkserver.Request) bool) *zkserver.Fault { return tb.srv.Fail(code, when) }
				if code == closes {
					refuse = tb.srv.LoseRequest
				}
				refused := refuse(makesContainer).Every()
				m := mutexAt(tb.connect(), "/a/b/c")
				l := testenv.Must(m.Lock(tb.within(10*time.Second), nil))(tb)
				require.False(tb, tb.stored("/a/b/c").Container)
				tb.mustUnlock(l)
				require.LessOrEqual(tb, asked.Load(), int32(5))
				refused.Release()
			})
		}
	}

	// After two closed connections, which may be an outage, a container is made all the same.
	onServer(t, func(tb *serverTest) {
		admin, m := tb.connect(), tb.mutex(tb.connect())
		for range 2 {
			for range 2 {
				tb.srv.LoseRequest(makesContainer)
			}
			tb.lockAndUnlock(m)
			require.True(tb, tb.stored(lockPath).Container)
			tb.delete(admin, lockPath)
		}
	})
}
