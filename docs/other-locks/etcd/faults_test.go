// Tests of what the lock does when the line to etcd breaks, or etcd is killed.
package etcd_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/etcd"
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers"
	"example.com/zklock/internal/testenv"
)

// The cases of all locks.
func TestTheLineBreaks(t *testing.T) { faults.Run(t, subject(t, server(t), newLocks(ttl))) }

func TestNothingIsLeftBehindAtAnyInstant(t *testing.T) {
	faults.Sweep(t, subject(t, server(t), newLocks(ttl)))
}

// etcdServer starts Debian's etcd, with its data in a folder.
func etcdServer(t *testing.T, dir, address, peers string) (kill func()) {
	ready := func() error {
		client, err := etcd.Connect(t.Context(), []string{address})
		if err == nil {
			client.Close()
		}
		return err
	}
	return servers.Start(t, ready, "etcd", "--data-dir", dir, "--listen-client-urls", "http://"+address,
		"--advertise-client-urls", "http://"+address, "--listen-peer-urls", "http://"+peers)
}

// Lost is closed by the holder's own clock, before another contender gets in: also if the lease was never renewed.
func TestLostIsClosedAtTheEndOfTheLeaseThoughTheLineIsSilent(t *testing.T) {
	t.Parallel() // it waits
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	address := testenv.Must(servers.FreeAddr())(t)
	etcdServer(t, t.TempDir(), address, testenv.Must(servers.FreeAddr())(t))
	faults.Lost(t, subject(t, address, newLocks(2)), true)
}

// The server is killed, and comes back with its data. A holder whose lease lives for longer holds the lock all the
// time, and its waiter waits on: neither gets an error. Compare Redis. A holder whose lease is shorter is notified by
// its own clock, a waiter with such a lease has lost its place, and both leases end once the server is back.
func TestTheServerIsKilledAndComesBack(t *testing.T) {
	t.Parallel() // it waits
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	dir, address, peers := t.TempDir(), testenv.Must(servers.FreeAddr())(t), testenv.Must(servers.FreeAddr())(t)
	kill := etcdServer(t, dir, address, peers)
	client, watching, prefix := connect(t, address), connect(t, address), suite.Name()
	ctx := context.WithoutCancel(t.Context())
	startLock := func(l *etcd.Lock) <-chan error { return bubble.Aside(func() error { return l.Lock(ctx) }) }
	holder, waiter := etcd.New(client, prefix, ttl), etcd.New(watching, prefix, ttl) // all goes with the server
	require.NoError(t, holder.Lock(t.Context()))
	got := startLock(waiter)
	watchIsSet := func() bool {
		metrics := testenv.Must(http.Get("http://" + address + "/metrics"))(t)
		defer metrics.Body.Close()
		return strings.Contains(string(testenv.Must(io.ReadAll(metrics.Body))(t)), "\netcd_debugging_mvcc_watcher_total 1\n")
	}
	require.Eventually(t, watchIsSet, 2*time.Minute, 10*time.Millisecond, "then the waiter has no request under way")

	const shortTTL = 2 // seconds
	short, shortWaiter := etcd.New(client, prefix+"-short", shortTTL), etcd.New(client, prefix, shortTTL)
	require.Eventually(t, func() bool { return short.Lock(t.Context()) == nil }, 2*time.Minute, time.Millisecond,
		"on a busy machine a lease may have ended before the key is put")
	lost := startLock(shortWaiter)
	isInQueue := func() bool { return testenv.Must(countKeys(t.Context(), client, prefix))(t) == 3 || len(lost) > 0 }
	require.Eventually(t, isInQueue, 2*time.Minute, time.Millisecond)

	kill()
	<-short.Lost()
	briefly, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, short.Unlock(briefly), context.DeadlineExceeded, "without that it waits for a server")
	require.Error(t, <-lost, "the waiter has lost its place in the queue, and does not wait on")
	etcdServer(t, dir, address, peers)

	suite.Try(t, false, etcd.New(connect(t, address), prefix, ttl))
	require.False(t, bubble.IsClosed(holder.Lost()), "the lock is said to be lost")
	require.Empty(t, got, "the waiter's Lock has returned")
	unlock := func(l *etcd.Lock) error {
		return faults.RetryWhileNoReply(t, etcd.ErrNoReply, func() error { return l.Unlock(t.Context()) })
	}
	require.NoError(t, unlock(holder))
	require.NoError(t, <-got)
	require.NoError(t, waiter.Unlock(t.Context()))
	suite.Round(t, etcd.New(connect(t, address), prefix+"-short", ttl))
	require.ErrorIs(t, unlock(short), etcd.ErrNotLocked)
}
