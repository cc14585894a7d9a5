package etcd_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"example.com/zklock/docs/other-locks/etcd"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

// ttl is how many seconds a lease lives.
const ttl = 600

// connect opens a client of the etcd that the environment variable ETCD names.
// etcd's server as a library would double this module, so there is no embedded
// one.
func connect(t testing.TB, options ...grpc.DialOption) *clientv3.Client {
	addresses := os.Getenv("ETCD")
	if addresses == "" {
		t.Skip("needs a running etcd: ETCD=host:port")
	}
	return to(t, addresses, options...)
}

func to(t testing.TB, addresses string, options ...grpc.DialOption) *clientv3.Client {
	client := testenv.Must(etcd.Connect(t.Context(), strings.Split(addresses, ","), options...))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func newLock(t testing.TB, client *clientv3.Client, prefix string) *etcd.Lock {
	l := etcd.New(client, prefix, ttl)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		l.Close(ctx)
	})
	return l
}

func keys(t testing.TB, client *clientv3.Client, prefix string) int {
	response := testenv.Must(client.Get(t.Context(), prefix+"/", clientv3.WithPrefix(), clientv3.WithCountOnly()))(t)
	return int(response.Count)
}

func subject(t testing.TB, contender func(t testing.TB, client *clientv3.Client) func(prefix string) suite.Lock) suite.Subject {
	client := connect(t)
	return suite.Subject{
		Client:       func(t testing.TB, server string) func(string) suite.Lock { return contender(t, to(t, server)) },
		Server:       os.Getenv("ETCD"),
		Fenced:       true,
		ErrNotLocked: etcd.ErrNotLocked,
		Expire: func(t testing.TB, prefix string, _ suite.Lock) {
			first := testenv.Must(client.Get(t.Context(), prefix+"/", clientv3.WithFirstCreate()...))(t)
			testenv.Must(client.Revoke(t.Context(), clientv3.LeaseID(first.Kvs[0].Lease)))(t)
		},
		Queued:  func(t testing.TB, prefix string) int { return keys(t, client, prefix) - 1 },
		CleanUp: etcd.CleanUp,
		Via: func(t testing.TB, server string) (*proxy.Proxy, string) {
			address, _, _ := strings.Cut(server, ",")
			line := proxy.New(t, address)
			return line, line.Addr()
		},
		ErrNoReply: etcd.ErrNoReply, Request: "locktest", Release: "locktest", Waits: true,
		Left: func(ctx context.Context, prefix string) (int, error) {
			response, err := client.Get(ctx, prefix+"/", clientv3.WithPrefix())
			if err != nil {
				return 0, err
			}
			return len(response.Kvs), nil
		},
	}
}

func newLocks(t testing.TB, client *clientv3.Client) func(prefix string) suite.Lock {
	return func(prefix string) suite.Lock { return newLock(t, client, prefix) }
}

func TestBasic(t *testing.T) { suite.Run(t, subject(t, newLocks)) }

// oneSession makes Mutexes of a session that they share.
func oneSession(t testing.TB, client *clientv3.Client) func(prefix string) suite.Lock {
	session := testenv.Must(concurrency.NewSession(client, concurrency.WithTTL(ttl)))(t)
	t.Cleanup(func() { session.Close() })
	return func(prefix string) suite.Lock {
		m := concurrency.NewMutex(session, prefix)
		return &suite.Contender{Wait: m.Lock, Try: func(ctx context.Context) (bool, error) {
			if err := m.TryLock(ctx); err != concurrency.ErrLocked {
				return err == nil, err
			}
			return false, nil
		}, Free: func(ctx context.Context, _ bool) error { return m.Unlock(ctx) }}
	}
}

// The key is the prefix and the lease. So all Mutexes of one session have the
// same key, and each finds that it is the first.
func TestTenMutexesInOneSessionAreAllInside(t *testing.T) {
	client := connect(t)
	mutex := oneSession(t, client)
	prefix := suite.Name()
	for range 10 {
		require.NoError(t, mutex(prefix).Lock(t.Context()), "inside, and none of them has unlocked")
	}
	require.Equal(t, 1, keys(t, client, prefix), "keys")

	name := "one at a time holds it, contenders of one session"
	require.Contains(t, suite.Verdict(t, subject(t, oneSession), name), "two holders")
}

// The keys of the lock x/b begin with those of x, as text. With etcd's own Mutex x
// waits for the holder of x/b (bug D9).
func TestALockDoesNotWaitForAnotherWhosePrefixIsLonger(t *testing.T) {
	client := connect(t)
	x := suite.Name()
	longer, l := newLock(t, client, x+"/b"), newLock(t, client, x)
	require.NoError(t, longer.Lock(t.Context()))
	suite.Try(t, true, l, "nobody holds %s", x)
	require.NoError(t, l.Unlock(t.Context()))

	article := oneSession(t, client)(x + "-2/b")
	require.NoError(t, article.Lock(t.Context()))
	suite.Try(t, false, oneSession(t, client)(x+"-2"), "the Mutex of etcd's package has one queue for both")

	for _, wrong := range []string{x + "/", x + "//b"} {
		require.ErrorContains(t, newLock(t, client, wrong).Lock(t.Context()), "leave that out")
	}
}

// The cost that the README states.
func TestAFreeLockCostsTwoRequests(t *testing.T) {
	var requests atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	l := newLock(t, connect(t, grpc.WithChainUnaryInterceptor(count)), suite.Name())
	require.NoError(t, l.Open(t.Context()))
	before := requests.Load()
	suite.Round(t, l)
	require.EqualValues(t, 2, requests.Load()-before)
}

func TestAWrongAddressIsOneLine(t *testing.T) {
	suite.Set(t, etcd.ConnectTimeout, 50*time.Millisecond)
	const nobody = "127.0.0.1:1" // a port that the system gives nobody
	_, err := etcd.Connect(t.Context(), []string{nobody})
	require.ErrorContains(t, err, "etcd at "+nobody)
	require.NotContains(t, err.Error(), "\n")
}
