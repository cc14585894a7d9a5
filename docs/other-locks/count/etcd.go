package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"example.com/zklock/docs/other-locks/etcd"
)

type etcdArena struct {
	client   *clientv3.Client
	text     string
	requests atomic.Int64 // calls; what comes in the client's streams is not among them
	locks    []*etcd.Lock // of the present run
}

func openEtcd(ctx context.Context, spec string) (arena, error) {
	a := &etcdArena{text: "etcd at " + spec}
	addresses := strings.Split(spec, ",")
	count := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		a.requests.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	var err error
	if a.client, err = etcd.Connect(ctx, addresses, grpc.WithChainUnaryInterceptor(count)); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *etcdArena) String() string              { return a.text }
func (a *etcdArena) sent() int64                 { return a.requests.Load() }
func (a *etcdArena) close(context.Context) error { return a.client.Close() }

func (a *etcdArena) write(ctx context.Context) error {
	_, err := a.client.Put(ctx, "zklock-count-write", "")
	return err
}

// begin opens the sessions, as the run of a lock on ZooKeeper does before the clock starts.
func (a *etcdArena) begin(ctx context.Context, n int) (all []contender, err error) {
	prefix := "zklock-count/" + rand.Text()
	a.locks = nil
	for range n {
		l := etcd.New(a.client, prefix, int(ttl.Seconds()))
		a.locks, all = append(a.locks, l), append(all, l)
		err = cmp.Or(err, l.Open(ctx))
	}
	return all, err
}

func (a *etcdArena) end(ctx context.Context) (err error) {
	for _, l := range a.locks {
		err = cmp.Or(err, l.Close(ctx)) // one line; all of them joined are many
	}
	return err
}
