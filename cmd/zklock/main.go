// Command zklock shows who holds a lock, runs a program under it, and asks its holder to
// release it. It also serves a ZooKeeper to try that with.
//
//	go run ./cmd/zklock serve 127.0.0.1:2181
//	go run ./cmd/zklock who /locks/orders
//	go run ./cmd/zklock run /locks/orders -- make deploy
//	go run ./cmd/zklock revoke /locks/orders
//
// README.md beside this file says what each does, and what happens when the lock is lost.
package main

import (
	"cmp"
	"context"
	_ "embed"
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

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// Exit statuses; those of sysexits.h where it has one.
const (
	exitFailure     = 1
	exitUsage       = 64
	exitUnavailable = 69 // no server answers
	exitOS          = 71 // no process can be started
	exitHeld        = 75 // another contender holds the lock
	exitNotRunnable = 126
	exitNotFound    = 127
)

// runElsewhere is what run says on systems where it cannot run.
const runElsewhere i18n.Text = "run is for Linux and macOS: here a command cannot be ended with all that it has started"

// Tests have other times.
var (
	patience = 10 * time.Second      // how long a server is looked for, and how long it has to answer
	notice   = time.Second           // how long a server is looked for before zklock says so
	pulse    = 50 * time.Millisecond // how often run tells the processes that guard its command the end of the lease
)

// A call is one run of zklock.
type call struct {
	verb           string
	path           string   // of the lock; the address of serve
	command        []string // of run
	stdout, stderr io.Writer
	began          time.Time

	lang                         i18n.Language
	servers, auth, ca, cert, key string
	session, wait, grace         time.Duration
	json, watch, try, revocable  bool
	name, data, once             string
	token                        int64
	held                         int // the exit status of run if the lock is held
}

var verbs = map[string]func(*call, context.Context) int{
	"who": (*call).who, "run": (*call).run, "revoke": (*call).revoke, "serve": (*call).serve,
}

//go:embed help.txt
var englishHelp string

//go:embed help.zh-CN.txt
var chineseHelp string

// help returns the sections of the help: one for each verb, the flags for a connection, the flags of all verbs.
func (c *call) help() []string {
	return strings.Split(i18n.Both(englishHelp, chineseHelp).In(c.lang), "\n\n\n")
}

func (c *call) helpOf() string {
	all := c.help()
	return all[slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, "zklock "+c.verb+" ") })]
}

func main() {
	helper(os.Args[1:]) // does not return in a process that run has started to guard a command
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute is main without the process around it. It returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &call{stdout: stdout, stderr: stderr, began: time.Now(), lang: i18n.Of("")}
	if len(args) == 0 { // nobody has asked for help, so it is an error
		c.listVerbs(stderr)
		return exitUsage
	}
	switch word := strings.TrimLeft(args[0], "-"); {
	case verbs[args[0]] != nil:
		c.verb = args[0]
		if status, ok := c.parse(args[1:]); !ok {
			return status
		}
		if c.verb != "run" { // that passes signals on
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
		}
		return verbs[c.verb](c, ctx)
	case word == "version" && len(args) == 1:
		build, _ := debug.ReadBuildInfo()
		fmt.Fprintln(stdout, "zklock", build.Main.Version, build.GoVersion)
		return 0
	case word == "help", args[0] == "-h":
		c.listVerbs(stdout)
		return 0
	}
	c.note("there is no verb %q: zklock -help lists the verbs", args[0])
	return exitUsage
}

// listVerbs prints the beginning of each verb's section of the help.
func (c *call) listVerbs(out io.Writer) {
	for _, section := range c.help()[:len(verbs)] {
		summary, _, _ := strings.Cut(section, "\n\n")
		fmt.Fprintln(out, summary)
	}
	fmt.Fprintln(out, c.say("zklock VERB -help says more, zklock version which one this is"))
}

// say puts the arguments into the format of the reader's language.
func (c *call) say(format string, args ...any) string { return i18n.Textf(format, args...).In(c.lang) }

func (c *call) print(format string, args ...any) { fmt.Fprintln(c.stdout, c.say(format, args...)) }

// note prints one line, for people. Errors of the library begin with its name, as the line does.
func (c *call) note(format string, args ...any) {
	tidy := strings.NewReplacer("\n", i18n.Both("; ", "；").In(c.lang), "zklock: ", "", "zkconn: ", "")
	fmt.Fprintln(c.stderr, "zklock:", tidy.Replace(c.say(format, args...)))
}

// fail notes what was tried, where, for how long, and what went wrong.
func (c *call) fail(status int, err error) int {
	c.note("%s %s at %s, after %v: %v",
		c.verb, c.path, cmp.Or(c.servers, "-"), time.Since(c.began).Round(time.Millisecond), err)
	return status
}

