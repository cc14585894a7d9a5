package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/bench/internal/group"

	"example.com/zklock/internal/ensemble"
)

type config struct {
	args    []string // as given
	zk      string
	locks   []contestant
	loads   []load
	rounds  int
	warmup  time.Duration
	rtt     time.Duration // put between the clients and the server
	limit   time.Duration // of a run; 0: none
	jars    string        // class path of Curator; "": Debian's
	explain bool
	json    string
	csv     string
	report  string
	svg     string
	path    string
	join    bool
	procs   int // that take part; 1 unless join
}

var errHelp = errors.New("help was asked for")

// These keep a slip of the finger from filling the memory.
const (
	maxGoroutines   = 100_000
	maxAcquisitions = 1_000_000 // in a run
)

// usualSizes are article A's numbers of threads. Tests of the default run have
// fewer.
var usualSizes = "100,1000"

// onZooKeeper are the locks with a name of their own that run on ZooKeeper.
func onZooKeeper() []contestant { return slices.Concat(contestants, peers) }

func namesOf(locks []contestant) (names []string) {
	for _, c := range locks {
		names = append(names, c.name)
	}
	return names
}

// flags are the flags that need more than a conversion.
type flags struct {
	set                     *flag.FlagSet
	given                   map[string]bool
	locks, sql, redis, etcd *string
	sizes                   *string
	sessions, times         *int
}

// defineFlags returns the flags of the command line; their values go to cfg.
func defineFlags(cfg *config) *flags {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f := &flags{set: fs, given: make(map[string]bool)}
	fs.StringVar(&cfg.zk, "zk", "embedded", "the `servers` to run against: embedded, docker, docker:3, or host:port,host:port,… of a ZooKeeper that is running")
	f.locks = fs.String("locks", strings.Join(namesOf(contestants), ","), "the locks to compare, in this order: a comma-separated `list` of "+
		strings.Join(namesOf(onZooKeeper()), ", ")+", and of folders with locks of your own, such as ./mylock; or all; and of "+
		strings.Join(namesOf(others), ", ")+", which are not on ZooKeeper; or others")
	f.sql = fs.String("sql", "embedded", "the `database` of the SQL locks: embedded, which is SQLite in memory, "+
		"sqlite:FILE, postgres://user:password@host:port/database, "+
		"mysql://… (also for MariaDB); or several, separated by commas, each with a label in front, as in disk=sqlite:FILE,memory=embedded")
	f.redis = fs.String("redis", "embedded", "the `server` of the lock on Redis: embedded, host:port, "+
		"or redis://user:password@host:port; or several, as with -sql")
	f.etcd = fs.String("etcd", "", "the `server` of the lock on etcd, host:port, which must be running")
	f.sizes = fs.String("n", usualSizes, "the numbers of goroutines: a comma-separated `list`; "+
		"without -n, -sessions and -closed a second table has one goroutine alone, and 50 with a session each")
	f.sessions = fs.Int("sessions", 1, "how `many` sessions the goroutines share; at most one each")
	f.times = fs.Int("closed", 1, "how `many` times each goroutine locks, one after the other without a pause")
	fs.IntVar(&cfg.rounds, "rounds", 1, "how `many` times each lock runs; the locks take turns, each round begins with the next one, and the table shows medians")
	cfg.warmup, cfg.limit = 4*time.Second, 2*time.Minute
	fs.Var(duration{&cfg.warmup, "s"}, "warmup", "the `time` to run unmeasured first, on a real server and in Curator's JVM")
	fs.Var(duration{&cfg.rtt, "ms"}, "rtt", "the `time` of a round trip to put between the clients and the server, such as 20ms; half of it each way")
	fs.Var(duration{&cfg.limit, "s"}, "limit", "the longest `time` that a run may take; a run that takes longer is stopped, "+
		"and the same lock with more goroutines is left out; 0: no limit, as with -join")
	fs.StringVar(&cfg.jars, "curator-classpath", "", "the class `path` of Curator's recipes and their dependencies; "+
		"by default that of Debian's libcurator-recipes-java")
	fs.BoolVar(&cfg.explain, "explain", false, "also print what explains the times: the waits of the contenders, and the requests by kind")
	fs.StringVar(&cfg.json, "json", "", "also write every single run to this `file`, as JSON")
	fs.StringVar(&cfg.csv, "csv", "", "also write every single run to this `file`, as comma-separated values")
	fs.StringVar(&cfg.report, "report", "", "also write a page with charts to this `file`, as HTML")
	fs.StringVar(&cfg.svg, "svg", "", "also write the charts to files that begin with this `prefix`, as SVG")
	fs.StringVar(&cfg.path, "path", "/zklock-bench", "the `znode` to work under; the benchmark removes the nodes that it makes there")
	fs.BoolVar(&cfg.join, "join", false, "contend with other processes that are started with -join, on this machine or others; needs -zk host:port,…")
	fs.IntVar(&cfg.procs, "procs", 2, "with -join: how `many` processes take part, all started with the same flags")
	return f
}

