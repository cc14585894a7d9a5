package explore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A Pace says how a schedule passes in which nobody chooses: each packet takes
// a while of its own. The seed says how long, so the same World and Pace give
// the same Film, on any machine.
//
// No two things happen at the same instant, and between two of them all
// goroutines have got as far as they can. This is what makes a film repeat;
// the order in which goroutines happen to run has no part in it. There is one
// exception: with World.Shared, a lock whose contenders share more than the
// client (it is not Alone) has many of them woken at one instant when the
// connection breaks. The client library fails their requests in the order of a
// map, which the Go runtime draws at random, as it does with the cases of a
// select. So the film of such a lock and such a Change repeats only in a program
// that plays it first and whose runtime draws the same numbers. The lab's page
// starts an engine for it whose numbers are always the same. zklock is such a
// lock.
type Pace struct {
	// Latency is how long a packet is on its way, on average: from half of it
	// to one and a half. 0: 20 ms.
	Latency time.Duration
	// Hold is how long a contender holds the lock, on average. 0: five times
	// the latency, so that a person sees it.
	Hold time.Duration
	Seed uint64
	// Changes are the faults, each at its instant.
	Changes []Change
	// Part, if it is not nil, is called while the run goes on, each time that
	// the film has about doubled, with the film so far: as far as nothing that
	// follows can change it. What a part has, all later ones and the whole film
	// have, too. A short film has no part.
	Part func(soFar *Film)
}

// firstPart is how many packets the first part of a film has. A page can play
// them for some seconds, and more are there by then.
const firstPart = 1000

// RunsOn is a Change that ends Stop: the client runs on. Without it a stopped
// client runs on soon after its session has expired.
const RunsOn Fault = "runs on"

// PaceFaults are what a Change can do.
var PaceFaults = []Fault{LoseRequest, LoseReply, Cut, Expire, Stop, RunsOn, EndContext}

// A Change is a fault at an instant. LoseRequest and LoseReply are about the
// first request or reply that is on its way then or later. If a Change is
// not possible at its instant, nothing happens, and the film says so.
type Change struct {
	At  time.Duration `json:"at_ns"`
	Who string        `json:"who"` // a contender, or its client
	Do  Fault         `json:"do"`
}

// Paced plays a world in which packets take a while and faults happen when
// the Pace says, and returns the film. Violations do not end it.
func Paced(t *testing.T, config World, p Pace) (*Film, error) {
	t.Helper()
	p.Latency = cmp.Or(p.Latency, 20*time.Millisecond)
	p.Hold = cmp.Or(p.Hold, 5*p.Latency)
	if p.Latency < 0 || p.Hold < 0 {
		return nil, fmt.Errorf("a latency of %v is not possible", p.Latency)
	}
	if n := config.contenders(); n < 1 || n > maxContenders {
		return nil, fmt.Errorf("%d contenders are not possible: from 1 to %d", n, maxContenders)
	}
	for _, c := range p.Changes {
		if !slices.Contains(PaceFaults, c.Do) {
			return nil, fmt.Errorf("%q is not a change; these are: %q", c.Do, PaceFaults)
		}
		if c.At < 0 {
			return nil, fmt.Errorf("a change at %v is not possible", c.At)
		}
	}
	config.Packets = true
	config.tagged = config.Shared && config.Lock.Alone
	if config.Lock.Path == "" {
		config.Lock.Path = "/lab/lock"
	}
	defer oneCore()()
	var film *Film
	var err error
	r := inBubble(t, config, func(w *world) {
		film, err = w.pace(p)
	})
	if err != nil {
		return nil, err
	}
	if film == nil {
		return nil, fmt.Errorf("the run does not end: %v", r.Violation)
	}
	if r.Violation != nil && film.Violation == nil {
		film.Violation = r.Violation // a goroutine that is left is known only now
	}
	return film, nil
}

// maxContenders is how many a film can show.
const maxContenders = 100

// A pacer gives everything in a paced run its instant.
type pacer struct {
	Pace
	w       *world
	used    map[time.Duration]struct{} // instants that something has
	clients []*pacedClient
	hold    []*rand.Rand // of each contender
	starts  []pacedStart
	changes []Change
	last    time.Duration // when something has happened last
	part    int           // how many packets the next part has at least
}

type pacedClient struct {
	*client
	up, down, dial         *rand.Rand
	upDue, downDue         time.Duration // of the packet that arrives last
	dialAt                 time.Duration // 0: it does not dial
	expireAt, runsOnAt     time.Duration // 0: not
	loseRequest, loseReply bool
	dark                   bool // nothing gets through until its session has expired
}

type pacedStart struct {
	at time.Duration
	k  *contender
}

