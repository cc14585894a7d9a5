package zkserver_test

import (
	"fmt"
	"io"
	"log"
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

// The reply to a create is lost: the node is there, and its client has only an error.
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