// parseFlags reads the command line. The usage, if it is asked for, goes to
// help. An error is one line.
func parseFlags(args []string, help io.Writer) (cfg config, err error) {
	cfg.args = args
	f := defineFlags(&cfg)
	if err := f.parse(args, help); err != nil {
		return cfg, err
	}
	for _, check := range []func(cfg *config) error{f.files, f.zooKeeper, f.lockNames, f.servers, f.loads, f.limits, f.joining} {
		if err := check(&cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

func (f *flags) parse(args []string, help io.Writer) error {
	if err := f.set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "Usage: go run ./bench [flags]\n\n")
			f.set.SetOutput(help)
			f.set.PrintDefaults()
			return errHelp
		}
		return fmt.Errorf("%w (-help lists the flags)", err)
	}
	if f.set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q (-help lists the flags)", f.set.Arg(0))
	}
	var empty error
	f.set.Visit(func(one *flag.Flag) {
		f.given[one.Name] = true
		if one.Value.String() == "" && one.Name != "locks" { // that says more
			empty = fmt.Errorf("-%s: its value is empty (-help says what it takes)", one.Name)
		}
	})
	return empty
}

func (f *flags) files(cfg *config) error {
	for _, one := range []string{"json", "csv", "report", "svg"} {
		if name := f.set.Lookup(one).Value.String(); strings.HasPrefix(name, "-") {
			return fmt.Errorf("-%s: %q begins with a dash: it looks like a flag; a file of that name is ./%s", one, name, name)
		}
	}
	return cfg.checkFiles()
}

// zooKeeper is about the server, and the node to work under.
func (f *flags) zooKeeper(cfg *config) error {
	if err := ensemble.Check(cfg.zk); err != nil {
		return fmt.Errorf("-zk: %w", err)
	}
	for i, part := range strings.Split(cfg.path, "/") {
		switch {
		case (i == 0) != (part == "") || part == "." || part == "..":
			return fmt.Errorf("-path: %q is not the path of a znode: like /a/b, and not / itself", cfg.path)
		case i == 1 && part == "zookeeper":
			return fmt.Errorf("-path: %s is ZooKeeper's own: name another node", cfg.path)
		}
	}
	return nil
}

// lockNames finds the locks that -locks names.
func (f *flags) lockNames(cfg *config) error {
	names := namesOf(onZooKeeper())
	var wanted, folders []string
	for name := range strings.SplitSeq(*f.locks, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			wanted = append(wanted, names...)
			continue
		case name == "others":
			wanted = append(wanted, namesOf(others)...)
			continue
		case isFolder(name):
			folders = append(folders, name)
		}
		wanted = append(wanted, name)
	}
	students, err := ownContestants(folders, slices.Concat(names, namesOf(others)))
	if err != nil {
		return err
	}
	all := slices.Concat(onZooKeeper(), others, students)
	for _, name := range wanted {
		i := slices.IndexFunc(all, func(c contestant) bool { return c.folder == name || c.folder == "" && c.name == name })
		if i < 0 || name == "" {
			return fmt.Errorf("-locks: no lock is called %q; there are %s, and folders such as ./mylock", name, strings.Join(names, ", "))
		}
		if slices.ContainsFunc(cfg.locks, func(c contestant) bool { return c.name == all[i].name }) {
			return fmt.Errorf("-locks: %s is named twice", name)
		}
		cfg.locks = append(cfg.locks, all[i])
	}
	return nil
}

