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
	open       bool // the handshake is over: packets wait for the explorer
	Up, Down   []Frame
	toServer   []byte          // delivered, and not read yet
	toClient   []byte          // the same
	asked      map[int32]Frame // requests that have no reply yet
	Broken     bool            // nothing crosses it any more
	ServerEnd  bool            // the server has closed its end
	FailedLast bool            // the newest reply is an error
	server     *sync.Cond      // wakes the server's Read
	client     *sync.Cond      // wakes the client's Read and Write
}

func newLine(w *Player, c *Client) *Line {
	return &Line{w: w, c: c, asked: make(map[int32]Frame), server: sync.NewCond(&w.mu), client: sync.NewCond(&w.mu)}
}

// BreakLocked loses all that is on the line.
func (l *Line) BreakLocked() {
	l.Broken = true
	l.loseLocked(&l.Up)
	l.loseLocked(&l.Down)
	l.server.Broadcast()
	l.client.Broadcast()
}

// WakeLocked has the client look at the line again.
func (l *Line) WakeLocked() { l.client.Broadcast() }

// CutOffLocked reports whether nothing gets through any more.
func (l *Line) CutOffLocked() bool { return l.Broken || l.ServerEnd && len(l.Down) == 0 }

func (l *Line) loseLocked(queue *[]Frame) {
	for i := range *queue {
		l.w.Camera.Arrived(&(*queue)[i], true)
	}
	*queue = nil
}

// carryLocked delivers the first packet of the way up.
func (l *Line) carryLocked() Frame {
	p := l.Up[0]
	l.Up = slices.Delete(l.Up, 0, 1)
	l.asked[p.xid] = p
	l.w.Camera.Arrived(&p, false)
	l.toServer = append(l.toServer, p.raw...)
	l.server.Broadcast()
	return p
}

// answerLocked delivers the first packet of the way down.
func (l *Line) answerLocked() Frame {
	p := l.Down[0]
	l.Down = slices.Delete(l.Down, 0, 1)
	l.c.seen = max(l.c.seen, p.zxid)
	l.w.Camera.Arrived(&p, false)
	if p.IsEvent && l.w.Tagged {
		l.toClient = append(l.toClient, p.forEach(l.c.Contenders)...)
	} else {
		l.toClient = append(l.toClient, p.raw...)
	}
	l.client.Broadcast()
	return p
}

// A clientEnd is the client library's net.Conn.
type clientEnd struct{ *Line }

func (e clientEnd) Write(b []byte) (int, error) {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for l.c.stalled && !l.Broken {
		l.client.Wait()
	}
	if l.Broken {
		return 0, io.ErrClosedPipe
	}
	switch {
	case !l.open:
		l.toServer = append(l.toServer, b...)
		l.server.Broadcast()
	case len(b) >= 12 && parseRequest(b).Op == jute.OpPing: // 12: the length, the xid and the operation
		// The line answers it: an idle client is as good as one that pings.
		l.toClient = append(l.toClient, packet((&jute.ReplyHeader{Xid: jute.XidPing}).Encode)...)
		l.client.Broadcast()
	default:
		raw, tag := append([]byte(nil), b...), ""
		if l.w.Tagged {
			raw, tag = untag(raw)
		}
		p := parseRequest(raw)
		p.Tag = tag
		p.turn = l.w.Turn
		l.Up = append(l.Up, p)
		l.w.stirLocked()
		if l.w.free {
			l.carryLocked()
		}
	}
	return len(b), nil
}

func (e clientEnd) Read(b []byte) (int, error) {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for {
		if n := copy(b, l.toClient); n > 0 {
			l.toClient = slices.Delete(l.toClient, 0, n)
			return n, nil
		}
		if !l.c.Stopped && l.CutOffLocked() { // a stopped client does not notice
			return 0, io.EOF
		}
		l.client.Wait()
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
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for {
		if n := copy(b, l.toServer); n > 0 {
			l.toServer = slices.Delete(l.toServer, 0, n)
			return n, nil
		}
		if l.Broken || l.ServerEnd {
			return 0, io.EOF
		}
		l.server.Wait()
	}
}

func (e serverEnd) Write(b []byte) (int, error) {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.Broken || l.ServerEnd {
		return 0, io.ErrClosedPipe
	}
	cutFrames(b, func(raw []byte) {
		if !l.open {
			l.open = true // the answer to the handshake
			l.toClient = append(l.toClient, raw...)
			l.client.Broadcast()
			return
		}
		asked := func(xid int32) Frame {
			req := l.asked[xid]
			delete(l.asked, xid)
			return req
		}
		hidden := func(path string) bool { return l.c.behind && l.w.born[path] > l.c.seen }
		p := parseReply(raw, asked, hidden)
		p.retag()
		p.turn = l.w.Turn
		l.FailedLast = !p.IsEvent && p.Err != jute.OK
		if !p.IsEvent {
			l.w.noteReplyLocked(l.c, &p)
		}
		l.Down = append(l.Down, p)
		l.w.Unscheduled = true
		l.w.Foot.client(l.c)
		if l.w.free {
			l.answerLocked()
		}
	})
	return len(b), nil
}

func (e serverEnd) Close() error {
	l := e.Line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.ServerEnd = true
	l.loseLocked(&l.Up)
	l.server.Broadcast()
	l.client.Broadcast()
	return nil
}

// A line is in memory, and a wait on it lasts no longer than the explorer allows.
func (l *Line) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "memory"} }
func (l *Line) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "memory"} }
func (l *Line) SetDeadline(time.Time) error      { return nil }
func (l *Line) SetReadDeadline(time.Time) error  { return nil }
func (l *Line) SetWriteDeadline(time.Time) error { return nil }
