package film

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// A Pace says when things happen in a run without choices: each packet is on its way for a time that the seed draws.
// So the same World and Pace give the same Film, on any machine.
//
// No two things happen at the same instant, and between two of them all goroutines get as far as they can. Therefore a
// film repeats, in whichever order the goroutines happen to run. There is one exception: with World.Shared and a lock
// that is not Alone, such as zklock, many contenders wake at one instant when the connection breaks, in the order of a
// map, which the Go runtime draws at random. Such a film repeats only in a program that plays it first and whose
// runtime draws the same numbers, as the engine does that the lab's page starts for it.
type Pace struct {
	Latency time.Duration // the mean time that a packet is on its way: from half of it to one and a half; 0: 20 ms
	Hold    time.Duration // the mean time that a contender holds the lock; 0: five latencies, so that a person sees it
	// Gather is the instant before which no contender unlocks: if all others wait by then, all releases are alike.
	Gather  time.Duration
	Server  *Server // the time that the server takes for requests; nil: it takes none
	Seed    uint64
	Changes []Change // the faults, each at its instant
	// Part, if it is not nil, is called during the run, each time that the film has about doubled, with the part of the
	// film that cannot change any more. Later parts begin with it, and so does the whole film. A short film has no part.
	Part func(soFar *Film)
}

// firstPart is the number of packets in the first part of a film, which a page plays for some seconds.
const firstPart = 1000

// Paced plays a world in which packets take a while and faults happen when the Pace says, and returns the film.
// Violations do not end it.
func Paced(t *testing.T, config player.World, p Pace) (*Film, error) {
	t.Helper()
	p.Latency = cmp.Or(p.Latency, 20*time.Millisecond)
	p.Hold = cmp.Or(p.Hold, 5*p.Latency)
	if p.Latency < 0 || p.Hold < 0 {
		return nil, i18n.Errorf("a latency of %v is not possible", p.Latency)
	}
	if n := config.Number(); n < 1 || n > maxContenders {
		return nil, i18n.Errorf("%d contenders are not possible: from 1 to %d", n, maxContenders)
	}
	for _, c := range p.Changes {
		if !slices.Contains(PaceFaults, c.Do) {
			return nil, i18n.Errorf("%q is not a change; these are: %q", c.Do, PaceFaults)
		}
		if c.At < 0 {
			return nil, i18n.Errorf("a change at %v is not possible", c.At)
		}
	}

	config.Packets = true
	config.Tagged = config.Shared && config.Lock.Alone
	config.Lock.Path = cmp.Or(config.Lock.Path, "/lab/lock")

	defer player.Alone()()
	var film *Film
	var err error
	r := player.InBubble(t, config, nil, func(w *player.Player) {
		film, err = p.play(w)
	})
	if err != nil {
		return nil, err
	}
	if film == nil {
		return nil, i18n.Errorf("the run does not end: %v", r.Violation.Text())
	}
	if r.Violation != nil && film.Violation == nil {
		film.Violation = r.Violation // a goroutine that is left is known only now
	}
	return film, nil
}

const (
	maxContenders = 100       // that a film can show
	maxSteps      = 1_000_000 // of a run; one with more does not end
)

// never is the instant of what does not happen, or is not known yet.
const never = time.Duration(0)

// A pacer plays a run, and sets the instant of everything in it.
type pacer struct {
	Pace
	w        *player.Player
	recorder *recorder
	used     map[time.Duration]struct{} // the instants that are taken
	clients  []*pacedClient
	hold     []*rand.Rand                        // draws the times for which a contender holds the lock; of each contender
	unlocks  map[*player.Contender]time.Duration // when a holder unlocks
	starts   []pacedStart                        // of contenders that have not started, in order
	changes  []Change                            // that are to come, in order
	last     time.Duration                       // when something has happened last
	nextPart int                                 // the fewest packets of the next part
	doneAt   time.Duration                       // when the server sends what a request has caused
	freeAt   time.Duration                       // the server carries out no request before
}

