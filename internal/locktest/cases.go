package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
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
	round := func(l Lock) error {
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
	}
	results := make([]<-chan error, len(contenders))
	for i, l := range contenders {
		results[i] = w.Aside("Lock, Unlock", func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			return err
		})
	}
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

func (w *World) ofOneSession(n int) (contenders []Lock) {
	s := w.Session()
	for range n {
		l, _ := w.Contender(s)
		contenders = append(contenders, l)
	}
	return contenders
}

func (w *World) ofManySessions(n int) (contenders []Lock) {
	for range n {
		l, _ := w.Contender()
		contenders = append(contenders, l)
	}
	return contenders
}

func exclusionInOneSession(w *World)   { exclusion(w, w.ofOneSession(16), false) }
func exclusionInManySessions(w *World) { exclusion(w, w.ofManySessions(8), false) }

func allGetIn(w *World) {
	exclusion(w, w.ofManySessions(8), true)
	exclusion(w, w.ofOneSession(16), true)
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
	l, s := w.Contender()
	w.MustLock(l, "the holder")
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
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	waiter, s := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, s, "the waiter")
	f(s)
	w.Waits(result, s, "the waiter")
	w.Unlock(holder, "the holder")
	w.Holds(result, "the waiter, after the release,")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}

// LongHold has a holder that holds the lock for a day. It lives, and no contender
// can know better than its session.
func LongHold(w *World) {
	const day = 24 * time.Hour
	holder, hs := w.Contender()
	w.MustLock(holder, "the holder")
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
		require.Subset(w, w.Nodes(), held, "the holder has held the lock for %v, its session lives, and its node is gone, so that the next contender gets in: two holders; no waiter can know that a holder has hung, and no clock ends a hold: only Unlock and the end of the session delete the node", after)
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
			next = slices.IndexFunc(results, func(result <-chan error) bool { return len(result) > 0 })
			return next >= 0
		})
		w.Holds(results[next], "a waiter")
		w.Unlock(waiters[next], "it")
	}
	w.NothingLeft()
}

// ByKind counts requests.
func ByKind(requests []jute.Op) string {
	counts := make(map[jute.Op]int)
	for _, op := range requests {
		counts[op]++
	}
	var kinds []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%v %d", op, counts[op]))
	}
	return strings.Join(kinds, ", ")
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
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
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
			return len(result) > 0 || os.Tap.Armed() > 0 && os.Tap.Pending() == 0
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
	waiter, ws := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, ws, "the waiter")
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

func noPermission(w *World) {
	admin := w.Session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.Parents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	l, _ := w.Contender()
	ok, err := w.Try(l, "TryLock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth, "TryLock takes the error \"no permission\" for \"another contender holds the lock\": only zk.ErrNodeExists says that")
	require.False(w, ok, "TryLock without permission returns true")
	err = w.Result(w.Lock(l), "Lock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth, "Lock without permission must return an error that wraps the client's")
	w.NotLocked(l, "Unlock after a Lock that failed")
}

func ExpiredWaiter(w *World) {
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	waiter, s := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, s, "the waiter")
	w.Expire(s)
	// The client fails what is asked of it while it changes over.
	w.Renewed(s, "the waiter's client has a new session")
	if w.goesOn(result, s) {
		w.Unlock(holder, "the holder")
		w.Holds(result, "a waiter whose session has expired, and that has queued again,")
		w.Unlock(waiter, "it")
		w.NothingLeft()
		return
	}
	require.False(w, w.Subject.Requeues, "a waiter's session has expired, and it does not queue again")
	err := w.Result(result, "Lock of a waiter whose session has expired")
	require.Error(w, err, "a waiter's session has expired and its node has gone, and Lock returns no error while another contender holds the lock: two holders; the event that wakes it has Err set")
	w.NotLocked(waiter, "Unlock after a Lock that failed")
	require.Len(w, w.Nodes(), 1, "besides the holder's node there is one of a session that has expired, or the holder's has gone")
	w.Unlock(holder, "the holder")
	w.MustLock(waiter, "the waiter, in its new session")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}

// goesOn waits until a Lock that something has happened to has returned, or has
// gone on and waits again. A lock may try again some times, with pauses.
func (w *World) goesOn(result <-chan error, s *Session) bool {
	w.Helper()
	pause := stage.Patience
	if w.Server == nil {
		pause = time.Second
	}
	time.Sleep(pause)
	w.WaitUntil("Lock returns, or waits again", func() bool {
		return len(result) > 0 || s.Tap.Armed() > 0 && s.Tap.Pending() == 0
	}, func() string { return "Lock neither returns nor waits on a watch" + w.Why() })
	return len(result) == 0
}

