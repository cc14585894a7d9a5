package locktest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

// queue lines up n contenders, each in a session of its own: the first holds
// the lock, and each of the others waits before the next one comes.
func (w *World) queue(n int) (locks []Lock, results []<-chan error, sessions []*Session) {
	for range n {
		l, s := w.Contender()
		locks, sessions = append(locks, l), append(sessions, s)
	}
	w.Parents(w.Session().Conn, zk.WorldACL(zk.PermAll))
	w.Parent() // made in advance, so that no request is spent on it
	for i, l := range locks {
		result := w.Lock(l)
		results = append(results, result)
		if i == 0 {
			w.Holds(result, "the first")
		} else {
			w.Waits(result, sessions[i], fmt.Sprintf("contender %d", i))
		}
	}
	return locks, results, sessions
}

// FirstIn returns the first of some contenders whose Lock has returned, -1 if none has.
// The others are those whose Lock waits, or whose result has been received.
func FirstIn(results []<-chan error) int {
	return slices.IndexFunc(results, func(result <-chan error) bool { return len(result) > 0 })
}

func QueueOrder(w *World) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		for j := i + 1; j < len(locks); j++ {
			w.Waits(results[j], sessions[j], fmt.Sprintf("contender %d", j))
		}
		if i+1 == len(locks) {
			w.Unlock(l, fmt.Sprintf("contender %d", i))
			break
		}
		// The next one is slow: in a queue the others wait for it, and in a race one of
		// them wins.
		release := func() {}
		if w.Server != nil {
			release = w.Server.Hold(func(r zkserver.Request) bool { return r.Session == sessions[i+1].ID && !stage.ByClient(r.Op) }).Release
		}
		w.Unlock(l, fmt.Sprintf("contender %d", i))
		if w.Server != nil {
			time.Sleep(time.Second)
		}
		next := FirstIn(results) // one that was faster
		release()
		w.Eventually(fmt.Sprintf("contender %d, whose turn it is, gets the lock after the release", i+1), func() bool {
			if next < 0 {
				next = FirstIn(results)
			}
			return next >= 0
		})
		require.NoError(w, <-results[next], "Lock of contender %d fails", next)
		how := "the contender whose node has the smallest number is the next"
		if len(w.Nodes()) < len(locks)-1-i {
			how = "those that wait have no nodes of their own, and a race for one node keeps no order; each contender makes a node with zk.FlagEphemeralSequential when it comes, and the smallest number is the next"
		}
		require.Equal(w, i+1, next, "contender %d gets in before contender %d, which came earlier: %s", next, i+1, how)
	}
	w.NothingLeft()
}

// WaiterGoes ends the session of the waiter in the middle.
func WaiterGoes(w *World) {
	locks, results, sessions := w.queue(3)
	w.Goes(sessions[1])
	select {
	case err := <-results[2]:
		require.NoError(w, err, "the last waiter must go on waiting, and Lock fails")
		w.Fatal("the waiter before it has gone, the holder still holds the lock, and the last waiter has got it: two holders; the node that went need not have been the holder's, so look again at the whole queue after each event")
	case <-time.After(time.Second): // every event has come by then
	}
	w.Waits(results[2], sessions[2], "the waiter after the one that has gone")
	w.Unlock(locks[0], "the holder")
	w.Holds(results[2], "the waiter after the one that has gone")
	w.Unlock(locks[2], "it")
	w.NothingLeft()
}

