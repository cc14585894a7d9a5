package locktest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/locktest/chinese"
	"example.com/zklock/internal/locktest/chinese/chinesetest"
)

// A failure is the first that a suite must find in a broken lock, and words that
// it must say.
type failure struct {
	name  string
	words string
}

// What the suite must say of each broken lock.
var bugs = map[string]failure{
	"none":                        {},
	"watches the parent":          {"a waiter sleeps on a watch and does not poll", "watches lock, the parent: a release does not change the parent's data; watch the node before its own"},
	"watches the list":            {"a release wakes exactly as many as predicted", "you wake everybody: a release with 12 waiting sent 12 watch events, and 1 was predicted (the herd effect); watch only the node before yours"},
	"not ephemeral":               {"the holder has a node and it is ephemeral", "is not ephemeral: if the holder dies, its node stays"},
	"Unlock deletes the first":    {"Unlock after the session expired is ErrNotLocked and touches nobody else's node", "has deleted another contender's node"},
	"Unlock deletes the holder's": {"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing", "has deleted another contender's node, the holder's: delete only the node that this contender has made"},
	"look first, watch later":     {"a release between looking and watching is not missed", "the event is lost"},
	"polls":                       {"a waiter sleeps on a watch and does not poll", "polls"},
	"polls without a pause":       {"a waiter sleeps on a watch and does not poll", "polls"},
	"one list too many":           {"the requests are exactly as many as predicted", "create 1, delete 1, getChildren2 2"},
	"everybody is first":          {"a waiter sleeps on a watch and does not poll", "two holders"},
	"TryLock leaves its node":     {"TryLock on a held lock says false at once and leaves nothing behind", "has returned false and has left a node behind"},
	"every error means held":      {"an error other than node exists is returned and not taken for held", "only zk.ErrNodeExists says that"},
	"no look after waking":        {"a waiter that goes lets nobody in before the holder has let go", "look again at the whole queue"},
	"every child is a contender":  {"a child that is not a contender is ignored", "beside 4 nodes that are not contenders' does not return"},
	"the last to come goes first": {"a waiter sleeps on a watch and does not poll", "two holders"},
	"everybody is watched":        {"a release wakes exactly as many as predicted", "you wake everybody"},
	"no clean-up after an error":  {"an error on the way leaves no node behind", "it leaves its node behind"},
	"parents are not made":        {"missing parents are made", "make them when create returns zk.ErrNoNode"},
	"Unlock asks nobody":          {"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing", "returns no error, though the lock is not held"},
	"works once":                  {"can be used again after Unlock", "used up"},
	"gone before it is watched":   {"a waiter that goes before it is watched lets nobody in", "look again at the whole queue"},
	"own node is not looked for":  {"a waiter whose own node has gone does not take the lock", "takes the lock without a node"},
	"Unlock hides its error":      {"Unlock after the session expired is ErrNotLocked and touches nobody else's node", "returns no error, though the lock is not held"},
	"Unlock forgets too early":    {"an Unlock that fails can be tried again", "forget the node only once it has gone"},
	"the cause is hidden":         {"an error on the way leaves no node behind", "Lock of a waiter returns no error while another contender holds the lock: two holders"},
	"no clean-up after TryLock":   {"an error in TryLock leaves no node behind", "it leaves its node behind"},
	"clean-up is tried once":      {"an error on the way leaves no node behind", "it leaves its node behind"},
	"parents made by others fail": {"parents that another contender makes at the same moment are not an error", "another one has made at the same moment"},
	"the error names nothing":     {"an error on the way leaves no node behind", "the error does not name the lock"},
}

// TestBrokenLocksFailUnderTheRightName breaks a lock in one place after the other. The
// first case that fails has the right name, and only of a lock that does harm a case says
// so: two holders, or another contender's node.
func TestBrokenLocksFailUnderTheRightName(t *testing.T) {
	require.ElementsMatch(t, broken.Bugs, slices.Collect(maps.Keys(bugs)))
	for b, want := range bugs {
		t.Run(b, func(t *testing.T) {
			t.Parallel()
			verdicts := locktest.Verdicts(t, brokenBy(b, locktest.Full), nil, func(v locktest.Verdict) bool { return locktest.Unsafe(v.Words) })
			if verdicts == nil {
				return // this is the process in which the cases ran
			}
			i := slices.IndexFunc(verdicts, func(v locktest.Verdict) bool { return v.Words != "" })
			if want.name == "" {
				require.Negative(t, i, "the suite fails a lock that is right")
				return
			}
			require.GreaterOrEqual(t, i, 0, "the suite passes the lock")
			require.Equal(t, want.name, verdicts[i].Case, "%s", verdicts[i].Words)
			require.Contains(t, verdicts[i].Words, want.words)
			var harm []string
			for _, v := range verdicts {
				inChinese(t, v)
				if locktest.Unsafe(v.Words) {
					harm = append(harm, v.Case+": "+v.Words)
				}
			}
			require.Equal(t, slices.Contains(harmful, b), len(harm) > 0, "%q", harm)
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
	verdicts := locktest.Verdicts(t, suite, nil, func(v locktest.Verdict) bool { return v.Words != "" })
	if verdicts == nil {
		return // this is the process in which the cases ran
	}
	last := verdicts[len(verdicts)-1]
	if want.name == "" {
		require.Empty(t, last.Words, "the suite fails a lock that is right, under %q", last.Case)
		return
	}
	require.NotEmpty(t, last.Words, "the suite passes the lock")
	inChinese(t, last)
	require.Equal(t, want.name, last.Case, "%s", last.Words)
	require.Contains(t, last.Words, want.words)
}

// inChinese looks for English in what a student who reads Chinese is told. The cases that
// no exercise has are not translated.
func inChinese(t *testing.T, v locktest.Verdict) {
	t.Helper()
	if _, ok := chinese.Table()[v.Case]; ok {
		require.Empty(t, chinesetest.English(chinese.Messages.Text(v.Words)), "write the Chinese of this message into internal/locktest/chinese\n%s: %s", v.Case, v.Words)
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
		"not ephemeral":              bugs["not ephemeral"],
		"watches the parent":         bugs["watches the parent"],
		"Unlock deletes the first":   bugs["Unlock deletes the first"],
		"look first, watch later":    bugs["look first, watch later"],
		"polls":                      bugs["polls"],
		"parents are not made":       bugs["parents are not made"],
	} {
		t.Run(b, func(t *testing.T) {
			t.Parallel()
			failsFirst(t, want, brokenBy(b, locktest.Basic))
		})
	}
}

// harmful are the broken locks that let two in or delete another contender's node; the
// others never do.
var harmful = []string{
	"Unlock deletes the first", "Unlock deletes the holder's", "everybody is first", "no look after waking",
	"the last to come goes first", "gone before it is watched", "own node is not looked for",
	"the cause is hidden",
}
