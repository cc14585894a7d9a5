package leases

import (
	"errors"
	"math"
	"path"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/stage"
)

// The cases of the queue: tokens, numbers, nodes of other libraries, the parent, and clients that are closed. The table
// leaseCases, in cases.go, has the sentence that each of them asks of a lock.

func tokensGrow(w *leaseWorld) {
	var highest int64
	for i := range 4 {
		lease, _ := w.holder()
		require.Greater(w, lease.Token(), highest, "the token of the next holder is not higher")
		highest = lease.Token()
		w.release(lease, "the holder")
		if i%2 == 0 { // in a new parent the numbers begin again
			w.NothingLeft()
			w.DeleteParent(w.Session())
		}
	}
}

// numbersWrap has three contenders get the largest numbers, and another library's node comes with the smallest one.
func numbersWrap(w *leaseWorld) {
	w.makeParent()
	require.True(w, w.Server.SetSequence(w.Path, 1<<31-4)) // three before the largest, which more than one node gets
	var attempts []*attempt
	var sessions []*stage.Session
	for i := range 3 {
		l, s := w.open()
		a := w.beginLock(l)
		attempts, sessions = append(attempts, a), append(sessions, s)
		if i > 0 {
			w.Waits(a.result, s, stage.Contender(i))
		} else {
			w.Eventually(i18n.Same("the first gets the lock"), func() bool { return len(a.result) > 0 })
		}
	}

	admin := w.Session()
	later := w.MustCreate(admin, w.Path+"/lock--2147483648", nil, zk.FlagEphemeral)
	for i, a := range attempts {
		lease := w.mustGet(a, stage.Contender(i).String()+", whose turn it is,")
		for j := i + 1; j < len(attempts); j++ {
			w.Waits(attempts[j].result, sessions[j], stage.Contender(j))
		}
		w.release(lease, stage.Contender(i).String())
	}
	require.NoError(w, admin.Delete(later, -1))
	w.NothingLeft()
}

// numbersRunOut has contenders get numbers that other nodes may get, too: once the server's counter has come to the
// largest int32, it stays there, so that number and the negative ones after it are given again.
func numbersRunOut(w *leaseWorld) {
	lease, _ := w.holder()
	for _, number := range []int32{math.MaxInt32, math.MinInt32, -1} {
		require.True(w, w.Server.SetSequence(w.Path, number))
		l, s := w.open()
		a := w.beginLock(l)
		w.Eventually(i18n.Same("Lock returns"), func() bool { return len(a.result) > 0 || s.Tap.Armed() > 0 }) // on a watch
		require.NotEmpty(w, a.result, "waits with the number %d, which another one may get, too: two holders", number)
		require.ErrorIs(w, <-a.result, zk.ErrNodeExists, "the server has no more numbers")
		require.Zero(w, s.Tap.Armed())
	}
	w.releaseLast(lease, "the holder")
}

// curatorNode makes a node whose name is that of Curator's, and zk.Lock's, nodes. goes deletes it.
func (w *leaseWorld) curatorNode() (goes func()) {
	admin := w.Session()
	name := w.Path + "/_c_4f1d2c6e-9a3b-4f60-8b1d-0a1b2c3d4e5f-lock-"
	node := w.MustCreate(admin, name, nil, zk.FlagEphemeralSequential)
	return func() { require.NoError(w, admin.Delete(node, -1)) }
}

func curatorName(w *leaseWorld) {
	lease, s := w.holder()
	goes := w.curatorNode()
	a, waiterSession := w.waiter("the contender after one of Curator's")
	inHoldersSession, _ := w.open(s)
	b := w.beginLock(inHoldersSession)
	w.release(lease, "the holder")
	time.Sleep(time.Second) // for a contender to get in by mistake: no event says that none does
	w.Waits(a.result, waiterSession, i18n.Same("the contender after one of Curator's"))
	require.Empty(w, b.result, "the contender after one of Curator's has got the lock: two holders")
	goes()
	w.release(w.mustGet(a, "the contender after one of Curator's that has gone"), "it")
	w.releaseLast(w.mustGet(b, "the last"), "it")
}

// curatorComesLater has a name of Curator's that sorts before ours: only the number counts.
func curatorComesLater(w *leaseWorld) {
	lease, _ := w.holder()
	a, _ := w.waiter("the waiter")
	goes := w.curatorNode()
	w.release(lease, "the holder")
	w.release(w.mustGet(a, "the contender before one of Curator's"), "it")
	goes()
	w.NothingLeft()
}

