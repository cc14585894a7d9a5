package zklock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

var three = bubble.Three

// TestTheNextSessionMayBeShorter: the servers are replaced by others that agree
// to less. A Mutex that was made before uses the new session timeout.
func TestTheNextSessionMayBeShorter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // until the clients are closed
		long, short := zkserver.New(), zkserver.Run(t, zkserver.WithTick(200*time.Millisecond))
		var now atomic.Pointer[zkserver.Server]
		now.Store(long)
		conn, err := zkconn.Connect(t.Context(), three, 10*time.Second,
			zkconn.WithDialer(func(network, address string, d time.Duration) (net.Conn, error) {
				return now.Load().Dial(network, address, d)
			}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		mutex := testenv.Must(zklock.New(conn, top))(t)
		lease := testenv.Must(mutex.Lock(t.Context(), zklock.NewOwner("in a long session")))(t)

		other := testenv.Must(zkconn.Connect(t.Context(), three, 4*time.Second, zkconn.WithDialer(short.Dial)))(t)
		t.Cleanup(other.Close)
		for range 100 { // a server refuses a client that has seen later changes
			testenv.Must(other.Create("/x", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
		}
		now.Store(short)
		long.Close()
		<-lease.Lost()
		holder := testenv.Must(mutex.Lock(t.Context(), zklock.NewOwner("in a short session")))(t)
		require.Equal(t, 4*time.Second, short.Sessions()[1].Timeout)
		next := lockAside(t.Context(), testenv.Must(zklock.New(other, top))(t), zklock.NewOwner("next"))
		time.Sleep(20 * time.Second) // in which all is well with the connection
		require.False(t, isClosed(holder.Lost()), "the lease is lost")

		t.Cleanup(short.Hold(from(conn.SessionID())).Every().Release)
		select {
		case <-holder.Lost():
			require.Empty(t, next)
		case <-next:
			t.Fatal("two hold the lock at once")
		}
		require.NoError(t, (<-next).err)
	})
}

// TestACallbackMayTakeAWhileBeforeTheHandshake: the client calls it after the dial,
// and the time for the handshake begins after that.
func TestACallbackMayTakeAWhileBeforeTheHandshake(t *testing.T) {
	onTable(t, func(tb *table) {
		var slow atomic.Bool
		conn, err := zkconn.Connect(context.Background(), three, 10*time.Second,
			zkconn.WithDialer(tb.srv.Dial), zkconn.WithZK(zk.WithEventCallback(func(ev zk.Event) {
				if ev.State == zk.StateConnected && slow.Load() {
					time.Sleep(2 * time.Second) // 10 s, divided by three and by three servers, is less
				}
			})))
		require.NoError(tb, err)
		tb.Cleanup(conn.Close)
		slow.Store(true)
		session := conn.SessionID()
		tb.srv.Cut(session)
		time.Sleep(5 * time.Second) // until the client is back
		require.Equal(tb, zk.StateHasSession, conn.State(), "it does not come back")
		require.Equal(tb, session, conn.SessionID())
	})
}

// TestTheFirstLockOfAClientTakesNoLonger: zk.Connect returns before there is a session.
func TestTheFirstLockOfAClientTakesNoLonger(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := bubble.Connect(tb, tb.srv.Dial, 10*time.Second, bubble.One)
		began := time.Now()
		l := testenv.Must(tb.mutex(conn).Lock(context.Background(), zklock.NewOwner("first")))(tb)
		require.Zero(tb, time.Since(began), "the lock is free, and every request is answered at once")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// distant leads to a server that is so far away that each packet from it takes a while. As on a real line,
// many packets are on the way at a time. The client's deadlines do not count: these tests are not about one
// that gives up because its server is so far away.
func distant(away time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn { return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Far: away})} }
}

type patient struct{ net.Conn }

func (patient) SetReadDeadline(time.Time) error { return nil }

// narrow leads to a near server on a line from which so many bytes come at a time.
func narrow(size int, each time.Duration) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		return patient{bubble.Through(nc, bubble.Way{}, bubble.Way{Packet: func(packet []byte) []byte {
			time.Sleep(each * time.Duration((len(packet)+size-1)/size)) // of virtual time: the answer is on its way
			return packet
		}})}
	}
}

