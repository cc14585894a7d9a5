package locktest

import (
	"slices"
	"strings"
)

// unsafe are parts of the messages that say that a lock is unsafe. A case of any group may find it.
var unsafe = []string{
	"two holders",
	"two leaders",
	"one too many inside",
	"deleted another contender's node",
	"deletes another's node",
	"holder without a node",
	"an old token has written",
}

// Unsafe reports whether the words of a failure show that two were inside at once, that another
// contender's node was deleted, or that a resource has stored what came with an old token.
func Unsafe(words string) bool {
	return slices.ContainsFunc(unsafe, func(u string) bool { return strings.Contains(words, u) })
}
