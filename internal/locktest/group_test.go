package locktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
)

func TestEveryCaseHasAGroup(t *testing.T) {
	groups := []locktest.Group{locktest.Safety, locktest.Liveness, locktest.Faults, locktest.Cost}
	for _, suite := range []locktest.Suite{locktest.Subject{Queue: true}, locktest.ContextSubject{}, locktest.LostReplySubject{},
		locktest.OwnersSubject{}, locktest.LeaseSubject{}} {
		for name, group := range locktest.Groups(suite) {
			require.Contains(t, groups, group, "%T: %s", suite, name)
		}
	}
}
