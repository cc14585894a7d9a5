package locktest_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
)

// Each breaks one line of a reentrant lock that is otherwise right, and names
// the case that must notice. The first two are article C's.
var ownerBugs = map[bug]failure{
	"none":                          {},
	"counted before it is locked":   {"a Lock that fails leaves the books clean", "WORDS"},
	"another owner is sent away":    {"another owner of the same Mutex waits its turn in the queue", "WORDS"},
	"a failure leaves the entry":    {"a TryLock that fails leaves the books clean", "WORDS"},
	"known by its name":             {"owners with equal names are distinct", "WORDS"},
	"gone with the first Unlock":    {"the node goes with the last Unlock and not before", "WORDS"},
	"gone with no Unlock":           {"the node goes with the last Unlock and not before", "WORDS"},
	"the count is not reset":        {"one Unlock too many is ErrNotOwner", "WORDS"},
	"asks when it locks again":      {"a second Lock by the same owner costs no request", "WORDS"},
	"in the book once it is locked": {"two goroutines of one owner that lock at once make one node", "WORDS"},
	"one fails, all fail":           {"a Lock that fails fails no other goroutine of its owner", "WORDS"},
	"in the book while it unlocks":  {"a Lock during the last Unlock of its owner makes a new node", "WORDS"},
	"TryLock does not count":        {"TryLock by the holder counts up, by another owner it is false at once", "WORDS"},
	"TryLock waits for its owner":   {"TryLock of an owner whose Lock waits is false at once", "WORDS"},
	"anybody may unlock":            {"Unlock by another owner is ErrNotOwner and frees nothing", "WORDS"},
	"counts on after an error":      {"an owner whose Unlock has failed does not get in without a node", "WORDS"},
	"expiry does not end it":        {"an owner whose session has expired learns it by its last Unlock and can lock again", "WORDS"},
	"nil is an owner":               {"no owner at all is an error at once", "WORDS"},
	"the lock is nobody's":          {"one owner at a time is inside, many owners that lock twice", "WORDS"},
	"goroutines are let in":         {"one owner at a time is inside, many goroutines of each", "WORDS"},
}

var errFailed = errors.New("failed")

// mutexWith is a Mutex like step 4's, with a bug.
type mutexWith struct {
	bug
	conn *zk.Conn
	path string

	mu      sync.Mutex
	changed *sync.Cond
	book    map[any]*entry
}

type entry struct {
	lock   *lockWith
	times  int
	busy   bool
	failed bool // the last Unlock has, or, with a bug, the first Lock
}

// view is a mutexWith as one owner sees it. An owner is a pointer to its name.
type view struct {
	*mutexWith
	owner *string
}

func (v *view) key() any {
	if v.bug == "known by its name" && v.owner != nil {
		return *v.owner
	}
	return v.owner
}

func (v *view) Lock() error {
	_, err := v.acquire(true, func(l *lockWith) (bool, error) { return true, l.Lock() })
	return err
}

func (v *view) TryLock() (bool, error) {
	return v.acquire(v.bug == "TryLock waits for its owner", (*lockWith).TryLock)
}

func (v *view) acquire(wait bool, first func(*lockWith) (bool, error)) (bool, error) {
	if v.owner == nil && v.bug != "nil is an owner" {
		return false, errors.New("no owner")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bug == "another owner is sent away" && len(v.book) > 0 && v.book[v.key()] == nil {
		return false, errFailed
	}
	if v.bug == "the lock is nobody's" && len(v.book) > 0 {
		return true, nil
	}
	e := v.book[v.key()]
	for e != nil && e.busy && v.bug != "goroutines are let in" {
		if !wait {
			return false, nil
		}
		v.changed.Wait()
		if v.bug == "one fails, all fail" && e.failed {
			return false, errFailed
		}
		e = v.book[v.key()]
	}
	if e != nil {
		return v.again(e, wait)
	}
	e = &entry{lock: &lockWith{conn: v.conn, path: v.path}}
	e.busy = v.bug != "counted before it is locked"
	if !e.busy {
		e.times = 1
	}
	if v.bug != "in the book once it is locked" {
		v.book[v.key()] = e
	}
	v.mu.Unlock()
	ok, err := first(e.lock)
	v.mu.Lock()
	e.busy = v.bug == "a failure leaves the entry" && err != nil
	if ok && err == nil {
		e.times = 1
		v.book[v.key()] = e
	} else if v.bug != "a failure leaves the entry" && v.bug != "counted before it is locked" {
		e.failed = true
		delete(v.book, v.key())
	}
	v.changed.Broadcast()
	return ok && err == nil, err
}

// again counts up for who is in the book.
func (v *view) again(e *entry, wait bool) (bool, error) {
	if e.failed && v.bug != "counts on after an error" {
		return false, errFailed
	}
	if wait || v.bug != "TryLock does not count" {
		e.times++
	}
	if v.bug == "asks when it locks again" {
		v.conn.Exists(e.lock.node)
	}
	return true, nil
}

func (v *view) Unlock() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := v.key()
	e := v.book[key]
	if e == nil && v.bug == "anybody may unlock" {
		for key, e = range v.book {
			break
		}
	}
	if e == nil || e.busy || e.times == 0 && v.bug != "the count is not reset" {
		return errNotLocked
	}
	e.times--
	if e.times > 0 && v.bug != "gone with the first Unlock" {
		return nil
	}
	if v.bug == "gone with no Unlock" || e.times < 0 {
		return nil
	}
	e.busy = v.bug != "in the book while it unlocks"
	if !e.busy {
		e.times = 1
	}
	v.mu.Unlock()
	err := e.lock.Unlock()
	v.mu.Lock()
	e.busy = false
	e.failed = err != nil
	switch {
	case e.failed && (!errors.Is(err, errNotLocked) || v.bug == "expiry does not end it"):
		e.times = 1
	case v.bug != "the count is not reset":
		delete(v.book, key)
	}
	v.changed.Broadcast()
	return err
}

// TestBrokenOwnersFailUnderTheRightName breaks a reentrant lock in one place
// after the other.
func TestBrokenOwnersFailUnderTheRightName(t *testing.T) {
	for b, want := range ownerBugs {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			open := func(conn *zk.Conn, path string) *mutexWith {
				m := &mutexWith{bug: b, conn: conn, path: path, book: make(map[any]*entry)}
				m.changed = sync.NewCond(&m.mu)
				return m
			}
			failsFirst(t, want, locktest.OwnersSubject{
				Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
					m := open(conn, path)
					return func(name string) locktest.Lock { return &view{m, &name} }
				},
				Nobody:      func(conn *zk.Conn, path string) locktest.Lock { return &view{open(conn, path), nil} },
				ErrNotOwner: errNotLocked,
			})
		})
	}
}
