package locktest_test

import (
	"os"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/locktest/chinese/chinesetest"
)

// A failure is the first that a suite must find in a broken lock, and words that
// it must say.
type failure struct {
	name  string
	words string
}

// said has the words with which the suite must fail a broken lock.
func said(bug string) failure {
	b := broken.Bugs[slices.IndexFunc(broken.Bugs, func(b broken.Bug) bool { return b.Name == bug })]
	return failure{b.Case, b.Words}
}

// everyCase is true in CI: a hostile lock is tried in every case, a broken one up to the first in
// which it does harm. Elsewhere both are tried up to the first case that fails.
func everyCase() bool { return os.Getenv("CI") != "" }

// TestBrokenLocksFailUnderTheRightName breaks a lock in one place after the other. The
// first case that fails has the right name, and only of a lock that does harm a case says
// so: two holders, or another contender's node.
func TestBrokenLocksFailUnderTheRightName(t *testing.T) {
	for _, b := range broken.Bugs {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			verdicts := locktest.Verdicts(t, brokenBy(b.Name, locktest.Full),
				func(v locktest.Verdict) bool { return locktest.Unsafe(v.Words.En) || !everyCase() && v.Failed() })
			if verdicts == nil {
				return // this is the process in which the cases ran
			}
			i := slices.IndexFunc(verdicts, func(v locktest.Verdict) bool { return v.Failed() })
			if b.Name == "none" {
				require.Negative(t, i, "the suite fails a lock that is right")
				return
			}
			require.GreaterOrEqual(t, i, 0, "the suite passes the lock")
			require.Equal(t, b.Case, verdicts[i].Case, "%s", verdicts[i].Words.En)
			require.NotEmpty(t, b.Words)
			require.Contains(t, verdicts[i].Words.En, b.Words, "Words of %q in internal/locktest/broken/broken.go", b.Name)
			var harm []string
			for _, v := range verdicts {
				inChinese(t, brokenBy(b.Name, locktest.Full), v)
				if locktest.Unsafe(v.Words.En) {
					harm = append(harm, v.Case+": "+v.Words.En)
				}
			}
			if everyCase() || !b.Harmful {
				require.Equal(t, b.Harmful, len(harm) > 0, "%q", harm)
			}
		})
	}
}

// brokenBy is the lock with a bug, as the subject of the suite.
func brokenBy(bug string, level locktest.Level) locktest.Subject {
	return locktest.Subject{
		New:          func(conn *zk.Conn, path string) locktest.Lock { return broken.New(bug, conn, path) },
		ErrNotLocked: broken.ErrNotLocked,
		Level:        level,
		Queue:        true,
		WakeUps:      func(int) int { return 1 },
		Requests:     func(n int) int { return 5*n - 2 },
	}
}

// failsFirst runs a suite up to the first case that fails.
func failsFirst(t *testing.T, want failure, suite locktest.Suite) {
	t.Helper()
	verdicts := locktest.Verdicts(t, suite, func(v locktest.Verdict) bool { return v.Failed() })
	if verdicts == nil {
		return // this is the process in which the cases ran
	}
	last := verdicts[len(verdicts)-1]
	if want.name == "" {
		require.Empty(t, last.Words.En, "the suite fails a lock that is right, under %q", last.Case)
		return
	}
	require.NotEmpty(t, last.Words.En, "the suite passes the lock")
	inChinese(t, suite, last)
	require.Equal(t, want.name, last.Case, "%s", last.Words.En)
	require.Contains(t, last.Words.En, want.words)
}

// inChinese looks for English in the messages for a student who reads Chinese. The cases that
// no exercise has are not translated.
func inChinese(t *testing.T, s locktest.Suite, v locktest.Verdict) {
	t.Helper()
	if s.Plan().Glosses[v.Case] != "" {
		require.Empty(t, chinesetest.English(v.Words.Zh), "the Chinese of this message has English in it\n%s: %s", v.Case, v.Words.En)
	}
}

// TestBasic passes what is right as far as a first attempt goes, and fails what
// is wrong for that, too.
func TestBasic(t *testing.T) {
	for b, want := range map[string]failure{
		"the error names nothing":    {},
		"one list too many":          {},
		"watches the list":           {},
		"no clean-up after an error": {},
		"not ephemeral":              said("not ephemeral"),
		"watches the parent":         said("watches the parent"),
		"Unlock deletes the first":   said("Unlock deletes the first"),
		"look first, watch later":    said("look first, watch later"),
		"polls":                      said("polls"),
		"parents are not made":       said("parents are not made"),
	} {
		t.Run(b, func(t *testing.T) {
			t.Parallel()
			failsFirst(t, want, brokenBy(b, locktest.Basic))
		})
	}
}
