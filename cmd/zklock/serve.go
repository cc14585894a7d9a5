package main

import (
	"context"
	"sync"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zkserver"
)

// serve runs the embedded server until it is interrupted.
func (c *call) serve(ctx context.Context) int {
	s := zkserver.New(zkserver.WithRefusal(sync.OnceFunc(func() { // called at each try of a client, with the server locked
		go c.note("a client is refused, because it has seen later transactions than this server: " +
			"it was connected to an earlier one, whose data is gone (go-zookeeper: \"authentication failed: EOF\"); " +
			"start the client again, unless it is one of zkconn: that begins a new session by itself")
	})))
	defer s.Close()
	addr, err := s.Listen(c.path)
	if err != nil {
		return c.fail(exitFailure, i18n.Errorf("%w; give an address of loopback that is free, as 127.0.0.1:2181", err))
	}
	c.print("The embedded ZooKeeper serves at %[1]s. It keeps everything in memory. Ctrl-C ends it.\n\n  zkCli.sh -server %[1]s\n"+
		"  conn, err := zkconn.Connect(ctx, []string{\"%[1]s\"}, 10*time.Second)\n  go run ./bench -zk %[1]s\n", addr)
	<-ctx.Done()
	c.note("interrupted: the server at %s and all its nodes are gone", addr)
	return 0
}
