package zklock_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
)

// TestLostClosesInTimeAfterAHandOver: nothing of the new holder has reached
// the server for nearly the session timeout when it gets the lock.
func TestLostClosesInTimeAfterAHandOver(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		tb.create(admin, "/config", "", zk.FlagPersistent)
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		testenv.Must3(conn.GetW("/config"))(tb)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		waiter := lockAside(ctx, tb.mutex(conn), zklock.NewOwner("waiter"))
		synctest.Wait()
		sent := time.Now() // the last packet that the server receives from it
		silence := tb.srv.Hold(from(conn.SessionID())).Every()
		time.Sleep(6 * time.Second)                               // the server receives nothing, and the session lives
		tb.set(admin, "/config", "")                              // so that the client receives something
		time.Sleep(time.Until(sent.Add(9900 * time.Millisecond))) // just before the session ends
		require.NoError(tb, holder.Unlock(context.Background()))
		select {
		case got := <-waiter:
			<-got.lease.Lost()
			require.LessOrEqual(tb, time.Since(sent), 10*time.Second, "Lost closes too late")
		case <-time.After(time.Second): // it does not take a lock that is as good as lost
		}
		silence.Release()
	})
}

func TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until it watches its node
		held := tb.srv.Hold(ofNode(conn.SessionID(), jute.OpGetData))
		tb.set(tb.connect(), tb.node(0), "")
		<-held.Hit() // it has no watch now
		go conn.Close()
		synctest.Wait()
		held.Release()
		time.Sleep(20 * time.Second) // twice the session timeout
		require.True(tb, isClosed(holder.Lost()), "Lost is open, and the client has been closed long ago")
	})
}

// slowCtx is a ctx whose reader is put to sleep by the scheduler at the worst
// of times.
type slowCtx struct {
	context.Context
	done func()
}

func (c slowCtx) Done() <-chan struct{} { c.done(); return c.Context.Done() }

// TestARefusedDeleteIsReportedWhole is for the race detector.
func TestARefusedDeleteIsReportedWhole(t *testing.T) {
	onEachClient(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connect()
		for range 3 {
			tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpDelete, ""))
		}
		m := tb.mutex(conn)
		_, err := m.TryLock(context.Background(), zklock.NewOwner("other"))
		require.ErrorIs(tb, err, zklock.ErrHeld)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		require.EqualValues(tb, 1, m.Stats().Refused)
		time.Sleep(time.Second) // until the next try to delete is due
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

