package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A10. Article A, tryLock():
//
//	currentPath = client.createEphemeralSequential(lock_path+"/","lock");
//
// Nothing creates lock_path. On a new server lock() throws.
func TestBugA10_WithoutAParentNobodyCanLock(t *testing.T) {
	bug := museum.Exhibit("A10")
	bug.Happens(t, listings.NewZkClientLock, func(s *museum.Stage) {
		a := s.Client()
		a.Start()
		require.EqualError(s, a.Fails(), "panic: zk: node does not exist")
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		s.ClientAt("/made/on/the/way").Lock()
	})
}
