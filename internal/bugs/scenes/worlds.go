package scenes

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
)

// What the bugs are made of: the steps, the locks that cure, and worlds.
const (
	step1        = "01-naive-ephemeral"
	step2        = "02-herd-effect"
	step3        = "03-sequential-predecessor"
	step4        = "04-reentrant"
	step5        = "05-timeout"
	zklockFolder = "zklock"
)

var (
	naive, herd, predecessor, reentrant = steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant()
	timeout, complete                   = steps.Timeout(), steps.Zklock()

	bare  = player.Subject{}                          // its path is the node of the lock
	queue = player.Subject{Queue: true, Exists: true} // its path is the parent of the nodes, and is there
	deep  = player.Subject{Path: "/locks/lock"}       // for a listing that makes nodes below /locks
)

// atRandom: there are too many schedules to go through them all, or what is
// looked for comes up late in their order.
var atRandom = explore.Search{Seed: 1, Limit: 5000}

// oneFault is a world of two contenders in which one fault may happen.
func oneFault(lock player.Subject, f player.Fault) player.World {
	return player.World{Lock: lock, Kinds: []player.Fault{f}, Faults: 1}
}

// oneFaultAmong is such a world with n contenders.
func oneFaultAmong(n int, lock player.Subject, f player.Fault) player.World {
	w := oneFault(lock, f)
	w.Contenders = n
	return w
}

const cycles = 4 // of A in repeats

// repeats: A locks several times, B locks once.
var repeats = [][]player.Op{lockTimes(cycles)}

// lockTimes is a script of n times Lock and Unlock.
func lockTimes(n int) []player.Op {
	return slices.Repeat([]player.Op{player.LockOp, player.UnlockOp}, n)
}

// mayFail: it is right that a call of Lock fails.
func mayFail(lock player.Subject) player.Subject {
	lock.Ignore = []player.Kind{player.Failure}
	return lock
}

// stackChecked has the stacks counted while the lock is played: no call of Lock is made within another one.
func stackChecked(lock player.Subject, function string) player.Subject {
	lock.Check = func() (v player.Violation) {
		if n := java.Frames(function); n > 3 { // two contenders have two without that
			v.Kind, v.What = player.StackGrows, i18n.Textf("%d calls of Lock are on the stacks of two contenders", "两个竞争者的栈上共压了 %d 层 Lock", n)
		}
		return v
	}
	return lock
}

// countEntries counts the entries of a trace that are like one.
func countEntries(tr *player.Trace, like func(e player.Entry) bool) (n int) {
	for _, e := range tr.Log {
		if like(e) {
			n++
		}
	}
	return n
}

// watchedGone reports whether a node that somebody wanted to watch was gone.
func watchedGone(tr *player.Trace) bool {
	return countEntries(tr, func(e player.Entry) bool { return e.Kind == "reply" && e.Watch && e.Err != "" }) > 0
}

// comparesLate reports whether a client that has written reads, without a watch, a
// node of another client that has written: step 1's Unlock, too late.
func comparesLate(tr *player.Trace) bool {
	owner, wrote := "", make(map[string]bool)
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
				return false // the next holder's is the late one
			}
		case e.Op == "getData" && e.Path == tr.World.Lock.Path && !e.Watch && e.Who != owner:
			return wrote[owner] && wrote[e.Who]
		}
	}
	return false
}

// Subject shows a listing to the explorer.
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

// TryLock calls Lock, for a listing whose lock call returns false where
// another client holds the lock.
func (l listing) TryLock(context.Context) (bool, error) {
	err := l.lock.Lock()
	if errors.Is(err, listings.ErrFalse) {
		return false, nil
	}
	return err == nil, err
}

// withWaitTime is step 5's lock with the wait time of article D's second version.
func withWaitTime() player.Subject {
	return timeout.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock { return bounded{l} })
}

type bounded struct{ l player.Lock }

func (b bounded) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listings.WaitTime)
	defer cancel()
	return b.l.Lock(ctx)
}

func (b bounded) TryLock(ctx context.Context) (bool, error) { return b.l.TryLock(ctx) }
func (b bounded) Unlock(ctx context.Context) error          { return b.l.Unlock(ctx) }
func (b bounded) Token() int64                              { return b.l.(player.Leased).Token() }
func (b bounded) Lost() <-chan struct{}                     { return b.l.(player.Leased).Lost() }

// closesAfterUnlock is step 3's lock of a caller that closes its client after Unlock.
func closesAfterUnlock() player.Subject {
	return predecessor.Wrapped(func(l player.Lock, conn *zk.Conn, _, _ string) player.Lock { return closer{l, conn} })
}

type closer struct {
	l    player.Lock
	conn *zk.Conn
}

func (c closer) Lock(ctx context.Context) error            { return c.l.Lock(ctx) }
func (c closer) TryLock(ctx context.Context) (bool, error) { return c.l.TryLock(ctx) }

func (c closer) Unlock(ctx context.Context) error {
	defer c.conn.Close()
	return c.l.Unlock(ctx)
}
