package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
)

// A meter is a table on which all that the clients send is counted.
type meter struct {
	*table
	tap *wiretap.Tap
}

func onMeter(t *testing.T, play func(m *meter)) {
	t.Helper()
	onTable(t, func(tb *table) {
		m := &meter{tb, wiretap.New()}
		_, err := tb.connect().Create(top, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)) // or the first makes it
		require.NoError(t, err)
		play(m)
	})
}

func (m *meter) newMutex() *zklock.Mutex {
	m.Helper()
	return m.mutex(m.connectWith(ensemble.Options{Tap: m.tap}))
}

type requests = map[jute.Op]int64

// settle is until everybody waits for something.
func (m *meter) settle() {
	time.Sleep(10 * time.Millisecond) // of virtual time: a client takes one for the first reply of a connection
}

// sent returns what is sent while f runs and until everybody waits for
// something.
func (m *meter) sent(f func()) requests {
	m.settle()
	before := m.tap.Counts()
	f()
	m.settle()
	sent := m.tap.Counts().Since(before).Requests
	delete(sent, jute.OpPing)
	return sent
}

// arrives locks aside, and fails the test if the lock is free.
func (m *meter) arrives(mutex *zklock.Mutex) <-chan locked {
	m.Helper()
	waiter := lockAside(context.Background(), mutex, zklock.NewOwner("waiter"))
	m.settle()
	require.Empty(m, waiter, "it holds the lock")
	return waiter
}

// goesOn takes what a waiter has got by now.
func (m *meter) goesOn(waiter <-chan locked) *zklock.Lease {
	m.Helper()
	m.settle()
	require.Len(m, waiter, 1, "it waits, and nobody is before it")
	got := <-waiter
	require.NoError(m, got.err)
	return got.lease
}

func (m *meter) mustUnlock(l *zklock.Lease) {
	m.Helper()
	require.NoError(m, l.Unlock(context.Background()))
}

func TestCostWithoutContention(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		want := requests{jute.OpCreate: 1, jute.OpGetChildren2: 1, jute.OpGetData: 1, jute.OpDelete: 1}
		require.Equal(t, want, m.sent(func() { m.mustUnlock(m.mustLock(ours, zklock.NewOwner("alone"))) }))
	})
}

func TestCostBehindAnotherOfTheSameMutex(t *testing.T) {
	const n = 10
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		want := requests{jute.OpCreate: n, jute.OpGetChildren2: 1, jute.OpGetData: n, jute.OpDelete: n}
		require.Equal(t, want, m.sent(func() {
			holder := m.mustLock(ours, zklock.NewOwner("first"))
			var waiters []<-chan locked
			for range n - 1 {
				waiters = append(waiters, m.arrives(ours))
			}
			for _, waiter := range waiters {
				m.mustUnlock(holder)
				holder = m.goesOn(waiter)
			}
			m.mustUnlock(holder)
		}))
	})
}

// TestCostOfSessionsThatComeOneByOne is 6N - 3, and the watch events 3N - 3.
func TestCostOfSessionsThatComeOneByOne(t *testing.T) {
	const n = 10
	onMeter(t, func(m *meter) {
		before := m.tap.Counts().Events
		want := requests{jute.OpCreate: n, jute.OpGetChildren2: n, jute.OpGetData: 3*n - 3, jute.OpDelete: n}
		require.Equal(t, want, m.sent(func() {
			holder := m.mustLock(m.newMutex(), zklock.NewOwner("first"))
			var waiters []<-chan locked
			for range n - 1 {
				waiters = append(waiters, m.arrives(m.newMutex()))
			}
			for _, waiter := range waiters {
				m.mustUnlock(holder)
				holder = m.goesOn(waiter)
			}
			m.mustUnlock(holder)
		}))
		require.EqualValues(t, 3*n-3, m.tap.Counts().Events-before)
	})
}

// behind returns what a Mutex sends for an acquisition behind some contenders
// of others, whose requests do not count: they have no tap.
func (m *meter) behind(ours *zklock.Mutex, strangers int) requests {
	m.Helper()
	if strangers == 0 {
		return m.sent(func() { m.mustUnlock(m.mustLock(ours, zklock.NewOwner("alone"))) })
	}
	holder := m.mustLock(m.mutex(m.connect()), zklock.NewOwner("first stranger"))
	var waiters []<-chan locked
	for range strangers - 1 {
		waiters = append(waiters, m.arrives(m.mutex(m.connect())))
	}
	return m.sent(func() {
		waiters = append(waiters, m.arrives(ours))
		for _, waiter := range waiters {
			m.mustUnlock(holder)
			holder = m.goesOn(waiter)
		}
		m.mustUnlock(holder)
	})
}

func TestCostBehindStrangers(t *testing.T) {
	onMeter(t, func(m *meter) {
		used := m.mutex(m.connect())
		for range 2 {
			m.mustUnlock(m.mustLock(used, zklock.NewOwner("earlier")))
		}
		sends := func(ours *zklock.Mutex, strangers int, lists, gets int64) {
			t.Helper()
			require.Equal(t, requests{jute.OpCreate: 1, jute.OpGetChildren2: lists, jute.OpGetData: gets, jute.OpDelete: 1},
				m.behind(ours, strangers))
		}
		ours := m.newMutex()
		sends(ours, 0, 1, 2) // it expects others
		sends(ours, 0, 1, 1) // and now nobody
		sends(ours, 1, 1, 2)
		sends(ours, 1, 1, 3) // it expects two
		sends(ours, 2, 1, 3)
		sends(ours, 0, 1, 2)
		sends(ours, 2, 2, 3)
		sends(ours, 3, 1, 3)
		sends(m.newMutex(), 1, 1, 3)
		sends(m.newMutex(), 3, 1, 3)
	})
}

