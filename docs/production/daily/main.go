// Command daily is started by cron on several machines, at the same time each day. The
// job runs on one of them. If that fails, it runs on the next.
//
//	go run ./docs/production/daily zk1:2181,zk2:2181,zk3:2181
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	day := time.Now().UTC().Format(time.DateOnly)
	if err := run(ctx, strings.Split(strings.Join(os.Args[1:], ","), ","), day, report); err != nil {
		log.Fatal(err)
	}
}

// report is the job. A machine may fail after the job and before the day is noted, so
// a job that runs twice for a day must do no harm. It never runs twice at a time if it
// stops when ctx ends, and if what it writes to checks the token.
func report(ctx context.Context, day string, token int64) error {
	fmt.Printf("the report of %s\n", day)
	return nil
}

func run(ctx context.Context, servers []string, day string, job func(ctx context.Context, day string, token int64) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // for all of it
	defer cancel()
	conn, err := zkconn.Connect(ctx, servers, 10*time.Second, zkconn.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := zklock.New(conn, "/jobs/report/lock")
	if err != nil {
		return err
	}
	defer m.Shutdown(ctx)
	// Not TryLock: if the machine that holds the lock fails, this one does the job.
	return m.Do(ctx, nil, func(ctx context.Context, l *zklock.Lease) error {
		const last = "/jobs/report/last" // the day for which the job has run
		data, stat, err := conn.Get(last)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			stat = nil
		case err != nil:
			return err
		case string(data) >= day:
			return nil // another machine has done it
		}
		if err := job(ctx, day, l.Token()); err != nil {
			return err
		}
		if stat == nil {
			_, err = conn.Create(last, []byte(day), 0, zk.WorldACL(zk.PermAll))
		} else {
			_, err = conn.Set(last, []byte(day), stat.Version) // and not over what a later holder has noted
		}
		return err
	})
}
