//go:build docker && linux

package chaos_test

import (
	"cmp"
	"context"
	"errors"
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

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/servers/docker"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

// Three servers, three processes with 17 contenders each on two paths, and
// faults. See check for what must hold.
func TestChaos(t *testing.T) {
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	for _, ordinary := range []bool{false, true} {
		name := "clients of Connect"
		if ordinary {
			name = "ordinary clients"
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("again: go test -tags docker ./internal/chaos -run 'TestChaos/%s' -chaos.for %v -chaos.seed %d", strings.ReplaceAll(name, " ", "_"), *chaosFor, seed)
			zoo := three(t)
			c := &serverChaos{zoo: zoo}
			addrs := zoo.Addrs()
			c.chaos = newChaos(t, seed, clientConfig{
				Zoo: addrs, Session: sessionTimeout, Clock: sessionTimeout, Ordinary: []bool{ordinary, ordinary, ordinary}, Caching: *chaosCaching,
			}, [processes][]string{addrs, addrs, addrs})
			c.play(*chaosFor/2, c.leased,
				lane{name: "servers", next: c.serverFault, after: c.spread, pause: 5 * time.Second},
				lane{name: "clients", next: c.clientFault, pause: 5 * time.Second})
			if err := heal(t.Context(), zoo); err != nil {
				t.Fatalf("the servers do not recover: %v", err)
			}
			c.finish()
			c.check()
			require.Equal(t, *chaosCaching > 0, c.counts()["lease by a cached node"] > 0)
		})
	}
}

// serverChaos is chaos of three servers and of the clients.
type serverChaos struct {
	*chaos
	zoo *docker.Servers
}

// spread makes the clients change servers. They have left the one that was broken, and
// would stay where they are: the next fault would miss most of them.
func (c *serverChaos) spread() {
	for _, p := range c.clients {
		fmt.Fprintln(p.in, "spread")
	}
}

// serverFault breaks the leader or a follower, one at a time.
func (c *serverChaos) serverFault(rng *rand.Rand) fault {
	nodes := c.zoo.Nodes()
	victim := nodes[rng.IntN(len(nodes))] // if there is no leader
	other := nodes[(slices.Index(nodes, victim)+1)%len(nodes)]
	name := fmt.Sprintf("%v", victim)
	if leader, err := c.zoo.Leader(c.Context()); err == nil {
		follower := nodes[(slices.Index(nodes, leader)+1+rng.IntN(2))%len(nodes)]
		if victim, other, name = leader, follower, fmt.Sprintf("the leader, %v", leader); rng.IntN(3) > 0 {
			victim, other, name = follower, leader, fmt.Sprintf("a follower, %v", follower)
		}
	}
	lasts := func(from, to time.Duration) time.Duration { return from + time.Duration(rng.Int64N(int64(to-from))) }
	deafen := func(from ...*docker.Node) func(context.Context) error { // pairs
		return func(ctx context.Context) (err error) {
			for i := 0; i < len(from); i += 2 {
				err = errors.Join(err, from[i].Deafen(ctx, from[i+1]))
			}
			return err
		}
	}
	whole := func(ctx context.Context) (err error) {
		for _, n := range nodes {
			err = errors.Join(err, n.Heal(ctx))
		}
		return err
	}
	switch rng.IntN(9) {
	case 0:
		return fault{"kill -9 of " + name, victim.Kill, victim.Start, lasts(time.Second, 8*time.Second)}
	case 1:
		return fault{"pause of " + name, victim.Pause, victim.Unpause, lasts(time.Second, 12*time.Second)}
	case 2:
		return fault{name + " receives nothing from " + other.String(), deafen(victim, other), whole, lasts(5*time.Second, 14*time.Second)}
	case 3:
		return fault{other.String() + " receives nothing from " + name, deafen(other, victim), whole, lasts(5*time.Second, 14*time.Second)}
	case 4:
		return fault{name + " receives nothing from its clients", victim.DeafenToClients, victim.Heal, lasts(2*time.Second, 9*time.Second)}
	case 5:
		return fault{"the clients receive nothing from " + name, victim.MuteToClients, victim.Heal, lasts(2*time.Second, 9*time.Second)}
	case 6:
		third := nodes[3-slices.Index(nodes, victim)-slices.Index(nodes, other)]
		cut := deafen(victim, other, other, victim, victim, third, third, victim)
		return fault{name + " and both others are cut", cut, whole, lasts(5*time.Second, 14*time.Second)}
	default:
		return fault{name + " and " + other.String() + " are cut", deafen(victim, other, other, victim), whole, lasts(5*time.Second, 14*time.Second)}
	}
}

// three returns an ensemble of three that works.
func three(t *testing.T) *docker.Servers {
	zoo := testenv.Must(open())(t)
	t.Cleanup(func() { // a test that fails must not break the next one
		require.NoError(t, heal(context.Background(), zoo))
	})
	require.NoError(t, heal(t.Context(), zoo))
	return zoo
}

var open = sync.OnceValues(func() (*docker.Servers, error) {
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
		for _, n := range zoo.Nodes() { // each time: a server may have ended since
			n.Unpause(ctx)                                    // an error if it is not paused
			err = errors.Join(err, n.Start(ctx), n.Heal(ctx)) // nothing if it runs
		}
		if err == nil {
			err = serve(ctx, zoo)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// serve returns nil if one server leads and the others follow, and each gives a session, which it
// has agreed on with the leader: a follower that has been cut off says that it follows until it notices.
func serve(ctx context.Context, zoo *docker.Servers) error {
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
		if err := givesSession(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func givesSession(ctx context.Context, n *docker.Node) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := zkconn.Connect(ctx, []string{n.Addr()}, 10*time.Second)
	if err == nil {
		conn.Close()
	}
	return err
}

// roles returns the leader and the two followers.
func roles(t *testing.T, zoo *docker.Servers) (leader *docker.Node, followers []*docker.Node) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		leader, err = zoo.Leader(t.Context())
		return err == nil
	}, 5*time.Minute, 100*time.Millisecond)
	for _, n := range zoo.Nodes() {
		if n != leader {
			followers = append(followers, n)
		}
	}
	return leader, followers
}
