// Package conns answers what a *zk.Conn does not export. It knows the clients that zkconn.Connect has opened.
package conns

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
)

// A Client is what zkconn knows of a *zk.Conn that it has opened.
type Client interface {
	// SessionTimeout returns what the server agreed to in the last handshake.
	SessionTimeout() time.Duration
	// Reconnect has the client leave a server that is silent.
	Reconnect()
	// Within has the client leave a silent server in time for leases of a session timeout shorter than the agreed one.
	Within(sessionTimeout time.Duration)
	// Report says what was wrong with each server that was tried since the client last had one.
	Report() string
	// Refused reports whether a server has closed a connection of the session since the client last had a server.
	Refused() bool
	// Warn logs a warning.
	Warn(text string)
}

// clients keeps no *zk.Conn alive, nor a Client, from which the user's dialer may lead back to its conn.
var clients sync.Map // weak.Pointer[zk.Conn] → func() Client, which turns a weak pointer back into the Client

// Register adds what is known of conn. A weak pointer to c needs T, the type of *c, since a Client is an interface.
func Register[T any, C interface {
	*T
	Client
}](conn *zk.Conn, c C) {
	known := weak.Make((*T)(c))
	clients.Store(weak.Make(conn), func() Client { return C(known.Value()) })
	runtime.AddCleanup(conn, func(key weak.Pointer[zk.Conn]) { clients.Delete(key) }, weak.Make(conn))
}

// Of returns the client that was registered with conn, or nil.
func Of(conn *zk.Conn) Client {
	if known, ok := clients.Load(weak.Make(conn)); ok {
		return known.(func() Client)()
	}
	return nil
}

// SessionTimeout returns the session timeout of a client that was registered. For another one it returns false and
// 4 s, the least that a server with the default configuration agrees to: two ticks of 2 s.
func SessionTimeout(conn *zk.Conn) (timeout time.Duration, known bool) {
	if c := Of(conn); c != nil {
		return c.SessionTimeout(), true
	}
	return 4 * time.Second, false
}

// Reconnect has a client that was registered leave a server that is silent. It does not wait for that.
func Reconnect(conn *zk.Conn) {
	if c := Of(conn); c != nil {
		c.Reconnect()
	}
}

// Warn logs a warning with the logger of a client that was registered. For another one it
// uses package zk's default logger, as that client does unless it was given one.
func Warn(conn *zk.Conn, text string) {
	if c := Of(conn); c != nil {
		c.Warn(text)
	} else {
		zk.DefaultLogger.Printf("%s", text)
	}
}

// Closed reports whether Close has been called, which the client does not export. It tries a multi of a nil request,
// which cannot be encoded, so nothing is sent. An open client returns another error for it, once it is connected.
func Closed(conn *zk.Conn) bool {
	_, err := conn.Multi((*zk.CheckVersionRequest)(nil))
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing)
}

// WhyEnded returns the error of a ctx that has ended, and its cause.
func WhyEnded(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
