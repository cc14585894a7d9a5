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
)

// withoutEvents is a connection on which no event of one node arrives, or of any if path
// is empty, as happens to a client that is just coming back.
func withoutEvents(nc net.Conn, path string) net.Conn {
	return bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
		if int32(binary.BigEndian.Uint32(packet[4:])) == -1 && bytes.Contains(packet, []byte(path)) {
			return nil
		}
		return packet
	}})
}

// TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone: the holder's delete is carried out and not answered.
// Before the client is back, an operator removes the waiter's node and the parent, and the waiter misses the event.
func TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone(t *testing.T) {
	onClient(t, func(tb *table, admin *zk.Conn) {
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			return watchesFirst(withoutEvents(nc, "-lock-0000000001"))
		}})
		m, id := tb.mutex(conn), conn.SessionID()
		unlocked := tb.unlockThrottled(id, tb.mustLock(m, zklock.NewOwner("holder")))
		waiter := waits(m) // it has a node of its own
		lost := tb.srv.LoseReply(of(id, jute.OpDelete, ""))
		back := tb.srv.Hold(of(id, jute.OpConnect, ""))
		<-lost.Hit()
		<-back.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		require.NoError(tb, <-unlocked)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in, and its node has gone")
		handsOver(tb, next, waiter)
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAContenderLooksAtItsNodeBeforeItTakesTheLock: while it puts its record right, its node changes once more and is
// deleted, and so is the holder's. Which of the two events it then handles first is random.
func TestAContenderLooksAtItsNodeBeforeItTakesTheLock(t *testing.T) {
	for range 20 {
		onTable(t, func(tb *table) {
			admin, conn := tb.connect(), tb.connectAs(ordinary{})
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			waiter := waits(tb.mutex(conn))
			node := tb.node(1)
			repairs := tb.srv.Hold(of(conn.SessionID(), jute.OpSetData, node))
			for range 2 {
				tb.set(admin, node, "scribble")
				synctest.Wait() // until it has read its node, or has an event that says to
			}
			<-repairs.Hit()
			require.NoError(tb, admin.Delete(node, -1))
			require.NoError(tb, holder.Unlock(context.Background()))
			synctest.Wait()
			tb.remakeTop(admin)
			next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
			looks := tb.srv.Hold(of(conn.SessionID(), jute.OpGetData, node))
			repairs.Release()
			select {
			case <-looks.Hit():
			case <-time.After(time.Second): // it has listed the queue, which has no node of it
			}
			synctest.Wait()
			require.Empty(tb, waiter, "two holders: the waiter had no node any more")
			looks.Release()
			handsOver(tb, next, waiter)
		})
	}
}

