package ensemble_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// listener accepts connections until the test ends, and calls answer with each.
func listener(t *testing.T, answer func(net.Conn)) (addr string) {
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			answer(nc)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// closed is an address at which no server ever listens: the port is below those that the system chooses from.
const closed = "127.0.0.1:1"

// The error of Open is one line that says what is wrong with a spec, or with the servers that it names.
func TestOpenThatFailsSaysWhyInOneLine(t *testing.T) {
	mute := listener(t, func(nc net.Conn) { t.Cleanup(func() { nc.Close() }) })
	web := listener(t, func(nc net.Conn) {
		nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n"))
		nc.Close()
	})
	for spec, want := range map[string]string{
		"embeded":          `"embeded" is neither embedded nor host:port`,
		"127.0.0.1":        `"127.0.0.1" is neither embedded nor host:port`,
		"127.0.0.1:1,":     `"" is neither embedded nor host:port`,
		":2181":            `":2181" is neither embedded nor host:port`,
		"docker":           "`go run ./internal/servers/with docker -- go test ./zklock`",
		"docker:3":         "with docker:3 -- go run ./bench`",
		closed:             "connection refused",
		mute:               "said nothing within 50ms",
		web:                "is not a ZooKeeper",
		closed + "," + web: "connection refused; " + web + " is not a ZooKeeper",
	} {
		usual := ensemble.AnswerTimeout
		if spec == mute { // the other servers answer, and may need long for that on a busy machine
			ensemble.AnswerTimeout = 50 * time.Millisecond
		}
		_, err := ensemble.Open(context.Background(), spec)
		ensemble.AnswerTimeout = usual
		require.ErrorContains(t, err, want, spec)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestOpenCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	mute := listener(t, func(nc net.Conn) {
		cancel()
		nc.Read(make([]byte, 100)) // the question, which gets no answer
		nc.Read(make([]byte, 100)) // until the other side goes away
		nc.Close()
	})
	require.ErrorIs(t, testenv.Err(ensemble.Open(ctx, mute)), context.Canceled, "and not that the server says nothing")
}

// A client's requests can be counted. EndSession ends its session once, and the client goes on in another session.
func TestConnect(t *testing.T) {
	t.Parallel() // a client waits for a second before it goes to its server again
	zoo := testenv.Must(ensemble.Open(t.Context(), os.Getenv("ZK")))(t)
	defer zoo.Close()
	tap := new(wiretap.Tap) // counts the requests of conn
	conn := testenv.Must(zoo.Connect(t.Context(), ensemble.Options{Tap: tap, Buffer: 4096}))(t)
	defer conn.Close()
	testenv.Must2(conn.Get("/"))(t)
	require.EqualValues(t, 1, tap.Counts().Total())

	_, _, gone := testenv.Must3(conn.ExistsW("/never"))(t)
	before := testenv.Must(conn.Set("/", nil, -1))(t)
	session := conn.SessionID()
	zxid := testenv.Must(zoo.EndSession(tap, session))(t)
	if zxid != 0 { // that of the end; 0 if the session had ended already, as it may in a busy ensemble
		require.Greater(t, zxid, before.Mzxid)
	}
	require.ErrorIs(t, (<-gone).Err, zk.ErrSessionExpired)
	require.Eventually(t, func() bool { return conn.State() == zk.StateHasSession }, time.Minute, time.Millisecond)
	after := testenv.Must(conn.Set("/", nil, -1))(t)
	require.Less(t, zxid, after.Mzxid)
	zxid = testenv.Must(zoo.EndSession(tap, session))(t, "it has ended already")
	require.Zero(t, zxid)
	require.ErrorContains(t, testenv.Err(zoo.EndSession(new(wiretap.Tap), session)), "has not seen it begin")
}

func TestAnEndpointThatIsDeadIsPassedOver(t *testing.T) {
	t.Parallel() // a client may wait for a second
	srv := zkserver.Run(t)
	zoo := testenv.Must(ensemble.Open(t.Context(), closed+","+srv.Addr()))(t)
	defer zoo.Close()
	require.Contains(t, zoo.String(), "(embedded, served by another process: in memory, no disk)")
	tap := new(wiretap.Tap)
	conn := testenv.Must(zoo.Connect(t.Context(), ensemble.Options{Tap: tap}))(t)
	defer conn.Close()
	_ = testenv.Must(zoo.EndSession(tap, conn.SessionID()))(t)
	require.Empty(t, srv.Sessions())
}
