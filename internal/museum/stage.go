package museum

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum/java"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/internal/zkserver"
)

const (
	// SessionTimeout is that of every client on the stage.
	SessionTimeout = 10 * time.Second

	patience = time.Minute      // virtual: the longest wait for an event that must happen
	forever  = 10 * time.Minute // virtual: 60 session timeouts in which nothing happens
)

// A Stage is the place of one schedule: a server, and clients with a lock
// each. The play gives orders to one client after the other. Before each next
// line of the play, all clients have got as far as they can.
type Stage struct {
	*testing.T
	Server *zkserver.Server
	Path   string // of the lock; no node exists there yet

	newLock NewLock
	report  func(words string) // of a failure; nil: the test says it
	zoo     *ensemble.Ensemble
	tap     *wiretap.Tap // one for all clients, so that their requests have one order
	over    chan struct{}
	clients []*Client

	mu    sync.Mutex // guards the fields below, and the state of the clients
	gaps  map[string]*Gap
	notes []note
	marks []int // lengths of the tap's log whenever everything was settled
	aside []int // from, to, from, to, …: parts of the log that are not drawn
}

// Errorf is the test's, and calls PlayFor's function, too. So do Error, Fatalf and
// Fatal.
func (s *Stage) Errorf(format string, args ...any) {
	s.Helper()
	s.Error(fmt.Sprintf(format, args...))
}

// Error is the test's: see Errorf.
func (s *Stage) Error(args ...any) {
	s.Helper()
	if s.report != nil {
		s.report(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	}
	s.T.Error(args...)
}

// Fatalf is the test's: see Errorf.
func (s *Stage) Fatalf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
	s.FailNow()
}

// Fatal is the test's: see Errorf.
func (s *Stage) Fatal(args ...any) {
	s.Helper()
	s.Error(args...)
	s.FailNow()
}

// Settle returns when all clients have got as far as they can.
func (s *Stage) Settle() {
	synctest.Wait()
	n := len(s.tap.Log())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, n)
	for _, c := range s.clients {
		c.sessions[c.SessionID()] = true
	}
}

// Pass lets time pass.
func (s *Stage) Pass(d time.Duration) {
	time.Sleep(d)
	s.Settle()
}

// eventually waits for a state. It polls: in virtual time that costs nothing.
// Everything that happens meanwhile is one scene.
func (s *Stage) eventually(what string, ok func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		synctest.Wait()
		if ok() {
			s.Settle()
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("never happens: %s", what)
		}
	}
}

// A Client is one actor: a session, and a contender for the lock in it.
type Client struct {
	*zk.Conn
	Name string // a letter
	lock Lock
	s    *Stage

	// Guarded by s.mu.
	sessions map[int64]bool
	state    state
	err      error
	since    time.Time     // when Lock was called
	took     time.Duration // by the last Lock that has returned
}

type state string

const (
	outside state = "outside"
	waiting state = "waiting"
	inside  state = "inside"
	failed  state = "failed"
)

// Client connects the next client, with a contender for the lock at Path.
func (s *Stage) Client() *Client {
	s.Helper()
	return s.ClientAt(s.Path)
}

// ClientAt connects the next client, with a contender for the lock at path.
func (s *Stage) ClientAt(path string) *Client {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := s.zoo.Connect(ctx, ensemble.Options{SessionTimeout: SessionTimeout, Tap: s.tap, Buffer: 64 << 10})
	require.NoError(s, err)
	c := s.client(conn, path)
	c.warm()
	s.Settle()
	return c
}

// warm sends a request that is not drawn. Package ensemble lets a moment pass
// before a new connection's first reply is read; without this request a client
// would be settled before it has got as far as it can.
func (c *Client) warm() bool {
	_, _, err := c.Exists("/")
	return err == nil
}

// ClientNotConnected returns a client whose session has not begun. Its first
// attempt to connect is refused when refuse is called; the next one succeeds.
func (s *Stage) ClientNotConnected() (c *Client, refuse func()) {
	s.Helper()
	refused := make(chan struct{})
	attempts := 0
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		if attempts++; attempts == 1 {
			<-refused
			return nil, syscall.ECONNREFUSED
		}
		return s.Server.Dial(network, address, timeout)
	}
	conn, _, err := zk.Connect([]string{"127.0.0.1"}, SessionTimeout, zk.WithDialer(s.tap.Dialer(dial)),
		zk.WithLogger(log.New(io.Discard, "", 0)))
	require.NoError(s, err)
	return s.client(conn, s.Path), func() {
		s.Note("the first attempt to connect is refused")
		close(refused)
		s.Settle()
	}
}

func (s *Stage) client(conn *zk.Conn, path string) *Client {
	s.Cleanup(conn.Close)
	c := &Client{
		Conn: conn, Name: string(rune('A' + len(s.clients))), s: s,
		sessions: make(map[int64]bool), state: outside,
	}
	s.Aside(func() { c.lock = s.newLock(conn, path) })
	s.mu.Lock()
	s.clients = append(s.clients, c)
	s.mu.Unlock()
	s.Settle()
	return c
}

