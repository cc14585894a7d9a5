package bugs_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/listings"
)

// A1. Article A, tryLock():
//
//	} catch (Exception e) { logger.error(…); }
//	return false;
//
// False means "another client holds it", and so lock() waits for a release.
// There is no node to wait for, so lock() calls itself again, and fails again,
// each time one frame deeper, until the stack overflows.
func TestBugA1_NoPermissionIsTakenForHeldAndEatsTheStack(t *testing.T) {
	bug := museum.Exhibit("A1")
	const mayAll = zk.PermAll
	const mayNotCreate = zk.PermAll &^ zk.PermCreate
	play := func(s *museum.Stage) (a, admin *museum.Client) {
		a, admin = s.ClientAt("/private/lock"), s.Client()
		_, err := admin.Create("/private", nil, zk.FlagPersistent, zk.WorldACL(mayNotCreate))
		require.NoError(s, err)
		return a, admin
	}
	bug.Happens(t, listings.NewZookeeperLock, func(s *museum.Stage) {
		a, admin := play(s)
		third := a.HoldNth(3, jute.OpCreate)
		a.Start()
		third.Reached()
		require.Equal(s, 3, museum.Frames("(*zookeeperLock).Lock"), "calls of Lock on the stack")
		var fortieth *museum.Held
		s.Aside(func() {
			fortieth = a.HoldNth(37, jute.OpCreate)
			third.Release()
			fortieth.Reached()
		})
		require.Equal(s, 40, museum.Frames("(*zookeeperLock).Lock"), "calls of Lock on the stack")
		a.Note("and so on, 40 calls of lock on the stack after 40 requests to create")
		// Otherwise it would go on until the stack overflows.
		s.Aside(func() {
			_, err := admin.SetACL("/private", zk.WorldACL(mayAll), -1)
			require.NoError(s, err)
			fortieth.Release()
			a.GetsIn()
		})
	})
	bug.Cured(t, newNaive, func(s *museum.Stage) {
		a, _ := play(s)
		a.Start()
		require.ErrorIs(s, a.Fails(), zk.ErrNoAuth)
	})
}
