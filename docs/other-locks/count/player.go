package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/i18n"
)

// ttl is the life of a lock without a renewal: a machine that stops for a while costs no
// holder the lock.
const ttl = time.Minute

// cleanTimeout is the time in which a server must remove what a run has left there.
const cleanTimeout = 30 * time.Second

// An arena is a kind of lock on an open server.
type arena interface {
	String() string // the server, and what it does before it answers
	// begin makes n contenders, and all that their run needs.
	begin(ctx context.Context, n int) ([]contender, error)
	// sent is how many requests have been sent so far, to the server's knowledge.
	sent() int64
	// write writes something once, as a transaction by itself.
	write(ctx context.Context) error
	// end removes what begin has made.
	end(ctx context.Context) error
	// close removes what opening has made, and closes the client.
	close(ctx context.Context) error
}

// A stock is an arena that keeps the count on its server: its contenders exclude nobody.
type stock interface {
	count(ctx context.Context) (int, error)
}

type contender interface {
	counter.Contender
	Attempts() int64
}

// A player plays a lock in its arena.
type player struct {
	lock  counter.Lock
	arena arena
	with  zookeeper.Settings
}

func (p player) Lock() counter.Lock                             { return p.lock }
func (p player) Server() i18n.Text                              { return i18n.Same(p.arena.String()) }
func (p player) Try(context.Context) error                      { return nil }
func (p player) Warm(context.Context, report.Run) (bool, error) { return false, nil }

func (p player) Close() error { return p.clean(p.arena.close) }

// clean removes what is there, though the run may have been interrupted.
func (p player) clean(remove func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if err := remove(ctx); err != nil {
		return fmt.Errorf("left behind on %v: %w", p.arena, err)
	}
	return nil
}

// Run is one round.
func (p player) Run(ctx context.Context, r *report.Run) (err error) {
	defer func() { err = errors.Join(err, p.clean(p.arena.end)) }()
	contenders, err := p.arena.begin(ctx, r.Goroutines)
	if err != nil {
		return err
	}
	stock, counts := p.arena.(stock)
	race := &counter.Race{Times: r.Times, Limit: limit, Step: p.with.Step, Sent: p.arena.sent, Stock: counts, Work: p.with.Work}
	for _, c := range contenders {
		race.Contenders = append(race.Contenders, c)
	}
	if err := race.Run(ctx, r); err != nil {
		return err
	}
	for _, c := range contenders {
		r.Attempts += c.Attempts()
	}
	if counts {
		if r.Count, err = stock.count(ctx); err != nil {
			return err
		}
		r.Total = r.Count
		return race.IsAll(r.Count)
	}
	return nil
}
