//go:build docker && linux

package chaos_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock/zkconn"
)

// TestACutOffFollowerAnswersNoCheckInAMulti, not even one that needs a right
// that is missing: the lock's proof relies on it. Run it with
// ZK_CONFIG=enableEagerACLCheck=true, too: the follower then refuses other
// writes alone.
func TestACutOffFollowerAnswersNoCheckInAMulti(t *testing.T) {
	zoo := three(t)
	leader, followers := roles(t, zoo)
	conn, err := zkconn.Connect(t.Context(), []string{followers[0].Addr()}, 40*time.Second) // the machine may stop
	require.NoError(t, err)
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
	check := func() error {
		_, err := conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		return err
	}
	require.ErrorIs(t, check(), zk.ErrNoAuth)
	require.NoError(t, followers[0].Deafen(t.Context(), leader))
	require.NoError(t, leader.Deafen(t.Context(), followers[0]))
	refused := make(chan error, 1)
	go func() {
		_, err := conn.Create("/refused", nil, 0, zk.WorldACL(zk.PermAll))
		refused <- err
	}()
	select {
	case err := <-refused:
		t.Logf("a create without the right to it: %v", err)
	case <-time.After(time.Second): // the follower does not decide alone
	}
	answer := make(chan error, 1)
	go func() { answer <- check() }()
	select {
	case err := <-answer:
		require.NotErrorIs(t, err, zk.ErrNoAuth, "the follower has answered alone")
	case <-time.After(5 * time.Second): // less than the follower takes to notice that it is cut off
	}
}
