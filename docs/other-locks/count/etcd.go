package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	"example.com/zklock/docs/other-locks/etcd"
)

// openEtcd opens the lock on etcd for a player, whose fields are explained in player.go.
func openEtcd(ctx context.Context, spec string) (*player, error) {
	var requests atomic.Int64 // calls; what comes in the client's streams is not among them
	count := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		requests.Add(1)
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	client, err := etcd.Connect(ctx, strings.Split(spec, ","), grpc.WithChainUnaryInterceptor(count))
	if err != nil {
		return nil, err
	}
	p := &player{server: "etcd at " + spec, sent: requests.Load}
	p.close = func(context.Context) error { return client.Close() }
	var locks []*etcd.Lock // of the present run
	// The sessions are opened before the clock starts, as those of a lock on ZooKeeper are.
	p.begin = func(ctx context.Context, n int) (all []contender, err error) {
		prefix := "zklock-count/" + rand.Text()
		locks = nil
		for range n {
			l := etcd.New(client, prefix, int(ttl.Seconds()))
			locks, all = append(locks, l), append(all, l)
			err = cmp.Or(err, l.Open(ctx))
		}
		return all, err
	}
	p.end = func(ctx context.Context) (err error) {
		for _, l := range locks {
			err = cmp.Or(err, l.Close(ctx)) // one line; all of them joined are many
		}
		return err
	}
	p.write = func(ctx context.Context) error {
		_, err := client.Put(ctx, "zklock-count-write", "")
		return err
	}
	return p, nil
}
