// Bench runs article A's counter benchmark over the locks of the steps: N goroutines that share a client each lock, add
// one to a plain variable and unlock.
//
//	go run ./bench
//	go run ./bench -zk 127.0.0.1:2181 -locks naive,predecessor -n 100 -rounds 5
//	go run ./bench -locks all
//
// Before it measures, it tries each lock with a few contenders: a lock that lets two in, hangs or panics ends the
// benchmark. Then it prints one table: the final count, which must be N; the elapsed time; how many times faster that
// is than the naive lock; the requests and watch events per acquisition, counted on the wire; and the article's own
// figures beside them. A count that is not N, two holders at once, or a lock that fails, panics or hangs is a failure:
// exit status 1. Wrong flags: 2. Interrupted: 130. (Those are the built program's; go run exits with 1 for all of
// them.) A run that reaches the limit, or a peer that cannot run, is a row that says so.
//
// A lock of your own is a file and three lines in peers.go. The locks that are not on
// ZooKeeper are in docs/other-locks, with a command that compares them.
//
// -explain prints what explains the times, -report writes a page with charts; docs/benchmark.md says how to read them.
//
// With -join several such processes, on one machine or more, contend for the
// same locks; docs/several-machines.md says how.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
)

func main() {
	if name := os.Getenv(zookeeper.HoldVariable); name != "" { // a benchmark has started this process for a long hold
		c := find(name)
		zookeeper.PlayHold(c.Lock, c.Kind) // does not return
	}
	if os.Getenv("GOGC") == "" { // what a herd makes is garbage: the client's lists of names, each used once
		debug.SetGCPercent(400)
	}

	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP) // the terminal has been closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// A pipe that nobody reads any more is an error of Write, and not the end of a process that has nodes on a server.
	signal.Ignore(syscall.SIGPIPE)
	// A second Ctrl-C kills, but only after a second: some shells and tools send two at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// A stdoutWriter keeps its first error, and writes nothing after it.
type stdoutWriter struct {
	io.Writer
	err error
}

func (w *stdoutWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Writer.Write(b)
	if err != nil {
		w.err = i18n.Errorf("standard output: %w", err)
	}
	return n, w.err
}

// Unwrap returns what it writes to.
func (w *stdoutWriter) Unwrap() io.Writer { return w.Writer }

const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is main without the process around it. It returns the exit status.
func run(ctx context.Context, args []string, out, stderr io.Writer) int {
	stdout := &stdoutWriter{Writer: out}
	cfg, err := parseFlags(args, stdout)
	exit := func(err error) int { // prints the error, if there is one, and returns the exit status
		if err == nil {
			return exitOK
		}
		// Joined errors have several lines.
		fmt.Fprintln(stderr, "bench:", strings.ReplaceAll(i18n.TextOf(err).In(cfg.lang), "\n", "; "))
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitFailure
	}

	switch {
	case errors.Is(err, flag.ErrHelp):
		return exit(stdout.err)
	case err != nil:
		exit(err)
		return exitUsage
	}
	zoo, err := ensemble.Open(ctx, cfg.zk)
	if err != nil {
		return exit(i18n.Errorf("-zk: %w", err))
	}
	defer zoo.Close()
	if err := cfg.checkWritable(); err != nil {
		return exit(err)
	}
	cfg.introduce(stdout, zoo)
	if stdout.err != nil {
		return exit(stdout.err) // before anything is measured
	}

	results, err := cfg.measure(ctx, zoo, stderr)
	if len(results) > 0 { // else the files stay as they are
		cfg.printTables(stdout, results, report.TerminalWidth(out))
		err = cmp.Or(err, cfg.writeFiles(results))
	}
	return exit(cmp.Or(stdout.err, err))
}

// Tests set these to false: a lock that is broken on purpose does not pass its trial, and the main function
// of a test binary plays no long holds.
var withTrials, withLongHolds = true, true

