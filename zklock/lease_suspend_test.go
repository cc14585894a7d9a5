package zklock

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zkserver"
)

// afterSuspend returns t as the runtime would read it had the machine been
// suspended for d: the wall clock has gone on, and the monotonic one has not.
// Package time has no way to make such a time, so it moves the seconds of the
// wall clock, which are above the 30 bits of the nanoseconds.
func afterSuspend(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

// A machine is suspended while it holds the lock, for longer than its session.
// When it continues, no time has passed by the clock that timers follow. The
// test is in real time, because virtual time has one clock.
func TestASuspendedMachineHasLostItsLeases(t *testing.T) {
	const session, hour = 20 * time.Minute, time.Hour // a busy machine must not lose it before
	now := time.Now()
	require.Zero(t, afterSuspend(now, hour).Sub(now), "by the monotonic clock")
	require.Equal(t, hour, afterSuspend(now, hour).Round(0).Sub(now.Round(0)), "by the wall clock")
	require.True(t, client.IsOver(afterSuspend(now, hour)), "a wall clock that was set back")
	for _, c := range []struct {
		name  string
		after func(t *testing.T, l *Lease, suspend func())
	}{
		{"Lost looks at the wall clock", func(t *testing.T, l *Lease, suspend func()) {
			suspend()
			require.True(t, client.IsClosed(l.Lost()))
		}},
		{"so does Unlock", func(t *testing.T, l *Lease, suspend func()) {
			suspend()
			require.ErrorIs(t, l.Unlock(t.Context()), ErrLost)
		}},
		{"so does ValidUntil", func(t *testing.T, l *Lease, suspend func()) {
			suspend()
			require.Zero(t, l.ValidUntil())
		}},
		{"so does Holds", func(t *testing.T, l *Lease, suspend func()) {
			require.Equal(t, 1, l.m.Holds(l.turn.owner))
			suspend()
			require.Zero(t, l.m.Holds(l.turn.owner))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var suspended atomic.Int64
			client.Clock = func() time.Time { return afterSuspend(time.Now(), time.Duration(suspended.Load())) }
			defer func() { client.Clock = time.Now }()
			srv := zkserver.New(zkserver.WithTick(session / 2))
			defer srv.Close()
			m, l, end := underLock(t, srv, session)
			defer end()
			c.after(t, l, func() { suspended.Store(int64(hour)) })
			<-l.Done()
			require.NoError(t, m.Shutdown(t.Context()))
		})
	}
}

// held has a client of a server hold the lock. End closes the client.
func underLock(t *testing.T, srv *zkserver.Server, session time.Duration) (m *Mutex, l *Lease, end func()) {
	conn := testenv.Must(ensemble.OverPipes(srv).Connect(t.Context(), ensemble.Options{SessionTimeout: session}))(t)
	m = testenv.Must(New(conn, "/lock", WithSessionTimeout(session)))(t)
	l = testenv.Must(m.Lock(t.Context(), NewOwner("owner")))(t)
	return m, l, conn.Close
}

// TestAChannelIsClosedSoonAfterASuspend: the timers stop meanwhile. In virtual time
// the wall clock and the other one are the same, so both go on here.
func TestAChannelIsClosedSoonAfterASuspend(t *testing.T) {
	const session = 10 * time.Second
	var suspended atomic.Int64
	client.Clock = func() time.Time { return time.Now().Add(time.Duration(suspended.Load())) }
	defer func() { client.Clock = time.Now }()
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		m, l, end := underLock(t, srv, session)
		defer end()
		time.Sleep(2 * session) // it is proved
		lost := l.Lost()
		suspended.Store(int64(time.Hour))
		began := time.Now()
		<-lost
		require.LessOrEqual(t, time.Since(began), session/8)
		require.ErrorIs(t, l.Unlock(t.Context()), ErrLost)
		require.NoError(t, m.Shutdown(t.Context()))
	})
}
