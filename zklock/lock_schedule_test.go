package zklock_test

import (
	"cmp"
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

const (
	sessionTimeout = 10 * time.Second
	historyPath    = "/history/lock"
)

// A subject is the lock under test: the one of this package, or one that was made of it with a fault.
type subject struct {
	options []zklock.Option
	caches  bool                          // it may keep a node that nobody needs
	wrap    func(acquireFunc) acquireFunc // or nil
}

type acquireFunc func(ctx context.Context, owner *zklock.Owner, try bool) (leaseUnderTest, error)

type leaseUnderTest interface {
	Unlock(ctx context.Context) error
	Token() int64
	Lost() <-chan struct{}
	RevokeRequested() <-chan struct{}
	Node() string
}

func (s subject) open(t *testing.T, conn *zk.Conn) acquireFunc {
	m := testenv.Must(zklock.New(conn, historyPath, append([]zklock.Option{zklock.WithSessionTimeout(sessionTimeout)}, s.options...)...))(t)
	direct := func(ctx context.Context, owner *zklock.Owner, try bool) (leaseUnderTest, error) {
		if try {
			return m.TryLock(ctx, owner)
		}
		return m.Lock(ctx, owner)
	}
	if s.wrap != nil {
		return s.wrap(direct)
	}
	return direct
}

// drawDuration draws a duration, short ones as often as long ones.
func drawDuration(r *rand.Rand, low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Exp(r.Float64()*math.Log(float64(high)/float64(low))))
}

// slowWay is a network that takes a while for every packet, and so each event has a moment of its
// own: the seed decides their order, and not Go's scheduler, as far as that is possible.
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
	limit    context.Context // ends when somebody is stuck
	stop     chan struct{}   // closed when all clients have done their work
}

// playSchedule has clients use a lock while an operator makes faults, all drawn from seed, and returns their history.
func playSchedule(t *testing.T, seed uint64, lock subject) *history {
	h := &history{seed: seed, holds: make(map[int64]*tokenHold), taken: make(map[string]int64)}
	bubble.Test(t, func(t *testing.T) {
		h.start = time.Now()
		t.Cleanup(func() { time.Sleep(3 * time.Second) }) // all notice that what they use has been closed
		srv := zkserver.Run(t)
		zoo := ensemble.OverPipes(srv)
		limit, cancel := context.WithCancel(t.Context())
		r := rand.New(rand.NewPCG(seed, 0))
		s := &stage{history: h, t: t, r: r, srv: srv, limit: limit, stop: make(chan struct{})}
		connect := func(o ensemble.Options) *zk.Conn {
			o.SessionTimeout, o.Buffer = sessionTimeout, 64<<10
			conn := testenv.Must(zoo.Connect(t.Context(), o))(t)
			t.Cleanup(conn.Close)
			return conn
		}
		s.admin = connect(ensemble.Options{})
		var clients sync.WaitGroup
		lane := 1
		for i := range 2 + s.r.IntN(3) {
			dials := uint64(0)
			conn := connect(ensemble.Options{Wrap: func(nc net.Conn) net.Conn {
				dials += 2 // a stream of random numbers for each direction
				stream := uint64(i+1)<<32 | dials
				return bubble.Through(nc, slowWay(rand.New(rand.NewPCG(seed, stream+1))), slowWay(rand.New(rand.NewPCG(seed, stream))))
			}})
			s.sessions = append(s.sessions, conn)
			for j := range 1 + s.r.IntN(2) {
				acquire := lock.open(t, conn)
				for k := range 1 + s.r.IntN(2) {
					owner := zklock.NewOwner(fmt.Sprintf("owner %d.%d.%d", i, j, k))
					for range 1 + s.r.IntN(4)/3 { // one in four owners is shared by two clients
						r := rand.New(rand.NewPCG(seed, uint64(lane)))
						c := &client{stage: s, lane: lane, r: r, acquire: acquire, owner: owner, caches: lock.caches}
						lane++
						clients.Go(c.work)
					}
				}
			}
		}
		done := make(chan struct{})
		go func() { clients.Wait(); close(done) }()
		s.operate(done)
		select {
		case <-done:
		case <-time.After(10 * time.Minute):
			h.problem("somebody is stuck")
			cancel()
			<-done
		}
		s.nothingLeft(lock.caches)
		close(s.stop)
		cancel()
	})
	return h
}

