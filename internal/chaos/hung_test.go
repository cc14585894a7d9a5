//go:build docker && linux

package chaos_test

import (
	"crypto/rand"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

// TestALeaseOutlastsAServerThatHangs: a follower keeps its connections and
// answers nothing. Clients of Connect that have all three addresses go to another
// one before their leases are lost, unless the machine stops, too.
func TestALeaseOutlastsAServerThatHangs(t *testing.T) { testenv.Again(t, hang) }

func hang(t *testing.T) {
	const holders, session = 20, 20 * time.Second
	zoo := three(t)
	_, followers := roles(t, zoo)
	hangs := followers[0]
	var leases []*zklock.Lease
	for clients := 0; len(leases) < holders; clients++ {
		require.Less(t, clients, 5*holders, "clients leave the server before it hangs")
		var dials atomic.Int64
		conn, err := zkconn.Connect(t.Context(), zoo.Addrs(), session,
			zkconn.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				if dials.Add(1) == 1 { // whichever is tried first
					address = hangs.Addr()
				}
				return net.DialTimeout(network, address, timeout)
			}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		m := testenv.Must(zklock.New(conn, "/hung-"+rand.Text()))(t)
		l := testenv.Must(insist(t.Context(), m, "holder"))(t)
		if dials.Load() > 1 { // it has left the server that is to hang: the machine is busy
			l.Unlock(t.Context())
			conn.Close()
			continue
		}
		leases = append(leases, l)
		time.Sleep(session / holders / 3) // so that the proofs have different phases
	}
	time.Sleep(session) // until all leases are proved
	require.NoError(t, hangs.Pause(t.Context()))
	time.Sleep(2 * session) // until every lease of a client that stayed is lost
	for _, l := range leases {
		if err := l.Unlock(t.Context()); err != nil {
			testenv.Spoiled(t, "a lease is lost, though its session lives: "+err.Error())
		}
	}
}
