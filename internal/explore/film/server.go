package film

import (
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/jute"
)

// A Server has the times that a server takes. It carries out one request after the other, in the order in which they
// come, and sends what one has caused when it is done with it. A request that comes before waits: Packet.Queued.
type Server struct {
	Request time.Duration // for each request
	Write   time.Duration // in addition for a request that has changed something, which goes to the log
	Event   time.Duration // in addition for each event that the request causes
	Byte    time.Duration // in addition for each byte of the reply and the events
}

// Measured is a pace with the times of ZooKeeper 3.8.0 on loopback. The benchmark's page says how they were found.
func Measured(contenders int) Pace {
	return Pace{
		Latency: 110 * time.Microsecond,
		Hold:    100 * time.Microsecond,
		Gather:  time.Duration(contenders) * 200 * time.Microsecond,
		Server:  &Server{Request: 45 * time.Microsecond, Write: 25 * time.Microsecond, Event: 5 * time.Microsecond, Byte: time.Nanosecond},
	}
}

// answersDueLocked sets the instant at which the server sends its answers to a request that it has just carried out.
func (p *pacer) answersDueLocked(c *pacedClient, request player.Frame) {
	if p.Server == nil {
		return
	}
	now := p.recorder.now()
	if request.Due < now { // it came when the server was busy
		p.recorder.film.Packets[request.ID-1].Queued = request.Due
	}

	work := p.Server.Request
	switch request.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete, jute.OpSetData, jute.OpMulti:
		if !c.Line.FailedLast {
			work += p.Server.Write
		}
	}
	for _, to := range p.clients {
		for i := range to.Line.Down {
			answer := &to.Line.Down[i]
			if answer.Due != never {
				continue // it belongs to an earlier request
			}
			work += time.Duration(answer.Size()) * p.Server.Byte
			if answer.IsEvent {
				work += p.Server.Event
			}
		}
	}
	p.doneAt = p.reserve(now + work)
}

// answersDepart lets the server's answers depart. From then on it can carry out the next request.
func (p *pacer) answersDepart() {
	p.w.Do(func() {
		p.w.Unscheduled = true // so that the answers get their instants
		p.freeAt, p.doneAt = p.reserve(p.recorder.now()+1), never
	})
}

// requestCame is the instant at which the client's next request comes to the server; never: it has none.
func (c *pacedClient) requestCame() time.Duration {
	if len(c.Line.Up) == 0 {
		return never
	}
	return c.Line.Up[0].Due
}
