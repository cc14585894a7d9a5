package scenes

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/bugs/java"
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
)

// The folders of the steps, the locks that cure, and the locks and worlds of several entries.
const (
	step1        = "01-naive-ephemeral"
	step3        = "03-sequential-predecessor"
	step4        = "04-reentrant"
	step5        = "05-timeout"
	zklockFolder = "zklock"
)

var (
	naive, herd, predecessor, reentrant = steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant()
	timeout, complete                   = steps.Timeout(), steps.Zklock()

	bare  = player.Subject{}                          // the path is the lock's node
	queue = player.Subject{Queue: true, Exists: true} // the path is the parent of the nodes, and exists
	deep  = player.Subject{Path: "/locks/lock"}       // for a listing that makes its nodes below /locks
)

// atRandom is for a world that has too many schedules to go through, or in which the bug comes up late in their order.
var atRandom = explore.Search{Seed: 1, Limit: 5000}

// oneFault is a world of two contenders in which one fault may happen.
func oneFault(lock player.Subject, f player.Fault) player.World {
	return player.World{Lock: lock, Kinds: []player.Fault{f}, Faults: 1}
}

// oneFaultAmong is a world of n contenders in which one fault may happen.
func oneFaultAmong(n int, lock player.Subject, f player.Fault) player.World {
	return player.World{Lock: lock, Contenders: n, Kinds: []player.Fault{f}, Faults: 1}
}

// route splits a list of choices such as "A: request,B: request,A: unlock".
func route(choices string) []string { return strings.Split(choices, ",") }

const cycles = 4 // how many times A locks in repeats

// repeats are scripts by which A locks several times, and B locks once.
var repeats = [][]player.Op{lockTimes(cycles)}

// lockTimes is the script of a contender that locks and unlocks n times.
func lockTimes(n int) []player.Op {
	return slices.Repeat([]player.Op{player.LockOp, player.UnlockOp}, n)
}

// mayFail returns a lock whose Lock is right to fail.
func mayFail(lock player.Subject) player.Subject {
	lock.Ignore = []player.Kind{player.Failure}
	return lock
}

// stackChecked returns a lock that must not call Lock within Lock. method is its name on the stacks.
func stackChecked(lock player.Subject, method string) player.Subject {
	lock.Check = func() (v player.Violation) {
		if calls := strings.Count(bubble.Stacks(), "."+method+"("); calls > 3 { // two contenders that lock have two
			v.Kind, v.What = player.StackGrows, i18n.Textf("%d calls of Lock are on the stacks of two contenders", calls)
		}
		return v
	}
	return lock
}

// countEntries counts the entries of a trace for which like is true.
func countEntries(tr *player.Trace, like func(e player.Entry) bool) (n int) {
	for _, e := range tr.Log {
		if like(e) {
			n++
		}
	}
	return n
}

// watchedGone reports whether a contender wanted to watch a node that was gone.
func watchedGone(tr *player.Trace) bool {
	return countEntries(tr, func(e player.Entry) bool { return e.Kind == "reply" && e.Watch && e.Err != "" }) > 0
}

// comparesLate reports whether step 1's Unlock compares too late: a client that has written the stock reads the
// lock's node, without a watch, and the node is that of another client that has written the stock.
func comparesLate(tr *player.Trace) bool {
	owner, wrote := "", make(map[string]bool) // of the lock's node, and the stock
	for _, e := range tr.Log {
		if e.Kind != "reply" || e.Err != "" {
			continue
		}
		switch {
		case e.Op == "create":
			owner = e.Who
		case e.Op == "setData":
			wrote[e.Who] = true
			if e.Who != owner && !wrote[owner] {
				return false // the late write comes before the owner's, and overwrites nothing
			}
		case e.Op == "getData" && e.Path == tr.World.Lock.Path && !e.Watch && e.Who != owner:
			return wrote[owner] && wrote[e.Who]
		}
	}
	return false
}

// Subject returns a listing as the explorer plays it.
func Subject(name string, lock listings.New) player.Subject {
	return player.Subject{
		Name:  name,
		Begin: java.Begin,
		Path:  "/lock", // some listings take the path for a name
		Open: func(conn *zk.Conn, path string) func(string) player.Lock {
			return func(string) player.Lock { return listing{lock(conn, path)} }
		},
	}
}

type listing struct{ lock listings.Lock }

func (l listing) Lock(context.Context) error   { return l.lock.Lock() }
func (l listing) Unlock(context.Context) error { return l.lock.Unlock() }

// TryLock calls Lock, for a listing whose Lock returns false if another client holds the lock.
func (l listing) TryLock(context.Context) (bool, error) {
	err := l.lock.Lock()
	if errors.Is(err, listings.ErrFalse) {
		return false, nil
	}
	return err == nil, err
}

// withWaitTime is step 5's lock with the wait time of article D's second version.
func withWaitTime() player.Subject {
	return timeout.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock { return timeLimited{l, l.(player.Leased)} })
}

type timeLimited struct {
	lock
	player.Leased
}

type lock = player.Lock

func (l timeLimited) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listings.WaitTime)
	defer cancel()
	return l.lock.Lock(ctx)
}

// closesAfterUnlock is step 3's lock, whose caller closes its client after Unlock.
func closesAfterUnlock() player.Subject {
	return predecessor.Wrapped(func(l player.Lock, conn *zk.Conn, _, _ string) player.Lock { return closingLock{l, conn} })
}

type closingLock struct {
	lock
	conn *zk.Conn
}

func (l closingLock) Unlock(ctx context.Context) error {
	defer l.conn.Close()
	return l.lock.Unlock(ctx)
}
