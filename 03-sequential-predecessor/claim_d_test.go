package predecessor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
)

// Article D says of its first version: 此实现方式还可能存在死锁问题, a holder that
// crashes or loses its network blocks the whole lock. It does not: its node is
// ephemeral. The next contender gets the lock when the session has expired, in
// the article's lock as in ours.
func TestAHolderThatCrashesBlocksTheLockOnlyUntilItsSessionExpires(t *testing.T) {
	for name, lock := range map[string]museum.NewLock{"article D": newZkLock, "ours": newPredecessor} {
		t.Run(name, func(t *testing.T) {
			museum.Play(t, lock, func(s *museum.Stage) {
				a, b := s.Client(), s.Client()
				a.Lock()
				b.Start()
				a.CutOff()
				s.Pass(museum.SessionTimeout / 2)
				b.Waits()
				s.Pass(museum.SessionTimeout)
				require.Equal(s, "inside", b.State())
				require.Less(s, b.Took(), museum.SessionTimeout+2*time.Second)
			})
		})
	}
}
