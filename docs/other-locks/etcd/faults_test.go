package etcd_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"example.com/zklock/docs/other-locks/etcd"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/servers"
)

// lossy connects a client directly and one by way of a proxy.
func lossy(t *testing.T) (client *clientv3.Client, line *proxy.Proxy, cutOff *clientv3.Client) {
	client = connect(t)
	address, _, _ := strings.Cut(os.Getenv("ETCD"), ",")
	line = proxy.New(t, address)
	return client, line, to(t, line.Addr())
}

func to(t testing.TB, address string, options ...grpc.DialOption) *clientv3.Client {
	client, err := etcd.Connect(t.Context(), []string{address}, options...)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// until waits until there are so many keys. In place of LoseReply's cut it makes sure that
// the server has done what was asked: what it sends first need not be the reply.
func until(t testing.TB, client *clientv3.Client, prefix string, n int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	for ; ; time.Sleep(time.Millisecond) { // a poll of a real server
		response, err := client.Get(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || response.Count == n {
			return // the test itself notices an error
		}
	}
}

// The reply to the transaction that puts the key is lost. The contender sees an
// error, and revokes its lease over another connection, so the key goes.
func TestALostReplyIsAnErrorAndLeavesNoKey(t *testing.T) {
	client, line, cutOff := lossy(t)
	defer etcd.CleanUp(2 * time.Minute)()
	prefix := prefix(t)
	l := newLock(t, cutOff, prefix)
	require.NoError(t, l.Open(t.Context()))
	line.LoseReply(prefix, func() { until(t, client, prefix, 1) })
	require.ErrorIs(t, l.Lock(t.Context()), etcd.ErrNoReply)
	require.ErrorIs(t, l.Unlock(t.Context()), etcd.ErrNotLocked)
	require.Zero(t, keys(t, client, prefix))
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
}

// The same, and the server cannot be reached afterwards: the key of a contender
// that does not hold the lock is first in the queue until its lease ends.
func TestWithoutALineTheKeyOfALostReplyStaysUntilItsLeaseEnds(t *testing.T) {
	client, line, cutOff := lossy(t)
	prefix := prefix(t)
	l, next := newLock(t, cutOff, prefix), newLock(t, client, prefix)
	require.NoError(t, l.Open(t.Context()))
	line.LoseReply(prefix, func() { until(t, client, prefix, 1); line.CutOff() })
	require.ErrorIs(t, l.Lock(t.Context()), etcd.ErrNoReply)
	require.ErrorIs(t, l.Unlock(t.Context()), etcd.ErrNotLocked, "it does not act as the holder")
	held, err := next.TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, held, "the key is there")
	response, err := client.Get(t.Context(), prefix+"/", clientv3.WithPrefix())
	require.NoError(t, err)
	require.Len(t, response.Kvs, 1)
	_, err = client.Revoke(t.Context(), clientv3.LeaseID(response.Kvs[0].Lease)) // as when its time is over
	require.NoError(t, err)
	require.NoError(t, next.Lock(t.Context()))
	require.NoError(t, next.Unlock(t.Context()))
}

// The reply to the delete is lost. A second Unlock reports that the key is gone,
// and affects no other contender.
func TestALostReplyToUnlockCanBeAskedAgain(t *testing.T) {
	client, line, cutOff := lossy(t)
	prefix := prefix(t)
	l, next := newLock(t, cutOff, prefix), newLock(t, client, prefix)
	require.NoError(t, l.Lock(t.Context()))
	line.LoseReply(prefix, func() { until(t, client, prefix, 0) })
	err := l.Unlock(t.Context())
	require.ErrorIs(t, err, etcd.ErrNoReply)
	require.NotErrorIs(t, err, etcd.ErrNotLocked)
	held, err := next.TryLock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.ErrorIs(t, l.Unlock(t.Context()), etcd.ErrNotLocked)
	require.Equal(t, 1, keys(t, client, prefix), "the next holder's key")
	require.NoError(t, next.Unlock(t.Context()))
}

// A holder that could not reach the server still holds the lock, and can release it
// later.
func TestUnlockCanBeCalledAgainWhenTheServerIsBack(t *testing.T) {
	client, line, cutOff := lossy(t)
	prefix := prefix(t)
	l := newLock(t, cutOff, prefix)
	require.NoError(t, l.Lock(t.Context()))
	line.CutOff()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := l.Unlock(ctx)
	require.Error(t, err)
	require.NotErrorIs(t, err, etcd.ErrNotLocked)
	line.Heal()
	require.Equal(t, 1, keys(t, client, prefix))
	require.NoError(t, whileNoReply(t, func() error { return l.Unlock(t.Context()) }))
	require.Zero(t, keys(t, client, prefix))
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

// watches is an option of a client, and closes set when its first watch is set: a
// waiter has no request under way from then on.
func watches() (option grpc.DialOption, set <-chan struct{}) {
	ch := make(chan struct{})
	var once sync.Once
	return grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, conn, method, options...)
		return watchedStream{stream, func() { once.Do(func() { close(ch) }) }}, err
	}), ch
}

