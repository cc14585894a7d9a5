package zklock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
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

// handshakeOf is true of a client that comes back to its session.
func handshakeOf(session int64) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == session }
}

// TestAHolderInTheOldParentLetsNobodyInInTheNewOne: the holder's delete is
// carried out and not answered, the parent is made again, and a contender of
// the same Mutex gets the number after the holder's in it before the holder
// gets the answer that its node has gone. Nor does the Unlock that is tried again
// delete the node of another.
func TestAHolderInTheOldParentLetsNobodyInInTheNewOne(t *testing.T) {
	for after := range 10 {
		onTable(t, func(tb *table) {
			conn, admin := tb.connect(), tb.connect()
			m := tb.mutex(conn)
			back, unlocked := tb.unlockUnanswered(conn.SessionID(), tb.mustLock(m, zklock.NewOwner("holder")))
			require.NoError(tb, admin.Delete(top, -1)) // as the server does with a container
			next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
			second := lockAside(context.Background(), m, zklock.NewOwner("second"))
			time.Sleep(time.Second + time.Duration(after)*10*time.Millisecond) // until the client's next try is as far away
			back.Release()
			require.NoError(tb, <-unlocked)
			time.Sleep(time.Second) // for the second one to get in by mistake
			require.Empty(tb, second, "two holders: the second was let in by the holder in the old parent")
			require.Len(tb, tb.srv.Children(top), 2)
			require.NoError(tb, next.Unlock(context.Background()))
			passes(tb, second)
			require.Empty(tb, tb.srv.Children(top))
		})
	}
}

// eventFilter is a connection on which no event of one node arrives, or of any if path
// is empty, as happens to a client that is just coming back.
type eventFilter struct {
	net.Conn
	in   *bytes.Buffer // what has arrived of packets that are whole
	path string
}

func (c eventFilter) Read(b []byte) (int, error) {
	for c.in.Len() == 0 {
		var length [4]byte
		if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
			return 0, err
		}
		packet := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c.Conn, packet); err != nil {
			return 0, err
		}
		if int32(binary.BigEndian.Uint32(packet)) != -1 || !bytes.Contains(packet, []byte(c.path)) {
			c.in.Write(append(length[:], packet...))
		}
	}
	return c.in.Read(b)
}

// TestAWaiterWhoseNodeHasGoneWithTheHoldersIsNotLetIn: an operator removes the
// parent with all its nodes, and the waiter misses the event of its own.
func TestAWaiterWhoseNodeHasGoneWithTheHoldersIsNotLetIn(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		_, err := admin.Create("/other", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			return eventFilter{nc, new(bytes.Buffer), "-lock-0000000001"}
		}})
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter")) // a Mutex of its own has a node of its own
		time.Sleep(2 * time.Second)                                                          // until both watch theirs
		late := tb.srv.HoldReply(of(conn.SessionID(), jute.OpExists, "/other"))              // and all that follows
		go conn.Exists("/other")
		<-late.Hit()
		for _, node := range []string{tb.node(1), tb.node(0), top} {
			require.NoError(tb, admin.Delete(node, -1))
		}
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		late.Release()
		<-holder.Lost()
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in by a holder whose node had gone")
		require.NoError(tb, next.Unlock(context.Background()))
		got := gets(tb, waiter)
		require.Contains(tb, tokens(tb), got.Token(), "it holds the lock without a node in the queue")
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		require.NoError(tb, got.Unlock(context.Background()))
	})
}

// TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone: the holder's delete
// is carried out and not answered. Before the client is back, an operator
// removes the waiter's node and the parent, and the waiter misses the event.
func TestAnUnlockThatIsTriedAgainLetsNobodyInWhoseNodeHasGone(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			return watchesFirst(eventFilter{nc, new(bytes.Buffer), "-lock-0000000001"})
		}})
		m, id := tb.mutex(conn), conn.SessionID()
		unlocked := tb.unlockThrottled(id, tb.mustLock(m, zklock.NewOwner("holder")))
		waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
		synctest.Wait() // it has a node of its own
		lost := tb.srv.LoseReply(of(id, jute.OpDelete, ""))
		back := tb.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		<-lost.Hit()
		<-back.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		next := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("next"))
		back.Release()
		require.NoError(tb, <-unlocked)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in, and its node has gone")
		require.NoError(tb, next.Unlock(context.Background()))
		passes(tb, waiter)
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestAHolderWhoseNodeHasGoneLetsNobodyIn: an operator removes the parent with
// the nodes of the holder and of the waiter, and both miss the event.
func TestAHolderWhoseNodeHasGoneLetsNobodyIn(t *testing.T) {
	onTable(t, func(tb *table) {
		admin := tb.connect()
		conn := tb.connectAs(ordinary{wrap: func(nc net.Conn) net.Conn {
			nc = eventFilter{nc, new(bytes.Buffer), "-lock-0000000000"}
			return eventFilter{nc, new(bytes.Buffer), "-lock-0000000001"}
		}})
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter"))
		time.Sleep(2 * time.Second) // until both watch their nodes
		for _, name := range tb.srv.Children(top) {
			require.NoError(tb, admin.Delete(top+"/"+name, -1))
		}
		tb.remakeTop(admin)
		others := tb.mutex(tb.connect())
		for range 2 { // which have the numbers of the holder's node and the waiter's
			require.NoError(tb, tb.mustLock(others, zklock.NewOwner("other")).Unlock(context.Background()))
		}
		next := tb.mustLock(others, zklock.NewOwner("next"))
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		time.Sleep(time.Second) // for the waiter to get in by mistake
		require.Empty(tb, waiter, "two holders: the waiter was let in by a holder whose node had gone")
		require.NoError(tb, next.Unlock(context.Background()))
		passes(tb, waiter)
		require.Empty(tb, tb.srv.Children(top))
	})
}

// tokens returns the tokens of the contenders in the queue.
func tokens(tb *table) (all []int64) {
	for _, name := range tb.srv.Children(top) {
		node, _ := tb.srv.Node(top + "/" + name)
		all = append(all, node.Stat.Czxid<<10)
	}
	return all
}

// TestAContenderLooksAtItsNodeBeforeItTakesTheLock: while it puts its record
// right, its node changes once more and is deleted, and so is the holder's. Which of
// the two events it then handles first is random.
func TestAContenderLooksAtItsNodeBeforeItTakesTheLock(t *testing.T) {
	for range 20 {
		onTable(t, func(tb *table) {
			admin, conn := tb.connect(), tb.connectAs(ordinary{})
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("waiter"))
			synctest.Wait()
			node := tb.node(1)
			repairs := tb.srv.Hold(of(conn.SessionID(), jute.OpSetData, node))
			for range 2 {
				_, err := admin.Set(node, []byte("scribble"), -1)
				require.NoError(tb, err)
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
			require.NoError(tb, next.Unlock(context.Background()))
			passes(tb, waiter)
		})
	}
}

// TestOneSlowAnswerOnlyDelaysTheLock: when it comes, it proves too short a time, and
// the session is proved again. Lock does not give up because of one slow answer.
func TestOneSlowAnswerOnlyDelaysTheLock(t *testing.T) {
	for nth := range 4 {
		onTables(t, fmt.Sprintf("request %d", nth), func(tb *table) {
			conn := tb.connectAs(ordinary{sessionTimeout: 40 * time.Second}) // patient
			m := tb.mutex(conn)
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
			time.Sleep(8 * time.Second) // until it waits in quiet
			before := nth
			slow := tb.srv.HoldReply(func(r zkserver.Request) bool {
				if r.Session != conn.SessionID() || r.Op == jute.OpPing {
					return false
				}
				before--
				return before < 0
			})
			select {
			case <-slow.Hit():
			case <-time.After(time.Minute): // it asks nothing while it waits
			}
			require.NoError(tb, holder.Unlock(context.Background()))
			time.Sleep(9 * time.Second) // less than the session timeout, more than two thirds of it
			slow.Release()
			got := gets(tb, waiter)
			require.False(tb, tb.isLost(got))
			lasts(tb, got)
		})
	}
}

