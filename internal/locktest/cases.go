package locktest

import (
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
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

// exclusion lets every contender lock a few times, and count in a variable
// that nothing but the lock guards: the race detector sees what the counter
// may miss.
func exclusion(w *World, contenders []Lock) {
	const times = 5
	num := 0
	var holders atomic.Int32
	round := func(l Lock) error {
		if err := l.Lock(); err != nil {
			return fmt.Errorf("Lock fails: %w", err)
		}
		alone := holders.Add(1) == 1
		num++
		// Time for others to get in, if the lock lets them. In virtual time it
		// ends when all others have got as far as they can.
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		if err := l.Unlock(); err != nil {
			return fmt.Errorf("Unlock fails: %w", err)
		}
		if !alone {
			return errors.New("it has got the lock while another contender holds it: two holders")
		}
		return nil
	}
	results := make([]<-chan error, len(contenders))
	for i, l := range contenders {
		results[i] = w.aside("Lock, Unlock", func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			return err
		})
	}
	for i, result := range results {
		require.NoError(w, w.result(result, fmt.Sprintf("contender %d", i)), "contender %d", i)
	}
	require.Equal(w, times*len(contenders), num, "the count is wrong: two contenders held the lock at once")
	w.nothingLeft()
}

func exclusionInOneSession(w *World) {
	s := w.session()
	var contenders []Lock
	for range 16 {
		l, _ := w.contender(s)
		contenders = append(contenders, l)
	}
	exclusion(w, contenders)
}

func exclusionInManySessions(w *World) {
	var contenders []Lock
	for range 8 {
		l, _ := w.contender()
		contenders = append(contenders, l)
	}
	exclusion(w, contenders)
}

func reuse(w *World) {
	l, _ := w.contender()
	for i := range 3 {
		w.mustLock(l, fmt.Sprintf("the same contender, time %d", i+1))
		w.unlock(l, "it")
	}
	ok, err := w.try(l, "TryLock of a contender that has let go")
	require.NoError(w, err, "TryLock of a contender that has let go fails")
	require.True(w, ok, "TryLock of a contender that has let go returns false, and the lock is free")
	w.unlock(l, "it")
	w.nothingLeft()
}

// ephemeralNode looks at the node that the holder has made.
func ephemeralNode(w *World) {
	admin := w.session()
	l, s := w.contender()
	w.mustLock(l, "the holder")
	nodes := w.nodes()
	if len(nodes) == 0 {
		if _, stat, err := admin.Get(w.path); err == nil && !w.subject.Queue {
			require.NotZero(w, stat.EphemeralOwner, "the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral", w.path)
		}
		w.Fatalf("Lock has returned, and there is no node of the holder at %s or below it: nothing keeps the next contender out; make a node, and hold the lock only if that makes you the holder", w.path)
	}
	for _, node := range nodes {
		p := w.path + "/" + node
		_, stat, err := admin.Get(p)
		if errors.Is(err, zk.ErrNoNode) {
			p = w.path
			_, stat, err = admin.Get(p)
		}
		require.NoError(w, err, "the holder's node %s", p)
		require.NotZero(w, stat.EphemeralOwner, "the holder's node %s is not ephemeral: if the holder dies, its node stays, and no contender ever gets the lock; create it with zk.FlagEphemeral or zk.FlagEphemeralSequential", p)
		require.Equal(w, s.SessionID(), stat.EphemeralOwner, "the holder's node %s belongs to another session", p)
	}
	require.Len(w, nodes, 1, "one contender holds the lock, and there are several nodes")
	w.unlock(l, "the holder")
	w.noNodes("Unlock has returned, and the holder's node is there still: every other contender waits; Unlock must delete the node")
}

