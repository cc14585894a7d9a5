package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/zkserver"
)

// TestTheJobRunsOnceADay, also if it fails on the first machine.
func TestTheJobRunsOnceADay(t *testing.T) {
	servers := []string{zkserver.Run(t).ListenAlso()}
	var mu sync.Mutex
	var ran []string
	var fails error
	job := func(_ context.Context, day string, _ int64) error {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, day)
		defer func() { fails = nil }()
		return fails
	}
	for _, day := range []string{"2026-11-25", "2026-11-26"} {
		ran, fails = nil, errors.New("no disk space")
		results := make(chan error)
		for range 3 {
			go func() { results <- run(t.Context(), servers, day, job) }()
		}
		failed := 0
		for range 3 {
			if err := <-results; err != nil {
				require.EqualError(t, err, "no disk space")
				failed++
			}
		}
		require.Equal(t, 1, failed)
		require.Equal(t, []string{day, day}, ran)
	}
	require.NoError(t, run(t.Context(), servers, "2026-11-25", job))
	require.Len(t, ran, 2, "a machine whose clock is late has done the job of yesterday")
}
