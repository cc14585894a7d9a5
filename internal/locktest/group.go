package locktest

import (
	"slices"
	"strings"
)

// A Group says what a case is about. The exercises give points by group.
type Group string

const (
	// Safety: two are never inside at once, and nobody deletes another's node.
	Safety Group = "safety"
	// Liveness: what should happen happens. A waiter gets in, TryLock and Unlock do
	// what they say, and no node is left.
	Liveness Group = "liveness"
	// Faults: requests that are lost, sessions that end, errors.
	Faults Group = "faults"
	// Cost: numbers of requests, of events and of watches that are left.
	Cost Group = "cost"
)

// Groups says of each case of a suite to which group it belongs.
func Groups(s Suite) map[string]Group { return s.Plan().groups }

// What the words of a failure have in them if the lock is unsafe. A case of any
// group may find it.
var unsafe = []string{
	"two holders",
	"two leaders",
	"one too many inside",
	"deleted another contender's node",
	"deletes another's node",
	"holder without a node",
	"an old token has written",
}

// Unsafe says whether the words of a failure tell that two were inside at once,
// that another contender's node was deleted, or that a resource has stored what
// came with an old token.
func Unsafe(words string) bool {
	return slices.ContainsFunc(unsafe, func(u string) bool { return strings.Contains(words, u) })
}
