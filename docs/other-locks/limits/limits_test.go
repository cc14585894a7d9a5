package limits_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/limits"
)

// A lateTimer is a context whose deadline has passed and whose own timer has not run yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now(), true }

func TestADeadlineThatHasPassedIsTheEndOfCtx(t *testing.T) {
	silent, noReply := errors.New("i/o timeout"), errors.New("no reply")
	err := limits.Explain(lateTimer{t.Context()}, silent, noReply)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, noReply)
	require.ErrorIs(t, limits.Explain(t.Context(), silent, noReply), noReply)
}