// at makes an instant that nothing else has.
func (p *pacer) at(d time.Duration) time.Duration {
	for {
		if _, taken := p.used[d]; !taken && d > 0 {
			p.used[d] = struct{}{}
			return d
		}
		d++
	}
}

// delay draws how long something takes that takes d on average.
func delay(rng *rand.Rand, d time.Duration) time.Duration {
	return d/2 + time.Duration(rng.Int64N(int64(d)+1))
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// pace plays the world.
func (w *world) pace(pace Pace) (*Film, error) {
	p := &pacer{Pace: pace, w: w, used: make(map[time.Duration]struct{}), part: firstPart}
	w.start = time.Now()
	w.film, w.paced, w.unnoted, w.unscheduled = newRecorder(w), true, true, true
	w.film.film.Latency, w.film.film.Seed = pace.Latency, pace.Seed
	for i, c := range w.clients {
		rng := func(n int) *rand.Rand { return rand.New(rand.NewPCG(pace.Seed, uint64(i)<<8+uint64(n))) }
		p.clients = append(p.clients, &pacedClient{client: c, up: rng(0), down: rng(1), dial: rng(2)})
	}
	for i, k := range w.players {
		rng := rand.New(rand.NewPCG(pace.Seed, uint64(i)<<8+3))
		p.hold = append(p.hold, rng)
		// One after the other, and all within two packets' time.
		gap := 2 * pace.Latency / time.Duration(len(w.players))
		p.starts = append(p.starts, pacedStart{p.at(time.Duration(i)*gap + delay(rng, gap)), k})
	}
	p.changes = slices.Clone(pace.Changes)
	slices.SortStableFunc(p.changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	for i := range p.changes {
		if p.of(p.changes[i].Who) == nil {
			return nil, fmt.Errorf("%q is not a client or contender here", p.changes[i].Who)
		}
		p.changes[i].At = p.at(p.changes[i].At)
	}
	w.film.film.Changes = append(w.film.film.Changes, pace.Changes...)
	w.mu.Lock()
	w.film.begin()
	for _, k := range w.players {
		w.film.state(k, "")
	}
	w.mu.Unlock()
	p.settle()
	end := p.play()
	r := w.run
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.players {
		r.Results = append(r.Results, k.name+": "+strings.Join(append(slices.Clone(k.results), k.state), ", "))
	}
	film := w.film.finish(end)
	w.film = nil
	return film, nil
}

// of finds the client of a name, or of a contender's name.
func (p *pacer) of(name string) *pacedClient {
	for _, c := range p.clients {
		if c.name == name || slices.ContainsFunc(c.players, func(k *contender) bool { return k.name == name }) {
			return c
		}
	}
	return nil
}

// settle lets all get as far as they can and gives what they have sent its
// instant.
func (p *pacer) settle() {
	p.w.settle()
	p.schedule()
}

func (p *pacer) schedule() {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.unscheduled && w.calm() {
		return
	}
	w.unscheduled = false
	now := w.now()
	for _, c := range p.clients {
		l := c.line
		for i := range l.up {
			// What a stopped client sends, because timers do not stop, it sends
			// when it runs on.
			if q := &l.up[i]; q.due == 0 && !c.stopped {
				w.film.send(c.client, q, "request")
				c.upDue = p.at(max(now+delay(c.up, p.Latency), c.upDue+1))
				q.due = c.upDue
			}
		}
		from := slices.IndexFunc(l.down, func(q packet) bool { return q.due == 0 })
		if from >= 0 {
			w.sortEvents(l.down[from:])
			for i := from; i < len(l.down); i++ {
				q := &l.down[i]
				w.film.send(c.client, q, q.kind())
				c.downDue = p.at(max(now+delay(c.down, p.Latency), c.downDue+1))
				q.due = c.downDue
			}
		}
		if c.dialing != nil && c.dialAt == 0 && !c.dark && !c.stopped {
			// A connection takes a packet there and one back.
			c.dialAt = p.at(now + delay(c.dial, p.Latency) + delay(c.dial, p.Latency))
		}
	}
	for i, k := range w.players {
		if k.gate != nil && k.gateDue == 0 {
			k.gateDue = p.at(now + delay(p.hold[i], p.Hold))
		}
	}
}

// next finds what is due first. Nil: nothing is.
func (p *pacer) next() (at time.Duration, do func()) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	const never = time.Duration(1<<63 - 1)
	at = never
	var found *pacedClient
	var what byte
	for _, c := range p.clients {
		l := c.line
		first := func(due time.Duration, kind byte) {
			if due != 0 && due < at {
				at, found, what = due, c, kind
			}
		}
		if c.expireAt != 0 {
			first(c.expireAt, 'e')
		}
		cutOff := l.broken || l.serverEnd && len(l.down) == 0
		if len(l.up) > 0 && !cutOff {
			first(l.up[0].due, 'u')
		}
		if c.stopped {
			first(c.runsOnAt, 'o')
			continue
		}
		if len(l.down) > 0 && !l.broken {
			first(l.down[0].due, 'd')
		}
		first(c.dialAt, 'c')
		for _, k := range c.players {
			if k.gate != nil && k.gateDue < at {
				at = k.gateDue
				do = func() { p.unlock(k) }
				found, what = nil, 'g'
			}
		}
	}
	if len(p.starts) > 0 {
		for i, s := range p.starts {
			if s.at < at {
				at, found, what = s.at, nil, 's'
				do = func() {
					p.starts = slices.Delete(p.starts, i, i+1)
					s.k.start()
				}
			}
		}
	}
	if len(p.changes) > 0 && p.changes[0].At < at {
		at, found, what = p.changes[0].At, nil, 'x'
		do = func() {
			c := p.changes[0]
			p.changes = p.changes[1:]
			p.change(c)
		}
	}
	if at == never {
		return 0, nil
	}
	if c := found; c != nil {
		switch what {
		case 'u':
			do = func() { p.request(c) }
		case 'd':
			do = func() { p.arrives(c) }
		case 'c':
			do = func() { p.connect(c) }
		case 'e':
			do = func() { p.expire(c) }
		case 'o':
			do = func() { p.runOn(c) }
		}
	}
	return at, do
}

// play carries out one thing after the other. It returns when the film ends.
func (p *pacer) play() time.Duration {
	w := p.w
	for steps := 0; ; steps++ {
		if steps > maxSteps {
			w.violate(Violation{Kind: Endless, What: fmt.Sprintf("%d packets, and no end", maxSteps)})
			return w.now()
		}
		if w.allDone() && !p.busy() {
			p.changes = nil // nothing depends on them any more
		}
		at, do := p.next()
		if do == nil {
			if w.allDone() && (!w.Lock.Timed || !w.left() || w.idle > maxIdle) {
				end := p.last
				w.final()
				return end
			}
			w.drainStir()
			w.mu.Lock()
			w.idle++
			w.turn++
			w.mu.Unlock()
			stirred := w.pass(patience)
			p.schedule()
			if !stirred || w.idle > maxIdle {
				if w.idle <= maxIdle && p.due() {
					continue
				}
				if w.allDone() {
					w.final()
					return p.last
				}
				return p.hang()
			}
			continue
		}
		w.mu.Lock()
		w.turn++
		w.mu.Unlock()
		w.drainStir()
		if wait := at - w.now(); wait > 0 && w.pass(wait) {
			p.schedule() // a timer of the lock or of the library was first
			continue
		}
		w.mu.Lock()
		w.turn++
		w.foot = footprint{}
		p.last = w.now()
		w.mu.Unlock()
		do()
		p.settle()
		p.tell()
	}
}

// tell gives away a part of the film, if it has grown enough.
func (p *pacer) tell() {
	if p.Part == nil {
		return
	}
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.film.film.Packets) < p.part {
		return
	}
	if f := w.film.part(); len(f.Packets)*2 >= p.part { // not all that has been sent is known
		p.part = 2 * len(w.film.film.Packets)
		p.Part(f)
	}
}

