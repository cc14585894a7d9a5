package locktest

import (
	"errors"
	"fmt"
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
func exclusion(w *world, contenders []Lock) {
	const times = 5
	num := 0
	var holders atomic.Int32
	round := func(l Lock) error {
		if err := l.Lock(); err != nil {
			return fmt.Errorf("Lock fails: %w", err)
		}
		alone := holders.Add(1) == 1
		num++
		// Time for others to come in, if the lock lets them. In virtual time it
		// ends when all others have got as far as they can.
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		if err := l.Unlock(); err != nil {
			return fmt.Errorf("Unlock fails: %w", err)
		}
		if !alone {
			return errors.New("has got the lock while somebody else holds it: two holders")
		}
		return nil
	}
	results := make([]chan error, len(contenders))
	for i, l := range contenders {
		results[i] = make(chan error, 1)
		go func() {
			var err error
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			results[i] <- err
		}()
	}
	for i, result := range results {
		require.NoError(w, w.result(result, fmt.Sprintf("contender %d", i)), "contender %d", i)
	}
	require.Equal(w, times*len(contenders), num, "the count is wrong: two holders at once")
	w.nothingLeft()
}

func exclusionInOneSession(w *world) {
	s := w.session()
	var contenders []Lock
	for range 16 {
		l, _ := w.contender(s)
		contenders = append(contenders, l)
	}
	exclusion(w, contenders)
}

func exclusionInManySessions(w *world) {
	var contenders []Lock
	for range 8 {
		l, _ := w.contender()
		contenders = append(contenders, l)
	}
	exclusion(w, contenders)
}

func reuse(w *world) {
	l, _ := w.contender()
	for i := range 3 {
		w.mustLock(l, fmt.Sprintf("the same contender, time %d", i+1))
		w.unlock(l, "it")
	}
	ok, err := l.TryLock()
	require.NoError(w, err)
	require.True(w, ok, "TryLock of a contender that has let go says false")
	w.unlock(l, "it")
	w.nothingLeft()
}

func missingParents(w *world) {
	a, _ := w.contender()
	b, _ := w.contender()
	resultA, resultB := w.lock(a), w.lock(b)
	var second <-chan error
	var first, last Lock
	select {
	case err := <-resultA:
		require.NoError(w, err)
		first, second, last = a, resultB, b
	case err := <-resultB:
		require.NoError(w, err)
		first, second, last = b, resultA, a
	case <-time.After(patience):
		w.Fatal("nobody gets the lock while its parents are missing")
	}
	w.unlock(first, "the first")
	w.holds(second, "the second")
	w.unlock(last, "the second")
	w.nothingLeft()
}

// parentsAtOnce lets two contenders find the parents missing, and make them
// at the same moment.
func parentsAtOnce(w *world) {
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
	<-held[0].Hit()
	resultB := w.lock(b)
	<-held[1].Hit()
	held[0].Release()
	w.holds(resultA, "who made the parents")
	held[1].Release()
	w.stillWaits(resultB, sb, "who found them made")
	w.unlock(a, "the first")
	w.holds(resultB, "the second")
	w.unlock(b, "it")
	w.nothingLeft()
}

func badPaths(w *world) {
	s := w.session()
	for _, p := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
		l := w.subject.New(s.Conn, p)
		require.Error(w, w.result(w.lock(l), fmt.Sprintf("Lock with the path %q", p)), "Lock with the path %q succeeds", p)
		ok, err := l.TryLock()
		require.Error(w, err, "TryLock with the path %q", p)
		require.False(w, ok)
	}
	children, _, err := s.Children("/")
	require.NoError(w, err)
	for _, child := range children {
		require.False(w, strings.HasPrefix(child, "lock-"), "a node is left behind: %s", child)
	}
}

