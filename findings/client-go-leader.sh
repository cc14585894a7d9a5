#!/usr/bin/env bash
# When two lead at a time in the leader election of Kubernetes' Go client, although its clock and server are well.
#
# One would guess: a leader that reaches no server stops before its lease has ended for the others, whatever the
# durations are, as RenewDeadline must be less than LeaseDuration; Run returns when the leader's function has, and
# before the next one leads; with ReleaseOnCancel the function's ctx ends before the lease is given back; IsLeader is
# false when Run has returned; OnStoppedLeading is called for a candidate that has led.
#
# Seen with k8s.io/client-go 0.37.2 and its fake server, which stores the Lease, and a RetryPeriod of 0.1 s:
#   LeaseDuration 2.9 s, RenewDeadline 2.5 s, and the leader is cut off: it leads on while the next one leads
#   LeaseDuration 3 s, RenewDeadline 2.5 s, the same: one at a time
#   the first one's Run has returned: its IsLeader is true, with ReleaseOnCancel false
#   the leader's function does not return at once: Run has returned, and the next one leads beside it
#   ReleaseOnCancel, and the leader's updates are stored, but no reply comes until RenewDeadline: the next one leads
#   while the ctx of the first has not ended
#   a candidate that has never led is cancelled: OnStoppedLeading is called
# A Lease has its duration in whole seconds, rounded down: 2.9 s is 2 s for those who wait, and 2.9 s for the check of
# the configuration, which compares it with RenewDeadline. The ctx of the function ends when the loop of renewals has
# returned, and that gives the lease back first. IsLeader compares names, and no clock.
#
# usage: findings/client-go-leader.sh, some 15 s, and two minutes more for the first build; needs Go. It fails if any
# of that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
go mod init finding >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const ms = time.Millisecond

var (
	forever = context.Background()
	failed  bool
)

func check(what string, got, want bool) {
	fmt.Printf("%s: %v\n", what, got)
	if got != want {
		failed = true
		fmt.Println("   CHANGED: it was", want)
	}
}

// await waits until ok, for 20 s at most.
func await(ok func() bool) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * ms) {
		if ok() {
			return true
		}
	}
	return false
}

// A candidate is one process, with a client of its own.
type candidate struct {
	elector  *leaderelection.LeaderElector
	ctx      atomic.Pointer[context.Context] // of its function, once it leads
	working  atomic.Bool                     // its function has not returned
	returned atomic.Bool                     // Run has
	stopped  atomic.Bool                     // OnStoppedLeading has been called
	refuses  atomic.Bool                     // each of its requests fails
	// unanswered: its updates are stored, and no reply comes for 2 s, which is RenewDeadline.
	unanswered atomic.Bool
}

// leads reports whether its function runs with a ctx that has not ended.
func (c *candidate) leads() bool {
	ctx := c.ctx.Load()
	return ctx != nil && (*ctx).Err() == nil && c.working.Load()
}

type election struct {
	lease, renew time.Duration
	release      bool
	leases       clienttesting.ObjectTracker // the server's
}

// join has a candidate run; its function returns a while after its ctx has ended.
func (e *election) join(ctx context.Context, id string, cleanUp time.Duration) *candidate {
	if e.leases == nil {
		e.leases = fake.NewClientset().Tracker()
	}
	c := &candidate{}
	client := fake.NewClientset()
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if c.refuses.Load() {
			return true, nil, errors.New("no route to the server")
		}
		_, object, err := clienttesting.ObjectReaction(e.leases)(action)
		if c.unanswered.Load() && action.GetVerb() == "update" {
			time.Sleep(2 * time.Second)
			return true, nil, context.DeadlineExceeded
		}
		return true, object, err
	})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "job"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		LeaseDuration: e.lease, RenewDeadline: e.renew, RetryPeriod: 100 * ms, ReleaseOnCancel: e.release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				c.working.Store(true)
				c.ctx.Store(&ctx)
				<-ctx.Done()
				time.Sleep(cleanUp)
				c.working.Store(false)
			},
			OnStoppedLeading: func() { c.stopped.Store(true) },
		},
	})
	if err != nil {
		panic(err)
	}
	c.elector = elector
	go func() {
		elector.Run(ctx)
		c.returned.Store(true)
	}()
	return c
}

// pair has A lead and B wait.
func (e *election) pair(ctx context.Context, cleanUp time.Duration) (a, b *candidate) {
	a = e.join(ctx, "A", cleanUp)
	await(a.leads)
	b = e.join(forever, "B", 0)
	time.Sleep(500 * ms) // it has seen the lease
	return a, b
}

func main() {
	klog.SetLogger(logr.Discard())

	for _, lease := range []time.Duration{2900 * ms, 3000 * ms} {
		a, b := (&election{lease: lease, renew: 2500 * ms}).pair(forever, 0)
		a.refuses.Store(true)
		await(b.leads)
		check(fmt.Sprintf("LeaseDuration %v, RenewDeadline 2.5s, A is cut off: A and B lead", lease), a.leads(), lease < 3*time.Second)
		await(a.returned.Load)
		check("  A's Run has returned: IsLeader of A", a.elector.IsLeader(), true)
	}

	ctx, cancel := context.WithCancel(forever)
	a, b := (&election{lease: 4 * time.Second, renew: 3 * time.Second, release: true}).pair(ctx, 5*time.Second)
	cancel()
	await(b.leads)
	check("A's function does not return at once: B leads beside it, and A's Run has returned", a.working.Load() && a.returned.Load(), true)

	a, b = (&election{lease: 9 * time.Second, renew: 2 * time.Second, release: true}).pair(forever, 0)
	a.unanswered.Store(true)
	await(b.leads)
	check("ReleaseOnCancel, and no reply comes to A's updates: B leads while A's ctx has not ended", a.leads() && b.leads(), true)

	e := &election{lease: 4 * time.Second, renew: 3 * time.Second}
	e.pair(forever, 0)
	ctx, cancel = context.WithCancel(forever)
	never := e.join(ctx, "C", 0)
	time.Sleep(500 * ms)
	cancel()
	await(never.returned.Load)
	check("C has never led, and is cancelled: OnStoppedLeading is called", never.stopped.Load() && never.ctx.Load() == nil, true)

	if failed {
		os.Exit(1)
	}
}
GO
go get k8s.io/client-go@v0.37.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run .
