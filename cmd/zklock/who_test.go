// Tests of the verbs who and revoke, in this process, on an embedded server.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

const epoch = 3 // of the server, as if an ensemble had had three leaders: the high bits of its zxids

// onServer serves the embedded server, for this process and those that it starts, and connects a client.
func onServer(t *testing.T, options ...zkserver.Option) (srv *zkserver.Server, addr string, conn *zk.Conn) {
	srv = zkserver.Run(t, append(options, zkserver.WithEpoch(epoch))...)
	t.Setenv("ZOOKEEPER_SERVERS", srv.Addr())
	return srv, srv.Addr(), connected(t, srv.Addr())
}

func connected(t *testing.T, addr string) *zk.Conn {
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{addr}, 10*time.Second))(t)
	t.Cleanup(conn.Close)
	return conn
}

// makeNode makes the node of a contender, with those above it, and returns its path.
func makeNode(t *testing.T, conn *zk.Conn, path string, data string, acl ...zk.ACL) string {
	t.Helper()
	for i := range path[1:] {
		if path[i+1] == '/' {
			if _, err := conn.Create(path[:i+1], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != zk.ErrNodeExists {
				require.NoError(t, err)
			}
		}
	}
	if acl == nil {
		acl = zk.WorldACL(zk.PermAll)
	}
	return testenv.Must(conn.Create(path, []byte(data), zk.FlagEphemeralSequential, acl))(t)
}

// Names of nodes before the number, as the libraries write them; zk.Lock's id looks as kazoo's.
const (
	curatorID = "_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-"
	kazooID   = "0123456789abcdef0123456789abcdef"
	zkLock    = "_c_" + kazooID + "-lock-"
)

// queueOf is the queue without times, sessions and tokens. A holder has a star.
func queueOf(t *testing.T, path string) string {
	status, stdout, stderr := runHere(t.Context(), t, "who", "-json", path)
	require.Zero(t, status, stderr)
	var queue []contender
	require.NoError(t, json.Unmarshal([]byte(stdout), &queue))
	var lines []string
	for i, p := range queue {
		require.Equal(t, i, p.Place)
		line := p.Library + " " + p.Data
		if p.Holds {
			line += " *"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestTheNodesOfOthersAreShown, those that zklock waits for and others, and which of them do not wait for zklock's.
func TestTheNodesOfOthersAreShown(t *testing.T) {
	_, _, conn := onServer(t)
	makeNode(t, conn, "/q/x-117698527313657884-", "w")
	makeNode(t, conn, "/q/"+kazooID+"__lock__", "k")
	makeNode(t, conn, "/q/"+curatorID+"__READ__", "r")
	testenv.Must(conn.Create("/q/"+kazooID, []byte("s"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
	makeNode(t, conn, "/q/other-", "of nobody")
	m := testenv.Must(zklock.New(conn, "/q", zklock.WithData([]byte("web-7"))))(t)
	waits := bubble.Aside(func() error { return m.Do(t.Context(), zklock.NewOwner("nightly"), nil) })
	eventually(t, func() bool { return strings.Contains(queueOf(t, "/q"), "zklock") })
	require.Equal(t, "ZooKeeper WriteLock w *\nkazoo lock k *\nCurator read lock r *\nkazoo semaphore s\nzklock web-7",
		queueOf(t, "/q"))
	_, stdout, _ := runHere(t.Context(), t, "who", "/q")
	require.Regexp(t, `(?m)^4  waiter  nightly  web-7  .*  \d+  zklock\n`+
		`kazoo lock: it does not wait for zklock unless .*\nCurator read lock: it does not wait for zklock\n$`, stdout)
	_, stdout, _ = runHere(t.Context(), t, "who", "-lang", "zh", "/q")
	require.Regexp(t, `(?m)^2  持有者  -  .*  Curator 读锁$`, stdout)
	conn.Close()
	require.Error(t, <-waits)
}

func TestEachLockHasItsHolders(t *testing.T) {
	_, addr, conn := onServer(t)
	require.Empty(t, queueOf(t, "/none"))
	_, stdout, _ := runHere(t.Context(), t, "who", "/none")
	require.Equal(t, "nobody holds /none or waits for it\n", stdout)

	for _, kind := range []string{"READ", "READ", "WRIT", "READ"} {
		makeNode(t, conn, "/rw/"+curatorID+"__"+kind+"__", kind)
	}
	require.Equal(t, "Curator read lock READ *\nCurator read lock READ *\nCurator write lock WRIT\nCurator read lock "+
		"READ", queueOf(t, "/rw"))
	for _, kind := range []string{"rlock", "lock", "rlock"} { // the writer's node is a lock's
		makeNode(t, conn, "/krw/"+kazooID+"__"+kind+"__", kind)
	}
	require.Equal(t, "kazoo read lock rlock *\nkazoo lock lock\nkazoo read lock rlock", queueOf(t, "/krw"))

	// The process that is first in locks has made a lease, and waits for room.
	makeNode(t, conn, "/sem/leases/"+curatorID+"lease-", "a")
	own := makeNode(t, conn, "/sem/locks/"+curatorID+"lock-", "of another thread")
	require.Equal(t, "Curator semaphore a *\nCurator semaphore of another thread", queueOf(t, "/sem"))
	require.NoError(t, conn.Delete(own, -1))
	next := connected(t, addr) // another process
	makeNode(t, next, "/sem/locks/"+curatorID+"lock-", "b")
	makeNode(t, conn, "/sem/leases/"+curatorID+"lease-", "c") // its own lock node has gone
	require.Equal(t, "Curator semaphore a *\nCurator semaphore c *\nCurator semaphore b", queueOf(t, "/sem"))
	makeNode(t, next, "/sem/leases/"+curatorID+"lease-", "b")
	require.Equal(t, "Curator semaphore a *\nCurator semaphore c *\nCurator semaphore b", queueOf(t, "/sem"))
	_, stdout, _ = runHere(t.Context(), t, "who", "/sem/leases")
	require.Contains(t, stdout, "a semaphore: see zklock who /sem")
}

func TestWhatMayNotBeReadIsShownAsSuch(t *testing.T) {
	_, _, conn := onServer(t)
	makeNode(t, conn, "/q/"+zkLock, "secret", zk.ACL{Perms: zk.PermDelete, Scheme: "world", ID: "anyone"})
	makeNode(t, conn, "/q/lock-", "\x1b[2J\nmine")
	_, stdout, _ := runHere(t.Context(), t, "who", "/q")
	require.Regexp(t, `(?m)^0  holder  -      \(not readable\) +2.*  0x[0-9a-f]+  \d+ +zklock or zk.Lock\n1  waiter  -      \\x1b\[2J\\nmine `, stdout)
}

func TestWatchShowsEachChange(t *testing.T) {
	srv, _, conn := onServer(t)
	ctx, interrupt := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, []string{"who", "-watch", "/q"}, stdout, io.Discard) }()
	require.Contains(t, nextOutput(t, out), "nobody holds /q or waits for it")
	conn.Create("/q", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.Contains(t, nextOutput(t, out), "nobody", "the path was made")
	makeNode(t, conn, "/q/lock-", "a")
	require.Regexp(t, `/q\n#.*\n0  holder  -      a`, nextOutput(t, out))
	interrupt()
	require.Zero(t, <-ended)
	eventually(t, func() bool { return len(srv.Sessions()) == 1 })
}

func TestErrorsAreOneLine(t *testing.T) {
	onServer(t)
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/errors.txt"))(t))) {
		part := strings.SplitN(strings.ReplaceAll(strings.TrimSpace(line), "`", ""), " | ", 3)
		if len(part) < 3 {
			continue // a comment
		}
		status, stdout, stderr := runHere(t.Context(), t, strings.Fields(part[1])...)
		require.Equal(t, part[0], fmt.Sprint(status), line)
		requireOneLine(t, stderr, part[2])
		require.Empty(t, stdout)
	}
	_, stdout, _ := runHere(t.Context(), t, "version")
	require.Regexp(t, `^zklock \S+ go1\.\d+\S*\n$`, stdout)
	status, stdout, _ := runHere(t.Context(), t, "-help")
	require.Zero(t, status)
	require.Contains(t, stdout, "zklock serve [flags] 127.0.0.1:2181\n")
}

func TestRevokeAsksTheHolderAndShowsWhetherItGoes(t *testing.T) {
	srv, addr, _ := onServer(t)
	status, stdout, _ := runHere(t.Context(), t, "revoke", "/q")
	require.Zero(t, status)
	require.Equal(t, "nobody holds /q\n", stdout)

	conn := testenv.Must(zkconn.Connect(t.Context(), []string{addr}, 4*time.Second))(t) // it reads its node each third
	defer conn.Close()
	m := testenv.Must(zklock.New(conn, "/q", zklock.WithData([]byte("web-7"))))(t)
	lease := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("nightly")))(t)
	status, stdout, stderr := runHere(t.Context(), t, "revoke", "-wait", "1ms", "/q")
	require.Equal(t, exitHeld, status)
	require.Regexp(t, `^asked nightly, web-7, token \d+, to release /q\n$`, stdout)
	requireOneLine(t, stderr, "it is still there")
	<-lease.RevokeRequested()
	require.Len(t, srv.Children("/q"), 1, "it deletes nothing")

	require.NoError(t, lease.Unlock(t.Context()))
	lease = testenv.Must(m.Lock(t.Context(), nil))(t)
	gone := bubble.Aside(func() error { <-lease.RevokeRequested(); return lease.Unlock(context.Background()) })
	status, stdout, stderr = runHere(t.Context(), t, "revoke", "-wait", patience.String(), "/q")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "it has gone, after")
	require.NoError(t, <-gone)
}

func TestRevokeAsksTheOneWithTheToken(t *testing.T) {
	_, addr, conn := onServer(t)
	makeNode(t, conn, "/q/"+zkLock, "first")
	m := testenv.Must(zklock.New(connected(t, addr), "/q"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	waits := bubble.Aside(func() error { return m.Do(ctx, zklock.NewOwner("second"), nil) })
	var queue []zklock.Participant
	for len(queue) < 2 {
		queue = testenv.Must(m.Participants(t.Context()))(t)
	}
	token := queue[1].Token // the czxid of its node, and passBits
	require.Greater(t, token, int64(epoch<<32<<passBits))
	_, stdout, _ := runHere(t.Context(), t, "who", "-json", "/q")
	require.Contains(t, stdout, fmt.Sprintf(`"token": %d,`, token))
	status, stdout, _ := runHere(t.Context(), t, "revoke", "-wait", "1ms", "-token", fmt.Sprint(token+3), "/q") // a later hold
	require.Equal(t, exitHeld, status)
	require.Contains(t, stdout, "asked second, ")

	ofNobody := fmt.Sprint(uint32(token)) // without the epoch
	status, _, stderr := runHere(t.Context(), t, "revoke", "-token", ofNobody, "/q")
	require.Equal(t, exitFailure, status)
	requireOneLine(t, stderr, "nobody has the token "+ofNobody)
	status, _, stderr = runHere(t.Context(), t, "revoke", "/q")
	require.Equal(t, exitFailure, status)
	requireOneLine(t, stderr, "first (zk.Lock) does not read requests, and was not asked")
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)
}
