// Package reentrant is step 4: the holder of the lock may lock again.
//
// The idea (article A's look at Curator's InterProcessMutex, articles B and
// C): a book in which each holder has an entry with the number of its locks.
// When a holder locks again, Lock only adds one to that number; all other
// owners queue as in step 3. This package is a thin layer over step 3's lock.
// Java keys the book by thread. A goroutine has no identity that could be a
// key, so the caller passes an Owner.
//
// Cost: the first Lock and the last Unlock of an owner cost what they cost in
// step 3: N owners that arrive one by one and each lock once send 5N-2
// requests. Each Lock and Unlock in between sends nothing.
//
// What is still wrong, and the step that cures it:
//
//   - An owner whose session has expired still has its entry: its next Lock
//     only counts, although another contender may hold the lock by then. Only
//     the owner's last Unlock returns an error: step 5.
//   - An Unlock that fails is not tried again. Until its owner calls Unlock
//     again, perhaps nobody can get the lock: step 5.
//   - Everything that step 3 lists, except that a holder that locks again
//     waits for itself.
package reentrant

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
)

// ErrNotOwner is returned by Unlock when the owner does not hold the lock: it
// never held it, it has unlocked as often as it locked, its session has ended
// since, or an earlier Unlock released the lock but the reply was lost.
var ErrNotOwner = errors.New("reentrant: not the owner")

var errNoOwner = errors.New("reentrant: the owner is nil: make one with NewOwner")

// An Owner is the identity of a holder, as a thread is in Java: one line of
// work, which may pass through many functions and goroutines.
type Owner struct{ name string }

// NewOwner returns a new owner. Two owners are distinct even if their names
// are equal.
func NewOwner(name string) *Owner { return &Owner{name} }

// String returns the owner's name.
func (o *Owner) String() string { return o.name }

// A Mutex is the lock at a path for all goroutines of a process. It is safe
// for concurrent use. Goroutines that share an owner also share its lock: they
// do not exclude each other.
type Mutex struct {
	conn *zk.Conn
	path string

	mu   sync.Mutex
	book map[*Owner]*hold // guarded by mu, and so are the entries
}

// A hold is an owner's entry in the book, from its first Lock to its last Unlock.
type hold struct {
	lock    *predecessor.Lock
	times   int        // that the owner holds the lock; 0 while the first Lock or the last Unlock is under way
	settled *sync.Cond // signaled when that first Lock or last Unlock has ended
	failed  error      // of the last Unlock: the lock may still be held, or not
}

// New returns the lock whose queue is under path. The parent and all nodes
// above it are created when they are needed.
func New(conn *zk.Conn, path string) *Mutex {
	return &Mutex{conn: conn, path: path, book: make(map[*Owner]*hold)}
}

// Lock waits until the owner holds the lock, for as long as that takes. If the
// owner already holds it, Lock returns at once and the owner holds it once
// more. After an error the owner holds it as often as before; errors.Is finds
// what predecessor.Lock's errors wrap.
func (m *Mutex) Lock(owner *Owner) error {
	if owner == nil {
		return errNoOwner
	}
	m.mu.Lock()
	h := m.book[owner]
	for h != nil && h.times == 0 {
		h.settled.Wait() // another goroutine locks or unlocks for the same owner
		h = m.book[owner]
	}
	if h != nil {
		defer m.mu.Unlock()
		return m.againLocked(h)
	}
	h = m.enterLocked(owner)
	m.mu.Unlock()

	err := h.lock.Lock()
	m.settle(owner, h, err == nil)
	return err
}

// TryLock is Lock, but does not wait for a release. If it returns false and no
// error, another contender holds the lock or waits for it, or another
// goroutine is locking or unlocking for the same owner; no node is left
// behind.
func (m *Mutex) TryLock(owner *Owner) (bool, error) {
	if owner == nil {
		return false, errNoOwner
	}
	m.mu.Lock()
	if h := m.book[owner]; h != nil {
		defer m.mu.Unlock()
		if h.times == 0 {
			return false, nil
		}
		err := m.againLocked(h)
		return err == nil, err
	}
	h := m.enterLocked(owner)
	m.mu.Unlock()

	ok, err := h.lock.TryLock()
	m.settle(owner, h, ok)
	return ok, err
}

// againLocked counts a holder that locks again.
func (m *Mutex) againLocked(h *hold) error {
	if h.failed != nil {
		return fmt.Errorf("reentrant: lock %s: the last Unlock failed, call Unlock again first: %w", m.path, h.failed)
	}
	h.times++
	return nil
}

// enterLocked makes an owner's entry before the owner holds the lock, so that
// its other goroutines wait for this one and do not queue as well. Until settle,
// times is 0: an owner that waits for the lock does not hold it.
func (m *Mutex) enterLocked(owner *Owner) *hold {
	h := &hold{lock: predecessor.New(m.conn, m.path), settled: sync.NewCond(&m.mu)}
	m.book[owner] = h
	return h
}

// settle ends a first Lock or a last Unlock. An owner that does not hold the
// lock afterwards loses its entry.
func (m *Mutex) settle(owner *Owner, h *hold, holds bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if holds {
		h.times = 1
	} else {
		delete(m.book, owner)
	}
	h.settled.Broadcast()
}

// Unlock undoes one Lock of the owner; the last Unlock releases the lock. It
// returns ErrNotOwner if the owner does not hold the lock. After any other
// error the owner may still hold it, or not: its Lock fails until another
// Unlock has found out.
func (m *Mutex) Unlock(owner *Owner) error {
	m.mu.Lock()
	h := m.book[owner]
	if h == nil || h.times == 0 {
		m.mu.Unlock()
		return fmt.Errorf("%w: %v at %s", ErrNotOwner, owner, m.path)
	}
	h.times--
	last := h.times == 0
	m.mu.Unlock()
	if !last {
		return nil
	}

	err := h.lock.Unlock()
	gone := errors.Is(err, predecessor.ErrNotLocked)
	h.failed = err                   // no other goroutine reads it before settle, because times is 0
	stillHeld := err != nil && !gone // or perhaps: another Unlock finds out
	m.settle(owner, h, stillHeld)
	if gone {
		return fmt.Errorf("%w any more: %v: %w", ErrNotOwner, owner, err)
	}
	return err
}

// Holds returns how many times the owner has locked without unlocking. It
// sends no request: if the session has expired, the lock may be lost although
// Holds is not 0.
func (m *Mutex) Holds(owner *Owner) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.book[owner]; h != nil {
		return h.times
	}
	return 0
}