// A pacedClient is a client with the instants of what is to happen to it.
type pacedClient struct {
	*player.Client
	up, down, dial         *rand.Rand    // draw the times of requests, of the server's packets, and of connecting
	upDue, downDue         time.Duration // when the last packet on its way up, or down, arrives
	dialAt                 time.Duration // when it is connected
	expireAt, runsOnAt     time.Duration
	loseRequest, loseReply bool // the next one is lost
	cutOff                 bool // it does not connect until its session has expired
}

type pacedStart struct {
	at time.Duration
	k  *player.Contender
}

// reserve takes the first instant from d on that nothing else has. It is after 0, which stands for never.
func (p *pacer) reserve(d time.Duration) time.Duration {
	for {
		if _, taken := p.used[d]; !taken && d > 0 {
			p.used[d] = struct{}{}
			return d
		}
		d++
	}
}

// delay draws a time: from half of the mean to one and a half.
func delay(rng *rand.Rand, mean time.Duration) time.Duration {
	return mean/2 + time.Duration(rng.Int64N(int64(mean)+1))
}

func (pace Pace) play(w *player.Player) (*Film, error) {
	p := &pacer{Pace: pace, w: w, recorder: newRecorder(w), nextPart: firstPart,
		used: make(map[time.Duration]struct{}), unlocks: make(map[*player.Contender]time.Duration)}
	w.Start = time.Now()
	w.Paced, w.Unnoted, w.Unscheduled = true, true, true
	p.drawStreams()
	if err := p.reserveChanges(); err != nil {
		return nil, err
	}
	film := &p.recorder.film
	film.Latency, film.Seed, film.Changes = pace.Latency, pace.Seed, append(film.Changes, pace.Changes...)

	w.Do(p.recorder.begin)
	p.settleAndSchedule()
	end := p.run()
	return player.Read(w, func() *Film {
		w.ResultsLocked()
		return p.recorder.finish(end)
	}), nil
}

// drawStreams gives each client and contender its source of random times, and draws when the contenders start.
func (p *pacer) drawStreams() {
	// Each client and contender draws from streams of its own, so that what happens to one changes no time of another.
	stream := func(i, n int) *rand.Rand { return rand.New(rand.NewPCG(p.Seed, uint64(i)<<8+uint64(n))) }
	for i, c := range p.w.Clients {
		p.clients = append(p.clients, &pacedClient{Client: c, up: stream(i, 0), down: stream(i, 1), dial: stream(i, 2)})
	}

	gap := 2 * p.Latency / time.Duration(len(p.w.Contenders)) // they start one after the other, within two latencies
	for i, k := range p.w.Contenders {
		hold := stream(i, 3)
		p.hold = append(p.hold, hold)
		p.starts = append(p.starts, pacedStart{p.reserve(time.Duration(i)*gap + delay(hold, gap)), k})
	}
	slices.SortFunc(p.starts, func(a, b pacedStart) int { return cmp.Compare(a.at, b.at) })
}

