// Tests of what a waiter watches, when it gets the lock, and what it leaves if it gives up. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// The holder and the waiter are of one Mutex, each with a node of its own:
//  1. The server refuses to delete the holder's node for a while, so that the waiter comes while that is there.
//  2. The delete is carried out, and its reply is lost. The client's handshake is held back.
//  3. An operator removes the waiter's node, and the parent. The client gets no event of that. A stranger gets the lock.
//  4. The client is back, and deletes the holder's node again. It has gone: that must not let the waiter in.
func TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone(t *testing.T) {
	withClient(t, func(tb *serverTest, admin *zk.Conn) {
		conn := tb.connectOrdinaryWith(ordinary{wrap: func(nc net.Conn) net.Conn {
			return withoutWatchRace(withoutEvents("-lock-0000000001")(nc)) // the end of the waiter's node
		}})
		m, id := tb.mutex(conn), conn.SessionID()
		unlocked := tb.unlockWhileDeletesFail(id, tb.mustLock(m)) // step 1
		waiter := startWaiter(m)
		lost := tb.srv.LoseReply(requestOf(id, jute.OpDelete, ""))
		back := tb.srv.Hold(requestOf(id, jute.OpConnect, ""))
		<-lost.Hit() // step 2
		<-back.Hit()

		tb.delete(admin, tb.nodeAt(0)) // step 3
		tb.remakeParent(admin)
		next := tb.mustLock(tb.mutex(tb.connect()))
		back.Release() // step 4
		require.NoError(tb, <-unlocked)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in, and its node has gone")
		tb.handOverAndUnlock(next, waiter)
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// A contender looks at its own node before it takes the lock:
//  1. An operator overwrites the data of the contender's node, twice, so that it writes its record again.
//  2. While that is on its way, the contender's node and the holder's are deleted, and another contender gets the lock.
//  3. The contender goes on. Which of the two events it handles first is random: hence 20 tries.
func TestAContenderLooksAtItsNodeBeforeItTakesTheLock(t *testing.T) {
	for range 20 {
		onServer(t, func(tb *serverTest) {
			admin, conn := tb.connect(), tb.connectOrdinary()
			holder := tb.mustLock(tb.mutex(tb.connect()))
			waiter := startWaiter(tb.mutex(conn))
			node := tb.nodeAt(1)
			repairs := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpSetData, node))
			for range 2 {
				tb.set(admin, node, "scribble")
				synctest.Wait() // until it has read this, or, while the repair is held, has the event
			}
			<-repairs.Hit()
			tb.delete(admin, node)
			tb.mustUnlock(holder)
			synctest.Wait()

			tb.remakeParent(admin)
			next := tb.mustLock(tb.mutex(tb.connect()))
			looks := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetData, node))
			repairs.Release()
			select {
			case <-looks.Hit():
			case <-time.After(time.Second): // it has listed the queue, which has no node of it
			}
			synctest.Wait()
			require.Empty(tb, waiter, "two holders: the waiter had no node any more")
			looks.Release()
			tb.handOverAndUnlock(next, waiter)
		})
	}
}

// A slowCtx is a ctx that calls done before its Done returns, so that a test can delay the goroutine that reads it.
type slowCtx struct {
	context.Context
	done func()
}

func (c slowCtx) Done() <-chan struct{} { c.done(); return c.Context.Done() }

// A call whose ctx ends returns the error of the ctx, and not that of the request, although the goroutine of the
// request notices the end before the caller. With one processor the caller is the first to call Done, and sleeps there.
func TestACallThatIsStoppedSaysThatItsCtxHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
			m := tb.mutex(conn)
			late := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpSync, ""))
			ended, cancel := context.WithCancel(context.Background())
			var readers atomic.Int32
			ctx := slowCtx{ended, func() {
				if readers.Add(1) == 1 {
					time.Sleep(time.Minute) // as if the scheduler had other things to do
				}
			}}
			asked := inBackground(func() error { return testenv.Err(m.Participants(ctx)) })
			synctest.Wait()
			cancel()
			late.Release()
			require.ErrorIs(tb, <-asked, context.Canceled)
		})
	}
}

