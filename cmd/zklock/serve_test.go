package main

import (
	"context"
	"io"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

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
		mark := enc.BeginFrame()
		(&jute.ConnectRequest{TimeoutMs: 4000, LastZxidSeen: 1 << 40}).Encode(&enc)
		enc.EndFrame(mark)
		_ = testenv.Must(nc.Write(enc.Bytes()))(t)
		_, err := nc.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err, "as by a real server")
		nc.Close()
	}
	oneLine(t, said(t, s.stderr), "authentication failed: EOF")
	s.interrupt()
	oneLine(t, said(t, s.stderr), "zklock: interrupted: ")
	require.Zero(t, <-s.ended)
}
