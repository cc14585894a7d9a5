package bubble

import (
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"
)

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