func tryLockFree(w *world) {
	a, _ := w.contender()
	b, _ := w.contender()
	ok, err := a.TryLock()
	require.NoError(w, err)
	require.True(w, ok, "TryLock says that somebody holds a lock that is free")
	ok, err = b.TryLock()
	require.NoError(w, err)
	require.False(w, ok, "TryLock takes a lock that somebody holds: two holders")
	w.unlock(a, "who took it with TryLock")
	w.nothingLeft()
}

func tryLockHeld(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	before := w.nodes()
	other, s := w.contender()
	for range 3 {
		result := make(chan error, 1)
		var ok bool
		go func() {
			var err error
			ok, err = other.TryLock()
			result <- err
		}()
		require.NoError(w, w.result(result, "TryLock on a held lock"))
		require.False(w, ok, "TryLock takes a lock that somebody holds: two holders")
	}
	require.Equal(w, before, w.nodes(), "TryLock that said false has left a node behind: it blocks everybody after it")
	require.Zero(w, s.tap.Armed(), "TryLock that said false has left a watch behind")
	require.ErrorIs(w, other.Unlock(), w.subject.ErrNotLocked)
	w.unlock(holder, "the holder")
	ok, err := other.TryLock()
	require.NoError(w, err)
	require.True(w, ok, "TryLock says false on a lock that has been let go")
	w.unlock(other, "who took it with TryLock")
	w.nothingLeft()
}

func unlockByNonHolder(w *world) {
	holder, s := w.contender()
	stranger, _ := w.contender()
	neighbour, _ := w.contender(s) // in the holder's own session
	require.ErrorIs(w, stranger.Unlock(), w.subject.ErrNotLocked, "Unlock of a lock that nobody holds")
	w.mustLock(holder, "the holder")
	require.ErrorIs(w, stranger.Unlock(), w.subject.ErrNotLocked, "Unlock by a stranger")
	require.ErrorIs(w, neighbour.Unlock(), w.subject.ErrNotLocked, "Unlock by another contender of the holder's session")
	ok, err := stranger.TryLock()
	require.NoError(w, err)
	require.False(w, ok, "Unlock by who does not hold the lock has freed it: two holders")
	w.unlock(holder, "the holder")
	require.ErrorIs(w, holder.Unlock(), w.subject.ErrNotLocked, "the second Unlock")
	w.nothingLeft()
}

func noPermission(w *world) {
	admin := w.session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.parents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	l, _ := w.contender()
	ok, err := l.TryLock()
	require.ErrorIs(w, err, zk.ErrNoAuth, "TryLock takes \"no permission\" for \"somebody holds it\"")
	require.False(w, ok)
	err = w.result(w.lock(l), "Lock without permission")
	require.ErrorIs(w, err, zk.ErrNoAuth)
	require.ErrorIs(w, l.Unlock(), w.subject.ErrNotLocked, "Unlock after a Lock that failed")
}

func expiredWaiter(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(s, "the waiter")
	w.expire(s)
	if w.subject.Requeues {
		w.eventually("who waited has a new session", func() bool { return s.SessionID() != 0 && s.SessionID() != s.id })
		w.eventually("it queues again", func() bool { return len(w.nodes()) == 2 })
		w.stillWaits(result, s, "a waiter that has queued again")
		w.unlock(holder, "the holder")
		w.holds(result, "a waiter whose session has expired, and that has queued again,")
		w.unlock(waiter, "it")
		w.nothingLeft()
		return
	}
	err := w.result(result, "Lock of a waiter whose session has expired")
	require.Error(w, err)
	if w.srv != nil { // elsewhere its connection or its own node may go first
		require.ErrorIs(w, err, zk.ErrSessionExpired)
	}
	require.ErrorIs(w, waiter.Unlock(), w.subject.ErrNotLocked)
	require.Len(w, w.nodes(), 1, "besides the holder's there is a node of a session that has expired")
	w.unlock(holder, "the holder")
	// The client fails what is asked of it while it changes over.
	w.eventually("who waited has a new session", func() bool { return s.SessionID() != 0 && s.SessionID() != s.id })
	w.mustLock(waiter, "the waiter, in its new session")
	w.unlock(waiter, "it")
	w.nothingLeft()
}

