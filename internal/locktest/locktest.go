// Package locktest is a suite of cases that every lock of this project must pass. Each case is a sentence; a lock that
// breaks it fails under that name, with a message that says what is wrong and what to do.
//
// A lock of your own is graded with one short file beside it:
//
//	package mylock
//
//	import (
//		"testing"
//
//		"github.com/go-zookeeper/zk"
//
//		"example.com/zklock/internal/locktest"
//	)
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, locktest.Subject{
//			New:          func(conn *zk.Conn, path string) locktest.Lock { return New(conn, path) },
//			ErrNotLocked: ErrNotLocked,
//			Level:        locktest.Basic, // leave it out once that passes
//			Queue:        true,           // a fair queue under path
//		})
//	}
//
// The environment variable ZK says which ZooKeeper the suite runs against, as in package ensemble.
// On the embedded one, the default, each case has a server of its own and runs in virtual time:
// seconds of waiting cost nothing, and "no contender gets in" is a fact, not a hope. Cases that
// need exact control of the server are skipped elsewhere, and say so.
package locktest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/leases"
	"example.com/zklock/internal/locktest/stage"
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
	// ErrNotLocked is what Unlock returns, or wraps, if the lock is not held. If it is nil any error will do.
	ErrNotLocked error
	// Level says how much is asked of the lock. The zero Level is Full.
	Level Level
	// Queue means that contenders get the lock in the order in which they came, and that path is
	// the parent of their nodes. Otherwise path is the node that the holder makes.
	Queue bool
	// Prefix is what the names of the contenders' nodes must begin with; "": any name will do.
	Prefix string
	// Permits means that the lock is a semaphore with one permit: no message advises what is wrong with several permits.
	Permits bool
	// Requeues means that Lock, TryLock and Unlock outlive what ends a connection or a session: they try again, and queue
	// again if they must. A lock without Requeues may do so, or return an error.
	Requeues bool
	// Retries asks for less than Requeues: Lock, TryLock and Unlock try again after what ends a connection or fails a
	// request, unless that is a create. After what ends a session they return an error.
	Retries bool
	// FindsNode means that Lock and TryLock outlive a create that is lost with its connection: they
	// find the node, or make another. LostReplySubject has the cases.
	FindsNode bool
	// Expired are the errors of which Lock wraps one if its session ends while it waits. If
	// there are none any error will do, and Lock may go on in the next session.
	Expired []error
	// Keeps is for how long a node may stay when nobody holds the lock any more.
	Keeps time.Duration
	// WakeUps predicts how many watch events a release sends to the contenders that wait,
	// each in a session of its own. If it is nil they are not counted.
	WakeUps func(waiting int) int
	// Requests predicts how many requests n contenders send in all, each in a session of its own. They arrive one by one
	// while the first holds the lock, and then each releases it in turn. If it is nil they are not counted.
	Requests func(n int) int
}

// Run runs the cases of a suite as subtests. The first case that fails is the most
// telling: the simplest cases come first.
//
// The cases run in a process of their own, which is the same test binary, started again for the test t. Whatever the
// lock does there (it hangs, spins, panics in a goroutine of its own, calls os.Exit, prints without end) costs only the
// case that it happens in: that case fails and says so, and the next one runs in a new process. The test function must
// therefore come to the call of Run again when it is called again, and what it does before is done in each process.
// With the flag -locktest.here, with coverage, and on a real ZooKeeper the cases run in the process of the test.
func Run(t *testing.T, s Suite) {
	t.Helper()
	p := s.Plan()
	if j := p.Judge(t); j != nil { // nil: this process is one of those that it starts, and has run its cases
		for _, name := range p.Names {
			j.Run(name)
		}
	}
}

// These names are for suites of other packages, which need not import package stage; it describes them.
type (
	Session         = stage.Session
	Suite           = stage.Suite
	Plan            = stage.Plan
	TestCase[W any] = stage.TestCase[W]
	Group           = stage.Group
	Level           = stage.Level
)

// The levels, and the groups of cases.
const (
	Full, Basic                    = stage.Full, stage.Basic
	Safety, Liveness, Faults, Cost = stage.Safety, stage.Liveness, stage.Faults, stage.Cost
)

// What locks with leases need; package leases describes it.
type (
	LeaseSubject = leases.Subject
	LeaseLock    = leases.Lock
	Lease        = leases.Lease
)

// Names lists the cases of a suite, in the order in which they run. The suite's functions may be nil.
func Names(s Suite) []string { return s.Plan().Names }

func Groups(s Suite) map[string]Group { return s.Plan().Groups }

// unsafe are parts of the messages that say that a lock is unsafe. A case of any group may find it.
var unsafe = []string{
	"two holders",
	"two leaders",
	"one too many inside",
	"deleted another contender's node",
	"deletes another's node",
	"holder without a node",
	"an old token has written",
}

// Unsafe reports whether the words of a failure show that two were inside at once, that another
// contender's node was deleted, or that a resource has stored what came with an old token.
func Unsafe(words string) bool {
	return slices.ContainsFunc(unsafe, func(u string) bool { return strings.Contains(words, u) })
}

