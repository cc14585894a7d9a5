package player

import (
	"net"
	"syscall"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
)

// A Client is a session of the client library.
type Client struct {
	w          *Player
	Index      int // in Player.Clients
	Name       string
	Conn       *zk.Conn
	Contenders []*Contender

	// Guarded by w.mu.
	Line       *Line
	Session    int64         // the last one that the explorer has seen
	Expired    bool          // that session has ended, by a fault
	connecting chan struct{} // not nil: the library waits to connect
	Dialing    chan struct{} // not nil: the library dials
	Stopped    bool
	stalled    bool
	faulted    bool   // a fault has happened to it
	seen       int64  // the zxid of the newest answer that has arrived
	behind     bool   // its server does not have anything newer yet: World.Behind
	refuse     bool   // its next connection is refused
	gone       bool   // it no longer connects
	history    uint64 // of the replies and events that have arrived, for hashLocked
	past       digest // of its lines in the log
	carried    int    // requests that the server has answered
}

// connect makes the client of the library.
func (c *Client) connect(servers []string) {
	w := c.w
	conn, err := Connect(servers, w.Timeout(), zk.WithDialer(c.dial), zk.WithLogger(noLog), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(32<<10), zk.WithMaxConnBufferSize(16<<10), zk.WithEventCallback(c.event))
	if err != nil {
		panic(err)
	}
	c.Conn = conn
	synctest.Wait()
	c.Session = conn.SessionID()
	if c.Session == 0 {
		if !c.w.Unconnected {
			panic("a client has no session")
		}
		return
	}
	c.w.sessions[c.Session] = c
}

// dial is the client library's dialer.
func (c *Client) dial(string, string, time.Duration) (net.Conn, error) {
	w, free := c.w, false
	w.Do(func() { free = w.free })
	if !free {
		// The library pauses for a second and locks for tenths of one: without
		// this moment both could end at the same instant, in either order.
		time.Sleep(137 * time.Microsecond)
	}
	w.waitAt(func(gate chan struct{}) { c.Dialing = gate })
	w.mu.Lock()
	if c.refuse {
		c.refuse = false
		w.mu.Unlock()
		return nil, syscall.ECONNREFUSED
	}
	l := newLine(w, c)
	c.Line, c.stalled = l, false
	w.mu.Unlock()
	if err := w.Srv.Serve(serverEnd{l}); err != nil {
		return nil, err
	}
	return clientEnd{l}, nil
}

// event is the client library's callback. When a connection has broken the library notifies the watches, then fails
// the requests that were sent, and then, before it connects again, throws away those that were not. The goroutines
// that are notified go on at once, beside it. Here each of these steps waits until all others have got as far as
// they can, so that the order is always the same.
func (c *Client) event(ev zk.Event) {
	if ev.Type != zk.EventSession || ev.State != zk.StateConnecting && ev.State != zk.StateDisconnected {
		return
	}
	c.w.waitAt(func(gate chan struct{}) { c.connecting = gate })
}

// reconnect lets a client that has lost its connection connect. Time passes while the client library pauses.
func (w *Player) reconnect(c *Client) {
	w.mu.Lock()
	w.Foot.client(c)
	// Where a fault has happened to one client only, no other contender waits
	// for a timer, so the pause makes no difference to it.
	w.Foot.Everything = w.Lock.Timed || w.Lock.Lenient || w.Happened > 1
	w.mu.Unlock()
	for deadline := time.Now().Add(5 * time.Second); !w.Connect(c); {
		left := time.Until(deadline)
		if left <= 0 {
			w.Do(func() { c.gone = true }) // its lock has closed it
			return
		}
		w.Pass(left)
	}
}

// Connect lets a client that dials connect. It returns false if the client does not dial.
func (w *Player) Connect(c *Client) (dials bool) {
	w.Do(func() { dials = openGate(&c.Dialing) })
	if dials {
		w.Settle()
		w.Do(func() { w.connectedLocked(c) })
	}
	return dials
}

// connectedLocked notes the state of a client that has connected.
func (w *Player) connectedLocked(c *Client) {
	what, state := i18n.Text("is connected again"), "connected"
	switch id := c.Conn.SessionID(); {
	case id == 0 && c.Session == 0:
		what, state = "cannot connect", "unconnected"
	case id == 0:
		what, state = "is notified that its session has expired", "expired"
	case id != c.Session:
		c.Session, c.Expired = id, false
		w.sessions[id] = c
		what = "is connected, in a new session"
	}
	c.behind = w.Behind
	w.LogLocked(Entry{Who: c.Name, Kind: "note", Text: what})
	w.Camera.Client(c, state)
	w.Camera.Note(c.Name, what)
}

// FaultLocked notes that a fault happens to a client.
func (c *Client) FaultLocked() {
	c.faulted = true
	for _, k := range c.Contenders {
		k.disturbed = true
	}
}

// soundLocked reports whether nothing of an earlier fault can still reach a call that begins now.
func (c *Client) soundLocked() bool {
	l := c.Line
	return c.Session != 0 && !c.Expired && !c.Stopped && !c.stalled && c.connecting == nil && c.Dialing == nil && !l.Broken && !l.ServerEnd
}
