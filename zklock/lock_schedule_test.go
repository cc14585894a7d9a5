// Random schedules, part 2: clients lock and unlock while an operator makes faults, all drawn from one seed. Part 1, in
// lock_history_test.go, checks what has happened. helpers_test.go has the helpers.
package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

const historyPath = "/history/lock"

// A subject is the lock under test: the one of this package, or one that was made of it with a fault.
type subject struct {
	options []zklock.Option
	caches  bool                                // it may keep a node that nobody needs
	owner   *zklock.Owner                       // in place of all others; nil: there are others
	wrap    func(leaseUnderTest) leaseUnderTest // makes another lease of each; or nil
}

// An acquireFunc is Lock, or TryLock with try.
type acquireFunc func(ctx context.Context, owner *zklock.Owner, try bool) (leaseUnderTest, error)

type leaseUnderTest interface {
	Unlock(ctx context.Context) error
	Token() int64
	Lost() <-chan struct{}
	RevokeRequested() <-chan struct{}
	Node() string
}

func (s subject) open(conn *zk.Conn) acquireFunc {
	m := mutexAt(conn, historyPath, s.options...)
	return func(ctx context.Context, owner *zklock.Owner, try bool) (leaseUnderTest, error) {
		acquire := m.Lock
		if try {
			acquire = m.TryLock
		}
		if s.owner != nil {
			owner = s.owner
		}
		l, err := acquire(ctx, owner)
		if err == nil && s.wrap != nil {
			return s.wrap(l), nil
		}
		return l, err
	}
}

func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// drawDuration draws a duration, short ones as often as long ones.
func drawDuration(r *rand.Rand, low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Exp(r.Float64()*math.Log(float64(high)/float64(low))))
}

// slowWay is a network that takes a while for every packet, so that each event has a moment of its own. Then the seed
// decides the order of events, and not Go's scheduler, as far as that is possible.
func slowWay(r *rand.Rand) bubble.Way {
	return bubble.Way{Packet: func(packet []byte) []byte {
		time.Sleep(drawDuration(r, time.Microsecond, 5*time.Millisecond))
		return packet
	}}
}

// A stage is where one schedule is played, in virtual time.
type stage struct {
	*history
	t        *testing.T
	r        *rand.Rand // of the operator, who makes the faults
	srv      *zkserver.Server
	admin    *zk.Conn // suffers no faults
	sessions []*zk.Conn
	made     []*zkserver.Fault // so far
	calmFrom time.Time         // when the last of them that holds packets back ends
	limit    context.Context   // ends when a client is stuck
	stop     chan struct{}     // closed when all clients have done their work
	lock     subject
}

// playSchedule has clients use a lock while an operator makes faults, all drawn from seed, and returns their history.
func playSchedule(t *testing.T, seed uint64, lock subject) *history {
	h := &history{seed: seed, holds: make(map[int64]*tokenHold), taken: make(map[string]int64)}
	bubble.Test(t, func(t *testing.T) {
		h.start = time.Now()
		t.Cleanup(func() { time.Sleep(3 * time.Second) }) // all notice that what they use has been closed
		limit, cancel := context.WithCancel(t.Context())
		s := &stage{history: h, t: t, srv: zkserver.Run(t), limit: limit, stop: make(chan struct{}), lock: lock}
		s.r = rand.New(rand.NewPCG(seed, 0))
		s.admin = s.connect(ensemble.Options{})

		done := s.startClients()
		s.operate(done)
		select {
		case <-done:
		case <-time.After(10 * time.Minute):
			h.problem("somebody is stuck")
			cancel()
			<-done
		}
		s.checkNothingLeft()
		close(s.stop)
		cancel()
	})
	return h
}

func (s *stage) connect(o ensemble.Options) *zk.Conn {
	o.SessionTimeout, o.Buffer = sessionTimeout, smallBuffer
	conn := testenv.Must(ensemble.OverPipes(s.srv).Connect(s.t.Context(), o))(s.t)
	s.t.Cleanup(conn.Close)
	return conn
}

// startClients starts from 2 to 16 owners, and for one in four of them two clients that share it. They are spread over
// 2 to 4 sessions, with one or two Mutexes each. done is closed when all clients have done their work.
func (s *stage) startClients() (done chan struct{}) {
	var clients sync.WaitGroup
	lane := 1
	for i := range 2 + s.r.IntN(3) {
		stream := uint64(i+1)<<32 + 1 // the last stream of random numbers: each direction of a connection has the next
		directionRand := func() *rand.Rand { stream++; return rand.New(rand.NewPCG(s.seed, stream)) }
		conn := s.connect(ensemble.Options{Wrap: func(nc net.Conn) net.Conn {
			down := slowWay(directionRand())
			return bubble.Through(nc, slowWay(directionRand()), down)
		}})
		s.sessions = append(s.sessions, conn)
		for j := range 1 + s.r.IntN(2) {
			acquire := s.lock.open(conn)
			for k := range 1 + s.r.IntN(2) {
				owner := zklock.NewOwner(fmt.Sprintf("owner %d.%d.%d", i, j, k))
				clientsOfOwner := 1
				if oneIn(s.r, 4) {
					clientsOfOwner = 2
				}
				for range clientsOfOwner {
					r := rand.New(rand.NewPCG(s.seed, uint64(lane)))
					c := &client{stage: s, lane: lane, r: r, acquire: acquire, owner: owner}
					lane++
					clients.Go(c.work)
				}
			}
		}
	}
	done = make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	return done
}

