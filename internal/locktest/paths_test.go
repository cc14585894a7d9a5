package locktest_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// TestStepsRefuseABadPath is about the steps and not a case: no exercise asks it of a lock.
func TestStepsRefuseABadPath(t *testing.T) {
	type calls struct {
		lock    func() error
		tryLock func() (bool, error)
	}
	owner := reentrant.NewOwner("owner")
	for name, open := range map[string]func(conn *zk.Conn, path string) calls{
		"naive": func(conn *zk.Conn, path string) calls { l := naive.New(conn, path); return calls{l.Lock, l.TryLock} },
		"herd":  func(conn *zk.Conn, path string) calls { l := herd.New(conn, path); return calls{l.Lock, l.TryLock} },
		"predecessor": func(conn *zk.Conn, path string) calls {
			l := predecessor.New(conn, path)
			return calls{l.Lock, l.TryLock}
		},
		"reentrant": func(conn *zk.Conn, path string) calls {
			m := reentrant.New(conn, path)
			return calls{func() error { return m.Lock(owner) }, func() (bool, error) { return m.TryLock(owner) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server := zkserver.Run(t)
				conn := testenv.Must(ensemble.OverPipes(server).Connect(t.Context(), ensemble.Options{}))(t)
				defer conn.Close()
				for _, path := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
					l := open(conn, path)
					require.Error(t, l.lock(), "Lock with the path %q", path)
					ok, err := l.tryLock()
					require.Error(t, err, "TryLock with the path %q", path)
					require.False(t, ok, "TryLock with the path %q", path)
				}
				for _, session := range server.Sessions() {
					require.Empty(t, session.Ephemerals)
				}
			})
		})
	}
}
