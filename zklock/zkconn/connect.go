// Package zkconn opens ZooKeeper clients of github.com/go-zookeeper/zk that keep their session when a server hangs,
// moves or cannot be found, and that end when they are closed.
//
//	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
//	defer cancel()
//	conn, err := zkconn.Connect(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"}, 10*time.Second)
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//
// The client is a *zk.Conn, for everything that takes one. Version 1.0.4 has some faults, which docs/client.md
// describes. Connect works around all but one: a watch may miss a change of a node's data or children if the connection
// breaks twice. [SessionTimeout] returns what the client does not export.
package zkconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/conns"
)

// Connect opens a ZooKeeper client and returns it when it has a session.
//
// The servers are host:port, without a chroot; space around one does not matter. A host that is a name may have several
// addresses, which are all tried. Names are looked up again when a connection has been lost, and when all addresses
// have been tried; if that fails, the known addresses stay. At first one address is enough, and if no name exists,
// Connect returns the *net.DNSError at once.
//
// The client asks for the given session timeout, from 1 ms to 24 days; a server with the default configuration agrees
// to something between 4 and 40 s. A server that accepts a connection has a third of the session timeout, divided by
// the number of addresses, to answer the handshake, but at least 1 s. If it does not, the next one has half as long
// again, up to the session timeout. If all have been tried, they are tried again each 100 ms for a second, then each
// second.
//
// Nothing is logged without [WithLogger]. [WithTLS] and [WithAuth] are for servers that demand them; there is no SASL.
// Nobody needs to read events from a channel; an event callback gets them all, see [WithZK].
//
// What cannot work is an error at once: a chroot, two servers in one string, a port
// that is none, an option's bad argument, a credential that a server refuses.
//
// If ctx ends first, Connect closes the client and returns within about a second. The error wraps ctx.Err() and says
// which servers were tried, for how long, and why each failed. The caller must close the client that Connect returns.
//
// A request that waits for a connection fails with zk.ErrNoServer if its session expires; the next session begins 1 s later.
//
// A lock of package zklock is as safe on a client of zk.Connect, if it is given WithSessionTimeout. But that client
// leaves a silent server late, which may cost a lease; and a goroutine that waits on a watch may hang after Close.
func Connect(ctx context.Context, servers []string, sessionTimeout time.Duration, options ...Option) (*zk.Conn, error) {
	began := time.Now()
	fail := func(err error) (*zk.Conn, error) {
		return nil, fmt.Errorf("zkconn: connect to %s: %w", strings.Join(servers, ","), err)
	}
	servers = slices.Clone(servers)
	for i, server := range servers {
		servers[i] = strings.TrimSpace(server) // of a list that was split at its commas
	}
	if sessionTimeout < time.Millisecond || sessionTimeout > math.MaxInt32*time.Millisecond {
		return fail(fmt.Errorf("the session timeout %v is not between 1 ms and 24 days", sessionTimeout))
	}
	if ctx.Err() != nil {
		return fail(conns.WhyEnded(ctx))
	}
	s := settings{logger: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		if option == nil {
			return fail(errors.New("an option is nil"))
		}
		if err := option(&s); err != nil {
			return fail(err)
		}
	}

	c := newClient(sessionTimeout)
	c.tls, c.logger = s.tls, s.logger
	noSession := func() (*zk.Conn, error) {
		waited := time.Since(began).Round(time.Millisecond)
		return fail(fmt.Errorf("no session after %v: %w (%s)", waited, conns.WhyEnded(ctx), c.Report()))
	}
	conn, events, err := c.begin(ctx, servers, sessionTimeout, s.client)
	if err != nil {
		c.giveUp()
		if ctx.Err() != nil {
			return noSession()
		}
		return fail(err)
	}
	conns.Register(conn, c)

	ready := make(chan struct{})
	go func() {
		for range events {
			// An event is lost if six others wait, but they are read after the state has changed. Nobody needs the rest.
			if conn.State() == zk.StateHasSession {
				close(ready)
				return
			}
		}
	}()
	select {
	case <-ready:
	case <-ctx.Done():
		defer conn.Close() // after giveUp, so that it waits for no server
		defer c.giveUp()
		return noSession()
	}
	if err := authenticate(ctx, conn, s.auth); err != nil {
		defer conn.Close()
		defer c.giveUp()
		return fail(err)
	}
	return conn, nil
}