type watchedStream struct {
	grpc.ClientStream
	set func()
}

func (w watchedStream) RecvMsg(m any) error {
	err := w.ClientStream.RecvMsg(m)
	if response, ok := m.(*etcdserverpb.WatchResponse); ok && err == nil && response.Created {
		w.set()
	}
	return err
}

// The server is killed, and comes back with its data. The holder holds the
// lock all the time, and the waiter waits on: neither gets an error. Compare Redis.
func TestTheLockSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel() // it waits
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	dir, address, peers := t.TempDir(), servers.Addr(t), servers.Addr(t)
	kill := etcdServer(t, dir, address, peers)
	prefix := prefix(t)
	watches, set := watches()
	holder, waiter := etcd.New(to(t, address), prefix, ttl), etcd.New(to(t, address, watches), prefix, ttl) // all goes with the server
	require.NoError(t, holder.Lock(t.Context()))
	got := make(chan error, 1)
	go func() { got <- waiter.Lock(context.WithoutCancel(t.Context())) }()
	<-set
	kill()
	etcdServer(t, dir, address, peers)

	held, err := etcd.New(to(t, address), prefix, ttl).TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, held)
	select {
	case <-holder.Lost():
		t.Fatal("the lock is said to be lost")
	case err := <-got:
		t.Fatalf("the waiter's Lock has returned: %v", err)
	default:
	}
	require.NoError(t, whileNoReply(t, func() error { return holder.Unlock(t.Context()) }))
	require.NoError(t, <-got)
	require.NoError(t, waiter.Unlock(t.Context()))
}

// whileNoReply calls what uses a connection that has broken.
func whileNoReply(t testing.TB, do func() error) error {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) { // a poll: no event shows when it works again
		err := do()
		if !errors.Is(err, etcd.ErrNoReply) {
			return err
		}
		require.Less(t, time.Since(begin), 2*time.Minute, "%v", err)
	}
}

// The server is away for longer than the lease lives. The holder is notified by its
// own clock; the lease ends once the server is back.
func TestAServerThatIsAwayForLongerThanTheLease(t *testing.T) {
	t.Parallel() // it waits
	servers.Needs(t, "etcd", "etcd-server", "ETCD")
	dir, address, peers := t.TempDir(), servers.Addr(t), servers.Addr(t)
	kill := etcdServer(t, dir, address, peers)
	prefix := prefix(t)
	client := to(t, address)
	holder := etcd.New(client, prefix, 2)
	require.Eventually(t, func() bool { return holder.Lock(t.Context()) == nil }, 2*time.Minute, time.Millisecond,
		"on a busy machine a lease may have ended before the key is put")
	other := prefix + "-other" // its holder lives on, so that the waiter does not get in
	waiter := etcd.New(client, other, 2)
	require.NoError(t, etcd.New(client, other, ttl).Lock(t.Context()))
	got := make(chan error, 1)
	go func() { got <- waiter.Lock(context.WithoutCancel(t.Context())) }()
	until(t, client, other, 2)
	kill()
	<-holder.Lost()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, holder.Unlock(ctx), context.DeadlineExceeded, "without that it waits for a server")
	require.Error(t, <-got, "the waiter has lost its place in the queue, and does not wait on")
	etcdServer(t, dir, address, peers)
	next := etcd.New(to(t, address), prefix, ttl)
	require.NoError(t, next.Lock(t.Context()))
	require.ErrorIs(t, whileNoReply(t, func() error { return holder.Unlock(t.Context()) }), etcd.ErrNotLocked)
	require.NoError(t, next.Unlock(t.Context()))
}
