package bugs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// B1. Article B, on sequential nodes: 会根据当前的子节点数量自动添加整数序号, the
// number is the number of children at the time. It is not: it counts the
// children ever created. The lock of the listing does what the article
// says: it takes its number for the number of contenders before it, and waits
// for as many releases.
func TestBugB1_TheNumberIsNotTheNumberOfContendersBefore(t *testing.T) {
	bug := museum.Exhibit("B1")
	play := func(s *museum.Stage) (b *museum.Client) {
		a := s.Client()
		withParent(s, a)
		b = s.Client()
		a.Lock()
		b.Start()
		b.Waits()
		require.NoError(s, a.Unlock())
		b.GetsIn() // so far the article seems to be right
		require.NoError(s, b.Unlock())
		require.Empty(s, s.Server.Children(s.Path), "children")
		b.Start()
		return b
	}
	bug.Happens(t, listings.NewCountingLock, func(s *museum.Stage) {
		b := play(s)
		require.Equal(s, []string{"lock-0000000002"}, s.Server.Children(s.Path))
		b.WaitsForever()
	})
	bug.Cured(t, newPredecessor, func(s *museum.Stage) {
		b := play(s)
		require.Equal(s, []string{"lock-0000000002"}, s.Server.Children(s.Path))
		b.GetsIn()
	})
}
