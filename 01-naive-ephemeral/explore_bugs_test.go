package naive_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	herd "example.com/zklock/02-herd-effect"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of article A's first
// lock by itself.
func TestExploreFindsTheBugs(t *testing.T) {
	none := explore.Subject{}
	t.Run("A2", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.Stop}, Faults: 1}, explore.ForeignDelete)
	})
	t.Run("A4", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, explore.Hang)
	})
	t.Run("A5", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Contenders: 1, Kinds: []explore.Fault{explore.LoseReply}, Faults: 1}, explore.Hang)
	})
	t.Run("A11", func(t *testing.T) {
		museum.Found(t, newZookeeperLock, explore.World{Lock: none, Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1}, explore.TwoHolders)
	})
	t.Run("A1", func(t *testing.T) {
		private := explore.Subject{Path: "/private/lock"}
		museum.Found(t, newZookeeperLock, explore.World{Lock: private, Contenders: 1, Forbidden: true}, explore.Endless)
	})
	const cycles = 4
	var again [][]explore.Op // A locks several times, B locks once
	again = append(again, nil)
	for range cycles {
		again[0] = append(again[0], explore.LockOp, explore.UnlockOp)
	}
	t.Run("A3", func(t *testing.T) {
		deep := func(function string) explore.Subject {
			return explore.Subject{Check: func() string {
				if n := museum.Frames(function); n > 3 {
					return fmt.Sprintf("%d calls of Lock are on the stacks of two contenders", n)
				}
				return ""
			}}
		}
		museum.Found(t, newZookeeperLock, explore.World{Lock: deep("(*zookeeperLock).Lock"), Scripts: again}, explore.OwnCheck)
		museum.NotFound(t, newNaive, explore.World{Lock: deep("(*Lock).Lock"), Scripts: again}, explore.OwnCheck)
	})
	t.Run("A6", func(t *testing.T) {
		fair := explore.Subject{Bypass: cycles - 1}
		newHerd := func(conn *zk.Conn, path string) museum.Lock { return herd.New(conn, path) }
		museum.Found(t, newZookeeperLock, explore.World{Lock: fair, Scripts: again}, explore.Starves)
		museum.NotFound(t, newHerd, explore.World{Lock: fair, Scripts: again}, explore.Starves)
	})
}
