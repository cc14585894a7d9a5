package zkconn

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A carefulConn is a connection that works around faults of the client.
//
// The client has room for two answers to a request, but gives three to one that is queued while Close runs and whose
// write fails. So a failed write closes the connection and is not reported: the client's reader notices.
//
// The client gives the handshake ten times the read deadline, and no deadline
// after its fourth byte. So the handshake has a deadline of its own.
//
// Once connected, the client sends the server the zxid up to which it has seen its watched nodes, while replies change
// that number: a data race, and a change can be missed. So in a resumed session no reply is read before that request
// has been made, or before againWatches has passed, because a client without watches makes none. It is not enough that
// such a request has been written: it may be that of the connection before, which was still queued.
//
// In a new session there is nothing to set again, but the client asks for the
// watches that the first replies have set. So an empty list is sent instead.
//
// A server that lacks what the client has seen closes the connection without an answer, for all time if it has lost its
// data. So it is asked about the session without the zxid (see ask).
type carefulConn struct {
	net.Conn
	c       *client
	address string
	dial    func(address string) (net.Conn, error) // another connection

	// For the handshake.
	handshakeTimeout time.Duration
	limit            time.Time

	// Written by the goroutine that writes and reads the handshake, before the client's reader and writer begin.
	handshakeSent bool   // the handshake has been written
	resumed       []byte // it, if it names a session

	// Used by the reader alone.
	reader   *bufio.Reader
	answered bool          // the whole answer to the handshake has come
	answer   []byte        // what the client has not read of it
	wait     time.Duration // for the watches, before the first reply is read

	heard atomic.Int64 // bytes that the client has read

	once     sync.Once
	watching chan struct{} // closed when the request for the watches has been made
}

const (
	firstWatches = time.Millisecond       // a new session: an empty list at most
	againWatches = 200 * time.Millisecond // or a 16th of the session timeout: a lease waits for half of that

	setWatches = 101 // the opcode
)

// leastHandshakeTimeout is how long a server may take to answer the handshake at first: 1 s, or longer if all servers
// can still be tried within a third of the session timeout.
func (c *client) leastHandshakeTimeout() time.Duration {
	return max(time.Second, time.Duration(c.timeout.Load())/3/time.Duration(max(1, c.servers())))
}

// nextHandshakeTimeout is how long the next server may take.
func (c *client) nextHandshakeTimeout() time.Duration {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(max(least, c.handshakeTimeout), max(least, time.Duration(c.timeout.Load())))
}

// handshakeEnded notes how a handshake has ended. If the client did not wait for the
// answer, the server has begun a session all the same, and keeps it until it expires.
// So the next server gets more time: where all are slow, few sessions are left behind.
func (c *client) handshakeEnded(conn *carefulConn, err error) {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.connected, c.askAt, c.rounds = conn, time.Time{}, 0
		clear(c.tried)
		c.handshakeTimeout = 0
		if took := conn.handshakeTimeout - time.Until(conn.limit); took > least {
			c.handshakeTimeout = conn.handshakeTimeout
		}
	case timedOut(err):
		c.handshakeTimeout = conn.handshakeTimeout * 3 / 2
		fallthrough
	default:
		c.tried[conn.address] = err
	}
}

// tooSlow notes that a server has not answered within limit: the next one has more time.
func (c *client) tooSlow(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handshakeTimeout = limit * 3 / 2
}

func timedOut(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// mayAsk notes that a server has closed the connection instead of answering a handshake that names a session, and
// reports whether it may be asked about the session: one and a half session timeouts after the first such refusal.
func (c *client) mayAsk() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.askAt.IsZero() {
		c.askAt = time.Now().Add(time.Duration(c.timeout.Load()) * 3 / 2)
	}
	return !time.Now().Before(c.askAt)
}

// mayNotAsk puts off the next question: this one may have kept the session, for its timeout and a tick.
func (c *client) mayNotAsk() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askAt = time.Now().Add(time.Duration(c.timeout.Load()) * 3)
}

func newCarefulConn(nc net.Conn, c *client, address string) *carefulConn {
	return &carefulConn{
		Conn: nc, c: c, address: address,
		reader: bufio.NewReader(nc), wait: firstWatches, watching: make(chan struct{}),
	}
}

