package locktest

import (
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
	// Other makes a Mutex for another lock, at path, and returns it as the owner of l uses it. If it is nil,
	// that case is skipped.
	Other func(l Lock, conn *zk.Conn, path string) Lock
	// ErrNotOwner is what Unlock returns, or wraps, if the owner does not hold the lock, or does not hold it any more.
	ErrNotOwner error
	// Holds returns how many times the owner has locked and not unlocked. If it is nil, nothing is compared.
	Holds func(l Lock) int
	// Requeues and Keeps are as in Subject.
	Requeues bool
	Keeps    time.Duration
	// Shared means that the owners of a Mutex queue in memory, with one node for all of them.
	Shared bool
	// Level says how much is asked of the lock. The zero Level is Full.
	Level Level
}

// Plan has the cases about owners.
func (s OwnersSubject) Plan() Plan {
	contender := Subject{
		New:          func(conn *zk.Conn, path string) Lock { return s.Open(conn, path)("of another Mutex") },
		ErrNotLocked: s.ErrNotOwner,
		Queue:        true,
		Requeues:     s.Requeues,
		Keeps:        s.Keeps,
	}
	keep := func(c TestCase[*owners]) bool {
		hasNodes := !c.Is(queued) || !s.Shared // a queued case needs a node for each owner
		return hasNodes && (s.Level == Full || c.Is(basic))
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

// owners is the world of one case about owners.
type owners struct {
	*World
	subject OwnersSubject
}

// mutex makes one Mutex in a session of its own. open makes a new owner of it.
func (w *owners) mutex() (open func(name string) Lock, s *Session) {
	s = w.Session()
	return w.subject.Open(s.Conn, w.Path), s
}

// times fails unless an owner holds the lock n times, where the subject can tell.
func (w *owners) times(n int, l Lock, when i18n.Text) {
	if w.subject.Holds != nil {
		w.Equal(n, w.subject.Holds(l), "Holds is wrong, %s", when)
	}
}

// tryLock fails unless TryLock returns at once, and returns want.
func (w *owners) tryLock(want bool, l Lock, name i18n.Text) {
	ok, err := w.Try(l, i18n.Textf("TryLock of %s", name))
	w.NoError(err, "TryLock of %s fails", name)
	if want {
		w.True(ok, "TryLock of %s returns false, and no other owner holds the lock", name)
	} else {
		w.False(ok, "TryLock of %s returns true, and it does not get the lock: two holders", name)
	}
}

// notOwner fails if Unlock is anything but ErrNotOwner.
func (w *owners) notOwner(l Lock, name i18n.Text) {
	err := w.UnlockErr(l, i18n.Textf("Unlock by %s", name))
	w.HasError(err, "Unlock by %s returns no error, though it does not hold the lock: return ErrNotOwner", name)
	if w.subject.ErrNotOwner != nil {
		w.ErrorIs(err, w.subject.ErrNotOwner, "Unlock by %s returns another error than ErrNotOwner", name)
	}
}

// queues calls Lock in a goroutine of its own, and waits until the queue has n nodes and the caller waits. If
// owners share a node, there may be one fewer.
func (w *owners) queues(l Lock, s *Session, n int, name i18n.Text) <-chan error {
	result := w.Lock(l)
	look := w.Session()
	w.Eventually(i18n.Textf("%s is in the queue", name), func() bool {
		if len(result) > 0 {
			w.NoError(<-result, "%s must wait its turn in the queue, and Lock fails at once", name)
			w.Failf("%s has got the lock while another owner holds it: two holders", name)
		}
		nodes, _, err := look.Children(w.Path)
		require.NoError(w, err)
		return len(nodes) == n || w.subject.Shared && len(nodes) == n-1
	})
	w.Waits(result, s, name)
	return result
}
