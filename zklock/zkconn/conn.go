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

// A carefulConn is a connection of package zk's client that works around faults of that client. Its methods say which.
//
// A connection begins with a handshake, which has the zxid up to which the client has seen changes, and the session if
// there is one, which is then resumed. After it, the client asks for its watches again, by a SetWatches.
type carefulConn struct {
	net.Conn
	client  *client
	address string
	dial    func(address string) (net.Conn, error) // another connection

	handshakeTimeout  time.Duration // from when the handshake is written until the whole answer has come
	handshakeDeadline time.Time     // the end of that time

	// Written by the goroutine that writes and reads the handshake, before the client's reader and writer begin.
	handshakeSent bool   // the handshake has been written
	resumed       []byte // the handshake, if it names a session

	// Used by the reader alone.
	reader      *bufio.Reader
	answered    bool          // the whole answer to the handshake has come
	unread      []byte        // what the client has not read of that answer
	watchesWait time.Duration // how long the first reply waits for the request for the watches, see awaitWatches

	heard atomic.Int64 // bytes that the client has read

	once        sync.Once     // closes watchesMade
	watchesMade chan struct{} // closed when the client has made the request for the watches
}

const (
	firstWatches = time.Millisecond       // the wait in a new session, which has no watches to set again
	againWatches = 200 * time.Millisecond // the wait in a resumed one, or a 16th of the session timeout if that is less

	opSetWatches = 101
)

func newCarefulConn(nc net.Conn, c *client, address string) *carefulConn {
	return &carefulConn{
		Conn: nc, client: c, address: address,
		reader: bufio.NewReader(nc), watchesWait: firstWatches, watchesMade: make(chan struct{}),
	}
}

// SetWriteDeadline gives the handshake a deadline of its own, for writing and reading. The client gives it ten times
// the read deadline, and no deadline after its fourth byte.
func (c *carefulConn) SetWriteDeadline(t time.Time) error {
	if !c.handshakeSent { // after the dial the user's callback has been called, which may take a while
		c.handshakeTimeout = c.client.nextHandshakeTimeout()
		c.handshakeDeadline = time.Now().Add(c.handshakeTimeout)
		t = c.handshakeDeadline
	}
	return c.Conn.SetWriteDeadline(t)
}

// Write closes the connection if it fails, and reports no error: the client's reader notices. The client has room for
// two answers to a request, but would give three to one that is queued while Close runs and whose write fails.
//
// In a new session the client asks for the watches that the first replies have set: an empty list is sent instead.
func (c *carefulConn) Write(b []byte) (int, error) {
	const (
		sessionAt = 4 + 4 + 8 + 4 // in a handshake: after length, version, zxid and timeout
		opAt      = 4 + 4         // in a request: after length and xid
		listsAt   = opAt + 4 + 8  // in a SetWatches: after the opcode and a zxid
	)
	frame := b
	switch {
	case !c.handshakeSent:
		c.handshakeSent = true
		namesSession := len(b) >= sessionAt+8 && binary.BigEndian.Uint64(b[sessionAt:]) != 0
		if namesSession {
			c.resumed, c.watchesWait = slices.Clone(b), c.client.watchesWait()
		}
	case c.resumed == nil && len(b) >= listsAt && binary.BigEndian.Uint32(b[opAt:]) == opSetWatches:
		const emptyLists = 3 * 4 // bytes: of data, of existence and of children, each with the length 0
		frame = append(slices.Clone(b[:listsAt]), make([]byte, emptyLists)...)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	}
	if _, err := c.Conn.Write(frame); err != nil {
		c.Conn.Close()
	}
	return len(b), nil
}