// waiterSleeps counts what a waiter sends while nothing happens.
func waiterSleeps(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.stillWaits(result, s, "the waiter")
	before, quiet := len(requestsOf(s)), 10*time.Second
	if w.srv == nil {
		quiet = 500 * time.Millisecond
	}
	time.Sleep(quiet) // in which nothing happens that a waiter could wait for
	// A lock may show now and then that its session lives: zklock sends two
	// requests in a third of the session timeout.
	if n := len(requestsOf(s)) - before; n > 10 {
		w.Fatalf("the waiter polls: it has sent %d requests in %v while nothing changed (%s); set a watch, and sleep until its event comes", n, quiet, byKind(requestsOf(s)[before:]))
	}
	w.stillWaits(result, s, "the waiter")
	w.unlock(holder, "the holder")
	w.holds(result, "the waiter, after the release,")
	w.unlock(waiter, "it")
	w.nothingLeft()
}

// byKind counts requests.
func byKind(requests []jute.Op) string {
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

func missingParents(w *World) {
	a, _ := w.contender()
	b, s := w.contender()
	require.NoError(w, w.result(w.lock(a), "Lock where the parents are missing"), "Lock fails where the parents of its node are missing: make them when create returns zk.ErrNoNode")
	result := w.lock(b)
	w.stillWaits(result, s, "the second contender")
	w.unlock(a, "the first contender")
	w.holds(result, "the second contender")
	w.unlock(b, "the second contender")
	w.nothingLeft()
}

// parentsAtOnce lets two contenders find the parents missing, and make them
// at the same moment.
func parentsAtOnce(w *World) {
	a, sa := w.contender()
	b, sb := w.contender()
	topmost := "/" + strings.Split(w.path, "/")[1]
	var held []*zkserver.Fault
	for _, s := range []*session{sa, sb} {
		held = append(held, w.srv.Hold(func(r zkserver.Request) bool {
			return r.Session == s.id && r.Path == topmost
		}))
	}
	resultA := w.lock(a)
	w.hit(held[0], "the first contender makes "+topmost)
	resultB := w.lock(b)
	w.hit(held[1], "the second contender makes "+topmost)
	held[0].Release()
	w.holds(resultA, "the contender that made the parents")
	held[1].Release()
	w.stillWaits(resultB, sb, "the contender whose parents another one has made at the same moment")
	w.unlock(a, "the first")
	w.holds(resultB, "the second")
	w.unlock(b, "it")
	w.nothingLeft()
}

func badPaths(w *World) {
	s := w.session()
	for _, p := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
		l := w.subject.New(s.Conn, p)
		require.Error(w, w.result(w.lock(l), fmt.Sprintf("Lock with the path %q", p)), "Lock with the path %q returns no error", p)
		ok, err := w.try(l, fmt.Sprintf("TryLock with the path %q", p))
		require.Error(w, err, "TryLock with the path %q returns no error", p)
		require.False(w, ok, "TryLock with the path %q returns true", p)
	}
	children, _, err := s.Children("/")
	require.NoError(w, err)
	for _, child := range children {
		require.False(w, strings.HasPrefix(child, "lock-"), "a lock with a path that is none leaves a node behind: %s", child)
	}
}

func tryLockFree(w *World) {
	a, _ := w.contender()
	ok, err := w.try(a, "TryLock on a free lock")
	require.NoError(w, err, "TryLock on a free lock fails")
	require.True(w, ok, "TryLock returns false, and the lock is free")
	w.unlock(a, "the contender that took the lock with TryLock")
	w.nothingLeft()
}

func tryLockHeld(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	before := w.nodes()
	other, s := w.contender()
	for range 3 {
		ok, err := w.try(other, "TryLock on a held lock")
		require.NoError(w, err, "TryLock on a held lock fails: false says that another contender holds it")
		require.False(w, ok, "TryLock takes a lock that another contender holds: two holders")
	}
	require.Equal(w, before, w.nodes(), "TryLock has returned false and has left a node behind: it blocks every contender that comes later")
	require.Zero(w, s.tap.Armed(), "TryLock has returned false and has left a watch behind")
	w.unlock(holder, "the holder")
	ok, err := w.try(other, "TryLock on a lock that has been let go")
	require.NoError(w, err, "TryLock on a lock that has been let go fails")
	require.True(w, ok, "TryLock returns false on a lock that has been let go")
	w.unlock(other, "the contender that took the lock with TryLock")
	w.nothingLeft()
}

