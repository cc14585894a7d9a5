//go:build docker && linux

// Runs on three servers in Docker, which are killed, paused and cut from each other.
package chaos_test

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers/docker"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

var (
	cutTimes   = flag.Int("cut.n", 1, "how `many` times each cut is made")
	cutCaching = flag.Bool("cut.caching", false, "the holders have their leases by nodes that were cached")
)

const cutHolders = 4 // how many paths have a holder and a contender that waits

// A link is a direction between two nodes of an ensemble, by index. If it is cut, deaf receives nothing from the other.
type link struct{ deaf, from int }

func bothWays(a, b int) []link { return []link{{deaf: a, from: b}, {deaf: b, from: a}} }

// cutLinks returns a function that cuts some links.
func cutLinks(nodes []*docker.Node, links ...link) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		for _, l := range links {
			err = errors.Join(err, nodes[l.deaf].Deafen(ctx, nodes[l.from]))
		}
		return err
	}
}

// The next contender, whose server is not cut off, does not get the lock before the holder's Lost has closed, if the
// holder's server is cut from the rest of the ensemble and goes on answering reads. Only the leader ends sessions, and
// it ends the holder's as soon as its own clock says so.
func TestCut(t *testing.T) {
	const leader, first, second = 0, 1, 2 // the nodes: first and second are the followers
	for _, cut := range []struct {
		name              string
		holder, contender int // their nodes, of which the holder's is cut off
		links             []link
		then              func(t *testing.T, n []*docker.Node) // may be nil
	}{
		{name: "a follower from its leader", holder: first, contender: second, links: bothWays(first, leader)},
		{name: "a follower receives nothing from its leader", holder: first, contender: leader, links: []link{{deaf: first, from: leader}}},
		{name: "a leader receives nothing from its follower", holder: first, contender: second, links: []link{{deaf: leader, from: first}}},
		{name: "the leader from both followers", holder: leader, contender: first,
			links: append(bothWays(first, leader), bothWays(second, leader)...)},
		// The leader handles a write before an earlier answer of the follower has reached it, and the client gets the answer
		// to the write when nothing of the follower reaches the leader any more. So a proof must not begin with its write.
		{name: "the leader's packets reach a follower late, and the follower's none", holder: first, contender: second,
			then: func(t *testing.T, n []*docker.Node) {
				require.NoError(t, n[first].DeafenToData(t.Context(), n[leader]))
				time.Sleep(sessionTimeout/3 + sessionTimeout/100) // until the next proof has begun
				require.NoError(t, n[leader].DeafenToData(t.Context(), n[first]))
				require.NoError(t, n[first].Heal(t.Context()))
			}},
	} {
		t.Run(cut.name, func(t *testing.T) {
			for i := range *cutTimes {
				zoo := threeServers(t)
				nodes := leaderAndFollowers(t, zoo)
				pairs := newPairs(t, nodes[cut.holder], nodes[cut.contender], i%2 == 0)

				began := time.Now()
				require.NoError(t, cutLinks(nodes, cut.links...)(t.Context()))
				if cut.then != nil {
					cut.then(t, nodes)
				}
				var wg sync.WaitGroup
				for _, p := range pairs {
					wg.Go(func() { p.awaitHandOver(t, began) })
				}
				wg.Wait()
				for j, p := range pairs {
					// On a busy machine, Lost may have closed before the cut.
					t.Logf("cut %d, %v, path %d: Lost closed after %.2f s, the next one was in after %.2f s",
						i+1, nodes[cut.holder], j+1, p.lostAt.Sub(began).Seconds(), p.enteredAt.Sub(began).Seconds())
					assert.False(t, p.overlap, "two held the lock at once for %v", p.lostAt.Sub(p.enteredAt))
					p.close(t)
				}
			}
		})
	}
}

// A pair is a holder and the contender that waits for it.
type pair struct {
	path   string
	conns  []*zk.Conn // the holder's and the contender's
	stop   context.CancelFunc
	queue  *zklock.Mutex // the holder's
	holder *zklock.Lease
	lost   chan struct{} // closed when the holder has lost the lock
	lostAt time.Time

	entered   chan struct{} // closed when the contender's Lock has returned; the fields below are its result
	enteredAt time.Time
	next      *zklock.Lease
	err       error
	overlap   bool // Lock has returned a lease, and the holder's Lost was open then
}