// checkNothingLeft waits until what goes on in the background has ended, and looks for nodes and watches that are left.
func (s *stage) checkNothingLeft() {
	time.Sleep(3 * sessionTimeout)
	synctest.Wait()
	if s.lock.caches {
		// The watch on the parent may be there: see (j) of docs/client.md. It goes with the next contender.
		_, err := s.admin.Create(historyPath+"/contender", nil, 0, everybody)
		if err == nil {
			err = s.admin.Delete(historyPath+"/contender", -1)
		}
		if !errors.Is(err, zk.ErrNoNode) { // the operator may have deleted the parent
			require.NoError(s.t, err)
		}
	}
	if nodes, watches := s.srv.Children(historyPath), s.srv.Watches(); len(nodes)+len(watches) > 0 {
		s.problem("left behind: nodes %v, watches %v", nodes, watches)
	}
}

// A client is a goroutine of an owner that locks and unlocks a few times.
type client struct {
	*stage
	lane    int // the row of its operations in the picture of the history
	r       *rand.Rand
	acquire acquireFunc
	owner   *zklock.Owner
}

func (c *client) work() {
	for range 3 + c.r.IntN(4) {
		time.Sleep(drawDuration(c.r, 100*time.Microsecond, 5*time.Second)) // at a random moment
		var leases []leaseUnderTest
		for again := true; again; again = len(leases) > 0 && oneIn(c.r, 4) {
			if l := c.lock(); l != nil {
				leases = append(leases, l)
			}
		}
		for _, l := range leases {
			c.hold(l)
			c.unlock(l)
		}
	}
}

// hold waits for a random time. Half of the holders stop when they should, and half hold on.
func (c *client) hold(l leaseUnderTest) {
	over := time.After(drawDuration(c.r, 100*time.Microsecond, 5*time.Second))
	if oneIn(c.r, 4) { // a hold may be longer than the session timeout
		over = time.After(drawDuration(c.r, time.Second, 3*sessionTimeout))
	}
	if !oneIn(c.r, 2) {
		<-over
		return
	}
	select {
	case <-over:
	case <-l.Lost():
	case <-l.RevokeRequested():
	}
}

// ctx returns a ctx that ends at random, or only if the play is stuck.
func (c *client) ctx() (context.Context, context.CancelFunc) {
	if !oneIn(c.r, 3) {
		return context.WithCancel(c.limit)
	}
	return context.WithTimeout(c.limit, drawDuration(c.r, 100*time.Microsecond, 10*time.Second))
}

func (c *client) lock() leaseUnderTest {
	ctx, cancel := c.ctx()
	defer cancel()
	k, try := opLock, oneIn(c.r, 3)
	if try {
		k = opTryLock
	}
	o := c.begin(k, c.lane, c.owner.String(), 0)
	if c.stage.lock.caches && try {
		c.mu.Lock()
		o.sawCached = slices.ContainsFunc(c.srv.Children(historyPath), c.isCachedLocked)
		c.mu.Unlock()
	}

	l, err := c.acquire(ctx, c.owner, try)
	if err != nil {
		c.end(o, err)
		refused := try && errors.Is(err, zklock.ErrHeld)
		if ctx.Err() == nil && !refused {
			c.problem("%s of %s: %v", k, c.owner, err)
		}
		return nil
	}
	o.token = l.Token()
	c.end(o, nil)
	c.recordLoss(l, c.stop)
	return l
}

func (c *client) unlock(l leaseUnderTest) {
	ctx, cancel := c.ctx()
	defer cancel()
	o := c.begin(opUnlock, c.lane, c.owner.String(), l.Token())
	err := l.Unlock(ctx)
	ctxEnded := ctx.Err() != nil && errors.Is(err, ctx.Err())
	if ctxEnded && oneIn(c.r, 2) { // it unlocks once more, to wait for the delete
		time.Sleep(drawDuration(c.r, time.Millisecond, 5*time.Second)) // at a random moment
		ctx = c.limit
		err = l.Unlock(ctx)
	}
	c.end(o, err)
	if err != nil && ctx.Err() == nil && !errors.Is(err, zklock.ErrLost) {
		c.problem("Unlock of %s: %v", c.owner, err)
	}
}