func (s Subject) Plan() Plan {
	keep := func(c TestCase[*World]) bool {
		ofThisKind := !(c.Is(queued) && !s.Queue) && !(c.Is(single) && s.Queue)
		return ofThisKind && (s.Level == Full || c.Is(basic))
	}
	return NewPlan(lockCases, keep, s, func(w *World) *World { return w }).
		Needs(s.New != nil, "Subject.New is nil: it must make a contender")
}

// The traits of cases: basic, of the level Basic, too; queued and single, for locks with and without a queue; exact, on
// the embedded server only; calm, with sessions that live for long; bare, the parents of the lock's node are missing.
const (
	basic, queued, single = stage.OfBasic, stage.Queued, stage.Single
	exact, calm, bare     = stage.Exact, stage.Calm, stage.Bare
)

func row[W any](name i18n.Text, g Group, run func(w W), traits ...stage.Trait) TestCase[W] {
	return TestCase[W]{Name: name, Group: g, Run: run, Traits: traits}
}

// The cases, in their order: each comes after those that it builds on, so that the first that fails explains most.
var lockCases = []TestCase[*World]{
	row("the holder has a node and it is ephemeral", Liveness, EphemeralNode, basic),
	row("can be used again after Unlock", Liveness, reuse, basic),
	row("a waiter sleeps on a watch and does not poll", Liveness, waitersOfTwoLocks, basic),
	row("TryLock takes a free lock", Liveness, tryLockFree, basic),
	row("TryLock on a held lock says false at once and leaves nothing behind", Liveness, TryLockHeld, basic),
	row("Unlock by a contender that does not hold it is ErrNotLocked and frees nothing",
		Liveness, unlockByNonHolder, basic),
	row("contenders get in in the order in which they came", Liveness, QueueOrder, basic, queued),
	row("a waiter that goes lets nobody in before the holder has let go", Safety, WaiterGoes, basic, queued),
	row("a release between looking and watching is not missed", Liveness, ReleaseBeforeWatch, basic, exact),
	row("a waiter waits for as long as the holder holds, a day if need be", Safety, LongHold, basic, calm),
	row("TryLock waits for nobody, whenever another contender takes the lock", Liveness, tryLockRaces, exact),
	row("Unlock distinguishes its own node from one that another process has made", Safety, idsOfProcesses, exact, single),
	row("one at a time holds it, contenders of one session", Safety, exclusionInOneSession, basic),
	row("one at a time holds it, each contender in a session of its own", Safety, exclusionInManySessions, basic),
	row("all of many contenders get in, again and again", Liveness, allGetIn, exact),
	row("missing parents are made", Liveness, MissingParents, basic, bare),
	row("a holder whose session expires lets the next one in", Faults, ExpiredHolder, basic),
	row("Unlock after the session expired is ErrNotLocked and touches nobody else's node",
		Faults, UnlockAfterExpiry, basic),
	row("a waiter sends next to nothing while nothing changes", Cost, WaiterIsQuiet),
	row("no watch is left where nothing is left to wait for", Cost, WatchesLeft, exact),
	row("no goroutine is left when every contender has let go", Cost, GoroutinesLeft, exact),
	row("a release wakes exactly as many as predicted", Cost, WakeUps, exact),
	row("the requests are exactly as many as predicted", Cost, requestCount, exact),
	row("an error other than node exists is returned and not taken for held", Faults, NoPermission, bare),
	row("a child that is not a contender is ignored", Liveness, ForeignChild, queued, bare),
	row("an expired session wakes a waiter with an error", Faults, ExpiredWaiter),
	row("a closed session wakes a waiter with an error", Faults, ClosedWaiter),
	row("a waiter that goes before it is watched lets nobody in", Safety, WaiterGoesBeforeWatch, exact, queued),
	row("a waiter whose own node has gone does not take the lock", Safety, NodeGoes, exact, queued),
	row("a release while a waiter is cut off is not missed", Faults, ReleaseWhileCutOff, exact),
	row("an error on the way leaves no node behind", Faults, ErrorOnTheWay, exact),
	row("an error in TryLock leaves no node behind", Faults, errorInTryLock, exact),
	row("an Unlock that fails can be tried again", Faults, UnlockAgain, exact),
}

// Main is TestMain for a package whose tests use the ZooKeeper that ZK names. When they have ended,
// no goroutine may be left, but those that the options except.
func Main(m goleak.TestingM, except ...goleak.Option) {
	goleak.VerifyTestMain(patientSuite{m, except}, except...)
}

// A patientSuite gives goroutines more time to end than package goleak does.
type patientSuite struct {
	goleak.TestingM
	except []goleak.Option
}

func (s patientSuite) Run() int {
	ensemble.AnswerTimeout = time.Minute // for a server on a busy machine
	status := s.TestingM.Run()
	if status == 0 {
		// Find waits for half a second. A client that has been closed may need longer: it ends once it has dialed.
		began := time.Now()
		for goleak.Find(s.except...) != nil && time.Since(began) < time.Minute {
		}
	}
	return status
}

// Real returns the ZooKeeper that ZK names, nil if that is the embedded one.
func Real(t require.TestingT) *ensemble.Ensemble { return stage.Real(t) }
