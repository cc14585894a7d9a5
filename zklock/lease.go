package zklock

import (
	"context"
	"fmt"
	"time"

	"example.com/zklock/zklock/internal/client"
)

// A Lease is one successful Lock or TryLock. An owner that locks again while it holds the lock gets another lease of
// the same hold; the lock is released with the last of them. All methods may be called from any goroutine.
//
// What they say, and when; all leases of a hold have the same Lost and RevokeRequested:
//
//	                 held, proved    Revoke called   lock lost      after Unlock
//	Lost             open            open            closed         open
//	Done             open            open            closed         closed
//	RevokeRequested  open            closed          as before      as before
//	ValidUntil       moves on        moves on        zero           zero
//	Context          goes on         goes on         ErrLost        ErrUnlocked
//
// With ErrLost comes its cause: ErrSessionExpired, ErrNodeDeleted, ErrNotProved, ErrSessionRefused, or zk.ErrClosing.
type Lease struct {
	m      *Mutex
	turn   *turn
	ctx    context.Context // ends when the lease is over
	cancel context.CancelCauseFunc

	// Guarded by m.mu.
	ended    bool // Unlock was called
	reported bool // Unlock has returned how the lease ended
	refused  bool // Unlock has returned that the server refuses to delete the node: the next call waits until it has gone
}

// check returns l. It panics if l was not returned by Lock or TryLock.
func (l *Lease) check() *Lease {
	if l == nil || l.m == nil {
		panic("zklock: a Lease is what Lock or TryLock returns with a nil error")
	}
	return l
}

// Token returns the lock's fencing token. Of two holders of a path the later one has the higher token, also if the
// path was removed and made again in between. A resource that stores the highest token it has seen, and refuses lower
// ones, is safe from a holder that has lost the lock and has not noticed it yet. The token is the zxid with which the
// holder's node was made, or one as good, shifted left by ten bits, plus the number of hand-overs within its Mutex.
//
// There are two exceptions. If somebody deletes the holder's node by hand, another process may get the lock, and the
// Mutex may hand it on until it sees that the node has gone: those tokens are lower than the other process's, and the
// resource refuses them. And servers that have lost their data begin again at low numbers.
func (l *Lease) Token() int64 { return l.check().turn.token }

// Node returns the path of the holder's node, by which Participants shows it. It does not stand for the lease:
// goroutines of a Mutex hand the lock on without a new node, so a write that checks in its transaction that the node
// exists may be one of an earlier holder. Use a Guard for that.
func (l *Lease) Node() string { return l.check().turn.entry.node.Path }

// Lost returns a channel that is closed when the lock can no longer be trusted: the session has expired, somebody has
// deleted the lock's node, or the servers have not proved, within the session timeout, that the session lives. The
// clock for that is this process's. If the machine is suspended, Lost reads the wall clock when it is called, and soon
// after the machine resumes; a wall clock that is set forward by hand may cost the lease. Work under the lock must stop
// then. Unlock must still be called. The channel stays open when the hold ends with Unlock; see Done.
func (l *Lease) Lost() <-chan struct{} {
	l.check()
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.isLostLocked(l.turn)
	return l.turn.lostCtx.Done()
}

// ValidUntil returns until when the lock is proved to be held, by this process's clock: unless somebody deletes the
// lock's node, no other contender holds the lock before. If no further proof succeeds, Lost closes at that time. The
// zero Time says that the lease is over.
//
// Each proof moves it on, at least six times per session timeout T. While the servers answer in time, and a round trip
// to them takes r, at least T/5 - 3r is left; and at least T/2 - 5r when the lease is older than T/3 + 4r.
//
// It is for what must end with the lease: the deadline of a request, or the time at which a process is killed. Compare
// it with time.Now; in another process use what is left of it, [time.Until]. If the machine is suspended, the monotonic
// part of it stops, so compare the wall clocks, too, as Lost does.
func (l *Lease) ValidUntil() time.Time {
	l.check()
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.isLostLocked(l.turn); l.ctx.Err() != nil {
		return time.Time{}
	}
	return l.m.client.SafeUntil(l.turn.entry.node.Session)
}

