package locktest

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/stage"
)

// An OwnersSubject is a kind of lock that has owners: many of them share one Mutex, and the owner that holds the lock
// may lock again. Subject has the cases that hold for any contender: the two suites complete each other.
type OwnersSubject struct {
	// Open makes one Mutex for the lock at path. Each call of the function that it returns makes a new
	// owner, and returns the Mutex as that owner uses it, from several goroutines at once.
	Open func(conn *zk.Conn, path string) func(name string) Lock
	// Nobody makes a Mutex that is called with nil for the owner. If it is nil, that case is skipped.
	Nobody func(conn *zk.Conn, path string) Lock
	// Other makes a Mutex for another lock, at path, as the owner of l uses it. If it is nil, that case is skipped.
	Other func(l Lock, conn *zk.Conn, path string) Lock
	// ErrNotOwner is what Unlock returns, or wraps, if the owner does not hold the lock, or does not hold it any more.
	ErrNotOwner error
	// Holds returns how many times the owner has locked and not unlocked. If it is nil, nothing is compared.
	Holds func(l Lock) int
	// Requeues, that Lock outlives its session, and Keeps, how long a node may stay after Unlock, are as in Subject.
	Requeues bool
	Keeps    time.Duration
	// Shared means that the owners of a Mutex queue in memory, with one node for all of them.
	Shared bool
	// Level says how much is asked of the lock. The zero Level is Full.
	Level Level
}

func (s OwnersSubject) Plan() Plan {
	contender := Subject{
		New:          func(conn *zk.Conn, path string) Lock { return s.Open(conn, path)("of another Mutex") },
		ErrNotLocked: s.ErrNotOwner,
		Queue:        true,
		Requeues:     s.Requeues,
		Keeps:        s.Keeps,
	}
	keep := func(c TestCase[*owners]) bool {
		if s.Shared && c.Is(queued) { // the case needs a node for each owner
			return false
		}
		return s.Level == Full || c.Is(basic)
	}
	enter := func(w *World) *owners { return &owners{w, s} }
	return NewPlan(stage.WithoutParents(ownersCases), keep, contender, enter).
		Needs(s.Open != nil, "OwnersSubject.Open is nil: it must make a Mutex")
}

var ownersCases = []TestCase[*owners]{
	row("another owner of the same Mutex waits its turn in the queue", Safety, anotherOwner, basic, queued),
	row("the node goes with the last Unlock and not before", Safety, lastUnlock, basic),
	row("TryLock by the holder counts up, by another owner it is false at once", Liveness, tryLockOwners, basic),
	row("Unlock by another owner is ErrNotOwner and frees nothing", Liveness, unlockByAnother, basic),
	row("one Unlock too many is ErrNotOwner", Liveness, unlockTooMany, basic),
	row("a second Lock by the same owner costs no request", Cost, lockAgain, basic, exact),
	row("owners with equal names are distinct", Safety, equalNames, basic),
	row("an owner of one lock does not own another one", Safety, otherMutex),
	row("no owner at all is an error, or an owner like another", Faults, nilOwner, basic),
	row("two goroutines of one owner that lock at once make one node", Liveness, lockAtOnce, exact),
	row("a Lock that fails fails no other goroutine of its owner", Faults, lockFailsForOne, exact),
	row("a Lock during the last Unlock of its owner makes a new node", Liveness, lockDuringUnlock, exact),
	row("TryLock of an owner whose Lock waits is false at once", Liveness, tryLockWhileWaiting),
	row("a Lock that fails leaves the books clean", Faults, lockFails, exact),
	row("a TryLock that fails leaves the books clean", Faults, tryLockFails, exact),
	row("the last Unlock of an owner whose session has expired fails, and the owner can lock again", Faults, expiredOwner),
	row("an owner whose Unlock has failed does not get in without a node", Faults, unlockFails, exact),
	row("one owner at a time is inside, many owners that lock twice", Safety, manyOwners),
	row("one owner at a time is inside, many goroutines of each", Safety, manyGoroutines),
}

type owners struct {
	*World
	subject OwnersSubject
}

// mutex makes one Mutex in a session of its own. open makes a new owner of it.
func (w *owners) mutex() (open func(name string) Lock, s *Session) {
	s = w.Session()
	return w.subject.Open(s.Conn, w.Path), s
}

// holdsTimes fails unless an owner holds the lock n times, where the subject can tell.
func (w *owners) holdsTimes(n int, l Lock, when i18n.Text) {
	if w.subject.Holds != nil {
		w.Equal(n, w.subject.Holds(l), "Holds is wrong, %s", when)
	}
}

func (w *owners) tryLockGets(l Lock, name i18n.Text) {
	w.True(w.tryLockReturns(l, name), "TryLock of %s returns false, and no other owner holds the lock", name)
}

