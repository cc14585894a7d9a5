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

// What check says holds for three processes with 17 contenders each on two paths that are cut off and paused, for
// shorter and for longer than their sessions. The ZooKeeper has no faults. Half of the sessions are of ordinary
// clients.
func TestChaosOfClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("ZK") == "" {
		t.Skip("cuts processes off and pauses them longer than their sessions, in real time: needs a real server (set ZK)")
	}
	seed := cmp.Or(*chaosSeed, rand.Uint64())
	t.Logf("again: ZK=%s go test ./internal/chaos -run 'TestChaosOfClients$' -chaos.for %v -chaos.seed %d", os.Getenv("ZK"), *chaosFor, seed)
	zoo := strings.Split(os.Getenv("ZK"), ",")
	var proxies [processes][]*proxy.Proxy // of each process, one for each server
	var addresses [processes][]string     // of the proxies
	for i := range processes {
		for _, server := range zoo {
			p := proxy.New(t, server)
			proxies[i], addresses[i] = append(proxies[i], p), append(addresses[i], p.Addr())
		}
	}
	c := newChaos(t, seed, clientConfig{Zoo: zoo, Ordinary: []bool{false, true, false, true}, Caching: *chaosCaching}, addresses)
	sessionsOver := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.counts()["session over"]
	}
	proxyFault := func(rng *rand.Rand) fault {
		n := rng.IntN(processes)
		toAll := func(do func(*proxy.Proxy)) func(context.Context) error {
			return func(context.Context) error {
				for _, p := range proxies[n] {
					do(p)
				}
				return nil
			}
		}
		kinds := []fault{
			{name: "is cut off", begin: toAll((*proxy.Proxy).CutOff)},
			{name: "is cut off without a word", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToServer, proxy.ToClient) })},
			{name: "is cut off towards the servers", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToServer) })},
			{name: "is cut off from the servers", begin: toAll(func(p *proxy.Proxy) { p.Silence(proxy.ToClient) })},
		}
		f := kinds[rng.IntN(len(kinds))]
		f.name, f.end, f.lasts = fmt.Sprintf("process %d %s", n, f.name), toAll((*proxy.Proxy).Heal), clientFaultLasts(rng)
		return f
	}
	c.play(*chaosFor, func() bool { return c.leased() && sessionsOver() > 0 },
		lane{name: "lines", next: proxyFault, pause: time.Second},
		lane{name: "processes", next: c.clientFault, pause: time.Second})
	c.finish()
	c.check()
	require.NotZero(t, sessionsOver())
	require.Equal(t, *chaosCaching > 0, c.counts()["lease by a cached node"] > 0)
}

// clientFaultLasts returns how long a fault of a client lasts: in half of the cases 1.6 to 2.2 session timeouts, so
// that the session ends, for which the server looks every two seconds; in the others 0.1 to 0.9 of one.
func clientFaultLasts(rng *rand.Rand) time.Duration {
	tenth := int64(sessionTimeout / 10)
	if rng.IntN(2) == 0 {
		return time.Duration(16*tenth + rng.Int64N(6*tenth))
	}
	return time.Duration(tenth + rng.Int64N(8*tenth))
}
