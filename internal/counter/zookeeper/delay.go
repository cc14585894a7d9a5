package zookeeper

import (
	"net"
	"time"
)

// delayed puts distance between a client and the server at the other end of nc: data
// from either arrives half a round trip later, in order. Deadlines and Close of the
// client are those of net.Pipe. Data sent before Close still arrives; then nc is
// closed.
func delayed(nc net.Conn, rtt time.Duration) net.Conn {
	client, end := net.Pipe()
	go carry(nc, end, rtt/2)
	go carry(end, nc, rtt/2)
	return client
}

// onTheWay is how many pieces a line holds before its sender has to wait. The
// client sends each request as a piece of its own.
const onTheWay = 4096

// carry sends to dst what it reads from src, a delay later, and closes dst when
// src has ended. Where dst has failed, the carrier in the other direction reads
// the end there, and closes src.
func carry(dst, src net.Conn, delay time.Duration) {
	type piece struct {
		data []byte
		due  time.Time
	}
	line := make(chan piece, onTheWay)
	go func() {
		defer close(line)
		buf := make([]byte, 32<<10)
		for {
			n, err := src.Read(buf)
			line <- piece{append([]byte(nil), buf[:n]...), time.Now().Add(delay)}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for p := range line {
		time.Sleep(time.Until(p.due))
		if len(p.data) > 0 && !failed { // a pipe would wait for a reader of nothing
			_, err := dst.Write(p.data)
			failed = err != nil
		}
	}
	dst.Close()
}
