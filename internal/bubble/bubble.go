// Package bubble has what tests in virtual time share: a server, a line to it, and waits.
package bubble

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/when"
	"example.com/zklock/zkserver"
)

// Patience is the longest wait for an event that must happen, SessionTimeout that of the suites' sessions. A machine with a real server may be busy.
var Patience, SessionTimeout = time.Minute, 10 * time.Second

func init() {
	if when.Elsewhere() {
		Patience, SessionTimeout = 10*time.Minute, 40*time.Second // a server with a tick of 2 s grants no more
	}
}

// Spins calls f with what is wrong once this process has computed for a minute, unless stop is
// called before. On a busy machine real time says nothing. But a goroutine that waits for a mutex
// computes nothing and keeps virtual time from passing: so f is called after 10 minutes, too.
func Spins(f func(why string)) (stop func()) {
	var over atomic.Bool
	began, end := ProcessorTime(), time.Now().Add(10*time.Minute)
	var look func()
	look = func() {
		switch left := time.Minute - (ProcessorTime() - began); {
		case over.Load():
		case left <= 0:
			f("is busy for a minute: a goroutine of the lock spins or polls")
		case time.Now().After(end):
			f("does not end in 10 minutes: a goroutine of the lock waits, perhaps for a mutex")
		default:
			time.AfterFunc(min(left, time.Until(end)), look)
		}
	}
	first := time.AfterFunc(time.Minute, look)
	return func() {
		over.Store(true)
		first.Stop()
	}
}

// Watch runs f in a test in virtual time. A lock that spins keeps virtual time from
// passing: unless another process watches over the test, it panics as [Spins] says.
func Watch(t *testing.T, watched bool, f func(t *testing.T)) {
	t.Helper()
	if !watched {
		name := t.Name()
		defer Spins(func(why string) { panic(name + " " + why) })()
	}
	synctest.Test(t, f)
}

// Serve runs f with a server of its own, in virtual time.
func Serve(t *testing.T, f func(t *testing.T, srv *zkserver.Server), options ...zkserver.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, zkserver.Run(t, options...)) })
}

// ServeCase is Serve for one of the cases of a test.
func ServeCase(t *testing.T, name string, f func(t *testing.T, srv *zkserver.Server)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { Serve(t, f) })
}

// Until waits until ok is true, for Patience at most, and returns whether it is. It polls:
// in virtual time that is exact to one part in a hundred, and almost free. Between, if it
// is not nil, is called before each look.
func Until(between func(), ok func() bool) bool {
	for begin := time.Now(); ; time.Sleep(max(time.Millisecond, time.Since(begin)/100)) {
		if between != nil {
			between()
		}
		if ok() {
			return true
		}
		if time.Since(begin) > Patience {
			return false
		}
	}
}

// Aside calls f in a goroutine of its own.
func Aside(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// IsClosed reports whether a channel is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A Line leads clients to a server, whatever address they dial.
type Line struct {
	Server *zkserver.Server
	Wrap   func(net.Conn) net.Conn // if not nil, it is put around each connection
	Down   atomic.Bool             // connections are refused

	mu     sync.Mutex
	dialed []string // addresses
}

// Dial is the dialer of a client.
func (l *Line) Dial(network, address string, patience time.Duration) (net.Conn, error) {
	l.mu.Lock()
	l.dialed = append(l.dialed, address)
	l.mu.Unlock()
	if l.Down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	nc, err := l.Server.Dial(network, address, patience)
	if err == nil && l.Wrap != nil {
		nc = l.Wrap(nc)
	}
	return nc, err
}

// Dialed lists the addresses that were dialed.
func (l *Line) Dialed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dialed
}