// Contender returns the client's lock.
func (c *Client) Contender() Lock { return c.lock }

// String returns the client's name on the page.
func (c *Client) String() string { return "client " + c.Name }

func (c *Client) is(st state, err error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch {
	case st == waiting:
		c.since = time.Now()
	case c.state == waiting:
		c.took = time.Since(c.since)
	}
	c.state, c.err = st, err
}

// State returns outside, waiting, inside or failed.
func (c *Client) State() string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return string(c.state)
}

// Err returns the error of Lock, nil if it has not failed.
func (c *Client) Err() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.err
}

// Took returns how long Lock took, or how long it has waited so far.
func (c *Client) Took() time.Duration {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.state == waiting {
		return time.Since(c.since)
	}
	return c.took
}

// Start calls Lock in a thread of its own, and returns when that thread has
// got as far as it can.
func (c *Client) Start() {
	c.is(waiting, nil)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				c.is(failed, fmt.Errorf("panic: %v", r))
				c.s.note(c.Name, c.Name, "panics")
			}
		}()
		if err := c.lock.Lock(); err != nil {
			c.is(failed, err)
			c.s.note(c.Name, c.Name, "lock fails")
			return
		}
		c.is(inside, nil)
		c.s.note(c.Name, c.Name, "holds the lock")
	}()
	c.s.Settle()
}

// Lock calls Lock. It fails the play unless the client gets the lock.
func (c *Client) Lock() {
	c.s.Helper()
	c.Start()
	c.GetsIn()
}

// GetsIn fails the play unless the client, which has been started, gets the
// lock.
func (c *Client) GetsIn() {
	c.s.Helper()
	c.Settles()
	require.NoError(c.s, c.Err(), "Lock of %v fails", c)
}

// Settles waits until Lock has returned.
func (c *Client) Settles() {
	c.s.Helper()
	c.s.eventually(fmt.Sprintf("Lock of %v returns", c), func() bool { return c.State() != string(waiting) })
}

// Fails waits until Lock has failed, and returns its error.
func (c *Client) Fails() error {
	c.s.Helper()
	c.Settles()
	require.Equal(c.s, string(failed), c.State(), "Lock of %v does not fail", c)
	return c.Err()
}

// Waits fails the play unless the client's Lock has not returned.
func (c *Client) Waits() {
	c.s.Helper()
	c.s.Settle()
	require.NoError(c.s, c.Err(), "%v must wait, but its Lock fails", c)
	require.Equal(c.s, string(waiting), c.State(), "%v does not wait", c)
}

// WaitsForever lets a very long time pass. It fails the play unless the client
// still waits then.
func (c *Client) WaitsForever() {
	c.s.Helper()
	c.s.Pass(forever)
	c.Waits()
	c.Note("waits forever")
}

// Unlock calls Unlock and returns its error.
func (c *Client) Unlock() error {
	c.s.Helper()
	c.is(outside, nil)
	return c.Run("Unlock", c.lock.Unlock)
}

// Run runs f in a thread of its own and returns its error.
func (c *Client) Run(what string, f func() error) error {
	c.s.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		c.s.Settle()
		return err
	case <-time.After(patience):
		c.s.Fatalf("%s of %v does not return", what, c)
		return nil
	}
}

// Expire ends the client's session, as if it had been cut off for longer than
// the timeout, and returns when the client has noticed and has a new one.
func (c *Client) Expire() {
	c.s.Helper()
	c.Forget()
	c.Noticed()
}

// Forget makes the server end the client's session. The client has not
// noticed yet.
func (c *Client) Forget() {
	c.s.Helper()
	c.s.Settle()
	c.s.Note("the session of %v has expired, and its nodes are deleted", c)
	require.True(c.s, c.s.Server.Expire(c.SessionID()))
	c.s.Settle()
}

// Noticed returns when a client whose session has expired has a new one.
func (c *Client) Noticed() {
	c.s.Helper()
	c.s.eventually(fmt.Sprintf("%v has a new session", c), func() bool {
		return c.Conn.State() == zk.StateHasSession && slices.ContainsFunc(c.s.Server.Sessions(),
			func(session zkserver.Session) bool { return session.ID == c.SessionID() }) && c.warm()
	})
}

// CutOff cuts the client off from every server until back is called. Its
// session expires meanwhile, unless back is called soon.
func (c *Client) CutOff() (back func()) {
	c.s.Helper()
	c.s.Settle()
	c.Note("is cut off")
	id := c.SessionID()
	var faults []*zkserver.Fault
	for range 1000 { // more attempts to connect than there is time for
		faults = append(faults, c.s.Server.LoseRequest(func(r zkserver.Request) bool {
			return r.Op == jute.OpConnect && r.Session == id
		}))
	}
	require.True(c.s, c.s.Server.Cut(id))
	c.s.Settle()
	return func() {
		for _, f := range faults {
			f.Release()
		}
		c.Note("is back")
		c.Noticed()
	}
}

