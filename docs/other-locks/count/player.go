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

// ttl is the life of a lock without a renewal: a machine that stops for a while costs no holder the lock.
const ttl = time.Minute

// cleanTimeout is the time in which a server must remove what a run has left there.
const cleanTimeout = 30 * time.Second

type contender interface {
	counter.Contender
	Attempts() int64
}

// A player plays a kind of lock on an open server.
type player struct {
	lock counter.Lock
	with zookeeper.Settings

	server string // and what it does before it answers
	// begin makes n contenders, and all that their run needs; end removes that.
	begin func(ctx context.Context, n int) ([]contender, error)
	end   func(ctx context.Context) error
	sent  func() int64                           // the number of requests so far, to the server's knowledge
	sold  func(ctx context.Context) (int, error) // the count of contenders that exclude nobody; nil: a lock
	write func(ctx context.Context) error        // writes something once, as a transaction by itself
	close func(ctx context.Context) error        // removes what opening has made, and closes the client
}

func (p *player) Lock() counter.Lock                             { return p.lock }
func (p *player) Server() i18n.Text                              { return i18n.Same(p.server) }
func (p *player) Try(context.Context) error                      { return nil }
func (p *player) Warm(context.Context, report.Run) (bool, error) { return false, nil }
func (p *player) Close() error                                   { return p.clean(p.close) }

// clean removes what is there, though the run may have been interrupted.
func (p *player) clean(remove func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if err := remove(ctx); err != nil {
		return fmt.Errorf("left behind on %s: %w", p.server, err)
	}
	return nil
}

// Run is one round.
func (p *player) Run(ctx context.Context, r *report.Run) (err error) {
	defer func() { err = errors.Join(err, p.clean(p.end)) }()
	contenders, err := p.begin(ctx, r.Goroutines)
	if err != nil {
		return err
	}
	race := &counter.Race{
		Times: r.Times, Limit: limit, Step: p.with.Step, Work: p.with.Work, Sent: p.sent, Stock: p.sold != nil,
	}
	for _, c := range contenders {
		race.Contenders = append(race.Contenders, c)
	}
	if err := race.Run(ctx, r); err != nil {
		return err
	}
	for _, c := range contenders {
		r.Attempts += c.Attempts()
	}
	if p.sold == nil {
		return nil
	}
	if r.Count, err = p.sold(ctx); err != nil {
		return err
	}
	r.Total = r.Count
	return race.CheckCount(r.Count)
}