// ClosedWaiter closes the client of a waiter. The client never answers what is
// asked of it then, so Lock need not return.
func ClosedWaiter(w *World) {
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	waiter, s := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, s, "the waiter")
	s.Close()
	if w.Server != nil {
		time.Sleep(stage.Patience) // in which Lock may return
	}
	w.notIn(result)
	w.Unlock(holder, "the holder")
	if w.Server != nil {
		time.Sleep(stage.Patience)
	}
	w.notIn(result)
	w.NothingLeft()
}

// notIn fails if a waiter has got the lock whose client has been closed.
func (w *World) notIn(result <-chan error) {
	w.Helper()
	select {
	case err := <-result:
		require.Error(w, err, "the client of a waiter has been closed, its session has ended, and Lock returns no error: the next contender gets in, too: two holders")
	default:
	}
}

func ExpiredHolder(w *World) {
	holder, s := w.Contender()
	w.MustLock(holder, "the holder")
	waiter, ws := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, ws, "the waiter")
	w.Expire(s)
	w.Holds(result, "the waiter, after the holder's session has expired,")
	w.Unlock(waiter, "the new holder")
	w.NothingLeft()
	w.UnlockErr(holder, "Unlock after the session has expired") // what a lock does for a holder in the background ends with it; the next case judges the error
}

func unlockAfterExpiry(w *World) {
	w.unlockOfOneThatCameWith()
	w.unlockInTheNextSession()
	holder, s := w.Contender()
	w.MustLock(holder, "the holder")
	w.Expire(s)
	next, _ := w.Contender()
	w.MustLock(next, "the next holder")
	w.Renewed(s, "the old holder's client has a new session")
	before := w.Nodes()
	err := w.UnlockErr(holder, "Unlock after the session has expired")
	require.Equal(w, before, w.Nodes(), "the holder's session has expired, and its Unlock has deleted another contender's node, the new holder's: two holders")
	w.IsNotLocked(err, "Unlock after the session has expired")
	third, _ := w.Contender()
	ok, err := w.Try(third, "TryLock on a held lock")
	require.NoError(w, err, "TryLock on a held lock fails")
	require.False(w, ok, "an expired holder's Unlock has freed the new holder's lock: two holders")
	w.Unlock(next, "the new holder")
	w.MustLock(holder, "the old holder, once more")
	w.Unlock(holder, "it")
	w.NothingLeft()
}

