package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Lease is one successful Lock or TryLock. An owner that locks again while
// it holds the lock gets another lease of the same hold; the lock is let go
// with the last of them. All methods may be called from any goroutine.
type Lease struct {
	m        *Mutex
	p        *place
	over     context.Context // of the lease
	end      func()
	reported bool // Unlock has said how it ended; guarded by m.mu
}

// Token returns the lock's fencing token: the zxid with which the holder's
// node was made. Of two holders of a path the later one has the higher token,
// even when the path was removed and made again in between. A resource that
// remembers the highest token it has seen, and refuses lower ones, is safe
// from a holder that has lost the lock and does not know it yet.
func (l *Lease) Token() int64 { return l.p.token }

// Node returns the path of the holder's node, by which it is found among the
// Participants.
func (l *Lease) Node() string { return l.p.node }

// Lost returns a channel that is closed when the lock can no longer be
// trusted: the session has expired, somebody has deleted the lock's node, or
// the servers have not proved, within the session timeout, that the session
// lives. The clock for that is this process's. If the machine is suspended,
// Lost looks at the wall clock when it is called, and soon after the machine
// has come back; a wall clock that is set forward by hand may cost the lease.
// What was begun under the lock must stop. Unlock must still be called. The
// channel stays open when the lease ends with Unlock; see Done.
func (l *Lease) Lost() <-chan struct{} {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.isLostLocked(l.p)
	return l.p.lost.Done()
}

// Done returns a channel that is closed when the lease is over: when Unlock is
// called for it, or when the lock is lost.
func (l *Lease) Done() <-chan struct{} { return l.over.Done() }

// RevokeRequested returns a channel that is closed when somebody has called
// Revoke for this holder, or Curator's Revoker. It is a request: the lock is
// held until Unlock. The channel stays open if nobody does; see Done.
func (l *Lease) RevokeRequested() <-chan struct{} { return l.p.revoke }

// Unlock ends the lease; an owner's last Unlock lets go of the lock, and
// returns when its node has gone. If the connection is broken it tries again
// until the node is gone, or its session.
//
// It returns ErrLost if the lock was lost before, and ErrUnlocked if this
// lease was unlocked before. After an error that wraps ctx.Err() the lease is
// given up, and its node is removed as soon as a server can be reached; Unlock
// may be called again to wait for that. After any other error the server
// refuses to delete the node, and the same holds.
func (l *Lease) Unlock(ctx context.Context) error {
	m, p, began := l.m, l.p, time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.reported {
		return fmt.Errorf("%w: %s", ErrUnlocked, m.path)
	}
	lost := m.isLostLocked(p)
	l.endLocked()
	l.reported = lost || p.leases > 0
	switch {
	case lost:
		return fmt.Errorf("%w: %s", ErrLost, p.node)
	case l.reported:
		return nil
	}
	stuck := p.stuck
	m.mu.Unlock()
	var err error
	select {
	case <-p.gone:
	case <-stuck:
	case <-ctx.Done():
		err = m.session.ended(ctx, "unlock "+m.path, began)
	}
	m.mu.Lock()
	if err != nil {
		return err
	}
	l.reported, p.stuck = isClosed(p.gone), make(chan struct{}) // the next Unlock waits until it has gone
	return p.err
}

// endLocked takes a lease away from its place, which is left with the last one.
// After that the count is of no use: an Unlock that is called again lowers it.
func (l *Lease) endLocked() {
	l.end()
	if l.p.leases--; l.p.leases == 0 {
		l.m.leaveLocked(l.p)
	}
}

// refused waits before the next try of what would end a place and must not be
// given up though a server has refused it n times: the reason may pass. The
// pauses grow. The waiting callers are told.
func (m *Mutex) refused(p *place, n int, err error) error {
	if n == 3 {
		m.mu.Lock()
		m.leaveLocked(p)
		p.err = errors.Join(p.err, fmt.Errorf("zklock: %w (it is tried again until the session ends)", err))
		for _, c := range []chan struct{}{p.ready, p.stuck} {
			if !isClosed(c) {
				close(c)
			}
		}
		m.mu.Unlock()
	}
	return m.session.pause(m.session.backoff(n-1), nil)
}

func (m *Mutex) loseLocked(p *place) {
	if p.held && !isClosed(p.left) {
		p.lose()
		m.leaveLocked(p)
	}
}

// isLostLocked says whether a lock is lost. It is, at the latest, when its
// session is no longer known to live.
func (m *Mutex) isLostLocked(p *place) bool {
	if isOver(m.session.safeUntil(p.session)) {
		m.loseLocked(p)
	}
	return p.lost.Err() != nil
}

// startClockLocked watches over a lock that is held: a holder that is cut off
// learns nothing from its client before the next contender may hold the lock. The
// clock looks often, because it stands still while the machine is suspended.
func (m *Mutex) startClockLocked(p *place) {
	tick := max(time.Millisecond, min(time.Until(m.session.safeUntil(p.session)), m.session.timeout()/8))
	p.clock = time.AfterFunc(tick, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !isClosed(p.left) && !m.isLostLocked(p) {
			m.startClockLocked(p)
		}
	})
}