func (s *stage) must(_ any, err error) { require.NoError(s.t, err) }

// nothingLeft waits until nodes that were given up are deleted, and no request is under way when the client closes.
func (s *stage) nothingLeft(caches bool) {
	time.Sleep(3 * sessionTimeout) // whatever goes on in the background has ended by now
	synctest.Wait()
	if caches {
		// The watch on the parent may be there: see (j) of docs/client.md. It goes with the next contender.
		_, err := s.admin.Create(historyPath+"/contender", nil, 0, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) { // the operator has deleted the parent
			s.must(nil, cmp.Or(err, s.admin.Delete(historyPath+"/contender", -1)))
		}
	}
	if nodes, watches := s.srv.Children(historyPath), s.srv.Watches(); len(nodes)+len(watches) > 0 {
		s.problem("left behind: nodes %v, watches %v", nodes, watches)
	}
}

// A client is a goroutine of an owner that locks and unlocks a few times.
type client struct {
	*stage
	lane    int
	r       *rand.Rand
	acquire acquireFunc
	owner   *zklock.Owner
	caches  bool
}

func (c *client) work() {
	for range 3 + c.r.IntN(4) {
		time.Sleep(drawDuration(c.r, 100*time.Microsecond, 5*time.Second)) // at a random moment
		var leases []leaseUnderTest
		for again := true; again; again = len(leases) > 0 && c.r.IntN(4) == 0 {
			if l := c.lock(); l != nil {
				leases = append(leases, l)
			}
		}
		for _, l := range leases {
			hold := time.After(drawDuration(c.r, 100*time.Microsecond, 5*time.Second))
			if c.r.IntN(4) == 0 {
				hold = time.After(drawDuration(c.r, time.Second, 3*sessionTimeout))
			}
			if c.r.IntN(2) == 0 { // a holder that stops when it should
				select {
				case <-hold:
				case <-l.Lost():
				case <-l.RevokeRequested():
				}
			} else {
				<-hold
			}
			c.unlock(l)
		}
	}
}

// ctx returns a ctx that ends at random, or only if the play is stuck.
func (c *client) ctx() (context.Context, context.CancelFunc) {
	if c.r.IntN(3) > 0 {
		return context.WithCancel(c.limit)
	}
	return context.WithTimeout(c.limit, drawDuration(c.r, 100*time.Microsecond, 10*time.Second))
}

func (c *client) lock() leaseUnderTest {
	ctx, cancel := c.ctx()
	defer cancel()
	k := opLock
	if c.r.IntN(3) == 0 {
		k = opTryLock
	}
	o := c.begin(k, c.lane, c.owner.String(), 0)
	if c.caches && k == opTryLock {
		c.mu.Lock()
		o.beside = slices.ContainsFunc(c.srv.Children(historyPath), func(name string) bool { return c.isCachedLocked(historyPath + "/" + name) })
		c.mu.Unlock()
	}
	l, err := c.acquire(ctx, c.owner, k == opTryLock)
	if err != nil {
		c.end(o, err)
		if ctx.Err() == nil && (k == opLock || !errors.Is(err, zklock.ErrHeld)) {
			c.problem("%s of %s: %v", k, c.owner, err)
		}
		return nil
	}
	o.token = l.Token()
	c.end(o, nil)
	c.watch(l, c.stop)
	return l
}

