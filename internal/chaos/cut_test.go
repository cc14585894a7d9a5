//go:build docker && linux

package chaos_test

import (
	"context"
	"crypto/rand"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/servers/docker"
	"example.com/zklock/zklock"
)

var (
	cutTimes   = flag.Int("cut.n", 1, "how `many` times each cut is made")
	cutSession = flag.Duration("cut.session", 4*time.Second, "the session `timeout` of the contenders")
	cutCaching = flag.Bool("cut.caching", false, "the holders have their leases by nodes that were cached")
	cutHolders = flag.Int("cut.holders", 4, "how `many` paths have a holder and a contender that waits")
)

// A holder's server is cut from the rest of the ensemble, and goes on
// answering reads. Only the leader ends sessions, and it ends the holder's as
// soon as its own clock says so. The next contender, whose server is not cut,
// must not be in before the holder's Lost has closed.
func TestCut(t *testing.T) {
	deafen := func(t *testing.T, n, to *docker.Node) { require.NoError(t, n.Deafen(t.Context(), to)) }
	for _, cut := range []struct {
		name string
		// The holder's server is cut off, the contender's is not.
		make func(t *testing.T, zoo *docker.Servers) (holders, contenders *docker.Node, cut func())
	}{
		{"a follower from its leader", func(t *testing.T, zoo *docker.Servers) (_, _ *docker.Node, _ func()) {
			leader, followers := roles(t, zoo)
			return followers[0], followers[1], func() {
				deafen(t, followers[0], leader)
				deafen(t, leader, followers[0])
			}
		}},
		{"a follower receives nothing from its leader", func(t *testing.T, zoo *docker.Servers) (_, _ *docker.Node, _ func()) {
			leader, followers := roles(t, zoo)
			return followers[0], leader, func() { deafen(t, followers[0], leader) }
		}},
		{"a leader receives nothing from its follower", func(t *testing.T, zoo *docker.Servers) (_, _ *docker.Node, _ func()) {
			leader, followers := roles(t, zoo)
			return followers[0], followers[1], func() { deafen(t, leader, followers[0]) }
		}},
		{"the leader from both followers", func(t *testing.T, zoo *docker.Servers) (_, _ *docker.Node, _ func()) {
			leader, followers := roles(t, zoo)
			return leader, followers[0], func() {
				for _, f := range followers {
					deafen(t, f, leader)
					deafen(t, leader, f)
				}
			}
		}},
		// The proof needs its order: the leader handles a write before the earlier
		// answer of the follower has reached it, and the client gets the answer to
		// the write when nothing of the follower reaches the leader any more.
		{"the leader's packets reach a follower late, and the follower's none", func(t *testing.T, zoo *docker.Servers) (_, _ *docker.Node, _ func()) {
			leader, followers := roles(t, zoo)
			return followers[0], followers[1], func() {
				require.NoError(t, followers[0].DeafenToData(t.Context(), leader))
				time.Sleep(*cutSession * 34 / 100) // so that a proof is begun
				require.NoError(t, leader.DeafenToData(t.Context(), followers[0]))
				require.NoError(t, followers[0].Heal(t.Context()))
			}
		}},
	} {
		t.Run(cut.name, func(t *testing.T) {
			for i := range *cutTimes {
				zoo := three(t)
				holders, contenders, cutOff := cut.make(t, zoo)
				pairs := newPairs(t, holders, contenders, i%2 == 0)
				began := time.Now()
				cutOff()
				var wg sync.WaitGroup
				for _, p := range pairs {
					wg.Go(func() { p.run(t, began) })
				}
				wg.Wait()
				for j, p := range pairs {
					// It may have closed before the cut, on a busy machine.
					t.Logf("cut %d, %v, path %d: Lost closed after %.2f s, the next one was in after %.2f s",
						i+1, holders, j+1, p.lost.Sub(began).Seconds(), p.in.Sub(began).Seconds())
					if p.both {
						t.Errorf("two held the lock at once for %v", p.lost.Sub(p.in))
					}
				}
				for _, p := range pairs {
					p.close(t)
				}
				require.NoError(t, heal(t.Context(), zoo))
			}
		})
	}
}

