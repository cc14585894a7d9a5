package film

import (
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/jute"
)

// A Server is the time that a server works. It carries out one request after the other,
// in the order in which they come, and sends what a request has caused when it is done
// with it. A request that comes meanwhile waits: Packet.Queued.
type Server struct {
	Request time.Duration // for each request
	Write   time.Duration // and for one that has written, which goes to the log
	Event   time.Duration // and for each event that it causes
	Byte    time.Duration // and for each byte of replies and events
}

// Measured is the time of ZooKeeper 3.8.0 on loopback, with a session for each
// contender, and the pace to film it. The benchmark's page says how it was found.
func Measured(contenders int) Pace {
	return Pace{
		Latency: 110 * time.Microsecond,
		Hold:    100 * time.Microsecond,
		Gather:  time.Duration(contenders) * 200 * time.Microsecond,
		Server:  &Server{Request: 45 * time.Microsecond, Write: 25 * time.Microsecond, Event: 5 * time.Microsecond, Byte: time.Nanosecond},
	}
}

// worksLocked has the server work for a request that it has just carried out.
func (p *pacer) worksLocked(c *pacedClient, q player.Frame) {
	if p.Server == nil {
		return
	}
	now := p.film.now()
	if q.Due < now {
		p.film.film.Packets[q.ID-1].Queued = q.Due
	}
	work := p.Server.Request
	switch q.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete, jute.OpSetData, jute.OpMulti:
		if !c.Line.FailedLast {
			work += p.Server.Write
		}
	}
	for _, c := range p.clients {
		for i := range c.Line.Down {
			f := &c.Line.Down[i]
			if f.Due != 0 {
				continue
			}
			work += time.Duration(f.Size()) * p.Server.Byte
			if f.IsEvent {
				work += p.Server.Event
			}
		}
	}
	p.doneAt = p.reserve(now + work)
}

// answersDepart lets what the server's last request has caused depart. The next request may
// begin then.
func (p *pacer) answersDepart() {
	p.w.Do(func() {
		p.w.Unscheduled = true
		p.freeAt, p.doneAt = p.reserve(p.film.now()+1), 0
	})
}

// came is the instant at which the client's next request is at the server; 0: it has none.
func (c *pacedClient) came() time.Duration {
	if len(c.Line.Up) == 0 {
		return 0
	}
	return c.Line.Up[0].Due
}
