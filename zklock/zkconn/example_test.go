package zkconn_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/zklock/zklock/zkconn"
	"example.com/zklock/zkserver"
)

// The servers of a production program are names such as "zk1:2181". This one is
// in the process.
func ExampleConnect() {
	server := zkserver.New()
	defer server.Close()
	address, err := server.Listen()
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it tries until then
	defer cancel()

	conn, err := zkconn.Connect(ctx, []string{address}, 10*time.Second)
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
