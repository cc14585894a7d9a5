// The suites that every lock of this module must pass, played with zklock, and tests of TryLock beside Lock and of the
// options of New. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/exploretest"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) {
	zk.DefaultLogger = log.New(io.Discard, "", 0)
	debug.SetGCPercent(400) // to open a client leaves 1.5 MB of garbage
	locktest.Main(m)
}

// contender makes a contender as the suites of internal/locktest know it: Lock and Unlock, without owner and lease.
func contender(conn *zk.Conn, path string, options ...zklock.Option) locktest.ContextLock {
	s := leaseSubject(options...)
	return locktest.NewContender(s, s.Open(conn, path)("contender"))
}

func TestContexts(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.ContextSubject{
		New:          func(conn *zk.Conn, path string) locktest.ContextLock { return contender(conn, path) },
		ErrNotLocked: locktest.ErrNotLocked,
	})
}

func TestLostReplies(t *testing.T) {
	testenv.Embedded(t, "loses replies, which only the embedded server can")
	t.Parallel()
	locktest.Run(t, locktest.LostReplySubject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return locktest.Background(contender(conn, path)) },
		ErrNotLocked: locktest.ErrNotLocked,
	})
}

// requestsOfContenders returns how many requests n contenders send in all: the first one 3, and the others 5, 6, 7, 7, ….
func requestsOfContenders(n int) (all int) {
	for i := range n {
		all += []int{3, 5, 6, 7}[min(i, 3)]
	}
	return all
}

// locks is the subject of the suite for any lock.
func locks(options ...zklock.Option) locktest.Subject {
	return locktest.Subject{
		New: func(conn *zk.Conn, path string) locktest.Lock {
			return locktest.Background(contender(conn, path, options...))
		},
		ErrNotLocked: locktest.ErrNotLocked,
		Queue:        true,
		Requeues:     true,
		WakeUps:      func(waiting int) int { return min(waiting, 2) }, // each waiter watches the two nodes before its own
		Requests:     requestsOfContenders,
	}
}

func TestLock(t *testing.T) {
	t.Parallel() // its cases run in a process of their own
	locktest.Run(t, locks())
}

func leaseSubject(options ...zklock.Option) locktest.LeaseSubject {
	options = append(options, zklock.WithSessionTimeout(bubble.SessionTimeout))
	return locktest.LeaseSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.LeaseLock {
			m := mutexAt(conn, path, options...)
			return func(name string) locktest.LeaseLock { return ownedLock{m, zklock.NewOwner(name)} }
		},
		ErrHeld: zklock.ErrHeld,
		ErrLost: zklock.ErrLost,
	}
}

// An ownedLock is a Mutex with the owner for whom it is locked.
type ownedLock struct {
	mutex *zklock.Mutex
	owner *zklock.Owner
}

func (o ownedLock) Lock(ctx context.Context) (locktest.Lease, error) {
	return o.mutex.Lock(ctx, o.owner)
}

func (o ownedLock) TryLock(ctx context.Context) (locktest.Lease, error) {
	return o.mutex.TryLock(ctx, o.owner)
}

func TestFaults(t *testing.T) {
	testenv.RacedAtLength(t, "its schedules run the lines of the other suites, one at a time")
	t.Parallel()
	exploretest.Faults(t, steps.Zklock())
}

func TestFaultsWithCaching(t *testing.T) {
	testenv.Landing(t, "plays on what the fault series plays without caching")
	testenv.RacedAtLength(t, "its schedules run the lines of the other suites, one at a time")
	t.Parallel()
	exploretest.Faults(t, steps.ZklockWith(player.SessionTimeout, caching.options...))
}

