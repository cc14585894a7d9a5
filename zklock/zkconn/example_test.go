package zkconn_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// The servers of a production program are names such as "zk1:2181". This one is in the process.
func ExampleConnect() {
	server := zkserver.New()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it tries until then
	defer cancel()

	conn, err := zkconn.Connect(ctx, []string{server.Addr()}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	timeout, _ := zkconn.SessionTimeout(conn)
	_, stat, err := conn.Get("/")
	fmt.Println(timeout, stat.NumChildren, err)

	// Output:
	// 10s 1 <nil>
}

// Each service has a password of its own, and only its nodes are open to it. A lock on
// such a path has the same list: zklock.WithACL.
func ExampleWithAuth() {
	server := zkserver.New()
	defer server.Close()
	address := server.Addr()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	orders, err := zkconn.Connect(ctx, []string{address}, 10*time.Second, zkconn.WithAuth("digest", "orders:secret"))
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	if _, err := orders.Create("/orders", nil, 0, zk.DigestACL(zk.PermAll, "orders", "secret")); err != nil {
		log.Fatal(err)
	}
	other, err := zkconn.Connect(ctx, []string{address}, 10*time.Second, zkconn.WithAuth("digest", "other:password"))
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()

	_, _, err = orders.Get("/orders")
	fmt.Println("orders:", err)
	_, _, err = other.Get("/orders")
	fmt.Println("other:", err)

	// Output:
	// orders: <nil>
	// other: zk: not authenticated
}
