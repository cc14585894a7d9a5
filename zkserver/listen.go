package zkserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// errStopped is returned by Dial and Serve while the server is stopped.
var errStopped = fmt.Errorf("zkserver: server stopped: %w", syscall.ECONNREFUSED)

// noticeTimeout is how long Start waits for a client to see that its connection is broken.
const noticeTimeout = time.Second

// Addr returns the address at which the server listens, such as "127.0.0.1:41234": a port on loopback, chosen by the
// system when Addr is called first. It panics if it cannot listen, as package httptest does. Not for use in a
// testing/synctest bubble, where time stops while a socket is waited for: use Dial there.
func (s *Server) Addr() string {
	s.mu.Lock()
	addr := s.addr
	s.mu.Unlock()
	if addr != "" {
		return addr
	}
	return s.ListenAlso()
}

// ListenAlso returns one more address at which the server listens, on a port chosen by the system.
// A client that is given several addresses can so be led from one to the other: each can be stopped
// and started by itself. It panics if it cannot listen.
func (s *Server) ListenAlso() string {
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("zkserver: cannot listen on loopback: %v", err))
	}
	return addr
}

// Listen opens a port at an address of the caller's choice and returns the address, with the port
// that the system has chosen if that of address is 0. The host must be an IP address of loopback,
// or localhost, which is 127.0.0.1: the server asks nobody for a password, so it listens nowhere
// else. The first address at which the server listens is that of Addr.
func (s *Server) Listen(address string) (addr string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("zkserver: %q is not an address of loopback", address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrClosed
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", err
	}
	addr = l.Addr().String()
	s.addr = cmp.Or(s.addr, addr)
	if s.stoppedLocked(addr) {
		l.Close()
		l = nil
	} else {
		s.wg.Go(func() { s.accept(l, addr) })
	}
	s.listeners[addr] = l
	return addr, nil
}

func (s *Server) accept(l net.Listener, addr string) {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(10 * time.Millisecond): // out of file descriptors, most likely
				continue
			}
		}
		if s.serve(nc, addr) != nil {
			nc.Close()
		}
	}
}

// Dial connects to the server over a pipe, in a testing/synctest bubble, too. It has the type of a
// zk.Dialer. The address says only which of the addresses that Stop and Start know the client has
// dialed; it may be any. The client looks up a host name before it dials, so give it an IP address.
func (s *Server) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	client, server := net.Pipe()
	seen := make(chan struct{})
	if err := s.serve(&serverEnd{server, seen}, address); err != nil {
		return nil, err
	}
	return &clientEnd{Conn: client, seen: seen}, nil
}

// Serve takes over a connection from a client and returns at once: Dial for a caller that brings its own line. The
// server closes nc when it is done with it. After Close it returns ErrClosed and leaves nc alone.
func (s *Server) Serve(nc net.Conn) error { return s.serve(nc, "") }

// A clientEnd is that of a pipe. Its client closes it when it has seen that the pipe is broken.
type clientEnd struct {
	net.Conn
	once sync.Once
	seen chan struct{}
}

func (e *clientEnd) Close() error {
	e.once.Do(func() { close(e.seen) })
	return e.Conn.Close()
}

type serverEnd struct {
	net.Conn
	seen <-chan struct{} // closed by the clientEnd
}

// Stop breaks all connections and refuses new ones until Start, as if the process of the server had
// been killed. With addresses it does so at these alone. The nodes are kept, and so are the
// sessions: while the whole server is stopped no session expires.
func (s *Server) Stop(addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.down = s.down || len(addrs) == 0
	for _, addr := range addrs {
		s.away[addr] = struct{}{}
	}
	for addr, l := range s.listeners {
		if l != nil && s.stoppedLocked(addr) {
			l.Close()
			s.listeners[addr] = nil
		}
	}
	for c := range s.conns {
		if s.stoppedLocked(c.addr) && c.removeLocked() {
			seen := make(chan bool, 1)
			s.broken = append(s.broken, seen)
			s.wg.Go(func() { seen <- c.hangUp() })
		}
	}
}

func (s *Server) stoppedLocked(addr string) bool {
	_, away := s.away[addr]
	return s.down || away
}

// hangUp closes the line, and reports whether the client has seen it in time.
func (c *conn) hangUp() bool {
	defer c.net.Close()
	switch line := c.net.(type) {
	case *serverEnd: // a pipe, whose other end tells when its client closes it
		line.Close()
		late := time.NewTimer(noticeTimeout)
		defer late.Stop()
		select {
		case <-line.seen:
			return true
		case <-late.C:
		case <-c.s.done:
		}
	case *net.TCPConn: // a client closes its end when it reads that this one has ended
		line.CloseWrite()
		line.SetReadDeadline(time.Now().Add(noticeTimeout))
		ended := make(chan struct{})
		defer close(ended)
		c.s.wg.Go(func() {
			select {
			case <-c.s.done:
				line.Close()
			case <-ended:
			}
		})
		_, err := io.Copy(io.Discard, line)
		return !errors.Is(err, os.ErrDeadlineExceeded) // it ends earlier if the client closes its end
	}
	return false
}

// Start serves again after Stop, at the same addresses, with the nodes and the sessions there were; every
// session has its whole timeout again. With addresses it does so at these alone. Before, it waits until
// the clients have closed their ends of the connections that Stop has broken, at most one second: a
// request that a client sends from then on is for the new connection. It returns false if a client has
// not seen the break in that time. It panics if another process has taken a port meanwhile.
func (s *Server) Start(addrs ...string) (seen bool) { return s.startAgain(func() {}, addrs...) }

// StartEmpty is Start for a server that has lost its data: it has no nodes, no sessions, and begins
// to count its transactions again. It stops the server first. A client that has seen a later
// transaction than the server has is refused, as by a real server, until it begins a new session.
func (s *Server) StartEmpty() (seen bool) {
	s.Stop()
	return s.startAgain(s.resetLocked)
}

// startAgain is Start. prepareLocked is called when the clients have seen the break.
func (s *Server) startAgain(prepareLocked func(), addrs ...string) (seen bool) {
	s.mu.Lock()
	broken := s.broken
	s.broken = nil
	s.mu.Unlock()
	seen = true
	for _, seenByClient := range broken {
		seen = <-seenByClient && seen // receives from each, also after a false
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return seen
	}
	prepareLocked()
	if len(addrs) == 0 {
		if s.down {
			for _, ss := range s.sessions {
				s.touchLocked(ss)
			}
		}
		s.down = false
		clear(s.away)
	}
	for _, addr := range addrs {
		delete(s.away, addr)
	}
	for addr, l := range s.listeners {
		if l != nil || s.stoppedLocked(addr) {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			panic(fmt.Sprintf("zkserver: cannot listen again: %v", err))
		}
		s.listeners[addr] = l
		s.wg.Go(func() { s.accept(l, addr) })
	}
	return seen
}