func TestAContenderThatDoesNotFitIntoAPacketGetsAnError(t *testing.T) {
	onEachClient(t, func(tb *table) {
		const most = 32 << 10 // that the client sends at once
		m := tb.mutex(tb.connectWith(ensemble.Options{Buffer: most}))
		for _, size := range []int{most - 1<<10, most, 64 << 10} {
			began := time.Now()
			l, err := m.Lock(limited(tb, time.Minute), zklock.NewOwner(strings.Repeat("x", size)))
			if size < most {
				require.NoError(tb, err)
				require.NoError(tb, l.Unlock(context.Background()))
				continue
			}
			require.Error(tb, err)
			require.NotErrorIs(tb, err, context.DeadlineExceeded, "it is tried again and again")
			require.ErrorContains(tb, err, "zk.WithMaxConnBufferSize")
			require.Less(tb, time.Since(began), time.Second)
		}
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestNobodyHoldsALockInASessionThatHasEnded: the nodes of a session go in one
// transaction, and the server sends their events in no particular order. Each of two events has a moment of its own.
func TestNobodyHoldsALockInASessionThatHasEnded(t *testing.T) {
	for range 20 {
		onEachClient(t, func(tb *table) {
			conn := tb.connectWith(ensemble.Options{Wrap: narrow(16, time.Millisecond)})
			tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
			waiter := queues(tb.mutex(conn))
			conn.Close()
			require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing, "the waiter has got the lock, and there is no session")
		})
	}
}

// quietCtx is a ctx that has ended and whose readers have not been woken yet.
type quietCtx struct {
	context.Context
	ended atomic.Bool
}

func (c *quietCtx) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

func TestOnceCtxHasEndedLockReturnsNoLease(t *testing.T) {
	onEachClient(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx := &quietCtx{Context: context.Background()}
		waiter := lockAside(ctx, tb.mutex(tb.connect()), zklock.NewOwner("waiter"))
		time.Sleep(time.Second) // until it waits
		ctx.ended.Store(true)
		require.NoError(tb, holder.Unlock(context.Background()))
		require.ErrorIs(tb, (<-waiter).err, context.Canceled, "it got the lock when ctx had ended")
		synctest.Wait()
		require.Empty(tb, tb.srv.Children(top), "it has given up and left its node")
	})
}

func TestACallerThatGivesUpLeavesTheLockToOneOfTheSameOwner(t *testing.T) {
	onEachClient(t, func(tb *table) {
		m, shared := tb.mutex(tb.connect()), zklock.NewOwner("shared")
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		ctx := &quietCtx{Context: context.Background()}
		givesUp := lockAside(slowCtx{ctx, sync.OnceFunc(func() {
			time.Sleep(time.Minute) // meanwhile the lock is theirs, and the other one takes it
		})}, m, shared)
		synctest.Wait() // it has queued, and falls asleep before it waits
		stays := lockAside(context.Background(), m, shared)
		time.Sleep(time.Second) // until both wait
		require.NoError(tb, holder.Unlock(context.Background()))
		got := gets(tb, stays)
		ctx.ended.Store(true)
		require.ErrorIs(tb, (<-givesUp).err, context.Canceled)
		time.Sleep(time.Second) // for a node that goes by mistake
		require.Len(tb, tb.srv.Children(top), 1, "the node has gone, and the lease is held: the next one gets in")
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestALeaseIsLostWithoutAnEvent: a client may miss an event while it
// reconnects.
func TestALeaseIsLostWithoutAnEvent(t *testing.T) {
	for what, another := range map[string]bool{"its node has gone": false, "its node is another's": true} {
		onEachClient(t, func(tb *table) {
			admin := tb.connect()
			conn := tb.connectWith(ensemble.Options{Wrap: func(nc net.Conn) net.Conn {
				return withoutEvents(nc, "")
			}})
			holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
			time.Sleep(2 * time.Second) // until it watches its node
			require.NoError(tb, admin.Delete(tb.node(0), -1))
			require.NoError(tb, admin.Delete(top, -1))
			if another {
				tb.mustLock(tb.mutex(admin), zklock.NewOwner("another"))
			}
			nodes := tb.srv.Children(top)
			time.Sleep(4 * time.Second) // more than a third of the session timeout
			require.True(tb, isClosed(holder.Lost()), "Lost is open, and "+what)
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.Equal(tb, nodes, tb.srv.Children(top), "it has deleted the node of another")
		})
	}
}

// TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne: the reply to its create
// is lost, and while it looks for its node another of its Mutex queues.
func TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connect()
		m, id := tb.mutex(conn), conn.SessionID()
		tb.makeTop()
		lost := tb.srv.LoseReply(creates(id))
		looks := tb.srv.HoldReply(of(id, jute.OpSync, ""))
		one := lockAside(context.Background(), m, zklock.NewOwner("one"))
		<-lost.Hit()
		<-looks.Hit()
		two := waits(m)
		looks.Release()
		time.Sleep(time.Minute) // until one of them has the lock
		require.Len(tb, one, 1, "nobody lets in the one that is first in the queue")
		require.Empty(tb, two)
		passes(tb, one)
		passes(tb, two)
	})
}

func TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself(t *testing.T) {
	onEachClient(t, func(tb *table) {
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		tb.makeTop()
		slow := tb.srv.Hold(creates(conn.SessionID()))
		_, giveUp := tb.mayGiveUp(m, owner)
		<-slow.Hit()
		giveUp()
		second := lockAside(context.Background(), m, owner)
		synctest.Wait()
		slow.Release() // the node of the first is made, and goes again
		got := gets(tb, second)
		again := tb.mustLock(m, owner)
		require.NoError(tb, again.Unlock(context.Background()))
		require.NoError(tb, got.Unlock(context.Background()))
	})
}
