package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

// exclusion lets every contender lock a few times, and count in a variable
// that nothing but the lock guards: the race detector sees what the counter
// may miss.
//
// A contender that does not get in is not a matter of exclusion: unless all must get
// in, it ends the case.
func exclusion(w *World, contenders []Lock, all bool) {
	const times = 5
	num := 0
	var holders atomic.Int32
	var entered atomic.Bool // by any contender
	var failed error
	results := w.Rounds("Lock, Unlock", times, contenders, func(l Lock) error {
		if err := l.Lock(); err != nil {
			return fmt.Errorf("Lock fails: %w", err)
		}
		alone := holders.Add(1) == 1
		entered.Store(true)
		num++
		// Time for others to get in, if the lock lets them. In virtual time it
		// ends when all others have got as far as they can.
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		err := l.Unlock()
		if !alone {
			return errors.New("it has got the lock while another contender holds it: two holders")
		}
		if err != nil {
			return fmt.Errorf("Unlock fails: %w", err)
		}
		return nil
	})
	for i, result := range results {
		if !all {
			w.WaitFor(stage.Patience, func() bool { return len(result) > 0 })
			if len(result) == 0 {
				continue
			}
		}
		err := w.Result(result, fmt.Sprintf("contender %d", i))
		failed = cmp.Or(failed, err)
		if all || err != nil && Unsafe(err.Error()) {
			require.NoError(w, err, "contender %d", i)
		}
	}
	if !all {
		require.True(w, entered.Load(), "none of %d contenders has got the lock: %v", len(contenders), failed)
		return
	}
	require.Equal(w, times*len(contenders), num, "the count is wrong: two contenders held the lock at once: two holders")
	w.NothingLeft()
}

// Rounds has each contender do a round this many times, up to its first error, all of
// them at once.
func (w *World) Rounds(what string, times int, contenders []Lock, round func(l Lock) error) (results []<-chan error) {
	for _, l := range contenders {
		results = append(results, w.Aside(what, func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			return err
		}))
	}
	return results
}

// OfOneSession makes contenders in one session.
func (w *World) OfOneSession(n int) (contenders []Lock) {
	s := w.Session()
	for range n {
		l, _ := w.Contender(s)
		contenders = append(contenders, l)
	}
	return contenders
}

// OfManySessions makes contenders, each in a session of its own.
func (w *World) OfManySessions(n int) (contenders []Lock) {
	for range n {
		l, _ := w.Contender()
		contenders = append(contenders, l)
	}
	return contenders
}

func exclusionInOneSession(w *World)   { exclusion(w, w.OfOneSession(16), false) }
func exclusionInManySessions(w *World) { exclusion(w, w.OfManySessions(8), false) }

func allGetIn(w *World) {
	exclusion(w, w.OfManySessions(8), true)
	exclusion(w, w.OfOneSession(16), true)
}

func reuse(w *World) {
	l, _ := w.Contender()
	for i := range 3 {
		w.MustLock(l, fmt.Sprintf("the same contender, time %d", i+1))
		w.Unlock(l, "it")
	}
	ok, err := w.Try(l, "TryLock of a contender that has let go")
	require.NoError(w, err, "TryLock of a contender that has let go fails")
	require.True(w, ok, "TryLock of a contender that has let go returns false, and the lock is free")
	w.Unlock(l, "it")
	w.NothingLeft()
}

