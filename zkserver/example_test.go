package zkserver_test

import (
	"fmt"
	"io"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zkserver"
)

// A test calls Run(t) in place of New and Close.
func Example() {
	srv := zkserver.New()
	defer srv.Close()
	conn, _, err := zk.Connect([]string{srv.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	conn.Create("/app", nil, 0, zk.WorldACL(zk.PermAll))
	conn.Create("/app/leader-", []byte("host 1"), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	fmt.Print(srv.Tree())
	srv.Expire(conn.SessionID())
	fmt.Println("after the session has expired:", srv.Children("/app"))

	// Output:
	// /app
	// /app/leader-0000000000 ephemeral "host 1"
	// after the session has expired: []
}

// The reply to a create is lost: the node is there, and its client has only an
// error.
func ExampleServer_LoseReply() {
	srv := zkserver.New()
	defer srv.Close()
	conn, _, err := zk.Connect([]string{srv.Addr()}, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	srv.LoseReply(zkserver.On(zkserver.OpCreate, "/jobs"))
	_, err = conn.Create("/jobs", nil, 0, zk.WorldACL(zk.PermAll))
	_, there := srv.Node("/jobs")
	fmt.Println(err, there)

	// Output:
	// zk: connection closed true
}

// Over Dial a test runs in virtual time: it takes no time until the session of a
// client that is cut off expires.
func TestASessionExpiresInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zkserver.Run(t)
		// An IP address: a name would be looked up first.
		conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}

		srv.Stop()
		time.Sleep(time.Minute) // no session expires while the server is away
		srv.Start()
		if _, _, err := conn.Get("/e"); err != nil {
			t.Fatal(err)
		}

		away := srv.LoseRequest(zkserver.On(zkserver.AnyOp, "").From(conn.SessionID())).Every()
		defer away.Release()
		time.Sleep(time.Minute)
		if left := srv.Tree(); left != "" {
			t.Fatalf("still there:\n%s", left)
		}
	})
}