func unlockByNonHolder(w *World) {
	holder, s := w.contender()
	stranger, _ := w.contender()
	neighbour, _ := w.contender(s) // in the holder's own session
	w.mustLock(holder, "the holder")
	before := w.nodes()
	for _, other := range []struct {
		lock Lock
		name string
	}{{stranger, "Unlock by a contender that does not hold the lock"}, {neighbour, "Unlock by another contender of the holder's session"}} {
		err := w.unlockErr(other.lock, other.name)
		require.Equal(w, before, w.nodes(), "%s has deleted another contender's node, the holder's: delete only the node that this contender has made", other.name)
		w.isNotLocked(err, other.name)
	}
	ok, err := w.try(stranger, "TryLock on a held lock")
	require.NoError(w, err, "TryLock on a held lock fails")
	require.False(w, ok, "Unlock by a contender that does not hold the lock has freed it: two holders")
	w.notLocked(stranger, "Unlock after TryLock has returned false")
	// A waiter has a node, but not the lock.
	waiter, ws := w.contender()
	result := w.lock(waiter)
	w.stillWaits(result, ws, "the waiter")
	w.unlock(holder, "the holder")
	w.holds(result, "the waiter")
	before = w.nodes()
	err = w.unlockErr(holder, "the second Unlock")
	require.Equal(w, before, w.nodes(), "a second Unlock has deleted another contender's node, the new holder's: delete only the node that this contender has made")
	w.isNotLocked(err, "the second Unlock")
	w.unlock(waiter, "the new holder")
	w.notLocked(stranger, "Unlock of a lock that no contender holds")
	w.nothingLeft()
}