// newPairs returns pairs whose contenders wait. ordinary says whether the clients are those of zk.Connect.
func newPairs(t *testing.T, holders, contenders *docker.Node, ordinary bool) (pairs []*pair) {
	for len(pairs) < cutHolders {
		p := newPair(t, holders, contenders, ordinary)
		if !p.contenderWaits(t) {
			p.close(t)
			continue
		}
		pairs = append(pairs, p)
		time.Sleep(time.Duration(300+len(pairs)*170) * time.Millisecond) // so that the proofs have different phases
	}
	return pairs
}

// newPair returns a pair whose holder has the lock, and whose contender has called Lock.
func newPair(t *testing.T, holders, contenders *docker.Node, ordinary bool) *pair {
	p := &pair{path: "/cut-" + crand.Text(), lost: make(chan struct{}), entered: make(chan struct{})}
	for _, n := range []*docker.Node{holders, contenders} {
		p.conns = append(p.conns, openAny(t, []string{n.Addr()}, sessionTimeout, ordinary))
	}
	ctx, cancel := context.WithTimeout(t.Context(), leeway)
	p.stop = cancel
	options := []zklock.Option{zklock.WithSessionTimeout(sessionTimeout)}
	if *cutCaching {
		options = append(options, zklock.WithCaching(time.Minute))
	}
	p.queue = testenv.Must(zklock.New(p.conns[0], p.path, options...))(t)
	var err error
	p.holder, err = insist(ctx, p.queue, "holder")
	for err == nil && *cutCaching && p.queue.Stats().HandedOn == 0 { // until a node was cached
		require.NoError(t, p.holder.Unlock(ctx))
		p.holder, err = insist(ctx, p.queue, "holder")
	}
	require.NoError(t, err)
	go func() {
		defer close(p.lost)
		<-p.holder.Lost()
		p.lostAt = time.Now()
	}()
	c := testenv.Must(zklock.New(p.conns[1], p.path, zklock.WithSessionTimeout(sessionTimeout)))(t)
	go func() {
		defer close(p.entered)
		p.next, p.err = insist(ctx, c, "contender")
		p.overlap = p.err == nil && !bubble.IsClosed(p.holder.Lost())
		p.enteredAt = time.Now()
	}()
	return p
}

// contenderWaits returns true as soon as the contender waits for the holder, or false if the lock is lost before.
func (p *pair) contenderWaits(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), leeway)
	defer cancel()
	for !bubble.IsClosed(p.lost) {
		list, err := p.queue.Participants(ctx)
		if err == nil && len(list) == 2 {
			return true
		}
		require.NoError(t, ctx.Err())
		time.Sleep(50 * time.Millisecond) // a poll: no event says that a contender waits
	}
	return false
}