func (c *client) unlock(l leaseUnderTest) {
	ctx, cancel := c.ctx()
	defer cancel()
	o := c.begin(opUnlock, c.lane, c.owner.String(), l.Token())
	err := l.Unlock(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && c.r.IntN(2) == 0 {
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
	var faults []*zkserver.Fault
	defer func() { releaseAll(faults) }()
	calm := time.Now() // when nothing is held any more
	s.harsh = s.r.IntN(3) > 0
	for range s.r.IntN(12) {
		select {
		case <-done:
			return
		case <-time.After(drawDuration(s.r, 10*time.Millisecond, 15*time.Second)):
		}
		n := s.target()
		session := s.sessions[n].SessionID()
		skip := s.r.IntN(4) // requests that go through before the fault
		next := func(r zkserver.Request) bool {
			if r.Session == session && r.Op != jute.OpPing {
				skip--
			}
			return r.Session == session && skip < 0
		}
		all := anyFrom(session)
		hold := func(d time.Duration, over func(), held ...*zkserver.Fault) {
			faults = append(faults, held...)
			if end := time.Now().Add(d); calm.Before(end) {
				calm = end
			}
			time.AfterFunc(d, func() {
				releaseAll(held)
				over()
			})
		}
		moment, long := drawDuration(s.r, time.Millisecond, time.Second), drawDuration(s.r, sessionTimeout/2, 3*sessionTimeout)
		kinds := 7 // cases 0 to 6, the mild ones
		if s.harsh {
			kinds = 15 // the others, too
		}
		switch s.r.IntN(kinds) {
		case 0:
			s.fault("session %d is cut off", n)()
			s.srv.Cut(session)
		case 1:
			s.fault("a request of session %d is lost", n)()
			faults = append(faults, s.srv.LoseRequest(next))
		case 2:
			s.fault("a reply to session %d is lost", n)()
			faults = append(faults, s.srv.LoseReply(next))
		case 3:
			hold(moment, s.fault("a request of session %d is held", n), s.srv.Hold(next))
		case 4:
			hold(moment, s.fault("a reply to session %d is held", n), s.srv.HoldReply(next))
		case 5:
			over := s.fault("an operator deletes the parent when it is empty")
			for range 50 {
				if s.admin.Delete(historyPath, -1) == nil {
					break
				}
				time.Sleep(drawDuration(s.r, time.Millisecond, 500*time.Millisecond)) // until it may be empty
			}
			over()
		case 6:
			s.fault("the first is asked to let go")()
			s.revoke()
		case 7:
			s.fault("session %d is ended", n)()
			s.noteTaken(func(node zkserver.Node) bool { return node.Stat.EphemeralOwner == session })
			s.srv.Expire(session)
		case 8:
			if names := s.srv.Children(historyPath); len(names) > 0 {
				node := historyPath + "/" + names[s.r.IntN(len(names))]
				s.fault("an operator deletes %s", node)()
				s.noteTaken(func(n zkserver.Node) bool { other, _ := s.srv.Node(node); return n.Stat.Czxid == other.Stat.Czxid })
				if err := s.admin.Delete(node, -1); !errors.Is(err, zk.ErrNoNode) {
					s.must(nil, err)
				}
			}
		case 9, 10, 11:
			hold(long, s.fault("no packet of session %d arrives", n), s.srv.Hold(all).Every())
		case 12, 13, 14:
			hold(long, s.fault("no packet arrives at session %d", n), s.srv.HoldReply(all).Every())
		}
	}
	select {
	case <-done:
	case <-time.After(time.Until(calm)):
	}
}

// target draws a session, often that of the holder.
func (s *stage) target() int {
	n := s.r.IntN(len(s.sessions))
	names := s.srv.Children(historyPath)
	if s.r.IntN(2) == 0 || len(names) == 0 {
		return n
	}
	holder, _ := s.srv.Node(historyPath + "/" + names[0])
	for i, conn := range s.sessions {
		if conn.SessionID() == holder.Stat.EphemeralOwner {
			return i
		}
	}
	return n
}

// noteTaken notes the leases that the operator is about to take with nodes that go, while no client does anything.
func (s *stage) noteTaken(gone func(node zkserver.Node) bool) {
	synctest.Wait()
	var nodes []string
	for _, name := range s.srv.Children(historyPath) {
		if node, ok := s.srv.Node(historyPath + "/" + name); ok && gone(node) {
			nodes = append(nodes, historyPath+"/"+name)
		}
	}
	s.take(nodes...)
}

func (s *stage) revoke() {
	ctx, cancel := context.WithTimeout(s.limit, time.Second)
	defer cancel()
	m, err := zklock.New(s.admin, historyPath)
	require.NoError(s.t, err)
	queue, err := m.Participants(ctx)
	require.NoError(s.t, err)
	if len(queue) > 0 {
		require.NoError(s.t, m.Revoke(ctx, queue[0]))
	}
}
