//go:build linux

package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/proxy"
)

// On the ZooKeeper that the environment variable ZK names, which has no faults:
// three processes with 17 contenders each on two paths, which are cut off and
// paused, for shorter and for longer than their sessions. Half of the sessions
// are of ordinary clients. See check for what must hold.
func TestChaosOfClients(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	t.Logf("again: ZK=%s go test ./internal/chaos -run 'TestChaosOfClients$' -chaos.for %v -chaos.seed %d", os.Getenv("ZK"), *chaosFor, seed)
	c := newCutOff(t, seed, clientConfig{
		Session: sessionTimeout, Clock: sessionTimeout, Ordinary: []bool{false, true, false, true}, Caching: *chaosCaching,
	})
	c.play(*chaosFor, func() bool { return c.leased() && c.over() > 0 },
		lane{name: "lines", next: c.lineFault, pause: time.Second},
		lane{name: "processes", next: c.processFault, pause: time.Second})
	c.finish()
	c.check()
	require.NotZero(t, c.over(), "sessions that are over")
	require.Equal(t, *chaosCaching > 0, c.counts()["lease by a cached node"] > 0)
}

// cutOffChaos is chaos of clients alone.
type cutOffChaos struct {
	*chaos
	lines [][]*proxy.Proxy // of each process, one for each server
	made  int              // faults of lines
	stops int              // of processes
}

func newCutOff(t *testing.T, seed uint64, o clientConfig) *cutOffChaos {
	if os.Getenv("ZK") == "" {
		t.Skip("cuts processes off and pauses them for longer than their sessions, in real time: needs a real server (set ZK)")
	}
	zoo := strings.Split(os.Getenv("ZK"), ",")
	c := &cutOffChaos{}
	var via [processes][]string
	for i := range processes {
		var lines []*proxy.Proxy
		for _, server := range zoo {
			p := proxy.New(t, server)
			lines = append(lines, p)
			via[i] = append(via[i], p.Addr())
		}
		c.lines = append(c.lines, lines)
	}
	o.Zoo = zoo
	c.chaos = newChaos(t, seed, o, via)
	return c
}

func each(lines [][]*proxy.Proxy, do func(*proxy.Proxy)) func(context.Context) error {
	return func(context.Context) error {
		for _, p := range slices.Concat(lines...) {
			do(p)
		}
		return nil
	}
}

func silence(p *proxy.Proxy) { p.Silence(proxy.ToServer, proxy.ToClient) }

// lasts returns for how long a fault lasts: every other one long enough for the
// session to end. The server looks every two seconds.
func lasts(rng *rand.Rand, i int) time.Duration {
	s := int64(sessionTimeout)
	if i%2 == 0 {
		return time.Duration(s*16/10 + rng.Int64N(s*6/10))
	}
	return time.Duration(s/10 + rng.Int64N(s*8/10))
}

// lineFault breaks the lines of one process.
func (c *cutOffChaos) lineFault(rng *rand.Rand) fault {
	n := rng.IntN(processes)
	what, begin := "is cut off", (*proxy.Proxy).CutOff
	switch rng.IntN(4) {
	case 0:
		what, begin = "is cut off without a word", silence
	case 1:
		what, begin = "is cut off towards the servers", func(p *proxy.Proxy) { p.Silence(proxy.ToServer) }
	case 2:
		what, begin = "is cut off from the servers", func(p *proxy.Proxy) { p.Silence(proxy.ToClient) }
	}
	c.made++
	lines := c.lines[n : n+1]
	return fault{fmt.Sprintf("process %d %s", n, what), each(lines, begin), each(lines, (*proxy.Proxy).Heal), lasts(rng, c.made-1)}
}

// processFault is clientFault, but until a session has expired of itself it
// stops processes, so that it is known that the faults have an effect.
func (c *cutOffChaos) processFault(rng *rand.Rand) fault {
	if f := c.clientFault(rng); f.end == nil && c.over() > 0 {
		return f
	}
	c.stops++
	return c.stop(rng.IntN(processes), lasts(rng, c.stops-1))
}

// over returns how many sessions are over.
func (c *cutOffChaos) over() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts()["session over"]
}