// A pair is a holder and the contender that waits for it.
type pair struct {
	path   string
	conns  []*zk.Conn
	stop   context.CancelFunc
	queue  *zklock.Mutex // the holder's
	holder *zklock.Lease
	over   chan struct{}
	lost   time.Time // when Lost of the holder was seen to be closed, and over was closed

	done chan struct{} // closed when the contender's Lock has returned
	in   time.Time     // when it did
	next *zklock.Lease
	err  error
	both bool // and the holder's Lost was open then
}

func newPairs(t *testing.T, holders, contenders *docker.Node, ordinary bool) (pairs []*pair) {
	for len(pairs) < *cutHolders {
		p := newPair(t, holders, contenders, ordinary)
		if !p.waits(t) {
			p.close(t)
			continue
		}
		pairs = append(pairs, p)
		time.Sleep(time.Duration(300+len(pairs)*170) * time.Millisecond) // so that the proofs of the holders have different phases
	}
	return pairs
}

func newPair(t *testing.T, holders, contenders *docker.Node, ordinary bool) *pair {
	p := &pair{path: "/cut-" + rand.Text(), over: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	p.stop = cancel
	options := []zklock.Option{zklock.WithSessionTimeout(*cutSession)}
	if *cutCaching {
		options = append(options, zklock.WithCaching(time.Minute))
	}
	h, err := zklock.New(p.connect(t, holders, ordinary), p.path, options...)
	require.NoError(t, err)
	p.queue = h
	p.holder, err = insist(ctx, h, "holder")
	for err == nil && *cutCaching && h.Stats().HandedOn == 0 { // until a node was cached
		require.NoError(t, p.holder.Unlock(ctx))
		p.holder, err = insist(ctx, h, "holder")
	}
	require.NoError(t, err)
	go func() {
		defer close(p.over)
		<-p.holder.Lost()
		p.lost = time.Now()
	}()
	c, err := zklock.New(p.connect(t, contenders, ordinary), p.path, zklock.WithSessionTimeout(*cutSession))
	require.NoError(t, err)
	go func() {
		defer close(p.done)
		p.next, p.err = insist(ctx, c, "contender")
		p.both = p.err == nil && !bubble.IsClosed(p.holder.Lost())
		p.in = time.Now()
	}()
	return p
}

// waits returns true when the contender waits for the holder, and false if the
// holder has lost the lock before.
func (p *pair) waits(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !bubble.IsClosed(p.over) {
		list, err := p.queue.Participants(ctx)
		if err == nil && len(list) == 2 {
			return true
		}
		require.NoError(t, ctx.Err())
		time.Sleep(50 * time.Millisecond) // a poll: no event says that a contender waits
	}
	return false
}

// insist locks, and tries again after any error until ctx ends: on a busy
// machine the servers may be too slow for a lease to be safe.
func insist(ctx context.Context, m *zklock.Mutex, owner string) (*zklock.Lease, error) {
	for {
		l, err := m.Lock(ctx, zklock.NewOwner(owner))
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		time.Sleep(100 * time.Millisecond) // they get no faster if they are asked at once
	}
}

// connect opens a client of one server, an ordinary one or zkconn.Connect's.
func (p *pair) connect(t *testing.T, n *docker.Node, ordinary bool) *zk.Conn {
	conn := openAny(t, []string{n.Addr()}, *cutSession, ordinary)
	p.conns = append(p.conns, conn)
	return conn
}

// run waits until the holder has lost the lock and the contender is in.
func (p *pair) run(t *testing.T, began time.Time) {
	select {
	case <-p.over:
	case <-time.After(5 * time.Minute):
		t.Errorf("the holder's server was cut off %v ago, and Lost is open", time.Since(began))
		return
	}
	<-p.done
	if p.err != nil {
		t.Errorf("the contender: %v", p.err)
	}
}

func (p *pair) close(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.stop()
	<-p.done
	if p.next != nil {
		if err := p.next.Unlock(ctx); err != nil {
			t.Logf("the contender's unlock: %v", err)
		}
	}
	for _, conn := range p.conns {
		conn.Close()
	}
}
