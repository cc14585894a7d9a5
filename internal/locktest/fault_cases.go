package locktest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

func ExpiredWaiter(w *World) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	w.Expire(s)
	// The requests of the client fail while it changes over.
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
		return len(result) > 0 || s.Sleeps()
	}, func() string { return "Lock neither returns nor waits on a watch" + w.Why() })
	return len(result) == 0
}

// ClosedWaiter closes the client of a waiter. Later calls of the client may never
// return, so Lock need not return.
func ClosedWaiter(w *World) {
	holder, _ := w.holder()
	_, s, result := w.waiter()
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
	if len(result) > 0 {
		require.Error(w, <-result, "the client of a waiter has been closed, its session has ended, and Lock returns no error: the next contender gets in, too: two holders")
	}
}

func ExpiredHolder(w *World) {
	holder, s := w.holder()
	waiter, _, result := w.waiter()
	w.Expire(s)
	w.Holds(result, "the waiter, after the holder's session has expired,")
	w.Unlock(waiter, "the new holder")
	w.NothingLeft()
	w.UnlockErr(holder, "Unlock after the session has expired") // the lock's work in the background for this holder ends with it; the next case judges the error
}

// UnlockAfterExpiry has a holder whose session expires, and which then calls Unlock.
func UnlockAfterExpiry(w *World) {
	w.unlockOfOneThatCameWith()
	w.unlockInTheNextSession()
	holder, s := w.holder()
	w.Expire(s)
	next, _ := w.Contender()
	w.MustLock(next, "the next holder")
	w.Renewed(s, "the old holder's client has a new session")
	before := w.Nodes()
	err := w.UnlockErr(holder, "Unlock after the session has expired")
	require.Equal(w, before, w.Nodes(), "the holder's session has expired, and its Unlock has deleted another contender's node, the new holder's: two holders")
	w.IsNotLocked(err, "Unlock after the session has expired")
	third, _ := w.Contender()
	if ok, err := w.Try(third, "TryLock on a held lock"); !errors.Is(err, errors.ErrUnsupported) {
		require.NoError(w, err, "TryLock on a held lock fails")
		require.False(w, ok, "an expired holder's Unlock has freed the new holder's lock: two holders")
	}
	w.Unlock(next, "the new holder")
	w.MustLock(holder, "the old holder, once more")
	w.Unlock(holder, "it")
	w.NothingLeft()
}

// unlockOfOneThatCameWith has the next holder come in the same millisecond as the one
// whose session ends: a clock distinguishes them only if it is finer than that.
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
	holder, s := w.holder()
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

// A spoiler is a fault for the n-th request of a contender, and what else goes
// wrong then.
type spoiler struct {
	what    string
	fault   func(when func(zkserver.Request) bool) *zkserver.Fault
	loses   bool // the connection breaks, and nothing else goes wrong
	cleanUp bool // the first try to clean up is lost, too
}

// spoil spoils the n-th request of a contender. Release lets it clean up again.
func (w *World) spoil(sp spoiler, s *Session, n int) (fault *zkserver.Fault, release func()) {
	fault = sp.fault(stage.Number(s, n))
	if !sp.cleanUp {
		return fault, func() {}
	}
	return fault, w.Server.LoseRequest(stage.Sent(s, jute.OpDelete)).Release
}

// how says what went wrong with the n-th request of a contender.
func (sp spoiler) how(s *Session, n int) string {
	return fmt.Sprintf("its request %d, %v, %s", n, stage.LastRequest(s, n), sp.what)
}

// mustOutlive reports whether a lock must go on after its n-th request was spoiled.
func (w *World) mustOutlive(sp spoiler, s *Session, n int) bool {
	if w.Subject.Requeues {
		return true
	}
	create := stage.CreatesNode(stage.LastRequest(s, n))
	return sp.loses && (w.Subject.FindsNode && create || w.Subject.Retries && !create)
}

func (w *World) spoilers() []spoiler {
	fail := func(when func(zkserver.Request) bool) *zkserver.Fault {
		return w.Server.Fail(jute.ErrRuntimeInconsistency, when)
	}
	spoilers := []spoiler{
		{what: "is answered with an error", fault: fail},
		{what: "is lost with its connection", fault: w.Server.LoseRequest, loses: true},
		{what: "is carried out, and its reply is lost with the connection", fault: w.Server.LoseReply, loses: true},
	}
	if w.Subject.Queue { // a lock without a queue has nothing to clean up
		spoilers = append(spoilers, spoiler{what: "fails, and the first try to clean up is lost with its connection", fault: fail, cleanUp: true})
	}
	return spoilers
}