// servers puts the locks that are not on ZooKeeper on their servers.
func (f *flags) servers(cfg *config) (err error) {
	specs := map[string]string{"sql": *f.sql, "redis": *f.redis, "etcd": *f.etcd}
	if cfg.locks, err = onServers(cfg.locks, specs); err != nil {
		return err
	}
	for _, name := range []string{"sql", "redis", "etcd"} {
		if f.given[name] && !slices.ContainsFunc(cfg.locks, func(c contestant) bool { return c.flag() == name }) {
			return fmt.Errorf("-%s: -locks names no lock that runs there; add others", name)
		}
	}
	return nil
}

// loads are the numbers of goroutines, of sessions, and of times that each locks.
func (f *flags) loads(cfg *config) error {
	for s := range strings.SplitSeq(*f.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		switch {
		case err != nil || n < 1 || n > maxGoroutines:
			return fmt.Errorf("-n: %q is not a number of goroutines between 1 and %d", s, maxGoroutines)
		case slices.ContainsFunc(cfg.loads, func(l load) bool { return l.n == n }):
			return fmt.Errorf("-n: %d is named twice", n)
		case *f.sessions < 1 || *f.sessions > n:
			return fmt.Errorf("-sessions: %d is not between 1 and the number of goroutines, %d", *f.sessions, n)
		case *f.times < 1 || *f.times > maxAcquisitions/n:
			return fmt.Errorf("-closed: %d is not between 1 and %d, the most for %d goroutines", *f.times, maxAcquisitions/n, n)
		}
		cfg.loads = append(cfg.loads, load{n: n, sessions: *f.sessions, times: *f.times})
	}
	if !f.given["n"] && !f.given["sessions"] && !f.given["closed"] && !cfg.join {
		cfg.loads = append(cfg.loads, everyday...)
	}
	return nil
}

func (f *flags) limits(cfg *config) error {
	other := slices.IndexFunc(cfg.locks, func(c contestant) bool { return c.system != "" })
	switch {
	case cfg.rtt < 0:
		return fmt.Errorf("-rtt: %v is negative", cfg.rtt)
	case cfg.rtt > 0 && other >= 0:
		return fmt.Errorf("-rtt: it is for locks on ZooKeeper, and %s is not one", cfg.locks[other].name)
	case cfg.warmup < 0:
		return fmt.Errorf("-warmup: %v is negative", cfg.warmup)
	case cfg.limit < 0:
		return fmt.Errorf("-limit: %v is negative (0: no limit)", cfg.limit)
	case cfg.rounds < 1:
		return fmt.Errorf("-rounds: %d is not a number of rounds: at least 1", cfg.rounds)
	}
	return nil
}

// joining is about several processes.
func (f *flags) joining(cfg *config) error {
	kind, _, _ := strings.Cut(cfg.zk, ":")
	switch {
	case cfg.join && slices.ContainsFunc(cfg.locks, func(c contestant) bool { return c.system != "" }):
		return errors.New("-join: it is for locks on ZooKeeper")
	case f.given["procs"] && !cfg.join:
		return errors.New("-procs: is for processes that take part with -join")
	case cfg.join && (kind == "" || kind == ensemble.SpecEmbedded || kind == "docker"):
		return errors.New("-join: other processes cannot reach a server of this process: name one that is running, -zk host:port")
	case cfg.procs < 1 || cfg.procs > group.Most:
		return fmt.Errorf("-procs: %d is not between 1 and %d", cfg.procs, group.Most)
	case !cfg.join:
		cfg.procs = 1
	case !f.given["limit"]:
		cfg.limit = 0 // a limit in one process would end the run of all
	}
	return nil
}