// TestACallThatIsStoppedSaysThatItsCtxHasEnded, and not how it was stopped, though the goroutine of the request has
// noticed the end before the caller. One processor makes the caller the first reader of its ctx.
func TestACallThatIsStoppedSaysThatItsCtxHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		onOrdinary(t, func(tb *table, conn *zk.Conn) {
			m := tb.mutex(conn)
			late := tb.srv.Hold(of(conn.SessionID(), jute.OpSync, ""))
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

// TestAForeignNodeOfTheSameNumberIsNotTakenForOursInTheFirstList: the parent is
// made again between the contender's create and its list.
func TestAForeignNodeOfTheSameNumberIsNotTakenForOursInTheFirstList(t *testing.T) {
	onTable(t, func(tb *table) {
		admin, conn := tb.makeTop(), tb.connectAs(ordinary{})
		lists := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, ""))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("owner"))
		<-lists.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		foreign := tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential)
		require.Equal(tb, top+"/lock-0000000000", foreign)
		lists.Release()
		time.Sleep(time.Second) // for it to get in by mistake
		require.Empty(tb, waiter, "two holders: it takes another's node for its own")
		require.NoError(tb, admin.Delete(foreign, -1))
		got := gets(tb, waiter)
		node, _ := tb.srv.Node(got.Node())
		require.Equal(tb, node.Stat.Czxid<<10, got.Token())
		require.NoError(tb, got.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain: no server answers,
// so the clock ends the lease, and the node has not been removed.
func TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{wrap: watchesFirst})
		ctx := slowCtx{context.Background(), sync.OnceFunc(func() {
			time.Sleep(time.Second) // it gets the lock meanwhile
			silence := tb.srv.Hold(from(conn.SessionID())).Every()
			time.Sleep(15 * time.Second) // more than the session timeout
			time.AfterFunc(time.Second, silence.Release)
		})}
		l := testenv.Must(tb.mutex(conn).Lock(ctx, zklock.NewOwner("slow")))(tb)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestAContenderWhoseSessionEndsBeforeItIsProvedQueuesAgain: it is alone, watches nothing, and gets no event.
func TestAContenderWhoseSessionEndsBeforeItIsProvedQueuesAgain(t *testing.T) {
	onClient(t, func(tb *table, conn *zk.Conn) {
		tb.makeTop()
		id := conn.SessionID()
		created := tb.srv.HoldReply(creates(id))
		waiter := lockAside(context.Background(), tb.mutex(conn), nil)
		<-created.Hit()
		time.Sleep(2 * time.Second) // for a lease the create is too old then
		proof := tb.srv.Hold(of(id, jute.OpMulti, ""))
		created.Release()
		<-proof.Hit()
		tb.srv.Expire(id)
		proof.Release()
		passes(tb, waiter)
	})
}

// TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer, though none of its requests has failed.
func TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer(t *testing.T) {
	for _, c := range []struct {
		what, want string
		waits      bool // the server was there when it queued
		ours       bool // the client is Connect's, which knows each server that was tried
		wrong      func(tb *table, session int64) (over func())
	}{
		{"it waits, and there is no server", "has no server", true, false, func(tb *table, session int64) func() {
			away := tb.srv.Hold(of(session, jute.OpConnect, "")).Every()
			tb.srv.Cut(session)
			return away.Release
		}},
		{"it waits, and the server refuses the client", ": closes the connection without an answer", true, true, func(tb *table, session int64) func() {
			away := tb.srv.LoseRequest(of(session, jute.OpConnect, "")).Every()
			tb.srv.Cut(session)
			return away.Release
		}},
		{"its create is not answered", "has not answered for 1.5s", false, false, func(tb *table, session int64) func() {
			return tb.srv.Hold(creates(session)).Every().Release
		}},
		{"all is well", "", true, false, func(*table, int64) func() { return func() {} }},
	} {
		onTables(t, c.what, func(tb *table) {
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
			waiter := lockAside(limited(tb, 1500*time.Millisecond), m, nil)
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
			require.NoError(tb, holder.Unlock(context.Background()))
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

func TestTheErrorOfAWaiterNamesNoTroubleOfEarlierCalls(t *testing.T) {
	onOrdinary(t, func(tb *table, conn *zk.Conn) {
		m := tb.mutex(conn)
		tb.srv.LoseReply(creates(conn.SessionID()))
		require.NoError(tb, tb.mustLock(m, nil).Unlock(context.Background())) // the second try
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		time.Sleep(time.Minute)
		_, err := m.Lock(limited(tb, time.Second), nil)
		require.EqualError(tb, err, "zklock: lock /lock, after 1s: context deadline exceeded")
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("closing time"))
		defer cancel()
		_, err = m.Lock(ctx, nil)
		require.EqualError(tb, err, "zklock: lock /lock, after 1s: context deadline exceeded: closing time")
		require.ErrorIs(tb, err, context.Cause(ctx))
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestAWaiterBehindTwoIsProved: it may get the lock as soon as both have gone.
func TestAWaiterBehindTwoIsProved(t *testing.T) {
	onMeter(t, func(m *meter) {
		for before, proved := range map[int]bool{2: true, 3: false} {
			var others []<-chan locked
			for range before {
				others = append(others, lockAside(context.Background(), m.mutex(m.connect()), nil))
				m.settle()
			}
			waiter := m.arrives(m.newMutex())
			sent := m.sent(func() { time.Sleep(sessionTimeout) })
			require.Equal(t, proved, sent[jute.OpSync] > 0, "behind %d: %v", before, sent)
			for _, other := range append(others, waiter) {
				passes(m.table, other)
			}
		}
	})
}

// TestAHolderOfEachLibraryIsRespected, a reader too. A semaphore excludes nobody.
func TestAHolderOfEachLibraryIsRespected(t *testing.T) {
	const id, curator = "0123456789abcdef0123456789abcdef", "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-"
	for _, prefix := range []string{id + "__lock__", id + "__rlock__", curator + "__READ__", curator + "__WRIT__", "x-117698527313657884-"} {
		onEachClient(t, func(tb *table) {
			foreign := tb.makeTop()
			tb.create(foreign, top+"/"+id, "a lease of a semaphore", zk.FlagEphemeral)
			m := tb.mutex(tb.connect())
			node := tb.create(foreign, top+"/"+prefix, "its host", zk.FlagEphemeralSequential)
			tb.isHeld(m, "two holders: another library's and ours")
			waiter := queues(m)
			require.Empty(tb, waiter, "two holders: another library's and ours")
			queue := tb.participants(m)
			require.Len(tb, queue, 3)
			require.Equal(tb, []string{node, "its host"}, []string{queue[1].Node, string(queue[1].Data)})
			require.True(tb, queue[1].Holds)
			require.Regexp(tb, `(?:__lock__|-lock-)(-?\d{10})$`, queue[2].Node, "kazoo's pattern with the extra one of doc.go")
			require.ErrorIs(tb, m.Revoke(tb.Context(), queue[1]), zklock.ErrNotAsked)

			require.NoError(tb, foreign.Delete(node, -1))
			holder := gets(tb, waiter)
			require.NoError(tb, holder.Unlock(tb.Context()))
		})
	}
}

// TestAttemptsThatGiveUpShareTheirWatches: go-zookeeper keeps a channel for
// each GetW until the node goes. The tap counts how many it wakes then. One waiter stays.
func TestAttemptsThatGiveUpShareTheirWatches(t *testing.T) {
	testenv.RacedAtLength(t, "it plays a thousand attempts, and a hundred are played with it")
	for what, behind := range map[string]int{"of the holder": 1, "of the two before it": 2} {
		onTables(t, what, func(tb *table) {
			tap := new(wiretap.Tap)
			m := tb.mutex(tb.connectAs(ordinary{wrap: tapped(tap)}))
			var others []<-chan locked
			for range behind {
				others = append(others, queues(tb.mutex(tb.connect())))
			}
			for range 1000 {
				tb.givesUp(m)
			}
			stays := queues(m) // and the last node has gone
			require.Empty(tb, stays, "two holders")
			require.Len(tb, tb.srv.Children(top), behind+1)
			before := tap.Counts()
			for _, other := range others {
				passes(tb, other)
				synctest.Wait()
			}
			freed := time.Now()
			passes(tb, stays)
			require.Zero(tb, time.Since(freed), "it uses a watch that those have left, and gets its event")
			synctest.Wait()
			require.Empty(tb, tb.srv.Watches())
			require.LessOrEqual(tb, tap.Counts().Since(before).WakeUps, int64(2*behind+1),
				"channels that 1000 attempts have left in the client")
		})
	}
}

// TestAttemptsBehindOthersThatComeAndGoLeaveNothing: each gives up before the two contenders before it go.
func TestAttemptsBehindOthersThatComeAndGoLeaveNothing(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.makeTop()
		m := tb.mutex(tb.connectAs(ordinary{}))
		for range 100 {
			var nodes []string
			for range 2 {
				nodes = append(nodes, tb.create(admin, top+"/lock-", "", zk.FlagEphemeralSequential))
			}
			tb.givesUp(m)
			require.Len(tb, tb.srv.Children(top), 2)
			for _, node := range nodes {
				require.NoError(tb, admin.Delete(node, -1))
			}
			synctest.Wait()
		}
		left := reflect.ValueOf(m).Elem().FieldByName("watches").Len()
		require.LessOrEqual(tb, left, 4, "nodes that have gone, and that the Mutex still remembers")
	})
}

// TestDeletesThatAreRefusedBackOff counts what a server that refuses is sent in an hour: by the holder's Unlock, and by
// a waiter that gave up. It says that it may not, or that it has too much to do. The nodes go soon after it has stopped
// refusing.
func TestDeletesThatAreRefusedBackOff(t *testing.T) {
	for code, end := range map[jute.Code]error{jute.ErrNoAuth: zk.ErrNoAuth, throttled: context.DeadlineExceeded} {
		onTables(t, fmt.Sprint(code), func(tb *table) {
			tap := new(wiretap.Tap)
			conn := tb.connectAs(ordinary{wrap: tapped(tap)})
			m := tb.mutex(conn)
			holder := tb.mustLock(m, nil)
			for range 2 {
				tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpDelete, ""))
			}
			require.NoError(tb, holder.Unlock(context.Background()), "the reason may pass")
			holder = tb.mustLock(m, nil)
			_, giveUp := tb.mayGiveUp(tb.mutex(conn), nil)
			refused := tb.srv.Fail(code, of(conn.SessionID(), jute.OpDelete, "")).Every()
			giveUp()
			require.ErrorIs(tb, holder.Unlock(limited(tb, time.Second)), end)
			before := tap.Counts()
			time.Sleep(time.Hour)         // in which nothing changes
			const each = 3600 / (10. / 3) // a pause of a third of the session timeout
			require.InDelta(tb, 2*each, tap.Counts().Since(before).Requests[jute.OpDelete], each/5)
			refused.Release()
			time.Sleep(5 * time.Minute) // until the next try
			require.Empty(tb, tb.srv.Children(top))
		})
	}
}
