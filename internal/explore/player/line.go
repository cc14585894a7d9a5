package player

import (
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"example.com/zklock/internal/jute"
)

// A Line is one connection between a client and the server, in memory. A packet stays on it until the explorer
// delivers it. Both directions are first in, first out, as TCP is. Nothing that is written to it blocks.
type Line struct {
	w *Player
	c *Client

	// Guarded by w.mu.
	handshakeDone  bool            // from then on packets wait for the explorer
	Up, Down       []Frame         // on their way to the server, and to the client
	toServer       []byte          // delivered, and not read yet
	toClient       []byte          // the same
	unanswered     map[int32]Frame // the requests that have no reply yet, by their xid
	Broken         bool            // nothing crosses it any more
	ClosedByServer bool            // the server has closed its end
	FailedLast     bool            // the newest reply is an error
	wakeServer     *sync.Cond      // wakes the server's Read
	wakeClient     *sync.Cond      // wakes the client's Read and Write
}

func newLine(w *Player, c *Client) *Line {
	return &Line{w: w, c: c, unanswered: make(map[int32]Frame),
		wakeServer: sync.NewCond(&w.mu), wakeClient: sync.NewCond(&w.mu)}
}

// BreakLocked loses all that is on the line.
func (l *Line) BreakLocked() {
	l.Broken = true
	l.loseLocked(&l.Up)
	l.loseLocked(&l.Down)
	l.wakeServer.Broadcast()
	l.wakeClient.Broadcast()
}

// WakeLocked has the client look at the line again.
func (l *Line) WakeLocked() { l.wakeClient.Broadcast() }

// CutOffLocked reports whether nothing gets through any more.
func (l *Line) CutOffLocked() bool { return l.Broken || l.ClosedByServer && len(l.Down) == 0 }

func (l *Line) loseLocked(queue *[]Frame) {
	for i := range *queue {
		l.w.Camera.Arrived(&(*queue)[i], isLost)
	}
	*queue = nil
}

// arriveAtServerLocked delivers the first packet on its way to the server.
func (l *Line) arriveAtServerLocked() Frame {
	p := l.Up[0]
	l.Up = slices.Delete(l.Up, 0, 1)
	l.unanswered[p.xid] = p
	l.w.Camera.Arrived(&p, !isLost)
	l.toServer = append(l.toServer, p.raw...)
	l.wakeServer.Broadcast()
	return p
}

// arriveAtClientLocked delivers the first packet on its way to the client.
func (l *Line) arriveAtClientLocked() Frame {
	p := l.Down[0]
	l.Down = slices.Delete(l.Down, 0, 1)
	l.c.newestZxid = max(l.c.newestZxid, p.zxid)
	l.w.Camera.Arrived(&p, !isLost)
	if p.IsEvent && l.w.Tagged {
		l.toClient = append(l.toClient, p.eventForEach(l.c.Contenders)...)
	} else {
		l.toClient = append(l.toClient, p.raw...)
	}
	l.wakeClient.Broadcast()
	return p
}

// A clientEnd is the client library's net.Conn.
type clientEnd struct{ *Line }

func (e clientEnd) Write(b []byte) (int, error) {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for l.c.stalled && !l.Broken {
		l.wakeClient.Wait()
	}
	if l.Broken {
		return 0, io.ErrClosedPipe
	}
	const leastRequest = 12 // bytes: its length, its xid and its operation
	switch {
	case !l.handshakeDone:
		l.toServer = append(l.toServer, b...)
		l.wakeServer.Broadcast()
	case len(b) >= leastRequest && parseRequest(b).Op == jute.OpPing:
		// The line answers it: a ping that waits for the explorer would only make schedules longer.
		l.toClient = append(l.toClient, encodeFrame((&jute.ReplyHeader{Xid: jute.XidPing}).Encode)...)
		l.wakeClient.Broadcast()
	default:
		l.sendUpLocked(slices.Clone(b))
	}
	return len(b), nil
}

// sendUpLocked puts a request on its way to the server.
func (l *Line) sendUpLocked(raw []byte) {
	tag := ""
	if l.w.Tagged {
		raw, tag = untag(raw)
	}
	p := parseRequest(raw)
	p.Tag, p.turn = tag, l.w.Turn
	l.Up = append(l.Up, p)
	l.w.noteActivityLocked()
	if l.w.gatesOpen {
		l.arriveAtServerLocked()
	}
}

func (e clientEnd) Read(b []byte) (int, error) {
	over := func() bool { return !e.c.Stopped && e.CutOffLocked() } // a stopped client does not notice
	return e.read(b, &e.toClient, over, e.wakeClient)
}

// read is Read of an end: it waits for bytes that are delivered there, or until the line is over for that end.
func (l *Line) read(b []byte, delivered *[]byte, over func() bool, wake *sync.Cond) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for {
		if n := copy(b, *delivered); n > 0 {
			*delivered = slices.Delete(*delivered, 0, n)
			return n, nil
		}
		if over() {
			return 0, io.EOF
		}
		wake.Wait()
	}
}

func (e clientEnd) Close() error {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.BreakLocked()
	return nil
}

// A serverEnd is the server's net.Conn.
type serverEnd struct{ *Line }

func (e serverEnd) Read(b []byte) (int, error) {
	return e.read(b, &e.toServer, func() bool { return e.Broken || e.ClosedByServer }, e.wakeServer)
}

func (e serverEnd) Write(b []byte) (int, error) {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.Broken || l.ClosedByServer {
		return 0, io.ErrClosedPipe
	}
	splitFrames(b, func(raw []byte) {
		if l.handshakeDone {
			l.sendDownLocked(raw)
			return
		}
		l.handshakeDone = true // raw is the answer to it
		l.toClient = append(l.toClient, raw...)
		l.wakeClient.Broadcast()
	})
	return len(b), nil
}

// sendDownLocked puts a reply or an event on its way to the client.
func (l *Line) sendDownLocked(raw []byte) {
	// A server that lags (World.Behind) has no node that is newer than the newest answer that the client has got.
	hidden := func(path string) bool { return l.c.behind && l.w.czxids[path] > l.c.newestZxid }
	p := parseReply(raw, l.unanswered, hidden)
	p.retag()
	p.turn = l.w.Turn
	l.FailedLast = !p.IsEvent && p.Err != jute.OK
	if !p.IsEvent {
		l.w.noteReplyLocked(l.c, &p)
	}
	l.Down = append(l.Down, p)
	l.w.Unscheduled = true
	l.w.Touched.addClient(l.c)
	if l.w.gatesOpen {
		l.arriveAtClientLocked()
	}
}

func (e serverEnd) Close() error {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.ClosedByServer = true
	l.loseLocked(&l.Up)
	l.wakeServer.Broadcast()
	l.wakeClient.Broadcast()
	return nil
}

// A line is in memory, and a wait on it lasts no longer than the explorer allows.
func (l *Line) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "memory"} }
func (l *Line) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "memory"} }
func (l *Line) SetDeadline(time.Time) error      { return nil }
func (l *Line) SetReadDeadline(time.Time) error  { return nil }
func (l *Line) SetWriteDeadline(time.Time) error { return nil }
