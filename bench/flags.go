package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/zookeeper"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
)

type config struct {
	args    []string // of the command
	zk      string   // the servers
	locks   []contestant
	loads   []counter.Load
	rounds  int
	warmup  time.Duration
	rtt     time.Duration // put between the clients and the server
	limit   time.Duration // of a run; 0: none
	explain bool          // print the tables of waits and requests, too
	json    string        // a file; "": none
	report  string        // a file; "": none
	path    string        // the znode to work under
	join    bool          // with other processes
	procs   int           // how many take part; 1 unless join
	lang    i18n.Language
}

// The limits of flags. A higher number is most likely a typing error, and such a run would fill the memory.
const (
	maxGoroutines   = 100_000
	maxAcquisitions = 1_000_000 // in a run
)

var usualSizes = "100,1000" // the default of -n: article A's numbers of threads. Tests of the default run have fewer

// onZooKeeper are all locks that -locks can name.
func onZooKeeper() []contestant { return slices.Concat(contestants, peers) }

func namesOf(locks []contestant) (names []string) {
	for _, c := range locks {
		names = append(names, c.Name)
	}
	return names
}

// A commandLine has the flags whose values have to be converted for the config. Each of its methods
// checks the values of some flags, and completes the config.
type commandLine struct {
	set             *flag.FlagSet
	given           map[string]bool // the flags that are on the command line
	locks, sizes    *string         // comma-separated lists
	sessions, times *int
}

// defineFlags defines all flags. Those that are not in a commandLine store their values in cfg.
func defineFlags(cfg *config) *commandLine {
	f := &commandLine{set: flag.NewFlagSet("bench", flag.ContinueOnError), given: make(map[string]bool)}
	f.set.SetOutput(io.Discard)
	usage := i18n.FlagUsage
	f.set.StringVar(&cfg.zk, "zk", cmp.Or(os.Getenv("ZK"), ensemble.SpecEmbedded), usage(
		"the `servers` to run against: embedded, or host:port,host:port,… of a running ZooKeeper; by default those of the environment variable ZK"))
	all := i18n.List(namesOf(onZooKeeper()))
	f.locks = f.set.String("locks", strings.Join(namesOf(contestants), ","), usage(
		i18n.Textf("the locks to compare, in this order: a comma-separated `list` of %v; or all", all)))
	f.sizes = f.set.String("n", usualSizes, usage("the numbers of goroutines: a comma-separated `list`; "+
		"without -n, -sessions and -closed a second table has one goroutine alone, and 50 with a session each"))
	f.sessions = f.set.Int("sessions", 1, usage("how `many` sessions the goroutines share; at most one each"))
	f.times = f.set.Int("closed", 1, usage("how `many` times each goroutine locks, one after the other without a pause"))
	f.set.IntVar(&cfg.rounds, "rounds", 1, usage("how `many` times each lock runs; the locks take turns, each round "+
		"begins with the next one, and the table shows medians"))
	cfg.warmup, cfg.limit = 4*time.Second, 2*time.Minute
	f.set.Var(timeFlag{&cfg.warmup, "s"}, "warmup", usage("the `time` to run unmeasured first, on a real server and in Curator's JVM"))
	f.set.Var(timeFlag{&cfg.rtt, "ms"}, "rtt", usage("the `time` of a round trip to put between the clients and the server, such as 20ms; half of it each way"))
	f.set.Var(timeFlag{&cfg.limit, "s"}, "limit", usage("the longest `time` that a run may take; "+
		"a run that takes longer is stopped, and the same lock with more goroutines is left out; 0: no limit, as with -join"))
	f.set.BoolVar(&cfg.explain, "explain", false, usage("also print what explains the times: the waits of the contenders, and the requests by kind"))
	f.set.StringVar(&cfg.json, "json", "", usage("also write every single run to this `file`, as JSON"))
	f.set.StringVar(&cfg.report, "report", "", usage("also write a page with charts to this `file`, as HTML"))
	f.set.StringVar(&cfg.path, "path", "/zklock-bench", usage("the `znode` to work under; the benchmark removes the nodes that it makes there"))
	f.set.BoolVar(&cfg.join, "join", false, usage("contend with other processes that are started with -join, on this machine or others; needs -zk host:port,…"))
	f.set.IntVar(&cfg.procs, "procs", 2, usage("with -join: how `many` processes take part, all started with the same flags"))
	cfg.lang = i18n.Of("")
	f.set.Var(&cfg.lang, "lang", i18n.Usage)
	return f
}

