package zklock_test

import (
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/ensemble"
)

// connectOtherwise, if not nil, opens the clients of a table's tests.
var connectOtherwise func(tb *table, o ensemble.Options) *zk.Conn

// ordinaryClient opens one of zk.Connect, in place of ensemble.Connect's, which is of zkconn.Connect.
func ordinaryClient(tb *table, o ensemble.Options) *zk.Conn {
	return tb.connectAs(ordinary{buffer: o.Buffer, wrap: func(nc net.Conn) net.Conn {
		if o.Wrap != nil {
			nc = o.Wrap(nc)
		}
		return watchesFirst(nc)
	}})
}

// onEachClient plays a schedule with ensemble.Connect's client, and with an ordinary one.
func onEachClient(t *testing.T, play func(tb *table)) {
	t.Helper()
	onTable(t, play)
	t.Run("zk.Connect", func(t *testing.T) {
		connectOtherwise = ordinaryClient
		defer func() { connectOtherwise = nil }()
		onTable(t, play)
	})
}
