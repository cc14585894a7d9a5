package zklock_test

import (
	"bytes"
	"context"
	"encoding/binary"
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

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// withoutEvents is a connection on which no event arrives of nodes whose paths contain a text, or of any node if the
// text is empty, as happens to a client that is just coming back.
func withoutEvents(nc net.Conn, text string) net.Conn {
	return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		xid := int32(binary.BigEndian.Uint32(packet[4:])) // after the length
		if xid == jute.XidEvent && bytes.Contains(packet, []byte(text)) {
			return nil
		}
		return packet
	}})
}

// An Unlock that is tried again does not let a waiter in whose node has gone. The holder's delete is carried out and
// not answered. Before the client is back, an operator removes the waiter's node and the parent, which nobody reports.
func TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone(t *testing.T) {
	withClient(t, func(tb *serverTest, admin *zk.Conn) {
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			return watchesFirst(withoutEvents(nc, "-lock-0000000001"))
		}})
		m, id := tb.mutex(conn), conn.SessionID()
		unlocked := tb.unlockThrottled(id, tb.mustLock(m, zklock.NewOwner("holder")))
		waiter := startWaiter(m) // it has a node of its own
		lost := tb.srv.LoseReply(requestOf(id, jute.OpDelete, ""))
		back := tb.srv.Hold(requestOf(id, jute.OpConnect, ""))
		<-lost.Hit()
		<-back.Hit()
		require.NoError(tb, admin.Delete(tb.nodeAt(0), -1))
		tb.remakeParent(admin)
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		require.NoError(tb, <-unlocked)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in, and its node has gone")
		tb.handOver(next, waiter)
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// A contender looks at its own node before it takes the lock. While it repairs its record, its node changes once more
// and is deleted, and so is the holder's. Which of the two events it then handles first is random.
func TestAContenderLooksAtItsNodeBeforeItTakesTheLock(t *testing.T) {
	for range 20 {
		onServer(t, func(tb *serverTest) {
			admin, conn := tb.connect(), tb.connectAs(ordinary{})
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			waiter := startWaiter(tb.mutex(conn))
			node := tb.nodeAt(1)
			repairs := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpSetData, node))
			for range 2 {
				tb.set(admin, node, "scribble")
				synctest.Wait() // until it has read its node, or has an event that says to
			}
			<-repairs.Hit()
			require.NoError(tb, admin.Delete(node, -1))
			tb.mustUnlock(holder)
			synctest.Wait()
			tb.remakeParent(admin)
			next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
			looks := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetData, node))
			repairs.Release()
			select {
			case <-looks.Hit():
			case <-time.After(time.Second): // it has listed the queue, which has no node of it
			}
			synctest.Wait()
			require.Empty(tb, waiter, "two holders: the waiter had no node any more")
			looks.Release()
			tb.handOver(next, waiter)
		})
	}
}

// A call whose ctx ends returns the error of the ctx, and not that of the request, although the goroutine of the
// request has noticed the end before the caller. One processor makes the caller the first reader of its ctx.
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
					time.Sleep(time.Minute) // the scheduler has other things to do
				}
			}}
			asked := aside(func() error { return testenv.Err(m.Participants(ctx)) })
			synctest.Wait()
			cancel()
			late.Release()
			require.ErrorIs(tb, <-asked, context.Canceled)
		})
	}
}

// A contender does not take another's node of the same number for its own, if the parent is made again before its list.
func TestAForeignNodeOfTheSameNumberIsNotTakenForOursInTheFirstList(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin, conn := tb.makeParent(), tb.connectAs(ordinary{})
		lists := tb.srv.Hold(requestOf(conn.SessionID(), jute.OpGetChildren2, ""))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("owner"))
		<-lists.Hit()
		require.NoError(tb, admin.Delete(tb.nodeAt(0), -1))
		tb.remakeParent(admin)
		foreign := tb.create(admin, lockPath+"/lock-", "", zk.FlagEphemeralSequential)
		require.Equal(tb, lockPath+"/lock-0000000000", foreign)
		lists.Release()
		time.Sleep(time.Second) // for it to get in by mistake
		require.Empty(tb, waiter, "two holders: it takes another's node for its own")
		require.NoError(tb, admin.Delete(foreign, -1))
		got := tb.leaseOf(waiter)
		require.Equal(tb, tb.stored(got.Node()).Stat.Czxid<<10, got.Token())
		tb.mustUnlock(got)
		require.Empty(tb, tb.srv.Children(lockPath))
	})
}

// Lock locks again if the clock has ended its lease before it returns, because no server answers. The node is there.
func TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn := tb.connectAs(ordinary{wrap: watchesFirst})
		ctx := slowCtx{context.Background(), sync.OnceFunc(func() {
			time.Sleep(time.Second) // it gets the lock meanwhile
			silence := tb.srv.Hold(anyFrom(conn.SessionID())).Every()
			time.Sleep(15 * time.Second) // more than the session timeout
			time.AfterFunc(time.Second, silence.Release)
		})}
		l := testenv.Must(tb.mutex(conn).Lock(ctx, zklock.NewOwner("slow")))(tb)
		tb.mustUnlock(l)
	})
}