// A Mutex that caches passes the suites, except for what the doc of WithCaching says of Unlock: the cases of differs.
func TestSuitesWithCaching(t *testing.T) {
	testenv.Landing(t, "plays on what others play without caching")
	testenv.RacedAtLength(t, "the suites without caching, and the forced schedules with it, run the same lines")
	t.Parallel()
	differs := map[string]string{ // a part of the message of each case that may fail, because Unlock keeps the node
		"a holder whose node is deleted is notified":                                `"zklock: the lock was lost" in chain but got nil`,
		"an Unlock that fails can be tried again":                                   "Unlock sends no request",
		"an owner whose Unlock has failed does not get in without a node":           "the last Unlock of an owner sends no delete",
		"a Lock during the last Unlock of its owner makes a new node":               "the node must be a new one",
		"Unlock returns though no server answers and the node goes later":           `"context deadline exceeded" in chain but got nil`,
		"Unlock of a holder that is cut off is not carried out in the next session": `"zklock: the lock was lost" in chain but got nil`,
	}
	const keeps = 2100 * time.Millisecond // the 2 s of caching.options, and the time until the node has been deleted
	anyLock, withLeases, withOwners := locks(caching.options...), leaseSubject(caching.options...), owners(caching.options...)
	anyLock.Keeps, withLeases.Keeps, withOwners.Keeps = keeps, keeps, keeps
	anyLock.Requests = func(n int) int { // each contender lists the queue once more, and the last node is not deleted
		return requestsOfContenders(n) + n - 1
	}

	for name, suite := range map[string]locktest.Suite{"Lock": anyLock, "Leases": withLeases, "Owners": withOwners} {
		t.Run(name, func(t *testing.T) {
			plan := suite.Plan()
			judge := plan.Judge(t)
			if judge == nil {
				return // this process was started by a judge, and has run the cases
			}
			for _, name := range plan.Names {
				message := differs[name]
				if message == "" {
					judge.Run(name)
					continue
				}
				said := judge.Ask(name).Words.String()
				if said != "" { // it passes if Unlock comes before the answer to the list: then no node is cached
					require.Contains(t, said, message)
				}
			}
		})
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	locktest.Run(t, leaseSubject())
}

func owners(options ...zklock.Option) locktest.OwnersSubject {
	options = append(options, zklock.WithSessionTimeout(bubble.SessionTimeout))
	s := leaseSubject(options...)
	return locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			owner := s.Open(conn, path)
			return func(name string) locktest.Lock { return locktest.Background(locktest.NewContender(s, owner(name))) }
		},
		Nobody: func(conn *zk.Conn, path string) locktest.Lock {
			return locktest.Background(locktest.NewContender(s, ownedLock{mutexAt(conn, path, options...), nil}))
		},
		ErrNotOwner: locktest.ErrNotLocked,
		Requeues:    true,
		Shared:      true,
	}
}

func TestOwners(t *testing.T) { locktest.Run(t, owners()) }

// TryLock is refused at once if another owner of the Mutex is before it, though a Lock of its own owner waits.
func TestTryLockBesideALockOfItsOwnerIsRefused(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		tb.create(conn, lockPath, "", zk.FlagPersistent)
		m, owner := tb.mutex(conn), zklock.NewOwner("owner")
		slow := tb.srv.Hold(createRequestOf(conn.SessionID()))
		first := startLock(context.Background(), m)
		<-slow.Hit()
		second := startWaiter(m, owner)

		for range 2 { // while the first owner waits for its create, and while it holds the lock
			require.ErrorIs(tb, testenv.Err(m.TryLock(tb.within(time.Minute), owner)), zklock.ErrHeld)
			slow.Release()
			synctest.Wait()
		}
		tb.receiveAndUnlock(first)
		tb.receiveAndUnlock(second)
	})
}