func noPermission(w *World) {
	admin := w.session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.parents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	l, _ := w.contender()
	ok, err := w.try(l, "TryLock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth, "TryLock takes the error \"no permission\" for \"another contender holds the lock\": only zk.ErrNodeExists says that")
	require.False(w, ok, "TryLock without permission returns true")
	err = w.result(w.lock(l), "Lock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth, "Lock without permission must return an error that wraps the client's")
	w.notLocked(l, "Unlock after a Lock that failed")
}

func expiredWaiter(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(result, s, "the waiter")
	w.expire(s)
	if w.subject.Requeues {
		w.eventually("the waiter's client has a new session", func() bool { return s.SessionID() != 0 && s.SessionID() != s.id })
		w.eventually("it queues again", func() bool { return len(w.nodes()) == 2 })
		w.stillWaits(result, s, "a waiter that has queued again")
		w.unlock(holder, "the holder")
		w.holds(result, "a waiter whose session has expired, and that has queued again,")
		w.unlock(waiter, "it")
		w.nothingLeft()
		return
	}
	err := w.result(result, "Lock of a waiter whose session has expired")
	require.Error(w, err, "a waiter's session has expired and its node has gone, and Lock returns no error: the event that wakes it has Err set")
	if w.srv != nil { // on a real server the connection or the waiter's own node may go first
		require.ErrorIs(w, err, zk.ErrSessionExpired, "the event that wakes the waiter has zk.ErrSessionExpired in Err: return an error that wraps it, and do not go on with the next request")
	}
	w.notLocked(waiter, "Unlock after a Lock that failed")
	require.Len(w, w.nodes(), 1, "besides the holder's node there is one of a session that has expired, or the holder's has gone")
	w.unlock(holder, "the holder")
	// The client fails what is asked of it while it changes over.
	w.eventually("the waiter's client has a new session", func() bool { return s.SessionID() != 0 && s.SessionID() != s.id })
	w.mustLock(waiter, "the waiter, in its new session")
	w.unlock(waiter, "it")
	w.nothingLeft()
}

func closedWaiter(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(result, s, "the waiter")
	s.Close()
	require.Error(w, w.result(result, "Lock of a waiter whose client has been closed"), "the client of a waiter has been closed, and Lock returns no error")
	w.unlock(holder, "the holder")
	w.nothingLeft()
}

func expiredHolder(w *World) {
	holder, s := w.contender()
	w.mustLock(holder, "the holder")
	waiter, ws := w.contender()
	result := w.lock(waiter)
	w.stillWaits(result, ws, "the waiter")
	w.expire(s)
	w.holds(result, "the waiter, after the holder's session has expired,")
	w.unlock(waiter, "the new holder")
	w.nothingLeft()
	w.unlockErr(holder, "Unlock after the session has expired") // what a lock does for a holder in the background ends with it; the next case judges the error
}

func unlockAfterExpiry(w *World) {
	holder, s := w.contender()
	w.mustLock(holder, "the holder")
	w.expire(s)
	next, _ := w.contender()
	w.mustLock(next, "the next holder")
	w.eventually("the old holder's client has a new session", func() bool {
		return s.SessionID() != 0 && s.SessionID() != s.id && s.State() == zk.StateHasSession
	})
	before := w.nodes()
	err := w.unlockErr(holder, "Unlock after the session has expired")
	require.Equal(w, before, w.nodes(), "the holder's session has expired, and its Unlock has deleted another contender's node, the new holder's: two holders")
	w.isNotLocked(err, "Unlock after the session has expired")
	third, _ := w.contender()
	ok, err := w.try(third, "TryLock on a held lock")
	require.NoError(w, err, "TryLock on a held lock fails")
	require.False(w, ok, "an expired holder's Unlock has freed the new holder's lock: two holders")
	w.unlock(next, "the new holder")
	w.mustLock(holder, "the old holder, once more")
	w.unlock(holder, "it")
	w.nothingLeft()
}

// parent makes the parent of a queue, if there is one.
func (w *World) parent() {
	w.Helper()
	if !w.subject.Queue {
		return
	}
	if _, err := w.session().Create(w.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
		require.NoError(w, err)
	}
}

// queue lines up n contenders, each in a session of its own: the first holds
// the lock, and each of the others waits before the next one comes.
func (w *World) queue(n int) (locks []Lock, results []<-chan error, sessions []*session) {
	for range n {
		l, s := w.contender()
		locks, sessions = append(locks, l), append(sessions, s)
	}
	w.parents(w.session().Conn, zk.WorldACL(zk.PermAll))
	w.parent() // made in advance, so that no request is spent on it
	for i, l := range locks {
		result := w.lock(l)
		results = append(results, result)
		if i == 0 {
			w.holds(result, "the first")
		} else {
			w.waits(result, sessions[i], fmt.Sprintf("contender %d", i))
		}
	}
	return locks, results, sessions
}

func queueOrder(w *World) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		for j := i + 1; j < len(locks); j++ {
			w.stillWaits(results[j], sessions[j], fmt.Sprintf("contender %d", j))
		}
		w.unlock(l, fmt.Sprintf("contender %d", i))
		if i+1 == len(locks) {
			break
		}
		next := -1
		var err error
		w.eventually(fmt.Sprintf("contender %d, whose turn it is, gets the lock after the release", i+1), func() bool {
			for j := i + 1; j < len(locks) && next < 0; j++ {
				select {
				case err = <-results[j]:
					next = j
				default:
				}
			}
			return next >= 0
		})
		require.NoError(w, err, "Lock of contender %d fails", next)
		require.Equal(w, i+1, next, "contender %d gets the lock before contender %d, which came earlier: the contender whose node has the smallest number is the next", next, i+1)
	}
	w.nothingLeft()
}

// gone fails if a waiter whose client has been closed gets no error.
func (w *World) gone(result <-chan error) {
	w.Helper()
	require.Error(w, w.result(result, "Lock of a waiter whose client has been closed"), "the client of a waiter has been closed, and Lock returns no error")
}

// waiterGoes closes the client of the waiter in the middle.
func waiterGoes(w *World) {
	locks, results, sessions := w.queue(3)
	sessions[1].Close()
	w.gone(results[1])
	select {
	case err := <-results[2]:
		require.NoError(w, err, "the last waiter must go on waiting, and Lock fails")
		w.Fatal("the waiter before it has gone, the holder holds the lock still, and the last waiter has got it: two holders; the node that went need not have been the holder's, so look again at the whole queue after each event")
	case <-time.After(time.Second): // every event has come by then
	}
	w.stillWaits(results[2], sessions[2], "the waiter after the one that has gone")
	w.unlock(locks[0], "the holder")
	w.holds(results[2], "the waiter after the one that has gone")
	w.unlock(locks[2], "it")
	w.nothingLeft()
}

