// Package zkconn opens a ZooKeeper client without the faults that go-zookeeper
// 1.0.4 is known to have, and tells what the client keeps to itself: the session
// timeout that the server has agreed to, and whether it has been closed.
package zkconn

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
)

// Connect opens a ZooKeeper client and returns it when it has a session. The
// client is a *zk.Conn as zk.Connect makes it, on connections that keep the
// faults of go-zookeeper 1.0.4 away from it:
//
//   - A request that is queued while Close runs can hang the client, and with
//     it every goroutine that waits on a watch.
//   - A server that accepts a connection and does not answer is given ten times
//     the read deadline. Here it is given a third of the session timeout, divided
//     by the number of servers, but at least 1 s.
//   - In a new session the client may ask for watches that it has already, and
//     then report a change that did not happen.
//   - In a resumed session it may ask for its watches too late, with a data
//     race, and then miss a change.
//   - The negotiated session timeout is private. Here New learns it, so that
//     WithSessionTimeout is not needed.
//   - A request that waits for a connection can be sent in the next session.
//     Here it fails with zk.ErrNoServer when its session has expired; the next
//     session begins 1 s later.
//
// A Mutex on an ordinary *zk.Conn is as safe. But without WithSessionTimeout it
// takes the session timeout for 4 s, so a longer one is of no use to its leases;
// it reconnects late after a silent server, and may lose a lease by that; and a
// goroutine of the caller's that waits on a watch may hang after Close.
//
// The servers are host:port; sessionTimeout is what the server is asked for,
// from 1 ms to 24 days, and by default it agrees to something between 4 and
// 40 s. The options are those of package zk, with WithDialer, WithHostProvider
// and WithEventCallback among them. Information messages of the client are off
// unless zk.WithLogInfo(true) is among the options. Nobody needs to read
// events from a channel; an event callback gets them all.
//
// If ctx ends first, Connect closes the client and returns within about a
// second. The error wraps ctx.Err() and says which servers were tried, for how
// long, and what was wrong with each. The caller must close the client that
// Connect returns.
func Connect(ctx context.Context, servers []string, sessionTimeout time.Duration, options ...func(*zk.Conn)) (*zk.Conn, error) {
	began := time.Now()
	fail := func(err error) (*zk.Conn, error) {
		return nil, fmt.Errorf("zkconn: connect to %s: %w", strings.Join(servers, ","), err)
	}
	if sessionTimeout < time.Millisecond || sessionTimeout > math.MaxInt32*time.Millisecond {
		return fail(fmt.Errorf("the session timeout %v is not between 1 ms and 24 days", sessionTimeout))
	}
	if ctx.Err() != nil {
		return fail(whyEnded(ctx))
	}
	c := &client{servers: max(1, len(servers)), tried: make(map[string]error)}
	c.timeout.Store(int64(sessionTimeout)) // until a server says more
	var strange error
	conn, events, err := zk.Connect(servers, sessionTimeout, zk.WithLogInfo(false), func(conn *zk.Conn) {
		for _, option := range options {
			option(conn)
		}
		strange = errors.Join(
			replace(conn, "dialer", c.dialer),
			replace(conn, "hostProvider", func(h zk.HostProvider) zk.HostProvider { return hosts{h, c} }),
			hook(conn, "setWatchCallback", c.watches))
	})
	if err != nil {
		return fail(err)
	}
	ready := make(chan struct{})
	go func() {
		for range events {
			// An event is lost where six others wait, but then they are read after
			// the state has changed. Nor does the client need anybody to read the rest.
			if conn.State() == zk.StateHasSession {
				close(ready)
				return
			}
		}
	}()
	if strange != nil {
		conn.Close()
		return fail(strange)
	}
	clients.Store(weak.Make(conn), c)
	runtime.AddCleanup(conn, func(key weak.Pointer[zk.Conn]) { clients.Delete(key) }, weak.Make(conn))
	select {
	case <-ready:
		return conn, nil
	case <-ctx.Done():
		err := fmt.Errorf("no session after %v: %w (%s)", time.Since(began).Round(time.Millisecond), whyEnded(ctx), c.report())
		c.giveUp()
		conn.Close()
		return fail(err)
	}
}

