package zklock_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/zkserver"
	"example.com/zklock/zklock"
)

// TestSilenceGathersNoGoroutines: a proof waits in one goroutine.
func TestSilenceGathersNoGoroutines(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connectAs(ordinary{})
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(time.Minute) // the lease is proved many times
		before := runtime.NumGoroutine()
		var held []*zkserver.Fault
		for range 100 { // connections
			held = append(held, tb.srv.Hold(func(r zkserver.Request) bool { return r.Session == id }))
		}
		time.Sleep(time.Minute)
		require.Less(tb, runtime.NumGoroutine(), before+20)
		releaseAll(held)
		require.ErrorIs(tb, holder.Unlock(context.Background()), zklock.ErrLost)
	})
}

// outlasts reports whether a lease of a certain age outlasts an outage of all
// servers. Both times are in parts of the session timeout.
func outlasts(t *testing.T, connect bool, age, outage float64) (kept bool) {
	const session = 10 * time.Second
	part := func(f float64) time.Duration { return time.Duration(f * float64(session)) }
	onTable(t, func(tb *table) {
		tb.makeTop(tb.connect())
		var conn *zk.Conn
		if connect {
			conn = kindsOfClients["zkconn.Connect"](tb, ensemble.Options{})
		} else {
			conn = tb.connectAs(ordinary{wrap: watchesFirst})
		}
		id := conn.SessionID()
		holder := tb.mustLock(tb.mutex(conn), zklock.NewOwner("holder"))
		time.Sleep(part(age))
		var held []*zkserver.Fault
		for range 100 { // connections
			held = append(held, tb.srv.Hold(func(r zkserver.Request) bool { return r.Session == id }))
		}
		time.Sleep(part(outage))
		releaseAll(held)
		time.Sleep(time.Minute) // for Lost to close
		kept = !tb.isLost(holder)
		holder.Unlock(context.Background())
	})
	return kept
}

// TestALeaseOutlastsAnOutage as the table in proof.go says, and no longer one, to a
// 12th of the session timeout. Connect's client has left the silent server. If all
// servers come back in the same instant, the handshake that it left may be carried
// out last and take the session from the connection that it has by then: all
// servers have been tried, and the client waits for a second.
func TestALeaseOutlastsAnOutage(t *testing.T) {
	for _, c := range []struct{ age, longest, late float64 }{
		{0, 9, 1}, {1.9, 9 - 1.9, 1.5},
		{2.1, 11 - 2.1, 1}, {3.9, 11 - 3.9, 1},
		{4.1, 13 - 4.1, 1}, {6.9, 13 - 6.9, 1},
		{7.2, 24 - 7.2, 2}, {10, 24 - 10, 2}, {14.9, 24 - 14.9, 2},
		{15.1, 16, 2}, {22.9, 8.2, 2},
		{23.1, 16, 2}, {30.9, 8.2, 2},
	} {
		for _, connect := range []bool{false, true} {
			late := c.late
			if connect {
				late += 2.4
			}
			t.Run(fmt.Sprintf("age %v of 24, Connect: %v", c.age, connect), func(t *testing.T) {
				require.True(t, outlasts(t, connect, c.age/24, (c.longest-late)/24))
				require.False(t, outlasts(t, connect, c.age/24, (c.longest+1)/24))
			})
		}
	}
}