func foreignChild(w *World) {
	s := w.session()
	w.parents(s.Conn, zk.WorldACL(zk.PermAll))
	for _, p := range []string{w.path, w.path + "/0", w.path + "/config", w.path + "/0000000000"} {
		_, err := s.Create(p, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	l, _ := w.contender()
	w.mustLock(l, "a contender beside three nodes that are no contenders'")
	other, os := w.contender()
	result := w.lock(other)
	w.stillWaits(result, os, "the second contender")
	w.unlock(l, "the first")
	w.holds(result, "the second contender")
	w.unlock(other, "it")
	require.Len(w, w.nodes(), 3, "the nodes that are no contenders' must stay, and no other node")
}

// atEachRead lets a contender lock while another one holds the lock, again and
// again. First its first read is held back on its way to the server, then its
// second, until it has sent all that it sends before it waits. Which reads
// those are differs from lock to lock. Once the read is held, or the contender
// waits, f is called, which does what the case is about.
func (w *World) atEachRead(f func(l Lock, s *session, result <-chan error, release func(), step string)) {
	for n := 1; w.goesOn(n); n++ {
		l, s := w.contender()
		reads := 0
		held := w.srv.Hold(func(r zkserver.Request) bool {
			if r.Session == s.id && (r.Op == jute.OpGetData || r.Op == jute.OpExists || r.Op == jute.OpGetChildren2) {
				reads++
				return reads == n
			}
			return false
		})
		result := w.lock(l)
		met := w.meets(held, s, "the waiter's read is held back, or it waits")
		f(l, s, result, held.Release, fmt.Sprintf("read number %d", n))
		if !met {
			require.Greater(w, n, 1, "the waiter looks at nothing before it waits: it can wait for a release that has been")
			return
		}
	}
}

// meets waits until a request meets a fault, or the session's contender waits
// and no request will.
func (w *World) meets(f *zkserver.Fault, s *session, what string) (met bool) {
	w.Helper()
	w.eventually(what, func() bool {
		select {
		case <-f.Hit():
			met = true
		default:
		}
		return met || s.tap.Armed() > 0 && s.tap.Pending() == 0
	})
	return met
}

func releaseBeforeWatch(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	w.atEachRead(func(l Lock, s *session, result <-chan error, release func(), step string) {
		w.unlock(holder, "the holder")
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the lock was let go while the waiter was about to wait (its %s came after the release), and Lock fails", step)
		case <-time.After(patience):
			w.Fatalf("the holder has let go between the waiter's look and its watch (its %s came after the release), and the waiter sleeps on: the event is lost; one request must look and set the watch, and a node that it does not find is a release%s", step, w.why())
		}
		holder = l
	})
	w.unlock(holder, "the last")
	w.nothingLeft()
}

func waiterGoesBeforeWatch(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	middle, ms := w.contender()
	gone := w.lock(middle)
	w.waits(gone, ms, "the waiter")
	w.atEachRead(func(l Lock, s *session, result <-chan error, release func(), step string) {
		ms.Close()
		w.gone(gone)
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the waiter before it has gone, and Lock fails (its %s came afterwards)", step)
			w.Fatalf("the waiter before it has gone before it was watched (the %s came afterwards), and a waiter has got the lock: two holders; the node that is missing need not have been the holder's, so look again at the whole queue", step)
		case <-time.After(time.Second): // every event has come by then
		}
		w.stillWaits(result, s, "a waiter whose "+step+" came after the waiter before it had gone")
		ms, gone = s, result // it is in the middle for the next one
	})
	ms.Close()
	w.gone(gone)
	w.unlock(holder, "the holder")
	w.nothingLeft()
}