const maxSteps = 1_000_000

// due says whether anything has an instant.
func (p *pacer) due() bool {
	_, do := p.next()
	return do != nil
}

// busy says whether a packet is on its way or a client has to come back.
func (p *pacer) busy() bool {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(p.clients, func(c *pacedClient) bool {
		return c.stopped || c.expireAt != 0 || len(c.line.up)+len(c.line.down) > 0 && !c.line.broken
	})
}

// hang reports that nothing can happen any more, a while after the last thing
// has happened: that is when somebody who looks sees it.
func (p *pacer) hang() time.Duration {
	w := p.w
	end := p.last + 10*p.Latency
	w.mu.Lock()
	w.film.slots, w.film.clock = true, end-w.now()
	w.mu.Unlock()
	w.hang()
	return end
}

func (p *pacer) unlock(k *contender) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	close(k.gate)
	k.gate, k.gateDue = nil, 0
}

// request delivers a client's next request, or loses it.
func (p *pacer) request(c *pacedClient) {
	w := p.w
	if c.loseRequest {
		c.loseRequest = false
		w.cut(c.client)
		w.faults++
		return
	}
	q := w.request(c.client)
	synctest.Wait() // the server has answered
	w.mu.Lock()
	defer w.mu.Unlock()
	w.film.executed(c.client, q)
}

