// Package locktest is what every lock of this project must do, as one suite.
// Each case is a sentence; a lock that breaks it fails under that name.
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, locktest.Subject{
//			New:          func(conn *zk.Conn, path string) locktest.Lock { return New(conn, path) },
//			ErrNotLocked: ErrNotLocked,
//			…
//		})
//	}
//
// The environment variable ZK says which ZooKeeper the suite runs against,
// as in package ensemble. On the embedded one, the default, each case has a
// server of its own and runs in virtual time: seconds of waiting cost
// nothing, and "nobody comes in" is a fact, not a hope. Cases that need exact
// control of the server are skipped elsewhere, and say so.
package locktest

import (
	"testing"

	"github.com/go-zookeeper/zk"
)

// A Lock is one contender, used by one goroutine at a time.
type Lock interface {
	Lock() error
	TryLock() (bool, error)
	Unlock() error
}

// A Subject is the kind of lock that is put to the test.
type Subject struct {
	// New makes a contender for the lock at path.
	New func(conn *zk.Conn, path string) Lock
	// ErrNotLocked is what Unlock returns, or wraps, if the lock is not held.
	ErrNotLocked error
	// Queue says that contenders are let in in the order in which they came.
	Queue bool
	// Requeues says that Lock outlives what ends a connection or a session: it
	// tries again, and queues again if it must, and so do TryLock and Unlock.
	// Otherwise they return an error.
	Requeues bool
	// WakeUps predicts how many watch events a release sends to those who wait,
	// each in a session of its own.
	WakeUps func(waiting int) int
	// Requests predicts how many requests n contenders send in all, each in a
	// session of its own, that arrive one by one while the first holds the
	// lock, and then each let go of it in turn.
	Requests func(n int) int
}

// Run runs every case as a subtest.
func Run(t *testing.T, s Subject) {
	for _, c := range cases {
		if c.queueOnly && !s.Queue {
			continue
		}
		t.Run(c.name, func(t *testing.T) { inWorld(t, s, c.exact, c.run) })
	}
}

type testCase struct {
	name      string
	run       func(w *world)
	exact     bool // needs the embedded server's control
	queueOnly bool
}

var cases = []testCase{
	{name: "one at a time holds it, contenders of one session", run: exclusionInOneSession},
	{name: "one at a time holds it, each contender in a session of its own", run: exclusionInManySessions},
	{name: "can be used again after Unlock", run: reuse},
	{name: "missing parents are made", run: missingParents},
	{name: "parents that another contender makes at the same moment are no error", run: parentsAtOnce, exact: true},
	{name: "a path that is not one is an error at once", run: badPaths},
	{name: "TryLock takes a free lock", run: tryLockFree},
	{name: "TryLock on a held lock says false at once and leaves nothing behind", run: tryLockHeld},
	{name: "Unlock by who does not hold it is ErrNotLocked and frees nothing", run: unlockByNonHolder},
	{name: "an error other than node exists is returned and not taken for held", run: noPermission},
	{name: "an expired session wakes a waiter with an error", run: expiredWaiter},
	{name: "a closed session wakes a waiter with an error", run: closedWaiter},
	{name: "a holder whose session expires lets the next one in", run: expiredHolder},
	{name: "Unlock after the session expired is ErrNotLocked and touches nobody else's node", run: unlockAfterExpiry},
	{name: "contenders get in in the order in which they came", run: queueOrder, queueOnly: true},
	{name: "a waiter that goes lets nobody in before the holder has let go", run: waiterGoes, queueOnly: true},
	{name: "a child that is no contender is ignored", run: foreignChild, queueOnly: true},
	{name: "a release between looking and watching is not missed", run: releaseBeforeWatch, exact: true},
	{name: "a waiter that goes before it is watched lets nobody in", run: waiterGoesBeforeWatch, exact: true, queueOnly: true},
	{name: "a waiter whose own node has gone does not take the lock", run: nodeGoes, exact: true, queueOnly: true},
	{name: "a release while a waiter is cut off is not missed", run: releaseWhileCutOff, exact: true},
	{name: "an error on the way leaves no node behind", run: errorOnTheWay, exact: true},
	{name: "an error in TryLock leaves no node behind", run: errorInTryLock, exact: true},
	{name: "an Unlock that fails can be tried again", run: unlockAgain, exact: true},
	{name: "a release wakes exactly as many as predicted", run: wakeUps, exact: true},
	{name: "the requests are exactly as many as predicted", run: requestCount, exact: true},
}