func nodeGoes(w *World) {
	admin := w.session()
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	before := w.nodes()
	w.atEachRead(func(l Lock, s *session, result <-chan error, release func(), step string) {
		for _, node := range w.nodes() {
			if !slices.Contains(before, node) {
				require.NoError(w, admin.Delete(w.path+"/"+node, -1))
			}
		}
		release()
		if w.subject.Requeues {
			w.eventually("the waiter whose node has gone makes another", func() bool { return len(w.nodes()) == 2 })
			w.stillWaits(result, s, "a waiter whose node had gone before its "+step)
			w.unlock(holder, "the holder")
			w.holds(result, "a waiter whose node had gone, and that has queued again,")
			require.Len(w, w.nodes(), 1, "the holder has no node")
			w.unlock(l, "it")
			w.mustLock(holder, "the holder, once more")
			before = w.nodes()
			return
		}
		const without = "a waiter's own node had gone before its %s, and it takes the lock without a node: the next contender gets in, too; look for the own node in each list of children"
		// A waiter that sleeps on the holder's node learns of it at the release.
		synctest.Wait()
		if s.tap.Armed() > 0 {
			w.unlock(holder, "the holder")
			require.Error(w, w.result(result, "Lock of a waiter whose node has gone"), without, step)
			w.mustLock(holder, "the holder, once more")
			before = w.nodes()
			return
		}
		require.Error(w, w.result(result, "Lock of a waiter whose node has gone"), without, step)
		w.notLocked(l, "Unlock after a Lock that failed")
	})
	w.unlock(holder, "the holder")
	w.noNodes("every contender has let go, and a node is left")
}

func releaseWhileCutOff(w *World) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(result, s, "the waiter")
	back := w.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == s.id })
	require.True(w, w.srv.Cut(s.id))
	w.unlock(holder, "the holder")
	w.hit(back, "the waiter's client connects again")
	back.Release()
	w.holds(result, "a waiter that was cut off when the lock was let go")
	require.Equal(w, s.id, s.SessionID(), "the waiter's client has another session, though it was cut off for less than the session timeout")
	w.unlock(waiter, "it")
	w.nothingLeft()
}

// byClient says that the client sends requests of this kind by itself: no lock
// decides whether and when.
func byClient(op jute.Op) bool {
	return op == jute.OpPing || op == jute.OpConnect || op == jute.OpSetWatches
}

// number counts the requests that the lock of a session makes, and is true of
// number n.
func number(s *session, n int) func(zkserver.Request) bool {
	count := 0
	return func(r zkserver.Request) bool {
		if r.Session != s.id || byClient(r.Op) {
			return false
		}
		count++
		return count == n
	}
}

// A spoiler is a fault for the n-th request of a contender, and what else goes
// wrong then.
type spoiler struct {
	what  string
	spoil func(s *session, n int) (fault, then *zkserver.Fault)
	loses bool // the connection breaks, and nothing else goes wrong
}

// outlives says that a lock may go on after its n-th request was spoiled.
func (w *World) outlives(sp spoiler, s *session, n int) bool {
	if w.subject.Requeues {
		return true
	}
	create := createsNode(lastRequest(s, n))
	return sp.loses && (w.subject.FindsNode && create || w.subject.Retries && !create)
}

func (w *World) spoilers() []spoiler {
	spoilers := []spoiler{
		{"is answered with an error", func(s *session, n int) (_, _ *zkserver.Fault) {
			return w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n)), nil
		}, false},
		{"is lost with its connection", func(s *session, n int) (_, _ *zkserver.Fault) { return w.srv.LoseRequest(number(s, n)), nil }, true},
		{"is carried out, and its reply is lost with the connection", func(s *session, n int) (_, _ *zkserver.Fault) { return w.srv.LoseReply(number(s, n)), nil }, true},
	}
	if w.subject.Queue { // a lock without a queue has nothing to clean up
		spoilers = append(spoilers, spoiler{"fails, and the first try to clean up is lost with its connection", func(s *session, n int) (_, _ *zkserver.Fault) {
			cleanUp := func(r zkserver.Request) bool { return r.Session == s.id && r.Op == jute.OpDelete }
			return w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n)), w.srv.LoseRequest(cleanUp)
		}, false})
	}
	return spoilers
}

