package main

import (
	"context"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock/zkconn"
)

// A serving is a benchmark that serves the embedded server.
type serving struct {
	text, addr string // that it has printed
	stderr     io.Reader
	interrupt  func()
	ended      <-chan int
}

func startServing(t *testing.T) serving {
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	out, stdout := io.Pipe()
	errOut, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"-serve", "127.0.0.1:0"}, stdout, stderr) }()
	text := said(t, out)
	return serving{text, regexp.MustCompile(`127\.0\.0\.1:[1-9]\d*`).FindString(text), errOut, interrupt, ended}
}

// said is what is written to a pipe next.
func said(t *testing.T, pipe io.Reader) string {
	b := make([]byte, 1000)
	n, err := pipe.Read(b)
	require.NoError(t, err)
	return string(b[:n])
}

func TestServeServesTheEmbeddedServerUntilCtrlC(t *testing.T) {
	s := startServing(t)
	addr := s.addr
	page, err := os.ReadFile("../docs/benchmark.md")
	require.NoError(t, err)
	_, transcript, _ := strings.Cut(string(page), "$ go run ./bench -serve 127.0.0.1:2181\n")
	transcript, _, _ = strings.Cut(transcript, "```")
	require.Equal(t, strings.TrimSpace(strings.ReplaceAll(transcript, "127.0.0.1:2181", addr)), strings.TrimSpace(s.text))

	// A program of one's own.
	conn, err := zkconn.Connect(t.Context(), []string{addr}, 10*time.Second)
	require.NoError(t, err)
	_, err = conn.Create("/mine", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	conn.Close()
	// The benchmark, as the last line says.
	status, table, errOut := runWithOutput(t.Context(), "-zk", addr, "-n", "3", "-locks", "naive", "-warmup", "0s")
	require.Zero(t, status, errOut)
	require.Contains(t, table, "ZooKeeper: "+addr+" (embedded, served by another process: in memory, no disk)\n")

	// A second server cannot have the same port.
	status, _, errOut = runWithOutput(t.Context(), "-serve", addr)
	require.Equal(t, exitFailure, status)
	oneLine(t, errOut, "-serve: "+addr+": ")
	require.Contains(t, errOut, "address already in use")

	s.interrupt()
	oneLine(t, said(t, s.stderr), "bench: interrupted: the server at "+addr+" and all its nodes are gone")
	require.Zero(t, <-s.ended, "Ctrl-C is how it is meant to end")
	_, err = net.DialTimeout("tcp", addr, time.Second)
	require.Error(t, err)
}

// A client of a server that was restarted connects in vain: the server says so.
func TestServeReportsAClientThatHasSeenMore(t *testing.T) {
	s := startServing(t)
	for range 2 { // it tries again, which is not worth a second line
		nc, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		var enc jute.Encoder
		mark := enc.BeginFrame()
		(&jute.ConnectRequest{TimeoutMs: 4000, LastZxidSeen: 1 << 40}).Encode(&enc)
		enc.EndFrame(mark)
		_, err = nc.Write(enc.Bytes())
		require.NoError(t, err)
		_, err = nc.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err, "as by a real server")
		nc.Close()
	}
	complaint := said(t, s.stderr)
	require.Contains(t, complaint, "authentication failed: EOF")
	require.Contains(t, complaint, "begins a new session by itself.\n")
	s.interrupt()
	oneLine(t, said(t, s.stderr), "bench: interrupted: ")
	require.Zero(t, <-s.ended)
}

func TestServeIsForLoopbackOnly(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"-serve", "0.0.0.0:2181"}, `"0.0.0.0:2181" is not on loopback, and the embedded server asks nobody for a password: use 127.0.0.1:2181`},
		{[]string{"-serve", ":2181"}, `":2181" is not on loopback`},
		{[]string{"-serve", "[::]:2181"}, "is not on loopback"},
		{[]string{"-serve", "192.168.1.10:2181"}, "is not on loopback"},
		{[]string{"-serve", "example.com:2181"}, "is not on loopback"},
		{[]string{"-serve", "127.0.0.1"}, `"127.0.0.1" is not an address such as 127.0.0.1:2181`},
		{[]string{"-serve", "2181"}, "is not an address"},
		{[]string{"-serve", ""}, "is not an address"},
		{[]string{"-serve", "127.0.0.1:2181", "-n", "5"}, "-serve: it runs no benchmark, so it takes no other flags"},
	} {
		status, stdout, stderr := runWithOutput(t.Context(), tc.args...)
		require.Equal(t, exitUsage, status, tc.args)
		oneLine(t, stderr, tc.want)
		require.Empty(t, stdout)
	}
	for _, address := range []string{"127.0.0.1:2181", "127.9.9.9:1", "localhost:2181", "[::1]:2181"} {
		_, err := loopback(address)
		require.NoError(t, err)
	}
}