func whyEnded(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// clients holds what is known of the clients that Connect has made, by weak
// pointer, so that it keeps none of them alive.
var clients sync.Map // weak.Pointer[zk.Conn] → *client

const leastTimeout = 4 * time.Second

// SessionTimeout returns the session timeout that the server agreed to in the
// last handshake. If conn is not one of Connect's, it returns false and 4 s, the
// least that a server with the default configuration agrees to: two ticks of 2 s.
func SessionTimeout(conn *zk.Conn) (timeout time.Duration, known bool) {
	c, ok := clients.Load(weak.Make(conn))
	if !ok {
		return leastTimeout, false
	}
	return time.Duration(c.(*client).timeout.Load()), true
}

// Reconnect breaks the connection of a client whose server is silent: the client
// then tries the next server. It does nothing if conn is not one of Connect's.
func Reconnect(conn *zk.Conn) {
	if v, ok := clients.Load(weak.Make(conn)); ok {
		c := v.(*client)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.dialed != nil {
			c.dialed.Close()
		}
	}
}

// replace replaces an unexported field of a client that the options have set:
// package zk has no other way to get at a dialer that the caller has given it.
func replace[T any](conn *zk.Conn, field string, by func(T) T) error {
	f := reflect.ValueOf(conn).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return fmt.Errorf("this version of go-zookeeper has no field %s of type %v: use zk.Connect", field, reflect.TypeFor[T]())
	}
	p := (*T)(f.Addr().UnsafePointer())
	*p = by(*p)
	return nil
}

// hook has f called where a client calls the function in one of its unexported
// fields, whose type is unexported, too.
func hook(conn *zk.Conn, field string, f func()) error {
	v := reflect.ValueOf(conn).Elem().FieldByName(field)
	if !v.IsValid() || v.Kind() != reflect.Func || v.Type().NumOut() > 0 {
		return fmt.Errorf("this version of go-zookeeper has no function %s: use zk.Connect", field)
	}
	by := reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { f(); return nil })
	reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Set(by)
	return nil
}

// A client is what Connect knows of a *zk.Conn.
type client struct {
	servers int
	timeout atomic.Int64 // that the last handshake agreed on; what the server is asked for before there was one
	expired atomic.Bool  // the session has expired, and no server has been looked for since

	mu      sync.Mutex
	tried   map[string]error // by server: what was wrong last, nil if nothing
	dialed  *carefulConn     // last
	givenUp bool
}

func (c *client) dialer(dial zk.Dialer) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		c.mu.Lock()
		givenUp := c.givenUp
		c.mu.Unlock()
		if givenUp {
			return nil, net.ErrClosed
		}
		nc, err := dial(network, address, timeout)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tried[address] = err
		if err != nil {
			return nil, err
		}
		if c.givenUp {
			nc.Close()
			return nil, net.ErrClosed
		}
		c.dialed = newCarefulConn(nc, c, address)
		return c.dialed, nil
	}
}

// watches is called by the goroutine that dials, when the client has put down
// the watches that it asks for, and the zxid.
func (c *client) watches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed.watchesAreSet()
}

func (c *client) note(address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried[address] = err
}

func (c *client) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = true
	if c.dialed != nil {
		c.dialed.Close()
	}
}

