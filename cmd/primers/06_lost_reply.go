package main

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// lostReply is the program of primer 6: the server carries a request out, and its reply is lost.
func lostReply(p *programRun) {
	a := p.client()
	parent(a, p.path)

	// This client's connection breaks when the next packet comes, if lose says so.
	var lose atomic.Bool
	dialer := func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, address, timeout)
		return &lossyConn{conn, &lose}, err
	}
	b, states, err := zk.Connect(p.servers, 10*time.Second, zk.WithDialer(dialer), zk.WithLogger(silentLogger{}))
	must(err)
	p.clients = append(p.clients, b)
	for state := range states {
		if state.State == zk.StateHasSession {
			break
		}
	}

	lose.Store(true)
	_, err = b.Create(p.path+"/guest-of-b-", nil, zk.FlagEphemeralSequential, everybody)
	p.say("b creates a node: %v", err)

	// b connects again, in the same session, when it sends the next request.
	list, _, err := b.Children(p.path)
	for err == zk.ErrConnectionClosed || err == zk.ErrNoServer {
		list, _, err = b.Children(p.path)
	}
	must(err)
	p.say("the list: %v", list)
	if len(list) == 0 { // the reply was not lost, but the request
		return
	}

	// Whose node is it? Its name shows that, if only b chooses such a name; its Stat has the session.
	_, stat, err := b.Get(p.path + "/" + list[0])
	must(err)
	p.say("b's name is in it: %v; b's session made it: %v", strings.Contains(list[0], "-of-b-"), stat.EphemeralOwner == b.SessionID())
}

// lossyConn is a connection that can lose what the server sends.
type lossyConn struct {
	net.Conn
	lose *atomic.Bool
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lose.CompareAndSwap(true, false) {
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}
