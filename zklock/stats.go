package zklock

import "time"

// Stats says what a Mutex does now, and has done since New. A hold lasts from an owner's first lease until the last has ended.
type Stats struct {
	Waiting int // owners that wait
	Held    int // 1 if an owner holds the lock, or else 0
	Cached  int // 1 if nobody holds the lock and its node stays, see WithCaching, or else 0

	Acquired int64 // holds that have begun
	HandedOn int64 // of these, how many sent no request: the lock was handed on in memory, or its node was cached
	Lost     int64 // holds that have ended because the lock was lost; the next five of them say why
	Refused  int64 // calls of TryLock that have returned ErrHeld, and not the error of a ctx that has ended
	Retried  int64 // times that waiting owners had to queue again, because their node had gone: as a rule, with its session

	LostExpired   int64 // by ErrSessionExpired
	LostDeleted   int64 // by ErrNodeDeleted
	LostNotProved int64 // by ErrNotProved
	LostRefused   int64 // by ErrSessionRefused
	LostClosed    int64 // by zk.ErrClosing: the client was closed

	WaitDuration time.Duration // of all owners that have got the lock, until they had it
	HoldDuration time.Duration // of all holds, the present one among them
}

// Stats returns the counts of the Mutex. It sends nothing and allocates nothing.
func (m *Mutex) Stats() Stats {
	m.check()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Waiting = len(m.waiting)
	switch m.current.stateLocked() {
	case held:
		s.Held = 1
		s.HoldDuration += time.Since(m.current.holder.since)
	case idle:
		s.Cached = 1
	}
	return s
}
