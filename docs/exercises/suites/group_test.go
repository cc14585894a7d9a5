package suites_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/exercises/suites"
	"example.com/zklock/internal/locktest"
)

func TestEveryCaseHasAGroup(t *testing.T) {
	groups := []locktest.Group{locktest.Safety, locktest.Liveness, locktest.Faults, locktest.Cost}
	for name, suite := range map[string]locktest.Suite{
		"RunFences":    suites.FenceSubject{},
		"RunSemaphore": suites.SemaphoreSubject{},
		"RunReadWrite": suites.ReadWriteSubject{},
		"RunElection":  suites.ElectionSubject{},
	} {
		of := locktest.Groups(suite)
		for _, c := range locktest.Names(suite) {
			require.Contains(t, groups, of[c], "%s: %s", name, c)
		}
	}
}
