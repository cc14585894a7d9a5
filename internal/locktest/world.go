package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/stage"
)

// A World is what one case runs in: a Stage, and the kind of lock that is tested there. Its helpers call a lock:
//
//   - holder, waiter and queue make contenders that hold the lock, or wait for it;
//   - BeginLock returns at once, with a channel that Lock's error will come on;
//   - Must… and lockOnce fail the case if the call fails, and TryLock and UnlockErr return what the call returns.
//
// A Stage has what waits for the result of a call, and the faults. The text that a helper takes is the contender's
// name, or what happened before, for the message of a failure.
type World struct {
	*stage.Stage
	Subject Subject
}

// NewPlan makes a Plan of the cases for which keep returns true. Each runs in a World with contenders of the subject;
// enter converts the World into the parameter of a case.
func NewPlan[W any](cases []TestCase[W], keep func(TestCase[W]) bool, subject Subject, enter func(w *World) W) Plan {
	const strict = false
	return stage.NewPlan(cases, keep, subject.Queue, strict, func(w *stage.Stage) W {
		w.Keeps = subject.Keeps
		return enter(&World{w, subject})
	})
}

// it is the name, in a message, of the contender that a case is about.
var it = i18n.Text("it")

// Contender makes a contender for the lock, in a session of its own unless one is given.
func (w *World) Contender(in ...*Session) (Lock, *Session) {
	if len(in) == 0 {
		in = []*Session{w.Session()}
	}
	return w.Subject.New(in[0].Conn, w.Path), in[0]
}

func (w *World) holder() (Lock, *Session) {
	l, s := w.Contender()
	w.MustLock(l, "the holder")
	return l, s
}

// waiter makes a contender that waits for the lock, in a session of its own unless one is given.
func (w *World) waiter(in ...*Session) (Lock, *Session, <-chan error) {
	l, s := w.Contender(in...)
	result := w.BeginLock(l)
	w.Waits(result, s, "the waiter")
	return l, s, result
}

// BeginLock calls Lock in a goroutine of its own. The result is for Holds, Waits or Result.
func (w *World) BeginLock(l Lock) <-chan error { return w.Aside("Lock", l.Lock) }

func (w *World) MustLock(l Lock, name i18n.Text) { w.Holds(w.BeginLock(l), name) }

// TryLock calls TryLock, which must return. If the kind of lock has no TryLock, the error is errors.ErrUnsupported.
func (w *World) TryLock(l Lock, what i18n.Text) (ok bool, err error) {
	result, got := w.beginTryLock(l)
	err = w.Result(result, what)
	return *got, err
}

// beginTryLock calls TryLock in a goroutine of its own. When it has returned, ok is what it has returned.
func (w *World) beginTryLock(l Lock) (result <-chan error, ok *bool) {
	ok = new(bool)
	return w.Aside("TryLock", func() (err error) {
		*ok, err = l.TryLock()
		return err
	}), ok
}

func (w *World) MustUnlock(l Lock, name i18n.Text) {
	w.NoError(w.UnlockErr(l, i18n.Textf("Unlock of %s", name)),
		"Unlock of %s fails, although it was told that it holds the lock", name)
}

// lockOnce has a contender lock and unlock, which must both work.
func (w *World) lockOnce(l Lock, name i18n.Text) {
	w.MustLock(l, name)
	w.MustUnlock(l, it)
}

// unlockLast has the last contender unlock, after which nothing may be left.
func (w *World) unlockLast(l Lock, name i18n.Text) {
	w.MustUnlock(l, name)
	w.NothingLeft()
}

// UnlockErr calls Unlock, which must return.
func (w *World) UnlockErr(l Lock, what i18n.Text) error {
	return w.Result(w.Aside("Unlock", l.Unlock), what)
}

// NotLocked fails if Unlock says anything but ErrNotLocked.
func (w *World) NotLocked(l Lock, what i18n.Text) { w.IsNotLocked(w.UnlockErr(l, what), what) }

// IsNotLocked fails unless an error of Unlock is ErrNotLocked; if the subject has no ErrNotLocked, any error will do.
func (w *World) IsNotLocked(err error, what i18n.Text) {
	w.HasError(err, "%s returns no error, though the lock is not held: return ErrNotLocked", what)
	if w.Subject.ErrNotLocked != nil {
		w.ErrorIs(err, w.Subject.ErrNotLocked, "%s returns another error than ErrNotLocked", what)
	}
}

func (w *World) notErrNotLocked(err error, message i18n.Text) {
	if w.Subject.ErrNotLocked != nil {
		w.NotErrorIs(err, w.Subject.ErrNotLocked, "%s", message)
	}
}

// ErrNotLocked is what Unlock of a Contender wraps if it has no lease, or has lost it.
var ErrNotLocked = errors.New("not locked")

// A Contender makes a lock with leases a contender for the other suites. It keeps leases, and Unlock ends the latest.
type Contender struct {
	lock    LeaseLock
	subject LeaseSubject

	mu     sync.Mutex
	leases []Lease
}

func NewContender(s LeaseSubject, l LeaseLock) *Contender { return &Contender{lock: l, subject: s} }

func (c *Contender) Lock(ctx context.Context) error { return c.keep(c.lock.Lock(ctx)) }

func (c *Contender) TryLock() (bool, error) {
	err := c.keep(c.lock.TryLock(context.Background()))
	if errors.Is(err, c.subject.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

// keep adds a lease to those of the contender, unless err says that there is none. It returns err.
func (c *Contender) keep(lease Lease, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.leases = append(c.leases, lease)
	}
	return err
}

func (c *Contender) takeLatest() (lease Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.leases) - 1; last >= 0 {
		lease, c.leases = c.leases[last], c.leases[:last]
	}
	return lease
}

// Unlock ends the latest lease. If it fails, it may be called again.
func (c *Contender) Unlock() error {
	lease := c.takeLatest()
	if lease == nil {
		return ErrNotLocked
	}
	err := lease.Unlock(context.Background())
	if errors.Is(err, c.subject.ErrLost) {
		return fmt.Errorf("%w: %w", ErrNotLocked, err)
	}
	if err != nil {
		c.keep(lease, nil) // for the next call
	}
	return err
}
