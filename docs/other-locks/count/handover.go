package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/ensemble"
)

const handOvers = 200 // the number of hand-overs of a lock that are timed, and of writes of its server

// A relay times the hand-overs between two contenders, each of which holds the lock for a turn.
type relay struct {
	turn     time.Duration
	began    chan struct{} // of each turn but the first: the contender that has released the lock takes it, and asks again
	released atomic.Int32
	took     []time.Duration // guarded by the lock under test, as ended is
	ended    time.Time
}

func newRelay(turn time.Duration) *relay { return &relay{turn: turn, began: make(chan struct{})} }

// work is the turn of a holder.
func (r *relay) work(int) error {
	if r.took = append(r.took, time.Since(r.ended)); len(r.took) > 1 {
		r.began <- struct{}{}
	}
	time.Sleep(r.turn)
	r.ended = time.Now()
	return nil
}

// step makes a contender that has released the lock wait until the other one has it: a lock that polls would mostly
// give it to the same one again.
func (r *relay) step() {
	if r.released.Add(1) < handOvers+2 {
		<-r.began
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// print prints a line for each lock of which a waiter waits.
func (r *relay) print(ctx context.Context, w io.Writer, players []counter.Player, server *zookeeper.Server) error {
	conn, err := server.Zoo().Connect(ctx, ensemble.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	const ownNode, contenders, round = true, 1, 1 // what is written is one node
	node, _, err := server.Fresh("write", ownNode, contenders, round)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-22s %12s %12s %8s\n", "lock", "a write", "hand-over", "ratio")
	for _, p := range players {
		write := func(context.Context) error { _, err := conn.Set(node, nil, -1); return err }
		if p, ok := p.(*player); ok { // it is not on ZooKeeper
			if p.sold != nil { // nobody waits for a stock
				continue
			}
			write = p.write
		}
		writes := make([]time.Duration, 0, handOvers)
		for range handOvers {
			began := time.Now()
			if err := write(ctx); err != nil {
				return err
			}
			writes = append(writes, time.Since(began))
		}

		*r = *newRelay(r.turn)
		if err := p.Run(ctx, &report.Run{Goroutines: 2, Sessions: 2, Times: handOvers/2 + 1, Round: 1}); err != nil {
			return fmt.Errorf("%s: %w", p.Lock().Name, err)
		}
		aWrite, handOver := median(writes), median(r.took[2:]) // without the first turn of each, which nobody hands over
		fmt.Fprintf(w, "%-22s %12v %12v %8.1f\n", p.Lock().Name,
			aWrite.Round(time.Microsecond), handOver.Round(time.Microsecond), float64(handOver)/float64(aWrite))
	}
	_, err = fmt.Fprintf(w, "\nMedians of %d. Two contenders take turns of %v. A hand-over lasts from the end of a turn, "+
		"when Unlock is\ncalled, to the return of the waiter's Lock. The ratio is to a write of the same server.\n", handOvers, r.turn)
	return err
}
