package zklock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func TestAHolderFindsItselfAmongTheParticipants(t *testing.T) {
	onTable(t, func(tb *table) {
		peer := tb.connect()
		m := tb.mutex(tb.connectAs(ordinary{}))
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		require.Equal(tb, tb.node(0), holder.Node())
		waiter := lockAside(context.Background(), tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("waiter"))
		synctest.Wait()
		foreign, err := peer.CreateProtectedEphemeralSequential(top+"/lock-", nil, zk.WorldACL(zk.PermAll)) // as zk.Lock makes it
		require.NoError(tb, err)

		queue, err := m.Participants(context.Background())
		require.NoError(tb, err)
		require.Len(tb, queue, 3)
		require.Equal(tb, holder.Node(), queue[0].Node)
		require.Equal(tb, holder.Token(), queue[0].Token)
		require.Equal(tb, foreign, queue[2].Node)
		for i, p := range queue {
			node, ok := tb.srv.Node(p.Node)
			require.True(tb, ok)
			require.Equal(tb, node.Stat.Czxid<<10, p.Token, "participant %d", i)
		}
		require.NoError(tb, holder.Unlock(context.Background()))
		got := <-waiter
		require.Equal(tb, queue[1].Node, got.lease.Node())
		require.Equal(tb, queue[1].Token, got.lease.Token(), "a waiter's token is what it will hold the lock with")
		require.Equal(tb, queue[0].Node, holder.Node(), "it is known after Unlock, too")
		require.NoError(tb, got.lease.Unlock(context.Background()))
	})
}

func TestHoldsCountsTheLeasesOfAnOwner(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m := tb.mutex(conn)
		owner, other := zklock.NewOwner("owner"), zklock.NewOwner("owner")
		require.Zero(tb, m.Holds(owner))
		first := tb.mustLock(m, owner)
		require.Equal(tb, 1, m.Holds(owner))
		second := tb.mustLock(m, owner)
		require.Equal(tb, 2, m.Holds(owner))
		require.Equal(tb, first.Token(), second.Token())
		waiter := lockAside(context.Background(), m, other)
		synctest.Wait()
		require.Zero(tb, m.Holds(other), "it waits")
		require.NoError(tb, first.Unlock(context.Background()), "in any order")
		require.ErrorIs(tb, first.Unlock(context.Background()), zklock.ErrUnlocked)
		require.Equal(tb, 1, m.Holds(owner))
		require.NoError(tb, second.Unlock(context.Background()))
		require.Zero(tb, m.Holds(owner))
		got := gets(tb, waiter)
		require.Equal(tb, 1, m.Holds(other))
		require.Zero(tb, m.Holds(owner))
		tb.srv.Expire(conn.SessionID())
		<-got.Lost()
		require.Zero(tb, m.Holds(other), "the lock is lost")
		require.ErrorIs(tb, got.Unlock(context.Background()), zklock.ErrLost)
		require.Zero(tb, m.Holds(other))
	})
}

