package locktest

import (
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest/stage"
)

// A World is what one case runs in: a Stage, and the kind of lock that is put to the
// test there.
type World struct {
	*stage.Stage
	Subject Subject
}

// NewPlan makes a Plan of the cases that keep is true of. Each runs in a World
// whose contenders are the subject's, with what enter adds to it.
func NewPlan[W any](cases []TestCase[W], keep func(TestCase[W]) bool, contender Subject, enter func(w *World) W) Plan {
	return stage.NewPlan(cases, keep, contender.Queue, false, func(w *stage.Stage) W { return enter(&World{w, contender}) })
}

// Contender makes a contender for the lock, in a session of its own unless
// one is given.
func (w *World) Contender(in ...*Session) (Lock, *Session) {
	w.Helper()
	if len(in) == 0 {
		in = []*Session{w.Session()}
	}
	return w.Subject.New(in[0].Conn, w.Path), in[0]
}

// holder makes a contender that holds the lock.
func (w *World) holder() (Lock, *Session) {
	w.Helper()
	l, s := w.Contender()
	w.MustLock(l, "the holder")
	return l, s
}

// waiter makes a contender that waits for the lock.
func (w *World) waiter() (Lock, *Session, <-chan error) {
	w.Helper()
	l, s := w.Contender()
	result := w.Lock(l)
	w.Waits(result, s, "the waiter")
	return l, s, result
}

// Lock calls Lock aside.
func (w *World) Lock(l Lock) <-chan error { return w.Aside("Lock", l.Lock) }

// MustLock locks and fails if that does not work.
func (w *World) MustLock(l Lock, name string) {
	w.Helper()
	w.Holds(w.Lock(l), name)
}

// Try calls TryLock, which must return.
func (w *World) Try(l Lock, what string) (ok bool, err error) {
	w.Helper()
	err = w.Result(w.Aside("TryLock", func() (err error) {
		ok, err = l.TryLock()
		return err
	}), what)
	return ok, err
}

// Unlock lets go, and fails if that does not work.
func (w *World) Unlock(l Lock, name string) {
	w.Helper()
	require.NoError(w, w.UnlockErr(l, "Unlock of "+name), "Unlock of %s fails", name)
}

// UnlockErr calls Unlock, which must return.
func (w *World) UnlockErr(l Lock, what string) error {
	w.Helper()
	return w.Result(w.Aside("Unlock", l.Unlock), what)
}

// NotLocked fails if Unlock says anything but ErrNotLocked.
func (w *World) NotLocked(l Lock, what string) {
	w.Helper()
	w.IsNotLocked(w.UnlockErr(l, what), what)
}

// IsNotLocked fails if an error of Unlock is not ErrNotLocked, or is none
// where the subject does not say what that is.
func (w *World) IsNotLocked(err error, what string) {
	w.Helper()
	require.Error(w, err, "%s returns no error, though the lock is not held: return ErrNotLocked", what)
	if w.Subject.ErrNotLocked != nil {
		require.ErrorIs(w, err, w.Subject.ErrNotLocked, "%s returns another error than ErrNotLocked", what)
	}
}

// mayHold fails if an error is ErrNotLocked.
func (w *World) mayHold(err error, message string) {
	w.Helper()
	if w.Subject.ErrNotLocked != nil {
		require.NotErrorIs(w, err, w.Subject.ErrNotLocked, message)
	}
}
