package zklock_test

import (
	"bytes"
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
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

// TestLostClosesInTimeAfterAHandOver: nothing of the new holder has reached
// the server for nearly the session timeout when it gets the lock.
func TestLostClosesInTimeAfterAHandOver(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		id := conn.SessionID()
		_, err := admin.Create("/config", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		_, _, _, err = conn.GetW("/config")
		require.NoError(tb, err)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		waiter := lockAside(ctx, tb.mutex(conn), zklock.NewOwner("waiter"))
		synctest.Wait()
		sent := time.Now() // the last packet that the server receives from it
		silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == id })
		time.Sleep(6 * time.Second)            // the server receives nothing, and the session lives
		_, err = admin.Set("/config", nil, -1) // so that the client receives something
		require.NoError(tb, err)
		time.Sleep(time.Until(sent.Add(9900 * time.Millisecond))) // just before the session ends
		require.NoError(tb, holder.Unlock(context.Background()))
		select {
		case got := <-waiter:
			<-got.lease.Lost()
			require.LessOrEqual(tb, time.Since(sent), 10*time.Second, "Lost closes too late")
		case <-time.After(time.Second): // it does not take a lock that is as good as lost
		}
		releaseAll(silence)
	})
}

func TestAHolderWhoseNodeTheServerDoesNotShowLosesTheLeaseBeforeTheLock(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		waiter := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("waiter"))
		time.Sleep(2 * time.Second)                                            // until it waits, and the holder watches its node
		tb.srv.Fail(jute.Code(-127), ofNode(conn.SessionID(), jute.OpGetData)) // throttled
		_, err := tb.connect().Set(tb.node(0), nil, -1)
		require.NoError(tb, err)
		synctest.Wait()
		select {
		case got := <-waiter:
			require.True(tb, tb.isLost(holder), "two holders: the lock was let go behind the back of the first")
			require.NoError(tb, got.lease.Unlock(context.Background()))
		default:
			require.NoError(tb, holder.Unlock(context.Background()))
			got := <-waiter
			require.NoError(tb, got.lease.Unlock(context.Background()))
		}
	})
}

func TestLostClosesWhenTheClientIsClosedWhateverIsOnTheWay(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until it watches its node
		held := tb.srv.Hold(ofNode(conn.SessionID(), jute.OpGetData))
		_, err := tb.connect().Set(tb.node(0), nil, -1)
		require.NoError(tb, err)
		<-held.Hit() // it has no watch now
		go conn.Close()
		synctest.Wait()
		held.Release()
		time.Sleep(20 * time.Second) // twice the session timeout
		require.True(tb, tb.isLost(holder), "Lost is open, and the client has been closed long ago")
	})
}

func TestUnlockInAnExpiredSessionTouchesNobodyElsesNode(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		back := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		tb.srv.Cut(id)
		<-back.Hit()
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		synctest.Wait()
		tb.srv.Expire(id)
		require.NoError(tb, admin.Delete(top, -1)) // as the server does with a container
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		require.ErrorIs(tb, <-unlocked, zklock.ErrLost)
		require.Len(tb, tb.srv.Children(top), 1, "the expired holder has deleted the node of the next one: two holders")
		require.NoError(tb, next.Unlock(context.Background()))
	})
}

// slowCtx is a ctx whose reader is put to sleep by the scheduler at the worst
// of times.
type slowCtx struct {
	context.Context
	done func()
}

func (c slowCtx) Done() <-chan struct{} { c.done(); return c.Context.Done() }

