package explore

import (
	"io"
	"net"
	"sync"
	"time"

	"example.com/zklock/internal/jute"
)

// A line is one connection between a client and the server, in memory. A
// packet stays on it until the explorer delivers it. Both directions are
// first in, first out, as TCP is. Nothing that is written to it blocks.
type line struct {
	w *world
	c *client

	// Guarded by w.mu.
	open      bool // the handshake is over: packets wait for the explorer
	up, down  []packet
	toServer  []byte // delivered, not read yet
	toClient  []byte
	asked     map[int32]packet // requests that have no reply yet
	broken    bool             // nothing crosses it any more
	serverEnd bool             // the server has closed its end
	// The newest reply is an error. Requests are carried out one by one.
	failedLast bool
	server     *sync.Cond
	client     *sync.Cond
}

func newLine(w *world, c *client) *line {
	return &line{w: w, c: c, asked: make(map[int32]packet), server: sync.NewCond(&w.mu), client: sync.NewCond(&w.mu)}
}

// breakLocked loses all that is on the line.
func (l *line) breakLocked() {
	l.broken = true
	l.loseLocked(&l.up)
	l.loseLocked(&l.down)
	l.server.Broadcast()
	l.client.Broadcast()
}

func (l *line) loseLocked(queue *[]packet) {
	for i := range *queue {
		l.w.film.arrive(&(*queue)[i], true)
	}
	*queue = nil
}

// carryLocked delivers the first packet of the way up.
func (l *line) carryLocked() packet {
	p := l.up[0]
	l.up = l.up[1:]
	l.asked[p.xid] = p
	l.w.film.arrive(&p, false)
	l.toServer = append(l.toServer, p.raw...)
	l.server.Broadcast()
	return p
}

// answerLocked delivers the first packet of the way down.
func (l *line) answerLocked() packet {
	p := l.down[0]
	l.down = l.down[1:]
	l.w.film.arrive(&p, false)
	if p.isEvent && l.w.tagged {
		l.toClient = append(l.toClient, p.forEach(l.c.players)...)
	} else {
		l.toClient = append(l.toClient, p.raw...)
	}
	l.client.Broadcast()
	return p
}

// A clientEnd is the client library's net.Conn.
type clientEnd struct{ *line }

func (e clientEnd) Write(b []byte) (int, error) {
	l := e.line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for l.c.stalled && !l.broken {
		l.client.Wait()
	}
	if l.broken {
		return 0, io.ErrClosedPipe
	}
	switch {
	case !l.open:
		l.toServer = append(l.toServer, b...)
		l.server.Broadcast()
	case len(b) >= 12 && parseRequest(b).op == jute.OpPing:
		// The line answers it: an idle client is as good as one that pings.
		l.toClient = append(l.toClient, pong()...)
		l.client.Broadcast()
	default:
		raw, tag := append([]byte(nil), b...), ""
		if l.w.tagged {
			raw, tag = untag(raw)
		}
		p := parseRequest(raw)
		p.tag = tag
		p.turn = l.w.turn
		l.up = append(l.up, p)
		l.w.stirLocked()
		if l.w.free {
			l.carryLocked()
		}
	}
	return len(b), nil
}

func (e clientEnd) Read(b []byte) (int, error) {
	l := e.line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for {
		if n := copy(b, l.toClient); n > 0 {
			l.toClient = l.toClient[n:]
			return n, nil
		}
		if l.c.stopped {
			l.client.Wait()
			continue
		}
		if l.broken || l.serverEnd && len(l.down) == 0 {
			return 0, io.EOF
		}
		l.client.Wait()
	}
}

func (e clientEnd) Close() error {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.breakLocked()
	return nil
}

// A serverEnd is the server's net.Conn.
type serverEnd struct{ *line }

func (e serverEnd) Read(b []byte) (int, error) {
	l := e.line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for {
		if n := copy(b, l.toServer); n > 0 {
			l.toServer = l.toServer[n:]
			return n, nil
		}
		if l.broken || l.serverEnd {
			return 0, io.EOF
		}
		l.server.Wait()
	}
}

func (e serverEnd) Write(b []byte) (int, error) {
	l := e.line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.broken || l.serverEnd {
		return 0, io.ErrClosedPipe
	}
	cutFrames(b, func(raw []byte) {
		if !l.open {
			l.open = true // the answer to the handshake
			l.toClient = append(l.toClient, raw...)
			l.client.Broadcast()
			return
		}
		p := parseReply(raw, func(xid int32) packet {
			req := l.asked[xid]
			delete(l.asked, xid)
			return req
		})
		p.retag()
		p.turn = l.w.turn
		l.failedLast = !p.isEvent && p.err != jute.OK
		if !p.isEvent {
			l.w.noteReplyLocked(l.c, &p)
		}
		l.down = append(l.down, p)
		l.w.unscheduled = true
		l.w.foot.client(l.c)
		if l.w.free {
			l.answerLocked()
		}
	})
	return len(b), nil
}

func (e serverEnd) Close() error {
	l := e.line
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.serverEnd = true
	l.loseLocked(&l.up)
	l.server.Broadcast()
	l.client.Broadcast()
	return nil
}

// A line has no address, and nobody waits on it longer than the explorer
// wants.
type nowhere struct{}

func (nowhere) Network() string { return "memory" }
func (nowhere) String() string  { return "memory" }

func (l *line) LocalAddr() net.Addr              { return nowhere{} }
func (l *line) RemoteAddr() net.Addr             { return nowhere{} }
func (l *line) SetDeadline(time.Time) error      { return nil }
func (l *line) SetReadDeadline(time.Time) error  { return nil }
func (l *line) SetWriteDeadline(time.Time) error { return nil }