func (c *client) report() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var texts []string
	for address, err := range c.tried {
		text := address + ": accepts the connection and has not answered yet"
		if err != nil {
			text = address + ": " + err.Error()
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return "no server was tried"
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// hosts makes the client drop the requests that wait in it when their session
// has expired: it does so when it is told that all servers have been tried.
type hosts struct {
	zk.HostProvider
	c *client
}

func (h hosts) Next() (server string, retryStart bool) {
	server, retryStart = h.HostProvider.Next()
	return server, h.c.expired.Swap(false) || retryStart
}

// A carefulConn is a connection that keeps faults of the client away from it.
//
// The client has room for two answers to a request, but gives three to one
// that is queued while Close runs and whose write fails. So a failed write
// closes the connection and is not reported: the client's reader notices.
//
// The client gives the handshake ten times the read deadline, and no deadline
// after its fourth byte. So it gets its client's patience and no more.
//
// Once connected, the client tells the server up to which zxid it has seen
// what it watches, while replies move that number on: a data race, and a change
// can be missed. So in a resumed session no reply is read before that request
// has been made, or before againWatches has passed, for a client without
// watches makes none.
//
// In a new session there is nothing to set again, but the client does so with
// what the first replies have set. So it sets an empty list.
type carefulConn struct {
	net.Conn
	c       *client
	address string

	// For the handshake.
	patience time.Duration
	limit    time.Time

	// Written by the goroutine that writes and reads the handshake, before the
	// client's reader and writer begin.
	shaken  bool // the handshake has been written
	resumed bool // and names a session

	// Used by the reader alone.
	reader   *bufio.Reader
	greeted  bool          // the whole answer to the handshake has come
	greeting []byte        // what the client has not read of it
	wait     time.Duration // for the watches, before the first reply is read

	once     sync.Once
	watching chan struct{} // closed when the request for the watches has been made
}

const (
	firstWatches = time.Millisecond // a new session: an empty list at most
	againWatches = 200 * time.Millisecond

	setWatches = 101 // the opcode
)

// patience is how long a server may take to answer the handshake: 1 s, or longer
// if all servers can still be tried within a third of the session timeout.
func (c *client) patience() time.Duration {
	return max(time.Second, time.Duration(c.timeout.Load())/3/time.Duration(c.servers))
}

func newCarefulConn(nc net.Conn, c *client, address string) *carefulConn {
	return &carefulConn{
		Conn: nc, c: c, address: address,
		reader: bufio.NewReader(nc), wait: firstWatches, watching: make(chan struct{}),
	}
}

func (c *carefulConn) SetReadDeadline(t time.Time) error {
	if !c.greeted {
		t = c.limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *carefulConn) SetWriteDeadline(t time.Time) error {
	if !c.shaken { // after the dial the user's callback has been called, which may take a while
		c.patience = c.c.patience()
		c.limit = time.Now().Add(c.patience)
		t = c.limit
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *carefulConn) Read(b []byte) (int, error) {
	if !c.greeted {
		if err := c.greet(); err != nil {
			return 0, err
		}
	}
	if len(c.greeting) > 0 {
		n := copy(b, c.greeting)
		c.greeting = c.greeting[n:]
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

// greet reads the answer to the handshake.
func (c *carefulConn) greet() (err error) {
	const size = 4 + 4 + 8 // version, timeout and session, which a password follows
	defer func() {
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			err = fmt.Errorf("accepts the connection but has not answered within %v: %w", c.patience, err)
		}
		c.c.note(c.address, err)
	}()
	head, err := c.reader.Peek(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head)
	if n < size || n > 4096 {
		return fmt.Errorf("this is not ZooKeeper's protocol: the answer to the handshake begins with %q", head)
	}
	greeting := make([]byte, 4+n)
	if _, err := io.ReadFull(c.reader, greeting); err != nil {
		return err
	}
	if session := binary.BigEndian.Uint64(greeting[12:]); session == 0 {
		c.c.expired.Store(true)
	} else {
		c.c.timeout.Store(int64(time.Duration(binary.BigEndian.Uint32(greeting[8:])) * time.Millisecond))
	}
	c.greeted, c.greeting = true, greeting
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
	case !c.shaken:
		if c.shaken = true; len(b) >= session+8 && binary.BigEndian.Uint64(b[session:]) != 0 {
			c.resumed, c.wait = true, againWatches
		}
	case len(b) >= op+4+8 && binary.BigEndian.Uint32(b[op:]) == setWatches:
		c.watchesAreSet()
		if !c.resumed {
			const lists = 3
			frame = append(slices.Clone(b[:op+4+8]), make([]byte, lists*4)...)
			binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		}
	}
	if _, err := c.Conn.Write(frame); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}

// Closed asks the client whether Close has been called. It has no other way
// to tell. A check of nothing cannot be encoded, so it never leaves the client,
// and an open client returns another error for it once it is connected.
func Closed(conn *zk.Conn) bool {
	_, err := conn.Multi((*zk.CheckVersionRequest)(nil))
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing)
}