// arrives delivers the next packet of a client's way down, or loses it.
func (p *pacer) arrives(c *pacedClient) {
	w := p.w
	w.mu.Lock()
	if c.loseReply && !c.line.down[0].isEvent {
		c.loseReply = false
		w.faults++
		w.cutLocked(c.client)
		w.mu.Unlock()
		w.settle()
		w.mu.Lock()
		w.film.scan()
		w.mu.Unlock()
		return
	}
	defer w.mu.Unlock()
	w.arrivesLocked(c.client)
}

// connect lets a client that dials connect.
func (p *pacer) connect(c *pacedClient) {
	w := p.w
	c.dialAt = 0
	w.mu.Lock()
	if c.dialing == nil {
		w.mu.Unlock()
		return
	}
	close(c.dialing)
	c.dialing = nil
	w.mu.Unlock()
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connectedLocked(c.client)
	w.film.scan()
}

// change carries out a change.
func (p *pacer) change(ch Change) {
	w := p.w
	c := p.of(ch.Who)
	w.mu.Lock()
	l := c.line
	cutOff := l.broken || l.serverEnd || c.dark
	impossible := func(why string) {
		w.film.note(ch.Who, fmt.Sprintf("%s is not possible: %s", ch.Do, why))
		w.mu.Unlock()
	}
	switch {
	case ch.Do == RunsOn:
		if !c.stopped {
			impossible("it is not stopped")
			return
		}
		w.mu.Unlock()
		p.runOn(c)
		return
	case c.stopped:
		impossible("it is stopped")
		return
	case ch.Do == EndContext:
		i := slices.IndexFunc(w.players, func(k *contender) bool { return k.name == ch.Who })
		if i < 0 || !w.Lock.Contexts {
			impossible("the lock takes no ctx")
			return
		}
		k := w.players[i]
		if k.cancel == nil || k.state != waiting {
			impossible("it does not wait")
			return
		}
		k.ended = true
		w.faults++
		cancel := k.cancel
		w.film.note(k.name, "its ctx ends")
		w.mu.Unlock()
		cancel()
		return
	case c.dark:
		impossible("it is cut off until its session has expired")
		return
	case ch.Do != Stop && ch.Do != Expire && cutOff:
		impossible("it is not connected")
		return
	}
	w.faults++
	switch ch.Do {
	case Cut:
		w.cutLocked(c.client)
	case LoseRequest:
		c.loseRequest = true
		c.faultLocked()
	case LoseReply:
		c.loseReply = true
		c.faultLocked()
	case Expire:
		c.dark, c.dialAt = true, 0
		c.faultLocked()
		w.logLocked(Entry{Who: c.name, Kind: "note", Text: "is cut off until its session has expired"})
		l.breakLocked()
		c.expireAt = p.at(w.now() + w.session())
	case Stop:
		c.stopped, c.dialAt = true, 0
		c.faultLocked()
		w.film.client(c.client, "stopped")
		c.expireAt = p.at(w.now() + w.session())
		c.runsOnAt = p.at(c.expireAt + 4*p.Latency)
		if slices.ContainsFunc(p.changes, func(o Change) bool { return o.Do == RunsOn && p.of(o.Who) == c }) {
			c.runsOnAt = 0
		}
	}
	w.mu.Unlock()
	w.settle()
	w.mu.Lock()
	w.film.scan()
	w.mu.Unlock()
}

// expire ends the session of a client that is cut off or stopped.
func (p *pacer) expire(c *pacedClient) {
	w := p.w
	c.expireAt = 0
	w.mu.Lock()
	w.run.unordered = true
	c.expired, c.dark = true, false
	w.film.client(c.client, "expired")
	for _, k := range c.players {
		if k.state != inside {
			continue
		}
		k.lost = true
		w.film.lost(k, false)
		if leased, ok := k.lock.(Leased); ok && w.Lock.Timed && !c.stopped && !isClosed(leased.Lost()) {
			w.violateLocked(Violation{Kind: LateLoss, Who: k.name, What: k.name + " is not told that it has lost the lock, though its session has expired"})
		}
	}
	w.mu.Unlock()
	w.srv.Expire(c.session)
	synctest.Wait()
	w.mu.Lock()
	w.film.scan()
	w.mu.Unlock()
}

// runOn lets a stopped client run on.
func (p *pacer) runOn(c *pacedClient) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	c.stopped, c.runsOnAt = false, 0
	w.film.client(c.client, "runs on")
	if c.expired {
		c.line.breakLocked()
		return
	}
	c.expireAt = 0
	// What waited for it arrives now.
	now := w.now()
	for _, q := range [][]packet{c.line.up, c.line.down} {
		for i := range q {
			if q[i].due != 0 && q[i].due < now {
				q[i].due = p.at(now + 1)
			}
		}
	}
	c.line.client.Broadcast()
}
