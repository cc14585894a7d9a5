// Package bubble has what tests in virtual time share: a server, a line to it, and waits.
package bubble

import (
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

var (
	Patience       = time.Minute      // the longest wait for an event that must happen
	SessionTimeout = 10 * time.Second // of the suites' sessions
)

func init() {
	if testenv.Elsewhere() { // in real time, where the machine may be busy
		Patience, SessionTimeout = 10*time.Minute, 40*time.Second // the longest that a server with a tick of 2 s grants
	}
}

// Serve runs f with a server of its own, in virtual time.
func Serve(t *testing.T, f func(t *testing.T, srv *zkserver.Server), options ...zkserver.Option) {
	t.Helper()
	Test(t, func(t *testing.T) { f(t, zkserver.Run(t, options...)) })
}

// ServeCase is Serve for one of the cases of a test.
func ServeCase(t *testing.T, name string, f func(t *testing.T, srv *zkserver.Server)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { Serve(t, f) })
}

// Until waits until ok returns true, for Patience at most, and returns whether it has. It polls: in virtual time that
// is exact to one part in a hundred, and almost free. settle, if it is not nil, is called before each call of ok.
func Until(settle func(), ok func() bool) bool {
	for begin := time.Now(); ; time.Sleep(max(time.Millisecond, time.Since(begin)/100)) {
		if settle != nil {
			settle()
		}
		if ok() {
			return true
		}
		if time.Since(begin) > Patience {
			return false
		}
	}
}

// Aside calls f in a goroutine of its own, and returns the channel of its result.
func Aside(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A Line leads clients to a server, whatever address they dial.
type Line struct {
	Server *zkserver.Server
	Wrap   func(net.Conn) net.Conn // if not nil, it is put around each connection
	Down   atomic.Bool             // connections are refused

	mu     sync.Mutex
	dialed []string // addresses; guarded by mu
}

// Dial is the dialer of a client.
func (l *Line) Dial(network, address string, patience time.Duration) (net.Conn, error) {
	l.mu.Lock()
	l.dialed = append(l.dialed, address)
	l.mu.Unlock()
	if l.Down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	nc, err := l.Server.Dial(network, address, patience)
	if err == nil && l.Wrap != nil {
		nc = l.Wrap(nc)
	}
	return nc, err
}

func (l *Line) Dialed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dialed
}

// One and Three are the addresses of a client's servers; all lead to the test's server. A client of
// three servers, as one of an ensemble, keeps what it has not sent while it changes over to the next.
var (
	One   = []string{"127.0.0.1:2181"}
	Three = []string{"127.0.0.1:2181", "127.0.0.2:2181", "127.0.0.3:2181"}
)

// A T is a test, or a case of a suite. It is not a type of a library, because a browser loads this package, too.
type T interface {
	Helper()
	Cleanup(func())
}

// Connect opens an ordinary client, as most programs do with zk.Connect, which has no session yet.
// It prints nothing, and is closed when the test is over.
func Connect(t T, dial zk.Dialer, timeout time.Duration, servers []string, options ...func(*zk.Conn)) *zk.Conn {
	t.Helper()
	silent := zk.WithLogger(log.New(io.Discard, "", 0))
	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(dial), silent, zk.WithLogInfo(false), func(c *zk.Conn) {
		for _, set := range options {
			set(c)
		}
	})
	if err != nil {
		panic(err) // the addresses are the test's
	}
	t.Cleanup(conn.Close)
	return conn
}