// zkLock has a contender of the client library's own lock between two of ours.
func zkLock(w *leaseWorld) {
	lease, _ := w.holder()
	s := w.Session()
	theirs := zk.NewLock(s.Conn, w.Path, zk.WorldACL(zk.PermAll))
	locked := w.Aside("zk.Lock", theirs.Lock)
	w.Waits(locked, s, i18n.Same("zk.Lock"))
	require.Empty(w, locked, "zk.Lock has got the lock while our contender holds it: two holders")
	a, waiterSession := w.waiter("our second contender, which comes after zk.Lock,")
	w.release(lease, "our first contender")
	w.Holds(locked, i18n.Same("zk.Lock"))
	w.Waits(a.result, waiterSession, i18n.Same("our second contender, which comes after zk.Lock,"))
	require.NoError(w, theirs.Unlock())
	w.releaseLast(w.mustGet(a, "our second contender"), "it")
}

// predecessorChanges changes the data of each node before a waiter's.
func predecessorChanges(w *leaseWorld) {
	lease, s := w.holder()
	var attempts []*attempt
	for i := range 3 {
		a, _ := w.waiter(stage.Contender(i + 1).String())
		attempts = append(attempts, a)
	}
	inHoldersSession, _ := w.open(s)
	attempts = append(attempts, w.beginLock(inHoldersSession))
	admin := w.Session()
	for range 3 {
		for _, node := range w.Nodes() {
			data, _, err := admin.Get(w.Path + "/" + node)
			require.NoError(w, err)
			_, err = admin.Set(w.Path+"/"+node, data, -1)
			require.NoError(w, err)
			time.Sleep(10 * time.Millisecond) // for a contender to get in by mistake: no event says that none does
			for _, a := range attempts {
				require.Empty(w, a.result, "the data of %s has changed, and a waiter takes it for gone: two holders", node)
			}
		}
	}
	require.False(w, bubble.IsClosed(lease.Lost()), "the data of the holder's node has changed, and Lost is closed")
	for i, a := range attempts {
		w.release(lease, "the holder")
		lease = w.mustGet(a, stage.Contender(i+1).String())
	}
	w.releaseLast(lease, "the last")
}

func container(w *leaseWorld) {
	lease, _ := w.holder()
	for dir := w.Path; dir != "/"; dir = path.Dir(dir) {
		node, ok := w.Server.Node(dir)
		require.True(w, ok)
		require.True(w, node.Container, "%s is not a container: it stays when no contender uses it", dir)
	}
	w.release(lease, "the holder")
	time.Sleep(5 * time.Minute) // a container goes some time after its last child
	_, ok := w.Server.Node(w.Path)
	require.False(w, ok, "the parent stays though no contender uses it")
	again, _ := w.holder()
	w.releaseLast(again, "the contender that comes when the parent has gone")
}

// parentGoes takes the parent away before each create.
func parentGoes(w *leaseWorld) {
	w.makeParent()
	l, s := w.open()
	for range 3 {
		held := w.Server.Hold(stage.Creates(s))
		a := w.beginLock(l)
		w.Hit(held, i18n.Same("the request is sent"))
		require.NoError(w, w.Session().Delete(w.Path, -1))
		held.Release()
		w.releaseLast(w.mustGet(a, "the contender whose parent was deleted"), "it")
	}
}

func closedClient(w *leaseWorld) {
	lease, s := w.holder()
	l, _ := w.open(s)
	a := w.beginLock(l)
	if w.Server != nil {
		synctest.Wait()
	}
	s.Close()
	closed := time.Now()
	w.mustLose(lease, "the client has been closed")
	if w.Server != nil {
		require.Less(w, time.Since(closed), 5*time.Second,
			"the client has been closed, which ends its session at once, and Lost closes much later")
	}
	require.Error(w, w.Result(a.result, i18n.Same("Lock whose client has been closed")))
	require.ErrorIs(w, lease.Unlock(bounded(w)), w.kind.ErrLost)
	w.Eventually(i18n.Same("the session's nodes go"), func() bool { return len(w.Nodes()) == 0 })
}

func closedBefore(w *leaseWorld) {
	l, s := w.open()
	s.Close()
	began := time.Now()
	_, err := l.Lock(bounded(w))
	require.ErrorIs(w, err, zk.ErrClosing, "Lock with a closed client")
	if w.Server != nil { // a real server and a busy machine take the time that they need
		require.Less(w, time.Since(began), 5*time.Second)
	}
	_, err = l.TryLock(bounded(w))
	require.False(w, err == nil || errors.Is(err, w.kind.ErrHeld), "TryLock with a closed client says: %v", err)
}