func closedWaiter(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(s, "the waiter")
	s.Close()
	require.Error(w, w.result(result, "Lock of a waiter whose client has been closed"))
	w.unlock(holder, "the holder")
	w.nothingLeft()
}

func expiredHolder(w *world) {
	holder, s := w.contender()
	w.mustLock(holder, "the holder")
	waiter, ws := w.contender()
	result := w.lock(waiter)
	w.stillWaits(result, ws, "the waiter")
	w.expire(s)
	w.holds(result, "who waited for a holder whose session has expired")
	w.unlock(waiter, "the new holder")
	w.nothingLeft()
}

func unlockAfterExpiry(w *world) {
	holder, s := w.contender()
	w.mustLock(holder, "the holder")
	w.expire(s)
	next, _ := w.contender()
	w.mustLock(next, "the next one")
	w.eventually("the old holder's client has a new session", func() bool {
		return s.SessionID() != 0 && s.SessionID() != s.id && s.State() == zk.StateHasSession
	})
	result := make(chan error, 1)
	go func() { result <- holder.Unlock() }()
	require.ErrorIs(w, w.result(result, "Unlock after the session expired"), w.subject.ErrNotLocked)
	require.Len(w, w.nodes(), 1, "an expired holder's Unlock has deleted the new holder's node: two holders")
	third, _ := w.contender()
	ok, err := third.TryLock()
	require.NoError(w, err)
	require.False(w, ok, "an expired holder's Unlock has freed the new holder's lock: two holders")
	w.unlock(next, "the new holder")
	w.mustLock(holder, "the old holder, once more")
	w.unlock(holder, "it")
	w.nothingLeft()
}

// queue lines up n contenders, each in a session of its own: the first holds
// the lock, and each of the others waits before the next one comes.
func (w *world) queue(n int) (locks []Lock, results []<-chan error, sessions []*session) {
	for range n {
		l, s := w.contender()
		locks, sessions = append(locks, l), append(sessions, s)
	}
	// Made in advance, so that no request is spent on the parents.
	w.parents(w.session().Conn, zk.WorldACL(zk.PermAll))
	if w.subject.Queue {
		_, err := sessions[0].Create(w.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			require.NoError(w, err)
		}
	}
	for i, l := range locks {
		result := w.lock(l)
		results = append(results, result)
		if i == 0 {
			w.holds(result, "the first")
		} else {
			w.waits(sessions[i], fmt.Sprintf("contender %d", i))
		}
	}
	return locks, results, sessions
}

func queueOrder(w *world) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		if i > 0 {
			w.holds(results[i], fmt.Sprintf("contender %d, whose turn it is,", i))
		}
		for j := i + 1; j < len(locks); j++ {
			w.stillWaits(results[j], sessions[j], fmt.Sprintf("contender %d", j))
		}
		w.unlock(l, fmt.Sprintf("contender %d", i))
	}
	w.nothingLeft()
}

func waiterGoes(w *world) {
	locks, results, sessions := w.queue(3)
	sessions[1].Close()
	require.Error(w, w.result(results[1], "Lock of a waiter whose client has been closed"))
	w.stillWaits(results[2], sessions[2], "the one after the waiter that has gone")
	w.unlock(locks[0], "the holder")
	w.holds(results[2], "the one after the waiter that has gone")
	w.unlock(locks[2], "it")
	w.nothingLeft()
}

