// Command count runs the benchmark's counter on the locks of these folders, beside step 3
// and zklock on ZooKeeper, and prints one table:
//
//	go run ./count -n 10,100
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
	"example.com/zklock/zklock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	lang := i18n.Of("")
	if err := run(ctx, &lang, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "count:", strings.ReplaceAll(i18n.TextOf(err).In(lang), "\n", "; "))
		os.Exit(i18n.Status(err))
	}
}

// onZooKeeper are the locks to compare with.
var onZooKeeper = map[string]zookeeper.Kind{
	"predecessor": zookeeper.Queue(func(conn *zk.Conn, path string) zookeeper.Locker { return predecessor.New(conn, path) }),
	"zklock": zookeeper.Leased(func(conn *zk.Conn, path string, session time.Duration) (*zklock.Mutex, error) {
		return zklock.New(conn, path, zklock.WithSessionTimeout(session))
	}, zklock.NewOwner),
}

// A kind is one of the locks of these folders.
type kind struct {
	name, system string
	open         func(ctx context.Context, spec string) (arena, error)
}

var kinds = []kind{
	{"sqlrow", "SQL", openRow}, {"sqlversion", "SQL", openStock}, {"sqlforupdate", "SQL", openForUpdate},
	{"redis", "Redis", openRedis}, {"etcd", "etcd", openEtcd},
}

// names are those of all locks, in the order of the table.
func names() []string {
	all := []string{"predecessor", "zklock"}
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

type config struct {
	zk, locks, sizes, json string
	servers                map[string]*string // by the system
	rounds                 int
	limit                  time.Duration
	loads                  []counter.Load
}

func parse(args []string, lang *i18n.Language, help io.Writer) (cfg config, err error) {
	say := i18n.Both
	flags := flag.NewFlagSet("count", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&cfg.zk, "zk", "embedded", say("the ZooKeeper `server`: embedded, or host:port,… of a running one", "ZooKeeper `服务器`：embedded（内嵌的），或者正在运行的 host:port,…"))
	flags.StringVar(&cfg.locks, "locks", "", say("the locks, a comma-separated `list`; by default all that have a server", "比较哪些锁，`列表`用逗号分隔；不写就是有服务器的全部锁"))
	flags.StringVar(&cfg.sizes, "n", "10,100", say("the numbers of goroutines, a comma-separated `list`", "goroutine 的个数，`列表`用逗号分隔"))
	flags.IntVar(&cfg.rounds, "rounds", 1, say("how `many` times each lock runs; the table shows medians", "每个锁运行几`轮`；表里是中位数"))
	flags.DurationVar(&cfg.limit, "limit", 2*time.Minute, say("the longest `time` that a run may take", "一次运行的最长`时间`"))
	flags.StringVar(&cfg.json, "json", "", say("also write every run to this `file`, as JSON", "把每一次运行都写入这个`文件`，格式为 JSON"))
	cfg.servers = map[string]*string{
		"SQL": flags.String("sql", "embedded", say("the `databases`, each as SPEC or LABEL=SPEC: embedded (SQLite), sqlite:FILE, postgres://… or mysql://…",
			"各个`数据库`，写成 SPEC 或 LABEL=SPEC：embedded（SQLite）、sqlite:FILE、postgres://… 或 mysql://…")),
		"Redis": flags.String("redis", "embedded", say("the `servers`, each as SPEC or LABEL=SPEC: embedded (miniredis), host:port or redis://…",
			"各个`服务器`，写成 SPEC 或 LABEL=SPEC：embedded（miniredis）、host:port 或 redis://…")),
		"etcd": flags.String("etcd", "", say("the `servers` of one cluster, host:port,…; there is no embedded one", "一个集群的各个`服务器`，host:port,…；没有内嵌的")),
	}
	flags.Var(lang, "lang", i18n.Usage)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, lang.Help(flags))
		return cfg, err
	} else if err != nil {
		return cfg, i18n.Misusef("%w", "%v", i18n.WrongFlag(flags, err))
	}
	for s := range strings.SplitSeq(cfg.sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 100_000 {
			return cfg, i18n.Misusef("-n: %q is not a number of goroutines", "-n：%q 不是 goroutine 的个数", s)
		}
		cfg.loads = append(cfg.loads, counter.Load{N: n, Sessions: 1, Times: 1})
	}
	if cfg.locks == "" {
		cfg.locks = strings.Join(names(), ",")
		if *cfg.servers["etcd"] == "" {
			cfg.locks = strings.TrimSuffix(cfg.locks, ",etcd")
		}
	}
	if cfg.rounds < 1 {
		return cfg, i18n.Misusef("-rounds: %d is not at least 1", "-rounds：%d 小于 1", cfg.rounds)
	}
	return cfg, nil
}

