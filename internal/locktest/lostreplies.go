package locktest

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

// A LostReplySubject is a fair queue whose contenders find the node again that
// a create has made whose reply was lost. Subject, with FindsNode, has the cases that
// hold for any contender: the two suites complete each other.
type LostReplySubject struct {
	// New makes a contender for the lock at path, the parent of its node.
	New func(conn *zk.Conn, path string) Lock
	// ErrNotLocked is as in Subject.
	ErrNotLocked error
	// Level says how much is asked of the lock. The zero Level is Full.
	Level Level
}

// Plan has the cases of a lock whose reply to create is lost.
func (s LostReplySubject) Plan() Plan {
	contender := Subject{New: s.New, ErrNotLocked: s.ErrNotLocked, Queue: true, FindsNode: true}
	return NewPlan(lostReplyCases, stage.Of[*World](s.Level), contender, func(w *World) *World { return w }).
		Needs(s.New != nil, "LostReplySubject.New is nil: it must make a contender")
}

var lostReplyCases = []TestCase[*World]{
	{Name: "the reply to create is lost and Lock goes on with the node that is there", Group: Faults, Run: replyLost, Basic: true},
	{Name: "the reply to create is lost and a waiter goes on with the node that is there", Group: Faults, Run: waitersReplyLost, Basic: true},
	{Name: "a create that never arrived is sent again", Group: Faults, Run: createLost, Basic: true},
	{Name: "contenders of one session each find their own node", Group: Faults, Run: eachFindsItsOwn, Basic: true},
	{Name: "the replies to two creates in a row are lost", Group: Faults, Run: twoRepliesLost, Basic: true},
	{Name: "the reply to the create of TryLock is lost", Group: Faults, Run: tryLocksReplyLost},
	{Name: "the search for the node is lost, too", Group: Faults, Run: searchLost},
	{Name: "no server can be reached for half a minute when the reply to create is lost", Group: Faults, Run: longOutage, Exact: true},
	{Name: "the search begins with a sync", Group: Faults, Run: syncFirst},
	{Name: "another session's node is not taken for the own one", Group: Safety, Run: anothersCopy},
	{Name: "the session ends before the search", Group: Faults, Run: sessionEndsBeforeSearch},
}

const searchForIt = "the node may be there although create has failed: give each node an id of its own, in its data, and after zk.ErrConnectionClosed look for the node that has it"

// survives waits until a contender whose create was lost has the lock.
func (w *World) survives(result <-chan error, what string) {
	w.Helper()
	err := w.Result(result, what+", and its Lock")
	require.NoError(w, err, "%s, and Lock returns the error; %s", what, searchForIt)
}

// oneNode fails if there are more nodes than contenders.
func (w *World) oneNode(n int, what string) {
	w.Helper()
	require.LessOrEqual(w, len(w.Nodes()), n, "%s, and the contender has made a second node: the second waits for the first, which nothing deletes; %s", what, searchForIt)
}

func replyLost(w *World) {
	const what = "the reply to create was lost with the connection"
	l, s := w.Contender()
	lost := w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.Hit(lost, "the contender sends a create")
	made := w.Nodes()
	w.WaitUntil("the contender goes on", func() bool { return len(result) > 0 || len(w.Nodes()) > 1 || s.Tap.Armed() > 0 },
		func() string { return what + ", and Lock neither returns nor waits on a watch" + w.Why() })
	w.oneNode(1, what)
	w.survives(result, what)
	w.sameNode(made, what)
	w.Unlock(l, "the contender whose reply was lost")
	w.NothingLeft()
	w.MustLock(l, "it, once more,")
	w.Unlock(l, "it")
	w.NothingLeft()
}

func waitersReplyLost(w *World) {
	const what = "the reply to a waiter's create was lost with the connection"
	holder, _ := w.holder()
	l, s := w.Contender()
	w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.WaitUntil("the waiter waits on a watch", func() bool { return len(result) > 0 || s.Sleeps() },
		func() string { return what + ", and it does not wait on a watch" + w.Why() })
	w.waitsItsTurn(holder, l, result, nil, what)
}

// waitsItsTurn fails if a waiter whose create was lost does not wait until the holder lets
// go, with the node that create has made.
func (w *World) waitsItsTurn(holder, waiter Lock, result <-chan error, made []string, what string) {
	w.Helper()
	if len(result) > 0 {
		w.survives(result, what)
		w.Fatalf("%s, and it has got the lock while another contender holds it: two holders", what)
	}
	w.oneNode(2, what)
	w.sameNode(made, what)
	w.Unlock(holder, "the holder")
	w.survives(result, what)
	w.Unlock(waiter, "the waiter")
	w.NothingLeft()
}

func createLost(w *World) {
	const what = "create was lost with the connection and has never reached the server"
	l, s := w.Contender()
	w.Server.LoseRequest(stage.Creates(s))
	result := w.Lock(l)
	err := w.Result(result, what+", and Lock")
	require.NoError(w, err, "%s, and Lock returns the error: look for the node, and if it is not there, create it", what)
	require.NotEmpty(w, w.Nodes(), "%s, and Lock has returned without a node, so that the next contender gets in: two holders", what)
	w.oneNode(1, what)
	w.Unlock(l, "the contender whose create was lost")
	w.NothingLeft()
}