func (w *owners) tryLockIsRefused(l Lock, name i18n.Text) {
	w.False(w.tryLockReturns(l, name), "TryLock of %s returns true, and it does not get the lock: two holders", name)
}

// tryLockReturns calls TryLock, which must return at once, and without an error.
func (w *owners) tryLockReturns(l Lock, name i18n.Text) bool {
	ok, err := w.TryLock(l, i18n.Textf("TryLock of %s", name))
	w.NoError(err, "TryLock of %s fails", name)
	return ok
}

func (w *owners) unlockIsRefused(l Lock, name i18n.Text) {
	err := w.UnlockErr(l, i18n.Textf("Unlock by %s", name))
	w.HasError(err, "Unlock by %s returns no error, though it does not hold the lock: return ErrNotOwner", name)
	if w.subject.ErrNotOwner != nil {
		w.ErrorIs(err, w.subject.ErrNotOwner, "Unlock by %s returns another error than ErrNotOwner", name)
	}
}

// waitsAtPlace calls Lock in a goroutine of its own. It returns once the caller waits and the queue has so many nodes
// that the caller's is at this place: the holder's is at place 1. If owners share a node, there may be one fewer.
func (w *owners) waitsAtPlace(place int, l Lock, s *Session, name i18n.Text) <-chan error {
	result := w.BeginLock(l)
	look := w.Session()
	w.Eventually(i18n.Textf("%s is in the queue", name), func() bool {
		if len(result) > 0 {
			w.NoError(<-result, "%s must wait its turn in the queue, and Lock fails at once", name)
			w.Failf("%s has got the lock while another owner holds it: two holders", name)
		}
		nodes, _, err := look.Children(w.Path)
		require.NoError(w, err)
		return len(nodes) == place || w.subject.Shared && len(nodes) == place-1
	})
	w.Waits(result, s, name)
	return result
}

// A doubleLock locks and unlocks two times in place of once.
type doubleLock struct{ once Lock }

func (l doubleLock) Lock() error            { return errors.Join(l.once.Lock(), l.once.Lock()) }
func (l doubleLock) TryLock() (bool, error) { return l.once.TryLock() }
func (l doubleLock) Unlock() error          { return errors.Join(l.once.Unlock(), l.once.Unlock()) }

// makeQueue makes the parent of the queue, so that the next create is that of a contender's node.
func (w *owners) makeQueue(l Lock) {
	w.lockOnce(l, "a first owner")
	time.Sleep(w.Keeps) // until its node has gone
}

// spoiledOwner is for spoilEach, in fault_cases.go, which has each request of a call go wrong in turn. The caller is an
// owner of a new Mutex each time. When its call has failed, another owner of that Mutex locks.
func (w *owners) spoiledOwner() spoiledContender {
	var open func(name string) Lock // makes an owner of the latest Mutex
	return spoiledContender{
		name: "the owner",
		open: func() (_ Lock, s *Session) {
			open, s = w.mutex()
			return open("owner"), s
		},
		failed: func(call failedCall) { w.cleanBooks(call, open("another")) },
	}
}

// cleanBooks fails if an owner whose call has failed is taken for the holder, or for anything
// else than a new owner. another is an owner of the same Mutex.
func (w *owners) cleanBooks(call failedCall, another Lock) {
	owner, s, how := call.contender, call.session, call.how
	w.holdsTimes(0, owner, i18n.Textf("after a Lock that failed: %s", how))
	w.Eventually("the owner's client is connected", func() bool { return s.State() == zk.StateHasSession })

	if ok, _ := w.TryLock(owner, "TryLock of an owner whose Lock has failed"); ok {
		w.True(len(w.NodesOf(s)) > 0, "the owner's Lock has failed (%s), and it is in the books: it locks again without "+
			"a node, so that the next contender gets in: two holders", how)
		w.MustUnlock(owner, it)
	}
	w.failedCleanly(call) // it has left no node

	result := w.BeginLock(another)
	call.unlockHolder()
	w.Holds(result, i18n.Textf("another owner, after one has failed to lock (%s),", how))
	w.tryLockIsRefused(owner, i18n.Textf("an owner whose Lock has failed (%s) while another one holds the lock", how))
	w.unlockIsRefused(owner, i18n.Textf("an owner whose Lock has failed (%s)", how))
	w.MustUnlock(another, "the other owner")
	w.MustLock(owner, i18n.Textf("the owner whose Lock has failed (%s), once more,", how))
	w.holdsTimes(1, owner, "after a Lock that failed and one that did not")
	w.MustUnlock(owner, it)
	w.NoNodes("every owner has let go, and a node is left")
}