// EphemeralNode looks at the node that the holder has made.
func EphemeralNode(w *World) {
	admin := w.Session()
	l, s := w.holder()
	nodes := w.Nodes()
	if len(nodes) == 0 {
		if _, stat, err := admin.Get(w.Path); err == nil && !w.Subject.Queue {
			require.NotZero(w, stat.EphemeralOwner, "the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral", w.Path)
		}
		w.Fatalf("Lock has returned, and there is no node of the holder at %s or below it: nothing keeps the next contender out; make a node, and hold the lock only if that makes you the holder", w.Path)
	}
	for _, node := range nodes {
		p := w.Path + "/" + node
		_, stat, err := admin.Get(p)
		if errors.Is(err, zk.ErrNoNode) {
			p = w.Path
			_, stat, err = admin.Get(p)
		}
		require.NoError(w, err, "the holder's node %s", p)
		require.NotZero(w, stat.EphemeralOwner, "the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral or zk.FlagEphemeralSequential", p)
		require.Equal(w, s.SessionID(), stat.EphemeralOwner, "the holder's node %s belongs to another session", p)
	}
	require.Len(w, nodes, 1, "one contender holds the lock, and there are several nodes")
	w.Unlock(l, "the holder")
	w.NoNodes("Unlock has returned, and the holder's node is still there: every other contender waits; Unlock must delete the node")
}

// WaiterSleeps has a waiter that sleeps on a watch, and wakes it.
func WaiterSleeps(w *World) { w.waiterSleeps(func(*Session) {}) }

// WaiterIsQuiet counts what a waiter sends while nothing happens.
func WaiterIsQuiet(w *World) {
	w.waiterSleeps(func(s *Session) {
		before, quiet := len(stage.RequestsOf(s)), 10*time.Second
		if w.Server == nil {
			quiet = 500 * time.Millisecond
		}
		time.Sleep(quiet) // in which nothing happens that a waiter could wait for
		// A lock may show now and then that its session lives: zklock sends two
		// requests in a third of the session timeout.
		if n := len(stage.RequestsOf(s)) - before; n > 10 {
			w.Fatalf("the waiter polls: it has sent %d requests in %v while nothing changed (%s); set a watch, and sleep until its event comes", n, quiet, ByKind(stage.RequestsOf(s)[before:]))
		}
	})
}

func (w *World) waiterSleeps(f func(s *Session)) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	f(s)
	w.Waits(result, s, "the waiter")
	w.Unlock(holder, "the holder")
	w.Holds(result, "the waiter, after the release,")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}

// LongHold has a holder that holds the lock for a day. It lives, and no contender
// can find out more than its session shows.
func LongHold(w *World) {
	const day = 24 * time.Hour
	holder, hs := w.holder()
	held := w.Nodes()
	var waiters []Lock
	var results []<-chan error
	var sessions []*Session
	for i := range 2 {
		l, s := w.Contender()
		waiters, results, sessions = append(waiters, l), append(results, w.Lock(l)), append(sessions, s)
		time.Sleep(time.Second) // whether it waits on a watch is another case
		if len(results[i]) > 0 {
			require.NoError(w, <-results[i], "waiter %d must wait, and Lock fails", i+1)
			w.Fatalf("waiter %d has got the lock while another contender holds it: two holders", i+1)
		}
	}
	all := w.Nodes()
	began := time.Now()
	// A lock that looks now and then, its watch notwithstanding, has looked often
	// enough some time.
	for time.Since(began) < day && len(stage.RequestsOf(sessions[0])) < 20000 {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		after := time.Since(began)
		for i, result := range results {
			if len(result) > 0 {
				require.NoError(w, <-result, "the holder has held the lock for %v, and Lock of a waiter fails: Lock waits for as long as that takes", after)
				w.Fatalf("the holder has held the lock for %v, its session lives, and waiter %d has got it: two holders; however long it takes, only the holder or the end of its session ends a hold", after, i+1)
			}
		}
		require.Subset(w, w.Nodes(), held, "the holder has held the lock for %v, its session lives, and its node is gone, so that the next contender gets in: two holders; a waiter cannot find out that a holder has hung, and no clock ends a hold: only Unlock and the end of the session delete the node", after)
		require.Subset(w, w.Nodes(), all, "a waiter has waited for %v, and its node is gone: another waiter has deleted another contender's node, or it has left the queue", after)
	}
	late, _ := w.Contender()
	if ok, err := w.Try(late, "TryLock on a lock that has been held for a day"); !errors.Is(err, errors.ErrUnsupported) {
		require.NoError(w, err, "TryLock on a lock that has been held for a day fails: false says that another contender holds it")
		require.False(w, ok, "TryLock takes a lock that another contender has held for a day: two holders")
	}
	require.Subset(w, w.Nodes(), held, "the holder has held the lock for a day, its session lives, and a contender that came later has deleted another contender's node, the holder's")
	require.Equal(w, hs.ID, hs.SessionID())
	for i, result := range results {
		require.Empty(w, result, "a contender that came later has let waiter %d in, and the holder has held the lock for a day: two holders", i+1)
	}
	w.Unlock(holder, "the holder, after a day,")
	for range waiters {
		next := -1
		w.Eventually("a waiter gets the lock after the release", func() bool {
			next = FirstIn(results)
			return next >= 0
		})
		w.Holds(results[next], "a waiter")
		w.Unlock(waiters[next], "it")
	}
	w.NothingLeft()
}