// eachFindsItsOwn has many contenders in one session: the server lists children
// in any order, so a lock that takes the first that may be its own errs sooner
// or later.
func eachFindsItsOwn(w *World) {
	const n = 12
	const what = "the replies to the creates of a session's contenders were lost"
	const own = "the session's node need not be the contender's own: look for an id that only this create has"
	s := w.Session()
	var locks []Lock
	var results []<-chan error
	for i := range n {
		l, _ := w.Contender(s)
		w.Server.LoseReply(stage.Creates(s))
		locks, results = append(locks, l), append(results, w.Lock(l))
		if i == 0 {
			w.survives(results[0], what)
		}
		time.Sleep(stage.Patience) // it waits by now
		w.oneNode(i+1, what)
	}
	for i, l := range locks {
		for j := i + 1; j < n; j++ {
			if len(results[j]) > 0 {
				require.NoError(w, <-results[j], "%s, and Lock of contender %d fails", what, j)
				w.Fatalf("%s, and contender %d has got the lock while contender %d holds it: two holders; %s", what, j, i, own)
			}
		}
		require.NoError(w, w.UnlockErr(l, "Unlock"), "%s, and Unlock of contender %d fails; %s", what, i, own)
		if i+1 < n {
			w.Eventually(fmt.Sprintf("contender %d, whose turn it is, gets the lock (%s; %s)", i+1, what, own), func() bool { return len(results[i+1]) > 0 })
			require.NoError(w, <-results[i+1], "%s, and Lock of contender %d fails; %s", what, i+1, own)
		}
	}
	w.NothingLeft()
}

func twoRepliesLost(w *World) {
	l, s := w.Contender()
	for range 2 {
		w.Server.LoseReply(stage.Creates(s))
		w.survives(w.Lock(l), "the reply to create was lost, once more,")
		require.Len(w, w.Nodes(), 1, "the reply to create was lost, and there is not exactly one node")
		w.Unlock(l, "the contender whose reply was lost")
		w.NothingLeft()
	}
	// The create that is sent again is lost in its turn.
	w.Server.LoseRequest(stage.Creates(s))
	w.Server.LoseReply(stage.Creates(s))
	w.survives(w.Lock(l), "create was lost, and the reply to the next one, too,")
	require.Len(w, w.Nodes(), 1, "create was lost, then the reply to the next one, and there is not exactly one node: each create needs the search")
	w.Unlock(l, "the contender")
	w.NothingLeft()
}