// run counts, and prints the table of what has run.
func run(ctx context.Context, lang *i18n.Language, args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, lang, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	zoo, err := ensemble.Open(ctx, cfg.zk)
	if err != nil {
		return i18n.Errorf("-zk: %w", "-zk：%v", err)
	}
	defer zoo.Close()
	w := watcher{stderr, lang}
	server, err := zookeeper.Open(ctx, zoo, zookeeper.Settings{Path: "/zklock-count", Limit: cfg.limit, Say: w.Say})
	if err != nil {
		return err
	}
	facts := report.GatherFacts(zoo.Members(ctx))
	facts.Command = strings.Replace(report.Settings{Args: args}.Command(), "./bench", "./count", 1)
	b := &counter.Benchmark{Loads: cfg.loads, Rounds: cfg.rounds, Limit: cfg.limit, Facts: facts, Watcher: w,
		Untried: true} // each has passed the suite in its folder
	b.Players, err = cfg.players(ctx, server)
	if err == nil {
		for _, p := range b.Players {
			fmt.Fprintf(stdout, "%s: %s\n", p.Lock().Name, p.Server().In(*lang))
		}
		fmt.Fprintln(stdout)
		err = b.Run(ctx)
	}
	err = errors.Join(err, b.Close())
	if len(b.Results) > 0 {
		report.PrintTable(stdout, b.Results, report.TerminalWidth(stdout), *lang)
		err = errors.Join(err, cfg.writeJSON(b.Results))
	}
	return server.Close(err)
}

func (cfg config) writeJSON(results []report.Run) error {
	if cfg.json == "" {
		return nil
	}
	f, err := os.Create(cfg.json)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteJSON(f, results), f.Close())
}

// players opens each lock on each of its servers, and returns those that are open.
func (cfg config) players(ctx context.Context, server *zookeeper.Server) (all []counter.Player, err error) {
	for name := range strings.SplitSeq(cfg.locks, ",") {
		if k, ok := onZooKeeper[name]; ok {
			all = append(all, server.Play(counter.Lock{Name: name}, k))
			continue
		}
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		if at < 0 {
			return all, i18n.Misusef("-locks: no lock is called %q; there are %s", "-locks：没有名为 %q 的锁；可选的有 %s", name, i18n.List(names()))
		}
		k := kinds[at]
		labels, specs, err := split(k.system, *cfg.servers[k.system])
		if err != nil {
			return all, err
		}
		for i, spec := range specs {
			a, err := k.open(ctx, spec)
			if err != nil {
				return all, i18n.Errorf("-%s: %w", "-%s：%v", strings.ToLower(k.system), err)
			}
			lock := counter.Lock{Name: name, System: k.system}
			if len(specs) > 1 {
				lock.Name += "/" + labels[i]
			}
			all = append(all, player{lock, a, cfg.limit})
		}
	}
	return all, nil
}

// split returns the servers of a flag, and their labels. etcd's commas are between the servers of one
// cluster.
func split(system, value string) (labels, specs []string, err error) {
	if system == "etcd" && value != "" {
		return []string{""}, []string{value}, nil
	}
	for i, spec := range strings.Split(value, ",") {
		label, rest, labelled := strings.Cut(spec, "=")
		if !labelled || strings.ContainsAny(label, ":/@") { // it belongs to a URL
			label, rest = strconv.Itoa(i+1), spec
		}
		switch flag := strings.ToLower(system); {
		case rest == "":
			return nil, nil, i18n.Misusef("-%s: it names no server", "-%s：没有写出服务器", flag)
		case i > 0 && strings.Contains(rest, "@") && !strings.Contains(rest, "://"):
			return nil, nil, i18n.Misusef("-%s: the part after comma %d is not an address; in a password a comma is written %%2C",
				"-%s：第 %d 个逗号之后的部分不是地址；密码里的逗号要写成 %%2C", flag, i)
		case slices.Contains(labels, label):
			return nil, nil, i18n.Misusef("-%s: %s is named twice", "-%s：%s 写了两次", flag, label)
		}
		labels, specs = append(labels, label), append(specs, rest)
	}
	return labels, specs, nil
}

// A watcher says on the standard error what runs.
type watcher struct {
	w    io.Writer
	lang *i18n.Language
}

func (w watcher) Begin(j counter.Job) {
	w.Say(i18n.Textf("%s, %s", "%s，%s", j.Lock().Name, j.Text()))
}
func (w watcher) Step()              {}
func (w watcher) End(report.Run)     {}
func (w watcher) Say(text i18n.Text) { fmt.Fprintf(w.w, "%s …\n", text.In(*w.lang)) }