// A contender that is alone, and gets no event, queues again if its session ends before it is proved.
func TestAContenderWhoseSessionEndsBeforeItIsProvedQueuesAgain(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		tb.makeParent()
		id := conn.SessionID()
		created := tb.srv.HoldReply(createOf(id))
		waiter := lockAside(context.Background(), tb.mutex(conn), nil)
		<-created.Hit()
		time.Sleep(2 * time.Second) // until the create is too old to prove a lease
		proof := tb.srv.Hold(requestOf(id, jute.OpMulti, ""))
		created.Release()
		<-proof.Hit()
		tb.srv.Expire(id)
		proof.Release()
		tb.getAndUnlock(waiter)
	})
}

// The error of a waiter whose ctx ends says what is wrong with the server, although none of its requests has failed.
func TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer(t *testing.T) {
	// cutOff cuts the session off, by a fault that its handshakes meet.
	cutOff := func(fault func(*zkserver.Server, func(zkserver.Request) bool) *zkserver.Fault) func(*serverTest, int64) func() {
		return func(tb *serverTest, session int64) (over func()) {
			away := fault(tb.srv, requestOf(session, jute.OpConnect, "")).Every()
			tb.srv.Cut(session)
			return away.Release
		}
	}
	for _, c := range []struct {
		what, want string
		waits      bool // the server is there when the contender comes
		ours       bool // the client is Connect's, which knows each server that was tried
		wrong      func(tb *serverTest, session int64) (over func())
	}{
		{what: "it waits, and there is no server", want: "has no server", waits: true, wrong: cutOff((*zkserver.Server).Hold)},
		{what: "it waits, and the server refuses the client", want: ": closes the connection without an answer",
			waits: true, ours: true, wrong: cutOff((*zkserver.Server).LoseRequest)},
		{what: "its create is not answered", want: "has not answered for 1.5s", wrong: func(tb *serverTest, session int64) func() {
			return tb.srv.Hold(createOf(session)).Every().Release
		}},
		{what: "all is well", waits: true, wrong: func(*serverTest, int64) func() { return func() {} }},
	} {
		onServerCase(t, c.what, func(tb *serverTest) {
			holder := tb.mustLock(tb.mutex(tb.connect()), nil)
			conn := tb.connect()
			if !c.ours {
				conn = tb.connectAs(ordinary{wrap: watchesFirst})
			}
			m := tb.mutex(conn)
			var over func()
			if !c.waits {
				over = c.wrong(tb, conn.SessionID())
			}
			waiter := lockAside(tb.within(1500*time.Millisecond), m, nil)
			time.Sleep(time.Second) // until it waits
			if c.waits {
				over = c.wrong(tb, conn.SessionID())
			}
			err := (<-waiter).err
			require.ErrorIs(tb, err, context.DeadlineExceeded)
			if c.want != "" {
				require.ErrorContains(tb, err, c.want)
			} else {
				require.EqualError(tb, err, "zklock: lock /lock, after 1.5s: context deadline exceeded")
			}
			over()
			tb.mustUnlock(holder)
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// The error of a waiter says nothing of what was wrong during an earlier call, and it has the cause of its ctx.
func TestTheErrorOfAWaiterNamesNoTroubleOfEarlierCalls(t *testing.T) {
	withOrdinaryClient(t, func(tb *serverTest, conn *zk.Conn) {
		m := tb.mutex(conn)
		tb.srv.LoseReply(createOf(conn.SessionID()))
		tb.lockAndUnlock(m) // the second try
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
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
	onMeter(t, func(m *meter) {
		for before, proved := range map[int]bool{2: true, 3: false} {
			var others []<-chan locked
			for range before {
				others = append(others, lockAside(context.Background(), m.mutex(m.connect()), nil))
				m.settle()
			}
			waiter := m.startBehind(m.newMutex())
			sent := m.sent(func() { time.Sleep(sessionTimeout) })
			require.Equal(t, proved, sent[jute.OpSync] > 0, "behind %d: %v", before, sent)
			for _, other := range append(others, waiter) {
				m.getAndUnlock(other)
			}
		}
	})
}

// A Mutex waits for a holder of each library, for a reader, too. It does not wait for the lease of a semaphore.
func TestAHolderOfEachLibraryIsRespected(t *testing.T) {
	const id, curator = "0123456789abcdef0123456789abcdef", "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-"
	for _, prefix := range []string{id + "__lock__", id + "__rlock__", curator + "__READ__", curator + "__WRIT__", "x-117698527313657884-"} {
		withEachClient(t, func(tb *serverTest) {
			foreign := tb.makeParent()
			tb.create(foreign, lockPath+"/"+id, "a lease of a semaphore", zk.FlagEphemeral)
			m := tb.mutex(tb.connect())
			node := tb.create(foreign, lockPath+"/"+prefix, "its host", zk.FlagEphemeralSequential)
			tb.requireHeld(m, "two holders: another library's and ours")
			waiter := enqueue(m)
			require.Empty(tb, waiter, "two holders: another library's and ours")
			queue := tb.participants(m)
			require.Len(tb, queue, 3)
			require.Equal(tb, []string{node, "its host"}, []string{queue[1].Node, string(queue[1].Data)})
			require.True(tb, queue[1].Holds)
			require.Regexp(tb, `(?:__lock__|-lock-)(-?\d{10})$`, queue[2].Node, "kazoo's pattern with the extra one of doc.go")
			require.ErrorIs(tb, m.Revoke(tb.Context(), queue[1]), zklock.ErrNotAsked)

			require.NoError(tb, foreign.Delete(node, -1))
			tb.getAndUnlock(waiter)
		})
	}
}

// Attempts of a Mutex that give up share their watches. go-zookeeper keeps a channel for each GetW until the node goes;
// the tap counts how many it wakes then. One waiter stays.
func TestAttemptsThatGiveUpShareTheirWatches(t *testing.T) {
	testenv.RacedAtLength(t, "it plays a thousand attempts, and a hundred are played with it")
	for what, behind := range map[string]int{"of the holder": 1, "of the two before it": 2} {
		onServerCase(t, what, func(tb *serverTest) {
			tap := new(wiretap.Tap)
			m := tb.mutex(tb.connectAs(ordinary{wrap: tapped(tap)}))
			others := tb.enqueueOthers(behind)
			for range 1000 {
				tb.comeAndGiveUp(m)
			}
			stays := enqueue(m) // and the last node has gone
			require.Empty(tb, stays, "two holders")
			require.Len(tb, tb.srv.Children(lockPath), behind+1)
			before := tap.Counts()
			for _, other := range others {
				tb.getAndUnlock(other)
				synctest.Wait()
			}
			freed := time.Now()
			tb.getAndUnlock(stays)
			require.Zero(tb, time.Since(freed), "it uses a watch that those have left, and gets its event")
			synctest.Wait()
			require.Empty(tb, tb.srv.Watches())
			require.LessOrEqual(tb, tap.Counts().Since(before).WakeUps, int64(2*behind+1),
				"channels that 1000 attempts have left in the client")
		})
	}
}

// Attempts that give up before the two contenders before them go leave nothing in the memory of their Mutex.
func TestAttemptsBehindOthersThatComeAndGoLeaveNothing(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin := tb.makeParent()
		m := tb.mutex(tb.connectAs(ordinary{}))
		for range 100 {
			var nodes []string
			for range 2 {
				nodes = append(nodes, tb.create(admin, lockPath+"/lock-", "", zk.FlagEphemeralSequential))
			}
			tb.comeAndGiveUp(m)
			require.Len(tb, tb.srv.Children(lockPath), 2)
			for _, node := range nodes {
				require.NoError(tb, admin.Delete(node, -1))
			}
			synctest.Wait()
		}
		left := reflect.ValueOf(m).Elem().FieldByName("watches").Len()
		require.LessOrEqual(tb, left, 4, "nodes that have gone, and that the Mutex still remembers")
	})
}

// A server that refuses deletes, for the rights or its load, gets one every third of the session timeout for each node:
// that of a holder, and that of a waiter that gave up. The nodes go soon after it has stopped refusing.
func TestDeletesThatAreRefusedBackOff(t *testing.T) {
	for code, end := range map[jute.Code]error{jute.ErrNoAuth: zk.ErrNoAuth, codeThrottled: context.DeadlineExceeded} {
		onServerCase(t, fmt.Sprint(code), func(tb *serverTest) {
			tap := new(wiretap.Tap)
			conn := tb.connectAs(ordinary{wrap: tapped(tap)})
			m := tb.mutex(conn)
			holder := tb.mustLock(m, nil)
			for range 2 {
				tb.srv.Fail(jute.ErrNoAuth, requestOf(conn.SessionID(), jute.OpDelete, ""))
			}
			require.NoError(tb, holder.Unlock(context.Background()), "the reason may pass")
			holder = tb.mustLock(m, nil)
			_, giveUp := tb.startGivingUp(tb.mutex(conn), nil)
			refused := tb.srv.Fail(code, requestOf(conn.SessionID(), jute.OpDelete, "")).Every()
			giveUp()
			require.ErrorIs(tb, holder.Unlock(tb.within(time.Second)), end)
			before := tap.Counts()
			time.Sleep(time.Hour)            // in which nothing changes
			const perNode = 3600 / (10. / 3) // seconds: an hour, by a third of the session timeout
			require.InDelta(tb, 2*perNode, tap.Counts().Since(before).Requests[jute.OpDelete], perNode/5)
			refused.Release()
			time.Sleep(5 * time.Minute) // until the next try
			require.Empty(tb, tb.srv.Children(lockPath))
		})
	}
}