// unlockOfOneThatCameWith has the next holder come in the same millisecond as the one
// whose session ends: a clock tells them apart only if it is finer than that.
func (w *World) unlockOfOneThatCameWith() {
	s, next := w.Session(), w.Session()
	for _, each := range []*Session{s, next} { // a new client's first answer waits a moment
		_, _, err := each.Exists("/")
		require.NoError(w, err)
	}
	if w.Server != nil { // on a real server the clock runs
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	holder := w.Subject.New(s.Conn, w.Path)
	w.MustLock(holder, "the holder")
	if w.Server != nil {
		time.Sleep(100 * time.Microsecond)
	}
	waiter := w.Subject.New(next.Conn, w.Path)
	result := w.Lock(waiter)
	w.Waits(result, next, "the waiter")
	w.Expire(s)
	w.Holds(result, "the waiter, after the holder's session has expired,")
	w.expiredUnlock(holder, s, "another contender, which came in the same millisecond, has the lock")
	w.Unlock(waiter, "the new holder")
}

// unlockInTheNextSession has the next holder in the client's next session: a node of
// the client's present session need not be the contender's own.
func (w *World) unlockInTheNextSession() {
	holder, s := w.Contender()
	w.MustLock(holder, "the holder")
	w.Expire(s)
	w.Renewed(s, "the old holder's client has a new session")
	next, _ := w.Contender(s)
	w.MustLock(next, "the next holder, of the same client")
	w.expiredUnlock(holder, s, "another contender of the same client has the lock in its next session")
	w.Unlock(next, "the next holder")
}

// expiredUnlock fails if Unlock of a holder whose session has expired deletes a node.
func (w *World) expiredUnlock(holder Lock, s *Session, who string) {
	w.Helper()
	w.Renewed(s, "the old holder's client has a new session")
	before := w.Nodes()
	err := w.UnlockErr(holder, "Unlock after the session has expired")
	require.Equal(w, before, w.Nodes(), "the holder's session has expired, %s, and Unlock of the old holder has deleted another contender's node: two holders", who)
	w.IsNotLocked(err, "Unlock after the session has expired")
}

// queue lines up n contenders, each in a session of its own: the first holds
// the lock, and each of the others waits before the next one comes.
func (w *World) queue(n int) (locks []Lock, results []<-chan error, sessions []*Session) {
	for range n {
		l, s := w.Contender()
		locks, sessions = append(locks, l), append(sessions, s)
	}
	w.Parents(w.Session().Conn, zk.WorldACL(zk.PermAll))
	w.Parent() // made in advance, so that no request is spent on it
	for i, l := range locks {
		result := w.Lock(l)
		results = append(results, result)
		if i == 0 {
			w.Holds(result, "the first")
		} else {
			w.Waits(result, sessions[i], fmt.Sprintf("contender %d", i))
		}
	}
	return locks, results, sessions
}

func QueueOrder(w *World) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		for j := i + 1; j < len(locks); j++ {
			w.Waits(results[j], sessions[j], fmt.Sprintf("contender %d", j))
		}
		if i+1 == len(locks) {
			w.Unlock(l, fmt.Sprintf("contender %d", i))
			break
		}
		// The next one is slow: in a queue the others wait for it, and in a race one of
		// them wins.
		release := func() {}
		if w.Server != nil {
			release = w.Server.Hold(func(r zkserver.Request) bool { return r.Session == sessions[i+1].ID && !stage.ByClient(r.Op) }).Release
		}
		w.Unlock(l, fmt.Sprintf("contender %d", i))
		if w.Server != nil {
			time.Sleep(time.Second)
		}
		first := slices.IndexFunc(results, func(result <-chan error) bool { return len(result) > 0 })
		release()
		next := -1
		var err error
		w.Eventually(fmt.Sprintf("contender %d, whose turn it is, gets the lock after the release", i+1), func() bool {
			for j := i + 1; j < len(locks) && next < 0; j++ {
				if first > 0 && j != first { // it was faster
					continue
				}
				select {
				case err = <-results[j]:
					next = j
				default:
				}
			}
			return next >= 0
		})
		require.NoError(w, err, "Lock of contender %d fails", next)
		how := "the contender whose node has the smallest number is the next"
		if len(w.Nodes()) < len(locks)-1-i {
			how = "those that wait have no nodes of their own, and a race for one node keeps no order; each contender makes a node with zk.FlagEphemeralSequential when it comes, and the smallest number is the next"
		}
		require.Equal(w, i+1, next, "contender %d gets in before contender %d, which came earlier: %s", next, i+1, how)
	}
	w.NothingLeft()
}

// WaiterGoes ends the session of the waiter in the middle.
func WaiterGoes(w *World) {
	locks, results, sessions := w.queue(3)
	w.Goes(sessions[1])
	select {
	case err := <-results[2]:
		require.NoError(w, err, "the last waiter must go on waiting, and Lock fails")
		w.Fatal("the waiter before it has gone, the holder holds the lock still, and the last waiter has got it: two holders; the node that went need not have been the holder's, so look again at the whole queue after each event")
	case <-time.After(time.Second): // every event has come by then
	}
	w.Waits(results[2], sessions[2], "the waiter after the one that has gone")
	w.Unlock(locks[0], "the holder")
	w.Holds(results[2], "the waiter after the one that has gone")
	w.Unlock(locks[2], "it")
	w.NothingLeft()
}

