// Tests that look into a Mutex: they are in package zklock, and not in zklock_test as the others.
package zklock

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zkserver"
)

// A verdict says what a Mutex does with its node, which is the first of the queue, while nobody holds the lock: leave
// deletes the node, keep keeps it cached, grant gives its next owner the lock, and with waitForList its owners wait for
// a list of the queue, which shows whether there are rivals: other contenders. The field rivals is asked while the list
// is on its way, absent if the list shows none, and assumed without a list.
func TestWhatBecomesOfAnIdleEntry(t *testing.T) {
	const most, long = 16, 50 * time.Millisecond // the default of WithHandOver
	// The node has room for one more hold, and a moment of time. No owner waits (wanted), there may be rivals, and the
	// session stays safe for long enough (lasts). Each row changes that.
	base := situation{mostHolds: most, mostAge: long, holds: most - 1, age: long - 1, lasts: true}
	for _, c := range []struct {
		name   string
		change func(s *situation)
		want   verdict
	}{
		{"nobody waits, and there may be rivals", func(*situation) {}, leave},
		{"nobody waits, and a list is on its way", func(s *situation) { s.rivals = asked }, keep},
		{"nobody waits, and there are no rivals", func(s *situation) { s.rivals = absent }, keep},
		{"nobody waits, and the session may end: the node goes when an owner comes", func(s *situation) { s.rivals, s.lasts = absent, false }, keep},
		{"nobody waits, and Shutdown was called", func(s *situation) { s.rivals, s.shut = absent, true }, leave},
		{"nobody waits, and another contender asks", func(s *situation) { s.rivals, s.revoked = absent, true }, leave},
		{"an owner waits, and may still have the node", func(s *situation) { s.wanted = true }, grant},
		{"an owner that waits gets its turn after Shutdown", func(s *situation) { s.wanted, s.shut = true, true }, grant},
		{"an owner in turn needs no list", func(s *situation) { s.wanted, s.rivals = true, asked }, grant},
		{"an owner waits, and the node has served enough", func(s *situation) { s.wanted, s.holds = true, most }, leave},
		{"an owner waits, and the node has served for long enough", func(s *situation) { s.wanted, s.age = true, long }, leave},
		{"an owner waits, the node has served enough, and a list is on its way",
			func(s *situation) { s.wanted, s.holds, s.rivals = true, most, asked }, waitForList},
		{"without rivals the node serves for longer", func(s *situation) { s.wanted, s.age, s.rivals = true, time.Hour, absent }, grant},
		{"without rivals the node serves all owners that the ten bits of a token have room for",
			func(s *situation) { s.wanted, s.holds, s.rivals = true, 1<<10-1, absent }, grant},
		{"a token has no room for another owner", func(s *situation) { s.wanted, s.holds, s.rivals = true, 1<<10, absent }, leave},
		{"an owner waits, and the session may end", func(s *situation) { s.wanted, s.lasts, s.rivals = true, false, asked }, leave},
		{"an owner waits, and another contender asks", func(s *situation) { s.wanted, s.revoked, s.rivals = true, true, asked }, leave},
	} {
		s := base
		c.change(&s)
		require.Equal(t, c.want, s.verdict(), c.name)
	}
}

// TryLock is refused if a node of another contender is before its own. It waits for nodes of its own Mutex that are
// being deleted: ours. In a queue{n, nearer, farther}, n nodes are before its own; nearer and farther are the last two.
func TestWhoseNodesAreBefore(t *testing.T) {
	ours := []string{"lock-7", "lock-8"}
	for _, c := range []struct {
		name    string
		before  queue
		leaving []string
		want    bool // a node of another contender is before
	}{
		{name: "nobody"},
		{name: "nobody, though the Mutex does not know that its nodes have gone", leaving: ours},
		{name: "one of ours", before: queue{1, "lock-8", ""}, leaving: ours},
		{name: "two of ours", before: queue{2, "lock-8", "lock-7"}, leaving: ours},
		{name: "another one", before: queue{1, "lock-6", ""}, want: true},
		{name: "another one, and ours has gone", before: queue{1, "lock-6", ""}, leaving: ours, want: true},
		{name: "another one, ours, ours", before: queue{3, "lock-8", "lock-7"}, leaving: ours, want: true},
		{name: "ours has gone, another one, ours", before: queue{2, "lock-8", "lock-6"}, leaving: ours, want: true},
		{name: "ours has gone, ours, another one", before: queue{2, "lock-9", "lock-8"}, leaving: ours, want: true},
	} {
		require.Equal(t, c.want, c.before.hasStrangers(c.leaving), c.name)
	}
}