func (c *carefulConn) SetReadDeadline(t time.Time) error {
	if !c.answered {
		t = c.limit
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *carefulConn) SetWriteDeadline(t time.Time) error {
	if !c.handshakeSent { // after the dial the user's callback has been called, which may take a while
		c.handshakeTimeout = c.c.nextHandshakeTimeout()
		c.limit = time.Now().Add(c.handshakeTimeout)
		t = c.limit
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *carefulConn) Read(b []byte) (int, error) {
	if !c.answered {
		if err := c.readAnswer(); err != nil {
			return 0, err
		}
	}
	if len(c.answer) > 0 {
		n := copy(b, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	if c.wait > 0 {
		// Fill the buffer first: over a pipe the server cannot take the watches while a reply that it writes is not read.
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
	n, err := c.reader.Read(b)
	c.heard.Add(int64(n))
	return n, err
}

// readAnswer reads the answer to the handshake.
func (c *carefulConn) readAnswer() (err error) {
	defer func() {
		if timedOut(err) {
			err = fmt.Errorf("accepts the connection but has not answered within %v: %w", c.handshakeTimeout, err)
		}
		c.c.handshakeEnded(c, err)
	}()
	answer, err := readHandshake(c.reader)
	switch {
	case err == nil:
	case timedOut(err) || errors.Is(err, errForeign):
		return err
	default:
		answer = nil
		why := "no quorum, or too many connections from this host (maxClientCnxns, 60 by default)"
		if c.c.tls == nil {
			why += ", or it expects TLS"
		}
		if c.resumed != nil {
			why = "no quorum, or it lags, or it has lost its data; the client keeps its session"
			if c.c.mayAsk() {
				answer = c.ask()
			}
		}
		if answer == nil {
			return fmt.Errorf("closes the connection without an answer: %s: %w", why, err)
		}
	}
	if session := sessionOf(answer); session == 0 {
		c.c.expired.Store(true)
	} else {
		timeout := time.Duration(binary.BigEndian.Uint32(answer[8:])) * time.Millisecond
		c.c.timeout.Store(int64(timeout))
		c.c.logger.Info("zkconn: connected", "server", c.address, "session", fmt.Sprintf("%#x", session), "timeout", timeout)
	}
	c.answered, c.answer = true, answer
	return nil
}

// ask asks a server that has refused the handshake about the session, without the zxid,
// on another connection. It returns the answer if that says that the session is over.
//
// A server in trouble closes this connection, too: it has no quorum, and the next leader may know the session. One that
// lags asks the leader. So a session that lives is not given up, and nothing else is read from a server that the client
// is ahead of. A leader that has been replaced, and does not know yet, may not know the session. However, no server has
// heard of the client for as long as mayAsk has waited.
func (c *carefulConn) ask() (over []byte) {
	nc, err := c.dial(c.address)
	if err != nil {
		return nil
	}
	defer nc.Close()
	const zxid = 4 + 4 // its offset in a handshake
	clear(c.resumed[zxid : zxid+8])
	nc.SetDeadline(time.Now().Add(c.handshakeTimeout))
	if _, err := nc.Write(c.resumed); err != nil {
		return nil
	}
	answer, err := readHandshake(bufio.NewReader(nc))
	if err == nil && sessionOf(answer) == 0 {
		return answer
	}
	if err == nil || timedOut(err) {
		c.c.mayNotAsk()
	}
	return nil
}

// mayHelp reports whether another connection may help the client, while this one stays silent: one of the servers says
// that it is the leader, or stands alone, or is a follower that has seen a change meanwhile. If the leader is silent,
// no server can take the session over, and a client that leaves its server only loses time. A server that does not say
// what it is may help, too.
func (c *carefulConn) mayHelp() bool {
	wait := c.c.leaseTimeout() / 16
	heard := c.heard.Load()
	addresses := c.c.addresses()
	switch {
	case len(addresses) == 0 && c.c.servers() > 1:
		return true // it is not known where they are
	case len(addresses) == 0:
		addresses = []string{c.address}
	}
	answers := make(chan bool, len(addresses))
	for _, address := range addresses {
		go func() {
			mode, zxid := c.srvr(address)
			if mode == "follower" || mode == "observer" {
				time.Sleep(wait)
				_, later := c.srvr(address)
				answers <- later != "" && later != zxid
				return
			}
			answers <- mode != ""
		}()
	}
	for range addresses {
		if <-answers {
			time.Sleep(2 * wait) // a server that goes on after a pause answers both
			return c.heard.Load() == heard
		}
	}
	return false
}

var (
	modeLine = regexp.MustCompile(`(?m)^Mode: (.+)$`)
	zxidLine = regexp.MustCompile(`(?m)^Zxid: (.+)$`)
)

// srvr asks a server, on another connection, what it is and which change it has seen last.
// The mode is empty if it cannot help anybody, and "unknown" if it does not say.
func (c *carefulConn) srvr(address string) (mode, zxid string) {
	nc, err := c.dial(address)
	if err != nil {
		return "", ""
	}
	defer nc.Close()
	limit := c.c.leaseTimeout() / 8
	if address == c.address {
		limit /= 2 // it has paused if it answers later
	}
	nc.SetDeadline(time.Now().Add(limit))
	if _, err := io.WriteString(nc, "srvr"); err != nil {
		return "", ""
	}
	answer, err := io.ReadAll(io.LimitReader(nc, 4096))
	switch m, z := modeLine.FindSubmatch(answer), zxidLine.FindSubmatch(answer); {
	case err != nil || len(answer) == 0 || bytes.Contains(answer, []byte("not currently serving")):
		return "", ""
	case m == nil || z == nil:
		return "unknown", ""
	default:
		return string(m[1]), string(z[1])
	}
}

var errForeign = errors.New("this is not ZooKeeper's protocol")

// readHandshake reads the answer to a handshake.
func readHandshake(r *bufio.Reader) ([]byte, error) {
	const size = 4 + 4 + 8 // version, timeout and session, which a password follows
	head, err := r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < size || n > 4096 {
		return nil, fmt.Errorf("%w: the answer to the handshake begins with %q", errForeign, head)
	}
	answer := make([]byte, 4+n)
	_, err = io.ReadFull(r, answer)
	return answer, err
}

func sessionOf(answer []byte) uint64 { return binary.BigEndian.Uint64(answer[12:]) }

func (c *carefulConn) watchesAreSet() { c.once.Do(func() { close(c.watching) }) }

func (c *carefulConn) Write(b []byte) (int, error) {
	const (
		session = 4 + 4 + 8 + 4 // its offset in a handshake: after length, version, zxid and timeout
		op      = 4 + 4         // its offset in a request: after length and xid
	)
	frame := b
	switch {
	case !c.handshakeSent:
		c.handshakeSent = true
		namesSession := len(b) >= session+8 && binary.BigEndian.Uint64(b[session:]) != 0
		if namesSession {
			c.resumed, c.wait = slices.Clone(b), c.c.watchesWait()
		}
	case c.resumed == nil && len(b) >= op+4+8 && binary.BigEndian.Uint32(b[op:]) == setWatches:
		const lists = 3
		frame = append(slices.Clone(b[:op+4+8]), make([]byte, lists*4)...)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	}
	if _, err := c.Conn.Write(frame); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}