// Done returns a channel that is closed when the lease is over: when Unlock is called for it, or when the lock is lost.
func (l *Lease) Done() <-chan struct{} { return l.check().ctx.Done() }

// Context returns a context that ends with parent, and when the lease is over: its cause then wraps ErrLost, or is
// ErrUnlocked after Unlock. It has parent's values and deadline, and ends a moment after Done closes.
func (l *Lease) Context(parent context.Context) context.Context {
	l.Lost() // which reads the wall clock
	ctx, cancel := context.WithCancelCause(parent)
	end := func() { cancel(context.Cause(l.ctx)) }
	if l.ctx.Err() != nil {
		end() // at once
	}
	forget := context.AfterFunc(l.ctx, end)
	context.AfterFunc(ctx, func() { forget() }) // else a ctx that ends before the lease would stay in memory with it
	return ctx
}

// RevokeRequested returns a channel that is closed when somebody has called Revoke for this holder, or Curator's
// Revoker. It is a request: the lock is held until Unlock. The channel stays open if nobody does; see Done.
func (l *Lease) RevokeRequested() <-chan struct{} { return l.check().turn.revoke }

// Unlock ends the lease; an owner's last Unlock releases the lock, and returns when its node has gone. If the
// connection is broken it tries again until the node has gone, or its session.
//
// If another owner of the Mutex waits, Unlock may hand the lock on to it without a
// request. If the session has ended and the client has not noticed it yet, the loss
// is then reported to that owner. With WithCaching, Unlock may keep the node.
//
// Unlock returns ErrLost if the lock was lost before, and ErrUnlocked if this lease was unlocked before. After an
// error that wraps ctx.Err() the lease is given up, and its node is removed as soon as a server can be reached; Unlock
// may be called again to wait for that. Other errors: the server refuses the delete; Unlock may be called again, too.
func (l *Lease) Unlock(ctx context.Context) error {
	l.check()
	m, e, began := l.m, l.turn.entry, time.Now()
	over, refused, err := l.end()
	if over {
		return err
	}

	select { // the node is being deleted
	case <-e.ended:
	case <-refused: // nil, if an earlier call has said so: then this one waits on
	case <-ctx.Done():
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	switch isRefused := client.IsClosed(refused); {
	case l.reported: // another call was faster
		return fmt.Errorf("%w: %s", ErrUnlocked, m.path)
	case e.state == gone:
		l.reported = true
	case isRefused:
		l.refused = true
	default: // ctx has ended
		return m.client.Ended(ctx, "unlock "+m.path, began)
	}
	return e.err
}

// end ends the lease if no earlier call has. With over, there is nothing to wait for, and err is what Unlock returns.
// Otherwise the node is being deleted; refused is closed if the server refuses that, or nil if a call has said so.
func (l *Lease) end() (over bool, refused <-chan struct{}, err error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.reported {
		return true, nil, fmt.Errorf("%w: %s", ErrUnlocked, l.m.path)
	}
	lost := l.m.isLostLocked(l.turn)
	if !l.ended {
		l.endLocked()
		l.reported = lost || !l.turn.nodeGoes
	}
	switch {
	case lost:
		return true, nil, context.Cause(l.turn.lostCtx)
	case l.reported: // the owner has other leases, or the lock was handed on, or the node stays
		return true, nil, nil
	case l.refused:
		return false, nil, nil
	}
	return false, l.turn.entry.refused, nil
}

// endLocked ends a lease. The last one of an owner releases the lock.
func (l *Lease) endLocked() {
	l.cancel(ErrUnlocked)
	l.ended = true
	l.turn.leases--
	if l.turn.leases == 0 {
		l.m.releaseLocked(l.turn)
	}
}
