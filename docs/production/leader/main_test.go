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
	leads := make(chan context.CancelFunc)
	ended := make(chan error)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			ended <- run(ctx, []string{address}, func(ctx context.Context, _ *zklock.Lease) error {
				leads <- cancel
				<-ctx.Done()
				return nil
			})
		}()
	}
	for range 3 {
		cancel := <-leads
		select {
		case <-leads:
			t.Fatal("two lead")
		default:
		}
		cancel()
		require.NoError(t, <-ended)
	}
}
