package zklocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zklocktest"
	"example.com/zklock/zkserver"
)

// rebuild works under the lock, step by step, and stops when it is lost.
func rebuild(l *zklock.Lease, step func()) error {
	for {
		select {
		case <-l.Lost():
			return zklock.ErrLost
		default:
			step()
		}
	}
}

func TestRebuildStopsWhenTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in virtual time
		locks := zklocktest.Run(t)
		lease := locks.Holder("/locks/index")
		stepped, result := make(chan bool), make(chan error)
		go func() {
			result <- rebuild(lease, func() {
				select {
				case stepped <- true:
				case <-lease.Lost():
				}
			})
		}()
		<-stepped // it works
		locks.Lose(lease)
		if err := <-result; !errors.Is(err, zklock.ErrLost) {
			t.Fatalf("rebuild returned %v", err)
		}
	})
}

var errBusy = errors.New("the shop is busy: try again later")

// checkout waits for three seconds, and no longer.
func checkout(ctx context.Context, stock *zklock.Mutex, take func()) error {
	wait, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	lease, err := stock.Lock(wait, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return errBusy
	}
	if err != nil {
		return err
	}
	take()
	return lease.Unlock(ctx)
}

func TestCheckoutGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the three seconds take no time
		locks := zklocktest.Run(t)
		locks.Holder("/locks/stock")
		stock := locks.Mutex("/locks/stock")
		began := time.Now()
		err := checkout(t.Context(), stock, func() { t.Error("taken without the lock") })
		if !errors.Is(err, errBusy) || time.Since(began) != 3*time.Second {
			t.Fatalf("checkout returned %v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if queue := locks.Server.Children("/locks/stock"); len(queue) != 1 {
			t.Fatalf("checkout has left its place in the queue: %v", queue)
		}
	})
}

var errStale = errors.New("the token is lower than one that was seen")

// A register is a store that refuses a holder that has lost its lock.
type register struct {
	highest int64
	value   string
}

func (r *register) write(token int64, value string) error {
	if token < r.highest {
		return errStale
	}
	r.highest, r.value = token, value
	return nil
}

func TestTheRegisterRefusesAnOldToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in virtual time
		locks := zklocktest.Run(t)
		first := locks.Holder("/locks/register")
		waiter := locks.Waiter("/locks/register")
		locks.Lose(first) // it may still be working
		second := <-waiter

		var r register
		if err := r.write(second.Token(), "new"); err != nil {
			t.Fatal(err)
		}
		if err := r.write(first.Token(), "late"); !errors.Is(err, errStale) || r.value != "new" {
			t.Fatalf("the late write returned %v, and the value is %q", err, r.value)
		}
	})
}

// campaign leads whenever it holds the lock, until ctx ends.
func campaign(ctx context.Context, m *zklock.Mutex, lead func(ctx context.Context, l *zklock.Lease)) {
	for ctx.Err() == nil {
		m.Do(ctx, nil, func(ctx context.Context, l *zklock.Lease) error { // after an error it is a candidate again
			lead(ctx, l)
			return nil
		})
	}
}

func TestThereIsOneLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := zklocktest.Run(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait() // until the candidates have left
		defer cancel()
		leaders := make(chan *zklock.Lease, 2)
		candidate := func() {
			m := locks.Mutex("/locks/leader")
			go campaign(ctx, m, func(ctx context.Context, l *zklock.Lease) {
				leaders <- l
				<-ctx.Done()
			})
		}
		candidate()
		first := <-leaders
		// The node of the second candidate is made, but its reply is lost.
		lost := locks.Server.LoseReply(zkserver.On(zkserver.OpCreate, "/locks/leader/*"))
		candidate()
		<-lost.Hit()
		time.Sleep(time.Minute)
		if len(leaders) != 0 {
			t.Fatal("there are two leaders")
		}
		if queue := locks.Server.Children("/locks/leader"); len(queue) != 2 {
			t.Fatalf("two candidates have the nodes %v", queue)
		}
		locks.Lose(first)
		if second := <-leaders; second.Token() <= first.Token() {
			t.Fatal("the second leader has no higher token than the first")
		}
	})
}