func MissingParents(w *World) {
	a, _ := w.Contender()
	b, s := w.Contender()
	require.NoError(w, w.Result(w.Lock(a), "Lock where the parents are missing"), "Lock fails where the parents of its node are missing: make them when create returns zk.ErrNoNode")
	result := w.Lock(b)
	w.Waits(result, s, "the second contender")
	w.Unlock(a, "the first contender")
	w.Holds(result, "the second contender")
	w.Unlock(b, "the second contender")
	w.NothingLeft()
}

// ParentsAtOnce lets two contenders find the parents missing, and make them
// at the same moment.
func ParentsAtOnce(w *World) {
	a, sa := w.Contender()
	b, sb := w.Contender()
	topmost := "/" + strings.Split(w.Path, "/")[1]
	var held []*zkserver.Fault
	for _, s := range []*Session{sa, sb} {
		held = append(held, w.Server.Hold(func(r zkserver.Request) bool {
			return r.Session == s.ID && r.Path == topmost
		}))
	}
	resultA := w.Lock(a)
	w.Hit(held[0], "the first contender makes "+topmost)
	resultB := w.Lock(b)
	w.Hit(held[1], "the second contender makes "+topmost)
	held[0].Release()
	w.Holds(resultA, "the contender that made the parents")
	held[1].Release()
	w.Waits(resultB, sb, "the contender whose parents another one has made at the same moment")
	w.Unlock(a, "the first")
	w.Holds(resultB, "the second")
	w.Unlock(b, "it")
	w.NothingLeft()
}

func tryLockFree(w *World) {
	a, _ := w.Contender()
	ok, err := w.Try(a, "TryLock on a free lock")
	require.NoError(w, err, "TryLock on a free lock fails")
	require.True(w, ok, "TryLock returns false, and the lock is free")
	w.Unlock(a, "the contender that took the lock with TryLock")
	w.NothingLeft()
}

func tryLockHeld(w *World) {
	holder, _ := w.holder()
	before := w.Nodes()
	other, _ := w.Contender()
	for range 3 {
		ok, err := w.Try(other, "TryLock on a held lock")
		require.NoError(w, err, "TryLock on a held lock fails: false says that another contender holds it")
		require.False(w, ok, "TryLock takes a lock that another contender holds: two holders")
	}
	w.WaitUntil("the node of the TryLock goes", func() bool { return slices.Equal(before, w.Nodes()) }, func() string {
		return "TryLock has returned false and has left a node behind: it blocks every contender that comes later"
	})
	w.Unlock(holder, "the holder")
	ok, err := w.Try(other, "TryLock on a lock that has been let go")
	require.NoError(w, err, "TryLock on a lock that has been let go fails")
	require.True(w, ok, "TryLock returns false on a lock that has been let go")
	w.Unlock(other, "the contender that took the lock with TryLock")
	w.NothingLeft()
}

