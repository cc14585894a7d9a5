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
	"example.com/zklock/internal/language"
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
	lang    language.Language
}

var errHelp = flag.ErrHelp

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
	say := language.Both
	f := &flags{set: fs, given: make(map[string]bool)}
	fs.StringVar(&cfg.zk, "zk", "embedded", say("the `servers` to run against: embedded, docker, docker:3, or host:port,host:port,… of a running ZooKeeper", "在哪些`服务器`上运行：embedded（内嵌的）、docker、docker:3，或者正在运行的 ZooKeeper：host:port,host:port,…"))
	here, elsewhere := language.List(namesOf(onZooKeeper())), language.List(namesOf(others))
	f.locks = fs.String("locks", strings.Join(namesOf(contestants), ","), say("the locks to compare, in this order: a comma-separated `list` of "+here.En+
		", and of folders with locks of your own, such as ./mylock; or all; and of "+elsewhere.En+", which are not on ZooKeeper; or others",
		"比较哪些锁，按这个次序；`列表`用逗号分隔，可选 "+here.Zh+"，以及 ./mylock 这样放着你自己的锁的文件夹，或者 all；还有不在 ZooKeeper 上的 "+elsewhere.Zh+"，或者 others"))
	f.sql = fs.String("sql", "embedded", say("the `database` of the SQL locks: embedded, which is SQLite in memory, sqlite:FILE, "+
		"postgres://user:password@host:port/database, "+
		"mysql://… (also for MariaDB); or several, separated by commas, each with a label in front, as in disk=sqlite:FILE,memory=embedded",
		"SQL 锁的`数据库`：embedded（内存里的 SQLite）、sqlite:FILE、postgres://user:password@host:port/database、mysql://…（也用于 MariaDB）；"+
			"可以写几个，用逗号分隔，各在前面加个标签，如 disk=sqlite:FILE,memory=embedded"))
	f.redis = fs.String("redis", "embedded", say("the `server` of the lock on Redis: embedded, host:port, or redis://user:password@host:port; or several, as with -sql", "Redis 上的锁的`服务器`：embedded（内嵌的）、host:port 或 redis://user:password@host:port；也可以像 -sql 那样写几个"))
	f.etcd = fs.String("etcd", "", say("the `server` of the lock on etcd, host:port, which must be running", "etcd 上的锁的`服务器`，host:port，必须正在运行"))
	f.sizes = fs.String("n", usualSizes, say("the numbers of goroutines: a comma-separated `list`; "+
		"without -n, -sessions and -closed a second table has one goroutine alone, and 50 with a session each",
		"goroutine 的个数，`列表`用逗号分隔；不写 -n、-sessions 和 -closed 时，还有第二张表：单个 goroutine，以及 50 个各用一个会话的 goroutine"))
	f.sessions = fs.Int("sessions", 1, say("how `many` sessions the goroutines share; at most one each", "各 goroutine 共用几个会话，`个数`最多与 goroutine 一样多"))
	f.times = fs.Int("closed", 1, say("how `many` times each goroutine locks, one after the other without a pause", "每个 goroutine 连续加锁的`次数`，中间不停"))
	fs.IntVar(&cfg.rounds, "rounds", 1, say("how `many` times each lock runs; the locks take turns, each round begins with the next one, and the table shows medians", "每个锁运行几`轮`；各个锁轮流运行，每一轮从下一个锁开始，表里是中位数"))
	cfg.warmup, cfg.limit = 4*time.Second, 2*time.Minute
	fs.Var(duration{&cfg.warmup, "s"}, "warmup", say("the `time` to run unmeasured first, on a real server and in Curator's JVM", "计时之前先预热多长`时间`，用于真正的服务器和 Curator 的 JVM"))
	fs.Var(duration{&cfg.rtt, "ms"}, "rtt", say("the `time` of a round trip to put between the clients and the server, such as 20ms; half of it each way", "在客户端与服务器之间加上的往返`时间`，如 20ms，来回各一半"))
	fs.Var(duration{&cfg.limit, "s"}, "limit", say("the longest `time` that a run may take; a run that takes longer is stopped, "+
		"and the same lock with more goroutines is left out; 0: no limit, as with -join",
		"一次运行的最长`时间`；超过就停止，这个锁不再测更多的 goroutine；0 表示不限，用 -join 时也不限"))
	fs.StringVar(&cfg.jars, "curator-classpath", "", say("the class `path` of Curator's recipes and their dependencies; "+
		"by default that of Debian's libcurator-recipes-java", "Curator 的 recipes 及其依赖的类`路径`；不写则用 Debian 的软件包 libcurator-recipes-java"))
	fs.BoolVar(&cfg.explain, "explain", false, say("also print what explains the times: the waits of the contenders, and the requests by kind", "另外打印耗时的由来：各竞争者的等待时间，以及各种请求的个数"))
	fs.StringVar(&cfg.json, "json", "", say("also write every single run to this `file`, as JSON", "把每一次运行都写入这个`文件`，格式为 JSON"))
	fs.StringVar(&cfg.csv, "csv", "", say("also write every single run to this `file`, as comma-separated values", "把每一次运行都写入这个`文件`，格式为 CSV"))
	fs.StringVar(&cfg.report, "report", "", say("also write a page with charts to this `file`, as HTML", "把带图的页面写入这个`文件`，格式为 HTML"))
	fs.StringVar(&cfg.svg, "svg", "", say("also write the charts to files that begin with this `prefix`, as SVG", "把各张图写成 SVG 文件，文件名以这个`前缀`开头"))
	fs.StringVar(&cfg.path, "path", "/zklock-bench", say("the `znode` to work under; the benchmark removes the nodes that it makes there", "在哪个`节点`下面运行；基准测试在那里创建的节点，最后都会删掉"))
	fs.BoolVar(&cfg.join, "join", false, say("contend with other processes that are started with -join, on this machine or others; needs -zk host:port,…", "与本机或别的机器上同样以 -join 启动的进程一起竞争；需要 -zk host:port,…"))
	fs.IntVar(&cfg.procs, "procs", 2, say("with -join: how `many` processes take part, all started with the same flags", "与 -join 一起用：参加的进程`个数`；各进程的选项要相同"))
	cfg.lang = language.Of("")
	fs.Var(&cfg.lang, "lang", language.Usage)
	return f
}