// begin begins to open the client. It returns when ctx ends, though a host provider of the caller's
// may not have returned; what that has opened is then closed.
func (c *client) begin(
	ctx context.Context, servers []string, sessionTimeout time.Duration, options []func(*zk.Conn),
) (*zk.Conn, <-chan zk.Event, error) {
	names := &hosts{ctx: ctx, client: c, lookupHost: lookupHost}
	c.hostOf, c.addresses = names.hostOf, names.all
	prepare := func(conn *zk.Conn) { // zk.Connect calls it before it dials
		zk.WithHostProvider(names)(conn)
		for _, option := range options {
			option(conn)
		}
		err := refuseNil(conn, "dialer", "hostProvider")
		if err == nil {
			err = errors.Join(
				replace(conn, "dialer", c.dialer),
				replace(conn, "hostProvider", c.provider),
				hook(conn, "setWatchCallback", c.watchesAreSet))
		}
		if err != nil {
			zk.WithHostProvider(noProvider{err: err})(conn)
		}
	}

	var conn *zk.Conn
	var events <-chan zk.Event
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, events, err = zk.Connect(servers, sessionTimeout, zk.WithLogInfo(false), zk.WithLogger(printer{c.logger}), prepare)
	}()
	select {
	case <-done:
		return conn, events, err
	case <-ctx.Done():
		go func() {
			if <-done; err == nil {
				conn.Close()
			}
		}()
		return nil, nil, ctx.Err()
	}
}

// SessionTimeout returns the session timeout that the server agreed to in the last handshake. If conn is not one of
// Connect's, it returns false and 4 s, the least that a server by default agrees to: two ticks of 2 s.
func SessionTimeout(conn *zk.Conn) (timeout time.Duration, known bool) {
	return conns.SessionTimeout(conn)
}

// refuseNil returns an error if an option has set one of a client's unexported fields to nil.
func refuseNil(conn *zk.Conn, fields ...string) error {
	for _, field := range fields {
		if f := reflect.ValueOf(conn).Elem().FieldByName(field); f.IsValid() && f.IsNil() {
			return fmt.Errorf("WithZK: the %s is nil", field)
		}
	}
	return nil
}

// replace replaces an unexported field of a client that the options have set:
// package zk has no other way to get at a dialer that the caller has given it.
func replace[T any](conn *zk.Conn, field string, by func(T) T) error {
	f := reflect.ValueOf(conn).Elem().FieldByName(field)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return fmt.Errorf("this version of go-zookeeper has no field %s of type %v: use zk.Connect", field, reflect.TypeFor[T]())
	}
	value := (*T)(f.Addr().UnsafePointer())
	*value = by(*value)
	return nil
}

// hook has the client call f in place of the function in one of its unexported fields, whose type is unexported, too.
func hook(conn *zk.Conn, field string, f func()) error {
	v := reflect.ValueOf(conn).Elem().FieldByName(field)
	if !v.IsValid() || v.Kind() != reflect.Func || v.Type().NumOut() > 0 {
		return fmt.Errorf("this version of go-zookeeper has no function %s: use zk.Connect", field)
	}
	by := reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { f(); return nil })
	reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Set(by)
	return nil
}

// A client is the state that Connect keeps of a *zk.Conn.
type client struct {
	ctx       context.Context // ends when Connect fails
	cancel    context.CancelFunc
	logger    *slog.Logger
	tls       *tls.Config                 // nil: no TLS
	hostOf    func(address string) string // the host that Connect was given for an address
	servers   func() int                  // the number of addresses; set before the client dials
	addresses func() []string             // of the servers; none if the caller has a host provider of its own
	timeout   atomic.Int64                // that the last handshake agreed on; before the first, that the client asks for
	expired   atomic.Bool                 // the session has expired, and no server has been looked for since
	leaving   atomic.Bool                 // it finds out whether to leave its server
	left      atomic.Bool                 // it has left its only address, where another server may answer at once

	mu               sync.Mutex       // guards what follows
	tried            map[string]error // by server, since the last session: the last error, nil if there was none
	dialed           *carefulConn     // last
	connected        *carefulConn     // the last one with a session, unless it was left as silent
	within           time.Duration    // the shortest that a lease lasts; 0: none is known
	handshakeTimeout time.Duration    // for the next handshake, if that is more than the least
	pause            time.Duration    // before the next dial
	shortPauses      int              // that triesAgainSoon has made since the last session
	askAt            time.Time        // when a server that refuses the session may be asked for it; zero: none does
}

