package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"example.com/zklock/zkserver"
)

// loopback returns the address of -serve with the host as an IP address. It accepts
// only loopback: the embedded server asks nobody for a password.
func loopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return "", fmt.Errorf("-serve: %q is not an address such as 127.0.0.1:2181", address)
	}
	ip := net.ParseIP(host)
	if host == "localhost" {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("-serve: %q is not on loopback, and the embedded server asks nobody for a password: use 127.0.0.1:%s", address, port)
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// serve runs the embedded server until ctx ends.
func serve(ctx context.Context, address string, stdout, stderr io.Writer) error {
	refused := make(chan struct{}, 1)
	s := zkserver.New(zkserver.WithRefusal(func() {
		select {
		case refused <- struct{}{}:
		default:
		}
	}))
	defer s.Close()
	addr, err := s.Listen(address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("-serve: %s: %w", address, err)
	}
	_, err = fmt.Fprintf(stdout, `The embedded ZooKeeper serves at %[1]s. It keeps everything in memory. Ctrl-C ends it.

  zkCli.sh -server %[1]s
  conn, err := zkconn.Connect(ctx, []string{"%[1]s"}, 10*time.Second)
  go run ./bench -zk %[1]s

`, addr)
	if err != nil {
		return err
	}
	select {
	case <-refused: // once: the client tries again every second
		fmt.Fprint(stderr, "bench: a client is refused, because it has seen later transactions than this server: it was connected to an\n"+
			"earlier one, whose data is gone (go-zookeeper: \"authentication failed: EOF\"). Start the client again, unless it is one of\n"+
			"zkconn: that begins a new session by itself.\n")
		<-ctx.Done()
	case <-ctx.Done():
	}
	fmt.Fprintf(stderr, "bench: interrupted: the server at %s and all its nodes are gone\n", addr)
	return nil
}