// ErrorOnTheWay spoils each request of a waiter in turn.
func ErrorOnTheWay(w *World) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			holder, _ := w.holder()
			waiter, s := w.Contender()
			fault, release := w.spoil(sp, s, n)
			result := w.Lock(waiter)
			early := w.Meets(fault, s, "the request is spoiled, or the waiter waits")
			// It may return an error, or try again and wait on.
			free := !early || w.goesOn(result, s)
			if free {
				w.Unlock(holder, "the holder")
			}
			err := w.Result(result, fmt.Sprintf("Lock of a waiter, when its request %d %s, and it has tried again and waits, and the holder has let go,", n, sp.what))
			how := sp.how(s, n)
			release()
			if err == nil {
				require.True(w, free, "%s, and Lock of a waiter returns no error while another contender holds the lock: two holders", how)
				met := len(fault.Hit()) > 0
				fault.Release()
				require.NotEmpty(w, w.Nodes(), "%s, and Lock has returned without a node, so that the next contender gets in: two holders", how)
				w.Unlock(waiter, "the waiter")
				w.nothingStays(how)
				if met {
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
			w.leavesNothing(waiter, s, n, how, err)
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
	w.spoilTryLock("it", func() (Lock, *Session) { return w.Contender() }, func(l Lock, s *Session, sp spoiler, n int, met bool, err error) {
		how := sp.how(s, n)
		require.False(w, met && w.mustOutlive(sp, s, n), "%s, and TryLock returns an error: %v", how, err)
		w.leavesNothing(l, s, n, how, err)
		w.MustLock(l, "it, once more,")
		w.Unlock(l, "it")
	})
}

// spoilTryLock spoils each request of TryLock on a free lock in turn, and calls fails
// with what TryLock does not outlive.
func (w *World) spoilTryLock(name string, open func() (Lock, *Session), fails func(l Lock, s *Session, sp spoiler, n int, met bool, err error)) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			l, s := open()
			fault, release := w.spoil(sp, s, n)
			ok, err := w.Try(l, fmt.Sprintf("TryLock, when its request %d %s,", n, sp.what))
			release()
			met := len(fault.Hit()) > 0
			if err != nil {
				require.False(w, ok, "TryLock returns true and an error")
				fails(l, s, sp, n, met, err)
				continue
			}
			fault.Release()
			how := sp.how(s, n)
			require.True(w, ok, "TryLock on a free lock returns false and no error, when %s", how)
			require.NotEmpty(w, w.Nodes(), "%s, and TryLock returns true without a node, so that the next contender gets in: two holders", how)
			w.Unlock(l, name)
			w.nothingStays(how)
			if !met { // else it has tried again itself
				require.Greater(w, n, 1, "TryLock takes a lock without a request")
				break
			}
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

// leavesNothing fails if a contender whose Lock has failed with request n has left a node. A
// create whose reply was lost is an exception: its node stays until the session
// ends, and the steps say so.
func (w *World) leavesNothing(l Lock, s *Session, n int, how string, err error) {
	w.Helper()
	w.mayHold(err, "Lock returns ErrNotLocked, which is Unlock's error")
	w.NotLocked(l, "Unlock after a Lock that failed ("+how+")")
	if !stage.CreatesNode(stage.LastRequest(s, n)) {
		w.WaitUntil("the node goes", func() bool { return s.Tap.Pending() == 0 && len(w.NodesOf(s)) == 0 }, func() string {
			return how + ", Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the node before you return an error"
		})
		require.ErrorContains(w, err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
		return
	}
	require.ErrorContains(w, err, w.Path, "the error does not name the lock: wrap it with the path (fmt.Errorf with %w)")
	w.WaitUntil("not more than one node is left", func() bool { return len(w.NodesOf(s)) <= 1 }, func() string { return how + ", and there are two nodes" })
	w.Server.Expire(s.SessionID())
	w.Renewed(s, "the client has a new session")
}

// UnlockAgain spoils each request of Unlock in turn. Unlock may try again itself, or
// return an error, and then it can be called again.
func UnlockAgain(w *World) {
	for _, sp := range w.spoilers()[:3] {
		for n := 1; w.GoesOn(n); n++ {
			l, s := w.holder()
			before := w.Nodes()
			fault, _ := w.spoil(sp, s, n)
			err := w.UnlockErr(l, "Unlock")
			met := len(fault.Hit()) > 0
			fault.Release()
			how := fmt.Sprintf("request %d of Unlock %s", n, sp.what)
			if err != nil {
				require.True(w, met, "Unlock fails, and nothing was wrong: %v", err)
				if slices.Equal(before, w.Nodes()) {
					w.mayHold(err, how+", the node is still there, and Unlock returns ErrNotLocked: the holder still holds the lock")
				}
				w.Eventually("the client is connected", func() bool { return s.State() == zk.StateHasSession })
				there := len(w.Nodes()) > 0
				err = w.UnlockErr(l, "Unlock, called again,")
				if there || err != nil && w.Subject.ErrNotLocked != nil && !errors.Is(err, w.Subject.ErrNotLocked) {
					require.NoError(w, err, "%s, and Unlock, called again, cannot delete the node: forget the node only once it has gone", how)
				}
			}
			w.WaitUntil("the node goes", func() bool { return len(w.Nodes()) == 0 }, func() string {
				return how + ", Unlock has returned no error, and the node stays: the caller goes on as if the lock were free"
			})
			w.NotLocked(l, "Unlock of a lock that has been let go")
			if !met {
				require.Greater(w, n, 1, "Unlock sends no request")
				break
			}
		}
	}
}