// ForeignChild has children that are not contenders. A name that ends in a number is
// one of a contender's where an exercise leaves the names to its author.
func ForeignChild(w *World) {
	l, _ := w.Contender()
	w.MustLock(l, "a first contender")
	named := slices.ContainsFunc(w.Nodes(), func(node string) bool {
		return strings.HasPrefix(node, "lock-") || strings.HasPrefix(node, "read-") || strings.HasPrefix(node, "write-")
	})
	w.Unlock(l, "it")
	names := []string{"config", "minutes"}
	if named {
		names = append(names, "0", "0000000000")
	}
	s := w.Session()
	for _, name := range names {
		_, err := s.Create(w.Path+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	w.MustLock(l, fmt.Sprintf("a contender beside %d nodes that are not contenders'", len(names)))
	other, os := w.Contender()
	result := w.Lock(other)
	w.Waits(result, os, "the second contender")
	w.Unlock(l, "the first")
	w.Holds(result, "the second contender")
	w.Unlock(other, "it")
	require.Len(w, w.Nodes(), len(names), "the nodes that are not contenders' must stay, and no other node")
}

// atEachRead lets a contender lock while another one holds the lock, again and
// again. First its first read is held back on its way to the server, then its
// second, until it has sent all that it sends before it waits. Which reads
// those are differs from lock to lock. Once the read is held, or the contender
// waits, f is called, which does what the case is about.
func (w *World) atEachRead(f func(l Lock, s *Session, result <-chan error, release func(), step string)) {
	for n := 1; w.GoesOn(n); n++ {
		l, s := w.Contender()
		reads := 0
		held := w.Server.Hold(func(r zkserver.Request) bool {
			if r.Session == s.ID && (r.Op == jute.OpGetData || r.Op == jute.OpExists || r.Op == jute.OpGetChildren2) {
				reads++
				return reads == n
			}
			return false
		})
		result := w.Lock(l)
		met := w.Meets(held, s, "the waiter's read is held back, or it waits")
		f(l, s, result, held.Release, fmt.Sprintf("read number %d", n))
		if !met {
			require.Greater(w, n, 1, "the waiter looks at nothing before it waits: it can wait for a release that has been")
			return
		}
	}
}

func ReleaseBeforeWatch(w *World) {
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		w.Unlock(holder, "the holder")
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the lock was let go while the waiter was about to wait (its %s came after the release), and Lock fails", step)
		case <-time.After(stage.Patience):
			w.Fatalf("the holder has let go between the waiter's look and its watch (its %s came after the release), and the waiter sleeps on: the event is lost; one request must look and set the watch, and a node that it does not find is a release%s", step, w.Why())
		}
		holder = l
	})
	w.Unlock(holder, "the last")
	w.NothingLeft()
}

func WaiterGoesBeforeWatch(w *World) {
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	middle, ms := w.Contender()
	w.Waits(w.Lock(middle), ms, "the waiter")
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		w.Goes(ms)
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the waiter before it has gone, and Lock fails (its %s came afterwards)", step)
			w.Fatalf("the waiter before it has gone before it was watched (the %s came afterwards), and a waiter has got the lock: two holders; the node that is missing need not have been the holder's, so look again at the whole queue", step)
		case <-time.After(time.Second): // every event has come by then
		}
		w.Waits(result, s, "a waiter whose "+step+" came after the waiter before it had gone")
		ms = s // it is in the middle for the next one
	})
	w.Goes(ms)
	w.Unlock(holder, "the holder")
	w.NothingLeft()
}

func NodeGoes(w *World) {
	admin := w.Session()
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	before := w.Nodes()
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		for _, node := range w.Nodes() {
			if !slices.Contains(before, node) {
				require.NoError(w, admin.Delete(w.Path+"/"+node, -1))
			}
		}
		release()
		const without = "a waiter's own node had gone before its %s, and it takes the lock without a node, so that the next contender gets in, too: two holders; look for the own node in each list of children"
		if !w.goesOn(result, s) {
			require.Error(w, w.Result(result, "Lock of a waiter whose node has gone"), without, step)
			w.NotLocked(l, "Unlock after a Lock that failed")
			return
		}
		// It has made another node, or it sleeps on the holder's node, and learns of
		// it at the release.
		w.Unlock(holder, "the holder")
		if err := w.Result(result, "Lock of a waiter whose node has gone"); err == nil {
			require.NotEmpty(w, w.Nodes(), without, step)
			w.Unlock(l, "a waiter whose node had gone, and that has queued again,")
		} else {
			require.False(w, w.Subject.Requeues, "a waiter's own node had gone before its %s, and it does not queue again", step)
		}
		w.NothingLeft()
		w.MustLock(holder, "the holder, once more")
		before = w.Nodes()
	})
	w.Unlock(holder, "the holder")
	w.NoNodes("every contender has let go, and a node is left")
}