func (c *carefulConn) SetReadDeadline(t time.Time) error {
	if !c.answered {
		t = c.handshakeDeadline
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *carefulConn) Read(b []byte) (int, error) {
	if !c.answered {
		if err := c.readAnswer(); err != nil {
			return 0, err
		}
	}
	if len(c.unread) > 0 {
		n := copy(b, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}

	if c.watchesWait > 0 { // this is the first reply
		// Fill the buffer first: over a pipe the server cannot take the watches while a reply that it writes is not read.
		if _, err := c.reader.Peek(1); err != nil {
			return 0, err
		}
		c.awaitWatches()
	}
	n, err := c.reader.Read(b)
	c.heard.Add(int64(n))
	return n, err
}

// awaitWatches waits until the client has made the request for its watches, or watchesWait has passed: a client without
// watches makes none. The request has the zxid up to which the client has seen changes, and each reply moves that on: a
// data race, and the client would miss a change. To see such a request written is not enough: it may be that of the
// connection before, which was still queued.
func (c *carefulConn) awaitWatches() {
	select {
	case <-c.watchesMade:
	case <-time.After(c.watchesWait):
	}
	c.watchesWait = 0
}

func (c *carefulConn) readAnswer() (err error) {
	defer func() {
		if timedOut(err) {
			err = fmt.Errorf("accepts the connection but has not answered within %v: %w", c.handshakeTimeout, err)
		}
		c.client.handshakeEnded(c, err)
	}()
	answer, err := readHandshake(c.reader)
	if err != nil && !timedOut(err) && !errors.Is(err, errForeign) {
		answer, err = c.refused(err)
	}
	if err != nil {
		return err
	}

	if session := sessionOf(answer); session == 0 {
		c.client.expired.Store(true)
	} else {
		timeout := time.Duration(binary.BigEndian.Uint32(answer[4+4:])) * time.Millisecond // behind length and version
		c.client.timeout.Store(int64(timeout))
		c.client.logger.Info("zkconn: connected", "server", c.address, "session", fmt.Sprintf("%#x", session), "timeout", timeout)
	}
	c.answered, c.unread = true, answer
	return nil
}

// refused handles that the server has closed the connection without an answer, as one does that lacks what the client
// has seen: for all time if it has lost its data. So it is asked about the session. If it says that the session is
// over, that is the answer to the handshake. Otherwise the error has possible reasons.
func (c *carefulConn) refused(err error) (answer []byte, _ error) {
	why := "no quorum, or too many connections from this host (maxClientCnxns, 60 by default)"
	if c.client.tls == nil {
		why += ", or it expects TLS"
	}
	if c.resumed != nil {
		why = "no quorum, or it lags, or it has lost its data; the client keeps its session"
		if c.client.sessionRefused() {
			answer = c.ask()
		}
	}
	if answer == nil {
		return nil, fmt.Errorf("closes the connection without an answer: %s: %w", why, err)
	}
	return answer, nil
}

// ask asks a server that has refused the handshake about the session, without the zxid,
// on another connection. It returns the answer if that says that the session is over.
//
// A server in trouble closes this connection, too: it has no quorum, and the next leader may know the session. One that
// lags asks the leader. So a session that lives is not given up, and nothing else is read from a server that the client
// is ahead of. A leader that has been replaced, and does not know yet, may not know the session. However, no server has
// heard of the client for as long as sessionRefused has put off the question.
func (c *carefulConn) ask() (over []byte) {
	nc, err := c.dial(c.address)
	if err != nil {
		return nil
	}
	defer nc.Close()
	const zxid = 4 + 4 // its offset in a handshake, after length and version
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
		c.client.askLater()
	}
	return nil
}

var errForeign = errors.New("this is not ZooKeeper's protocol")

func readHandshake(r *bufio.Reader) ([]byte, error) {
	const least, most = 4 + 4 + 8, 4096 // bytes: version, timeout and session, which a password follows
	head, err := r.Peek(4)              // the length
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < least || n > most {
		return nil, fmt.Errorf("%w: the answer to the handshake begins with %q", errForeign, head)
	}
	answer := make([]byte, 4+n)
	_, err = io.ReadFull(r, answer)
	return answer, err
}

// sessionOf returns the session in an answer to a handshake, behind length, version and timeout. 0: it is over.
func sessionOf(answer []byte) uint64 { return binary.BigEndian.Uint64(answer[4+4+4:]) }

// watchesAreSet lets the first reply be read. The client's hook calls it, see client.begin.
func (c *carefulConn) watchesAreSet() { c.once.Do(func() { close(c.watchesMade) }) }

// mayHelp reports whether another connection may help the client, while this one stays silent: one of the servers has a
// leader. If the leader is silent, too, no server can take the session over, and to leave this one only costs time.
func (c *carefulConn) mayHelp() bool {
	moment := c.client.leaseTimeout() / 16 // in which a server that has a leader sees a change
	heard := c.heard.Load()
	addresses := c.client.addresses()
	switch {
	case len(addresses) == 0 && c.client.servers() > 1:
		return true // it is not known where they are
	case len(addresses) == 0:
		addresses = []string{c.address}
	}

	answers := make(chan bool, len(addresses))
	for _, address := range addresses {
		go func() { answers <- c.hasLeader(address, moment) }()
	}
	for range addresses {
		if <-answers {
			time.Sleep(2 * moment) // if this server goes on after a pause, it answers, too
			return c.heard.Load() == heard
		}
	}
	return false
}

// hasLeader reports whether a server says that it leads, stands alone, or follows and has seen a change after a moment.
// A server that does not say what it is may have a leader, too.
func (c *carefulConn) hasLeader(address string, moment time.Duration) bool {
	mode, zxid := c.srvr(address)
	if mode != "follower" && mode != "observer" {
		return mode != ""
	}
	time.Sleep(moment)
	_, later := c.srvr(address)
	return later != "" && later != zxid
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
	limit := c.client.leaseTimeout() / 8
	if address == c.address {
		limit /= 2 // if it answers later, it has only paused
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

// leastHandshakeTimeout is how long a server may take to answer the handshake at first: 1 s, or longer if all servers
// can still be tried within a third of the session timeout.
func (c *client) leastHandshakeTimeout() time.Duration {
	return max(time.Second, c.SessionTimeout()/3/time.Duration(max(1, c.servers())))
}

// nextHandshakeTimeout is how long the next server may take: longer if the last one has not answered in time.
func (c *client) nextHandshakeTimeout() time.Duration {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	most := max(least, c.SessionTimeout())
	return min(max(least, c.handshakeTimeout), most)
}

// handshakeEnded notes how a handshake has ended. A server whose answer the client did not wait for has begun a session
// all the same. So the next one gets more time: where all are slow, few such sessions are left behind.
func (c *client) handshakeEnded(conn *carefulConn, err error) {
	least := c.leastHandshakeTimeout()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.connected, c.askAt, c.shortPauses = conn, time.Time{}, 0
		clear(c.tried)
		c.handshakeTimeout = 0
		if took := conn.handshakeTimeout - time.Until(conn.handshakeDeadline); took > least {
			c.handshakeTimeout = conn.handshakeTimeout
		}
		return
	case timedOut(err):
		c.tooSlowLocked(conn.handshakeTimeout)
	}
	c.tried[conn.address] = err
}

// tooSlowLocked notes that a server has not answered within limit: the next one has half as long again.
func (c *client) tooSlowLocked(limit time.Duration) { c.handshakeTimeout = limit * 3 / 2 }

func timedOut(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// sessionRefused notes that a server has closed the connection instead of answering a handshake that names a session.
// mayAsk is true if it may be asked about the session: one and a half session timeouts after the first such refusal.
func (c *client) sessionRefused() (mayAsk bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.askAt.IsZero() {
		c.askAt = time.Now().Add(c.SessionTimeout() * 3 / 2)
	}
	return !time.Now().Before(c.askAt)
}

// askLater puts off the next question about the session: this one may have kept it, for its timeout and a tick.
func (c *client) askLater() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askAt = time.Now().Add(c.SessionTimeout() * 3)
}
