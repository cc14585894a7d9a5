package zk

import (
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"example.com/zklock/zkserver"
)

// StartTestCluster stands for the function of the same name that starts Java. A cluster is one
// server, which listens at several addresses.
func StartTestCluster(t *testing.T, size int, _, _ io.Writer) (*TestCluster, error) {
	tick := zkserver.WithTick(DefaultServerTickTime * time.Millisecond)
	srv := zkserver.Run(t, zkserver.WithTTL(), zkserver.WithWords("*"), tick) // as the suite configures Java's
	cluster := &TestCluster{Config: ServerConfig{Servers: make([]ServerConfigServer, size)}}
	for i := range size {
		addr := srv.Addr()
		if i > 0 {
			addr = srv.ListenAlso()
		}
		_, port, _ := net.SplitHostPort(addr)
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		cluster.Servers = append(cluster.Servers, TestServer{Port: n, Srv: address{srv, addr}})
	}
	return cluster, nil
}

// An address of the server is what the suite takes for a server of its own.
type address struct {
	*zkserver.Server
	addr string
}

func (a address) Start() error { a.Server.Start(a.addr); return nil }
func (a address) Stop() error  { a.Server.Stop(a.addr); return nil }