func TestALockThatIsLostBeforeLockReturnsIsLockedAgain(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		asleep := true
		ctx := slowCtx{context.Background(), func() {
			if asleep {
				asleep = false
				time.Sleep(2 * time.Second) // it gets the lock meanwhile, and watches its node
				require.NoError(tb, admin.Delete(tb.node(0), -1))
				time.Sleep(time.Second) // for the next one to get in, should it
			}
		}}
		l, err := tb.mutex(tb.connect()).Lock(ctx, zklock.NewOwner("slow"))
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

func TestTwoOwnersOfOneSessionDoNotTakeOneNodeForTheirs(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		id := conn.SessionID()
		tb.makeTop(admin)
		lost := tb.srv.LoseRequest(of(id, jute.OpGetChildren2, ""))
		back := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		one := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("one"))
		<-lost.Hit()
		<-back.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		two := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("two"))
		synctest.Wait()
		back.Release()
		time.Sleep(5 * time.Second) // until both have what they get
		var holders []*zklock.Lease
		for _, c := range []<-chan locked{one, two} {
			select {
			case got := <-c:
				require.NoError(tb, got.err)
				if !tb.isLost(got.lease) {
					holders = append(holders, got.lease)
				}
			default:
			}
		}
		require.Len(tb, holders, 1, "two holders")
		require.NoError(tb, holders[0].Unlock(context.Background()))
		for _, c := range []<-chan locked{one, two} {
			select {
			case got := <-c:
				require.NoError(tb, got.lease.Unlock(context.Background()))
			case <-time.After(time.Second):
			}
		}
	})
}

