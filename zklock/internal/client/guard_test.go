package client

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/zkserver"
)

// TestAHoldOfBeforeALossOfTheDataIsFenced, although the next one has its token, too, whichever of them comes
// first. The mark of an earlier version is the token alone.
func TestAHoldOfBeforeALossOfTheDataIsFenced(t *testing.T) {
	bubble.Serve(t, func(t *testing.T, srv *zkserver.Server) {
		conn := open(t, srv)
		c, everybody, valid := Of(conn, 0), zk.WorldACL(zk.PermAll), func() error { return nil }
		guard := func(m Mark) error { return c.Guard(nil, valid, "/guard", m, everybody) }
		write := func(m Mark) error {
			operation := &zk.CreateRequest{Path: "/data-", Acl: everybody, Flags: zk.FlagSequence}
			_, err := c.Guarded(context.Background(), new(Tasks), valid, "/guard", m.In("/guard"), []any{operation})
			return err
		}
		for i, old := range []string{"first", ""} {
			before, next := Mark{4096 << i, old}, Mark{4096 << i, "next"}
			require.NoError(t, guard(before))
			require.NoError(t, write(before))
			require.ErrorIs(t, guard(next), ErrFenced)
			srv.StartEmpty()
			require.NoError(t, guard(next))
			require.NoError(t, guard(next), "which was made before")
			require.ErrorIs(t, write(before), ErrFenced)
			require.ErrorIs(t, guard(before), ErrFenced)
			require.NoError(t, write(next))
		}
		later := Mark{5 << 20, "later"}
		require.NoError(t, guard(Mark{Token: 4 << 20}), "as an earlier version does")
		require.NoError(t, guard(later))
		require.Equal(t, []string{fmt.Sprint(later)}, srv.Children("/guard"))
	})
}