// measure runs all locks, and returns the rows of those that have run.
func (cfg config) measure(ctx context.Context, zoo *ensemble.Ensemble, stderr io.Writer) ([]report.Run, error) {
	screen := &progress{w: stderr, lang: cfg.lang, rounds: cfg.rounds, total: len(cfg.loads) * cfg.rounds * len(cfg.locks)}
	settings := zookeeper.Settings{Path: cfg.path, Limit: cfg.limit, RTT: cfg.rtt, Say: screen.Say}
	if withLongHolds {
		settings.Program, _ = os.Executable()
	}
	if cfg.join {
		settings.Processes, settings.Flags = cfg.procs, cfg.shared()
	}
	server, err := zookeeper.Open(ctx, zoo, settings)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, counter.ErrInterrupted
	case err != nil:
		return nil, err
	}

	facts := report.GatherFacts(zoo.Members(ctx))
	facts.Command = "go run ./bench " + strings.Join(cfg.args, " ")
	b := &counter.Benchmark{
		Loads: cfg.loads, Rounds: cfg.rounds, WarmUp: cfg.warmup, Limit: cfg.limit,
		Untried: !withTrials, Processes: cfg.procs, Watcher: screen,
	}
	for _, c := range cfg.locks { // entries of contestants.go and peers.go
		if c.Name == curator {
			b.Players = append(b.Players, &curatorPlayer{cfg: cfg, lock: c.Lock, server: server, keep: b.Keep})
		} else {
			b.Players = append(b.Players, &zookeeper.Player{Of: c.Lock, Kind: c.Kind, On: server})
		}
	}

	err = b.Run(ctx)
	screen.finish()
	for i := range b.Results {
		b.Results[i].Facts = facts
	}
	return b.Results, server.Close(errors.Join(err, b.Close())) // Close returns the error that it gets, too
}

// printTables prints the results. The width is that of a terminal, in columns; 0 means no limit.
func (cfg config) printTables(stdout io.Writer, results []report.Run, width int) {
	report.PrintTable(stdout, results, width, cfg.lang)
	if cfg.rounds > 1 || cfg.explain {
		report.PrintTimes(stdout, results, width, cfg.lang)
	}
	if cfg.explain {
		report.PrintWire(stdout, results, width, cfg.lang)
	}
}

// introduce says where the locks run, and what is done with them.
func (cfg config) introduce(out io.Writer, zoo *ensemble.Ensemble) {
	fmt.Fprintln(out, i18n.Textf("ZooKeeper: %s", zoo.Says()).In(cfg.lang))
	if cfg.join {
		fmt.Fprintln(out, i18n.Textf("%d processes that share a counter; in each of them", cfg.procs).In(cfg.lang))
	}
	fmt.Fprint(out, cfg.headline())
}

// headline says what the first table measures.
func (cfg config) headline() string {
	text := i18n.Textf("N goroutines over %s", cfg.whatEachDoes())
	if cfg.rounds > 1 {
		text = i18n.Textf("%s Medians of %d rounds.", text, cfg.rounds)
	}
	return text.In(cfg.lang) + "\n\n"
}

// whatEachDoes completes the sentence "N goroutines over".
func (cfg config) whatEachDoes() i18n.Text {
	l := cfg.loads[0]
	sessions, times := i18n.Text("1 shared session, each"), i18n.Both("", "做一次")
	if l.Sessions > 1 {
		sessions = i18n.Textf("%d sessions, each", l.Sessions)
	}
	if l.Times > 1 {
		times = i18n.Textf(" %d times", l.Times)
	}
	text := i18n.Textf("%s%s: lock, num++, unlock.", sessions, times)
	if cfg.rtt > 0 {
		text = i18n.Textf("%s A round trip to the server is made %v longer.", text, cfg.rtt)
	}
	return text
}

type output struct{ flag, file string } // a file to write, and the flag that names it

func (cfg config) outputs() []output {
	all := []output{{"-json", cfg.json}, {"-report", cfg.report}}
	return slices.DeleteFunc(all, func(o output) bool { return o.file == "" })
}

// checkWritable fails if a file cannot be written. It is called before the run, whose results would be lost.
func (cfg config) checkWritable() error {
	for _, o := range cfg.outputs() {
		if err := report.CheckFile(o.file); err != nil {
			return i18n.Errorf("%s: %w", o.flag, err)
		}
	}
	return nil
}

// writeFiles writes the results to all files, and returns the first error.
func (cfg config) writeFiles(results []report.Run) (err error) {
	for _, o := range cfg.outputs() {
		e := report.WriteFile(o.file, func(w io.Writer) error {
			if o.flag == "-json" {
				return report.WriteJSON(w, results)
			}
			settings := report.Settings{Each: cfg.whatEachDoes(), Rounds: cfg.rounds, WarmUp: cfg.warmup, Limit: cfg.limit}
			return report.WriteReport(w, settings, results, cfg.lang)
		})
		if e != nil && err == nil {
			err = i18n.Errorf("%s: %w", o.flag, e)
		}
	}
	return err
}
