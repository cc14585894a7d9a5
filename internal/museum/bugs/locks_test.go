package bugs_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/scenes"
	"example.com/zklock/internal/when"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' locks by
// itself, and none of them in the lock that cures it. The schedules that it has found
// are played in TestBugByItsScene.
func TestExploreFindsTheBugs(t *testing.T) {
	when.Long(t, "the saved schedules show the bugs")
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

// A register is protected by the lock: a number that two clients read,
// add one to, and write back.
type register struct {
	value   int
	highest int64 // token seen so far
}

var errStale = errors.New("the register refuses a token that is lower than one it has seen")

func (r *register) write(value int) { r.value = value }

func (r *register) writeFenced(value int, token int64) error {
	if token < r.highest {
		return errStale
	}
	r.value, r.highest = value, token
	return nil
}
