package zkconn

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// A carefulConn is a connection that works around faults of the client.
//
// The client has room for two answers to a request, but gives three to one
// that is queued while Close runs and whose write fails. So a failed write
// closes the connection and is not reported: the client's reader notices.
//
// The client gives the handshake ten times the read deadline, and no deadline
// after its fourth byte. So the handshake has a deadline of its own.
//
// Once connected, the client sends the server the zxid up to which it has seen
// its watched nodes, while replies change that number: a data race, and a change
// can be missed. So in a resumed session no reply is read before that request
// has been made, or before againWatches has passed, because a client without
// watches makes none. It is not enough that such a request has been written: it
// may be that of the connection before, which was still queued.
//
// In a new session there is nothing to set again, but the client asks for the
// watches that the first replies have set. So an empty list is sent instead.
type carefulConn struct {
	net.Conn
	c       *client
	address string

	// For the handshake.
	handshakeTimeout time.Duration
	limit            time.Time

	// Written by the goroutine that writes and reads the handshake, before the
	// client's reader and writer begin.
	handshakeSent bool // the handshake has been written
	resumed       bool // and names a session

	// Used by the reader alone.
	reader   *bufio.Reader
	answered bool          // the whole answer to the handshake has come
	answer   []byte        // what the client has not read of it
	wait     time.Duration // for the watches, before the first reply is read

	once     sync.Once
	watching chan struct{} // closed when the request for the watches has been made
}

const (
	firstWatches = time.Millisecond // a new session: an empty list at most
	againWatches = 200 * time.Millisecond

	setWatches = 101 // the opcode
)

// leastHandshakeTimeout is how long a server may take to answer the handshake at first:
// 1 s, or longer if all servers can still be tried within a third of the session
// timeout.
func (c *client) leastHandshakeTimeout() time.Duration {
	return max(time.Second, time.Duration(c.timeout.Load())/3/time.Duration(max(1, c.servers())))
}

// nextHandshakeTimeout is how long the next server may take.
func (c *client) nextHandshakeTimeout() time.Duration {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(max(least, c.handshakeTimeout), max(least, time.Duration(c.timeout.Load())))
}

// handshakeEnded notes how a handshake has ended. If the client did not wait for the
// answer, the server has begun a session all the same, and keeps it until it expires.
// So the next server gets more time: where all are slow, few sessions are left behind.
func (c *client) handshakeEnded(conn *carefulConn, err error) {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.connected = conn
		clear(c.tried)
		c.handshakeTimeout = 0
		if took := conn.handshakeTimeout - time.Until(conn.limit); took > least {
			c.handshakeTimeout = conn.handshakeTimeout
		}
	case timedOut(err):
		c.handshakeTimeout = conn.handshakeTimeout * 3 / 2
		fallthrough
	default:
		c.tried[conn.address] = err
	}
}

func timedOut(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func newCarefulConn(nc net.Conn, c *client, address string) *carefulConn {
	return &carefulConn{
		Conn: nc, c: c, address: address,
		reader: bufio.NewReader(nc), wait: firstWatches, watching: make(chan struct{}),
	}
}

func (c *carefulConn) SetReadDeadline(t time.Time) error {
	if !c.answered {
		t = c.limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *carefulConn) SetWriteDeadline(t time.Time) error {
	if !c.handshakeSent { // after the dial the user's callback has been called, which may take a while
		c.handshakeTimeout = c.c.nextHandshakeTimeout()
		c.limit = time.Now().Add(c.handshakeTimeout)
		t = c.limit
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *carefulConn) Read(b []byte) (int, error) {
	if !c.answered {
		if err := c.readAnswer(); err != nil {
			return 0, err
		}
	}
	if len(c.answer) > 0 {
		n := copy(b, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	if c.wait > 0 {
		// Fill the buffer first: over a pipe the server cannot take the watches
		// while a reply that it writes is not read.
		if _, err := c.reader.Peek(1); err != nil {
			return 0, err
		}
		timer := time.NewTimer(c.wait)
		defer timer.Stop()
		c.wait = 0
		select {
		case <-c.watching:
		case <-timer.C:
		}
	}
	return c.reader.Read(b)
}

// readAnswer reads the answer to the handshake.
func (c *carefulConn) readAnswer() (err error) {
	const size = 4 + 4 + 8 // version, timeout and session, which a password follows
	defer func() {
		if timedOut(err) {
			err = fmt.Errorf("accepts the connection but has not answered within %v: %w", c.handshakeTimeout, err)
		}
		c.c.handshakeEnded(c, err)
	}()
	head, err := c.reader.Peek(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head)
	if n < size || n > 4096 {
		return fmt.Errorf("this is not ZooKeeper's protocol: the answer to the handshake begins with %q", head)
	}
	answer := make([]byte, 4+n)
	if _, err := io.ReadFull(c.reader, answer); err != nil {
		return err
	}
	if session := binary.BigEndian.Uint64(answer[12:]); session == 0 {
		c.c.expired.Store(true)
	} else {
		c.c.timeout.Store(int64(time.Duration(binary.BigEndian.Uint32(answer[8:])) * time.Millisecond))
	}
	c.answered, c.answer = true, answer
	return nil
}

func (c *carefulConn) watchesAreSet() { c.once.Do(func() { close(c.watching) }) }

func (c *carefulConn) Write(b []byte) (int, error) {
	const (
		session = 4 + 4 + 8 + 4 // its offset in a handshake: after length, version, zxid and timeout
		op      = 4 + 4         // its offset in a request: after length and xid
	)
	frame := b
	switch {
	case !c.handshakeSent:
		if c.handshakeSent = true; len(b) >= session+8 && binary.BigEndian.Uint64(b[session:]) != 0 {
			c.resumed, c.wait = true, againWatches
		}
	case !c.resumed && len(b) >= op+4+8 && binary.BigEndian.Uint32(b[op:]) == setWatches:
		const lists = 3
		frame = append(slices.Clone(b[:op+4+8]), make([]byte, lists*4)...)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	}
	if _, err := c.Conn.Write(frame); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}