// The parent is made again before a contender lists the queue. The node of the same number is another contender's then.
func TestAForeignNodeOfTheSameNumberIsNotTakenForOursInTheFirstList(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin, conn := tb.makeParent(), tb.connectOrdinary()
		lists := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, ""))
		waiter := startLock(context.Background(), tb.mutex(conn))
		<-lists.Hit()
		tb.delete(admin, tb.nodeAt(0))
		tb.remakeParent(admin)
		foreign := tb.createForeign(admin)
		require.Equal(tb, lockPath+"/lock-0000000000", foreign)
		lists.Release()
		time.Sleep(time.Second) // for it to get in by mistake
		require.Empty(tb, waiter, "two holders: it takes another's node for its own")
		tb.delete(admin, foreign)
		got := tb.receiveLease(waiter)
		require.Equal(tb, tokenOf(tb.stored(got.Node())), got.Token(), "as the doc of Token says")
		tb.mustUnlock(got)
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// If a lease is over before Lock has returned it, because all servers have been silent, Lock queues again.
func TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn := tb.connectOrdinaryWith(ordinary{wrap: withoutWatchRace})
		ctx := slowCtx{context.Background(), sync.OnceFunc(func() {
			time.Sleep(time.Second) // it gets the lock meanwhile
			silence := tb.srv.Hold(anyRequestOf(conn.SessionID())).Every()
			time.Sleep(sessionTimeout * 3 / 2)
			time.AfterFunc(time.Second, silence.Release)
		})}
		tb.mustUnlock(testenv.Must(tb.mutex(conn).Lock(ctx, zklock.NewOwner("slow")))(tb))
	})
}

// A contender that is alone, and gets no event, queues again if its session ends before it is proved.
func TestAContenderWhoseSessionEndsBeforeItIsProvedQueuesAgain(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		tb.makeParent()
		id := conn.SessionID()
		created := tb.srv.HoldReply(createRequestOf(id))
		waiter := startLock(context.Background(), tb.mutex(conn))
		<-created.Hit()
		time.Sleep(2 * maxRoundTrip) // until the create is too old to prove a lease
		proof := tb.srv.Hold(requestOf(id, jute.OpMulti, ""))
		created.Release()
		<-proof.Hit()
		tb.srv.Expire(id)
		proof.Release()
		tb.receiveAndUnlock(waiter)
	})
}