// Requests returns the number of requests of these kinds that all clients have
// sent.
func (s *Stage) Requests(ops ...jute.Op) (n int) {
	for _, e := range s.tap.Log() {
		if e.Kind == wiretap.Request && slices.Contains(ops, e.Op) {
			n++
		}
	}
	return n
}

// Events returns the number of watch events that the client has been sent, in
// all of its sessions.
func (c *Client) Events() (n int) {
	c.s.Settle()
	for _, e := range c.s.tap.Log() {
		if e.Kind == wiretap.Event && c.sessions[e.Session] {
			n++
		}
	}
	return n
}

// Nodes returns the paths of the nodes that the server has for the client's
// sessions.
func (c *Client) Nodes() (paths []string) {
	c.s.Settle()
	for _, session := range c.s.Server.Sessions() {
		if c.sessions[session.ID] {
			paths = append(paths, session.Ephemerals...)
		}
	}
	return paths
}

// Inside returns the names of the clients that hold the lock, or go on as if
// they do.
func (s *Stage) Inside() (names []string) {
	s.Settle()
	for _, c := range s.clients {
		if c.State() == string(inside) {
			names = append(names, c.Name)
		}
	}
	return names
}

// TwoHolders fails the play unless exactly these two hold the lock at once.
func (s *Stage) TwoHolders(a, b *Client) {
	s.Helper()
	require.Equal(s, []string{a.Name, b.Name}, s.Inside(), "the holders of the lock")
	s.note("", a.Name+","+b.Name, "two holders")
}

// OnlyHolder fails the play unless c holds the lock and no other client does.
func (s *Stage) OnlyHolder(c *Client) {
	s.Helper()
	require.Equal(s, []string{c.Name}, s.Inside(), "the holders of the lock")
}

// Held is a request or a reply that a slow network delays.
type Held struct {
	c     *Client
	fault *zkserver.Fault
	what  string
}

// match returns a function that reports whether a request is the client's and
// of this kind.
func (c *Client) match(op jute.Op, path []string) func(zkserver.Request) bool {
	id := c.SessionID()
	return func(r zkserver.Request) bool {
		return r.Session == id && r.Op == op && (len(path) == 0 || r.Path == path[0])
	}
}

// HoldRequest holds the client's next request of this kind, for path if one is
// given, on its way to the server.
func (c *Client) HoldRequest(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.Hold(c.match(op, path)), "is slow to arrive"}
}

// HoldAny holds the client's next request of one of these kinds.
func (c *Client) HoldAny(ops ...jute.Op) *Held {
	id := c.SessionID()
	return &Held{c, c.s.Server.Hold(func(r zkserver.Request) bool {
		return r.Session == id && slices.Contains(ops, r.Op)
	}), "is slow to arrive"}
}

// HoldNth holds the client's n-th request of this kind from now on.
func (c *Client) HoldNth(n int, op jute.Op) *Held {
	match, left := c.match(op, nil), n
	return &Held{c, c.s.Server.Hold(func(r zkserver.Request) bool {
		if match(r) {
			left--
		}
		return match(r) && left == 0
	}), "is slow to arrive"}
}

// HoldReply holds the reply to the client's next request of this kind on its
// way back, and everything that the server sends after it.
func (c *Client) HoldReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.HoldReply(c.match(op, path)), "is carried out, the reply is slow"}
}

// LoseReply lets the server carry out the client's next request of this kind.
// The server then closes the connection and sends no reply.
func (c *Client) LoseReply(op jute.Op, path ...string) *Held {
	return &Held{c, c.s.Server.LoseReply(c.match(op, path)), "is carried out, the reply is lost with the connection"}
}

// FailNext answers the client's next request of this kind with an error.
func (c *Client) FailNext(op jute.Op, code jute.Code) {
	c.s.Server.Fail(code, c.match(op, nil))
}

// Reached fails the play unless a request or a reply is held here.
func (h *Held) Reached() {
	h.c.s.Helper()
	h.c.s.Settle()
	select {
	case r := <-h.fault.Hit():
		h.c.s.Note("%v of %v %s", opName(r.Op), h.c, h.what)
	default:
		h.c.s.Fatalf("%v has not sent the request that is to be held", h.c)
	}
}

// Release lets the request or the reply go on.
func (h *Held) Release() {
	h.c.s.Helper()
	h.fault.Release()
	h.c.s.Settle()
}

// Frames returns the number of frames of a function on the stacks of all
// threads.
func Frames(function string) int { return java.Frames(function) }

// Threads returns the number of threads that a package or function has
// started.
func Threads(starter string) int {
	return strings.Count(java.Stacks(), "created by "+starter)
}
