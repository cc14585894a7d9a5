package predecessor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
)

// A10. Article A, tryLock():
//
//	currentPath = client.createEphemeralSequential(lock_path+"/","lock");
//
// Nothing makes lock_path. On a server on which nobody has, lock() throws.
func TestBugA10_WithoutAParentNobodyCanLock(t *testing.T) {
	bug := museum.Bug{ID: "A10", Kind: museum.Crash, Cure: 3, What: "the parent must be there already, or lock() throws"}
	bug.Happens(t, newZkClientLock, func(s *museum.Stage) {
		a := s.Client()
		a.Start()
		require.EqualError(s, a.Fails(), "panic: zk: node does not exist")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		s.ClientAt("/made/on/the/way").Lock()
	})
}