func foreignChild(w *world) {
	s := w.session()
	w.parents(s.Conn, zk.WorldACL(zk.PermAll))
	for _, p := range []string{w.path, w.path + "/0", w.path + "/config", w.path + "/0000000000"} {
		_, err := s.Create(p, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	l, _ := w.contender()
	w.mustLock(l, "a contender beside nodes that are none")
	other, os := w.contender()
	result := w.lock(other)
	w.stillWaits(result, os, "the second contender")
	w.unlock(l, "the first")
	w.holds(result, "the second contender")
	w.unlock(other, "it")
	require.Len(w, w.nodes(), 3)
}

// atEachRead lets a contender lock while somebody else holds the lock, again
// and again: first its first read is held back on its way to the server, then
// its second, until it has sent all that it sends before it waits. Which reads
// those are differs from lock to lock. Once the read is held, or the contender
// waits, f is called; it gets the lock to what the case is about.
func (w *world) atEachRead(f func(l Lock, s *session, result <-chan error, release func(), step string)) {
	for n := 1; ; n++ {
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
			require.Greater(w, n, 1, "the waiter sends no read")
			return
		}
	}
}

// meets waits until a request meets a fault, or the session's contender waits
// and no request will.
func (w *world) meets(f *zkserver.Fault, s *session, what string) (met bool) {
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

func releaseBeforeWatch(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	w.atEachRead(func(l Lock, s *session, result <-chan error, release func(), step string) {
		w.unlock(holder, "the holder")
		release()
		w.holds(result, "a waiter whose "+step+" came after the release")
		holder = l
	})
	w.unlock(holder, "the last")
	w.nothingLeft()
}

func waiterGoesBeforeWatch(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	w.waitingBehind(func(middle *session, gone <-chan error) {
		w.atEachRead(func(l Lock, s *session, result <-chan error, release func(), step string) {
			if middle != nil {
				middle.Close()
				require.Error(w, w.result(gone, "Lock of a waiter whose client has been closed"))
			}
			release()
			w.stillWaits(result, s, "a waiter whose "+step+" came after the waiter before it had gone")
			middle, gone = s, result // it is in the middle for the next one
		})
		middle.Close()
		require.Error(w, w.result(gone, "Lock of a waiter whose client has been closed"))
	})
	w.unlock(holder, "the holder")
	w.nothingLeft()
}

// waitingBehind puts one waiter behind the holder.
func (w *world) waitingBehind(f func(s *session, result <-chan error)) {
	w.Helper()
	l, s := w.contender()
	result := w.lock(l)
	w.waits(s, "the waiter")
	f(s, result)
}

func nodeGoes(w *world) {
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
			w.eventually("who has lost its node makes another", func() bool { return len(w.nodes()) == 2 })
			w.stillWaits(result, s, "a waiter whose node had gone before its "+step)
			w.unlock(holder, "the holder")
			w.holds(result, "a waiter whose node had gone, and that has queued again,")
			require.Len(w, w.nodes(), 1, "who holds the lock has no node")
			w.unlock(l, "it")
			w.mustLock(holder, "the holder, once more")
			before = w.nodes()
			return
		}
		// Who only sleeps on the holder's node learns of it at the release.
		synctest.Wait()
		if s.tap.Armed() > 0 {
			w.unlock(holder, "the holder")
			require.Error(w, w.result(result, "Lock of a waiter whose node has gone"), "a waiter whose node had gone before its %s holds the lock without one", step)
			w.mustLock(holder, "the holder, once more")
			before = w.nodes()
			return
		}
		require.Error(w, w.result(result, "Lock of a waiter whose node has gone"), "a waiter whose node had gone before its %s holds the lock without one", step)
		require.ErrorIs(w, l.Unlock(), w.subject.ErrNotLocked)
	})
	w.unlock(holder, "the holder")
	require.Empty(w, w.nodes())
}

func releaseWhileCutOff(w *world) {
	holder, _ := w.contender()
	w.mustLock(holder, "the holder")
	waiter, s := w.contender()
	result := w.lock(waiter)
	w.waits(s, "the waiter")
	back := w.srv.Hold(func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == s.id })
	require.True(w, w.srv.Cut(s.id))
	w.unlock(holder, "the holder")
	<-back.Hit()
	back.Release()
	w.holds(result, "a waiter that was cut off when the lock was let go")
	require.Equal(w, s.id, s.SessionID())
	w.unlock(waiter, "it")
	w.nothingLeft()
}

