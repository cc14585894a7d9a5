package predecessor_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	predecessor "example.com/zklock/03-sequential-predecessor"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum"
)

// TestExploreFindsTheBugs: the explorer finds the bugs of the articles' queues
// by itself.
func TestExploreFindsTheBugs(t *testing.T) {
	queue := explore.Subject{Queue: true, Exists: true}
	bare := explore.Subject{}
	deep := explore.Subject{Queue: true, Path: "/locks/lock"}
	one := func(f explore.Fault) explore.World {
		return explore.World{Lock: queue, Kinds: []explore.Fault{f}, Faults: 1}
	}
	three := func(f explore.Fault) explore.World {
		return explore.World{Lock: queue, Contenders: 3, Kinds: []explore.Fault{f}, Faults: 1}
	}
	again := [][]explore.Op{{explore.LockOp, explore.UnlockOp, explore.LockOp, explore.UnlockOp}}
	patient := explore.World{
		Lock: explore.Subject{Path: "/locks/lock", Within: waitTime}, Contenders: 3, Kinds: []explore.Fault{explore.Pause}, Faults: 2,
	}
	try := []explore.Op{explore.TryLockOp, explore.UnlockOp} // false means held
	unconnected := explore.World{
		Lock: queue, Contenders: 1, Scripts: [][]explore.Op{try}, Unconnected: true, Kinds: []explore.Fault{explore.Refuse}, Faults: 1,
	}
	apart := explore.World{Lock: explore.Subject{Path: "/locks/lock"}, Apart: true}
	forbidden := explore.World{Lock: explore.Subject{Path: "/private/lock", Closes: true}, Contenders: 1, Forbidden: true}
	wrong := []explore.Kind{explore.TwoHolders, explore.Overtaken, explore.NodeMissing}
	for _, bug := range []struct {
		id    string
		lock  museum.NewLock
		world explore.World
		kinds []explore.Kind
	}{
		{"A7", newZkClientLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"A8", newZkClientLock, one(explore.Expire), []explore.Kind{explore.Crash}},
		{"A9", newZkClientLock, explore.World{Lock: queue, Scripts: again}, []explore.Kind{explore.Crash}},
		{"A10", newZkClientLock, explore.World{Lock: bare, Missing: true}, []explore.Kind{explore.Crash}},
		{"B1", newCountingLock, explore.World{Lock: queue, Contenders: 3}, []explore.Kind{explore.Hang}},
		{"C2", newAwaitLock, explore.World{Lock: queue}, []explore.Kind{explore.Failure, explore.Crash}},
		{"D1", newZkLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"D2", newZkLock, explore.World{Lock: queue}, []explore.Kind{explore.Hang}},
		{"D3", newZkLock, three(explore.Expire), wrong},
		{"D4", newZkLock, explore.World{Lock: bare, Missing: true}, []explore.Kind{explore.Failure}},
		{"D6", newDistributedLock, explore.World{Lock: deep}, []explore.Kind{explore.Failure, explore.NodeLeft}},
		{"D7", newDistributedLock, explore.World{Lock: deep, Contenders: 3, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, wrong},
		{"D5", newZkLock, unconnected, []explore.Kind{explore.Failure}},
		{"D8", newDistributedLock, patient, []explore.Kind{explore.TooLong}},
		{"D9", newDistributedLock, apart, []explore.Kind{explore.Hang}},
		{"D10", newDistributedLock, forbidden, []explore.Kind{explore.SessionLeft}},
	} {
		t.Run(bug.id, func(t *testing.T) { museum.Found(t, bug.lock, bug.world, bug.kinds...) })
	}
	t.Run("ours", func(t *testing.T) {
		closing := func(conn *zk.Conn, path string) museum.Lock {
			l := predecessor.New(conn, path)
			return museum.Calls{CallLock: l.Lock, CallUnlock: func() error {
				defer conn.Close()
				return l.Unlock()
			}}
		}
		patientOurs := func(conn *zk.Conn, path string) museum.Lock {
			m, err := timeout.New(conn, path, timeout.WithSessionTimeout(explore.SessionTimeout))
			must(err)
			var lease *timeout.Lease
			return museum.Calls{
				CallLock: func() (err error) {
					ctx, cancel := context.WithTimeout(context.Background(), waitTime)
					defer cancel()
					lease, err = m.Lock(ctx, timeout.NewOwner("somebody"))
					return err
				},
				CallUnlock: func() error { return lease.Unlock(context.Background()) },
			}
		}
		museum.NotFound(t, newPredecessor, unconnected, explore.Failure)
		museum.NotFound(t, newPredecessor, apart, explore.Hang)
		museum.NotFound(t, closing, forbidden, explore.SessionLeft)
		patient.Lock.Timed = true
		museum.NotFound(t, patientOurs, patient, explore.TooLong)
	})
}
