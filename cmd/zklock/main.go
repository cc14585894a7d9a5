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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/language"
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

// patience is how long a server is looked for, and how long it has to answer.
const patience = 10 * time.Second

// A call is one run of zklock.
type call struct {
	verb           verb
	path           string   // of the lock; the address of serve
	command        []string // of run
	stdout, stderr io.Writer
	began          time.Time

	lang                         language.Language
	servers, auth, ca, cert, key string
	session, wait, grace         time.Duration
	json, watch, try, revocable  bool
	name, data                   string
	token                        int64
	held                         int // the exit status of run if the lock is held
}

// A verb is what zklock can do.
type verb struct {
	name, takes string
	says        language.Text
	flags       func(*call, *flag.FlagSet)
	run         func(*call, context.Context) int
}

func verbs() []verb {
	return []verb{
		{"who", "[flags] PATH", whoSays, (*call).whoFlags, (*call).who},
		{"run", "[flags] PATH -- COMMAND ARGS...", runSays, (*call).runFlags, (*call).run},
		{"revoke", "[flags] PATH", revokeSays, (*call).revokeFlags, (*call).revoke},
		{"serve", "[flags] 127.0.0.1:2181", serveSays, func(*call, *flag.FlagSet) {}, (*call).serve},
	}
}

func main() {
	helper(os.Args[1:])
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &call{stdout: stdout, stderr: stderr, began: time.Now(), lang: language.Of("")}
	for _, c.verb = range verbs() {
		if len(args) == 0 || c.verb.name != args[0] {
			continue
		}
		if status, ok := c.parse(args[1:]); !ok {
			return status
		}
		if c.verb.name != "run" { // that passes signals on
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
		}
		return c.verb.run(c, ctx)
	}
	for _, v := range verbs() {
		first, _, _ := strings.Cut(v.says.In(c.lang), "\n")
		fmt.Fprintf(stderr, "zklock %s %s\n    %s\n", v.name, v.takes, first)
	}
	fmt.Fprintln(stderr, c.say("zklock VERB -help says more", "zklock VERB -help 给出详情"))
	return exitUsage
}

// say puts the arguments into the format of the reader's language.
func (c *call) say(en, zh string, args ...any) string {
	return language.Say(en, zh, args...).In(c.lang)
}

func (c *call) print(en, zh string, args ...any) { fmt.Fprintln(c.stdout, c.say(en, zh, args...)) }

// note prints one line, for people.
func (c *call) note(en, zh string, args ...any) {
	fmt.Fprintln(c.stderr, "zklock:", strings.ReplaceAll(c.say(en, zh, args...), "\n", "; "))
}

// fail notes what was tried, where, for how long, and what went wrong.
func (c *call) fail(status int, err error) int {
	c.note("%s %s at %s, after %v: %v", "%s %s（服务器 %s，历时 %v）：%v",
		c.verb.name, c.path, cmp.Or(c.servers, "-"), time.Since(c.began).Round(time.Millisecond), err)
	return status
}

// usage notes that the arguments are wrong.
func (c *call) usage(err error) int {
	c.note("%s: %v", "%s：%v", c.verb.name, err)
	return exitUsage
}

// define returns the flags of a verb, with their usage in the reader's language.
func (c *call) define() *flag.FlagSet {
	fs := flag.NewFlagSet(c.verb.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var(&c.lang, "lang", language.Usage)
	c.verb.flags(c, fs)
	if c.verb.name == "serve" {
		return fs
	}
	fs.StringVar(&c.servers, "zk", cmp.Or(os.Getenv("ZOOKEEPER_SERVERS"), "127.0.0.1:2181"),
		c.say("the `servers`, host:port,...; otherwise those of ZOOKEEPER_SERVERS", "服务器 `servers`，host:port,...；不给时取自 ZOOKEEPER_SERVERS"))
	fs.DurationVar(&c.session, "session", 10*time.Second, c.say("the session `timeout` to ask for", "向服务器申请的会话超时 `timeout`"))
	fs.StringVar(&c.auth, "auth", "", c.say("a `file` with user:password for the scheme digest, which only its owner may read; otherwise ZOOKEEPER_AUTH",
		"存有 user:password（digest 方式）的文件 `file`，只有属主可读；不给时取自 ZOOKEEPER_AUTH"))
	fs.StringVar(&c.ca, "ca", "", c.say("TLS: a `file` with the certificates by which servers are trusted", "TLS：`file` 里是所信任的证书"))
	fs.StringVar(&c.cert, "cert", "", c.say("TLS: a `file` with the client's certificate", "TLS：`file` 里是客户端的证书"))
	fs.StringVar(&c.key, "key", "", c.say("TLS: a `file` with the key of -cert", "TLS：`file` 里是 -cert 的私钥"))
	return fs
}

// parse reads the flags and arguments of a verb. If it is not to be run, parse returns the
// exit status.
func (c *call) parse(args []string) (status int, ok bool) {
	fs := c.define()
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(c.stdout, "zklock %s %s\n\n%s\n\n", c.verb.name, c.verb.takes, c.verb.says.In(c.lang))
		fs = c.define()
		fs.SetOutput(c.stdout)
		fs.PrintDefaults()
		return 0, false
	} else if err != nil {
		return c.usage(err), false
	}
	rest := fs.Args()
	if len(rest) > 0 {
		c.path, rest = rest[0], rest[1:]
	}
	if c.verb.name == "run" {
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		c.command, rest = rest, nil
	}
	if c.path == "" || len(rest) > 0 || c.verb.name == "run" && len(c.command) == 0 {
		return c.usage(language.Errorf("want zklock %s %s", "应为 zklock %s %s", c.verb.name, c.verb.takes)), false
	}
	return 0, true
}

// open opens the client. If that fails, it has been noted, and the exit status is not 0.
func (c *call) open(ctx context.Context) (conn *zk.Conn, status int) {
	options, err := c.options()
	if err != nil {
		return nil, c.usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err = zkconn.Connect(ctx, strings.Split(c.servers, ","), c.session, options...)
	if err != nil {
		return nil, c.fail(exitUnavailable, err)
	}
	return conn, 0
}

// options are the credentials and TLS.
func (c *call) options() (options []zkconn.Option, err error) {
	credential := os.Getenv("ZOOKEEPER_AUTH")
	if c.auth != "" {
		text, err := os.ReadFile(c.auth)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(c.auth); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			return nil, language.Errorf("-auth: not only its owner may use %[1]s: chmod 600 %[1]s", "-auth：不只属主能访问 %[1]s：请先 chmod 600 %[1]s", c.auth)
		}
		credential = strings.TrimSpace(string(text))
	}
	if credential != "" {
		options = append(options, zkconn.WithAuth("digest", credential))
	}
	if c.ca == "" && c.cert == "" {
		return options, nil
	}
	config := new(tls.Config)
	if c.ca != "" {
		text, err := os.ReadFile(c.ca)
		if config.RootCAs = x509.NewCertPool(); err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			err = language.Errorf("-ca: %s has no certificate", "-ca：%s 里没有证书", c.ca)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, cmp.Or(c.key, c.cert))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return append(options, zkconn.WithTLS(config)), nil
}

// within makes requests, which cannot be cancelled, until a server has answered. When ctx ends,
// it closes the client.
func within(ctx context.Context, conn *zk.Conn, requests func() error) error {
	defer context.AfterFunc(ctx, conn.Close)()
	for {
		err := requests()
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrSessionExpired):
			return err
		}
		time.Sleep(50 * time.Millisecond) // the client connects again
	}
}
