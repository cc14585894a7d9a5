package zklock_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/wiretap"
)

// ordinary has the options of a client of zk.Connect, which most users have. Only
// one of its faults is worked around, because a bubble cannot end after it: the hang
// in Close, which TestLockReturnsThoughTheClientHangsInClose plays.
type ordinary struct {
	sessionTimeout time.Duration // asked of the server; 10 s if zero
	buffer         int           // the largest packet, in bytes; the client's own choice if zero
	onEvent        zk.EventCallback
	wrap           func(net.Conn) net.Conn
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// connectAs opens a session that ends with the test, and returns when the
// client is at rest.
func (tb *table) connectAs(o ordinary) *zk.Conn {
	tb.Helper()
	if o.sessionTimeout == 0 {
		o.sessionTimeout = 10 * time.Second
	}
	dial := func(network, address string, patience time.Duration) (net.Conn, error) {
		nc, err := tb.srv.Dial(network, address, patience)
		if err == nil && o.wrap != nil {
			nc = o.wrap(nc)
		}
		return silentWriter{nc}, err
	}
	onEvent := o.onEvent
	if onEvent == nil {
		onEvent = func(zk.Event) {}
	}
	if o.buffer == 0 {
		o.buffer = 1536 << 10
	}
	conn, _, err := zk.Connect([]string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, o.sessionTimeout, zk.WithDialer(dial),
		zk.WithLogger(silentLogger{}), zk.WithLogInfo(false), zk.WithEventCallback(onEvent), zk.WithMaxConnBufferSize(o.buffer))
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	for conn.State() != zk.StateHasSession {
		time.Sleep(time.Millisecond) // until the server has answered
	}
	synctest.Wait()
	return conn
}

// A silentWriter is a connection on which a write that fails is not reported,
// but closes it, so that the reader notices. The client, which gives three
// answers to a request whose write fails after Close, hangs with the third.
type silentWriter struct{ net.Conn }

func (c silentWriter) Write(b []byte) (int, error) {
	if _, err := c.Conn.Write(b); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}

// makeTop makes the lock's parent, so that the first create of a contender is
// that of its node.
func (tb *table) makeTop(admin *zk.Conn) {
	tb.Helper()
	_, err := admin.Create(top, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(tb, err)
}

// remakeTop removes the lock's parent, which is empty, and makes it again: the
// numbers begin at 0 again.
func (tb *table) remakeTop(admin *zk.Conn) {
	tb.Helper()
	require.NoError(tb, admin.Delete(top, -1))
	tb.makeTop(admin)
}

// watchesFirst is a connection that works around one fault of go-zookeeper:
// when the client has connected, it reads the last zxid for SetWatches while
// its reader writes it for other replies, which is a data race. In a new
// session the watches may be those that the first replies have set. Here no
// reply but the handshake's is read before SetWatches is written, or a
// moment of virtual time has passed: then there are no watches.
func watchesFirst(nc net.Conn) net.Conn {
	ended, end := context.WithCancel(context.Background())
	return &watchesFirstConn{Conn: nc, reader: bufio.NewReader(nc), unread: -1, sent: make(chan struct{}), ended: ended, end: end}
}

type watchesFirstConn struct {
	net.Conn
	reader *bufio.Reader
	unread int           // of the handshake's reply; -1 before its length is known
	shaken bool          // the handshake has been written
	begun  bool          // the first reply may be read
	sent   chan struct{} // closed when SetWatches is written
	once   sync.Once
	ended  context.Context // when the connection is closed
	end    context.CancelFunc

	mu      sync.Mutex
	out     [][]byte // what waits to be written
	writing bool
}

func (c *watchesFirstConn) Write(b []byte) (int, error) {
	switch {
	case !c.shaken:
		c.shaken = true
	case jute.Op(binary.BigEndian.Uint32(b[8:])) == jute.OpSetWatches: // after length and xid
		c.once.Do(func() { close(c.sent) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, bytes.Clone(b))
	if !c.writing {
		c.writing = true
		go c.write()
	}
	return len(b), nil
}

// write writes the packets that wait. As with a socket, the client does not wait for
// the server to read; or else SetWatches might wait for a request that is held.
func (c *watchesFirstConn) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; len(c.out) > 0; c.out = c.out[1:] {
		b := c.out[0]
		c.mu.Unlock()
		_, err := c.Conn.Write(b)
		c.mu.Lock()
		if err != nil {
			c.Close()
		}
	}
	c.writing = false
}

func (c *watchesFirstConn) Read(b []byte) (int, error) {
	switch {
	case c.unread < 0:
		if _, err := c.reader.Peek(4); err != nil {
			return 0, err
		}
		n, err := io.ReadFull(c.reader, b[:4])
		c.unread = int(binary.BigEndian.Uint32(b))
		return n, err
	case c.unread > 0:
		n, err := c.reader.Read(b[:min(len(b), c.unread)])
		c.unread -= n
		return n, err
	case !c.begun:
		// Peek: over a pipe the server takes nothing while its own packet is not read.
		if _, err := c.reader.Peek(1); err != nil {
			return 0, err
		}
		select {
		case <-c.sent:
		case <-time.After(time.Microsecond):
		case <-c.ended.Done(): // what has been read ahead would be the race
			return 0, net.ErrClosed
		}
		c.begun = true
	}
	return c.reader.Read(b)
}

func (c *watchesFirstConn) Close() error {
	c.end()
	return c.Conn.Close()
}

// tapped wraps each connection of a client for a tap.
func tapped(tap *wiretap.Tap) func(net.Conn) net.Conn {
	return func(nc net.Conn) net.Conn {
		dial := tap.Dialer(func(string, string, time.Duration) (net.Conn, error) { return nc, nil })
		nc, _ = dial("", "", 0) // it fails only if what it is given does
		return nc
	}
}