// TestTheNextOfAMutexLooksAheadWhileTheFirstHolds: then the lock changes hands
// without a request.
func TestTheNextOfAMutexLooksAheadWhileTheFirstHolds(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		first := m.mustLock(ours, zklock.NewOwner("first"))
		stranger := m.arrives(m.mutex(m.connect()))
		second := m.arrives(ours)
		require.Equal(t, requests{jute.OpDelete: 1, jute.OpGetChildren2: 1}, m.sent(func() { m.mustUnlock(first) }))
		require.Empty(t, m.sent(func() { m.mustUnlock(m.goesOn(stranger)) }))
		m.mustUnlock(m.goesOn(second))
	})
}

// TestAStrangerThatLeavesMakesNeighbours: the next of the Mutex is told in
// memory from then on.
func TestAStrangerThatLeavesMakesNeighbours(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		first := m.mustLock(ours, zklock.NewOwner("first"))
		ctx, leave := context.WithCancel(context.Background())
		stranger := lockAside(ctx, m.mutex(m.connect()), zklock.NewOwner("stranger"))
		m.settle()
		second := m.arrives(ours)
		leave()
		require.ErrorIs(t, (<-stranger).err, context.Canceled)
		require.Equal(t, requests{jute.OpDelete: 1}, m.sent(func() { m.mustUnlock(first) }))
		m.mustUnlock(m.goesOn(second))
	})
}

func TestTryLockBehindAnotherOfTheSameMutexSendsNothing(t *testing.T) {
	onMeter(t, func(m *meter) {
		ours := m.newMutex()
		holder := m.mustLock(ours, zklock.NewOwner("holder"))
		require.Empty(t, m.sent(func() {
			_, err := ours.TryLock(context.Background(), zklock.NewOwner("other"))
			require.ErrorIs(t, err, zklock.ErrHeld)
		}))
		m.mustUnlock(holder)
	})
}

// TestCostOfHoldingIsThreeRequestsPerThirdOfTheSessionTimeout, and that of
// waiting is two, and one per session timeout, however many wait.
func TestCostOfHoldingIsThreeRequestsPerThirdOfTheSessionTimeout(t *testing.T) {
	onMeter(t, func(m *meter) {
		wait := func() { time.Sleep(100 * time.Second) } // ten session timeouts
		holder := m.mustLock(m.newMutex(), zklock.NewOwner("holder"))
		sent := m.sent(wait)
		require.Len(t, sent, 3)
		require.InDelta(t, 30, sent[jute.OpSync], 1)
		require.InDelta(t, 32, sent[jute.OpMulti], 2) // two of them alone, before the first proof
		require.InDelta(t, 30, sent[jute.OpGetData], 4)
		m.mustUnlock(holder)

		stranger := m.mustLock(m.mutex(m.connect()), zklock.NewOwner("stranger"))
		ours := m.newMutex()
		first, second := m.arrives(ours), m.arrives(ours)
		sent = m.sent(wait)
		require.Len(t, sent, 3)
		require.InDelta(t, 10, sent[jute.OpGetData], 1)
		require.InDelta(t, 30, sent[jute.OpSync], 1)
		require.InDelta(t, 32, sent[jute.OpMulti], 2) // two of them alone, before the first proof
		m.mustUnlock(stranger)
		m.mustUnlock(m.goesOn(first))
		m.mustUnlock(m.goesOn(second))
	})
}

// TestTheFirstProofAfterAQuietTimeIsNotHurried: it begins with the create, and
// not with what was answered before the quiet.
func TestTheFirstProofAfterAQuietTimeIsNotHurried(t *testing.T) {
	onMeter(t, func(m *meter) {
		mutex := m.newMutex()
		for range 2 {
			l := m.mustLock(mutex, zklock.NewOwner("owner"))
			require.Empty(t, m.sent(func() { time.Sleep(800 * time.Millisecond) })) // less than a twelfth of the session timeout
			m.mustUnlock(l)
			time.Sleep(time.Minute) // six session timeouts
		}
	})
}

// TestAHundredMutexesOfAClientProveLikeOne.
func TestAHundredMutexesOfAClientProveLikeOne(t *testing.T) {
	for _, mutexes := range []int{1, 100} {
		onTable(t, func(tb *table) {
			tap := wiretap.New()
			conn := tb.connectAs(ordinary{wrap: tapped(tap)})
			var leases []*zklock.Lease
			for i := range mutexes {
				m, err := zklock.New(conn, fmt.Sprintf("%s-%d", top, i), zklock.WithSessionTimeout(10*time.Second))
				require.NoError(tb, err)
				leases = append(leases, tb.mustLock(m, zklock.NewOwner("owner")))
			}
			time.Sleep(100 * time.Second) // ten session timeouts
			before := tap.Counts()
			time.Sleep(100 * time.Second)
			sent := tap.Counts().Since(before).Requests
			require.EqualValues(tb, 30, sent[jute.OpSync])
			require.EqualValues(tb, 30, sent[jute.OpMulti])
			for _, l := range leases {
				require.NoError(tb, l.Unlock(context.Background()))
			}
			before = tap.Counts()
			time.Sleep(100 * time.Second)
			require.Zero(tb, tap.Counts().Since(before).Total(), "nobody needs a proof")
		})
	}
}
