// Bench runs article A's counter benchmark over the locks of the steps: N
// goroutines that share a client each lock, add one to a plain variable and
// unlock.
//
//	go run ./bench
//	go run ./bench -zk 127.0.0.1:2181 -locks naive,predecessor -n 100 -rounds 5
//	go run ./bench -locks all
//
// Before it measures, it tries each lock with a few contenders: a lock that
// lets two in, hangs or panics ends the benchmark. Then it prints one table:
// the final count, which must be N; the elapsed time; how many times faster
// that is than the naive lock; the requests and watch events per acquisition,
// counted on the wire; and the article's own figures beside them. A count that
// is not N, two holders at once, or a lock that fails, panics or hangs is a
// failure: exit status 1. Wrong flags: 2. Interrupted: 130. (Those are the
// built program's; go run exits with 1 for all of them.) A run that reaches the
// limit, or a peer that cannot run, is a row that says so.
//
// -locks also takes folders, for locks of your own:
//
//	go run ./bench -locks predecessor,./mylock
//
// -locks others, or their names, adds the locks of docs/other-locks: on a SQL
// database, Redis and etcd. -sql, -redis and -etcd name their servers.
//
// -explain prints what explains the times, -report writes a page with charts;
// docs/benchmark.md says how to read them.
//
// With -join several such processes, on one machine or more, contend for the
// same locks; docs/several-machines.md says how. With -serve it runs no
// benchmark, but the embedded server for other programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/internal/ensemble"
)

func main() {
	// The herd's lists are garbage as soon as they are read. If they are
	// collected rarely, they cost less and disturb the figures less; the limit
	// keeps memory bounded.
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(512 << 20)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C kills, but only after a second: some shells and tools send
	// two at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stdout)
	if errors.Is(err, errHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitUsage
	}
	fail := func(err error) int {
		// Joined errors have several lines.
		fmt.Fprintf(stderr, "bench: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitFailure
	}

	if cfg.serve != "" {
		if err := serve(ctx, cfg.serve, stdout, stderr); err != nil {
			return fail(err)
		}
		return exitOK
	}
	if missing := cfg.missing(); len(missing) > 0 {
		status, err := runWith(ctx, missing, args, stdout, stderr)
		if err != nil {
			return fail(err)
		}
		return status
	}
	zoo, err := ensemble.Open(ctx, cfg.zk)
	if err != nil {
		return fail(fmt.Errorf("-zk: %w", err))
	}
	defer zoo.Close()
	files, err := openFiles(cfg)
	if err != nil {
		return fail(err)
	}
	defer files.close()
	b := &benchmark{cfg: cfg, zoo: zoo, progress: newProgress(stderr, cfg)}
	if err := b.openArenas(ctx); err != nil {
		return fail(err)
	}
	fmt.Fprintf(stdout, "ZooKeeper: %v\n", zoo)
	for _, line := range b.arenaLines() {
		fmt.Fprintln(stdout, line)
	}
	if cfg.join {
		fmt.Fprintf(stdout, "%d processes that share a counter; in each of them\n", cfg.procs)
	}
	fmt.Fprintf(stdout, "N goroutines over %s, each: lock, num++, unlock.", sessionsText(cfg.sessions))
	if cfg.rounds > 1 {
		fmt.Fprintf(stdout, " Medians of %d rounds.", cfg.rounds)
	}
	fmt.Fprint(stdout, "\n\n")

	err = b.runAll(ctx)
	b.progress.finish()
	err = errors.Join(err, b.closeArenas())
	if len(b.results) > 0 {
		width := terminalWidth(stdout)
		printTable(stdout, b.results, width)
		if cfg.rounds > 1 || cfg.explain {
			printTimes(stdout, b.results, width)
		}
		if cfg.explain {
			printWire(stdout, b.results, width)
		}
	}
	if fileErr := files.write(cfg, b.results, b.film); fileErr != nil && err == nil {
		err = fileErr
	}
	if err != nil {
		return fail(err)
	}
	return exitOK
}

func sessionsText(n int) string {
	if n == 1 {
		return "1 shared session"
	}
	return fmt.Sprintf("%d sessions", n)
}
