package locktest

import (
	"fmt"
	"sync"
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
	var wg sync.WaitGroup
	for i, l := range contenders {
		wg.Go(func() {
			for range times {
				if err := l.Lock(); err != nil {
					w.Errorf("Lock of contender %d fails: %v", i, err)
					return
				}
				leave, alone := w.inside()
				if !alone {
					w.Errorf("contender %d has got the lock while somebody else holds it: two holders", i)
				}
				num++
				// Time for others to come in, if the lock lets them. In virtual
				// time it ends when all others have got as far as they can.
				time.Sleep(time.Millisecond)
				leave()
				if err := l.Unlock(); err != nil {
					w.Errorf("Unlock of contender %d fails: %v", i, err)
					return
				}
			}
		})
	}
	done := make(chan error, 1)
	go func() { wg.Wait(); done <- nil }()
	w.result(done, "one of the contenders")
	if !w.Failed() {
		require.Equal(w, times*len(contenders), num, "the count is wrong: two holders at once")
	}
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
	// Two at once: each finds the parents missing, and one of them made by
	// the other.
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
	require.NotContains(w, fmt.Sprint(children), "lock-", "a node is left behind")
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
	require.ErrorIs(w, w.result(result, "Lock of a waiter whose session has expired"), zk.ErrSessionExpired)
	require.ErrorIs(w, waiter.Unlock(), w.subject.ErrNotLocked)
	require.Len(w, w.nodes(), 1, "besides the holder's there is a node of a session that has expired")
	w.unlock(holder, "the holder")
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
		require.NoError(w, err)
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
	w.expire(sessions[1])
	require.Error(w, w.result(results[1], "Lock of a waiter whose session has expired"))
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

// watching says that a request of a session sets the watch that a waiter
// sleeps on, as far as its kind tells.
func watching(s *session) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == s.id && (r.Op == jute.OpGetData || r.Op == jute.OpExists || r.Op == jute.OpGetChildren2)
	}
}

func releaseBeforeWatch(w *world) {
	// Which requests a waiter sends before it sleeps differs from lock to
	// lock: hold back each of the reads in turn, and release meanwhile.
	for skip := 0; ; skip++ {
		holder, _ := w.contender()
		w.mustLock(holder, "the holder")
		waiter, s := w.contender()
		reads := 0
		read := watching(s)
		held := w.srv.Hold(func(r zkserver.Request) bool {
			if !read(r) {
				return false
			}
			reads++
			return reads == skip+1
		})
		result := w.lock(waiter)
		met := false
		w.eventually("the waiter's read is held back, or it waits", func() bool {
			select {
			case <-held.Hit():
				met = true
			default:
			}
			return met || s.tap.Armed() > 0 && s.tap.Pending() == 0
		})
		w.unlock(holder, "the holder")
		held.Release()
		w.holds(result, fmt.Sprintf("a waiter whose read number %d came after the release", skip+1))
		w.unlock(waiter, "it")
		if !met {
			require.NotZero(w, skip, "the waiter sends no read")
			break
		}
	}
	w.nothingLeft()
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

func errorOnTheWay(w *world) {
	// What a waiter sends, from a run without faults.
	locks, results, sessions := w.queue(2)
	w.unlock(locks[0], "the holder")
	w.holds(results[1], "the waiter")
	sent := requestsOf(sessions[1])
	w.unlock(locks[1], "it")
	var ops []wiretap.Entry
	for _, e := range sent {
		if e.Op != jute.OpConnect {
			ops = append(ops, e)
		}
	}
	require.NotEmpty(w, ops)

	for i, failing := range ops {
		step := fmt.Sprintf("request %d of the waiter, %v,", i+1, failing.Op)
		holder, _ := w.contender()
		w.mustLock(holder, "the holder")
		waiter, s := w.contender()
		count := 0
		fault := w.srv.Fail(jute.ErrRuntimeInconsistency, func(r zkserver.Request) bool {
			if r.Session != s.id || r.Op == jute.OpPing || r.Op == jute.OpConnect {
				return false
			}
			count++
			return count == i+1
		})
		result := w.lock(waiter)
		met := false
		w.eventually(step+" is sent, or the waiter waits", func() bool {
			select {
			case <-fault.Hit():
				met = true
			default:
			}
			return met || s.tap.Armed() > 0 && s.tap.Pending() == 0
		})
		if met {
			require.Error(w, w.result(result, "Lock after an error"), "%s fails, and Lock takes no notice", step)
			require.Len(w, w.nodes(), 1, "%s fails, and Lock leaves its node behind: it blocks everybody after it", step)
			w.unlock(holder, "the holder")
		} else {
			w.unlock(holder, "the holder")
			require.Error(w, w.result(result, "Lock after an error"), "%s fails, and Lock takes no notice", step)
		}
		require.Empty(w, w.nodes(), "%s fails, and Lock leaves its node behind: it blocks everybody after it", step)
		require.ErrorIs(w, waiter.Unlock(), w.subject.ErrNotLocked)
		w.mustLock(waiter, "the waiter, once more,")
		w.unlock(waiter, "it")
	}
}

func wakeUps(w *world) {
	for n := 1; n <= 12; n += 11 {
		locks, results, sessions := w.queue(n + 1)
		before := events(sessions)
		w.unlock(locks[0], "the holder")
		got := make(chan int, n)
		for i, result := range results[1:] {
			go func() {
				if <-result == nil {
					got <- i + 1
				}
			}()
		}
		next := <-got
		w.eventually("all others wait again", func() bool {
			for i, s := range sessions {
				if i != 0 && i != next && (s.tap.Armed() == 0 || s.tap.Pending() > 0) {
					return false
				}
			}
			return true
		})
		require.EqualValues(w, w.subject.WakeUps(n), events(sessions)-before,
			"a release with %d waiting sends another number of watch events than predicted", n)
		for range n - 1 {
			w.unlock(locks[next], fmt.Sprintf("contender %d", next))
			next = <-got
		}
		w.unlock(locks[next], "the last")
		w.nothingLeft()
		if w.subject.Queue {
			require.NoError(w, w.session().Delete(w.path, -1))
		}
	}
}

func events(sessions []*session) (n int64) {
	for _, s := range sessions {
		n += s.tap.Counts().Events
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
