// Package proxy is a line between the clients of a process and one server. Tests
// cut it, silence it, and make it lose a reply that they choose.
package proxy

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
)

// A Proxy passes on what clients and one server send to each other. Its methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	server   string
	dial     Dialer

	mu    sync.Mutex // guards the next four
	cut   bool
	open  [2]chan struct{} // by direction; closed while packets arrive
	conns map[net.Conn]bool
	loss  *loss // nil until LoseReply

	onPacket atomic.Pointer[func(d Direction)] // called for each packet; nil until At
	running  sync.WaitGroup                    // all goroutines of the proxy
}

type Direction int

const (
	ToServer Direction = iota
	ToClient
)

type Dialer = func(network, address string, timeout time.Duration) (net.Conn, error)

// Open opens a proxy for the server at an address, host:port, which need not run yet. Close must be called.
func Open(server string, dial Dialer) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, server: server, dial: dial, conns: make(map[net.Conn]bool)}
	for d := range p.open {
		p.open[d] = make(chan struct{})
		close(p.open[d])
	}
	p.running.Go(p.accept)
	return p, nil
}

func (p *Proxy) Close() {
	p.listener.Close()
	p.Heal() // packets that are held back go on
	p.CutOff()
	p.running.Wait()
}

// New opens a proxy until the test ends.
func New(t testing.TB, server string) *Proxy {
	p, err := Open(server, net.DialTimeout)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.join(client) })
	}
}

// A link is a client's connection, joined to one to the server.
type link struct {
	// Guarded by mu of the proxy.
	asked []byte // the last bytes that the client has sent: the text that LoseReply looks for may come in two pieces
	lost  *loss  // not nil once the next reply is to be lost
}

// join joins a client's connection to one to the server, until either ends.
func (p *Proxy) join(client net.Conn) {
	defer client.Close()
	server, err := p.dial("tcp", p.server, time.Minute)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	l := &link{}
	answers := make(chan struct{})
	p.running.Go(func() {
		defer close(answers)
		p.pass(client, server, ToClient, l)
	})
	p.pass(server, client, ToServer, l)
	<-answers
}

// pass passes bytes on until one side ends, and then closes both connections. During a silence it holds them back.
func (p *Proxy) pass(to, from net.Conn, d Direction, l *link) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if onPacket := p.onPacket.Load(); onPacket != nil && n > 0 {
			(*onPacket)(d)
		}
		for { // wait for the end of a silence; when this goroutine goes on, another one may have begun
			open := p.opening(d)
			if bubble.IsClosed(open) {
				break
			}
			<-open
		}
		if d == ToServer {
			p.noteRequests(l, b[:n])
		} else if lost := p.lossOf(l); lost != nil && n > 0 {
			if lost.cut != nil {
				lost.cut()
			}
			return
		}
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			return
		}
	}
}

// opening returns a channel that is closed when packets arrive in a direction.
func (p *Proxy) opening(d Direction) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[d]
}

// Sever ends the connections. New ones can be made.
func (p *Proxy) Sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}

// CutOff ends the connections, and lets no new ones be made until Heal.
func (p *Proxy) CutOff() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Sever()
}

// Silence lets nothing arrive in these directions until Heal. Connections can be made.
func (p *Proxy) Silence(directions ...Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range directions {
		if bubble.IsClosed(p.open[d]) { // else it is silent already, and pass may wait for this channel
			p.open[d] = make(chan struct{})
		}
	}
}

// Heal ends CutOff and Silence. What was held back arrives.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	for _, open := range p.open {
		if !bubble.IsClosed(open) {
			close(open)
		}
	}
}

// At calls act when the n-th packet from now on comes in a direction, before it is passed on. came reports whether it has.
func (p *Proxy) At(direction Direction, n int, act func()) (came func() bool) {
	var packets atomic.Int32
	onPacket := func(d Direction) {
		if d == direction && int(packets.Add(1)) == n {
			act()
		}
	}
	p.onPacket.Store(&onPacket)
	return func() bool { return int(packets.Load()) >= n }
}

type loss struct {
	request  []byte // a text of it, in lower case
	cut      func()
	requests int // with the text that have come; guarded by mu of the proxy
}

// LoseReply lets the next request that contains a text, in capitals or not, reach the server, and drops the server's
// bytes after that. At the first of them it calls cut, unless that is nil, and then ends the connection. With CutOff as
// cut the client cannot come back. The first byte need not be the reply's: an event or the answer to a ping may come
// before. Then cut can wait until the server has carried out the request. requests returns how many requests with the
// text have come so far.
//
// The connection must not be encrypted, and its client must wait for each reply before it sends the next request.
func (p *Proxy) LoseReply(request string, cut func()) (requests func() int) {
	lost := &loss{request: bytes.ToLower([]byte(request)), cut: cut}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = lost
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return lost.requests
	}
}

// noteRequests looks for the request whose reply is to be lost, before it is passed on.
func (p *Proxy) noteRequests(l *link, sent []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loss == nil {
		l.asked = nil
		return
	}
	l.asked = append(l.asked, bytes.ToLower(sent)...)
	if n := bytes.Count(l.asked, p.loss.request); n > 0 {
		if p.loss.requests == 0 {
			l.lost = p.loss
		}
		p.loss.requests += n
		l.asked = nil
	}
	if keep := len(p.loss.request) - 1; len(l.asked) > keep { // the text may come in two pieces
		l.asked = l.asked[len(l.asked)-keep:]
	}
}

// lossOf returns the loss of a link's next reply, nil if that is not to be lost.
func (p *Proxy) lossOf(l *link) *loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.lost
}
