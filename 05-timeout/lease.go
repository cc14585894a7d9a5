package timeout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Lease is one successful Lock or TryLock. An owner that locks again while
// it holds the lock gets another lease of the same hold; the lock is let go
// with the last of them. All methods may be called from any goroutine.
type Lease struct {
	m        *Mutex
	p        *place
	given    bool // Unlock has been called; guarded by m.mu
	refused  bool // and has said that the server refuses; guarded by m.mu
	reported bool // and has said how it ended; guarded by m.mu
}

// Token returns the lock's fencing token: the zxid with which the holder's
// node was made. Of two holders of a path the later one has the higher token,
// even when the path was removed and made again in between. A resource that
// remembers the highest token it has seen, and refuses lower ones, is safe
// from a holder that has lost the lock and does not know it yet.
func (l *Lease) Token() int64 { return l.p.token }

// Lost returns a channel that is closed when the lock can no longer be
// trusted: the session has expired, somebody has deleted the lock's node, or
// no server has been heard for as long as the session timeout, by this
// process's clock. What was begun under the lock must stop. Unlock must still
// be called. The channel stays open when the lease ends with Unlock.
func (l *Lease) Lost() <-chan struct{} { return l.p.lost }

// RevokeRequested returns a channel that is closed when somebody has called
// Revoke for this holder, or Curator's Revoker. It is a request: the lock is
// held until Unlock.
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
	m, p := l.m, l.p
	m.mu.Lock()
	if l.reported {
		m.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrUnlocked, m.path)
	}
	if !l.given {
		l.given = true
		p.leases--
	}
	switch {
	case isClosed(p.lost):
		l.reported = true
		m.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrLost, p.node)
	case p.leases > 0:
		l.reported = true
		m.mu.Unlock()
		return nil
	}
	m.leaveLocked(p)
	stuck := p.stuck
	if l.refused {
		stuck = nil
	}
	m.mu.Unlock()
	began := time.Now()
	select {
	case <-p.gone:
	case <-stuck:
	case <-ctx.Done():
		return m.ended(ctx, "unlock", began)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l.reported = isClosed(p.gone)
	l.refused = true
	return p.unlocked
}

// refused tells who waits in Unlock that the server does not delete the node.
func (m *Mutex) refused(p *place, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.unlocked = fmt.Errorf("timeout: unlock: delete %s: %w (it is tried again until the session ends)", p.node, err)
	close(p.stuck)
}

// lose ends a lease that its owner has not ended.
func (m *Mutex) lose(p *place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loseLocked(p)
}

func (m *Mutex) loseLocked(p *place) {
	if p.held && !isClosed(p.left) {
		close(p.lost)
		m.leaveLocked(p)
	}
}

func (m *Mutex) hasVanished(p *place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return p.vanished
}

// silence is how long ago the session of a place was last known to be alive:
// when a request was sent that has been answered. The server counts from when
// it received that, or from later.
func (m *Mutex) silence(p *place) time.Duration {
	if m.session != p.session {
		return m.timeout // there is a new one
	}
	return time.Since(m.heard)
}

// startClockLocked watches over a lock that is held. A holder that is cut off
// learns nothing from its client before that reaches a server again; by then
// the session may have ended, and the next one been let in. So the lock is
// lost when no request has been answered for as long as the session timeout;
// and every third of it, should nobody else ask anything, a read is sent. Who
// has waited in quiet may be due for one at once.
func (m *Mutex) startClockLocked(p *place) {
	p.clock = time.AfterFunc(m.timeout/3-m.silence(p), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if isClosed(p.left) {
			return
		}
		silence := m.silence(p)
		if silence >= m.timeout {
			m.loseLocked(p)
			return
		}
		next := m.timeout/3 - silence
		if next <= 0 {
			next = min(m.timeout/30, m.timeout-silence)
			m.beatLocked(p)
		}
		p.clock.Reset(next)
	})
}

// beatLocked reads the node of a place, unless the server has been asked
// before and does not answer.
func (m *Mutex) beatLocked(p *place) {
	if m.beating {
		return
	}
	m.beating = true
	go func() {
		var data []byte
		var stat *zk.Stat
		err := m.call(func() (err error) { data, stat, err = m.conn.Get(p.node); return err })
		gone := errors.Is(err, zk.ErrNoNode) || err == nil && !m.recognize(p, data, stat)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.beating = false
		if gone {
			p.vanished = true
			m.loseLocked(p)
		}
	}()
}

// ended is the error of a call whose ctx has ended. It wraps ctx.Err() and
// says what the trouble with the server was, if there was any.
func (m *Mutex) ended(ctx context.Context, what string, began time.Time) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trouble != nil && m.troubleAt.After(began) {
		err = fmt.Errorf("%w (%w)", err, m.trouble)
	}
	return fmt.Errorf("timeout: %s %s, after %v: %w", what, m.path, time.Since(began).Round(time.Millisecond), err)
}
