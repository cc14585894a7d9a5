package bubble

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"time"

	"example.com/zklock/internal/jute"
)

// A Way is one direction of a network. Packets arrive in order.
type Way struct {
	Far time.Duration // how long a packet is on its way; several can be on their way at once
	// Packet, if it is not nil, returns what arrives in place of a packet, both with the length in
	// front; if the result is empty, nothing arrives. The packets behind it wait until it returns.
	Packet func(packet []byte) []byte
}

// Through puts a network between a client and the server at the other end of nc. As with a socket, a write does
// not wait for the other side, and the end of a connection is noticed by its reader. Deadlines and
// Close of the client are those of net.Pipe. Data sent before Close still arrives; then nc is closed.
func Through(nc net.Conn, up, down Way) net.Conn {
	client, far := net.Pipe()
	go up.carry(far, nc)
	go down.carry(nc, far)
	return client
}

// onTheWay is how many pieces a line holds before its sender has to wait. The client sends each request as one piece.
const onTheWay = 4096

// carry sends what it reads, and closes `to` at its end. If `to` fails, it reads on until the other one closes `from`.
func (w Way) carry(from, to net.Conn) {
	type piece struct {
		data []byte
		due  time.Time
	}
	line := make(chan piece, onTheWay)
	go func() {
		defer close(line)
		buf := make([]byte, 32<<10)
		for {
			data, err := w.read(from, buf)
			line <- piece{data, time.Now().Add(w.Far)}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for p := range line {
		time.Sleep(time.Until(p.due))
		if w.Packet != nil && len(p.data) > 0 && !failed {
			p.data = w.Packet(p.data)
		}
		if len(p.data) > 0 && !failed { // to write nothing to a pipe would wait for a reader, too
			_, err := to.Write(p.data)
			failed = err != nil
		}
	}
	to.Close()
}

// read reads one packet if Packet is set, else what there is: a four-letter word's answer comes four bytes at a time.
func (w Way) read(src net.Conn, buf []byte) (data []byte, err error) {
	if w.Packet == nil {
		n, err := src.Read(buf)
		return bytes.Clone(buf[:n]), err
	}
	n, err := io.ReadFull(src, buf[:4])
	data = bytes.Clone(buf[:n])
	if size := binary.BigEndian.Uint32(buf); err == nil && size <= jute.MaxFrame {
		data = append(data, make([]byte, size)...)
		n, err = io.ReadFull(src, data[4:])
		data = data[:4+n]
	}
	return data, err
}

// A WordAnswers is a connection that answers, instead of the server, the word srvr: it asks what a server is.
type WordAnswers struct {
	net.Conn
	Answer func() string
	asked  atomic.Bool
}

func (w *WordAnswers) Write(b []byte) (int, error) {
	if string(b) == "srvr" {
		w.asked.Store(true)
		return len(b), nil
	}
	return w.Conn.Write(b)
}

func (w *WordAnswers) Read(b []byte) (int, error) {
	if w.asked.Load() {
		return copy(b, w.Answer()), io.EOF
	}
	return w.Conn.Read(b)
}
