package ensemble

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"example.com/zklock/internal/jute"
)

// A carefulConn works around three faults of go-zookeeper 1.0.4.
//
// It gives a server that accepts and says nothing, such as one that is
// frozen, ten times the read deadline, minutes in which the session ends
// that another server would have kept: until the first byte has come, no
// deadline is later than answerTimeout.
//
// It has room for two answers to a request, but gives three to one that
// is queued while Close runs and whose write fails; then it hangs, and with it
// everybody who waits on a watch: a write that fails closes the connection and
// is not reported, for the reader notices.
//
// And once connected it tells the server up to which zxid it has seen what it
// watches, while replies move that very number on: a data race, and a change
// can be missed. No reply is read before the watches have been sent, or before
// it is clear that there are none.
type carefulConn struct {
	net.Conn

	// Used by who writes the handshake, and then by the client's reader alone.
	reader   *bufio.Reader
	unread   int           // of the handshake's reply; -1 before its length is known
	greeted  bool          // its first byte has come
	wait     time.Duration // for the watches, before the first reply is read
	once     sync.Once
	watching chan struct{} // closed when the watches have been sent

	shaken bool // the handshake has been written; used by the writer alone
}

// How long after the handshake the watches are waited for: in a new session
// there should be none.
const (
	firstWatches = time.Millisecond
	againWatches = 200 * time.Millisecond
)

func newCarefulConn(nc net.Conn) *carefulConn {
	return &carefulConn{Conn: nc, reader: bufio.NewReader(nc), unread: -1, watching: make(chan struct{})}
}

func (c *carefulConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(answerTimeout); !c.greeted && t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *carefulConn) Read(b []byte) (int, error) {
	if c.unread == 0 && c.wait > 0 {
		// Fill the buffer first: over a pipe the server cannot take the watches
		// while a reply that it writes is not read.
		if _, err := c.reader.Peek(1); err != nil {
			return 0, err
		}
		timer := time.NewTimer(c.wait)
		c.wait = 0
		defer timer.Stop()
		select {
		case <-c.watching:
		case <-timer.C:
		}
	}
	if c.unread > 0 {
		b = b[:min(len(b), c.unread)]
	}
	n, err := c.reader.Read(b)
	c.greeted = c.greeted || n > 0
	switch {
	case c.unread > 0:
		c.unread -= n
	case c.unread < 0 && n == 4:
		c.unread = int(binary.BigEndian.Uint32(b))
	case c.unread < 0 && n > 0: // not how the client reads: let it pass
		c.unread, c.wait = 0, 0
	}
	return n, err
}

func (c *carefulConn) Write(b []byte) (int, error) {
	const (
		session = 4 + 4 + 8 + 4 // where it is in a handshake: after length, version, zxid, timeout
		op      = 4 + 4         // where it is in a request: after length and xid
	)
	switch {
	case !c.shaken:
		c.shaken = true
		c.wait = firstWatches
		if len(b) >= session+8 && binary.BigEndian.Uint64(b[session:]) != 0 {
			c.wait = againWatches
		}
	case len(b) >= op+4 && jute.Op(binary.BigEndian.Uint32(b[op:])) == jute.OpSetWatches:
		c.once.Do(func() { close(c.watching) })
	}
	if _, err := c.Conn.Write(b); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}