// TestTryLockWhoseNodeIsTakenAwayTriesAgain: the remains of the first try do not
// make the second one fail.
func TestTryLockWhoseNodeIsTakenAwayTriesAgain(t *testing.T) {
	for op, hold := range map[jute.Op]func(*zkserver.Server, func(zkserver.Request) bool) *zkserver.Fault{
		jute.OpCreate: (*zkserver.Server).HoldReply, jute.OpGetChildren2: (*zkserver.Server).Hold,
	} {
		for range 10 {
			onTable(t, func(tb *table) {
				admin, conn := tb.connect(), tb.connectAs(ordinary{})
				tb.makeTop(admin)
				late := hold(tb.srv, of(conn.SessionID(), op, ""))
				got := make(chan locked, 1)
				go func() {
					l, err := tb.mutex(conn).TryLock(context.Background(), zklock.NewOwner("owner"))
					got <- locked{l, err}
				}()
				<-late.Hit()
				require.NoError(tb, admin.Delete(tb.node(0), -1))
				late.Release()
				tried := <-got
				require.NoError(tb, tried.err, "nobody holds the lock")
				require.NoError(tb, tried.lease.Unlock(context.Background()))
			})
		}
	}
}

// lateCtx is a ctx whose first reader is woken late.
type lateCtx struct {
	context.Context
	readers *atomic.Int32
}

func (c lateCtx) Done() <-chan struct{} {
	if c.readers.Add(1) == 1 {
		time.Sleep(time.Minute) // the scheduler has other things to do
	}
	return c.Context.Done()
}

// TestACallThatIsStoppedSaysThatItsCtxHasEnded, and not how it was stopped,
// though the goroutine of the request has noticed the end before the caller. One
// processor makes the caller the first reader of its ctx.
func TestACallThatIsStoppedSaysThatItsCtxHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		onTable(t, func(tb *table) {
			conn := tb.connectAs(ordinary{})
			m := tb.mutex(conn)
			late := tb.srv.Hold(of(conn.SessionID(), jute.OpSync, ""))
			ended, cancel := context.WithCancel(context.Background())
			ctx := lateCtx{ended, new(atomic.Int32)}
			asked := aside(func() error {
				_, err := m.Participants(ctx)
				return err
			})
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
		admin, conn := tb.connect(), tb.connectAs(ordinary{})
		tb.makeTop(admin)
		lists := tb.srv.Hold(of(conn.SessionID(), jute.OpGetChildren2, ""))
		waiter := lockAside(context.Background(), tb.mutex(conn), zklock.NewOwner("owner"))
		<-lists.Hit()
		require.NoError(tb, admin.Delete(tb.node(0), -1))
		tb.remakeTop(admin)
		foreign, err := admin.Create(top+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(tb, err)
		require.Equal(tb, top+"/lock-0000000000", foreign)
		lists.Release()
		time.Sleep(time.Second) // for it to get in by mistake
		require.Empty(tb, waiter, "two holders: it takes another's node for its own")
		require.NoError(tb, admin.Delete(foreign, -1))
		got := gets(tb, waiter)
		require.Contains(tb, tokens(tb), got.Token())
		require.NoError(tb, got.Unlock(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain: no server answers,
// so the clock ends the lease, and the node has not been removed.
func TestALockWhoseSessionEndsBeforeLockReturnsIsLockedAgain(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{wrap: watchesFirst})
		id := conn.SessionID()
		ctx := slowCtx{context.Background(), sync.OnceFunc(func() {
			time.Sleep(time.Second) // it gets the lock meanwhile
			silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == id })
			time.Sleep(15 * time.Second) // more than the session timeout
			time.AfterFunc(time.Second, func() {
				releaseAll(silence)
			})
		})}
		l, err := tb.mutex(conn).Lock(ctx, zklock.NewOwner("slow"))
		require.NoError(tb, err)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestLockOfAnOwnerThatIsTryingWaits: the ErrHeld that TryLock returns in another
// goroutine of the owner does not end Lock.
func TestLockOfAnOwnerThatIsTryingWaits(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
		late := tb.srv.HoldReply(of(conn.SessionID(), jute.OpGetChildren2, ""))
		tried := aside(func() error {
			_, err := m.TryLock(context.Background(), owner)
			return err
		})
		<-late.Hit()
		waiter := lockAside(context.Background(), m, owner)
		synctest.Wait()
		late.Release()
		require.ErrorIs(tb, <-tried, zklock.ErrHeld)
		time.Sleep(time.Second) // for Lock to return by mistake
		require.Empty(tb, waiter)
		require.NoError(tb, holder.Unlock(context.Background()))
		passes(tb, waiter)
	})
}

// TestALeaseIsLostWhenNothingIsWritten: reads and syncs are answered, and
// writes are refused. A leader without a quorum answers like that, and another leader
// may have ended the session.
func TestALeaseIsLostWhenNothingIsWritten(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		id := conn.SessionID()
		m := tb.mutex(conn)
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		time.Sleep(time.Minute) // the lease is proved many times
		require.False(tb, tb.isLost(holder))
		last := time.Now()
		refused := make([]*zkserver.Fault, 1000)
		for i := range refused {
			refused[i] = tb.srv.Fail(throttled, of(id, jute.OpMulti, ""))
		}
		for time.Since(last) < 20*time.Second && !tb.isLost(holder) {
			_, err := m.Participants(context.Background())
			require.NoError(tb, err)
			time.Sleep(500 * time.Millisecond) // until the next sync and reads
		}
		require.True(tb, tb.isLost(holder), "Lost is open, and nothing has been written for %v", time.Since(last))
		require.LessOrEqual(tb, time.Since(last), 10*time.Second+500*time.Millisecond)
		releaseAll(refused)
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
		leavesNothing(tb)
	})
}

