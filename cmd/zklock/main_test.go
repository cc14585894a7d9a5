// Tests of the verbs serve and help, of TLS and of credentials; and what the tests of this package share.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

const endBy = "ZKLOCK_TEST_END" // a variable of the environment; panic: zklock panics when its command has begun

// stampVerb is a command for the trials: it appends the time to a file every 20 ms, and ends with SIGKILL alone.
const stampVerb = "__stamp"

// eventually waits until a condition is true. The test fails with what is said if that takes too long.
func eventually(t *testing.T, condition func() bool, said ...any) {
	require.Eventually(t, condition, patience, time.Millisecond, said...)
}

// TestMain makes the test's own program zklock, as which it starts itself.
func TestMain(m *testing.M) {
	patience, notice = 5*time.Minute, time.Hour
	if os.Getenv(endBy) == "panic" {
		pulse = 0 // time.NewTicker panics with it
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

func stamp(file string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for ; err == nil; time.Sleep(20 * time.Millisecond) {
		_, err = fmt.Fprintln(out, time.Now().UnixNano())
	}
	os.Exit(1)
}

// runHere runs zklock in this process, in English.
func runHere(ctx context.Context, t *testing.T, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	status = execute(ctx, args, &out, &errOut)
	return status, out.String(), errOut.String()
}

func requireOneLine(t *testing.T, text, want string) {
	require.Contains(t, text, want)
	require.Equal(t, len(text)-1, strings.Index(text, "\n"), "one line: %q", text)
}

func TestACommandThatFindsNoServerSaysThatItTries(t *testing.T) {
	defer func(before time.Duration) { notice = before }(notice)
	notice = time.Millisecond
	for _, verb := range []string{"who", "revoke", "run"} {
		for lang, want := range map[string]string{"en": "zklock: connecting to 127.0.0.1:1 …\n", "zh": "zklock: 正在连接 127.0.0.1:1……\n"} {
			ctx, end := context.WithCancel(t.Context())
			out, stderr := io.Pipe()
			args, ended := []string{verb, "-lang", lang, "-zk", "127.0.0.1:1", "/a"}, make(chan int, 1)
			if verb == "run" {
				args = append(args, "--", "true")
			}
			go func() { ended <- execute(ctx, args, io.Discard, stderr) }()
			require.Equal(t, want, nextOutput(t, out))
			end()
			require.Equal(t, 1, strings.Count(nextOutput(t, out), "\n"), "that it has given up")
			require.Equal(t, exitUnavailable, <-ended)
		}
	}
}

func TestTheHelpHasEachFlagOfItsVerb(t *testing.T) {
	t.Setenv("ZOOKEEPER_SERVERS", "")
	for _, lang := range []string{"en", "zh"} {
		for verb := range verbs {
			status, help, _ := runHere(t.Context(), t, verb, "-lang", lang, "-help")
			require.Zero(t, status)
			require.True(t, strings.HasPrefix(help, "zklock "+verb+" "), help)
			var all []string
			(&call{verb: verb}).defineFlags().VisitAll(func(f *flag.Flag) {
				all = append(all, "\n  -"+f.Name)
				if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
					require.Regexp(t, `\n  -`+f.Name+` .*\n.*\b`+strings.TrimSuffix(f.DefValue, "s"), help)
				}
			})
			shown := regexp.MustCompile(`\n  -\w+`).FindAllString(help, -1)
			require.ElementsMatch(t, all, shown, "%s %s", verb, lang)
		}
	}
}

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
	return serving{regexp.MustCompile(`127\.0\.0\.1:[1-9]\d*`).FindString(nextOutput(t, out)), errOut, interrupt, ended}
}

func nextOutput(t *testing.T, pipe io.Reader) string {
	b := make([]byte, 1000)
	n := testenv.Must(pipe.Read(b))(t)
	return string(b[:n])
}

func TestServeServesTheEmbeddedServerUntilCtrlC(t *testing.T) {
	s := startServing(t)
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{s.addr}, 10*time.Second))(t)
	_ = testenv.Must(conn.Create("/mine", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))(t)
	conn.Close()

	status, _, stderr := runHere(t.Context(), t, "serve", s.addr)
	require.Equal(t, exitFailure, status, "a second server cannot have the same port")
	requireOneLine(t, stderr, "serve "+s.addr)
	require.Contains(t, stderr, "address already in use")

	s.interrupt()
	requireOneLine(t, nextOutput(t, s.stderr), "zklock: interrupted: the server at "+s.addr+" and all its nodes are gone")
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
	requireOneLine(t, nextOutput(t, s.stderr), "authentication failed: EOF")
	s.interrupt()
	requireOneLine(t, nextOutput(t, s.stderr), "zklock: interrupted: ")
	require.Zero(t, <-s.ended)
}