// insist locks, again after any error until ctx ends: on a busy machine the servers may be too slow for a safe lease.
func insist(ctx context.Context, m *zklock.Mutex, owner string) (*zklock.Lease, error) {
	for {
		l, err := m.Lock(ctx, zklock.NewOwner(owner))
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// awaitHandOver waits until the holder has lost the lock, after its server was cut off, and the contender has got it.
func (p *pair) awaitHandOver(t *testing.T, began time.Time) {
	select {
	case <-p.lost:
	case <-time.After(5 * time.Minute):
		t.Errorf("the holder's server was cut off %v ago, and Lost is open", time.Since(began))
		return
	}
	<-p.entered
	assert.NoError(t, p.err, "the contender")
}

func (p *pair) close(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.stop()
	<-p.entered
	if p.next != nil {
		if err := p.next.Unlock(ctx); err != nil {
			t.Logf("the contender's unlock: %v", err)
		}
	}
	for _, conn := range p.conns {
		conn.Close()
	}
}

// No two hold a lock at once, and all else that check demands, with faults of the servers and of their clients.
func TestChaos(t *testing.T) {
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	for name, ordinary := range map[string]bool{"clients of Connect": false, "ordinary clients": true} {
		t.Run(name, func(t *testing.T) {
			t.Logf("again: go test -tags docker ./internal/chaos -run 'TestChaos/%s' -chaos.for %v -chaos.seed %d",
				strings.ReplaceAll(name, " ", "_"), *chaosFor, seed)
			zoo := threeServers(t)
			c, addrs := &serverChaos{zoo: zoo}, zoo.Addrs()
			config := clientConfig{Zoo: addrs, Ordinary: []bool{ordinary, ordinary, ordinary}, Caching: *chaosCaching}
			c.chaos = newChaos(t, seed, config, [processes][]string{addrs, addrs, addrs})
			c.play(*chaosFor/2, c.leased,
				lane{name: "servers", next: c.serverFault, after: c.spread, pause: 5 * time.Second},
				lane{name: "clients", next: c.clientFault, pause: 5 * time.Second})
			require.NoError(t, heal(t.Context(), zoo), "the servers do not recover")
			c.finish()
			c.check()
		})
	}
}

// serverChaos is chaos of three servers and of the clients.
type serverChaos struct {
	*chaos
	zoo *docker.Servers
}

// spread makes the clients change servers: they have left the one that was broken, which the next fault may hit again.
func (c *serverChaos) spread() {
	for _, p := range c.clients {
		fmt.Fprintln(p.in, "spread")
	}
}

// serverFault breaks the leader or a follower, one at a time.
func (c *serverChaos) serverFault(rng *rand.Rand) fault {
	nodes := c.zoo.Nodes()
	hit, role := rng.IntN(len(nodes)), ""
	leader, err := c.zoo.Leader(c.Context())
	if err == nil {
		hit, role = slices.Index(nodes, leader), "the leader, "
	}
	peer := (hit + 1 + rng.IntN(2)) % len(nodes)
	if err == nil && rng.IntN(3) > 0 { // in two of three cases a follower is hit, and the leader is its peer
		hit, peer, role = peer, hit, "a follower, "
	}
	third := 3 - hit - peer // of the indices 0, 1 and 2 the one that is left
	victim, name, other := nodes[hit], role+nodes[hit].String(), nodes[peer].String()

	secondsBetween := func(from, to int64) time.Duration { return time.Duration(from*1e9 + rng.Int64N((to-from)*1e9)) }
	healAll := func(ctx context.Context) (err error) {
		for _, n := range nodes {
			err = errors.Join(err, n.Heal(ctx))
		}
		return err
	}
	cut := func(name string, links ...link) fault {
		return fault{name: name, begin: cutLinks(nodes, links...), end: healAll, lasts: secondsBetween(5, 14)}
	}
	isolated := cut(name+" and "+other+" are cut", bothWays(hit, peer)...)
	faults := []fault{
		{name: "kill -9 of " + name, begin: victim.Kill, end: victim.Start, lasts: secondsBetween(1, 8)},
		{name: "pause of " + name, begin: victim.Pause, end: victim.Unpause, lasts: secondsBetween(1, 12)},
		{name: name + " receives nothing from its clients", begin: victim.DeafenToClients, end: victim.Heal, lasts: secondsBetween(2, 9)},
		{name: "the clients receive nothing from " + name, begin: victim.MuteToClients, end: victim.Heal, lasts: secondsBetween(2, 9)},
		cut(name+" receives nothing from "+other, link{deaf: hit, from: peer}),
		cut(other+" receives nothing from "+name, link{deaf: peer, from: hit}),
		cut(name+" and both others are cut", append(bothWays(hit, peer), bothWays(hit, third)...)...),
		isolated, isolated, // twice as likely
	}
	return faults[rng.IntN(len(faults))]
}

// threeServers returns an ensemble of three that works.
func threeServers(t *testing.T) *docker.Servers {
	zoo := testenv.Must(openServers())(t)
	t.Cleanup(func() { // a test that fails must not break the next one
		require.NoError(t, heal(context.Background(), zoo))
	})
	require.NoError(t, heal(t.Context(), zoo))
	return zoo
}

// openServers starts three servers, once for all tests.
var openServers = sync.OnceValues(func() (*docker.Servers, error) {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	zoo, err := docker.Open(ctx, 3) // it removes what a killed process has left
	if err == nil {
		removeServers = zoo.Close
		context.AfterFunc(ctx, func() { zoo.Close(); os.Exit(1) })
	}
	return zoo, err
})

// heal ends every fault and returns when all servers serve.
func heal(ctx context.Context, zoo *docker.Servers) error {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var err error
		for _, n := range zoo.Nodes() { // each time, because a server may have ended since
			n.Unpause(ctx)                                    // it fails if the server is not paused
			err = errors.Join(err, n.Start(ctx), n.Heal(ctx)) // Start does nothing if the server runs
		}
		if err == nil {
			err = serving(ctx, zoo)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// serving returns nil if one server leads and the others follow, and each gives a session, which it has agreed on with
// the leader: a follower that has been cut off says that it follows until it notices.
func serving(ctx context.Context, zoo *docker.Servers) error {
	leaders := 0
	for _, n := range zoo.Nodes() {
		mode, err := n.Mode(ctx)
		if err != nil {
			return fmt.Errorf("%v does not serve: %w", n, err)
		}
		if mode == "leader" {
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Errorf("%d servers lead", leaders)
	}
	for _, n := range zoo.Nodes() {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		conn, err := zkconn.Connect(ctx, []string{n.Addr()}, 10*time.Second)
		cancel()
		if err != nil {
			return err
		}
		conn.Close()
	}
	return nil
}

// leaderAndFollowers returns the leader, and behind it the two followers.
func leaderAndFollowers(t *testing.T, zoo *docker.Servers) (nodes []*docker.Node) {
	require.Eventually(t, func() bool {
		leader, err := zoo.Leader(t.Context())
		nodes = []*docker.Node{leader}
		return err == nil
	}, leeway, 100*time.Millisecond)
	followers := slices.DeleteFunc(slices.Clone(zoo.Nodes()), func(n *docker.Node) bool { return n == nodes[0] })
	return append(nodes, followers...)
}

// A follower that is cut off answers no check in a multi, even without the right to it: the lock's proof relies on
// that. Run it with ZK_CONFIG=enableEagerACLCheck=true, too: then it refuses other writes without its leader.
func TestACutOffFollowerAnswersNoCheckInAMulti(t *testing.T) {
	zoo := threeServers(t)
	nodes := leaderAndFollowers(t, zoo)
	leader, follower := nodes[0], nodes[1]
	conn := testenv.Must(zkconn.Connect(t.Context(), []string{follower.Addr()}, 40*time.Second))(t) // the machine may stop
	defer conn.Close()
	acl, stat := testenv.Must2(conn.GetACL("/"))(t)
	testenv.Must(conn.SetACL("/", zk.WorldACL(zk.PermAdmin), stat.Aversion))(t)
	defer func() {
		require.NoError(t, heal(t.Context(), zoo))
		for _, err := conn.SetACL("/", acl, -1); err != nil; _, err = conn.SetACL("/", acl, -1) {
			require.NoError(t, t.Context().Err())
			time.Sleep(100 * time.Millisecond) // until the client is connected again
		}
	}()
	check := func() error { return testenv.Err(conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})) }
	require.ErrorIs(t, check(), zk.ErrNoAuth)
	require.NoError(t, follower.Deafen(t.Context(), leader))
	require.NoError(t, leader.Deafen(t.Context(), follower))
	select {
	case err := <-bubble.Aside(func() error { return testenv.Err(conn.Create("/refused", nil, 0, zk.WorldACL(zk.PermAll))) }):
		t.Logf("a create without the right to it: %v", err)
	case <-time.After(time.Second): // the follower does not decide alone
	}
	select {
	case err := <-bubble.Aside(check):
		require.NotErrorIs(t, err, zk.ErrNoAuth, "the follower has answered alone")
	case <-time.After(5 * time.Second): // less than the follower takes to notice that it is cut off
	}
}
