package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

func TestAnotherMachineLeadsWhenTheLeaderEnds(t *testing.T) {
	address := zkserver.Run(t).ListenAlso()
	leaders := make(chan context.CancelFunc) // each ends its machine
	ended := make(chan error)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			ended <- run(ctx, []string{address}, func(ctx context.Context, _ *zklock.Lease) error {
				leaders <- cancel
				<-ctx.Done()
				return nil
			})
		}()
	}
	for range 3 {
		cancel := <-leaders
		select {
		case <-leaders:
			t.Fatal("two lead")
		default:
		}
		cancel()
		require.NoError(t, <-ended)
	}
}