// TestAServerThatAnswersIsNotLeft, nor is another one asked whether it leads: the two answers of a proof together take
// longer than a server may be silent; or answers to a thousand other requests are in front of them.
func TestAServerThatAnswersIsNotLeft(t *testing.T) {
	for others, wrap := range map[int]func(net.Conn) net.Conn{0: distant(800 * time.Millisecond), 1000: narrow(4<<10, time.Millisecond)} {
		onTables(t, fmt.Sprint(others), func(tb *table) {
			line := &bubble.Line{Server: tb.srv, Wrap: wrap}
			_, m := tb.connectFor(10*time.Second, three, line.Dial)
			holder := tb.mustLock(m, nil)
			time.Sleep(time.Minute)
			for range others {
				go m.Participants(context.Background())
			}
			time.Sleep(5 * time.Second)
			require.False(tb, isClosed(holder.Lost()))
			require.Len(tb, line.Dialed(), 1)
			require.NoError(tb, holder.Unlock(context.Background()))
		})
	}
}

// TestALateContenderHasTheLockAfterThreeRoundTrips: its create, the list, and the reads
// that set its watches. The holder unlocks while these are on the way.
func TestALateContenderHasTheLockAfterThreeRoundTrips(t *testing.T) {
	const roundTrip = 100 * time.Millisecond
	for name, before := range map[string]int{"behind one": 1, "behind two": 2} {
		onTables(t, name, func(tb *table) {
			var holders []<-chan locked
			for range before {
				holders = append(holders, queues(tb.mutex(tb.connect())))
			}
			m := tb.mutex(tb.connectAs(ordinary{wrap: distant(roundTrip)}))
			began := time.Now()
			late := lockAside(context.Background(), m, nil)
			time.Sleep(roundTrip * 3 / 2) // the server has answered the list, and gets the reads when the client has it
			for _, holder := range holders {
				passes(tb, holder)
			}
			got := gets(tb, late)
			require.Equal(tb, 3*roundTrip, time.Since(began))
			require.NoError(tb, got.Unlock(context.Background()))
		})
	}
}

// TestANodeThatWasMadeAgainByHandIsNotTheHolders: the client is away meanwhile, and is told that the data has changed.
func TestANodeThatWasMadeAgainByHandIsNotTheHolders(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		lease := tb.mustLock(tb.mutex(conn), nil)
		time.Sleep(5 * time.Second) // the holder watches its node
		away := tb.srv.Hold(of(conn.SessionID(), jute.OpConnect, "")).Every()
		tb.srv.Cut(conn.SessionID())
		require.NoError(tb, admin.Delete(lease.Node(), -1))
		tb.create(admin, lease.Node(), "", zk.FlagPersistent)
		away.Release()
		time.Sleep(2 * time.Second)
		require.True(tb, isClosed(lease.Lost()))
	})
}

// TestAMutexThatHasLostTheLockAsksNoMoreThanAnotherWaiter: the session of a holder is proved more often.
func TestAMutexThatHasLostTheLockAsksNoMoreThanAnotherWaiter(t *testing.T) {
	onClient(t, func(tb *table, admin *zk.Conn) {
		sentBy := func(loses bool) int64 {
			tap := new(wiretap.Tap)
			conn := tb.connectWith(ensemble.Options{Buffer: 64 << 10, Tap: tap})
			m := tb.mutex(conn)
			if loses {
				require.NoError(tb, admin.Delete(tb.mustLock(m, nil).Node(), -1))
			}
			holder := tb.mustLock(tb.mutex(admin), nil)
			waiter := waits(m)
			time.Sleep(time.Minute)
			before := tap.Counts()
			time.Sleep(time.Minute)
			sent := sum(tap.Counts().Since(before).Requests)
			require.NoError(tb, holder.Unlock(tb.Context()))
			passes(tb, waiter)
			return sent
		}
		require.Equal(tb, sentBy(false), sentBy(true))
	})
}

// slowCtx is a ctx whose reader is put to sleep by the scheduler at the worst of times.
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
			require.ErrorIs(tb, (<-waiter).err, zk.ErrClosing, "a waiter whose session has ended got the lock")
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

// TestALeaseIsLostWithoutAnEvent: a client may miss an event while it reconnects.
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