// errorOnTheWay spoils each request of a waiter in turn.
func errorOnTheWay(w *World) {
	for _, sp := range w.spoilers() {
		for n := 1; w.goesOn(n); n++ {
			holder, _ := w.contender()
			w.mustLock(holder, "the holder")
			waiter, s := w.contender()
			fault, then := sp.spoil(s, n)
			result := w.lock(waiter)
			early := w.meets(fault, s, "the request is spoiled, or the waiter waits")
			outlived := w.subject.Requeues || early && w.outlives(sp, s, n)
			free := !early || outlived
			if free {
				w.unlock(holder, "the holder")
			}
			err := w.result(result, fmt.Sprintf("Lock, when its request %d %s,", n, sp.what))
			if then != nil {
				then.Release()
			}
			if err == nil && early && outlived {
				w.unlock(waiter, "the waiter")
				w.nothingLeft()
				continue
			}
			if err == nil { // it sends no such request
				fault.Release()
				w.unlock(waiter, "the waiter")
				require.False(w, early, "request %d of a waiter %s, and Lock returns no error", n, sp.what)
				require.Greater(w, n, 2, "a waiter sends only one request: it cannot have looked for the holder")
				break
			}
			last := lastRequest(s, n)
			w.leavesNothing(waiter, s, last, fmt.Sprintf("its request %d, %v, %s", n, last, sp.what), err)
			if !free {
				w.unlock(holder, "the holder")
			}
			w.mustLock(waiter, "the waiter, once more,")
			w.unlock(waiter, "it")
			w.noNodes("every contender has let go, and a node is left")
		}
	}
}

// errorInTryLock spoils each request of TryLock on a free lock in turn.
func errorInTryLock(w *World) {
	w.parents(w.session().Conn, zk.WorldACL(zk.PermAll))
	w.parent()
	for _, sp := range w.spoilers() {
		for n := 1; w.goesOn(n); n++ {
			l, s := w.contender()
			fault, then := sp.spoil(s, n)
			ok, err := w.try(l, fmt.Sprintf("TryLock, when its request %d %s,", n, sp.what))
			if then != nil {
				then.Release()
			}
			if err == nil {
				fault.Release()
				require.True(w, ok, "TryLock on a free lock returns false and no error, when its request %d %s", n, sp.what)
				w.unlock(l, "it")
				if hit := len(fault.Hit()) > 0; hit && w.outlives(sp, s, n) {
					w.nothingLeft()
					continue
				}
				require.Empty(w, fault.Hit(), "request %d %s, and TryLock returns no error", n, sp.what)
				require.Greater(w, n, 1, "TryLock takes a lock without a request")
				break
			}
			require.False(w, ok, "TryLock returns true and an error")
			last := lastRequest(s, n)
			w.leavesNothing(l, s, last, fmt.Sprintf("request %d, %v, %s", n, last, sp.what), err)
			w.mustLock(l, "it, once more,")
			w.unlock(l, "it")
		}
	}
}

// lastRequest is the kind of the n-th request of a session.
func lastRequest(s *session, n int) jute.Op {
	for _, e := range s.tap.Log() {
		if e.Kind == wiretap.Request && !byClient(e.Op) {
			if n--; n == 0 {
				return e.Op
			}
		}
	}
	return jute.OpError
}