// TryLock is refused if another process is before it, although a Lock of the Mutex that came later goes on waiting.
// That Lock comes while TryLock lists the queue, for another owner, or while it deletes its node, for the same owner.
func TestTryLockDoesNotWaitForALockThatCameAfterIt(t *testing.T) {
	tryingOwner := zklock.NewOwner("trying")
	for op, lockingOwner := range map[jute.Op]*zklock.Owner{jute.OpGetChildren2: nil, jute.OpDelete: tryingOwner} {
		withClient(t, func(tb *serverTest, conn *zk.Conn) {
			m := tb.mutex(conn)
			holder := tb.mustLock(tb.mutex(tb.connect()))
			late := tb.srv.HoldReply(requestOf(conn.SessionID(), op, ""))
			tried := inBackground(func() error { return testenv.Err(m.TryLock(context.Background(), tryingOwner)) })
			<-late.Hit()
			waiter := startWaiter(m, lockingOwner)
			late.Release()
			synctest.Wait()
			require.Len(tb, tried, 1, "it waits")
			require.ErrorIs(tb, <-tried, zklock.ErrHeld)
			tb.handOverAndUnlock(holder, waiter)
		})
	}
}

// A TryLock beside a Lock of the same owner gets the lock if the Lock does. It is refused when another contender is
// known to be before both, and the Lock goes on waiting, whichever of them came first.
func TestTryLockBesideALockOfItsOwner(t *testing.T) {
	for _, c := range []struct{ lockFirst, held bool }{ // held: another contender holds the lock
		{lockFirst: true, held: true}, {held: true}, {lockFirst: true}, {},
	} {
		onServerCase(t, fmt.Sprintf("Lock first: %v; held: %v", c.lockFirst, c.held), func(tb *serverTest) {
			conn := tb.connectOrdinary()
			m, owner := tb.mutex(conn), zklock.NewOwner("owner")
			tb.create(conn, lockPath, "", zk.FlagPersistent)
			var holder *zklock.Lease
			if c.held {
				holder = tb.mustLock(tb.mutex(tb.connect()))
			}

			late := tb.srv.HoldReply(requestOf(conn.SessionID(), jute.OpGetChildren2, ""))
			tried, tries := make(chan lockResult, 2), 1
			var waiter <-chan lockResult
			try := func() {
				l, err := m.TryLock(context.Background(), owner)
				tried <- lockResult{l, err}
			}
			if c.lockFirst {
				waiter = startWaiter(m, owner)
				go try()
			} else {
				tries = 2 // which share the attempt, too
				go try()
				go try()
				<-late.Hit()
				waiter = startLock(context.Background(), m, owner)
			}
			synctest.Wait()
			require.Empty(tb, tried)
			late.Release()

			if c.held {
				for range tries {
					require.ErrorIs(tb, (<-tried).err, zklock.ErrHeld)
				}
				began := time.Now()
				try()
				require.ErrorIs(tb, (<-tried).err, zklock.ErrHeld)
				require.Zero(tb, time.Since(began), "the Mutex knows already that another contender is before it")
				require.EqualValues(tb, tries+1, m.Stats().Refused)

				// The lock is free, and its waiter needs a proof of its session. TryLock waits for that, too.
				tries = 1
				synctest.Wait()
				isNoPing := func(r zkserver.Request) bool { return r.Session == conn.SessionID() && r.Op != jute.OpPing }
				noProof := tb.srv.Hold(isNoPing).Every()
				time.Sleep(sessionTimeout / 2) // until the session is not known to be safe
				require.Empty(tb, waiter)
				tb.mustUnlock(holder)
				synctest.Wait()
				go try()
				synctest.Wait()
				require.Empty(tb, waiter)
				noProof.Release()
			}

			token := tb.receiveLease(waiter).Token()
			for range tries {
				require.Equal(tb, token, tb.receiveLease(tried).Token())
			}
			require.Equal(tb, tries+1, m.Holds(owner))
		})
	}
}

// The data and the list of rights of an option may be changed after New, also while the node is made.
func TestWhatAnOptionWasGivenMayBeChangedAfterNew(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		data, acl := []byte("the first words"), zk.WorldACL(zk.PermAll)
		m := tb.mutex(tb.connectOrdinary(), zklock.WithData(data), zklock.WithACL(acl))
		holder := startLock(context.Background(), m)
		copy(data, "CHANGED") // while the node is made
		acl[0].Perms = zk.PermAll &^ zk.PermAdmin
		got := tb.receiveLease(holder)
		queue := tb.participants(m)
		require.Len(tb, queue, 1)
		require.Equal(tb, "the first words", string(queue[0].Data))
		for _, path := range []string{lockPath, queue[0].Node} {
			require.EqualValues(tb, zk.PermAll, tb.stored(path).ACL[0].Perms, path)
		}
		tb.mustUnlock(got)
	})
}