func TestHoldsIsZeroOnceUnlockHasGivenUpTheLease(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		l := tb.mustLock(m, owner)
		slow := tb.srv.Hold(of(conn.SessionID(), jute.OpDelete, ""))
		ctx := limited(tb, time.Second)
		require.ErrorIs(tb, l.Unlock(ctx), context.DeadlineExceeded)
		require.Zero(tb, m.Holds(owner))
		require.True(tb, isClosed(l.Done()))
		slow.Release()
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

func TestDoneClosesWhenTheLeaseIsOverForWhateverReason(t *testing.T) {
	for what, end := range map[string]func(tb *table, conn *zk.Conn, l *zklock.Lease){
		"Unlock": func(tb *table, conn *zk.Conn, l *zklock.Lease) {
			require.NoError(tb, l.Unlock(context.Background()))
		},
		"its session has expired": func(tb *table, conn *zk.Conn, l *zklock.Lease) {
			tb.srv.Expire(conn.SessionID())
			<-l.Lost()
		},
		"its node was deleted": func(tb *table, conn *zk.Conn, l *zklock.Lease) {
			require.NoError(tb, tb.connect().Delete(tb.node(0), -1))
			<-l.Lost()
		},
		"its server is silent": func(tb *table, conn *zk.Conn, l *zklock.Lease) {
			id := conn.SessionID()
			silence := many(tb.srv.Hold, func(r zkserver.Request) bool { return r.Session == id })
			<-l.Lost()
			synctest.Wait()
			require.True(tb, isClosed(l.Done()))
			time.Sleep(10 * time.Second) // until the session has ended
			releaseAll(silence)
		},
		"its client was closed": func(tb *table, conn *zk.Conn, l *zklock.Lease) {
			conn.Close()
			<-l.Lost()
		},
	} {
		onTables(t, what, func(tb *table) {
			conn := tb.connectAs(ordinary{})
			l := tb.mustLock(tb.mutex(conn), zklock.NewOwner("owner"))
			time.Sleep(time.Minute) // in which nothing happens
			require.False(tb, isClosed(l.Done()))
			require.True(tb, time.Now().Before(l.ValidUntil()))
			end(tb, conn, l)
			synctest.Wait()
			require.True(tb, isClosed(l.Done()))
			require.Zero(tb, l.ValidUntil())
			require.Equal(tb, what != "Unlock", tb.isLost(l), "Lost is closed")
			if what != "Unlock" {
				require.ErrorIs(tb, l.Unlock(context.Background()), zklock.ErrLost)
			}
		})
	}
}

// TestContextEndsWithTheLeaseAndWithItsParent, and leaves no goroutine behind in
// either case: a bubble does not end before its goroutines do.
func TestContextEndsWithTheLeaseAndWithItsParent(t *testing.T) {
	type key struct{}
	for _, c := range []struct {
		what  string
		end   func(tb *table, conn *zk.Conn, l *zklock.Lease, parent context.CancelFunc)
		err   error
		cause error
	}{
		{"Unlock", func(tb *table, _ *zk.Conn, l *zklock.Lease, _ context.CancelFunc) {
			require.NoError(tb, l.Unlock(context.Background()))
		}, context.Canceled, zklock.ErrUnlocked},
		{"loss", func(tb *table, conn *zk.Conn, l *zklock.Lease, _ context.CancelFunc) {
			tb.srv.Expire(conn.SessionID())
			<-l.Lost()
		}, context.Canceled, zklock.ErrLost},
		{"cancelled parent", func(_ *table, _ *zk.Conn, _ *zklock.Lease, parent context.CancelFunc) { parent() },
			context.Canceled, context.Canceled},
		{"parent's deadline", func(*table, *zk.Conn, *zklock.Lease, context.CancelFunc) { time.Sleep(time.Hour) },
			context.DeadlineExceeded, context.DeadlineExceeded},
	} {
		onTables(t, c.what, func(tb *table) {
			conn := tb.connectAs(ordinary{})
			l := tb.mustLock(tb.mutex(conn), nil)
			parent, cancel := context.WithTimeout(context.WithValue(context.Background(), key{}, "value"), time.Hour)
			defer cancel()
			ctx := l.Context(parent)
			deadline, _ := ctx.Deadline()
			require.Equal(tb, time.Hour, time.Until(deadline))
			require.Equal(tb, "value", ctx.Value(key{}))
			before := runtime.NumGoroutine()
			require.NoError(tb, l.Context(parent).Err())
			require.LessOrEqual(tb, runtime.NumGoroutine(), before)
			c.end(tb, conn, l, cancel)
			synctest.Wait()
			require.ErrorIs(tb, ctx.Err(), c.err)
			require.ErrorIs(tb, context.Cause(ctx), c.cause)
			late := l.Context(parent)
			require.ErrorIs(tb, context.Cause(late), c.cause, "at once")
			require.Error(tb, late.Err())
			l.Unlock(context.Background())
		})
	}
}

// TestDoReturnsNilIfOnlyItsUnlockIsNotAnswered: f has been called, and an error would
// make its caller try again.
func TestDoReturnsNilIfOnlyItsUnlockIsNotAnswered(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m := tb.mutex(conn)
		var silence []*zkserver.Fault
		began := time.Now()
		oops := errors.New("oops")
		for _, want := range []error{nil, oops} {
			err := m.Do(context.Background(), nil, func(context.Context, *zklock.Lease) error {
				silence = many(tb.srv.Hold, of(conn.SessionID(), jute.OpDelete, ""))
				return want
			})
			require.Equal(tb, want == nil, err == nil, "%v", err)
			require.NotErrorIs(tb, err, context.DeadlineExceeded)
			require.GreaterOrEqual(tb, time.Since(began), 10*time.Second)
			releaseAll(silence)
		}
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Empty(tb, tb.srv.Children(top))
	})
}

