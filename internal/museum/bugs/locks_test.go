package bugs_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	predecessor "example.com/zklock/03-sequential-predecessor"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/when"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' locks by
// itself, and none of them in the lock that cures it.
func TestExploreFindsTheBugs(t *testing.T) {
	when.NotRaced(t, "its schedules are ten times as slow")
	for _, s := range slices.CompactFunc(slices.Clone(scenes.All), func(a, b scenes.Bug) bool { return a.Step == b.Step }) {
		t.Run(s.Step, func(t *testing.T) { museum.FindsBugs(t, s.Step) })
	}
}

// TestBugByItsScene shows the bugs that have a scene.
func TestBugByItsScene(t *testing.T) {
	for _, s := range scenes.All {
		t.Run(s.ID, museum.Exhibit(s.ID).ByItsScene)
	}
}

func newNaive(conn *zk.Conn, path string) museum.Lock { return naive.New(conn, path) }

func newPredecessor(conn *zk.Conn, path string) museum.Lock { return predecessor.New(conn, path) }

// withParent creates the lock's parent, which the listings require.
func withParent(s *museum.Stage, c *museum.Client) {
	s.Aside(func() {
		_, err := c.Create(s.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		must(err)
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// leaseLock is step 5's lock as the museum's stage calls it.
type leaseLock struct {
	lock  *timeout.Lock
	lease *timeout.Lease
}

func newTimeout(conn *zk.Conn, path string) museum.Lock {
	return &leaseLock{lock: timeout.New(conn, path, museum.SessionTimeout)}
}

func (l *leaseLock) Lock() (err error) {
	l.lease, err = l.lock.Lock(context.Background())
	return err
}

func (l *leaseLock) Unlock() error { return l.lease.Unlock(context.Background()) }

// leaseOf returns the lease that a client holds.
func leaseOf(c *museum.Client) *timeout.Lease { return c.Contender().(*leaseLock).lease }

func isLost(c *museum.Client) bool { return bubble.IsClosed(leaseOf(c).Lost()) }
