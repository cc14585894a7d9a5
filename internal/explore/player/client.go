package player

import (
	"context"
	"net"
	"reflect"
	"sync"
	"syscall"
	"testing/synctest"
	"time"
	"unsafe"

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

// Connect is zk.Connect, except that it allocates no buffer of 1.5 MB: zk.Connect does so before it
// reads the option for a smaller one. To clear that buffer would take a third of the time of a
// schedule. The goroutines of the client are the library's own.
func Connect(servers []string, timeout time.Duration, options ...func(*zk.Conn)) (*zk.Conn, error) {
	c := new(zk.Conn)
	fields := reflect.ValueOf(c).Elem()
	fields.Set(reflect.ValueOf(blank()).Elem()) // a copy, whose channels and maps must be its own
	set := func(field, to reflect.Value) {      // also an unexported one
		reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(to)
	}
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.Chan && !f.IsNil():
			set(f, reflect.MakeChan(f.Type(), f.Cap())) // in the bubble of the schedule
		case f.Kind() == reflect.Map && !f.IsNil():
			set(f, reflect.MakeMap(f.Type()))
		}
	}

	hosts := zk.NewDNSHostProvider()
	zk.WithHostProvider(hosts)(c)
	for _, option := range options {
		option(c)
	}
	if err := hosts.Init(zk.FormatServers(servers)); err != nil {
		return nil, err
	}
	setTimeouts(c, int32(timeout/time.Millisecond))
	go func() {
		loop(c, context.Background())
		flushRequests(c, zk.ErrClosing)
		invalidateWatches(c, zk.ErrClosing)
	}()
	return c, nil
}

// blank returns a client that zk.Connect has made and not started.
var blank = sync.OnceValue(func() (made *zk.Conn) {
	zk.Connect([]string{"nowhere"}, 0, zk.WithHostProvider(noHosts{}), zk.WithMaxConnBufferSize(0), func(c *zk.Conn) { made = c })
	return made
})

type noHosts struct{ zk.HostProvider }

func (noHosts) Init([]string) error { return zk.ErrNoServer } // so zk.Connect returns before it starts its goroutines

//go:linkname setTimeouts github.com/go-zookeeper/zk.(*Conn).setTimeouts
func setTimeouts(c *zk.Conn, milliseconds int32)

//go:linkname loop github.com/go-zookeeper/zk.(*Conn).loop
func loop(c *zk.Conn, ctx context.Context)

//go:linkname flushRequests github.com/go-zookeeper/zk.(*Conn).flushRequests
func flushRequests(c *zk.Conn, err error)

//go:linkname invalidateWatches github.com/go-zookeeper/zk.(*Conn).invalidateWatches
func invalidateWatches(c *zk.Conn, err error)
