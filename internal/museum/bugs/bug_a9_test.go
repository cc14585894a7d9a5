package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A9. Article A, tryLock() and unlock():
//
//	if (currentPath==null || …) { currentPath = client.create…
//	…
//	client.delete(currentPath);
//
// Nothing clears currentPath. The second lock() on the same object creates no
// node, and looks for the node that unlock() has deleted.
func TestBugA9_ALockThatWasUnlockedCannotBeLockedAgain(t *testing.T) {
	bug := museum.Exhibit("A9")
	play := func(s *museum.Stage) (a, b *museum.Client) {
		a, b = s.Client(), s.Client()
		withParent(s, a)
		a.Lock()
		require.NoError(s, a.Unlock())
		b.Lock()
		a.Start()
		return a, b
	}
	bug.Happens(t, listings.NewZkClientLock, func(s *museum.Stage) {
		a, _ := play(s)
		require.ErrorContains(s, a.Fails(), "panic: runtime error: index out of range [-")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		a, b := play(s)
		a.Waits()
		require.NoError(s, b.Unlock())
		a.GetsIn()
	})
}