// parseFlags reads the command line. For -help it prints the usage and returns flag.ErrHelp. An error is one line.
func parseFlags(args []string, help io.Writer) (cfg config, err error) {
	cfg.args = args
	f := defineFlags(&cfg)
	if err := f.parse(&cfg, args, help); err != nil {
		return cfg, err
	}
	for _, check := range []func(*config) error{f.checkFiles, f.checkServer, f.setLocks, f.setLoads, f.checkLimits, f.checkJoin} {
		if err := check(&cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// parse converts the values, and notes which flags are given.
func (f *commandLine) parse(cfg *config, args []string, help io.Writer) error {
	if err := f.set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage := i18n.Text("Usage: go run ./bench [flags]").In(cfg.lang)
			fmt.Fprintf(help, "%s\n\n%s", usage, cfg.lang.Help(f.set))
			return flag.ErrHelp
		}
		return i18n.Errorf("%w (-help lists the flags)", i18n.WrongFlag(f.set, err))
	}

	if f.set.NArg() > 0 {
		return i18n.Errorf("unexpected argument %q (-help lists the flags)", f.set.Arg(0))
	}
	var empty error
	f.set.Visit(func(set *flag.Flag) {
		f.given[set.Name] = true
		if set.Value.String() == "" && set.Name != "locks" { // for which setLocks has a better message
			empty = i18n.Errorf("-%s: its value is empty (-help says what it takes)", set.Name)
		}
	})
	return empty
}

// checkFiles checks -json and -report. If they were one file, one would write over the other.
func (f *commandLine) checkFiles(cfg *config) error {
	for _, o := range cfg.outputs() {
		if strings.HasPrefix(o.file, "-") {
			return i18n.Errorf("%s: %q begins with a dash: it looks like a flag; a file of that name is ./%s", o.flag, o.file, o.file)
		}
	}
	if cfg.json != "" && cfg.report != "" && filepath.Clean(cfg.json) == filepath.Clean(cfg.report) {
		return i18n.Errorf("-report: %s is the file of -json, too: give each its own", cfg.report)
	}
	return nil
}

func (f *commandLine) checkServer(cfg *config) error {
	if err := ensemble.Check(cfg.zk); err != nil {
		return i18n.Errorf("-zk: %w", err)
	}
	for i, part := range strings.Split(cfg.path, "/") {
		beforeFirstSlash, empty := i == 0, part == ""
		switch {
		case empty != beforeFirstSlash || part == "." || part == "..":
			return i18n.Errorf("-path: %q is not the path of a znode: like /a/b, and not / itself", cfg.path)
		case i == 1 && part == "zookeeper":
			return i18n.Errorf("-path: %s is ZooKeeper's own: name another node", cfg.path)
		}
	}
	return nil
}

func (f *commandLine) setLocks(cfg *config) error {
	names := namesOf(onZooKeeper())
	for name := range strings.SplitSeq(*f.locks, ",") {
		wanted := []string{strings.TrimSpace(name)}
		if wanted[0] == "all" {
			wanted = names
		}
		for _, name := range wanted {
			switch {
			case !slices.Contains(names, name):
				return i18n.Errorf("-locks: no lock is called %q; there are %s", name, i18n.List(names))
			case slices.Contains(namesOf(cfg.locks), name):
				return i18n.Errorf("-locks: %s is named twice", name)
			}
			cfg.locks = append(cfg.locks, find(name))
		}
	}
	return nil
}

func find(name string) contestant {
	all := onZooKeeper()
	return all[slices.IndexFunc(all, func(c contestant) bool { return c.Name == name })]
}

// setLoads makes the loads of -n, -sessions and -closed. Without these flags it adds those of the second table.
func (f *commandLine) setLoads(cfg *config) error {
	for s := range strings.SplitSeq(*f.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		switch {
		case err != nil || n < 1 || n > maxGoroutines:
			return i18n.Errorf("-n: %q is not a number of goroutines between 1 and %d", s, maxGoroutines)
		case slices.ContainsFunc(cfg.loads, func(l counter.Load) bool { return l.N == n }):
			return i18n.Errorf("-n: %d is named twice", n)
		case *f.sessions < 1 || *f.sessions > n:
			return i18n.Errorf("-sessions: %d is not between 1 and the number of goroutines, %d", *f.sessions, n)
		case *f.times < 1 || *f.times > maxAcquisitions/n:
			return i18n.Errorf("-closed: %d is not between 1 and %d, the most for %d goroutines", *f.times, maxAcquisitions/n, n)
		}
		cfg.loads = append(cfg.loads, counter.Load{N: n, Sessions: *f.sessions, Times: *f.times})
	}
	if !f.given["n"] && !f.given["sessions"] && !f.given["closed"] && !cfg.join {
		cfg.loads = append(cfg.loads, counter.Everyday...)
	}
	return nil
}

func (f *commandLine) checkLimits(cfg *config) error {
	switch {
	case cfg.rtt < 0:
		return i18n.Errorf("-rtt: %v is negative", cfg.rtt)
	case cfg.warmup < 0:
		return i18n.Errorf("-warmup: %v is negative", cfg.warmup)
	case cfg.limit < 0:
		return i18n.Errorf("-limit: %v is negative (0: no limit)", cfg.limit)
	case cfg.rounds < 1:
		return i18n.Errorf("-rounds: %d is not a number of rounds: at least 1", cfg.rounds)
	}
	return nil
}

// checkJoin checks -join and -procs, and sets what follows from them.
func (f *commandLine) checkJoin(cfg *config) error {
	kind, _, _ := strings.Cut(cfg.zk, ":")
	switch {
	case f.given["procs"] && !cfg.join:
		return i18n.Errorf("-procs: is for processes that take part with -join")
	case cfg.join && (kind == "" || kind == ensemble.SpecEmbedded):
		return i18n.Errorf("-join: other processes cannot reach a server of this process: name one that is running, -zk host:port")
	case cfg.procs < 1 || cfg.procs > zookeeper.MostProcesses:
		return i18n.Errorf("-procs: %d is not between 1 and %d", cfg.procs, zookeeper.MostProcesses)
	case !cfg.join:
		cfg.procs = 1
	case !f.given["limit"]:
		cfg.limit = 0 // a limit in one process would end the run of all
	}
	return nil
}

// shared returns the flags that must be the same in all processes.
func (cfg config) shared() string {
	var sizes []string
	for _, l := range cfg.loads {
		sizes = append(sizes, strconv.Itoa(l.N))
	}
	return fmt.Sprintf("-procs %d -locks %s -n %s -sessions %d -closed %d -rounds %d", cfg.procs,
		strings.Join(namesOf(cfg.locks), ","), strings.Join(sizes, ","), cfg.loads[0].Sessions, cfg.loads[0].Times, cfg.rounds)
}

// A timeFlag is the value of a flag that takes a time. Its error is clearer than package flag's if the unit is missing.
type timeFlag struct {
	*time.Duration
	unit string // the unit that a bare number most likely means
}

func (d timeFlag) String() string {
	if d.Duration == nil { // package flag calls String of a zero value, too
		return ""
	}
	return d.Duration.String()
}

func (d timeFlag) Set(text string) (err error) {
	*d.Duration, err = time.ParseDuration(text)
	if err != nil {
		if _, unitErr := time.ParseDuration(text + d.unit); unitErr == nil {
			return i18n.Errorf("it has no unit: write %s%s", text, d.unit)
		}
		return i18n.Errorf("it is not a time such as 5%s", d.unit)
	}
	return nil
}
