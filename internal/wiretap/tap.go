// Package wiretap listens in on the line between a ZooKeeper client and any server: it counts
// requests, watch events and bytes as they cross the wire, and keeps a log of them on demand.
//
//	tap := new(wiretap.Tap)
//	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(tap.Dialer(net.DialTimeout)))
//	…
//	fmt.Println(tap.Counts().Requests[jute.OpCreate])
//
// Counting costs a few atomic additions per packet and looks at no more than its first bytes. A
// packet that makes no sense is passed on untouched, and its connection is no longer counted.
package wiretap

import (
	"bufio"
	"encoding/binary"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/jute"
)

// A Dialer opens a connection; it is the type that zk.WithDialer takes.
type Dialer = func(network, address string, timeout time.Duration) (net.Conn, error)

const lowestOp = int32(jute.OpCloseSession) // the lowest opcode, -11; the highest, that of whoAmI, is 107

// A Tap counts the packets on the connections of all its dialers. The zero Tap has seen
// nothing yet. All methods may be called from any goroutine.
type Tap struct {
	requests [128]atomic.Int64 // by opcode - lowestOp
	events   atomic.Int64
	wakeUps  atomic.Int64
	out, in  atomic.Int64 // bytes, to and from the server
	logging  bool

	mu       sync.Mutex         // guards the fields below
	conns    map[*conn]struct{} // that are open
	log      []jute.Op
	sessions map[int64]session // that have begun, by their ids
}

type session struct {
	password []byte
	timeout  time.Duration
}

// NewWithLog returns a Tap that keeps the kind of every request, and looks at the whole of long packets. It
// costs memory for each, and time.
func NewWithLog() *Tap { return &Tap{logging: true} }

// Counts are the numbers of a Tap. Handshakes are not requests.
type Counts struct {
	Requests map[jute.Op]int64
	Events   int64 // watch events
	// WakeUps is how many watchers the events were for: the client library wakes every watcher that
	// was set on the node through the connection, and the server sends only one event. Watches that
	// are set again after a reconnect, and those of addWatch, are not seen.
	WakeUps  int64
	BytesOut int64 // from client to server, lengths and handshakes included
	BytesIn  int64
}

// Counts returns the numbers so far.
func (t *Tap) Counts() Counts {
	c := Counts{
		Requests: make(map[jute.Op]int64), Events: t.events.Load(), WakeUps: t.wakeUps.Load(),
		BytesOut: t.out.Load(), BytesIn: t.in.Load(),
	}
	for i := range t.requests {
		if n := t.requests[i].Load(); n != 0 {
			c.Requests[jute.Op(int32(i)+lowestOp)] = n
		}
	}
	return c
}

// Since returns the numbers since earlier.
func (c Counts) Since(earlier Counts) Counts {
	d := Counts{
		Requests: make(map[jute.Op]int64), Events: c.Events - earlier.Events, WakeUps: c.WakeUps - earlier.WakeUps,
		BytesOut: c.BytesOut - earlier.BytesOut, BytesIn: c.BytesIn - earlier.BytesIn,
	}
	for op, n := range c.Requests {
		if n -= earlier.Requests[op]; n != 0 {
			d.Requests[op] = n
		}
	}
	return d
}

// Total is the number of requests that the user's program has made. Pings are left out, and so is
// setWatches, which the client library sends by itself when it has connected again.
func (c Counts) Total() (n int64) {
	for op, k := range c.Requests {
		if op != jute.OpPing && op != jute.OpSetWatches {
			n += k
		}
	}
	return n
}

// Dialer returns a dialer that connects as next does and listens in.
func (t *Tap) Dialer(next Dialer) Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		nc, err := next(network, address, timeout)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		c := &conn{Conn: nc, buffered: bufio.NewReaderSize(nc, 32<<10), tap: t}
		c.watchers = watchers{asked: make(map[int32]watchRequest), set: make(map[watch]int64)}
		if t.conns == nil {
			t.conns, t.sessions = make(map[*conn]struct{}), make(map[int64]session)
		}
		t.conns[c] = struct{}{}
		c.up = framer{limit: t.prefix(), frame: c.countRequest}
		c.down = framer{limit: t.prefix(), frame: c.countReply}
		return c, nil
	}
}

// prefix is how many bytes of a packet are looked at.
func (t *Tap) prefix() int {
	if t.logging {
		return jute.MaxFrame
	}
	return 512 // a handshake, or a header and a path
}

