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
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// An ownerLock is step 4's Mutex for one owner.
type ownerLock struct {
	*reentrant.Mutex
	owner *reentrant.Owner
}

func (o ownerLock) Lock() error            { return o.Mutex.Lock(o.owner) }
func (o ownerLock) TryLock() (bool, error) { return o.Mutex.TryLock(o.owner) }
func (o ownerLock) Unlock() error          { return o.Mutex.Unlock(o.owner) }

// TestStepsRefuseABadPath is about the steps and not a case: no exercise asks it of a lock.
func TestStepsRefuseABadPath(t *testing.T) {
	for name, lock := range map[string]func(conn *zk.Conn, path string) locktest.Lock{
		"naive":       func(conn *zk.Conn, path string) locktest.Lock { return naive.New(conn, path) },
		"herd":        func(conn *zk.Conn, path string) locktest.Lock { return herd.New(conn, path) },
		"predecessor": func(conn *zk.Conn, path string) locktest.Lock { return predecessor.New(conn, path) },
		"reentrant": func(conn *zk.Conn, path string) locktest.Lock {
			return ownerLock{reentrant.New(conn, path), reentrant.NewOwner("owner")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server := zkserver.Run(t)
				conn := testenv.Must(ensemble.OverPipes(server).Connect(t.Context(), ensemble.Options{}))(t)
				defer conn.Close()
				for _, path := range []string{"", "lock", "/", "/a/", "/a//b", "/a/../b", "/a/\x00"} {
					l := lock(conn, path)
					require.Error(t, l.Lock(), "Lock with the path %q", path)
					ok, err := l.TryLock()
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
