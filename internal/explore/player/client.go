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

	// Guarded by w.mu. At a gate, a goroutine waits for the explorer: gate.go.
	Line       *Line
	Session    int64         // the last one that the explorer has seen
	Expired    bool          // that session has ended, by a fault
	lostGate   chan struct{} // not nil: the library has lost its connection, and waits to go on
	DialGate   chan struct{} // not nil: the library dials
	Stopped    bool          // it notices nothing until it runs on
	stalled    bool          // what it sends stays inside it
	faulted    bool          // a fault has happened to it
	newestZxid int64         // of the newest answer that has arrived
	behind     bool          // its server does not have anything newer yet: World.Behind
	refuseNext bool          // its next connection is refused
	closed     bool          // its lock has closed it: it does not connect any more
	received   digest        // of the replies and events that have arrived, for stateHashLocked
	logDigest  digest        // of its lines in the log, for situationHashLocked
	answered   int           // requests that the server has answered
}

// connect makes the client of the library.
func (c *Client) connect(servers []string) {
	w := c.w
	conn, err := Connect(servers, w.Timeout(), zk.WithDialer(c.dial), zk.WithLogger(noLog), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(32<<10), zk.WithMaxConnBufferSize(16<<10), zk.WithEventCallback(c.onEvent))
	if err != nil {
		panic(err)
	}
	c.Conn = conn
	synctest.Wait()
	c.Session = conn.SessionID()
	switch {
	case c.Session != 0:
		w.sessions[c.Session] = c
	case !w.Unconnected:
		panic("a client has no session")
	}
}

// dial is the client library's dialer.
func (c *Client) dial(string, string, time.Duration) (net.Conn, error) {
	w := c.w
	if waits := Read(w, func() bool { return !w.gatesOpen }); waits {
		// The library pauses for a second, and locks for tenths of one. Without this moment both could end at once.
		time.Sleep(137 * time.Microsecond) // no part of a pause
	}
	w.waitAtGate(func(gate chan struct{}) { c.DialGate = gate })
	w.mu.Lock()
	if c.refuseNext {
		c.refuseNext = false
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

// onEvent is the client library's callback. When a connection has broken the library notifies the watches, then fails
// the requests that were sent, and then, before it connects again, throws away those that were not. Here each of these
// steps waits until all other goroutines have got as far as they can, so that the order is always the same.
func (c *Client) onEvent(ev zk.Event) {
	lost := ev.State == zk.StateConnecting || ev.State == zk.StateDisconnected
	if ev.Type == zk.EventSession && lost {
		c.w.waitAtGate(func(gate chan struct{}) { c.lostGate = gate })
	}
}

// reconnect lets a client that has lost its connection connect. Time passes while the client library pauses.
func (w *Player) reconnect(c *Client) {
	w.mu.Lock()
	w.Touched.addClient(c)
	othersMayWait := w.Lock.Timed || w.Lock.Lenient || w.FaultCount > 1 // for a timer, too, to which the pause matters
	w.Touched.Everything = othersMayWait
	w.mu.Unlock()
	const longest = 5 * time.Second // the library pauses for less
	for deadline := time.Now().Add(longest); !w.Connect(c); {
		left := time.Until(deadline)
		if left <= 0 {
			w.Do(func() { c.closed = true })
			return
		}
		w.WaitForActivity(left)
	}
}

// Connect lets a client that dials connect. It returns false if the client does not dial.
func (w *Player) Connect(c *Client) (dials bool) {
	dials = Read(w, func() bool { return openGate(&c.DialGate) })
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
	w.NoteLocked(c.Name, what)
	w.Camera.Client(c, state)
	w.Camera.Note(c.Name, what)
}

// NoteFaultLocked notes that a fault happens to a client.
func (c *Client) NoteFaultLocked() {
	c.faulted = true
	for _, k := range c.Contenders {
		k.disturbed = true
	}
}

// healthyLocked reports whether nothing of an earlier fault can still reach a call that begins now.
func (c *Client) healthyLocked() bool {
	l := c.Line
	connected := c.lostGate == nil && c.DialGate == nil && !l.Broken && !l.ClosedByServer
	return connected && c.Session != 0 && !c.Expired && !c.Stopped && !c.stalled
}

// Connect is zk.Connect, except that it allocates no buffer of 1.5 MB: zk.Connect does so before it reads the option
// for a smaller one, and that takes a third of a schedule's time. It copies a client that zk.Connect has made and not
// started, with channels and maps of its own, sets the options, and starts the goroutines that the library would start.
func Connect(servers []string, timeout time.Duration, options ...func(*zk.Conn)) (*zk.Conn, error) {
	c := new(zk.Conn)
	fields := reflect.ValueOf(c).Elem()
	fields.Set(reflect.ValueOf(blank()).Elem())
	set := func(field, to reflect.Value) { // also an unexported field, which reflect alone may not set
		reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(to)
	}
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.Chan && !f.IsNil():
			set(f, reflect.MakeChan(f.Type(), f.Cap())) // made in the bubble of the schedule, it blocks as one of the bubble
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