// afterSuspend returns t as the runtime would read it had the machine been suspended for d: the wall clock has gone
// on, and the monotonic one has not. Package time has no way to make such a time, so it moves the seconds of the wall
// clock, which are above the 30 bits of the nanoseconds.
func afterSuspend(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

// A lease is over for each of its methods when its machine was suspended for longer than its session, although no time
// has passed by the clock that timers follow. The test is in real time, because virtual time has one clock.
func TestASuspendedMachineHasLostItsLeases(t *testing.T) {
	const session, hour = 20 * time.Minute, time.Hour // a busy machine must not lose it before
	now := time.Now()
	require.Zero(t, afterSuspend(now, hour).Sub(now), "by the monotonic clock")
	require.Equal(t, hour, afterSuspend(now, hour).Round(0).Sub(now.Round(0)), "by the wall clock")
	require.True(t, client.IsOver(afterSuspend(now, hour)), "though no monotonic time is left, the wall clocks differ by an hour")
	for name, knows := range map[string]func(l *Lease) bool{
		"Lost":       func(l *Lease) bool { return client.IsClosed(l.Lost()) },
		"ValidUntil": func(l *Lease) bool { return l.ValidUntil().IsZero() },
		"Context":    func(l *Lease) bool { return errors.Is(context.Cause(l.Context(t.Context())), ErrLost) },
		"Holds":      func(l *Lease) bool { return l.m.Holds(l.turn.owner) == 0 },
		"Guard":      func(l *Lease) bool { return errors.Is(testenv.Err(l.Guard(t.Context(), "/guard")), ErrFenced) },
		"Unlock":     func(l *Lease) bool { return errors.Is(l.Unlock(t.Context()), ErrLost) },
	} {
		t.Run(name, func(t *testing.T) {
			var suspended atomic.Int64
			client.Clock = func() time.Time { return afterSuspend(time.Now(), time.Duration(suspended.Load())) }
			t.Cleanup(func() { client.Clock = time.Now })
			m, l := underLock(t, zkserver.Run(t, zkserver.WithTick(session/2)), session)
			suspended.Store(int64(hour))
			require.True(t, knows(l), "by the wall clock")
			<-l.Done()
			require.NoError(t, m.Shutdown(t.Context()))
		})
	}
}

// underLock opens a client, which is closed when the test ends, and acquires the lock for a new owner.
func underLock(t *testing.T, srv *zkserver.Server, session time.Duration) (*Mutex, *Lease) {
	conn := testenv.Must(ensemble.OverPipes(srv).Connect(t.Context(), ensemble.Options{SessionTimeout: session}))(t)
	t.Cleanup(conn.Close)
	m := testenv.Must(New(conn, "/lock", WithSessionTimeout(session)))(t)
	return m, testenv.Must(m.Lock(t.Context(), NewOwner("owner")))(t)
}

// Lost closes soon after a suspend, for which the timers stop. In virtual time the one clock goes on during it.
func TestAChannelIsClosedSoonAfterASuspend(t *testing.T) {
	const session = 10 * time.Second
	var suspended atomic.Int64
	client.Clock = func() time.Time { return time.Now().Add(time.Duration(suspended.Load())) }
	defer func() { client.Clock = time.Now }()
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		m, l := underLock(t, srv, session)
		time.Sleep(2 * session) // until the lease rests on a proof of the session, and no longer on its first write
		lost := l.Lost()
		suspended.Store(int64(time.Hour))
		began := time.Now()
		<-lost
		require.LessOrEqual(t, time.Since(began), session/8)
		require.ErrorIs(t, l.Unlock(t.Context()), ErrLost)
		require.NoError(t, m.Shutdown(t.Context()))
	})
}

// A cached node that goes leaves nothing in memory, although its Mutex would have kept it for 1000 hours.
func TestANodeThatIsTakenAwayLeavesNothingInMemory(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		m, l := underLock(t, srv, 10*time.Second)
		require.NoError(t, l.Unlock(t.Context()))
		m.caching, m.habit.needed = 1000*time.Hour, 0 // a node may stay although no streak of other nodes was before it
		require.NoError(t, m.Do(t.Context(), nil, func(context.Context, *Lease) error { return nil }))
		synctest.Wait()
		cached := weak.Make(m.current)
		srv.Expire(m.client.SessionID())
		require.True(t, bubble.Until(synctest.Wait, func() bool {
			runtime.GC()
			return cached.Value() == nil
		}))
	})
}

// A parked entry has no goroutine: its parking waits in Mutex.parked, which has room for one, until a call takes it in
// attend. If the call ends, it puts the parking back for another one, but not if the entry goes on already:
//  1. The call takes the parking.
//  2. leaveLocked gives the entry up: it sets entry.parked to nil, and starts a goroutine for the entry.
//  3. The call ends. If it put the parking back, the next entry to park would find no room.
func TestACallerThatGoesDoesNotPutBackAnEntryThatGoesOnAlready(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, ready := &Mutex{parked: make(chan *parking, 1)}, make(chan struct{})
		m.parked <- &parking{e: new(entry)} // step 2 is done: the entry's parked is nil
		go m.attend(t.Context(), ready, nil)
		synctest.Wait() // until the call has taken the parking
		close(ready)    // which ends the call
		synctest.Wait()
		require.Empty(t, m.parked)
	})
}

// After a contender has come, no node is kept for twice the time since the one before, at least 1 s, at most 2 h.
func TestNoNodeIsKeptForTwiceTheTimeBetweenOthers(t *testing.T) {
	var h habit
	now := time.Now()
	require.False(t, h.isQuiet(now), "nobody has come")
	for _, c := range []struct{ since, quiet time.Duration }{ // since the contender before came; then no node is kept for quiet
		{since: 0, quiet: time.Second}, {since: time.Minute, quiet: 2 * time.Minute}, {since: 3 * time.Minute, quiet: 6 * time.Minute},
		{since: time.Hour, quiet: 2 * time.Hour}, {since: 24 * time.Hour, quiet: 2 * time.Hour},
	} {
		now = now.Add(c.since)
		require.False(t, h.isQuiet(now))
		h.disturbed(now)
		require.True(t, h.isQuiet(now.Add(c.quiet-1)), "%v", c)
		require.False(t, h.isQuiet(now.Add(c.quiet)), "%v", c)
	}
}

// CachingFrom lets WithCaching keep a node after a streak of another length. After 0 it keeps every node.
func CachingFrom(streak int) Option {
	return func(s *settings) error {
		s.leastStreak = streak
		return nil
	}
}