// The error of a waiter whose ctx ends says what is wrong with the server, although none of its requests has failed.
func TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer(t *testing.T) {
	const patience = 1500 * time.Millisecond // of the waiter's ctx
	handshakeOf := func(id int64) zkserver.Condition { return requestOf(id, jute.OpConnect, "") }
	for _, c := range []struct {
		what, want  string // want is a part of the error
		cutOff      bool   // the client is cut off when the contender waits; only then it meets a fault of handshakes
		fromConnect bool   // the client is zkconn.Connect's, which knows each server that was tried
		fault       func(tb *serverTest, id int64) *zkserver.Fault
	}{
		{what: "it waits, and there is no server", want: "has no server", cutOff: true,
			fault: func(tb *serverTest, id int64) *zkserver.Fault { return tb.srv.Hold(handshakeOf(id)) }},
		{what: "it waits, and the server refuses the client", want: ": closes the connection without an answer", cutOff: true, fromConnect: true,
			fault: func(tb *serverTest, id int64) *zkserver.Fault { return tb.srv.LoseRequest(handshakeOf(id)) }},
		{what: "its create is not answered", want: "has not answered for 1.5s",
			fault: func(tb *serverTest, id int64) *zkserver.Fault { return tb.srv.Hold(createRequestOf(id)) }},
	} {
		onServerCase(t, c.what, func(tb *serverTest) {
			holder := tb.mustLock(tb.mutex(tb.connect()))
			tb.ordinary = !c.fromConnect
			conn := tb.connect()
			m := tb.mutex(conn)
			id := conn.SessionID()
			trouble := c.fault(tb, id).Every()
			waiter := startLock(tb.within(patience), m)
			time.Sleep(time.Second) // until it waits
			if c.cutOff {
				tb.srv.Cut(id)
			}
			err := (<-waiter).err
			require.ErrorIs(tb, err, context.DeadlineExceeded)
			require.ErrorContains(tb, err, c.want)
			trouble.Release()
			tb.mustUnlock(holder)
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// The error of a waiter says nothing of what was wrong during an earlier call, and it has the cause of its ctx.
func TestTheErrorOfAWaiterNamesNoTroubleOfEarlierCalls(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		tb.srv.LoseReply(createRequestOf(conn.SessionID()))
		tb.lockAndUnlock(m) // the second try
		holder := tb.mustLock(tb.mutex(tb.connect()))
		time.Sleep(time.Minute)
		_, err := m.Lock(tb.within(time.Second), nil)
		require.EqualError(tb, err, "zklock: lock /lock, after 1s: context deadline exceeded")
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("closing time"))
		defer cancel()
		_, err = m.Lock(ctx, nil)
		require.EqualError(tb, err, "zklock: lock /lock, after 1s: context deadline exceeded: closing time")
		require.ErrorIs(tb, err, context.Cause(ctx))
		tb.mustUnlock(holder)
	})
}

// A waiter behind two others is proved, because it may get the lock as soon as both have gone; one behind three is not.
func TestAWaiterBehindTwoIsProved(t *testing.T) {
	onMeteredServer(t, func(tb *meter) {
		for _, before := range []int{2, 3} {
			others := tb.startQueuedClients(before)
			waiter := tb.startBlockedWaiter(tb.countedMutex())
			sent := tb.sent(func() { time.Sleep(sessionTimeout) })
			require.Equal(tb, before == 2, sent[jute.OpSync] > 0, "behind %d: %v", before, sent)
			for _, other := range append(others, waiter) {
				tb.receiveAndUnlock(other)
			}
		}
	})
}

// A Mutex waits for a holder of each library, for a reader, too. It does not wait for the lease of a semaphore.
func TestAHolderOfEachLibraryIsRespected(t *testing.T) {
	const kazoo, curator = "0123456789abcdef0123456789abcdef", "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-"
	for _, prefix := range []string{
		kazoo + "__lock__", kazoo + "__rlock__",
		curator + "__READ__", curator + "__WRIT__",
		"x-117698527313657884-", // that of ZooKeeper's own recipe, which has the session's number
	} {
		withEachClient(t, func(tb *serverTest) {
			foreign := tb.makeParent()
			tb.create(foreign, lockPath+"/"+kazoo, "a lease of a semaphore", zk.FlagEphemeral)
			m := tb.mutex(tb.connect())
			node := tb.create(foreign, lockPath+"/"+prefix, "its host", zk.FlagEphemeralSequential)
			tb.requireTryLockRefused(m, "two holders: another library's and ours")
			waiter := startQueuedWaiter(m)
			require.Empty(tb, waiter, "two holders: another library's and ours")
			queue := tb.participants(m)
			require.Len(tb, queue, 3) // the lease of the semaphore, the holder and ours
			require.Equal(tb, []string{node, "its host"}, []string{queue[1].Node, string(queue[1].Data)})
			require.True(tb, queue[1].Holds)
			require.Regexp(tb, `(?:__lock__|-lock-)(-?\d{10})$`, queue[2].Node, "kazoo's pattern with the extra one of doc.go")
			require.ErrorIs(tb, m.Revoke(tb.Context(), queue[1]), zklock.ErrNotAsked)

			tb.delete(foreign, node)
			tb.receiveAndUnlock(waiter)
		})
	}
}

// Attempts of a Mutex that give up share their watches. go-zookeeper keeps a channel for each GetW until the event of
// the node comes: the tap counts that as a wake-up for each GetW. A last waiter uses the same watches.
func TestAttemptsThatGiveUpShareTheirWatches(t *testing.T) {
	testenv.RacedAtLength(t, "it plays a thousand attempts, and a hundred are played with it")
	const attempts = 1000
	for what, behind := range map[string]int{"of the holder": 1, "of the two before it": 2} {
		onServerCase(t, what, func(tb *serverTest) {
			tap := new(wiretap.Tap)
			m := tb.mutex(tb.connectOrdinaryWith(ordinary{wrap: tapped(tap)}))
			others := tb.startQueuedClients(behind)
			for range attempts {
				tb.waitAndGiveUp(m)
			}
			stays := startQueuedWaiter(m) // and the node of the last attempt has gone
			require.Empty(tb, stays, "two holders")
			require.Len(tb, tb.srv.Children(lockPath), behind+1)
			before := tap.Counts()
			for _, other := range others {
				tb.receiveAndUnlock(other)
				synctest.Wait()
			}
			freed := time.Now()
			tb.receiveAndUnlock(stays)
			require.Zero(tb, time.Since(freed), "it uses a watch that an earlier attempt has set")
			synctest.Wait()
			require.Empty(tb, tb.srv.Watches())
			watches := int64(behind + 1) // of the nodes before the last waiter's, and of its own
			require.Equal(tb, watches, tap.Counts().Since(before).WakeUps, "channels that attempts have left in the client")
		})
	}
}

// Attempts that give up before the two contenders before them go leave nothing in the memory of their Mutex.
func TestAttemptsBehindOthersThatComeAndGoLeaveNothing(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin := tb.makeParent()
		m := tb.mutex(tb.connectOrdinary())
		for range 100 {
			nodes := []string{tb.createForeign(admin), tb.createForeign(admin)}
			tb.waitAndGiveUp(m)
			require.Len(tb, tb.srv.Children(lockPath), 2)
			for _, node := range nodes {
				tb.delete(admin, node)
			}
			synctest.Wait()
		}
		left := reflect.ValueOf(m).Elem().FieldByName("watches").Len()
		require.LessOrEqual(tb, left, 4, "nodes that have gone, and that the Mutex remembers: the last ones, and not 200")
	})
}

