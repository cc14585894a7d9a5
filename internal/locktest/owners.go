package locktest

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/jute"
)

// An OwnersSubject is a kind of lock that knows owners: many of them share
// one Mutex, and the owner that holds the lock may lock again.
type OwnersSubject struct {
	// Open makes one Mutex for the lock at path. Each call of what it returns
	// makes another owner, and is the Mutex as this owner sees it. Such a Lock
	// is used by several goroutines at once.
	Open func(conn *zk.Conn, path string) func(name string) Lock
	// Nobody makes a Mutex as a caller sees it that gives nil for the owner. If
	// it is nil that case is skipped.
	Nobody func(conn *zk.Conn, path string) Lock
	// ErrNotOwner is what Unlock returns, or wraps, if the owner does not hold
	// the lock, or does not hold it any more.
	ErrNotOwner error
	// Holds, where there is such a thing, is how many times the owner has
	// locked and not unlocked.
	Holds func(l Lock) int
	// Requeues is as in Subject.
	Requeues bool
	// Shared says that the owners of a Mutex queue in memory, with one node for
	// all of them.
	Shared bool
}

// RunOwners runs every case about owners as a subtest, in a process of its own
// as Run does. Run has the cases that hold for any contender: the two suites
// complete each other.
func RunOwners(t *testing.T, s OwnersSubject) {
	t.Helper()
	g, names := s.grader(t)
	g.doAll(names)
}

func (s OwnersSubject) grader(t *testing.T) (*grader, []string) {
	t.Helper()
	if s.Open == nil {
		t.Fatal("locktest: OwnersSubject.Open is nil: it must make a Mutex")
	}
	contender := Subject{
		New:          func(conn *zk.Conn, path string) Lock { return s.Open(conn, path)("of another Mutex") },
		ErrNotLocked: s.ErrNotOwner,
		Queue:        true,
		Requeues:     s.Requeues,
	}
	byName := make(map[string]ownersCase)
	for _, c := range ownersCases {
		byName[c.name] = c
	}
	return grade(t, func(t *testing.T, r request) []jute.Op {
		c := byName[r.Case]
		inWorld(t, contender, c.exact, func(w *world) { c.run(&owners{w, s}) })
		return nil
	}), s.names()
}

func (s OwnersSubject) names() (names []string) {
	for _, c := range ownersCases {
		if s.Shared && c.nodes {
			continue
		}
		names = append(names, c.name)
	}
	return names
}

type ownersCase struct {
	name  string
	run   func(w *owners)
	exact bool // needs the embedded server's control
	nodes bool // each owner has a node
}

var ownersCases = []ownersCase{
	{name: "another owner of the same Mutex waits its turn in the queue", run: anotherOwner, nodes: true},
	{name: "the node goes with the last Unlock and not before", run: lastUnlock},
	{name: "TryLock by the holder counts up, by another owner it is false at once", run: tryLockOwners},
	{name: "Unlock by another owner is ErrNotOwner and frees nothing", run: unlockByAnother},
	{name: "one Unlock too many is ErrNotOwner", run: unlockTooMany},
	{name: "a second Lock by the same owner costs no request", run: lockAgain},
	{name: "owners with equal names are distinct", run: equalNames},
	{name: "no owner at all is an error at once", run: nilOwner},
	{name: "two goroutines of one owner that lock at once make one node", run: lockAtOnce, exact: true},
	{name: "a Lock that fails fails no other goroutine of its owner", run: lockFailsForOne, exact: true},
	{name: "a Lock during the last Unlock of its owner makes a new node", run: lockDuringUnlock, exact: true},
	{name: "TryLock of an owner whose Lock waits is false at once", run: tryLockWhileWaiting},
	{name: "a Lock that fails leaves the books clean", run: lockFails, exact: true},
	{name: "a TryLock that fails leaves the books clean", run: tryLockFails, exact: true},
	{name: "an owner whose session has expired learns it by its last Unlock and can lock again", run: expiredOwner},
	{name: "an owner whose Unlock has failed does not get in without a node", run: unlockFails, exact: true},
	{name: "one owner at a time is inside, many owners that lock twice", run: manyOwners},
	{name: "one owner at a time is inside, many goroutines of each", run: manyGoroutines},
}
