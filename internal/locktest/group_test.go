package locktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

// allSuites are those of this package, with all their cases.
var allSuites = map[string]locktest.Suite{
	"Run":            locktest.Subject{Queue: true},
	"RunContexts":    locktest.ContextSubject{},
	"RunLostReplies": locktest.LostReplySubject{},
	"RunOwners":      locktest.OwnersSubject{},
	"RunLeases":      locktest.LeaseSubject{},
}

func TestEveryCaseHasAGroup(t *testing.T) {
	groups := []locktest.Group{locktest.Safety, locktest.Liveness, locktest.Faults, locktest.Cost}
	for name, suite := range allSuites {
		of := locktest.Groups(suite)
		for _, c := range locktest.Names(suite) {
			require.Contains(t, groups, of[c], "%s: %s", name, c)
		}
	}
}
