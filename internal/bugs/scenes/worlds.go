package scenes

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/java"
	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
)

// What the bugs are made of: the steps, the locks that cure, and worlds.
const (
	first   = "01-naive-ephemeral"
	second  = "02-herd-effect"
	third   = "03-sequential-predecessor"
	fourth  = "04-reentrant"
	fifth   = "05-timeout"
	library = "zklock"
)

var (
	naive, herd, predecessor, reentrant = steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant()
	timeout, complete                   = steps.Timeout(), steps.Zklock()

	bare  = explore.Subject{}
	queue = explore.Subject{Queue: true, Exists: true}
	deep  = explore.Subject{Path: "/locks/lock"}
)

// atRandom: there are too many schedules to go through them all, or what is
// looked for comes up late in their order.
var atRandom = explore.Search{Seed: 1, Limit: 5000}

// one is a world of two contenders in which one fault may happen.
func one(lock explore.Subject, f explore.Fault) explore.World {
	return explore.World{Lock: lock, Kinds: []explore.Fault{f}, Faults: 1}
}

// among is such a world with n contenders.
func among(n int, lock explore.Subject, f explore.Fault) explore.World {
	w := one(lock, f)
	w.Contenders = n
	return w
}

const cycles = 4 // of A in again

// again: A locks several times, B locks once.
var again = [][]explore.Op{times(cycles)}

// times is a script of n times Lock and Unlock.
func times(n int) []explore.Op {
	return slices.Repeat([]explore.Op{explore.LockOp, explore.UnlockOp}, n)
}

// mayFail: it is right that a call of Lock fails.
func mayFail(lock explore.Subject) explore.Subject {
	lock.Ignore = []explore.Kind{explore.Failure}
	return lock
}

// checked has the stacks counted while the lock is played; see frames.
func checked(lock explore.Subject, function string) explore.Subject {
	lock.Check = frames(function)
	return lock
}

// frames is a check that no call of Lock is made within another one.
func frames(function string) func() (v explore.Violation) {
	return func() (v explore.Violation) {
		if n := java.Frames(function); n > 3 {
			v.Kind, v.What = explore.StackGrows, i18n.Textf("%d calls of Lock are on the stacks of two contenders", "两个竞争者的栈上共压了 %d 层 Lock", n)
		}
		return v
	}
}

// count counts the entries of a trace that are like one.
func count(tr *explore.Trace, like func(e explore.Entry) bool) (n int) {
	for _, e := range tr.Log {
		if like(e) {
			n++
		}
	}
	return n
}

// noNode reports whether a node that somebody wanted to watch was gone.
func noNode(tr *explore.Trace) bool {
	return count(tr, func(e explore.Entry) bool { return e.Kind == "reply" && e.Watch && e.Err != "" }) > 0
}

// compares reports whether a client that has written reads, without a watch, a
// node of another client that has written: step 1's Unlock, too late.
func compares(tr *explore.Trace) bool {
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
func Subject(name string, lock listings.New) explore.Subject {
	return explore.Subject{
		Name:  name,
		Begin: java.Begin,
		Path:  "/lock", // some listings take the path for a name
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return listing{lock(conn, path)} }
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

// patient is step 5's lock with the wait time of article D's second version.
func patient() explore.Subject {
	s := timeout
	s.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		open := timeout.Open(conn, path)
		return func(name string) explore.Lock { return bounded{open(name)} }
	}
	return s
}

type bounded struct{ l explore.Lock }

func (b bounded) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listings.WaitTime)
	defer cancel()
	return b.l.Lock(ctx)
}

func (b bounded) TryLock(ctx context.Context) (bool, error) { return b.l.TryLock(ctx) }
func (b bounded) Unlock(ctx context.Context) error          { return b.l.Unlock(ctx) }
func (b bounded) Token() int64                              { return b.l.(explore.Leased).Token() }
func (b bounded) Lost() <-chan struct{}                     { return b.l.(explore.Leased).Lost() }

// closing is step 3's lock of a caller that closes its client after Unlock.
func closing() explore.Subject {
	s := predecessor
	s.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		open := predecessor.Open(conn, path)
		return func(name string) explore.Lock { return closer{open(name), conn} }
	}
	return s
}

type closer struct {
	l    explore.Lock
	conn *zk.Conn
}

func (c closer) Lock(ctx context.Context) error            { return c.l.Lock(ctx) }
func (c closer) TryLock(ctx context.Context) (bool, error) { return c.l.TryLock(ctx) }

func (c closer) Unlock(ctx context.Context) error {
	defer c.conn.Close()
	return c.l.Unlock(ctx)
}