func tryLocksReplyLost(w *World) {
	l, s := w.Contender()
	w.Server.LoseReply(stage.Creates(s))
	ok, err := w.Try(l, "TryLock, when the reply to its create is lost,")
	require.NoError(w, err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", searchForIt)
	require.True(w, ok, "the reply to the create of TryLock was lost, the lock was free, and TryLock returns false")
	require.Len(w, w.Nodes(), 1, "the reply to the create of TryLock was lost, and there is not exactly one node")
	other, os := w.Contender()
	w.Server.LoseReply(stage.Creates(os))
	ok, err = w.Try(other, "TryLock on a held lock, when the reply to its create is lost,")
	require.NoError(w, err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", searchForIt)
	require.False(w, ok, "the reply to the create of TryLock was lost, and it takes a lock that another contender holds: two holders")
	require.Len(w, w.Nodes(), 1, "the reply to the create of TryLock was lost, it has returned false, and has left its node behind")
	w.Unlock(l, "the holder")
	w.NothingLeft()
}

// sameNode fails if the node that create has made is not there any more.
func (w *World) sameNode(made []string, what string) {
	w.Helper()
	require.Subset(w, w.Nodes(), made, "%s, and Lock has made another node in place of the one that was there: it has lost its place in the queue to all that have come since", what)
}

// longOutage keeps the client from any server for most of the time that its session
// lives without it: 40 s is the longest that a server agrees to by default.
// The client's requests fail with zk.ErrNoServer meanwhile.
func longOutage(w *World) {
	holder, _ := w.holder()
	l, s := w.Contender(w.SessionFor(40 * time.Second))
	lost := w.Server.LoseReply(stage.Creates(s))
	back := w.CutOff(w.Server.LoseRequest, s, jute.OpConnect) // each handshake is lost
	result := w.Lock(l)
	w.Hit(lost, "the contender sends a create")
	made := w.Nodes()
	time.Sleep(30 * time.Second)
	back()
	const what = "the reply to create was lost, and no server could be reached for half a minute"
	// A lock may make its pauses longer from try to try.
	for range 10 {
		if time.Sleep(time.Minute); len(result) > 0 || s.Sleeps() {
			break
		}
	}
	w.waitsItsTurn(holder, l, result, made, what)
}

// searchLost loses each request of the search in turn, and then its reply.
func searchLost(w *World) {
	for n := 2; w.GoesOn(n); n++ { // 1 is the create
		more := false
		for _, lose := range []func(func(zkserver.Request) bool) *zkserver.Fault{w.Server.LoseRequest, w.Server.LoseReply} {
			holder, _ := w.holder()
			l, s := w.Contender()
			w.Server.LoseReply(stage.Creates(s))
			fault := lose(stage.Number(s, n))
			result := w.Lock(l)
			what := "the reply to create was lost, and then a request of the search for the node"
			w.WaitUntil("the contender waits on a watch", func() bool { return len(result) > 0 || s.Sleeps() },
				func() string { return what + ", and it does not wait on a watch" + w.Why() })
			hit := len(fault.Hit()) > 0
			fault.Release()
			// From the list of its queue on, an error ends Lock, as in step 3: it has its
			// node's name then, and can delete it.
			if len(result) > 0 {
				err := <-result
				require.Error(w, err, "a waiter has got the lock while another contender holds it: two holders")
				w.WaitUntil("the node goes", func() bool { return len(w.Nodes()) == 1 }, func() string {
					return fmt.Sprintf("%s (request %d, %v), and Lock returns the error: the node is still there, and blocks every contender that comes later; search until there is an answer, or the session has ended: %v", what, n, stage.LastRequest(s, n), err)
				})
				require.True(w, hit, "%s, and Lock returns the error: %v", what, err)
				w.Unlock(holder, "the holder")
				more = true
				continue
			}
			w.oneNode(2, what)
			w.Unlock(holder, "the holder")
			w.survives(result, what)
			w.Unlock(l, "the waiter")
			w.NothingLeft()
			more = more || hit
		}
		if !more {
			break
		}
	}
}

// syncFirst loses a create. The contender must not conclude that there is no node
// before it has looked after a sync: a server that is behind shows none, either.
func syncFirst(w *World) {
	holder, _ := w.holder()
	l, s := w.Contender()
	w.Server.LoseRequest(stage.Creates(s))
	result := w.Lock(l)
	w.Waits(result, s, "the contender whose create was lost")
	synced, looked := false, false
	for _, op := range stage.RequestsOf(s)[1:] {
		if stage.CreatesNode(op) {
			break
		}
		synced = synced || op == jute.OpSync
		looked = looked || synced && op == jute.OpGetChildren2
	}
	require.True(w, synced, "create was lost, and another one is sent without a sync before: the server that the client is connected to now may not have the node of the first yet; call Sync, then Children, before you create again")
	require.True(w, looked, "create was lost, and another one is sent without a look at the children after the sync: call Sync, then Children, before you create again")
	w.Unlock(holder, "the holder")
	w.survives(result, "create was lost")
	w.Unlock(l, "it")
	w.NothingLeft()
}

// anothersCopy puts a node of another session, with the same data, in the place
// of the one that a lost create has made.
func anothersCopy(w *World) {
	l, s := w.Contender()
	admin := w.Session()
	w.Server.LoseReply(stage.Creates(s))
	held := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
	result := w.Lock(l)
	w.Hit(held, "the contender that never got the reply to its create looks for its node among the children")
	nodes := w.Nodes()
	require.Len(w, nodes, 1, "create has made a node, and there is not exactly one")
	node := w.Path + "/" + nodes[0]
	data, _, err := admin.Get(node)
	require.NoError(w, err)
	require.NoError(w, admin.Delete(node, -1))
	theirs, err := admin.Create(w.Path+"/lock-", data, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
	held.Release()
	w.WaitUntil("the contender waits on a watch", func() bool { return len(result) > 0 || s.Sleeps() },
		func() string { return "another session has a node with the same data" + w.Why() })
	if len(result) > 0 {
		require.NoError(w, <-result, "another session has a node with the same data, and Lock fails; make another node")
		w.Fatal("another session has a node with the same data as the one whose create was lost, and the contender takes it for its own: it has the lock without a node of its own: two holders; compare the node's EphemeralOwner with conn.SessionID()")
	}
	require.NoError(w, admin.Delete(theirs, -1))
	w.survives(result, "the reply to create was lost")
	w.Unlock(l, "it, once the other session's node has gone,")
	w.NothingLeft()
}

// sessionEndsBeforeSearch ends the session, and with it the node, before the
// client can look for the node.
func sessionEndsBeforeSearch(w *World) {
	l, s := w.Contender()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.Hit(back, "the client connects again after the reply to create was lost")
	w.Server.Expire(s.ID)
	back.Release()
	err := w.Result(result, "the session has ended after the reply to create was lost, and Lock")
	if err != nil { // it may say so, or lock in the new session
		w.NotLocked(l, "Unlock after a Lock that failed")
	} else {
		require.Len(w, w.Nodes(), 1, "the session has ended after the reply to create was lost, its node has gone with it, and Lock returns without another, so that the next contender gets in: two holders")
		w.Unlock(l, "the contender, in its new session,")
	}
	w.Renewed(s, "the client has a new session")
	time.Sleep(stage.Patience)
	w.NothingLeft()
	w.MustLock(l, "it, in its new session,")
	w.Unlock(l, "it")
}