// byClient says that the client sends a request of this kind of its own
// accord: whether and when, no lock decides.
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

// A spoiler is a fault for the n-th request of a contender, and what else is
// to go wrong then.
type spoiler struct {
	what  string
	spoil func(s *session, n int) (fault, then *zkserver.Fault)
}

func (w *world) spoilers() []spoiler {
	spoilers := []spoiler{
		{"is answered with an error", func(s *session, n int) (_, _ *zkserver.Fault) {
			return w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n)), nil
		}},
		{"is lost with its connection", func(s *session, n int) (_, _ *zkserver.Fault) { return w.srv.LoseRequest(number(s, n)), nil }},
		{"is carried out, and its reply is lost with the connection", func(s *session, n int) (_, _ *zkserver.Fault) { return w.srv.LoseReply(number(s, n)), nil }},
	}
	if w.subject.Queue { // others have nothing to clean up
		spoilers = append(spoilers, spoiler{"fails, and the first try to clean up is lost with its connection", func(s *session, n int) (_, _ *zkserver.Fault) {
			cleanUp := func(r zkserver.Request) bool { return r.Session == s.id && r.Op == jute.OpDelete }
			return w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n)), w.srv.LoseRequest(cleanUp)
		}})
	}
	return spoilers
}

// errorOnTheWay spoils each request of a waiter in turn.
func errorOnTheWay(w *world) {
	for _, sp := range w.spoilers() {
		for n := 1; ; n++ {
			holder, _ := w.contender()
			w.mustLock(holder, "the holder")
			waiter, s := w.contender()
			fault, then := sp.spoil(s, n)
			result := w.lock(waiter)
			early := w.meets(fault, s, "the request is spoiled, or the waiter waits")
			free := !early || w.subject.Requeues
			if free {
				w.unlock(holder, "the holder")
			}
			err := w.result(result, fmt.Sprintf("Lock, when its request %d %s,", n, sp.what))
			if then != nil {
				then.Release()
			}
			if err == nil && early && w.subject.Requeues {
				w.unlock(waiter, "the waiter")
				w.nothingLeft()
				continue
			}
			if err == nil { // it sends no such request
				fault.Release()
				w.unlock(waiter, "the waiter")
				require.False(w, early, "request %d %s, and Lock takes no notice", n, sp.what)
				require.Greater(w, n, 2)
				break
			}
			last := lastRequest(s, n)
			w.leavesNothing(waiter, s, last, fmt.Sprintf("its request %d, %v, %s", n, last, sp.what), err)
			if !free {
				w.unlock(holder, "the holder")
			}
			w.mustLock(waiter, "the waiter, once more,")
			w.unlock(waiter, "it")
			require.Empty(w, w.nodes())
		}
	}
}

