//go:build etcd

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

	"example.com/zklock/bench/internal/spec"
	"example.com/zklock/docs/other-locks/etcd"
	"example.com/zklock/internal/language"
)

func init() { arenas["etcd"] = openEtcd }

// The time to open the sessions: one limit for all, and one for each of them.
const (
	openTimeout = 30 * time.Second
	openEach    = 20 * time.Millisecond
)

type etcdArena struct {
	client   *clientv3.Client
	text     string
	requests atomic.Int64 // and streams that were opened
	prefix   string
	locks    []*etcd.Lock // of the present run
}

func openEtcd(ctx context.Context, spec string) (arena, error) {
	a := &etcdArena{}
	addresses := strings.Split(spec, ",")
	count := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if ctx.Value(uncountedKey{}) == nil {
			a.requests.Add(1)
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	var err error
	if a.client, err = etcd.Connect(ctx, addresses, grpc.WithChainUnaryInterceptor(count)); err != nil {
		return nil, err
	}
	a.text = "etcd at " + spec
	if status, err := a.client.Status(ctx, addresses[0]); err == nil {
		a.text = fmt.Sprintf("etcd %s at %s, fsync unless it was turned off there", status.Version, spec)
	}
	return a, nil
}

func (a *etcdArena) String() string { return a.text }

// begin opens the sessions, as the run of a lock on ZooKeeper does before the clock starts.
func (a *etcdArena) begin(ctx context.Context, n int) (lockers []otherLocker, err error) {
	a.prefix = "zklock-bench/" + rand.Text()
	patience := openTimeout + time.Duration(n)*openEach // without a server it would wait
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.locks = nil
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		l := etcd.New(a.client, a.prefix, int(otherTTL.Seconds()))
		a.locks, lockers = append(a.locks, l), append(lockers, l)
		wg.Go(func() { errs[i] = l.Open(ctx) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, language.Errorf("%d sessions cannot be opened within %v: %w", "%d 个会话在 %v 内无法建立：%v", n, patience, err)
	}
	return lockers, nil
}

// uncountedKey marks the ctx of a request that is not a contender's.
type uncountedKey struct{}

// The client waits for a server that has gone until its leases have ended.
func (a *etcdArena) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, uncountedKey{}, true), spec.AnswerTimeout)
	defer cancel()
	if _, err := a.client.Get(ctx, a.prefix); err != nil {
		return language.Errorf("no answer within %v: %w", "%v 内没有响应：%v", spec.AnswerTimeout, err)
	}
	return nil
}

func (a *etcdArena) sent() int64 { return a.requests.Load() }

func (a *etcdArena) end(ctx context.Context) error {
	if a.answers(ctx) != nil {
		return nil // no server is there; the keys go with their leases, otherTTL after it is back
	}
	var wg sync.WaitGroup
	errs := make([]error, len(a.locks))
	for i, l := range a.locks {
		wg.Go(func() { errs[i] = l.Close(ctx) })
	}
	wg.Wait()
	a.locks = nil
	return cmp.Or(errs...) // one line; all of them joined are many
}

func (a *etcdArena) close(context.Context) error { return a.client.Close() }
