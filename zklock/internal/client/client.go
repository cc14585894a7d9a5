// Package client makes the requests of a lock: each is tried until it has a definite answer. It proves until when the
// session is safe, makes a node once although a reply was lost, and deletes it for certain. It has no queue. It is made
// for zklock, and its API may change; programs use zklock.
//
// The servers can end a session, and give its lock to another client, before this one notices. So while a lock is held
// or waited for, the client sends rounds: a sync and a write, or a write alone (rounds.go). Their answers prove until
// when the session is safe (proof.go).
package client

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/conns"
)

// A Client is a zk.Conn, whose session timeout is known. It is safe for concurrent use.
type Client struct {
	conn    *zk.Conn
	given   time.Duration // the session timeout that the user has given, or 0
	closed  chan struct{} // closed once the client is found to be closed
	closing sync.Once     // closes it
	serial  *atomic.Int64 // of the last node that was made, so that the ids differ
	goOn    *sync.Cond    // of mu: fewer requests are under way, or the others are no longer kept back

	mu           sync.Mutex
	trouble      error // the last request without an answer
	troubleAt    time.Time
	underWay     int       // requests
	waitingSince time.Time // when the last answer came, or the first of these requests was sent
	othersWait   bool      // requests are kept back, except those of a round
	rounds       rounds    // which prove that the session lives
	prover       prover    // what the answers have proved
	proofOf      subject   // the session that they are about
}

// clients has the Client of each zk.Conn and session timeout, by weak pointers: it keeps neither of them alive.
var clients sync.Map // key → weak.Pointer[Client]

// serials has the serial of each zk.Conn, which its Clients share.
var serials sync.Map // weak.Pointer[zk.Conn] → *atomic.Int64

type key struct {
	conn    weak.Pointer[zk.Conn]
	timeout time.Duration
}

// Of returns the Client of conn, the same one for all locks that have the same
// session timeout. 0 means the one that Connect's client has agreed on last, or 4 s.
func Of(conn *zk.Conn, timeout time.Duration) *Client {
	serial, loaded := serials.LoadOrStore(weak.Make(conn), new(atomic.Int64))
	if !loaded {
		runtime.AddCleanup(conn, func(k weak.Pointer[zk.Conn]) { serials.Delete(k) }, weak.Make(conn))
	}
	c := &Client{conn: conn, given: timeout, serial: serial.(*atomic.Int64), closed: make(chan struct{})}
	c.goOn = sync.NewCond(&c.mu)
	c.rounds.over, c.rounds.users = make(chan struct{}), make(map[*Tasks]int)
	c.rounds.timer = time.AfterFunc(time.Hour, c.timerFired)
	c.rounds.timer.Stop()
	c.rounds.silence = time.AfterFunc(time.Hour, c.leaveServer)
	c.rounds.silence.Stop()

	k, own := key{weak.Make(conn), timeout}, weak.Make(c)
	for {
		entry, loaded := clients.LoadOrStore(k, own)
		if !loaded {
			break // c is the Client of conn from now on
		}
		if present := entry.(weak.Pointer[Client]).Value(); present != nil {
			return present
		}
		clients.CompareAndDelete(k, entry) // it is garbage
	}
	runtime.AddCleanup(c, func(k key) { clients.CompareAndDelete(k, own) }, k)

	if known := conns.Of(conn); known != nil && timeout > 0 {
		known.Within(timeout)
	}
	if assumed, known := conns.SessionTimeout(conn); timeout == 0 && !known {
		conns.Warn(conn, fmt.Sprintf("zklock: the client does not say its session timeout, and %v is assumed; "+
			"see zklock.WithSessionTimeout", assumed))
	}
	return c
}

// close notes that the client is closed, while something of a lock is under way.
func (c *Client) close() {
	first := false
	c.closing.Do(func() { close(c.closed); first = true })
	if first {
		conns.Warn(c.conn, "zklock: the client was closed before Shutdown had returned: its locks are lost, "+
			"and their nodes may stay until its session ends")
	}
}

// Closed returns a channel that is closed once the client is found to be closed.
func (c *Client) Closed() <-chan struct{} { return c.closed }

// EventErr returns ErrClosed if an event reports that the client has been closed.
func (c *Client) EventErr(ev zk.Event) error {
	if !errors.Is(ev.Err, zk.ErrClosing) {
		return nil
	}
	c.close()
	return ErrClosed
}