// A server that refuses deletes, for the rights or its load, gets one every third of the session timeout for each node:
// that of a holder, and that of a waiter that gave up. The nodes go soon after it has stopped refusing.
func TestDeletesThatAreRefusedBackOff(t *testing.T) {
	for code, want := range map[jute.Code]error{ // want is the error of an Unlock that waits for a second
		jute.ErrNoAuth: zk.ErrNoAuth,             // it returns what the server refuses
		codeThrottled:  context.DeadlineExceeded, // it waits, because a later try may succeed
	} {
		onServerCase(t, fmt.Sprint(code), func(tb *serverTest) {
			tap := new(wiretap.Tap)
			conn := tb.connectOrdinaryWith(ordinary{wrap: tapped(tap)})
			m := tb.mutex(conn)
			holder := tb.mustLock(m)
			for range 2 {
				tb.srv.Fail(jute.ErrNoAuth, requestOf(conn.SessionID(), jute.OpDelete, ""))
			}
			require.NoError(tb, holder.Unlock(context.Background()), "the reason may pass")

			holder = tb.mustLock(m)
			_, giveUp := tb.startWaiterThatMayGiveUp(tb.mutex(conn))
			refused := tb.srv.Fail(code, requestOf(conn.SessionID(), jute.OpDelete, "")).Every()
			giveUp()
			require.ErrorIs(tb, holder.Unlock(tb.within(time.Second)), want)
			before := tap.Counts()
			time.Sleep(time.Hour) // in which nothing changes
			const nodes, perNode = 2, time.Hour / (sessionTimeout / 3)
			require.InDelta(tb, nodes*perNode, tap.Counts().Since(before).Requests[jute.OpDelete], float64(perNode/5))
			refused.Release()
			time.Sleep(5 * time.Minute) // until the next try
			require.Empty(tb, tb.srv.Children(lockPath))
		})
	}
}
