// The suite of all locks on etcd, and the tests of what is special to it.
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

const ttl = 600 // how many seconds a lease lives

// server is the etcd that the environment variable ETCD names. etcd's server as a library would double this module, so
// there is no embedded one.
func server(t testing.TB) string {
	addresses := os.Getenv("ETCD")
	if addresses == "" {
		t.Skip("needs a running etcd: ETCD=host:port")
	}
	return addresses
}

func connect(t testing.TB, addresses string, options ...grpc.DialOption) *clientv3.Client {
	client := testenv.Must(etcd.Connect(t.Context(), strings.Split(addresses, ","), options...))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func countKeys(ctx context.Context, client *clientv3.Client, prefix string) (int, error) {
	response, err := client.Get(ctx, prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return 0, err
	}
	return len(response.Kvs), nil
}

// subject is a kind of contender on one server, as package suite asks for it: its Subject says what the fields are.
func subject(t testing.TB, server string, contender func(t testing.TB, client *clientv3.Client) func(prefix string) suite.Lock) suite.Subject {
	client := connect(t, server)
	return suite.Subject{
		Client:       func(t testing.TB, server string) func(string) suite.Lock { return contender(t, connect(t, server)) },
		Server:       server,
		Fenced:       true,
		ErrNotLocked: etcd.ErrNotLocked,
		Expire: func(t testing.TB, prefix string, _ suite.Lock) {
			first := testenv.Must(client.Get(t.Context(), prefix+"/", clientv3.WithFirstCreate()...))(t)
			testenv.Must(client.Revoke(t.Context(), clientv3.LeaseID(first.Kvs[0].Lease)))(t)
		},
		Queued: func(t testing.TB, prefix string) int {
			return testenv.Must(countKeys(t.Context(), client, prefix))(t) - 1
		},
		CleanUp: etcd.CleanUp,
		Via: func(t testing.TB, server string) (*proxy.Proxy, string) {
			address, _, _ := strings.Cut(server, ",")
			line := proxy.New(t, address)
			return line, line.Addr()
		},
		ErrNoReply: etcd.ErrNoReply, Request: "locktest", Release: "locktest", Waits: true,
		Left: func(ctx context.Context, prefix string) (int, error) { return countKeys(ctx, client, prefix) },
	}
}

// newLocks makes locks whose leases live for so many seconds. The server ends them.
func newLocks(ttl int) func(t testing.TB, client *clientv3.Client) func(prefix string) suite.Lock {
	return func(_ testing.TB, client *clientv3.Client) func(prefix string) suite.Lock {
		return func(prefix string) suite.Lock { return etcd.New(client, prefix, ttl) }
	}
}

func TestBasic(t *testing.T) { suite.Run(t, subject(t, server(t), newLocks(ttl))) }

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
	client := connect(t, server(t))
	mutex := oneSession(t, client)
	prefix := suite.Name()
	for range 10 {
		require.NoError(t, mutex(prefix).Lock(t.Context()), "inside, and none of them has unlocked")
	}
	require.Equal(t, 1, testenv.Must(countKeys(t.Context(), client, prefix))(t), "keys")

	name := "one at a time holds it, contenders of one session"
	require.Contains(t, suite.Verdict(t, subject(t, server(t), oneSession), name), "two holders")
}

// The keys of the lock x/b begin with those of x, as text. With etcd's own Mutex x
// waits for the holder of x/b (bug D9).
func TestALockDoesNotWaitForAnotherWhosePrefixIsLonger(t *testing.T) {
	client := connect(t, server(t))
	x := suite.Name()
	longer, l := etcd.New(client, x+"/b", ttl), etcd.New(client, x, ttl)
	require.NoError(t, longer.Lock(t.Context()))
	suite.Try(t, true, l, "nobody holds %s", x)
	require.NoError(t, l.Unlock(t.Context()))

	article := oneSession(t, client)(x + "-2/b")
	require.NoError(t, article.Lock(t.Context()))
	suite.Try(t, false, oneSession(t, client)(x+"-2"), "the Mutex of etcd's package has one queue for both")

	for _, wrong := range []string{x + "/", x + "//b"} {
		require.ErrorContains(t, etcd.New(client, wrong, ttl).Lock(t.Context()), "leave that out")
	}
}

// The cost that the README states.
func TestAFreeLockCostsTwoRequests(t *testing.T) {
	var requests atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	l := etcd.New(connect(t, server(t), grpc.WithChainUnaryInterceptor(count)), suite.Name(), ttl)
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