func TestDoneIsOfOneLease(t *testing.T) {
	onTable(t, func(tb *table) {
		m, owner := tb.mutex(tb.connectAs(ordinary{})), zklock.NewOwner("owner")
		first, second := tb.mustLock(m, owner), tb.mustLock(m, owner)
		require.NoError(tb, first.Unlock(context.Background()))
		require.True(tb, isClosed(first.Done()))
		require.Zero(tb, first.ValidUntil())
		require.False(tb, isClosed(second.Done()), "the owner still holds the lock")
		require.NotZero(tb, second.ValidUntil())
		require.NoError(tb, second.Unlock(context.Background()))
		require.True(tb, isClosed(second.Done()))
	})
}

func TestShutdownReturnsAtOnceWhenNothingIsLeftToDo(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		require.NoError(tb, tb.mutex(conn).Shutdown(context.Background()), "nothing was ever done")
		m := tb.mutex(conn)
		l := tb.mustLock(m, zklock.NewOwner("owner"))
		require.NoError(tb, l.Unlock(context.Background()))
		began := time.Now()
		require.NoError(tb, m.Shutdown(context.Background()))
		require.Zero(tb, time.Since(began))
	})
}

// TestShutdownReturnsWhenTheNodeOfAContenderThatGaveUpHasGone: then the client may
// be closed.
func TestShutdownReturnsWhenTheNodeOfAContenderThatGaveUpHasGone(t *testing.T) {
	for what, op := range map[string]jute.Op{"first create": jute.OpCreate, "create": jute.OpMulti, "delete": jute.OpDelete} {
		onTables(t, what+" is slow", func(tb *table) {
			tb.makeTop(tb.connect())
			conn := tb.connectAs(ordinary{})
			m := tb.mutex(conn)
			if op == jute.OpMulti {
				require.NoError(tb, tb.mustLock(m, zklock.NewOwner("earlier")).Unlock(context.Background()))
			}
			holder := tb.mustLock(tb.mutex(tb.connect()), zklock.NewOwner("holder"))
			slow := tb.srv.Hold(of(conn.SessionID(), op, ""))
			ctx, cancel := context.WithCancel(context.Background())
			waiter := lockAside(ctx, m, zklock.NewOwner("waiter"))
			synctest.Wait()
			cancel()
			<-slow.Hit()
			require.ErrorIs(tb, (<-waiter).err, context.Canceled)

			short := limited(tb, time.Second)
			began := time.Now()
			require.ErrorIs(tb, m.Shutdown(short), context.DeadlineExceeded)
			require.Equal(tb, time.Second, time.Since(began))
			done := aside(func() error { return m.Shutdown(context.Background()) })
			synctest.Wait()
			require.Empty(tb, done, "the node of the contender is in the queue")
			slow.Release()
			require.NoError(tb, <-done)
			require.Len(tb, tb.srv.Children(top), 1)
			for _, w := range tb.srv.Watches() {
				_, there := tb.srv.Node(w.Path)
				require.True(tb, there, "it watches the node that it has given up: %v", w.Path)
			}
			require.NoError(tb, holder.Unlock(context.Background()))
		})
	}
}

// TestShutdownReturnsForAContenderWhoseCreateWasNotSent: no server can be reached,
// and there is no node to look for.
func TestShutdownReturnsForAContenderWhoseCreateWasNotSent(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, id := tb.mutex(conn), conn.SessionID()
		many(tb.srv.LoseRequest, func(r zkserver.Request) bool { return r.Op == jute.OpConnect })
		tb.srv.Cut(id)
		synctest.Wait()
		ctx := limited(tb, 5*time.Second)
		_, err := m.Lock(ctx, zklock.NewOwner("owner"))
		require.ErrorIs(tb, err, context.DeadlineExceeded)
		ctx = limited(tb, 10*time.Second)
		require.NoError(tb, m.Shutdown(ctx), "it waits for a server")
	})
}

func TestShutdownReturnsForAClientThatHasBeenClosed(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, closeIt := tb.stuckClose()
		m := tb.mutex(conn)
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		closeIt()
		<-holder.Lost()
		ctx := limited(tb, time.Minute)
		require.NoError(tb, m.Shutdown(ctx))
		require.ErrorIs(tb, holder.Unlock(ctx), zklock.ErrLost)
	})
}

