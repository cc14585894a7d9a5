package zkserver

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"time"

	"example.com/zklock/internal/jute"
)

// maxBacklog is how many bytes may wait for a client before no more of its requests
// are read: a client that sends requests and never reads must not fill the memory.
const maxBacklog = 1 << 20

// sendAt is how many bytes of replies wait before they are sent, if another request is at hand.
// Fewer cost more system calls; more no longer fit in the processor's caches.
const sendAt = 64 << 10

// A conn is one client connection: a reader goroutine that carries out its requests in order and sends their replies,
// and a writer goroutine that sends what other goroutines put into out. Both send by flush, one at a time.
type conn struct {
	s      *Server
	net    net.Conn
	wake   chan struct{} // there may be something to send
	space  chan struct{} // the writer has taken the backlog
	closed chan struct{} // closed with the connection
	number int64         // of this connection, in the order in which connections came
	addr   string        // that the client has dialed; "" for one that came by Serve

	// Guarded by s.mu.
	session    *session // nil before the handshake
	identities []identity
	out        jute.Encoder // frames that wait to be sent
	spare      []byte       // memory for the next out
	writing    bool         // one of the two goroutines is in flush
	gates      []gate       // where sending stops, in order
	ending     bool         // to be closed once out is sent
	dead       bool
	lastMet    Request // that a fault has met

	// For the four-letter words. Guarded by s.mu.
	opened         time.Time
	lastRequest    Request
	received, sent int64 // packets
}

// A gate holds back all of out from an offset on.
type gate struct {
	offset int
	fault  *Fault
}

// serve takes over a connection that has come in at an address.
func (s *Server) serve(nc net.Conn, addr string) error {
	c := &conn{
		s: s, net: nc, addr: addr, opened: time.Now(),
		wake:   make(chan struct{}, 1),
		space:  make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
	ip := "127.0.0.1" // a pipe has no address; its other end is in this process
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ip = a.IP.String()
	}
	c.identities = []identity{{"ip", ip}}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.stoppedLocked(addr) {
		return errStopped
	}
	s.lastConn++
	c.number = s.lastConn
	s.conns[c] = struct{}{}
	s.wg.Go(c.read)
	s.wg.Go(c.write)
	return nil
}

// closeLocked ends the connection at once. What was not sent is lost; the session lives on.
func (c *conn) closeLocked() {
	if c.removeLocked() {
		c.net.Close()
	}
}

// removeLocked is closeLocked, but leaves the line itself open. It returns false if the connection has ended before.
func (c *conn) removeLocked() bool {
	if c.dead {
		return false
	}
	c.detachLocked()
	c.dead = true
	delete(c.s.conns, c)
	close(c.closed)
	return true
}

// endLocked ends the connection when all that is in out has been sent.
func (c *conn) endLocked() {
	if c.dead {
		return
	}
	c.detachLocked()
	c.ending = true
	signal(c.wake)
}

// detachLocked takes the watches from the connection, and the connection from its session, which lives on.
func (c *conn) detachLocked() {
	c.s.dataWatches.drop(c)
	c.s.childWatches.drop(c)
	if c.session != nil && c.session.conn == c {
		c.session.conn = nil
	}
}

func (c *conn) close() {
	c.s.mu.Lock()
	c.closeLocked()
	c.s.mu.Unlock()
}

func (c *conn) countReceivedLocked(r Request) {
	c.s.received++
	c.received++
	c.lastRequest = r
}

func (c *conn) countSentLocked() {
	c.s.sent++
	c.sent++
}

// signal wakes the goroutine that waits for ch, or the next one that comes to wait.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (c *conn) sendEventLocked(event jute.EventType, path string) {
	if c.dead || c.ending {
		return
	}
	c.out.Frame(&jute.ReplyHeader{Xid: jute.XidEvent, Zxid: -1},
		&jute.WatcherEvent{Type: event, State: jute.StateSyncConnected, Path: path})
	c.countSentLocked()
	signal(c.wake)
}

// sendReplyLocked queues a reply, for the reader to send; the body is dropped unless all went well.
func (c *conn) sendReplyLocked(h jute.ReplyHeader, body []byte) {
	if c.dead || c.ending {
		return
	}
	mark := c.out.BeginFrame()
	h.Encode(&c.out)
	if h.Err == jute.OK {
		c.out.Raw(body)
	}
	c.out.EndFrame(mark)
	c.countSentLocked()
}

// write sends what other goroutines have queued for the client: events, mostly.
func (c *conn) write() {
	defer c.close()
	for {
		select {
		case <-c.wake:
		case <-c.closed:
			return
		}
		if !c.flush() {
			return
		}
	}
}

