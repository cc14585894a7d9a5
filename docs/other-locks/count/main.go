// Command count runs the benchmark's counter on the locks of these folders, beside step 3
// and zklock on ZooKeeper, and prints one table:
//
//	go run ./count -n 10,100
//
// With -turn it times hand-overs in their place.
//
// SQLite and miniredis run inside the process. -sql, -redis and -etcd name real servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
)

const limit = 2 * time.Minute // the longest time that a run may take

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "count:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

// onZooKeeper are the locks to compare with.
var onZooKeeper = map[string]zookeeper.Kind{
	"predecessor": zookeeper.Kind{Make: func(conn *zk.Conn, path string) zookeeper.Locker { return predecessor.New(conn, path) }},
	"zklock":      zookeeper.Zklock(),
}

// kinds are the locks of these folders, each with the flag that names its servers.
var kinds = map[string]struct {
	flag string
	open func(ctx context.Context, spec string) (*player, error)
}{
	"sqlrow": {"sql", rows.open}, "sqlversion": {"sql", versions.open}, "sqlforupdate": {"sql", rowsForUpdate.open},
	"redis": {"redis", openRedis}, "etcd": {"etcd", openEtcd},
}

// run counts, and prints the table of what has run.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("count", flag.ContinueOnError)
	flags.SetOutput(stderr)
	locks := flags.String("locks", "predecessor,zklock,sqlrow,sqlversion,sqlforupdate,redis,etcd",
		"a comma-separated `list`; a lock without a server is left out")
	sizes := flags.String("n", "10,100", "the numbers of goroutines, a comma-separated `list`")
	turn := flags.Duration("turn", 0,
		"time the hand-overs of two contenders that hold the lock for this `duration`, and do not count")
	onZK := flags.String("zk", "embedded", "the ZooKeeper `server`: embedded, or host:port,… of a running one")
	servers := map[string]*string{
		"sql": flags.String("sql", "embedded",
			"the `databases`, a comma-separated list: embedded (SQLite), sqlite:FILE, postgres://… or mysql://…"),
		"redis": flags.String("redis", "embedded",
			"the `servers`, a comma-separated list: embedded (miniredis), host:port or redis://…"),
		"etcd": flags.String("etcd", "", "the `servers` of one cluster, host:port,…; there is no embedded one"),
	}
	if err := flags.Parse(args); err != nil {
		return err
	}

	var loads []counter.Load
	for s := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("-n: %q is not a number of goroutines", s)
		}
		loads = append(loads, counter.Load{N: n, Sessions: 1, Times: 1})
	}

	zoo, err := ensemble.Open(ctx, *onZK)
	if err != nil {
		return fmt.Errorf("-zk: %w", err)
	}
	defer zoo.Close()
	w := watcher{stderr}
	settings := zookeeper.Settings{Path: "/zklock-count", Limit: limit, Say: w.Say}
	var relay *relay
	if *turn > 0 {
		relay = newRelay(*turn)
		settings.Work, settings.Step = relay.work, relay.step
	}
	server, err := zookeeper.Open(ctx, zoo, settings)
	if err != nil {
		return err
	}

	b := &counter.Benchmark{Loads: loads, Rounds: 1, Limit: limit, Watcher: w, Untried: true} // each has its suite
	b.Players, err = openPlayers(ctx, *locks, servers, server)
	if err == nil {
		for _, p := range b.Players {
			fmt.Fprintf(stdout, "%s: %s\n", p.Lock().Name, p.Server())
		}
		fmt.Fprintln(stdout)
		if relay != nil {
			err = relay.print(ctx, stdout, b.Players, server)
		} else {
			err = b.Run(ctx)
		}
	}
	err = errors.Join(err, b.Close())
	if len(b.Results) > 0 {
		report.PrintTable(stdout, b.Results, report.TerminalWidth(stdout), i18n.Of(""))
	}
	return server.Close(err)
}

// openPlayers opens each lock on each of its servers, and returns those that are open.
func openPlayers(ctx context.Context, locks string, servers map[string]*string, server *zookeeper.Server) (all []counter.Player, err error) {
	for name := range strings.SplitSeq(locks, ",") {
		if k, ok := onZooKeeper[name]; ok {
			all = append(all, &zookeeper.Player{Of: counter.Lock{Name: name}, Kind: k, On: server})
			continue
		}
		k, ok := kinds[name]
		if !ok {
			return all, fmt.Errorf("-locks: no lock is called %q", name)
		}
		specs := strings.Split(*servers[k.flag], ",")
		if k.flag == "etcd" {
			specs = slices.DeleteFunc([]string{*servers["etcd"]}, func(spec string) bool { return spec == "" }) // of one cluster
		}
		if slices.ContainsFunc(specs, func(spec string) bool { return strings.Contains(spec, "@") && !strings.Contains(spec, "://") }) {
			return all, fmt.Errorf("-%s: a part is not an address; in a password a comma is written %%2C", k.flag)
		}
		for _, spec := range specs {
			p, err := k.open(ctx, spec)
			if err != nil {
				return all, fmt.Errorf("-%s: %w", k.flag, err)
			}
			p.lock, p.with = counter.Lock{Name: name, System: k.flag}, server.Settings
			if len(specs) > 1 { // sqlrow/postgres, redis/embedded
				scheme, _, _ := strings.Cut(spec, ":")
				p.lock.Name += "/" + scheme
			}
			all = append(all, p)
		}
	}
	return all, nil
}

type watcher struct{ w io.Writer } // says on the standard error what runs

func (w watcher) Begin(j counter.Job) { fmt.Fprintf(w.w, "%s, %s …\n", j.Lock().Name, j.Text()) }
func (w watcher) End(report.Run)      {}
func (w watcher) Say(text i18n.Text)  { fmt.Fprintf(w.w, "%s …\n", text) }