// TestTokenMayBeReadAtAnyTime is for the race detector.
func TestTokenMayBeReadAtAnyTime(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					holder.Token()
				}
			}
		}()
		time.Sleep(2 * time.Second) // until it watches its node
		for range 3 {
			_, err := tb.connect().Set(tb.node(0), nil, -1)
			require.NoError(tb, err)
			time.Sleep(time.Second) // until the node has been read again
		}
		close(stop)
		<-done
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestARefusedDeleteIsReportedWhole is for the race detector.
func TestARefusedDeleteIsReportedWhole(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		conn := tb.connect()
		for range 3 {
			tb.srv.Fail(jute.ErrNoAuth, of(conn.SessionID(), jute.OpDelete, ""))
		}
		_, err := tb.mutex(conn).TryLock(context.Background(), zklock.NewOwner("other"))
		require.ErrorIs(tb, err, zklock.ErrHeld)
		require.ErrorIs(tb, err, zk.ErrNoAuth)
		time.Sleep(time.Second) // until the next try to delete is due
		require.NoError(tb, holder.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

func TestAContenderThatDoesNotFitIntoAPacketGetsAnError(t *testing.T) {
	onTable(t, func(tb *table) {
		const most = 32 << 10 // that the client sends at once
		m := tb.mutex(tb.connectWith(ensemble.Options{Buffer: most}))
		for _, size := range []int{most - 1<<10, most, 64 << 10} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			began := time.Now()
			l, err := m.Lock(ctx, zklock.NewOwner(strings.Repeat("x", size)))
			cancel()
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

// slowly takes a millisecond for every few bytes from the server, so that each
// of two events has a moment of its own.
type slowly struct{ net.Conn }

func (c slowly) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond) // a slow network
	return c.Conn.Read(b[:min(len(b), 16)])
}

// TestNobodyHoldsALockInASessionThatHasEnded: the nodes of a session go in one
// transaction, and the server sends their events in no particular order.
func TestNobodyHoldsALockInASessionThatHasEnded(t *testing.T) {
	for range 20 {
		onTable(t, func(tb *table) {
			conn := tb.connectWith(ensemble.Options{Wrap: func(nc net.Conn) net.Conn { return slowly{nc} }})
			tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
			waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter, by another Mutex"))
			time.Sleep(time.Second) // until it waits
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
	onTable(t, func(tb *table) {
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
	onTable(t, func(tb *table) {
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

// TestANodeOfTheSameNumberIsNotTakenForOurs: the parent was made again, and the
// first node in it is of another library.
func TestANodeOfTheSameNumberIsNotTakenForOurs(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(2 * time.Second) // until it watches its node
		back := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		tb.srv.Cut(id)
		<-back.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		_, err := admin.Create(top+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		back.Release()
		time.Sleep(time.Second) // until it is connected and has looked
		require.True(tb, tb.isLost(holder), "two holders: ours takes the other's node for its own")
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		require.Len(tb, tb.srv.Children(top), 1, "the other's node has been deleted")
	})
}

// TestUnlockThatIsTriedAgainTouchesNoOtherNodeOfItsSession: the next one has the
// same session, and so the same ephemeral owner.
func TestUnlockThatIsTriedAgainTouchesNoOtherNodeOfItsSession(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		back, unlocked := tb.unlockUnanswered(id, holder)
		tb.remakeTop(admin)
		next := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("next"))
		synctest.Wait()
		back.Release() // its create and the delete that is tried again are on their way
		require.NoError(tb, <-unlocked)
		got := gets(tb, next)
		time.Sleep(time.Second) // for a delete that is tried again
		require.Len(tb, tb.srv.Children(top), 1,
			"the Unlock has deleted the node of the next holder: two holders")
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

func TestLostCountsFromWhenARequestWasSent(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{}) // Connect's would change the connection
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		late := tb.srv.HoldReply(ofNode(id, jute.OpGetData))
		<-late.Hit()
		sent := time.Now() // the last packet that the server receives from it
		silence := tb.srv.Hold(func(r zkserver.Request) bool { return r.Session == id })
		time.Sleep(5 * time.Second) // the reply is on its way
		late.Release()
		<-holder.Lost()
		require.LessOrEqual(tb, time.Since(sent), 10*time.Second, "the session had ended, and Lost was open")
		silence.Release()
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
	})
}

// TestAWaiterSendsRequestsWhileItWaits: otherwise a new holder would lose the lease
// as soon as no server answers for a moment.
func TestAWaiterSendsRequestsWhileItWaits(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter"))
		time.Sleep(time.Minute) // six session timeouts
		require.NoError(tb, holder.Unlock(context.Background()))
		got := gets(tb, waiter)
		silence := tb.srv.Hold(func(r zkserver.Request) bool { return r.Session == id })
		time.Sleep(3 * time.Second) // less than a third of the session timeout
		silence.Release()
		lasts(tb, got)
	})
}

// TestALeaseIsLostWithoutAnEvent: a client may miss an event while it
// reconnects.
func TestALeaseIsLostWithoutAnEvent(t *testing.T) {
	for what, another := range map[string]bool{"its node has gone": false, "its node is another's": true} {
		onTables(t, what, func(tb *table) {
			admin := tb.connect()
			conn := tb.connectWith(ensemble.Options{Wrap: func(nc net.Conn) net.Conn {
				return eventFilter{nc, new(bytes.Buffer), ""}
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
			require.True(tb, tb.isLost(holder), "Lost is open, and "+what)
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.Equal(tb, nodes, tb.srv.Children(top), "it has deleted the node of another")
		})
	}
}

// TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne: the reply to its create
// is lost, and while it looks for its node another of its Mutex queues.
func TestAnEntryWhoseNodeIsFoundLateIsStillBeforeALaterOne(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m, id := tb.mutex(conn), conn.SessionID()
		tb.makeTop(tb.connect())
		lost := tb.srv.LoseReply(creates(id))
		looks := tb.srv.HoldReply(of(id, jute.OpSync, ""))
		one := lockAside(context.Background(), m, zklock.NewOwner("one"))
		<-lost.Hit()
		<-looks.Hit()
		two := lockAside(context.Background(), m, zklock.NewOwner("two"))
		synctest.Wait()
		looks.Release()
		time.Sleep(time.Minute) // until one of them has the lock
		require.Len(tb, one, 1, "nobody lets in the one that is first in the queue")
		require.Empty(tb, two)
		passes(tb, one)
		passes(tb, two)
	})
}

func TestAnOwnerThatGaveUpAndCameBackLocksAgainWithoutWaitingForItself(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		tb.makeTop(tb.connect())
		slow := tb.srv.Hold(creates(conn.SessionID()))
		ctx, cancel := context.WithCancel(context.Background())
		first := lockAside(ctx, m, owner)
		<-slow.Hit()
		cancel()
		require.ErrorIs(tb, (<-first).err, context.Canceled)
		second := lockAside(context.Background(), m, owner)
		synctest.Wait()
		slow.Release() // the node of the first is made, and goes again
		got := gets(tb, second)
		again := tb.mustLock(m, owner)
		require.NoError(tb, again.Unlock(context.Background()))
		require.NoError(tb, got.Unlock(context.Background()))
	})
}