// flush sends what is queued, up to the first gate. It returns when there is no more, or at once if
// the other goroutine sends already. It returns false if the connection is to be closed.
func (c *conn) flush() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.writing {
		return true // it looks for more before it stops
	}
	c.writing = true
	defer func() { c.writing = false }()
	for {
		n := c.out.Len()
		if len(c.gates) > 0 {
			n = c.gates[0].offset
		}
		if n == 0 {
			return !c.ending || c.out.Len() > 0
		}
		batch := c.out.Take(n, c.spare)
		for i := range c.gates {
			c.gates[i].offset -= n
		}
		signal(c.space)
		if c.ending { // a peer that does not read its last packets does not keep the goroutine
			c.net.SetWriteDeadline(time.Now().Add(handshakeTimeout))
		}

		c.s.mu.Unlock()
		_, err := c.net.Write(batch)
		c.s.mu.Lock()
		if err != nil {
			return false
		}
		c.spare = batch
		if cap(batch) > maxBacklog {
			c.spare = nil // the memory of a long backlog is not kept
		}
	}
}

// read does the handshake and then carries out one request after the other.
func (c *conn) read() {
	defer func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if c.ending {
			signal(c.wake) // the writer closes it when all has been sent
		} else {
			c.closeLocked()
		}
	}()
	r := bufio.NewReader(c.net)
	if !c.handshake(r) {
		return
	}
	var frame []byte
	busy := false // whether Server.busy counts this connection; a moment in which none is counted is a lull
	endBusy := func() {
		if busy && c.s.busy.Add(-1) == 0 {
			c.s.lulls.Add(1)
		}
		busy = false
	}
	defer endBusy()

	for {
		// Replies are sent when there is no other request at hand: one by
		// one to a client that waits for each, many at once under load.
		ready := frameReady(r)
		if ready {
			// As on a real server, the other connections have their turn between two requests of this one.
			runtime.Gosched()
		} else {
			endBusy()
		}
		if (!ready || c.backlog() >= sendAt) && !c.flush() {
			return
		}

		var err error
		if frame, err = jute.ReadFrame(r, frame, jute.MaxFrame); err != nil {
			return
		}
		if !busy {
			busy = true
			c.s.busy.Add(1)
		}
		if !c.handle(frame) || !c.waitForSpace() {
			return
		}
		if cap(frame) > 64<<10 { // the memory of one large packet is not kept
			frame = nil
		}
	}
}

// frameReady reports whether a whole packet has been read ahead.
func frameReady(r *bufio.Reader) bool {
	if r.Buffered() < 4 {
		return false
	}
	head, _ := r.Peek(4)
	return r.Buffered()-4 >= int(binary.BigEndian.Uint32(head))
}

func (c *conn) backlog() int {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.out.Len()
}

// waitForSpace returns when the backlog is short enough, or false when the connection is closed.
func (c *conn) waitForSpace() bool {
	for c.backlog() > maxBacklog {
		if !c.flush() {
			return false
		}
		select {
		case <-c.space:
		case <-c.closed:
			return false
		}
	}
	return true
}

// handshake attaches the connection to a session, or answers a four-letter
// word. It returns false if there is nothing more to read.
func (c *conn) handshake(r *bufio.Reader) bool {
	req, ok := c.readConnect(r)
	if !ok {
		return false
	}
	f, ok := c.meetFault(Request{Session: req.SessionID, Op: jute.OpConnect}) // a fault of a test may hold or lose it
	return ok && c.answerConnect(&req, f)
}

// readConnect reads the request for a session. It returns false if there is none, as after a four-letter word.
func (c *conn) readConnect(r *bufio.Reader) (req jute.ConnectRequest, ok bool) {
	c.net.SetReadDeadline(time.Now().Add(max(handshakeTimeout, c.s.tick)))
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return req, false
	}
	if c.fourLetterWord(string(head[:])) {
		return req, false
	}
	frame, err := jute.ReadFrameBody(r, nil, int32(binary.BigEndian.Uint32(head[:])), jute.MaxFrame)
	if err != nil {
		return req, false
	}
	c.net.SetReadDeadline(time.Time{})

	d := jute.NewDecoder(frame)
	req.Decode(d)
	return req, d.Err() == nil
}

// answerConnect gives the connection its session, or refuses it. It returns false if the connection ends. f may be nil.
func (c *conn) answerConnect(req *jute.ConnectRequest, f *Fault) bool {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.countReceivedLocked(Request{})
	if c.dead {
		return false
	}
	if req.LastZxidSeen > s.zxid {
		s.refuses()
		return false // a client that has seen more than this server has must try another one
	}
	resp := jute.ConnectResponse{Password: make([]byte, 16), HasReadOnly: req.HasReadOnly}

	_, refused := f.errorInstead() // by Server.Fail
	attached := !refused && s.attachLocked(c, req)
	if attached {
		resp.TimeoutMs = int32(c.session.timeout / time.Millisecond)
		resp.SessionID = c.session.id
		resp.Password = c.session.password
	}
	mark := c.out.Len()
	c.out.Frame(&resp)
	c.countSentLocked()
	c.applyReplyFaultLocked(f, mark)
	signal(c.wake)
	if !attached {
		c.endLocked()
	}
	return attached && !c.ending
}