// ForeignChild has children that are not contenders. A name that ends in a number is
// one of a contender's where an exercise leaves the names to its author.
func ForeignChild(w *World) {
	l, _ := w.Contender()
	w.MustLock(l, "a first contender")
	named := slices.ContainsFunc(w.Nodes(), func(node string) bool {
		return strings.HasPrefix(node, "lock-") || strings.HasPrefix(node, "read-") || strings.HasPrefix(node, "write-")
	})
	w.Unlock(l, "it")
	names := []string{"config", "minutes"}
	if named {
		names = append(names, "0", "0000000000")
	}
	s := w.Session()
	for _, name := range names {
		_, err := s.Create(w.Path+"/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(w, err)
	}
	w.MustLock(l, fmt.Sprintf("a contender beside %d nodes that are not contenders'", len(names)))
	other, os := w.Contender()
	result := w.Lock(other)
	w.Waits(result, os, "the second contender")
	w.Unlock(l, "the first")
	w.Holds(result, "the second contender")
	w.Unlock(other, "it")
	require.Len(w, w.Nodes(), len(names), "the nodes that are not contenders' must stay, and no other node")
}

// atEachRead lets a contender lock while another one holds the lock, again and
// again. First its first read is held back on its way to the server, then its
// second, until it has sent all that it sends before it waits. Which reads
// those are differs from lock to lock. Once the read is held, or the contender
// waits, f is called, which does the special part of the case.
func (w *World) atEachRead(f func(l Lock, s *Session, result <-chan error, release func(), step string)) {
	for n := 1; w.GoesOn(n); n++ {
		l, s := w.Contender()
		reads := 0
		held := w.Server.Hold(func(r zkserver.Request) bool {
			if r.Session == s.ID && (r.Op == jute.OpGetData || r.Op == jute.OpExists || r.Op == jute.OpGetChildren2) {
				reads++
				return reads == n
			}
			return false
		})
		result := w.Lock(l)
		met := w.Meets(held, s, "the waiter's read is held back, or it waits")
		f(l, s, result, held.Release, fmt.Sprintf("read number %d", n))
		if !met {
			require.Greater(w, n, 1, "the waiter looks at nothing before it waits: it can wait for a release that has been")
			return
		}
	}
}

func ReleaseBeforeWatch(w *World) {
	holder, _ := w.holder()
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		w.Unlock(holder, "the holder")
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the lock was let go while the waiter was about to wait (its %s came after the release), and Lock fails", step)
		case <-time.After(stage.Patience):
			w.Fatalf("the holder has let go between the waiter's look and its watch (its %s came after the release), and the waiter sleeps on: the event is lost; one request must look and set the watch, and a node that it does not find is a release%s", step, w.Why())
		}
		holder = l
	})
	w.Unlock(holder, "the last")
	w.NothingLeft()
}

func WaiterGoesBeforeWatch(w *World) {
	holder, _ := w.holder()
	middle, ms := w.Contender()
	w.Waits(w.Lock(middle), ms, "the waiter")
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		w.Goes(ms)
		release()
		select {
		case err := <-result:
			require.NoError(w, err, "the waiter before it has gone, and Lock fails (its %s came afterwards)", step)
			w.Fatalf("the waiter before it has gone before it was watched (the %s came afterwards), and a waiter has got the lock: two holders; the node that is missing need not have been the holder's, so look again at the whole queue", step)
		case <-time.After(time.Second): // every event has come by then
		}
		w.Waits(result, s, "a waiter whose "+step+" came after the waiter before it had gone")
		ms = s // it is in the middle for the next one
	})
	w.Goes(ms)
	w.Unlock(holder, "the holder")
	w.NothingLeft()
}

func NodeGoes(w *World) {
	admin := w.Session()
	holder, _ := w.holder()
	before := w.Nodes()
	w.atEachRead(func(l Lock, s *Session, result <-chan error, release func(), step string) {
		for _, node := range w.Nodes() {
			if !slices.Contains(before, node) {
				require.NoError(w, admin.Delete(w.Path+"/"+node, -1))
			}
		}
		release()
		const without = "a waiter's own node had gone before its %s, and it takes the lock without a node, so that the next contender gets in, too: two holders; look for the own node in each list of children"
		if !w.goesOn(result, s) {
			require.Error(w, w.Result(result, "Lock of a waiter whose node has gone"), without, step)
			w.NotLocked(l, "Unlock after a Lock that failed")
			return
		}
		// It has made another node, or it sleeps on the holder's node, and notices it
		// at the release.
		w.Unlock(holder, "the holder")
		if err := w.Result(result, "Lock of a waiter whose node has gone"); err == nil {
			require.NotEmpty(w, w.Nodes(), without, step)
			w.Unlock(l, "a waiter whose node had gone, and that has queued again,")
		} else {
			require.False(w, w.Subject.Requeues, "a waiter's own node had gone before its %s, and it does not queue again", step)
		}
		w.NothingLeft()
		w.MustLock(holder, "the holder, once more")
		before = w.Nodes()
	})
	w.Unlock(holder, "the holder")
	w.NoNodes("every contender has let go, and a node is left")
}

func ReleaseWhileCutOff(w *World) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.Unlock(holder, "the holder")
	w.Hit(back, "the waiter's client connects again")
	back.Release()
	w.Holds(result, "a waiter that was cut off when the lock was let go")
	require.Equal(w, s.ID, s.SessionID(), "the waiter's client has another session, though it was cut off for less than the session timeout")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}