// parseFlags reads the command line. The usage, if it is asked for, goes to
// help. An error is one line.
func parseFlags(args []string, help io.Writer) (cfg config, err error) {
	cfg.args = args
	f := defineFlags(&cfg)
	if err := f.parse(&cfg, args, help); err != nil {
		return cfg, err
	}
	for _, check := range []func(cfg *config) error{f.files, f.zooKeeper, f.lockNames, f.servers, f.loads, f.limits, f.joining} {
		if err := check(&cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

func (f *flags) parse(cfg *config, args []string, help io.Writer) error {
	if err := f.set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage := language.Say("Usage: go run ./bench [flags]", "用法：go run ./bench [选项]").In(cfg.lang)
			fmt.Fprintf(help, "%s\n\n%s", usage, cfg.lang.Help(f.set))
			return errHelp
		}
		return language.Errorf("%w (-help lists the flags)", "%v（-help 列出全部选项）", language.WrongFlag(f.set, err))
	}
	if f.set.NArg() > 0 {
		return language.Errorf("unexpected argument %q (-help lists the flags)", "多余的参数 %q（-help 列出全部选项）", f.set.Arg(0))
	}
	var empty error
	f.set.Visit(func(one *flag.Flag) {
		f.given[one.Name] = true
		if one.Value.String() == "" && one.Name != "locks" { // that says more
			empty = language.Errorf("-%s: its value is empty (-help says what it takes)", "-%s：值为空（-help 说明它接受什么）", one.Name)
		}
	})
	return empty
}

func (f *flags) files(cfg *config) error {
	for _, one := range []string{"json", "csv", "report", "svg"} {
		if name := f.set.Lookup(one).Value.String(); strings.HasPrefix(name, "-") {
			return language.Errorf("-%s: %q begins with a dash: it looks like a flag; a file of that name is ./%s",
				"-%s：%q 以连字符开头，像是一个选项；如果确实是文件名，请写成 ./%s", one, name, name)
		}
	}
	return cfg.checkFiles()
}

// zooKeeper is about the server, and the node to work under.
func (f *flags) zooKeeper(cfg *config) error {
	if err := ensemble.Check(cfg.zk); err != nil {
		return language.Errorf("-zk: %w", "-zk：%v", err)
	}
	for i, part := range strings.Split(cfg.path, "/") {
		switch {
		case (i == 0) != (part == "") || part == "." || part == "..":
			return language.Errorf("-path: %q is not the path of a znode: like /a/b, and not / itself", "-path：%q 不是节点的路径：应像 /a/b，也不能是 / 本身", cfg.path)
		case i == 1 && part == "zookeeper":
			return language.Errorf("-path: %s is ZooKeeper's own: name another node", "-path：%s 是 ZooKeeper 自己的节点：请另选一个", cfg.path)
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
			return language.Errorf("-locks: no lock is called %q; there are %s, and folders such as ./mylock",
				"-locks：没有名为 %q 的锁；可选的有 %s，以及 ./mylock 这样的文件夹", name, language.List(names))
		}
		if slices.ContainsFunc(cfg.locks, func(c contestant) bool { return c.name == all[i].name }) {
			return language.Errorf("-locks: %s is named twice", "-locks：%s 写了两次", name)
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
			return language.Errorf("-%s: -locks names no lock that runs there; add others", "-%s：-locks 里没有在那里运行的锁；请加上 others", name)
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
			return language.Errorf("-n: %q is not a number of goroutines between 1 and %d", "-n：%q 不是 1 到 %d 之间的 goroutine 个数", s, maxGoroutines)
		case slices.ContainsFunc(cfg.loads, func(l load) bool { return l.n == n }):
			return language.Errorf("-n: %d is named twice", "-n：%d 写了两次", n)
		case *f.sessions < 1 || *f.sessions > n:
			return language.Errorf("-sessions: %d is not between 1 and the number of goroutines, %d",
				"-sessions：%d 不在 1 和 goroutine 的个数 %d 之间", *f.sessions, n)
		case *f.times < 1 || *f.times > maxAcquisitions/n:
			return language.Errorf("-closed: %d is not between 1 and %d, the most for %d goroutines",
				"-closed：%d 不在 1 和 %d 之间；后者是 %d 个 goroutine 时的上限", *f.times, maxAcquisitions/n, n)
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
		return language.Errorf("-rtt: %v is negative", "-rtt：%v 是负数", cfg.rtt)
	case cfg.rtt > 0 && other >= 0:
		return language.Errorf("-rtt: it is for locks on ZooKeeper, and %s is not one", "-rtt：只用于 ZooKeeper 上的锁，%s 不是", cfg.locks[other].name)
	case cfg.warmup < 0:
		return language.Errorf("-warmup: %v is negative", "-warmup：%v 是负数", cfg.warmup)
	case cfg.limit < 0:
		return language.Errorf("-limit: %v is negative (0: no limit)", "-limit：%v 是负数（0 表示不限）", cfg.limit)
	case cfg.rounds < 1:
		return language.Errorf("-rounds: %d is not a number of rounds: at least 1", "-rounds：%d 不是轮数：至少为 1", cfg.rounds)
	}
	return nil
}

// joining is about several processes.
func (f *flags) joining(cfg *config) error {
	kind, _, _ := strings.Cut(cfg.zk, ":")
	switch {
	case cfg.join && slices.ContainsFunc(cfg.locks, func(c contestant) bool { return c.system != "" }):
		return language.Errorf("-join: it is for locks on ZooKeeper", "-join：只用于 ZooKeeper 上的锁")
	case f.given["procs"] && !cfg.join:
		return language.Errorf("-procs: is for processes that take part with -join", "-procs：只用于以 -join 参加的进程")
	case cfg.join && (kind == "" || kind == ensemble.SpecEmbedded || kind == "docker"):
		return language.Errorf("-join: other processes cannot reach a server of this process: name one that is running, -zk host:port",
			"-join：其他进程连不到本进程内的服务器：请指定一个正在运行的，-zk host:port")
	case cfg.procs < 1 || cfg.procs > group.Most:
		return language.Errorf("-procs: %d is not between 1 and %d", "-procs：%d 不在 1 和 %d 之间", cfg.procs, group.Most)
	case !cfg.join:
		cfg.procs = 1
	case !f.given["limit"]:
		cfg.limit = 0 // a limit in one process would end the run of all
	}
	return nil
}