// TestALateUnlockOfALostLeaseTakesNothingFromTheNextOne: the owner locks again
// before it unlocks the lost lease, and still holds the lock after that.
func TestALateUnlockOfALostLeaseTakesNothingFromTheNextOne(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		lost := tb.mustLock(m, owner)
		tb.srv.Expire(conn.SessionID())
		<-lost.Lost()
		again := tb.mustLock(m, owner)
		require.ErrorIs(tb, lost.Unlock(context.Background()), zklock.ErrLost)
		require.Equal(tb, 1, m.Holds(owner))
		inner, err := m.TryLock(context.Background(), owner)
		require.NoError(tb, err, "the owner is kept out by itself")
		require.Equal(tb, again.Token(), inner.Token())
		require.NoError(tb, inner.Unlock(context.Background()))
		require.NoError(tb, again.Unlock(context.Background()))
	})
}

// TestShutdownRefusesNewLocksAndNamesWhatIsUnderWay: an owner that waits already gets
// its turn, and the holder may lock again.
func TestShutdownRefusesNewLocksAndNamesWhatIsUnderWay(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		m, holder := tb.mutex(conn), zklock.NewOwner("the holder")
		first := tb.mustLock(m, holder)
		waiter := lockAside(context.Background(), m, zklock.NewOwner("waiter"))
		synctest.Wait()
		ended := func(want ...string) {
			tb.Helper()
			err := m.Shutdown(limited(tb, time.Second))
			require.ErrorIs(tb, err, context.DeadlineExceeded)
			for _, w := range want {
				require.ErrorContains(tb, err, w)
			}
		}
		ended(first.Node()+` is held by "the holder"`, "owners that wait for the lock: 1")
		for _, lock := range []func(context.Context, *zklock.Owner) (*zklock.Lease, error){m.Lock, m.TryLock} {
			_, err := lock(limited(tb, time.Minute), nil)
			require.ErrorIs(tb, err, zklock.ErrShutdown)
			require.NotErrorIs(tb, err, zklock.ErrHeld)
			require.ErrorContains(tb, err, top)
		}
		called := false
		require.ErrorIs(tb, m.Do(limited(tb, time.Minute), nil, func(context.Context, *zklock.Lease) error {
			called = true
			return nil
		}), zklock.ErrShutdown)
		require.False(tb, called)
		again := tb.mustLock(m, holder)
		require.NoError(tb, again.Unlock(context.Background()))
		require.NoError(tb, first.Unlock(context.Background()))
		second := gets(tb, waiter)
		stays := tb.srv.Hold(of(conn.SessionID(), jute.OpDelete, ""))
		require.ErrorIs(tb, second.Unlock(limited(tb, time.Second)), context.DeadlineExceeded)
		ended(second.Node() + " is being deleted")
		stays.Release()
		require.NoError(tb, m.Shutdown(context.Background()))
		require.NoError(tb, m.Shutdown(context.Background()), "again")
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(tb, m.Shutdown(canceled), "nothing is under way")
		require.Empty(tb, tb.srv.Children(top))
	})
}

// TestShutdownWaitsForNoOtherMutex: the proof that is under way is that of another
// Mutex of the client, and no server answers it.
func TestShutdownWaitsForNoOtherMutex(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		id, m := conn.SessionID(), tb.mutex(conn)
		require.NoError(tb, tb.mustLock(m, nil).Unlock(context.Background()))
		other, err := zklock.New(conn, "/other", zklock.WithSessionTimeout(10*time.Second)) // of the same client
		require.NoError(tb, err)
		holder := tb.mustLock(other, nil)
		proof := tb.srv.Hold(of(id, jute.OpSync, ""))
		<-proof.Hit()
		require.NoError(tb, m.Shutdown(limited(tb, time.Second)))
		proof.Release()
		require.NoError(tb, holder.Unlock(context.Background()))
	})
}

// TestShutdownReturnsWhenTheProofIsOver: the lock has been let go while a proof of the
// session was under way, whose last request is answered late.
func TestShutdownReturnsWhenTheProofIsOver(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		id, m := conn.SessionID(), tb.mutex(conn)
		holder := tb.mustLock(m, zklock.NewOwner("holder"))
		proof := tb.srv.Hold(of(id, jute.OpSync, ""))
		<-proof.Hit()
		last := tb.srv.HoldReply(of(id, jute.OpMulti, ""))
		unlocked := aside(func() error { return holder.Unlock(context.Background()) })
		synctest.Wait() // its delete is behind the sync
		proof.Release()
		require.NoError(tb, <-unlocked)
		<-last.Hit()
		waited := aside(func() error { return m.Shutdown(context.Background()) })
		synctest.Wait()
		require.Empty(tb, waited, "Shutdown has returned, and a request is under way")
		last.Release()
		require.NoError(tb, <-waited)
	})
}