func newClient(sessionTimeout time.Duration) *client {
	c := &client{
		logger: slog.New(slog.DiscardHandler), hostOf: func(address string) string { return address },
		servers: func() int { return 1 }, addresses: func() []string { return nil }, tried: make(map[string]error),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.timeout.Store(int64(sessionTimeout))
	return c
}

// The exported methods are those of conns.Client, by which a lock knows the client.
func (c *client) Warn(text string)              { c.logger.Warn(text) }
func (c *client) SessionTimeout() time.Duration { return time.Duration(c.timeout.Load()) }

// Reconnect has the client leave a server that is silent: it breaks the connection, the client tries the next server,
// and keeps its session if one answers in time. What it has sent fails with zk.ErrConnectionClosed. If the client has
// one address only, several servers may be behind it. It stays if no other connection would help, see mayHelp.
// Reconnect does not wait for that. It does nothing if the client has no connection, or is about to leave it.
func (c *client) Reconnect() {
	c.mu.Lock()
	silent := c.dialed
	connected := silent != nil && silent == c.connected
	c.mu.Unlock()
	if connected && c.leaving.CompareAndSwap(false, true) {
		go func() { // to close a connection may take long: RFC 793 lets it send what is left
			helps := silent.mayHelp()
			c.mu.Lock()
			if helps && c.connected == silent {
				c.connected = nil // so that another call does not leave it, too
			}
			c.mu.Unlock()
			c.leaving.Store(false)
			if helps {
				c.left.Store(c.servers() < 2)
				silent.Close()
			}
		}()
	}
}

// dialer returns a dialer whose connections work around the faults of the client, see carefulConn.
func (c *client) dialer(dial zk.Dialer) zk.Dialer {
	if c.tls != nil {
		dial = c.secure(dial)
	}
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		if c.ctx.Err() != nil {
			return nil, net.ErrClosed
		}

		c.waitBeforeDial()
		nc, err := dial(network, address, timeout)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			err = fmt.Errorf("closes the connection at once (maxClientCnxns, 60 by default, is how many it takes from an address): %w", err)
		}
		dialed := newCarefulConn(nc, c, address)
		dialed.dial = func(address string) (net.Conn, error) { return dial(network, address, timeout) }
		c.mu.Lock()
		c.tried[address] = err
		ended := c.ctx.Err() != nil
		if err == nil && !ended {
			c.dialed = dialed
		}
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case ended:
			nc.Close()
			return nil, net.ErrClosed
		}
		return dialed, nil
	}
}

// secure returns a dialer that speaks TLS. A server has as long for its part of that handshake as for ZooKeeper's.
func (c *client) secure(dial zk.Dialer) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		nc, err := dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		config := c.tls.Clone()
		if config.ServerName == "" {
			config.ServerName = c.hostOf(address)
		}
		secured := tls.Client(nc, config)
		limit := c.nextHandshakeTimeout()
		ctx, cancel := context.WithTimeout(c.ctx, limit)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			nc.Close()
			if timedOut(err) {
				c.mu.Lock()
				c.tooSlowLocked(limit)
				c.mu.Unlock()
			}
			return nil, fmt.Errorf("TLS with %s: %w", config.ServerName, err)
		}
		return secured, nil
	}
}

// watchesAreSet is called by the goroutine that dials, when the client has made the request for its watches: replies
// may be read from now on, see awaitWatches.
func (c *client) watchesAreSet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialed.watchesAreSet()
}

func (c *client) lookedUp(server string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.tried[server] = err
	} else {
		delete(c.tried, server)
	}
}