func (c *call) usage(err error) int {
	c.note("%s: %v", c.verb, err)
	return exitUsage
}

// defineFlags returns the flags of the verb, which set the fields of the call. Their help is in help.txt.
func (c *call) defineFlags() *flag.FlagSet {
	fs := flag.NewFlagSet(c.verb, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var(&c.lang, "lang", "")
	if c.verb != "serve" {
		fs.StringVar(&c.servers, "zk", cmp.Or(os.Getenv("ZOOKEEPER_SERVERS"), "127.0.0.1:2181"), "")
		fs.DurationVar(&c.session, "session", 10*time.Second, "")
		fs.StringVar(&c.auth, "auth", "", "")
		fs.StringVar(&c.ca, "ca", "", "")
		fs.StringVar(&c.cert, "cert", "", "")
		fs.StringVar(&c.key, "key", "", "")
	}
	switch c.verb {
	case "who":
		fs.BoolVar(&c.json, "json", false, "")
		fs.BoolVar(&c.watch, "watch", false, "")
	case "run":
		fs.BoolVar(&c.try, "try", false, "")
		fs.DurationVar(&c.wait, "wait", 0, "")
		fs.IntVar(&c.held, "E", exitHeld, "")
		fs.DurationVar(&c.grace, "grace", 0, "")
		fs.StringVar(&c.name, "name", "", "")
		fs.StringVar(&c.once, "once", "", "")
		fs.StringVar(&c.data, "data", "", "")
		fs.BoolVar(&c.revocable, "revocable", false, "")
	case "revoke":
		fs.Int64Var(&c.token, "token", 0, "")
		fs.DurationVar(&c.wait, "wait", 10*time.Second, "")
	}
	return fs
}

// parse reads the flags and arguments of a verb. If it is not to be run, parse returns the exit status.
func (c *call) parse(args []string) (status int, ok bool) {
	fs := c.defineFlags()
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags := c.help()[len(verbs):]
		if c.verb == "serve" {
			flags = flags[1:] // without those for a connection
		}
		fmt.Fprint(c.stdout, c.helpOf(), "\n", strings.Join(flags, "\n"))
		return 0, false
	} else if err != nil {
		return c.usage(i18n.WrongFlag(fs, err)), false
	}
	rest := fs.Args()
	if len(rest) > 0 {
		c.path, rest = rest[0], rest[1:]
	}
	if c.verb == "run" {
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		c.command, rest = rest, nil
	}
	if c.path == "" || len(rest) > 0 || c.verb == "run" && len(c.command) == 0 {
		want, _, _ := strings.Cut(c.helpOf(), "\n")
		return c.usage(i18n.Errorf("want %s", want)), false
	}
	if c.verb != "serve" && c.path[0] != '/' { // New says what else is wrong, on a connection
		return c.usage(i18n.Errorf("invalid path %s: it begins with /", c.path)), false
	}
	return 0, true
}

// open opens the client and the lock. If that fails, it has been noted, and the exit status is not 0.
func (c *call) open(ctx context.Context, options ...zklock.Option) (conn *zk.Conn, m *zklock.Mutex, status int) {
	connectOptions, err := c.connectOptions()
	if err != nil {
		return nil, nil, c.usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	noted := make(chan struct{})
	connectingNote := time.AfterFunc(notice, func() {
		c.note("connecting to %s …", c.servers)
		close(noted)
	})
	conn, err = zkconn.Connect(ctx, strings.Split(c.servers, ","), c.session, connectOptions...)
	if !connectingNote.Stop() {
		<-noted // so that what comes next is printed after it
	}
	if err != nil {
		return nil, nil, c.fail(exitUnavailable, i18n.Errorf("%w; -zk names the servers, and zklock serve starts one to try", err))
	}
	if m, err = zklock.New(conn, c.path, options...); err != nil {
		conn.Close()
		return nil, nil, c.usage(err)
	}
	return conn, m, 0
}

// connectOptions are the credentials of -auth or the environment, and TLS.
func (c *call) connectOptions() (options []zkconn.Option, err error) {
	credential := os.Getenv("ZOOKEEPER_AUTH")
	if c.auth != "" {
		text, err := os.ReadFile(c.auth)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(c.auth); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			return nil, i18n.Errorf("-auth: not only its owner may use %[1]s: chmod 600 %[1]s", c.auth)
		}
		credential = strings.TrimSpace(string(text))
	}
	if credential != "" {
		options = append(options, zkconn.WithAuth("digest", credential))
	}
	if c.ca != "" || c.cert != "" {
		config, err := zkconn.LoadTLS(c.ca, c.cert, c.key)
		if err != nil {
			return nil, err
		}
		options = append(options, zkconn.WithTLS(config))
	}
	return options, nil
}
