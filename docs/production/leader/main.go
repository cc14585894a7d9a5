// Command leader elects one of the machines on which it is started: this one runs lead. If the
// machine fails, another one becomes the leader.
//
//	go run ./docs/production/leader zk1:2181,zk2:2181,zk3:2181
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(strings.Join(os.Args[1:], ","), ","), lead); err != nil {
		log.Fatal(err)
	}
}

// lead is what the leader does. It must return soon after ctx has ended.
func lead(ctx context.Context, lease *zklock.Lease) error {
	slog.Info("leading", "token", lease.Token()) // each write of the leader carries the token
	select {
	case <-ctx.Done():
	case <-lease.RevokeRequested(): // an operator wants another leader
	}
	return nil
}

func run(ctx context.Context, servers []string, work func(context.Context, *zklock.Lease) error) error { // until ctx ends
	connecting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := zkconn.Connect(connecting, servers, 10*time.Second, zkconn.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer conn.Close()
	election, err := zklock.New(conn, "/leaders/billing", zklock.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // run's ctx has ended
		defer cancel()
		if err := election.Shutdown(ctx); err != nil {
			slog.Warn("the next leader waits until the session has expired", "err", err)
		}
	}()
	for ctx.Err() == nil {
		err := election.Do(ctx, nil, work) // waits until this machine is the leader
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, zklock.ErrLost):
			slog.Warn("no longer the leader", "err", err)
		case err != nil:
			slog.Error("the leader has failed", "err", err)
			select {
			case <-time.After(time.Second): // meanwhile another machine can become the leader
			case <-ctx.Done():
			}
		}
	}
	return nil
}
