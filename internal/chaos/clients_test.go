//go:build linux

package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/proxy"
)

// The ZooKeeper is the one that the environment variable ZK names, and has no faults. Three
// processes with 17 contenders each on two paths are cut off and paused, for shorter and for longer
// than their sessions. Half of the sessions are of ordinary clients. See check for what must hold.
func TestChaosOfClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("ZK") == "" {
		t.Skip("cuts processes off and pauses them longer than their sessions, in real time: needs a real server (set ZK)")
	}
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	t.Logf("again: ZK=%s go test ./internal/chaos -run 'TestChaosOfClients$' -chaos.for %v -chaos.seed %d", os.Getenv("ZK"), *chaosFor, seed)
	zoo := strings.Split(os.Getenv("ZK"), ",")
	var lines [processes][]*proxy.Proxy // of each process, one for each server
	var addresses [processes][]string   // of the lines
	for i := range processes {
		for _, server := range zoo {
			p := proxy.New(t, server)
			lines[i], addresses[i] = append(lines[i], p), append(addresses[i], p.Addr())
		}
	}
	c := newChaos(t, seed, clientConfig{Zoo: zoo, Ordinary: []bool{false, true, false, true}, Caching: *chaosCaching}, addresses)
	sessionsOver := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.counts()["session over"]
	}
	lineFault := func(rng *rand.Rand) fault {
		n := rng.IntN(processes)
		onEachLine := func(do func(*proxy.Proxy)) func(context.Context) error {
			return func(context.Context) error {
				for _, line := range lines[n] {
					do(line)
				}
				return nil
			}
		}
		way := []struct {
			name  string
			begin func(*proxy.Proxy)
		}{
			{"is cut off", (*proxy.Proxy).CutOff},
			{"is cut off without a word", func(p *proxy.Proxy) { p.Silence(proxy.ToServer, proxy.ToClient) }},
			{"is cut off towards the servers", func(p *proxy.Proxy) { p.Silence(proxy.ToServer) }},
			{"is cut off from the servers", func(p *proxy.Proxy) { p.Silence(proxy.ToClient) }},
		}[rng.IntN(4)]
		return fault{fmt.Sprintf("process %d %s", n, way.name), onEachLine(way.begin), onEachLine((*proxy.Proxy).Heal), clientFaultLasts(rng)}
	}
	c.play(*chaosFor, func() bool { return c.leased() && sessionsOver() > 0 },
		lane{name: "lines", next: lineFault, pause: time.Second},
		lane{name: "processes", next: c.clientFault, pause: time.Second})
	c.finish()
	c.check()
	require.NotZero(t, sessionsOver())
	require.Equal(t, *chaosCaching > 0, c.counts()["lease by a cached node"] > 0)
}

// clientFaultLasts returns how long a fault of a client lasts: in half of the cases so long that the
// session ends, for which the server looks every two seconds.
func clientFaultLasts(rng *rand.Rand) time.Duration {
	s := int64(sessionTimeout)
	if rng.IntN(2) == 0 {
		return time.Duration(s*16/10 + rng.Int64N(s*6/10))
	}
	return time.Duration(s/10 + rng.Int64N(s*8/10))
}
