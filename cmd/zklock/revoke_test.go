package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zklock/zkconn"
)

func TestRevokeAsksTheHolderAndShowsWhetherItGoes(t *testing.T) {
	srv, addr, _ := onServer(t)
	status, stdout, _ := do(t.Context(), t, "revoke", "/q")
	require.Zero(t, status)
	require.Equal(t, "nobody holds /q\n", stdout)

	conn := testenv.Must(zkconn.Connect(t.Context(), []string{addr}, 4*time.Second))(t) // a holder reads its node once per third of it
	defer conn.Close()
	m := testenv.Must(zklock.New(conn, "/q", zklock.WithData([]byte("web-7"))))(t)
	lease := testenv.Must(m.Lock(t.Context(), zklock.NewOwner("nightly")))(t)
	status, stdout, stderr := do(t.Context(), t, "revoke", "-wait", "1ms", "/q")
	require.Equal(t, exitHeld, status)
	require.Regexp(t, `^asked nightly, web-7, token \d+, to release /q\n$`, stdout)
	oneLine(t, stderr, "it is still there")
	<-lease.RevokeRequested()
	require.Len(t, srv.Children("/q"), 1, "it deletes nothing")

	require.NoError(t, lease.Unlock(t.Context()))
	lease = testenv.Must(m.Lock(t.Context(), nil))(t)
	gone := make(chan error, 1)
	go func() {
		<-lease.RevokeRequested()
		gone <- lease.Unlock(context.Background())
	}()
	status, stdout, stderr = do(t.Context(), t, "revoke", "-wait", patience.String(), "/q")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "it has gone, after")
	require.NoError(t, <-gone)
}

func TestRevokeAsksTheOneWithTheToken(t *testing.T) {
	_, addr, conn := onServer(t)
	made(t, conn, "/q/"+zkLock, "first")
	m := testenv.Must(zklock.New(connected(t, addr), "/q"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() { waits <- m.Do(ctx, zklock.NewOwner("second"), nil) }()
	var queue []zklock.Participant
	for len(queue) < 2 {
		queue = testenv.Must(m.Participants(t.Context()))(t)
	}
	require.Greater(t, queue[1].Token, int64(3<<42), "an ensemble's third epoch")
	_, stdout, _ := do(t.Context(), t, "who", "-json", "/q")
	require.Contains(t, stdout, fmt.Sprintf(`"token": %d,`, queue[1].Token))
	status, stdout, _ := do(t.Context(), t, "revoke", "-wait", "1ms", "-token", fmt.Sprint(queue[1].Token+3), "/q") // of a later hold by the node
	require.Equal(t, exitHeld, status)
	require.Contains(t, stdout, "asked second, ")

	status, _, stderr := do(t.Context(), t, "revoke", "-token", fmt.Sprint(uint32(queue[1].Token)), "/q")
	require.Equal(t, exitFailure, status)
	oneLine(t, stderr, fmt.Sprint("nobody has the token ", uint32(queue[1].Token)))
	status, _, stderr = do(t.Context(), t, "revoke", "/q")
	require.Equal(t, exitFailure, status)
	oneLine(t, stderr, "first (zk.Lock) does not read requests, and was not asked")
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)
}