// reserveChanges puts the changes into their order, and takes their instants.
func (p *pacer) reserveChanges() error {
	p.changes = slices.Clone(p.Changes)
	slices.SortStableFunc(p.changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	for i := range p.changes {
		if p.clientOf(p.changes[i].Who) == nil {
			return i18n.Errorf("%q is not a client or contender here", p.changes[i].Who)
		}
		p.changes[i].At = p.reserve(p.changes[i].At)
	}
	return nil
}

// clientOf finds the client of a name, or of a contender's name.
func (p *pacer) clientOf(name string) *pacedClient {
	for _, c := range p.clients {
		if c.Name == name || slices.ContainsFunc(c.Contenders, func(k *player.Contender) bool { return k.Name == name }) {
			return c
		}
	}
	return nil
}

// settleAndSchedule lets all goroutines get as far as they can, and gives what they have done its instants.
func (p *pacer) settleAndSchedule() {
	p.w.Settle()
	p.w.Do(p.scheduleLocked)
}

// scheduleLocked sets the instants of the packets that have been sent, of the clients that dial, and of the holders.
func (p *pacer) scheduleLocked() {
	w := p.w
	if !w.Unscheduled && w.Calm() {
		return
	}
	w.Unscheduled = false
	now := p.recorder.now()

	for _, c := range p.clients {
		l := c.Line
		for i := range l.Up {
			// A stopped client has sent something if a timer has fired. That departs when the client runs on.
			if request := &l.Up[i]; request.Due == never && !c.Stopped {
				p.recorder.addPacket(c.Client, request, "request")
				c.upDue = p.reserve(max(now+delay(c.up, p.Latency), c.upDue+1))
				request.Due = c.upDue
			}
		}

		serverWorks := p.doneAt != never // what it has caused departs when it is done
		from := slices.IndexFunc(l.Down, func(packet player.Frame) bool { return packet.Due == never })
		if from >= 0 && !serverWorks {
			w.SortEvents(l.Down[from:])
			for i := from; i < len(l.Down); i++ {
				packet := &l.Down[i]
				p.recorder.addPacket(c.Client, packet, packet.Kind())
				c.downDue = p.reserve(max(now+delay(c.down, p.Latency), c.downDue+1))
				packet.Due = c.downDue
			}
		}

		if c.DialGate != nil && c.dialAt == never && !c.cutOff && !c.Stopped {
			// A connection takes a packet there and one back.
			c.dialAt = p.reserve(now + delay(c.dial, p.Latency) + delay(c.dial, p.Latency))
		}
	}

	for i, k := range w.Contenders {
		if k.UnlockGate != nil && p.unlocks[k] == never {
			p.unlocks[k] = p.reserve(max(now+delay(p.hold[i], p.Hold), p.Gather))
		}
	}
}

// next returns what is due first, and when; do is nil if nothing is.
func (p *pacer) next() (at time.Duration, do func()) {
	p.w.Do(func() { at, do = p.nextLocked() })
	return at, do
}

// nextLocked is next for a caller that has the player's lock.
func (p *pacer) nextLocked() (at time.Duration, do func()) {
	offer := func(due time.Duration, what func()) {
		if do == nil || due < at {
			at, do = due, what
		}
	}
	if c, due, act := p.nextOfClients(); act != nil {
		offer(due, func() { act(p, c) })
	}
	if k := p.nextToUnlock(); k != nil {
		offer(p.unlocks[k], func() { p.unlock(k) })
	}
	if len(p.starts) > 0 {
		k := p.starts[0].k
		offer(p.starts[0].at, func() {
			p.starts = p.starts[1:]
			k.Start()
		})
	}
	if p.doneAt != never {
		offer(p.doneAt, p.answersDepart)
	}
	if len(p.changes) > 0 {
		c := p.changes[0]
		offer(c.At, func() {
			p.changes = p.changes[1:]
			withoutLock := player.Read(p.w, func() func() { return p.applyLocked(c) })
			withoutLock()
		})
	}
	return at, do
}

// nextToUnlock returns the holder that unlocks first; nil: none does.
func (p *pacer) nextToUnlock() (first *player.Contender) {
	for _, k := range p.w.Contenders {
		if k.UnlockGate != nil && !k.Client.Stopped && (first == nil || p.unlocks[k] < p.unlocks[first]) {
			first = k
		}
	}
	return first
}

// nextOfClients returns what is due first of all clients. Of requests that wait for the server, the first to come is.
func (p *pacer) nextOfClients() (first *pacedClient, at time.Duration, act func(*pacer, *pacedClient)) {
	for _, c := range p.clients {
		due, what := c.next(p)
		if what != nil && (act == nil || due < at || due == at && c.requestCame() < first.requestCame()) {
			first, at, act = c, due, what
		}
	}
	return first, at, act
}

// next returns what is due first of a client's packets, its session and its connection; what is nil if nothing is. The
// caller calls what with the pacer and the client: a closure over them, for each client at each step, would be garbage.
func (c *pacedClient) next(p *pacer) (at time.Duration, what func(*pacer, *pacedClient)) {
	offer := func(due time.Duration, do func(*pacer, *pacedClient)) {
		if due != never && (what == nil || due < at) {
			at, what = due, do
		}
	}
	l := c.Line
	offer(c.expireAt, (*pacer).expire)
	if c.requestCame() != never && !l.CutOffLocked() && p.doneAt == never {
		offer(max(l.Up[0].Due, p.freeAt), (*pacer).request)
	}
	if c.Stopped {
		offer(c.runsOnAt, (*pacer).runOn)
		return at, what
	}
	if len(l.Down) > 0 && !l.Broken {
		offer(l.Down[0].Due, (*pacer).deliver)
	}
	offer(c.dialAt, (*pacer).connect)
	return at, what
}

// run carries out one thing after the other. It returns the instant at which the film ends.
func (p *pacer) run() time.Duration {
	w := p.w
	for steps := 0; ; steps++ {
		if steps > maxSteps {
			endless := player.Violation{Kind: player.Endless, What: i18n.Textf("%d packets, and no end", maxSteps)}
			w.Do(func() { w.ViolateLocked(endless) })
			return p.recorder.now()
		}
		if w.AllDone() && !p.busy() {
			p.changes = nil // no contender depends on them any more
		}
		at, do := p.next()
		if do == nil { // only time can bring something: a timer of the lock or of the library
			possible := func() bool {
				w.Do(p.scheduleLocked)
				_, do := p.next()
				return do != nil
			}
			if !w.Wait(w.Lock.Timed, possible, p.hang) {
				return p.last
			}
			continue
		}

		w.NextTurn()
		w.ForgetActivity()
		if wait := at - p.recorder.now(); wait > 0 && w.WaitForActivity(wait) {
			w.Do(p.scheduleLocked) // a timer of the lock or of the library has fired before
			continue
		}

		w.NextTurn()
		w.Do(func() {
			w.Touched = player.Footprint{}
			p.last = p.recorder.now()
		})
		do()
		p.settleAndSchedule()
		p.sendPart()
	}
}

// sendPart gives a part of the film to Part, if it has grown enough.
func (p *pacer) sendPart() {
	sent := len(p.recorder.film.Packets)
	if p.Part == nil || sent < p.nextPart {
		return
	}
	f := player.Read(p.w, p.recorder.part)
	if len(f.Packets)*2 >= p.nextPart { // it lacks what may still change
		p.nextPart = 2 * sent
		p.Part(f)
	}
}

// busy reports whether a packet is on its way or a client has to come back.
func (p *pacer) busy() bool {
	return player.Read(p.w, func() bool {
		return slices.ContainsFunc(p.clients, func(c *pacedClient) bool {
			return c.Stopped || c.expireAt != never || len(c.Line.Up)+len(c.Line.Down) > 0 && !c.Line.Broken
		})
	})
}

// hang reports that nothing can happen any more. In the film that is a while later, so that a person sees it.
func (p *pacer) hang() {
	p.w.Do(func() {
		p.last += 10 * p.Latency
		p.recorder.clock = p.last - p.recorder.now() // so now is p.last
		p.recorder.slot = slot
	})
	p.w.ReportHang()
}

func (p *pacer) unlock(k *player.Contender) {
	p.w.Do(func() {
		close(k.UnlockGate)
		k.UnlockGate = nil
	})
	delete(p.unlocks, k)
}

// request delivers a client's next request, or loses it.
func (p *pacer) request(c *pacedClient) {
	w := p.w
	if c.loseRequest {
		c.loseRequest = false
		w.Cut(c.Client)
		w.FaultCount++
		if p.Server != nil {
			p.freeAt = p.reserve(p.recorder.now() + 1)
		}
		return
	}
	request := w.Request(c.Client)
	synctest.Wait() // the server has answered
	w.Do(func() {
		p.recorder.scanAfter(c.Client, request)
		p.answersDueLocked(c, request)
	})
}

// deliver delivers the next packet on its way to a client, or loses it.
func (p *pacer) deliver(c *pacedClient) {
	w := p.w
	lost := player.Read(w, func() bool {
		if !c.loseReply || c.Line.Down[0].IsEvent {
			w.DeliverLocked(c.Client)
			return false
		}
		c.loseReply = false
		w.FaultCount++
		w.CutLocked(c.Client)
		return true
	})
	if lost {
		p.settleAndScan()
	}
}

// settleAndScan lets all get as far as they can, and notes what has changed at the server.
func (p *pacer) settleAndScan() {
	p.w.Settle()
	p.w.Do(p.recorder.scan)
}

// connect lets a client that dials connect.
func (p *pacer) connect(c *pacedClient) {
	c.dialAt = never
	if p.w.Connect(c.Client) {
		p.w.Do(p.recorder.scan)
	}
}