func ReleaseWhileCutOff(w *World) {
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	waiter, s := w.Contender()
	result := w.Lock(waiter)
	w.Waits(result, s, "the waiter")
	back := w.Server.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == s.ID })
	require.True(w, w.Server.Cut(s.ID))
	w.Unlock(holder, "the holder")
	w.Hit(back, "the waiter's client connects again")
	back.Release()
	w.Holds(result, "a waiter that was cut off when the lock was let go")
	require.Equal(w, s.ID, s.SessionID(), "the waiter's client has another session, though it was cut off for less than the session timeout")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}

// A spoiler is a fault for the n-th request of a contender, and what else goes
// wrong then.
type spoiler struct {
	what  string
	spoil func(s *Session, n int) (fault, then *zkserver.Fault)
	loses bool // the connection breaks, and nothing else goes wrong
}

// mustOutlive says that a lock must go on after its n-th request was spoiled.
func (w *World) mustOutlive(sp spoiler, s *Session, n int) bool {
	if w.Subject.Requeues {
		return true
	}
	create := stage.CreatesNode(stage.LastRequest(s, n))
	return sp.loses && (w.Subject.FindsNode && create || w.Subject.Retries && !create)
}

func (w *World) spoilers() []spoiler {
	spoilers := []spoiler{
		{"is answered with an error", func(s *Session, n int) (_, _ *zkserver.Fault) {
			return w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Number(s, n)), nil
		}, false},
		{"is lost with its connection", func(s *Session, n int) (_, _ *zkserver.Fault) { return w.Server.LoseRequest(stage.Number(s, n)), nil }, true},
		{"is carried out, and its reply is lost with the connection", func(s *Session, n int) (_, _ *zkserver.Fault) { return w.Server.LoseReply(stage.Number(s, n)), nil }, true},
	}
	if w.Subject.Queue { // a lock without a queue has nothing to clean up
		spoilers = append(spoilers, spoiler{"fails, and the first try to clean up is lost with its connection", func(s *Session, n int) (_, _ *zkserver.Fault) {
			cleanUp := func(r zkserver.Request) bool { return r.Session == s.ID && r.Op == jute.OpDelete }
			return w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Number(s, n)), w.Server.LoseRequest(cleanUp)
		}, false})
	}
	return spoilers
}

// ErrorOnTheWay spoils each request of a waiter in turn.
func ErrorOnTheWay(w *World) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			holder, _ := w.Contender()
			w.MustLock(holder, "the holder")
			waiter, s := w.Contender()
			fault, then := sp.spoil(s, n)
			result := w.Lock(waiter)
			early := w.Meets(fault, s, "the request is spoiled, or the waiter waits")
			// It may return an error, or try again and wait on.
			free := !early || w.goesOn(result, s)
			if free {
				w.Unlock(holder, "the holder")
			}
			err := w.Result(result, fmt.Sprintf("Lock of a waiter, when its request %d %s, and it has tried again and waits, and the holder has let go,", n, sp.what))
			last := stage.LastRequest(s, n)
			how := fmt.Sprintf("its request %d, %v, %s", n, last, sp.what)
			if then != nil {
				then.Release()
			}
			if err == nil {
				require.True(w, free, "%s, and Lock of a waiter returns no error while another contender holds the lock: two holders", how)
				met := len(fault.Hit()) > 0
				fault.Release()
				require.NotEmpty(w, w.Nodes(), "%s, and Lock has returned without a node, so that the next contender gets in: two holders", how)
				w.Unlock(waiter, "the waiter")
				w.nothingStays(how)
				if early || met {
					continue // it has tried again itself
				}
				least := 1
				if w.Subject.Queue {
					least = 2
				}
				require.Greater(w, n, least, "a waiter sends only %d requests: it cannot have looked for the holder", n-1)
				break
			}
			require.False(w, early && w.mustOutlive(sp, s, n), "%s, and Lock returns an error: %v", how, err)
			w.leavesNothing(waiter, s, last, how, err)
			if !free {
				w.Unlock(holder, "the holder")
			}
			w.MustLock(waiter, "the waiter, once more,")
			w.Unlock(waiter, "it")
			w.NoNodes("every contender has let go, and a node is left")
		}
	}
}