// TestANodeThatIsOnlyConcludedToBeBeforeIsLookedFor: a node of the Mutex was deleted by
// hand, and a stranger holds the lock, when the Mutex makes another node. The server
// reports one other child. The Mutex takes that for its own node, and gets the event
// of that one's end before it waits for it.
func TestANodeThatIsOnlyConcludedToBeBeforeIsLookedFor(t *testing.T) {
	for range 10 {
		onTable(t, func(tb *table) {
			conn, admin := tb.connect(), tb.connect()
			id := conn.SessionID()
			m := tb.mutex(conn, zklock.WithHandOver(1, time.Hour))
			require.NoError(tb, tb.mustLock(m, zklock.NewOwner("earlier")).Unlock(context.Background()))
			holder := tb.mustLock(m, zklock.NewOwner("holder"))
			require.NoError(tb, admin.Delete(tb.node(0), -1))
			stranger := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("stranger"))
			time.Sleep(time.Second) // less than until the holder's node is looked at
			made := tb.srv.Hold(creates(id))
			waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
			<-made.Hit()
			time.Sleep(500 * time.Millisecond) // the look at the holder's node is behind it
			reads := tb.srv.Hold(ofNode(id, jute.OpGetData))
			made.Release()
			<-reads.Hit()
			own := tb.srv.Hold(of(id, jute.OpGetData, "")) // the waiter's look at its own node
			reads.Release()
			<-own.Hit()
			time.Sleep(100 * time.Millisecond) // until the holder's node is known to have gone
			own.Release()
			time.Sleep(time.Second) // for the waiter to get in by mistake
			require.Empty(tb, waiter, "two holders")
			require.False(tb, tb.isLost(stranger))
			require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
			require.NoError(tb, stranger.Unlock(context.Background()))
			passes(tb, waiter)
		})
	}
}

// TestTryLockDoesNotTakeAnotherForANodeThatHasGone: the delete of the Mutex's last
// node was carried out and not answered. Before it is tried again, a contender of
// another process holds the lock.
func TestTryLockDoesNotTakeAnotherForANodeThatHasGone(t *testing.T) {
	for _, name := range []string{"zkconn.Connect", "zk.Connect"} {
		onTable(t, func(tb *table) {
			tb.makeTop(tb.connect())
			conn := kindsOfClients[name](tb, ensemble.Options{})
			m := tb.mutex(conn)
			holder := tb.mustLock(m, zklock.NewOwner("holder"))
			other := lockAside(context.Background(), tb.mutex(tb.connect()), zklock.NewOwner("other"))
			time.Sleep(time.Second) // until it waits
			lost := tb.srv.LoseReply(of(conn.SessionID(), jute.OpDelete, ""))
			unlocked := aside(func() error { return holder.Unlock(context.Background()) })
			<-lost.Hit()
			got := gets(tb, other)
			tried := aside(func() error {
				_, err := m.TryLock(context.Background(), zklock.NewOwner("hasty"))
				return err
			})
			time.Sleep(5 * time.Second) // for the client to come back; half the session timeout
			require.NoError(tb, <-unlocked)
			require.Len(tb, tried, 1, "%s: TryLock waits for another contender", name)
			require.ErrorIs(tb, <-tried, zklock.ErrHeld)
			require.NoError(tb, got.Unlock(context.Background()))
		})
	}
}

// TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer, though none of its requests has
// failed.
func TestTheErrorOfAWaiterNamesWhatIsWrongWithTheServer(t *testing.T) {
	for _, c := range []struct {
		what, want string
		waits      bool // the server was there when it queued
		wrong      func(tb *table, session int64) []*zkserver.Fault
	}{
		{"it waits, and there is no server", "has no server", true, func(tb *table, session int64) []*zkserver.Fault {
			away := many(tb.srv.Hold, handshakeOf(session))
			tb.srv.Cut(session)
			return away
		}},
		{"its create is not answered", "has not answered for 1.5s", false, func(tb *table, session int64) []*zkserver.Fault {
			return many(tb.srv.Hold, creates(session))
		}},
		{"all is well", "", true, func(*table, int64) []*zkserver.Fault { return nil }},
	} {
		onTables(t, c.what, func(tb *table) {
			holder := tb.mustLock(tb.mutex(tb.connect()), nil)
			conn := tb.connectAs(ordinary{wrap: watchesFirst})
			m := tb.mutex(conn)
			var faults []*zkserver.Fault
			if !c.waits {
				faults = c.wrong(tb, conn.SessionID())
			}
			waiter := lockAside(limited(tb, 1500*time.Millisecond), m, nil)
			time.Sleep(100 * time.Millisecond) // until it waits
			if c.waits {
				faults = c.wrong(tb, conn.SessionID())
			}
			err := (<-waiter).err
			require.ErrorIs(tb, err, context.DeadlineExceeded)
			if c.want != "" {
				require.ErrorContains(tb, err, c.want)
			} else {
				require.EqualError(tb, err, "zklock: lock /lock, after 1.5s: context deadline exceeded")
			}
			releaseAll(faults)
			require.NoError(tb, holder.Unlock(context.Background()))
			require.NoError(tb, m.Shutdown(context.Background()))
		})
	}
}

// TestTheErrorOfAWaiterNamesEachServerThatWasTried: a client of Connect's knows them.
func TestTheErrorOfAWaiterNamesEachServerThatWasTried(t *testing.T) {
	onTable(t, func(tb *table) {
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		conn := kindsOfClients["zkconn.Connect"](tb, ensemble.Options{})
		m := tb.mutex(conn)
		waiter := lockAside(limited(tb, 1500*time.Millisecond), m, nil)
		time.Sleep(time.Second) // until it waits
		away := tb.srv.LoseRequest(handshakeOf(conn.SessionID())).Every()
		tb.srv.Cut(conn.SessionID())
		err := (<-waiter).err
		require.ErrorIs(tb, err, context.DeadlineExceeded)
		require.ErrorContains(tb, err, ": closes the connection without an answer")
		away.Release()
		require.NoError(tb, holder.Unlock(context.Background()))
		require.NoError(tb, m.Shutdown(context.Background()))
	})
}

// TestTheErrorOfAWaiterNamesNoTroubleOfEarlierCalls.
func TestTheErrorOfAWaiterNamesNoTroubleOfEarlierCalls(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m := tb.mutex(conn)
		tb.srv.LoseReply(creates(conn.SessionID()))
		require.NoError(tb, tb.mustLock(m, nil).Unlock(context.Background())) // the second try
		holder := tb.mustLock(tb.mutex(tb.connect()), nil)
		time.Sleep(time.Minute)
		_, err := m.Lock(limited(tb, time.Second), nil)
		require.EqualError(tb, err, "zklock: lock /lock, after 1s: context deadline exceeded")
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestAWaiterBehindTwoIsProved: it may get the lock as soon as both have gone.
func TestAWaiterBehindTwoIsProved(t *testing.T) {
	onMeter(t, func(m *meter) {
		for before, proved := range []bool{2: true, 3: false} {
			if before < 2 {
				continue
			}
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