// makeCertificate writes a certificate for localhost, which is its own authority, and its key into a file.
func makeCertificate(t *testing.T) (file string) {
	key := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	secret := testenv.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	file = filepath.Join(t.TempDir(), "pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// behindTLS puts TLS before the embedded server. It calls refused when a handshake has failed.
func behindTLS(t *testing.T, zoo *zkserver.Server, config *tls.Config, refused func()) (port string) {
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			secure := tls.Server(nc, config)
			if secure.Handshake() != nil {
				nc.Close()
				refused()
			} else if zoo.Serve(secure) != nil {
				nc.Close()
			}
		}
	}()
	_, port = testenv.Must2(net.SplitHostPort(listener.Addr().String()))(t)
	return port
}

// TestTLSShowsEachSideWhoTheOtherIs: a server that cannot be trusted is one line of error.
func TestTLSShowsEachSideWhoTheOtherIs(t *testing.T) {
	server, client, stranger := makeCertificate(t), makeCertificate(t), makeCertificate(t)
	known := testenv.Must(zkconn.LoadTLS(client, server, ""))(t) // the server's: it trusts client, and shows server
	config := &tls.Config{Certificates: known.Certificates, ClientCAs: known.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert}
	zoo := zkserver.Run(t)
	for _, c := range []struct{ host, ca, cert, want string }{
		{"localhost", server, client, ""},
		{"localhost", stranger, client, "x509: certificate signed by unknown authority"},
		{"127.0.0.1", server, client, "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain"},
		{"localhost", server, stranger, "no session after "}, // TLS 1.3 tells the client later that it is not trusted
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var times atomic.Int32
		port := behindTLS(t, zoo, config, func() {
			if times.Add(1) == 2 { // the client tries until it is cancelled, and has noted the first refusal
				cancel()
			}
		})
		status, stdout, stderr := runHere(ctx, t, "who", "-zk", c.host+":"+port, "-ca", c.ca, "-cert", c.cert, "/q")
		if c.want == "" {
			require.Zero(t, status, stderr)
			require.Contains(t, stdout, "nobody holds /q")
			require.Zero(t, times.Load())
			continue
		}
		require.Equal(t, exitUnavailable, status)
		requireOneLine(t, stderr, c.want)
		require.Empty(t, stdout)
	}
}

func TestCredentialsComeFromAFileOfTheirOwnerOrTheEnvironment(t *testing.T) {
	_, _, conn := onServer(t)
	makeNode(t, conn, "/q/"+zkLock, "secret", zk.DigestACL(zk.PermAll, "ops", "pass")...)
	shows := func(flags ...string) string {
		status, stdout, stderr := runHere(t.Context(), t, append(append([]string{"who"}, flags...), "/q")...)
		require.Zero(t, status, stderr)
		return stdout
	}
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("ops:pass\n"), 0o600))
	require.Contains(t, shows(), "(not readable)")
	require.Contains(t, shows("-auth", file), "secret")
	t.Setenv("ZOOKEEPER_AUTH", "ops:pass")
	require.Contains(t, shows(), "secret")

	require.NoError(t, os.Chmod(file, 0o640))
	for _, c := range []struct{ flag, value, want string }{
		{"-auth", file, "-auth: not only its owner may use " + file + ": chmod 600 " + file},
		{"-auth", file + "-none", "no such file"},
		{"-ca", file, "zklock: who: " + file + " has no certificate"},
		{"-ca", file + "-none", "no such file"},
		{"-cert", file, "tls: failed to find any PEM data in certificate input"},
	} {
		if os.PathSeparator != '/' && strings.Contains(c.want, "chmod") {
			continue // the mode does not say who may read the file
		}
		status, _, stderr := runHere(t.Context(), t, "who", c.flag, c.value, "/q")
		require.Equal(t, exitUsage, status)
		requireOneLine(t, stderr, c.want)
	}
}