// tryLockRaces holds back each request of a TryLock in turn, and meanwhile another
// contender asks for the lock.
func tryLockRaces(w *World) {
	for n := 1; w.GoesOn(n); n++ {
		l, s := w.Contender()
		other, os := w.Contender()
		held := w.Server.Hold(stage.Number(s, n))
		var ok bool
		tried := w.Aside("TryLock", func() (err error) {
			ok, err = l.TryLock()
			return err
		})
		w.Eventually("the request is held back, or TryLock returns", func() bool { return len(held.Hit()) > 0 || len(tried) > 0 })
		met := len(held.Hit()) > 0
		result := w.Lock(other)
		w.Eventually("the other contender has the lock, or waits", func() bool {
			return len(result) > 0 || os.Sleeps()
		})
		held.Release()
		select {
		case err := <-tried:
			require.NoError(w, err, "another contender has asked for the lock while request %d of TryLock was on its way, and TryLock fails", n)
		case <-time.After(stage.Patience):
			w.Fatalf("another contender has taken the lock while request %d of TryLock, %v, was on its way, and TryLock waits for it: TryLock waits for nobody%s", n, stage.LastRequest(s, n), w.Why())
		}
		if ok {
			if len(result) > 0 {
				require.NoError(w, <-result, "Lock of the other contender fails")
				w.Fatalf("another contender has taken the lock while request %d of TryLock was on its way, and TryLock takes it, too: two holders", n)
			}
			w.Unlock(l, "the contender that took the lock with TryLock")
		}
		w.Holds(result, "the other contender")
		w.Unlock(other, "it")
		w.nothingStays(fmt.Sprintf("another contender has taken the lock while request %d of TryLock was on its way", n))
		if !met {
			require.Greater(w, n, 1, "TryLock sends no request")
			return
		}
	}
}

func unlockByNonHolder(w *World) {
	holder, s := w.Contender()
	stranger, _ := w.Contender()
	neighbour, _ := w.Contender(s) // in the holder's own session
	w.MustLock(holder, "the holder")
	before := w.Nodes()
	for _, other := range []struct {
		lock Lock
		name string
	}{{stranger, "Unlock by a contender that does not hold the lock"}, {neighbour, "Unlock by another contender of the holder's session"}} {
		err := w.UnlockErr(other.lock, other.name)
		require.Equal(w, before, w.Nodes(), "%s has deleted another contender's node, the holder's: delete only the node that this contender has made", other.name)
		w.IsNotLocked(err, other.name)
	}
	ok, err := w.Try(stranger, "TryLock on a held lock")
	require.NoError(w, err, "TryLock on a held lock fails")
	require.False(w, ok, "Unlock by a contender that does not hold the lock has freed it: two holders")
	w.NotLocked(stranger, "Unlock after TryLock has returned false")
	// A waiter has a node, but not the lock.
	waiter, _, result := w.waiter()
	w.Unlock(holder, "the holder")
	w.Holds(result, "the waiter")
	before = w.Nodes()
	err = w.UnlockErr(holder, "the second Unlock")
	require.Equal(w, before, w.Nodes(), "a second Unlock has deleted another contender's node, the new holder's: delete only the node that this contender has made")
	w.IsNotLocked(err, "the second Unlock")
	w.Unlock(waiter, "the new holder")
	w.NotLocked(stranger, "Unlock of a lock that no contender holds")
	w.NothingLeft()
}

// NoPermission has a parent that only another user may write to.
func NoPermission(w *World) {
	admin := w.Session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.Parents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	l, _ := w.Contender()
	ok, err := w.Try(l, "TryLock without permission")
	if errors.Is(err, errors.ErrUnsupported) {
		err = zk.ErrNoAuth // it has no TryLock
	}
	require.ErrorIs(w, err, zk.ErrNoAuth, "TryLock takes the error \"no permission\" for \"another contender holds the lock\": only zk.ErrNodeExists says that")
	require.False(w, ok, "TryLock without permission returns true")
	err = w.Result(w.Lock(l), "Lock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth, "Lock without permission must return an error that wraps the client's")
	w.NotLocked(l, "Unlock after a Lock that failed")
}