// errorInTryLock spoils each request of TryLock on a free lock in turn.
func errorInTryLock(w *world) {
	w.parents(w.session().Conn, zk.WorldACL(zk.PermAll))
	if w.subject.Queue {
		_, err := w.session().Create(w.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	for _, sp := range w.spoilers() {
		for n := 1; ; n++ {
			l, s := w.contender()
			fault, then := sp.spoil(s, n)
			ok, err := l.TryLock()
			if then != nil {
				then.Release()
			}
			if err == nil {
				fault.Release()
				require.True(w, ok)
				w.unlock(l, "it")
				if w.subject.Requeues && len(fault.Hit()) > 0 {
					w.nothingLeft()
					continue
				}
				require.Empty(w, fault.Hit(), "request %d %s, and TryLock takes no notice", n, sp.what)
				require.Greater(w, n, 1)
				break
			}
			require.False(w, ok)
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

// leavesNothing fails if a contender whose Lock has failed has left a node.
// A create whose reply was lost is another matter: its node is there until the
// session ends, and the steps say so.
func (w *world) leavesNothing(l Lock, s *session, last jute.Op, how string, err error) {
	w.Helper()
	require.NotErrorIs(w, err, w.subject.ErrNotLocked)
	require.ErrorContains(w, err, w.path, "the error does not say which lock it is about")
	require.ErrorIs(w, l.Unlock(), w.subject.ErrNotLocked, "Lock has failed: %s", how)
	mine := func() (nodes []string) {
		for _, session := range w.srv.Sessions() {
			if session.ID == s.id {
				nodes = session.Ephemerals
			}
		}
		return nodes
	}
	if last != jute.OpCreate {
		w.eventually("nothing more is sent", func() bool { return s.tap.Pending() == 0 })
		require.Empty(w, mine(), "%s, and Lock leaves its node behind: it blocks everybody after it", how)
		return
	}
	require.LessOrEqual(w, len(mine()), 1, "%s, and there are two nodes", how)
	w.srv.Expire(s.id)
	w.eventually("the client has a new session", func() bool { return s.State() == zk.StateHasSession && s.SessionID() != s.id })
}

// unlockAgain spoils each request of Unlock in turn.
func unlockAgain(w *world) {
	for n := 1; ; n++ {
		l, s := w.contender()
		w.mustLock(l, "the holder")
		before := w.nodes()
		fault := w.srv.Fail(jute.ErrRuntimeInconsistency, number(s, n))
		err := l.Unlock()
		if err == nil && w.subject.Requeues && len(fault.Hit()) > 0 {
			w.nothingLeft() // it has tried again itself
			continue
		}
		if err == nil {
			require.Empty(w, fault.Hit(), "request %d of Unlock fails, and Unlock takes no notice", n)
			require.Greater(w, n, 1)
			break
		}
		require.NotErrorIs(w, err, w.subject.ErrNotLocked, "Unlock has failed, and holds the lock still")
		require.Equal(w, before, w.nodes())
		w.unlock(l, "the holder, who tries again,")
		require.ErrorIs(w, l.Unlock(), w.subject.ErrNotLocked)
		require.Empty(w, w.nodes())
	}
}

// wakeUps measures the first release, before which somebody came last, and
// the second.
func wakeUps(w *world) {
	for n := 1; n <= 12; n += 11 {
		locks, results, sessions := w.queue(n + 1)
		type acquired struct {
			who int
			err error
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
				require.NoError(w, a.err, "Lock of contender %d fails", a.who)
				holder = a.who
			case <-time.After(patience):
				w.Fatalf("nobody is woken by a release, with %d waiting", waiting)
			}
			w.eventually("all others wait again", func() bool {
				for i, s := range sessions {
					if !done[i] && i != holder && (s.tap.Armed() == 0 || s.tap.Pending() > 0) {
						return false
					}
				}
				return true
			})
			require.EqualValues(w, w.subject.WakeUps(waiting), events(sessions, done)-before,
				"a release with %d waiting sends those who wait another number of watch events than predicted", waiting)
			done[holder] = true
		}
		w.unlock(locks[holder], "the last")
		w.nothingLeft()
		if w.subject.Queue {
			require.NoError(w, w.session().Delete(w.path, -1))
		}
	}
}

// events counts the watch events that those have been sent who are not done.
func events(sessions []*session, done map[int]bool) (n int64) {
	for i, s := range sessions {
		if !done[i] {
			n += s.tap.Counts().Events
		}
	}
	return n
}

func requestCount(w *world) {
	for _, n := range []int{1, 2, 3, 10} {
		var total int64
		locks, results, sessions := w.queue(n)
		free := make(map[int]bool) // contenders that have the lock, or had it
		for range n {
			holder := -1
			w.eventually("somebody has the lock", func() bool {
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
						require.NoError(w, err)
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
		for i, s := range sessions {
			total += s.tap.Counts().Total()
			if i == 0 && w.subject.Queue {
				total-- // the parent, made for all
			}
		}
		require.EqualValues(w, w.subject.Requests(n), total, "%d contenders send another number of requests than predicted", n)
		if w.subject.Queue {
			require.NoError(w, w.session().Delete(w.path, -1))
		}
	}
}