// leavesNothing fails if a contender whose Lock has failed has left a node. A
// create whose reply was lost is an exception: its node stays until the session
// ends, and the steps say so.
func (w *World) leavesNothing(l Lock, s *session, last jute.Op, how string, err error) {
	w.Helper()
	w.mayHold(err, "Lock returns ErrNotLocked, which is Unlock's error")
	w.notLocked(l, "Unlock after a Lock that failed ("+how+")")
	mine := func() (nodes []string) {
		for _, session := range w.srv.Sessions() {
			if session.ID == s.id {
				nodes = session.Ephemerals
			}
		}
		return nodes
	}
	if !createsNode(last) {
		w.eventually("nothing more is sent", func() bool { return s.tap.Pending() == 0 })
		require.Empty(w, mine(), "%s, Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the node before you return an error", how)
		require.ErrorContains(w, err, w.path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
		return
	}
	require.ErrorContains(w, err, w.path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
	require.LessOrEqual(w, len(mine()), 1, "%s, and there are two nodes", how)
	w.srv.Expire(s.id)
	w.eventually("the client has a new session", func() bool { return s.State() == zk.StateHasSession && s.SessionID() != s.id })
}

// unlockAgain spoils each request of Unlock in turn.
func unlockAgain(w *World) {
	for n := 1; w.goesOn(n); n++ {
		l, s := w.contender()
		w.mustLock(l, "the holder")
		before := w.nodes()
		fault := w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n))
		err := w.unlockErr(l, "Unlock")
		if err == nil && (w.subject.Requeues || w.subject.Retries) && len(fault.Hit()) > 0 {
			w.nothingLeft() // it has tried again itself
			continue
		}
		if err == nil {
			require.Empty(w, fault.Hit(), "request %d of Unlock is answered with an error, and Unlock returns none: the caller believes that the lock is free", n)
			require.Greater(w, n, 1, "Unlock sends no request")
			break
		}
		w.mayHold(err, "a request of Unlock has failed, the node is there still, and Unlock returns ErrNotLocked: the holder holds the lock still")
		require.Equal(w, before, w.nodes(), "a request of Unlock has failed, and the holder's node is not what it was")
		require.NoError(w, w.unlockErr(l, "Unlock, called again,"), "a request of Unlock has failed, and Unlock, called again, cannot delete the node: forget the node only once it has gone")
		w.notLocked(l, "Unlock of a lock that has been let go")
		w.noNodes("every contender has let go, and a node is left")
	}
}

// wakeUps measures the first release, before which a contender came last, and
// those after it.
func wakeUps(w *World) {
	if w.subject.WakeUps == nil {
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
			before := events(sessions, done)
			w.unlock(locks[holder], fmt.Sprintf("contender %d", holder))
			select {
			case a := <-got:
				require.NoError(w, a.err, "Lock of contender %d fails", a.contender)
				holder = a.contender
			case <-time.After(patience):
				w.Fatalf("a release with %d waiting wakes no contender%s", waiting, w.why())
			}
			w.eventually("all others wait again", func() bool {
				for i, s := range sessions {
					if !done[i] && i != holder && (s.tap.Armed() == 0 || s.tap.Pending() > 0) {
						return false
					}
				}
				return true
			})
			sent, predicted := int(events(sessions, done)-before), w.subject.WakeUps(waiting)
			switch {
			case sent > predicted && sent >= waiting && predicted < waiting:
				w.Fatalf("you wake everybody: a release with %d waiting sent %d watch events, and %d was predicted (the herd effect); watch only the node before yours", waiting, sent, predicted)
			case sent != predicted:
				w.Fatalf("a release with %d waiting sent %d watch events, and %d was predicted (Subject.WakeUps)", waiting, sent, predicted)
			}
			done[holder] = true
		}
		w.unlock(locks[holder], "the last")
		w.nothingLeft()
		if w.subject.Queue {
			require.NoError(w, w.session().Delete(w.path, -1))
		}
	}
}

// events counts the watch events that were sent to contenders that are not
// done.
func events(sessions []*session, done map[int]bool) (n int64) {
	for i, s := range sessions {
		if !done[i] {
			n += s.tap.Counts().Events
		}
	}
	return n
}

func requestCount(w *World) {
	if w.subject.Requests == nil {
		w.Skip("Subject.Requests is nil: there is no prediction of the requests to compare with")
	}
	for _, n := range []int{1, 2, 3, 10} {
		locks, results, sessions := w.queue(n)
		free := make(map[int]bool) // contenders that have the lock, or had it
		for range n {
			holder := -1
			w.eventually("a contender has the lock", func() bool {
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
			w.eventually("all others wait", func() bool {
				for i, s := range sessions {
					if !free[i] && (s.tap.Armed() == 0 || s.tap.Pending() > 0) {
						return false
					}
				}
				return true
			})
			w.unlock(locks[holder], "the holder")
		}
		var requests []jute.Op
		for _, s := range sessions {
			requests = append(requests, requestsOf(s)...)
		}
		if predicted := w.subject.Requests(n); len(requests) != predicted {
			w.Fatalf("%d contenders that arrive one by one send %d requests in all, and %d were predicted (Subject.Requests): %s", n, len(requests), predicted, byKind(requests))
		}
		if w.subject.Queue {
			require.NoError(w, w.session().Delete(w.path, -1))
		}
	}
}
