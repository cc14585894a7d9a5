package suites

import (
	"fmt"
	"slices"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A Semaphore is one contender for one of several places, used by one goroutine
// at a time.
type Semaphore interface {
	Acquire() error
	TryAcquire() (bool, error)
	Release() error
}

// A SemaphoreSubject is a fair queue in which as many contenders are inside at a
// time as there are permits. With one permit a semaphore is a lock, for which
// locktest.Subject has the cases: the two suites complete each other.
type SemaphoreSubject struct {
	// New makes a contender for the semaphore at path, the parent of its node.
	New func(conn *zk.Conn, path string, permits int) Semaphore
	// ErrNotAcquired is what Release returns, or wraps, if the contender is not
	// inside.
	ErrNotAcquired error
	// WakeUps is how many watch events a release may send to the contenders that
	// wait, each in a session of its own. If it is nil they are not counted.
	WakeUps func(permits int) int
	// Requests is how many requests n contenders may send in all, each in a
	// session of its own, that arrive one by one before the first release, and
	// then each go out in the order in which they came. If it is nil they are not
	// counted.
	Requests func(permits, n int) int
	// Level says how much is asked of the semaphore. The zero Level is Full.
	Level locktest.Level
}

// Plan has the cases of a semaphore with several permits.
func (s SemaphoreSubject) Plan() locktest.Plan {
	return locktest.NewPlan(semaphoreCases, stage.Of[*semaphoreWorld](s.Level), locktest.Subject{ErrNotLocked: s.ErrNotAcquired, Queue: true},
		func(w *locktest.World) *semaphoreWorld { return &semaphoreWorld{World: w, subject: s} }).
		Needs(s.New != nil, "SemaphoreSubject.New is nil: it must make a contender")
}

// with runs a case with a semaphore that has this number of permits.
func with(permits int, run func(w *semaphoreWorld)) func(w *semaphoreWorld) {
	return func(w *semaphoreWorld) {
		w.permits = permits
		w.World.Subject.New = func(conn *zk.Conn, path string) locktest.Lock {
			return semaphoreLock{w.subject.New(conn, path, permits)}
		}
		run(w)
	}
}

type semaphoreLock struct{ Semaphore }

func (s semaphoreLock) Lock() error            { return s.Acquire() }
func (s semaphoreLock) TryLock() (bool, error) { return s.TryAcquire() }
func (s semaphoreLock) Unlock() error          { return s.Release() }

var semaphoreCases = []locktest.TestCase[*semaphoreWorld]{
	{Name: "as many as there are permits get in without waiting, and one more waits", Group: locktest.Liveness, Run: with(3, asManyAsPermits), Basic: true},
	{Name: "as many as there are permits get in, also if there are many", Group: locktest.Liveness, Run: manyPermits, Basic: true},
	{Name: "whichever of those inside goes, the first waiter gets in", Group: locktest.Liveness, Run: with(3, whicheverGoes), Basic: true},
	{Name: "TryAcquire takes a free place, and says false at once when there is none", Group: locktest.Liveness, Run: with(2, tryAcquire), Basic: true},
	{Name: "a release between looking and watching is not missed, whichever of those inside goes", Group: locktest.Liveness, Run: with(2, releaseBeforePlaceWatch), Exact: true},
	{Name: "a release wakes no more waiters than predicted", Group: locktest.Cost, Run: with(3, placeWakeUps), Exact: true},
	{Name: "the requests are no more than predicted", Group: locktest.Cost, Run: with(3, placeRequests), Exact: true},
	{Name: "no goroutine is left when every contender has gone out", Group: locktest.Cost, Run: with(3, placeGoroutines), Exact: true},
	{Name: "less than one permit is an error at once", Group: locktest.Faults, Run: with(0, noPermits)},
}

type semaphoreWorld struct {
	*locktest.World
	subject SemaphoreSubject
	permits int
}

// fill has contenders arrive one by one until waiting of them wait.
func (w *semaphoreWorld) fill(waiting int) (all []locktest.Lock, results []<-chan error, sessions []*locktest.Session) {
	w.Helper()
	for i := range w.permits + waiting {
		l, s := w.Contender()
		result := w.Lock(l)
		if i < w.permits {
			w.goesIn(result, fmt.Sprintf("contender %d", i+1), fmt.Sprintf("there are %d permits, and a place is free", w.permits))
		} else {
			w.staysOut(result, s, fmt.Sprintf("contender %d, with %d permits,", i+1, w.permits))
		}
		all, results, sessions = append(all, l), append(results, result), append(sessions, s)
	}
	return all, results, sessions
}

const whichever = "a waiter may get in when any of the nodes before it goes, not only the one just before it or the first: think which ones it must watch"

// getsIn waits until a waiter whose turn it is is inside.
func (w *semaphoreWorld) getsIn(result <-chan error, name string) {
	w.Helper()
	w.goesIn(result, name, whichever)
}

// goesIn waits until a contender is inside. Advice is for one that waits.
func (w *semaphoreWorld) goesIn(result <-chan error, name, advice string) {
	w.Helper()
	w.WaitUntil(name+" gets in", func() bool { return len(result) > 0 }, func() string {
		return fmt.Sprintf("%s must get in, and waits, though fewer than %d contenders are before it: %s%s", name, w.permits, advice, w.Why())
	})
	require.NoError(w, <-result, "%s: Acquire fails", name)
}

// staysOut fails if a contender is inside, or does not sleep on a watch.
func (w *semaphoreWorld) staysOut(result <-chan error, s *locktest.Session, name string) {
	w.Helper()
	before := s.Tap.Counts().Total()
	w.WaitUntil(name+" waits on a watch", func() bool {
		if len(result) > 0 {
			require.NoError(w, <-result, "%s must wait, and Acquire fails", name)
			w.Fatalf("%s must wait, and has got in: there is one too many inside", name)
		}
		return s.Sleeps()
	}, func() string {
		if n := s.Tap.Counts().Total() - before; n > 5 {
			return fmt.Sprintf("%s polls: it has sent %d requests in %v while it had to wait, and has set no watch; set a watch and sleep until its event comes", name, n, stage.Patience)
		}
		return fmt.Sprintf("%s waits without a watch: no event will report a release%s", name, w.Why())
	})
}

func (w *semaphoreWorld) release(l locktest.Lock, name string) {
	w.Helper()
	require.NoError(w, w.Result(w.Aside("Release", l.Unlock), "Release of "+name), "Release of %s fails", name)
}

func (w *semaphoreWorld) empty(all []locktest.Lock) {
	w.Helper()
	for _, l := range all {
		w.release(l, "a contender that is inside")
	}
	w.NothingLeft()
}

func asManyAsPermits(w *semaphoreWorld) {
	all, results, _ := w.fill(1)
	require.Len(w, w.Nodes(), w.permits+1, "each contender has one node")
	admin := w.Session()
	for _, node := range w.Nodes() {
		_, stat, err := admin.Get(w.Path + "/" + node)
		require.NoError(w, err)
		require.NotZero(w, stat.EphemeralOwner, "the node %s is not ephemeral: if its contender dies, the place is lost; create it with zk.FlagEphemeralSequential", node)
	}
	w.release(all[0], "the first")
	w.getsIn(results[w.permits], "the waiter, after a release,")
	w.empty(all[1:])
}

// manyPermits tries numbers that an author may not have drawn.
func manyPermits(w *semaphoreWorld) {
	for _, permits := range []int{4, 5, 10, 11, 33} {
		with(permits, func(w *semaphoreWorld) {
			all, results, sessions := w.fill(2)
			w.release(all[permits/2], "one that is inside")
			w.getsIn(results[permits], fmt.Sprintf("with %d permits, the first waiter, after a release,", permits))
			w.staysOut(results[permits+1], sessions[permits+1], fmt.Sprintf("with %d permits, the second waiter, after one release,", permits))
			w.release(all[0], "one that is inside")
			w.getsIn(results[permits+1], fmt.Sprintf("with %d permits, the second waiter, after two releases,", permits))
			w.empty(slices.Concat(all[1:permits/2], all[permits/2+1:]))
		})(w)
	}
}

func whicheverGoes(w *semaphoreWorld) {
	for first := range w.permits {
		for second := range w.permits {
			all, results, sessions := w.fill(2)
			w.release(all[first], "one that is inside")
			w.getsIn(results[w.permits], fmt.Sprintf("contender %d of the %d inside has gone: the first waiter", first+1, w.permits))
			w.staysOut(results[w.permits+1], sessions[w.permits+1], "the second waiter")
			// The second waiter has moved up, and others are before it now.
			inside := slices.Concat(all[:first], all[first+1:w.permits+1])
			w.release(inside[second], "one that is inside")
			w.getsIn(results[w.permits+1], fmt.Sprintf("contender %d of those inside has gone, then contender %d of those that were inside after that: the second waiter", first+1, second+1))
			w.empty(slices.Concat(inside[:second], inside[second+1:], all[w.permits+1:]))
		}
	}
}

func tryAcquire(w *semaphoreWorld) {
	var inside []locktest.Lock
	for i := range w.permits {
		l, _ := w.Contender()
		ok, err := w.Try(l, "TryAcquire with a free place")
		require.NoError(w, err, "TryAcquire with a free place fails")
		require.True(w, ok, "TryAcquire returns false, and only %d of %d places are taken", i, w.permits)
		inside = append(inside, l)
	}
	l, _ := w.Contender()
	for range 3 {
		ok, err := w.Try(l, "TryAcquire without a free place")
		require.NoError(w, err, "TryAcquire without a free place fails: false says that there is none")
		require.False(w, ok, "TryAcquire goes inside, and all places are taken: there is one too many inside")
	}
	require.Len(w, w.Nodes(), w.permits, "TryAcquire has returned false and has left a node behind: it takes a place from every contender that comes later")
	w.release(inside[0], "one that is inside")
	ok, err := w.Try(l, "TryAcquire after a release")
	require.NoError(w, err, "TryAcquire after a release fails")
	require.True(w, ok, "TryAcquire returns false after a release")
	w.empty(append(inside[1:], l))
}

// releaseBeforePlaceWatch holds back each request of a waiter in turn, and
// meanwhile one of those inside goes.
func releaseBeforePlaceWatch(w *semaphoreWorld) {
	for first := range w.permits {
		for n := 2; w.GoesOn(n); n++ { // 1 is the create
			all, _, _ := w.fill(0)
			l, s := w.Contender()
			held := w.Server.Hold(stage.Number(s, n))
			result := w.Lock(l)
			met := w.Meets(held, s, "the request is held back, or the waiter waits")
			op := stage.LastRequest(s, n)
			w.release(all[first], "one that is inside")
			synctest.Wait() // its event has arrived
			held.Release()
			w.goesIn(result, fmt.Sprintf("contender %d of those inside has gone while request %d of a waiter, %v, was on its way: the waiter", first+1, n, op),
				"between looking and watching a node can go; use one request that looks and sets the watch (GetW), look again if it finds no node, and keep an event that comes while you set the next watch")
			w.empty(append(slices.Delete(all, first, first+1), l))
			if !met {
				require.Greater(w, n, 2, "the waiter sends nothing but its create before it waits")
				break
			}
		}
	}
}

func placeWakeUps(w *semaphoreWorld) {
	if w.subject.WakeUps == nil {
		w.Skip("SemaphoreSubject.WakeUps is nil: there is no prediction of the watch events to compare with")
	}
	const waiting = 9
	all, results, sessions := w.fill(waiting)
	done := make(map[int]bool)
	for i := range w.permits {
		done[i] = true
	}
	inside := []int{0, 1, 2}
	for i := range waiting {
		before := locktest.Events(sessions, done)
		last := len(inside) - 1 // the one that came last wakes most
		w.release(all[inside[last]], "one that is inside")
		w.getsIn(results[w.permits+i], "the waiter whose turn it is")
		for j := w.permits + i + 1; j < len(all); j++ {
			w.staysOut(results[j], sessions[j], fmt.Sprintf("contender %d", j+1))
		}
		if sent, most := int(locktest.Events(sessions, done)-before), w.subject.WakeUps(w.permits); sent > most {
			w.Fatalf("a release with %d waiting and %d permits sent %d watch events, and %d at most were predicted (the herd effect): a waiter far back in the queue cannot get in, so it need not wake", waiting-i, w.permits, sent, most)
		}
		inside[last] = w.permits + i
		done[w.permits+i] = true
	}
	for _, i := range inside {
		w.release(all[i], "one that is inside")
	}
	w.NothingLeft()
}

func placeRequests(w *semaphoreWorld) {
	if w.subject.Requests == nil {
		w.Skip("SemaphoreSubject.Requests is nil: there is no prediction of the requests to compare with")
	}
	for _, waiting := range []int{0, 1, 2, 7} {
		all, results, sessions := w.fill(waiting)
		for i, l := range all {
			w.release(l, "one that is inside")
			if next := w.permits + i; next < len(all) {
				w.getsIn(results[next], "the waiter whose turn it is")
				for j := next + 1; j < len(all); j++ {
					w.staysOut(results[j], sessions[j], fmt.Sprintf("contender %d", j+1))
				}
			}
		}
		requests := stage.RequestsOf(sessions...)
		if most := w.subject.Requests(w.permits, len(all)); len(requests) > most {
			w.Fatalf("%d contenders for %d places that arrive one by one send %d requests in all, and %d at most were predicted (%s)", len(all), w.permits, len(requests), most, locktest.ByKind(requests))
		}
	}
	w.NothingLeft()
}

func placeGoroutines(w *semaphoreWorld) {
	whicheverGoes(w)
	w.NoGoroutines()
}

func noPermits(w *semaphoreWorld) {
	s := w.Session()
	for _, permits := range []int{0, -1} {
		l := semaphoreLock{w.subject.New(s.Conn, w.Path, permits)}
		require.Error(w, w.Result(w.Lock(l), fmt.Sprintf("Acquire with %d permits", permits)), "Acquire with %d permits returns no error", permits)
		ok, err := w.Try(l, fmt.Sprintf("TryAcquire with %d permits", permits))
		require.Error(w, err, "TryAcquire with %d permits returns no error", permits)
		require.False(w, ok, "TryAcquire with %d permits returns true", permits)
	}
	w.NoNodes("with less than one permit, Acquire has left a node behind")
}