// errorInTryLock spoils each request of TryLock on a free lock in turn.
func errorInTryLock(w *World) {
	w.Parents(w.Session().Conn, zk.WorldACL(zk.PermAll))
	w.Parent()
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			l, s := w.Contender()
			fault, then := sp.spoil(s, n)
			ok, err := w.Try(l, fmt.Sprintf("TryLock, when its request %d %s,", n, sp.what))
			if then != nil {
				then.Release()
			}
			last := stage.LastRequest(s, n)
			how := fmt.Sprintf("its request %d, %v, %s", n, last, sp.what)
			met := len(fault.Hit()) > 0
			if err == nil {
				fault.Release()
				require.True(w, ok, "TryLock on a free lock returns false and no error, when %s", how)
				require.NotEmpty(w, w.Nodes(), "%s, and TryLock returns true without a node, so that the next contender gets in: two holders", how)
				w.Unlock(l, "it")
				w.nothingStays(how)
				if met {
					continue // it has tried again itself
				}
				require.Greater(w, n, 1, "TryLock takes a lock without a request")
				break
			}
			require.False(w, ok, "TryLock returns true and an error")
			require.False(w, met && w.mustOutlive(sp, s, n), "%s, and TryLock returns an error: %v", how, err)
			w.leavesNothing(l, s, last, how, err)
			w.MustLock(l, "it, once more,")
			w.Unlock(l, "it")
		}
	}
}

// nothingStays fails if a lock that has tried again leaves a node in the end: it may
// remove in the background what an earlier try has left.
func (w *World) nothingStays(how string) {
	w.Helper()
	w.WaitUntil("nothing is left", func() bool { return len(w.Nodes()) == 0 }, func() string {
		return how + ", the lock has tried again and has been let go, and it leaves a node behind: it blocks every contender that comes later"
	})
}

