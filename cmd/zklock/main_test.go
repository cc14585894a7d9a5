package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

// eventually waits until something is the case.
func eventually(t *testing.T, is func() bool, said ...any) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond, said...)
}

// TestMain makes the test's own program zklock, as which it starts itself.
func TestMain(m *testing.M) {
	patience, notice = 5*time.Minute, time.Hour
	if os.Getenv(panics) != "" {
		pulse = 0
	}
	switch {
	case len(os.Args) == 3 && os.Args[1] == stampVerb:
		stamp(os.Args[2])
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test."):
		main()
	}
	// A shell starts a program in the background, and nohup any program, with signals ignored, and children inherit that.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	locktest.Main(m)
}

// panics is a variable of the environment with which zklock panics when its command has begun.
const panics = "ZKLOCK_TEST_PANICS"

// stampVerb is a command for the trials: it appends the time to a file every 20 ms, and ends with SIGKILL alone.
const stampVerb = "__stamp"

func stamp(file string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for ; err == nil; time.Sleep(20 * time.Millisecond) {
		_, err = fmt.Fprintln(out, time.Now().UnixNano())
	}
	os.Exit(1)
}

// do runs zklock in this process, in English.
func do(ctx context.Context, t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	status = execute(ctx, args, &out, &errOut)
	return status, out.String(), errOut.String()
}

func oneLine(t *testing.T, text, want string) {
	t.Helper()
	require.Contains(t, text, want)
	require.Equal(t, len(text)-1, strings.Index(text, "\n"), "one line: %q", text)
}

// TestACommandThatFindsNoServerSaysThatItTries before it gives up.
func TestACommandThatFindsNoServerSaysThatItTries(t *testing.T) {
	defer func(before time.Duration) { notice = before }(notice)
	notice = time.Millisecond
	for _, verb := range []string{"who", "revoke", "run"} {
		for lang, want := range map[string]string{"en": "zklock: connecting to 127.0.0.1:1 …\n", "zh": "zklock: 正在连接 127.0.0.1:1……\n"} {
			ctx, end := context.WithCancel(t.Context())
			out, stderr := io.Pipe()
			args, ended := []string{verb, "-lang", lang, "-zk", "127.0.0.1:1", "/a", "--", "true"}, make(chan int, 1)
			if verb != "run" {
				args = args[:6]
			}
			go func() { ended <- execute(ctx, args, io.Discard, stderr) }()
			require.Equal(t, want, said(t, out))
			end()
			require.Equal(t, 1, strings.Count(said(t, out), "\n"), "that it has given up")
			require.Equal(t, exitUnavailable, <-ended)
		}
	}
}

// TestTheHelpHasEachFlagOfItsVerb, and its default, in both languages.
func TestTheHelpHasEachFlagOfItsVerb(t *testing.T) {
	t.Setenv("ZOOKEEPER_SERVERS", "")
	for _, lang := range []string{"en", "zh"} {
		for verb := range verbs {
			status, help, _ := do(t.Context(), t, verb, "-lang", lang, "-help")
			require.Zero(t, status)
			require.True(t, strings.HasPrefix(help, "zklock "+verb+" "), help)
			var all []string
			(&call{verb: verb}).define().VisitAll(func(f *flag.Flag) {
				all = append(all, f.Name)
				if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
					require.Regexp(t, `\n  -`+f.Name+` .*\n.*\b`+strings.TrimSuffix(f.DefValue, "s"), help)
				}
			})
			var shown []string
			for _, found := range regexp.MustCompile(`(?m)^  -(\w+)`).FindAllStringSubmatch(help, -1) {
				shown = append(shown, found[1])
			}
			require.ElementsMatch(t, all, shown, "%s %s", verb, lang)
		}
	}
}

// A serving is a zklock that serves the embedded server.
type serving struct {
	addr      string
	stderr    io.Reader
	interrupt func()
	ended     <-chan int
}

func startServing(t *testing.T) serving {
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	out, stdout := io.Pipe()
	errOut, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, []string{"serve", "127.0.0.1:0"}, stdout, stderr) }()
	return serving{regexp.MustCompile(`127\.0\.0\.1:[1-9]\d*`).FindString(said(t, out)), errOut, interrupt, ended}
}

// said is what is written to a pipe next.
func said(t *testing.T, pipe io.Reader) string {
	b := make([]byte, 1000)
	n := testenv.Must(pipe.Read(b))(t)
	return string(b[:n])
}

func TestServeServesTheEmbeddedServerUntilCtrlC(t *testing.T) {
	s := startServing(t)
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{s.addr}, 10*time.Second))(t)
	_ = testenv.Must(conn.Create("/mine", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	conn.Close()

	status, _, stderr := do(t.Context(), t, "serve", s.addr)
	require.Equal(t, exitFailure, status, "a second server cannot have the same port")
	oneLine(t, stderr, "serve "+s.addr)
	require.Contains(t, stderr, "address already in use")

	s.interrupt()
	oneLine(t, said(t, s.stderr), "zklock: interrupted: the server at "+s.addr+" and all its nodes are gone")
	require.Zero(t, <-s.ended, "Ctrl-C is how it is meant to end")
	require.Error(t, testenv.Err(net.DialTimeout("tcp", s.addr, time.Second)))
}

// A client of a server that was restarted connects in vain: the server says so.
func TestServeReportsAClientThatHasSeenMore(t *testing.T) {
	s := startServing(t)
	for range 2 { // it tries again, which is not worth a second line
		nc := testenv.Must(net.Dial("tcp", s.addr))(t)
		var enc jute.Encoder
		enc.Frame(&jute.ConnectRequest{TimeoutMs: 4000, LastZxidSeen: 1 << 40})
		_ = testenv.Must(nc.Write(enc.Bytes()))(t)
		require.Equal(t, io.EOF, testenv.Err(nc.Read(make([]byte, 1))), "as by a real server")
		nc.Close()
	}
	oneLine(t, said(t, s.stderr), "authentication failed: EOF")
	s.interrupt()
	oneLine(t, said(t, s.stderr), "zklock: interrupted: ")
	require.Zero(t, <-s.ended)
}
