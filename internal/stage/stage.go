// Package stage is where tests force schedules: a server in virtual time, clients with a
// lock each, and requests, replies and threads that are held.
//
//	stage.Play(t, stage.Setting{Lock: newLock}, func(s *stage.Stage) {
//		a, b := s.Client(), s.Client()
//		a.Lock()
//		b.Start()
//		b.Waits()
//		…
//	})
//
// What has crossed the wire is drawn as a sequence diagram.
package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

const (
	// SessionTimeout is that of every client on the stage.
	SessionTimeout = 10 * time.Second
	// Patience is the longest wait for an event that must happen, in virtual time.
	Patience = time.Minute

	forever = 10 * time.Minute // virtual: 60 session timeouts in which nothing happens
)

// A Lock is one contender on the stage. The type has no name, so that it is that of other
// packages, too.
type Lock = interface {
	Lock() error
	Unlock() error
}

// NewLock makes a contender for the lock at path.
type NewLock = func(conn *zk.Conn, path string) Lock

// Calls is a Lock made of two functions.
type Calls struct{ CallLock, CallUnlock func() error }

// Lock calls CallLock.
func (c Calls) Lock() error { return c.CallLock() }

// Unlock calls CallUnlock.
func (c Calls) Unlock() error { return c.CallUnlock() }

// A Schedule is a play with a name.
type Schedule struct {
	Name string
	Play func(s *Stage)
}

// A Setting is what a play is about.
type Setting struct {
	Lock NewLock
	// Begin, if it is not nil, has the locks call gap where a thread comes to a gap, until
	// end is called: see [Stage.HoldGap].
	Begin func(gap func(name string)) (end func())
	// Fails, if it is not nil, gets the failures of the play, which runs in the test t. If
	// it is nil, t gets them. If it has a method Fails that takes a language.Text, that gets
	// those of the stage, in both languages.
	Fails func(t *testing.T) require.TestingT
}

// A Stage is the place of one schedule: a server, and clients with a lock
// each. The play gives orders to one client after the other. Before each next
// line of the play, all clients have got as far as they can. It is the TestingT of
// assertions.
type Stage struct {
	require.TestingT
	T      *testing.T // the test that the play runs in
	Server *zkserver.Server
	Path   string // of the lock; no node exists there yet

	newLock NewLock
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

// Play plays a schedule on a server of its own, in virtual time, and returns the
// diagram.
func Play(t *testing.T, setting Setting, play func(s *Stage)) (diagram language.Text) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		// This clean-up runs last: it lets the remaining timers run out.
		t.Cleanup(func() { time.Sleep(Patience) })
		srv := zkserver.New() // not Run: a right lock need not send the request that a schedule would hold
		t.Cleanup(srv.Close)
		s := &Stage{
			TestingT: t, T: t, Server: srv, Path: "/lock",
			newLock: setting.Lock, zoo: ensemble.OverPipes(srv), tap: wiretap.New(wiretap.WithLog()),
			over: make(chan struct{}), gaps: make(map[string]*Gap),
		}
		if setting.Fails != nil {
			s.TestingT = setting.Fails(t)
		}
		end := func() {}
		if setting.Begin != nil {
			end = setting.Begin(s.pass)
		}
		defer func() {
			close(s.over)
			end() // a thread that hangs in a lock exits
			synctest.Wait()
		}()
		play(s)
		s.Settle()
		diagram = s.diagram()
	})
	return diagram
}

// Helper is T's, for assertions.
func (s *Stage) Helper() { s.T.Helper() }

// Cleanup is T's.
func (s *Stage) Cleanup(f func()) { s.T.Cleanup(f) }

// Context is T's.
func (s *Stage) Context() context.Context { return s.T.Context() }

// Log is T's.
func (s *Stage) Log(args ...any) { s.T.Log(args...) }

// Logf is T's.
func (s *Stage) Logf(format string, args ...any) { s.T.Logf(format, args...) }

// Error reports a failure, as Errorf does.
func (s *Stage) Error(args ...any) {
	s.Helper()
	s.Errorf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// Fatalf reports a failure and ends the play.
func (s *Stage) Fatalf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
	s.FailNow()
}

// Fatal reports a failure and ends the play.
func (s *Stage) Fatal(args ...any) {
	s.Helper()
	s.Error(args...)
	s.FailNow()
}