// WasClosed reports whether the program has closed the client: the server then deletes the nodes of the session, and
// that event may come before the one that says so. A client without a connection does not answer at once.
func (c *Client) WasClosed() bool {
	closed := make(chan bool, 1)
	go func() { closed <- conns.Closed(c.conn) }()
	select {
	case is := <-closed:
		if is {
			c.close()
		}
		return is
	case <-time.After(10 * time.Millisecond):
		return false
	}
}

// SessionID returns the session that the client has, or had last; 0 if none.
func (c *Client) SessionID() int64 { return c.conn.SessionID() }

func (c *Client) Timeout() time.Duration {
	if c.given != 0 {
		return c.given
	}
	agreed, _ := conns.SessionTimeout(c.conn)
	return agreed
}

// call makes one request, notes what its answer proves, and sorts the error. by is the server that answers it. The
// client's calls cannot be cancelled, so a caller that has a ctx must not use call in its own goroutine.
func (c *Client) call(by answerer, request func() error) error { return c.send(by, request, false) }

// send makes the request. Its error is a *noAnswer if the request may have another result the next time (errors.go).
func (c *Client) send(by answerer, request func() error, inRound bool) error {
	first := c.begin(inRound)
	session, sent := c.conn.SessionID(), time.Now() // the session may change while the request is under way
	err := request()
	c.end()

	isAnswer := oneOf(err, definiteAnswers)
	if !isAnswer && transient(err) {
		return &noAnswer{c.conn.Server(), err}
	}
	if isAnswer {
		if oneOf(err, answersOfOneServer) {
			by = anyServer
		}
		c.noteAnswer(session, answer{by, exchange{sent, time.Now(), first}})
	}
	return explain(err)
}

// begin waits while the request is kept back, and counts it. first is true if no other request is under way: its answer
// then waits for no other, and measures the round trip.
func (c *Client) begin(inRound bool) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.othersWait && !inRound {
		c.goOn.Wait()
	}
	c.underWay++
	if c.underWay == 1 {
		c.waitingSince = time.Now()
	}
	return c.underWay == 1
}

func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.underWay--
	c.waitingSince = time.Now()
	c.goOn.Broadcast()
}

// insist repeats one request until it is answered, or stop is closed.
func (c *Client) insist(stop <-chan struct{}, by answerer, request func() error) error {
	for !IsClosed(stop) {
		err := c.call(by, request)
		if err == nil {
			return nil
		}
		if err = c.again(err, stop, 0); err != nil {
			return err
		}
	}
	return ErrStopped
}

// Sync returns when the client's server has applied every change that was answered to any client before.
func (c *Client) Sync(stop <-chan struct{}) error { return c.insist(stop, theLeader, c.sync) }

// Children lists a node. A node that does not exist has no children.
func (c *Client) Children(stop <-chan struct{}, node string) (names []string, stat *zk.Stat, err error) {
	err = c.insist(stop, anyServer, func() (err error) { names, stat, err = c.conn.Children(node); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, nil
	}
	return names, stat, err
}

func (c *Client) ChildrenW(stop <-chan struct{}, node string) (names []string, changed <-chan zk.Event, err error) {
	err = c.insist(stop, anyServer, func() (err error) { names, _, changed, err = c.conn.ChildrenW(node); return err })
	return names, changed, err
}

func (c *Client) Get(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, err error) {
	err = c.insist(stop, anyServer, func() (err error) { data, stat, err = c.conn.Get(node); return err })
	return data, stat, err
}

func (c *Client) GetW(stop <-chan struct{}, node string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = c.insist(stop, anyServer, func() (err error) { data, stat, changed, err = c.conn.GetW(node); return err })
	return data, stat, changed, err
}

// Set writes a node that has a certain version.
func (c *Client) Set(stop <-chan struct{}, node string, data []byte, version int32) error {
	return c.insist(stop, aQuorum, func() error { _, err := c.conn.Set(node, data, version); return err })
}

// Multi carries out a transaction that must not be carried out twice. It is sent again only if the client has not sent
// it before; if that is not known, it returns ErrUnknownOutcome. Once over returns an error, nothing is sent.
func (c *Client) Multi(stop <-chan struct{}, over func() error, ops ...any) (done []zk.MultiResponse, err error) {
	for !IsClosed(stop) {
		if err := over(); err != nil {
			return nil, err
		}
		err := c.call(aQuorum, func() (err error) { done, err = c.conn.Multi(ops...); return err })
		if err == nil {
			return done, nil
		}
		if maybe(err) && !errors.Is(err, zk.ErrShortBuffer) {
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, cmp.Or(c.final(err), err))
		}
		if err = c.again(err, stop, 0); err != nil {
			return done, err
		}
	}
	return nil, ErrStopped
}

// IsClosed reports whether a channel is closed on which nothing is sent.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