// A parent that exists keeps its list of rights, which decides who may make and delete nodes. A password is changed in
// steps: clients that have both contend with those that have one.
func TestAParentThatIsThereKeepsItsList(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		admin := tb.makeParent()
		list := func(password string) []zk.ACL { return zk.DigestACL(zk.PermAll, "orders", password) }
		// mutex makes a Mutex that gives its nodes the rights of one password, and whose client has some passwords.
		mutex := func(ofNodes string, ofClient ...string) *zklock.Mutex {
			conn := tb.connect()
			for _, password := range ofClient {
				require.NoError(tb, conn.AddAuth("digest", []byte("orders:"+password)))
			}
			return tb.mutex(conn, zklock.WithACL(list(ofNodes)))
		}
		old, between := mutex("old", "old"), mutex("old", "old", "new")
		both, latest := mutex("new", "old", "new"), mutex("new", "new")

		lease := tb.mustLock(old)
		require.NoError(tb, admin.Delete(lease.Node(), -1), "the parent is open to everybody")
		require.ErrorIs(tb, lease.Unlock(context.Background()), zklock.ErrLost)
		testenv.Must(admin.SetACL(lockPath, list("old"), -1))(tb)
		lease = tb.mustLock(old)
		require.ErrorIs(tb, admin.Delete(lease.Node(), -1), zk.ErrNoAuth)

		testenv.Must(lease.Guard(context.Background(), guardNode))(tb)
		below := guardNode + "/" + tb.marks(lease)[0] + "/x" // a child of the mark, with which no later Guard could delete it
		require.ErrorIs(tb, testenv.Err(admin.Create(below, nil, 0, everybody)), zk.ErrNoAuth)
		require.ErrorIs(tb, testenv.Err(latest.Lock(context.Background(), nil)), zk.ErrNoAuth)
		tb.mustUnlock(lease)

		// The parent's list has the old password, and then the new one. Clients that have both contend with each.
		require.NoError(tb, admin.AddAuth("digest", []byte("orders:old")))
		for _, parent := range []string{"old", "new"} {
			testenv.Must(admin.SetACL(lockPath, list(parent), -1))(tb)
			var waiters []<-chan lockResult
			for _, m := range []*zklock.Mutex{between, both, mutex("old", "old", "new")} {
				waiters = append(waiters, startQueuedWaiter(m))
			}
			for _, waiter := range waiters {
				tb.receiveAndUnlock(waiter)
			}
			require.NoError(tb, admin.AddAuth("digest", []byte("orders:new")))
		}
		tb.receiveAndUnlock(startQueuedWaiter(latest))
	})
}

// Each method of a zero or nil Mutex, Lease and Guard panics with a sentence that says where to get a good one.
func TestAZeroValuePanicsWithASentence(t *testing.T) {
	const mutex, lease = "zklock: a Mutex is made with New", "zklock: a Lease is what Lock or TryLock returns with a nil error"
	const guard = "zklock: a Guard is what Lease.Guard returns with a nil error"
	for zero, want := range map[any]string{
		new(zklock.Mutex): mutex, (*zklock.Mutex)(nil): mutex, new(zklock.Lease): lease, (*zklock.Lease)(nil): lease,
		new(zklock.Guard): guard, (*zklock.Guard)(nil): guard,
	} {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			method := v.Method(i)
			var args []reflect.Value // zeros: the check comes before their first use
			for j := range method.Type().NumIn() {
				args = append(args, reflect.Zero(method.Type().In(j)))
			}
			call := method.Call
			if method.Type().IsVariadic() {
				call = method.CallSlice
			}
			require.PanicsWithValue(t, want, func() { call(args) }, v.Type().Method(i).Name)
		}
	}
}