// fails says why the play has failed, and ends it.
func (s *Stage) fails(en, zh string, args ...any) {
	s.Helper()
	text := language.Say(en, zh, args...)
	if t, ok := s.TestingT.(interface{ Fails(language.Text) }); ok {
		t.Fails(text)
	}
	s.Fatal(text)
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

// eventually waits for a state. Everything that happens meanwhile is one scene.
func (s *Stage) eventually(what language.Text, ok func() bool) {
	s.Helper()
	if !bubble.Until(synctest.Wait, ok) {
		s.fails("never happens: %s", "该发生的没有发生：%s", what)
	}
	s.Settle()
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
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn, err := s.zoo.Connect(ctx, ensemble.Options{SessionTimeout: SessionTimeout, Tap: s.tap, Buffer: 64 << 10})
	require.NoError(s, err)
	s.Cleanup(conn.Close)
	c := &Client{
		Conn: conn, Name: string(rune('A' + len(s.clients))), s: s,
		sessions: make(map[int64]bool), state: outside,
	}
	s.Aside(func() { c.lock = s.newLock(conn, s.Path) })
	s.mu.Lock()
	s.clients = append(s.clients, c)
	s.mu.Unlock()
	s.Settle()
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

// Contender returns the client's lock.
func (c *Client) Contender() Lock { return c.lock }

// String returns the client's name on the page.
func (c *Client) String() string { return c.text().En }

func (c *Client) text() language.Text { return clientText(c.Name) }

func clientText(name string) language.Text { return language.Say("client %s", "客户端 %s", name) }

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
				c.s.note(c.Name, c.Name, language.Say("panics", "panic"))
			}
		}()
		if err := c.lock.Lock(); err != nil {
			c.is(failed, err)
			c.s.note(c.Name, c.Name, language.Say("lock fails", "加锁失败"))
			return
		}
		c.is(inside, nil)
		c.s.note(c.Name, c.Name, language.Say("holds the lock", "持有锁"))
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
	if err := c.Err(); err != nil {
		c.s.fails("Lock of %v fails: %v", "%v 的 Lock 失败：%v", c.text(), err)
	}
}

// Settles waits until Lock has returned.
func (c *Client) Settles() {
	c.s.Helper()
	c.s.eventually(language.Say("Lock of %v returns", "%v 的 Lock 返回", c.text()), func() bool { return c.State() != string(waiting) })
}

// Fails waits until Lock has failed, and returns its error.
func (c *Client) Fails() error {
	c.s.Helper()
	c.Settles()
	if c.State() != string(failed) {
		c.s.fails("Lock of %v does not fail", "%v 的 Lock 没有失败", c.text())
	}
	return c.Err()
}

// Waits fails the play unless the client's Lock has not returned.
func (c *Client) Waits() {
	c.s.Helper()
	c.s.Settle()
	if err := c.Err(); err != nil {
		c.s.fails("%v must wait, but its Lock fails: %v", "%v 应该等待，Lock 却失败了：%v", c.text(), err)
	}
	if c.State() != string(waiting) {
		c.s.fails("%v does not wait", "%v 没有在等待", c.text())
	}
}

// WaitsForever lets a very long time pass. It fails the play unless the client
// still waits then.
func (c *Client) WaitsForever() {
	c.s.Helper()
	c.s.Pass(forever)
	c.Waits()
	c.Note("waits forever", "永远等下去")
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
	select {
	case err := <-bubble.Aside(f):
		c.s.Settle()
		return err
	case <-time.After(Patience):
		c.s.fails("%s of %v does not return", "%[2]v 的 %[1]s 没有返回", what, c.text())
		return nil
	}
}

// Expire ends the client's session, as if it had been cut off for longer than
// the timeout, and returns when the client has noticed and has a new one.
func (c *Client) Expire() {
	c.s.Helper()
	c.s.Settle()
	c.s.Note("the session of %v has expired, and its nodes are deleted", "%v 的会话已过期，节点已删除", c.text())
	require.True(c.s, c.s.Server.Expire(c.SessionID()))
	c.s.Settle()
	c.noticed()
}

// noticed returns when a client whose session has expired has a new one.
func (c *Client) noticed() {
	c.s.Helper()
	c.s.eventually(language.Say("%v has a new session", "%v 有新会话", c.text()), func() bool {
		return c.Conn.State() == zk.StateHasSession && slices.ContainsFunc(c.s.Server.Sessions(),
			func(session zkserver.Session) bool { return session.ID == c.SessionID() }) && c.warm()
	})
}

// CutOff cuts the client off from every server until back is called. Its
// session expires meanwhile, unless back is called soon.
func (c *Client) CutOff() (back func()) {
	c.s.Helper()
	c.s.Settle()
	c.Note("is cut off", "断线")
	id := c.SessionID()
	away := c.s.Server.LoseRequest(zkserver.On(zkserver.OpConnect, "").From(id)).Every()
	require.True(c.s, c.s.Server.Cut(id))
	c.s.Settle()
	return func() {
		away.Release()
		c.Note("is back", "重新连上")
		c.noticed()
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
	s.inside(a.Name, b.Name)
	s.note("", a.Name+","+b.Name, language.Say("two holders", "两个持有者"))
}

// OnlyHolder fails the play unless c holds the lock and no other client does.
func (s *Stage) OnlyHolder(c *Client) {
	s.Helper()
	s.inside(c.Name)
}

func (s *Stage) inside(want ...string) {
	s.Helper()
	if is := s.Inside(); !slices.Equal(want, is) {
		s.fails("the holders of the lock are %v, and must be %v", "锁的持有者是 %v，应该是 %v", is, want)
	}
}
