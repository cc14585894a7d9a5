package locktest_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
)

// Each breaks one line of a reentrant lock that is otherwise right, and names
// the case that must fail first. The first two are article C's.
var ownerBugs = map[bug]failure{
	"none":                          {},
	"counted before it is locked":   {"the node goes with the last Unlock and not before", "returns true, and it does not get the lock: two holders"},
	"another owner is sent away":    {"another owner of the same Mutex waits its turn in the queue", "must wait its turn in the queue, and Lock fails at once"},
	"a failure leaves the entry":    {"the node goes with the last Unlock and not before", "returns true, and it does not get the lock: two holders"},
	"known by its name":             {"owners with equal names are distinct", "the second of two owners with one name returns true"},
	"gone with the first Unlock":    {"another owner of the same Mutex waits its turn in the queue", "two holders"},
	"gone with no Unlock":           {"another owner of the same Mutex waits its turn in the queue", "does not return"},
	"the count is not reset":        {"the node goes with the last Unlock and not before", "an owner that holds the lock must have one node"},
	"asks when it locks again":      {"a second Lock by the same owner costs no request", "asks the server: count in memory"},
	"in the book once it is locked": {"two goroutines of one owner that lock at once make one node", "Lock of the second goroutine of the same owner does not return"},
	"one fails, all fail":           {"a Lock that fails fails no other goroutine of its owner", "a failure must fail only the goroutine that it happened to"},
	"in the book while it unlocks":  {"a Lock during the last Unlock of its owner makes a new node", "holds the lock without a node"},
	"TryLock does not count":        {"TryLock by the holder counts up, by another owner it is false at once", "after one of two Unlocks, returns true, and it does not get the lock: two holders"},
	"TryLock waits for its owner":   {"TryLock of an owner whose Lock waits is false at once", "TryLock of an owner whose Lock waits does not return"},
	"anybody may unlock":            {"Unlock by another owner is ErrNotOwner and frees nothing", "returns no error, though it does not hold the lock: return ErrNotOwner"},
	"counts on after an error":      {"an owner whose Unlock has failed does not get in without a node", "counts up, and the next one holds the lock: two holders"},
	"expiry does not end it":        {"the last Unlock of an owner whose session has expired fails, and the owner can lock again", "an owner whose session has expired, while the next one holds the lock, fails"},
	"the lock is nobody's":          {"another owner of the same Mutex waits its turn in the queue", "the second owner has got the lock while another owner holds it: two holders"},
	"nobody is let in":              {"no owner at all is an error, or an owner like another", "Lock without an owner returns no error, and another contender gets the lock: two holders"},
	"goroutines are let in":         {"two goroutines of one owner that lock at once make one node", "one goroutine of two has unlocked, and the node has gone"},
}

var errFailed = errors.New("failed")

// A brokenMutex is a Mutex like step 4's, with a bug.
type brokenMutex struct {
	bug
	conn *zk.Conn
	path string

	mu      sync.Mutex
	changed *sync.Cond
	book    map[any]*entry
}

type entry struct {
	lock   *broken.Lock
	times  int
	busy   bool
	failed bool // the last Unlock has, or, with a bug, the first Lock
}

// view is a brokenMutex for one owner. An owner is a pointer to its name.
type view struct {
	*brokenMutex
	owner *string
}

func (v *view) key() any {
	if v.bug == "known by its name" && v.owner != nil {
		return *v.owner
	}
	return v.owner
}

func (v *view) Lock() error {
	_, err := v.acquire(true, func(l *broken.Lock) (bool, error) { return true, l.Lock() })
	return err
}

func (v *view) TryLock() (bool, error) {
	return v.acquire(v.bug == "TryLock waits for its owner", (*broken.Lock).TryLock)
}

func (v *view) acquire(wait bool, first func(*broken.Lock) (bool, error)) (bool, error) {
	if v.owner == nil && v.bug == "nobody is let in" {
		return true, nil
	}
	if v.owner == nil {
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
	e = &entry{lock: broken.New("none", v.conn, v.path)}
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

// again counts up for an owner that is in the book.
func (v *view) again(e *entry, wait bool) (bool, error) {
	if e.failed && v.bug != "counts on after an error" {
		return false, errFailed
	}
	if wait || v.bug != "TryLock does not count" {
		e.times++
	}
	if v.bug == "asks when it locks again" {
		v.conn.Exists(v.path)
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
		return broken.ErrNotLocked
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
	case e.failed && (!errors.Is(err, broken.ErrNotLocked) || v.bug == "expiry does not end it"):
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
	aboutBrokenLocks(t)
	for b, want := range ownerBugs {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			failsFirst(t, want, ownersBy(b))
		})
	}
}

// ownersBy is the reentrant lock with a bug, as the subject of its suite.
func ownersBy(b bug) locktest.OwnersSubject {
	open := func(conn *zk.Conn, path string) *brokenMutex {
		m := &brokenMutex{bug: b, conn: conn, path: path, book: make(map[any]*entry)}
		m.changed = sync.NewCond(&m.mu)
		return m
	}
	return locktest.OwnersSubject{
		Open: func(conn *zk.Conn, path string) func(string) locktest.Lock {
			m := open(conn, path)
			return func(name string) locktest.Lock { return &view{m, &name} }
		},
		Nobody:      func(conn *zk.Conn, path string) locktest.Lock { return &view{open(conn, path), nil} },
		ErrNotOwner: broken.ErrNotLocked,
	}
}