// TestExplore plays every schedule within bounds; docs/explorer.md says how.
func TestExplore(t *testing.T) {
	t.Parallel()
	exploretest.Test(t, steps.Zklock())
}

// foreignLock makes a lock like zk.Lock, which knows no cached nodes. Names are not random: schedules can be repeated.
func foreignLock(conn *zk.Conn, path, name string) *broken.Lock {
	return broken.With(broken.Manner{Prefix: "_c_" + name + "-lock-", AnyChild: true}, "none", conn, path)
}

// The explorer finds no violation by a Mutex that keeps its node for a second, beside a lock like zk.Lock or beside
// others that cache; nor by a crowd of eight, which marks in the parent how many have gone, while nodes go by hand.
func TestExploreACachedNode(t *testing.T) {
	testenv.Embedded(t, "the explorer brings its own server")
	testenv.Landing(t, "plays thousands of schedules")
	testenv.NotRaced(t, "its schedules are ten times as slow, and the forced ones run the same lines")
	ours := steps.ZklockWith(player.SessionTimeout, zklock.WithCaching(time.Second), zklock.CachingFrom(0))
	ours.Name = "zklock, caching"
	mixed := ours.Wrapped(func(l player.Lock, conn *zk.Conn, path, name string) player.Lock {
		if name == "A" {
			return l
		}
		return steps.FromPlain(foreignLock(conn, path, name))
	})
	mixed.Name = "zklock, caching, and zk.Lock"
	mixed.Requeues, mixed.Reentrant = false, false // zk.Lock does neither: it returns the errors of its session
	mixed.NotLocked = func(err error) bool { return ours.NotLocked(err) || errors.Is(err, broken.ErrNotLocked) }

	lock, unlock, try := player.LockOp, player.UnlockOp, player.TryLockOp
	once, twice := []player.Op{lock, unlock}, []player.Op{lock, unlock, lock, unlock}
	again := [][]player.Op{twice, {try, unlock, lock, unlock}} // of two contenders
	some := explore.Search{Seed: 1, Limit: 300}                // schedules drawn at random
	someOrAll := some
	if testenv.AtLength() {
		someOrAll = explore.Search{} // all schedules
	}
	faults := []player.Fault{player.LoseRequest, player.LoseReply, player.Cut, player.Expire, player.Stop, player.EndContext}
	for _, p := range []exploretest.Plan{
		{What: "zk.Lock, every packet", World: player.World{Lock: mixed, Packets: true, Scripts: [][]player.Op{once, once}}},
		{What: "zk.Lock, and ours locks again", World: player.World{Lock: mixed, Scripts: [][]player.Op{twice, once}}},
		{What: "zk.Lock, and both lock again", World: player.World{Lock: mixed, Scripts: [][]player.Op{twice, twice}}, Search: someOrAll},
		{What: "two that cache, every packet", World: player.World{Lock: ours, Packets: true, Scripts: [][]player.Op{once, once}}, Search: someOrAll},
		{What: "two that cache, and lock again", World: player.World{Lock: ours, Scripts: again}, Search: someOrAll},
		{What: "two that cache, one fault", World: player.World{Lock: ours, Scripts: again, Kinds: faults, Faults: 1}, Search: some},
		{What: "three that cache, two faults", Search: some,
			World: player.World{Lock: ours, Contenders: 3, Scripts: again, Kinds: faults, Faults: 2}},
		{What: "a crowd, three faults", World: player.World{Lock: steps.Zklock(), Contenders: 8, Scripts: append(again, once, once), Faults: 3,
			Kinds: append(faults, player.NodeGoes, player.NodeSet, player.Remake)}, Search: explore.Search{Seed: 1, Limit: 150}},
	} {
		t.Run(p.What, func(t *testing.T) {
			result := explore.Explore(t, p.World, p.Search)
			t.Log(result)
			require.True(t, result.Found == nil, "%v", result.Found)
		})
	}
}