// operate makes faults until the clients are done, or there were enough faults.
func (s *stage) operate(done <-chan struct{}) {
	defer func() {
		for _, fault := range s.made {
			fault.Release()
		}
	}()
	s.calmFrom = time.Now()
	s.harsh = !oneIn(s.r, 3)
	for range s.r.IntN(12) {
		select {
		case <-done:
			return
		case <-time.After(drawDuration(s.r, 10*time.Millisecond, 15*time.Second)):
		}
		s.makeFault()
	}
	select {
	case <-done:
	case <-time.After(time.Until(s.calmFrom)):
	}
}

// holdPackets notes a fault that holds packets back for a time. Then it releases them, and calls over.
func (s *stage) holdPackets(d time.Duration, over func(), held *zkserver.Fault) {
	s.made = append(s.made, held)
	if end := time.Now().Add(d); s.calmFrom.Before(end) {
		s.calmFrom = end
	}
	time.AfterFunc(d, func() {
		held.Release()
		over()
	})
}

// makeFault draws a fault, and makes it: one in a random session, or by an operator's command.
func (s *stage) makeFault() {
	target := s.target()
	session := s.sessions[target].SessionID()
	skip := s.r.IntN(4)                              // requests that go through before the fault
	afterSkipping := func(r zkserver.Request) bool { // is called for each request
		if r.Session == session && r.Op != jute.OpPing {
			skip--
		}
		return r.Session == session && skip < 0
	}
	allRequests := anyRequestOf(session)
	moment, long := drawDuration(s.r, time.Millisecond, time.Second), drawDuration(s.r, sessionTimeout/2, 3*sessionTimeout)
	kinds := 7 // the mild ones, cases 0 to 6: one of them alone takes no lease
	if s.harsh {
		kinds = 15 // all cases
	}
	switch s.r.IntN(kinds) {
	case 0:
		s.fault("session %d is cut off", target)()
		s.srv.Cut(session)
	case 1:
		s.fault("a request of session %d is lost", target)()
		s.made = append(s.made, s.srv.LoseRequest(afterSkipping))
	case 2:
		s.fault("a reply to session %d is lost", target)()
		s.made = append(s.made, s.srv.LoseReply(afterSkipping))
	case 3:
		s.holdPackets(moment, s.fault("a request of session %d is held", target), s.srv.Hold(afterSkipping))
	case 4:
		s.holdPackets(moment, s.fault("a reply to session %d is held", target), s.srv.HoldReply(afterSkipping))
	case 5:
		over := s.fault("an operator deletes the parent when it is empty")
		for range 50 { // it may never be empty
			if s.admin.Delete(historyPath, -1) == nil {
				break
			}
			time.Sleep(drawDuration(s.r, time.Millisecond, 500*time.Millisecond))
		}
		over()
	case 6:
		s.fault("the first contender is asked to release the lock")()
		s.revoke()
	case 7:
		s.fault("session %d is ended", target)()
		synctest.Wait() // no client does anything
		nodes, _ := s.srv.Ephemerals(session)
		s.take(nodes...)
		s.srv.Expire(session)
	case 8:
		s.deleteNode()
	case 9, 10, 11: // three times as likely as another
		s.holdPackets(long, s.fault("no packet of session %d arrives", target), s.srv.Hold(allRequests).Every())
	case 12, 13, 14:
		s.holdPackets(long, s.fault("no packet arrives at session %d", target), s.srv.HoldReply(allRequests).Every())
	}
}

// deleteNode deletes a random contender's node by hand.
func (s *stage) deleteNode() {
	names := s.srv.Children(historyPath)
	if len(names) == 0 {
		return
	}
	path := historyPath + "/" + names[s.r.IntN(len(names))]
	s.fault("an operator deletes %s", path)()
	synctest.Wait() // no client does anything
	if _, there := s.srv.Node(path); there {
		s.take(path)
	}
	if err := s.admin.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) { // its contender may have been faster
		require.NoError(s.t, err)
	}
}

// target draws a session, often that of the holder.
func (s *stage) target() int {
	random := s.r.IntN(len(s.sessions))
	names := s.srv.Children(historyPath)
	if oneIn(s.r, 2) || len(names) == 0 {
		return random
	}
	holder, _ := s.srv.Node(historyPath + "/" + names[0])
	for i, conn := range s.sessions {
		if conn.SessionID() == holder.Stat.EphemeralOwner {
			return i
		}
	}
	return random
}

func (s *stage) revoke() {
	ctx, cancel := context.WithTimeout(s.limit, time.Second)
	defer cancel()
	m := testenv.Must(zklock.New(s.admin, historyPath))(s.t)
	queue := testenv.Must(m.Participants(ctx))(s.t)
	if len(queue) > 0 {
		require.NoError(s.t, m.Revoke(ctx, queue[0]))
	}
}
