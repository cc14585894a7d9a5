package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	if status, err := a.client.Status(ctx, addresses[0]); err == nil {
		a.text = fmt.Sprintf("etcd %s at %s, fsync unless it was turned off there", status.Version, spec)
	}
	return a, nil
}

func (a *etcdArena) String() string              { return a.text }
func (a *etcdArena) sent() int64                 { return a.requests.Load() }
func (a *etcdArena) close(context.Context) error { return a.client.Close() }

// each calls a function of all locks at the same time.
func (a *etcdArena) each(call func(l *etcd.Lock) error) error {
	errs := make([]error, len(a.locks))
	var wg sync.WaitGroup
	for i, l := range a.locks {
		wg.Go(func() { errs[i] = call(l) })
	}
	wg.Wait()
	return cmp.Or(errs...) // one line; all of them joined are many
}

// begin opens the sessions, as the run of a lock on ZooKeeper does before the clock starts.
func (a *etcdArena) begin(ctx context.Context, n int) (all []contender, err error) {
	prefix := "zklock-count/" + rand.Text()
	a.locks = nil
	for range n {
		l := etcd.New(a.client, prefix, int(ttl.Seconds()))
		a.locks, all = append(a.locks, l), append(all, l)
	}
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout+time.Duration(n)*20*time.Millisecond) // without a server it would wait
	defer cancel()
	return all, a.each(func(l *etcd.Lock) error { return l.Open(ctx) })
}

func (a *etcdArena) end(ctx context.Context) error {
	return a.each(func(l *etcd.Lock) error { return l.Close(ctx) })
}