// giveUp ends all dials, and closes the connection, if there is one.
func (c *client) giveUp() {
	c.mu.Lock()
	c.cancel()
	dialed := c.dialed
	c.mu.Unlock()
	if dialed != nil {
		dialed.Close()
	}
}

func (c *client) Within(sessionTimeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.within == 0 || sessionTimeout < c.within {
		c.within = sessionTimeout
	}
}

// leaseTimeout is the session timeout, or the shortest for which a lease lasts.
func (c *client) leaseTimeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.within > 0 {
		return min(c.SessionTimeout(), c.within)
	}
	return c.SessionTimeout()
}

// watchesWait is how long the first reply of a resumed session waits for the watches.
func (c *client) watchesWait() time.Duration { return min(againWatches, c.leaseTimeout()/16) }

func (c *client) Report() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var texts []string
	for server, err := range c.tried {
		text := server + ": accepts the connection and has not answered yet"
		if err != nil {
			text = server + ": " + err.Error()
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return "no server was tried"
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

func (c *client) Refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.askAt.IsZero()
}

func (c *client) provider(h zk.HostProvider) zk.HostProvider {
	c.servers = h.Len
	return droppingProvider{h, c}
}

// noProvider ends zk.Connect with an error, before it dials.
type noProvider struct {
	zk.HostProvider
	err error
}

func (n noProvider) Init([]string) error { return n.err }

// A droppingProvider decides what the client does before it tries the next server. If Next reports retryStart, because
// all servers have been tried, package zk drops the requests that wait in the client, and sleeps for a second.
type droppingProvider struct {
	zk.HostProvider
	client *client
}

func (d droppingProvider) Next() (server string, retryStart bool) {
	server, retryStart = d.HostProvider.Next()
	switch {
	case d.client.expired.Swap(false):
		return server, true // the requests belong to the session that has expired
	case retryStart && (d.client.left.Swap(false) || d.client.triesAgainSoon()):
		return server, false // no sleep
	}
	return server, retryStart
}

// triesAgainSoon reports whether the servers, which have all been tried, are tried again before the client's second is
// over, and sets that pause. At first the pauses are short: else a short interruption of all servers would cost a
// lease. Later a pause ends when a server that refuses the session may be asked whether it is over.
func (c *client) triesAgainSoon() bool {
	const mostShort, short = 10, 100 * time.Millisecond
	c.mu.Lock()
	defer c.mu.Unlock()
	untilQuestion := time.Until(c.askAt)
	switch {
	case c.shortPauses < mostShort:
		c.shortPauses++
		c.pause = short
	case untilQuestion > 0 && untilQuestion < time.Second:
		c.pause = untilQuestion
	default:
		return false
	}
	return true
}

// waitBeforeDial waits for the pause. Next does not: the client may hold a mutex while it runs.
func (c *client) waitBeforeDial() {
	c.mu.Lock()
	pause := c.pause
	c.pause = 0
	c.mu.Unlock()
	select {
	case <-time.After(pause):
	case <-c.ctx.Done():
	}
}

// A printer is the logger that package zk is given: of troubles alone, see zk.WithLogInfo.
type printer struct{ *slog.Logger }

func (p printer) Printf(format string, args ...any) {
	p.Warn("zkconn: " + fmt.Sprintf(format, args...))
}

// authenticate gives the client its credentials, and waits until a server has accepted them or ctx ends.
func authenticate(ctx context.Context, conn *zk.Conn, auth []credential) error {
	done := make(chan error, 1)
	go func() { done <- addAuth(ctx, conn, auth) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return conns.WhyEnded(ctx)
	}
}

// addAuth is authenticate, but it may go on after the end of ctx, as the client's requests do.
func addAuth(ctx context.Context, conn *zk.Conn, auth []credential) error {
	for _, c := range auth {
		err := zk.ErrNoServer
		for ctx.Err() == nil && (err == zk.ErrNoServer || err == zk.ErrConnectionClosed || err == zk.ErrSessionExpired) {
			err = conn.AddAuth(c.scheme, c.secret) // and if the connection breaks, on the next one
		}
		if err != nil {
			return fmt.Errorf("the server has not accepted the credential of scheme %q: %w", c.scheme, err)
		}
	}
	return nil
}