// leavesNothing fails if a contender whose Lock has failed has left a node. A
// create whose reply was lost is an exception: its node stays until the session
// ends, and the steps say so.
func (w *World) leavesNothing(l Lock, s *Session, last jute.Op, how string, err error) {
	w.Helper()
	w.mayHold(err, "Lock returns ErrNotLocked, which is Unlock's error")
	w.NotLocked(l, "Unlock after a Lock that failed ("+how+")")
	mine := func() (nodes []string) {
		for _, session := range w.Server.Sessions() {
			if session.ID == s.ID {
				nodes = session.Ephemerals
			}
		}
		return nodes
	}
	if !stage.CreatesNode(last) {
		w.WaitUntil("the node goes", func() bool { return s.Tap.Pending() == 0 && len(mine()) == 0 }, func() string {
			return how + ", Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the node before you return an error"
		})
		require.ErrorContains(w, err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
		return
	}
	require.ErrorContains(w, err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
	w.WaitUntil("not more than one node is left", func() bool { return len(mine()) <= 1 }, func() string { return how + ", and there are two nodes" })
	w.Server.Expire(s.SessionID())
	w.Renewed(s, "the client has a new session")
}

// UnlockAgain spoils each request of Unlock in turn. Unlock may try again itself, or
// return an error, and then it can be called again.
func UnlockAgain(w *World) {
	for _, sp := range w.spoilers()[:3] {
		for n := 1; w.GoesOn(n); n++ {
			l, s := w.Contender()
			w.MustLock(l, "the holder")
			before := w.Nodes()
			fault, _ := sp.spoil(s, n)
			err := w.UnlockErr(l, "Unlock")
			met := len(fault.Hit()) > 0
			fault.Release()
			how := fmt.Sprintf("request %d of Unlock %s", n, sp.what)
			if err != nil {
				require.True(w, met, "Unlock fails, and nothing was wrong: %v", err)
				if slices.Equal(before, w.Nodes()) {
					w.mayHold(err, how+", the node is there still, and Unlock returns ErrNotLocked: the holder holds the lock still")
				}
				w.Eventually("the client is connected", func() bool { return s.State() == zk.StateHasSession })
				there := len(w.Nodes()) > 0
				err = w.UnlockErr(l, "Unlock, called again,")
				if there || err != nil && w.Subject.ErrNotLocked != nil && !errors.Is(err, w.Subject.ErrNotLocked) {
					require.NoError(w, err, "%s, and Unlock, called again, cannot delete the node: forget the node only once it has gone", how)
				}
			}
			w.WaitUntil("the node goes", func() bool { return len(w.Nodes()) == 0 }, func() string {
				return how + ", Unlock has returned no error, and the node stays: the caller believes that the lock is free"
			})
			w.NotLocked(l, "Unlock of a lock that has been let go")
			if !met {
				require.Greater(w, n, 1, "Unlock sends no request")
				break
			}
		}
	}
}

// WatchesLeft looks for watches where nothing is left to wait for: after a release
// that comes while a waiter is about to wait, and after a TryLock.
func WatchesLeft(w *World) {
	ReleaseBeforeWatch(w)
	w.NoWatches()
	holder, _ := w.Contender()
	w.MustLock(holder, "the holder")
	other, s := w.Contender()
	if _, err := w.Try(other, "TryLock on a held lock"); !errors.Is(err, errors.ErrUnsupported) {
		require.Zero(w, s.Tap.Armed(), "TryLock has returned and has left a watch behind")
	}
	w.Unlock(holder, "the holder")
	w.NoWatches()
}

// GoroutinesLeft looks for goroutines of the lock after a wait and a session's end.
func GoroutinesLeft(w *World) {
	WaiterSleeps(w)
	ExpiredWaiter(w)
	w.NoGoroutines()
}

// WakeUps measures the first release, before which a contender came last, and
// those after it.
func WakeUps(w *World) {
	if w.Subject.WakeUps == nil {
		w.Skip("Subject.WakeUps is nil: there is no prediction of the watch events to compare with")
	}
	for n := 1; n <= 12; n += 11 {
		locks, results, sessions := w.queue(n + 1)
		type acquired struct {
			contender int
			err       error
		}
		got := make(chan acquired, n)
		for i, result := range results[1:] {
			go func() { got <- acquired{i + 1, <-result} }()
		}
		holder := 0
		done := map[int]bool{0: true}
		for waiting := n; waiting > 0; waiting-- {
			before := Events(sessions, done)
			w.Unlock(locks[holder], fmt.Sprintf("contender %d", holder))
			select {
			case a := <-got:
				require.NoError(w, a.err, "Lock of contender %d fails", a.contender)
				holder = a.contender
			case <-time.After(stage.Patience):
				w.Fatalf("a release with %d waiting wakes no contender%s", waiting, w.Why())
			}
			w.Eventually("all others wait again", func() bool {
				for i, s := range sessions {
					if !done[i] && i != holder && (s.Tap.Armed() == 0 || s.Tap.Pending() > 0) {
						return false
					}
				}
				return true
			})
			sent, predicted := int(Events(sessions, done)-before), w.Subject.WakeUps(waiting)
			switch {
			case sent > predicted && sent >= waiting && predicted < waiting:
				w.Fatalf("you wake everybody: a release with %d waiting sent %d watch events, and %d was predicted (the herd effect); watch only the node before yours", waiting, sent, predicted)
			case sent != predicted:
				w.Fatalf("a release with %d waiting sent %d watch events, and %d was predicted (Subject.WakeUps)", waiting, sent, predicted)
			}
			done[holder] = true
		}
		w.Unlock(locks[holder], "the last")
		w.NothingLeft()
		if w.Subject.Queue {
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}

// Events counts the watch events that were sent to contenders that are not
// done.
func Events(sessions []*Session, done map[int]bool) (n int64) {
	for i, s := range sessions {
		if !done[i] {
			n += s.Tap.Counts().Events
		}
	}
	return n
}

func requestCount(w *World) {
	if w.Subject.Requests == nil {
		w.Skip("Subject.Requests is nil: there is no prediction of the requests to compare with")
	}
	for _, n := range []int{1, 2, 3, 10} {
		locks, results, sessions := w.queue(n)
		free := make(map[int]bool) // contenders that have the lock, or had it
		for range n {
			holder := -1
			w.Eventually("a contender has the lock", func() bool {
				for i := range locks {
					if free[i] {
						continue
					}
					if i == 0 {
						holder = 0
						return true
					}
					select {
					case err := <-results[i]:
						require.NoError(w, err, "Lock of contender %d fails", i)
						holder = i
						return true
					default:
					}
				}
				return false
			})
			free[holder] = true
			w.Eventually("all others wait", func() bool {
				for i, s := range sessions {
					if !free[i] && (s.Tap.Armed() == 0 || s.Tap.Pending() > 0) {
						return false
					}
				}
				return true
			})
			w.Unlock(locks[holder], "the holder")
		}
		var requests []jute.Op
		for _, s := range sessions {
			requests = append(requests, stage.RequestsOf(s)...)
		}
		if predicted := w.Subject.Requests(n); len(requests) != predicted {
			w.Fatalf("%d contenders that arrive one by one send %d requests in all, and %d were predicted (Subject.Requests): %s", n, len(requests), predicted, ByKind(requests))
		}
		if w.Subject.Queue {
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}