// A conn is one connection that is listened in on. The client reads and writes it from one goroutine each.
type conn struct {
	net.Conn
	buffered *bufio.Reader
	tap      *Tap
	up, down framer // of the packets to the server, and of those from it
	asked    bool   // the handshake has been sent
	answered bool   // its answer has arrived
	watchers watchers
	pending  atomic.Int64 // requests without a reply
}

func (c *conn) Write(b []byte) (int, error) {
	c.tap.out.Add(int64(len(b)))
	// Counted before it is sent, so that no reply comes before its request.
	c.up.feed(b)
	return c.Conn.Write(b)
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.buffered.Read(b)
	c.tap.in.Add(int64(n))
	c.down.feed(b[:n])
	return n, err
}

// Close drops the pending requests: no reply comes now, and the watches are gone with the connection.
func (c *conn) Close() error {
	c.tap.mu.Lock()
	delete(c.tap.conns, c)
	c.tap.mu.Unlock()
	return c.Conn.Close()
}

// Cut closes all connections that are open. The clients notice, and connect again unless they have been closed.
func (t *Tap) Cut() {
	t.mu.Lock()
	open := slices.Collect(maps.Keys(t.conns))
	t.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

// A framer cuts a stream into packets, whatever pieces it comes in. A packet has its length before it, in 4 bytes.
type framer struct {
	limit int                      // bytes of a packet that are wanted
	frame func(prefix []byte) bool // called for each packet; it returns false to get no more
	buf   []byte                   // the length and the wanted bytes, as far as they have come
	whole int                      // length of the packet in buf
	skip  int                      // bytes of the packet that will come and are not wanted
	off   bool                     // frame has returned false, or a length was negative
}

// feed takes the next piece of the stream.
func (f *framer) feed(b []byte) {
	take := func(most int) (taken []byte) {
		n := min(most, len(b))
		taken, b = b[:n], b[n:]
		return taken
	}
	for len(b) > 0 && !f.off {
		if f.skip > 0 {
			f.skip -= len(take(f.skip))
			continue
		}
		if len(f.buf) < 4 {
			f.buf = append(f.buf, take(4-len(f.buf))...)
			if len(f.buf) < 4 {
				return
			}
			f.whole = int(int32(binary.BigEndian.Uint32(f.buf)))
			if f.whole < 0 {
				f.off = true
				return
			}
		}

		wanted := min(f.whole, f.limit)
		f.buf = append(f.buf, take(4+wanted-len(f.buf))...)
		if len(f.buf) == 4+wanted {
			f.off = !f.frame(f.buf[4:])
			f.skip = f.whole - wanted
			f.buf = f.buf[:0]
		}
	}
}

// countRequest counts one packet to the server. It returns false if the packet makes no sense.
func (c *conn) countRequest(packet []byte) bool {
	if !c.asked { // the handshake
		c.asked = true
		return true
	}

	d := jute.NewDecoder(packet)
	var h jute.RequestHeader
	h.Decode(d)
	if d.Err() != nil {
		return false
	}
	index := int64(h.Op) - int64(lowestOp)
	if index >= 0 && index < int64(len(c.tap.requests)) {
		c.tap.requests[index].Add(1)
	}
	c.watchers.request(h, d)
	if h.Op == jute.OpPing {
		return true
	}
	c.pending.Add(1)
	if c.tap.logging && h.Op != jute.OpSetWatches { // which Total leaves out
		c.tap.mu.Lock()
		defer c.tap.mu.Unlock()
		c.tap.log = append(c.tap.log, h.Op)
	}
	return true
}

// countReply counts one packet from the server: an answer or an event. It returns false if the packet makes no sense.
func (c *conn) countReply(packet []byte) bool {
	d := jute.NewDecoder(packet)
	if !c.answered { // the handshake
		c.answered = true
		var r jute.ConnectResponse
		r.Decode(d)
		if d.Err() != nil {
			return false
		}
		c.tap.mu.Lock()
		defer c.tap.mu.Unlock()
		c.tap.sessions[r.SessionID] = session{r.Password, time.Duration(r.TimeoutMs) * time.Millisecond}
		return true
	}

	var h jute.ReplyHeader
	h.Decode(d)
	if d.Err() != nil {
		return false
	}
	switch h.Xid {
	case jute.XidEvent:
		var ev jute.WatcherEvent
		ev.Decode(d)
		c.tap.events.Add(1)
		c.tap.wakeUps.Add(c.watchers.event(ev))
	case jute.XidPing:
	default:
		c.watchers.reply(h)
		c.pending.Add(-1)
	}
	return true
}
