package locktest

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// A LostReplySubject is a fair queue whose contenders find the node again that a create has made whose reply was lost.
// It needs New, ErrNotLocked and Level. Subject, with FindsNode, has the cases for any contender.
type LostReplySubject Subject

func (s LostReplySubject) Plan() Plan {
	contender := Subject(s)
	contender.Queue, contender.FindsNode = true, true
	return NewPlan(lostReplyCases, stage.Of[*World](s.Level), contender, func(w *World) *World { return w }).
		Needs(s.New != nil, "LostReplySubject.New is nil: it must make a contender")
}

// In most cases create reaches the server and makes a node, and its reply is lost with the connection. The client
// connects again, and Lock or TryLock must look for that node. In messages, what says what was lost.
var lostReplyCases = []TestCase[*World]{
	row("the reply to create is lost and Lock goes on with the node that is there", Faults, replyLost, basic),
	row("the reply to create is lost and a waiter goes on with the node that is there", Faults, waitersReplyLost, basic),
	row("a create that never arrived is sent again", Faults, createLost, basic, bare),
	row("contenders of one session each find their own node", Faults, eachFindsItsOwn, basic),
	row("the replies to two creates in a row are lost", Faults, twoRepliesLost, basic),
	row("the reply to the create of TryLock is lost", Faults, tryLocksReplyLost),
	row("the search for the node is lost, too", Faults, searchLost),
	row("no server can be reached for half a minute when the reply to create is lost", Faults, longOutage, exact),
	row("the search begins with a sync", Faults, syncFirst),
	row("another session's node is not taken for the own one", Safety, anothersCopy),
	row("the session ends before the search", Faults, sessionEndsBeforeSearch),
}

var searchForIt = i18n.Text("the node may be there although create has failed: give each node an id of its own, in " +
	"its data, and after zk.ErrConnectionClosed look for the node that has it")

// locksDespite waits until a contender has the lock although something was lost, which what says.
func (w *World) locksDespite(result <-chan error, what i18n.Text) {
	w.NoError(w.Result(result, i18n.Textf("%s, and its Lock", what)), "%s, and Lock returns the error; %s", what, searchForIt)
}

func (w *World) noSecondNode(contenders int, what i18n.Text) {
	w.True(len(w.Nodes()) <= contenders, "%s, and the contender has made a second node: the second waits for the first, "+
		"which nothing deletes; %s", what, searchForIt)
}

func replyLost(w *World) {
	var what = i18n.Text("the reply to create was lost with the connection")
	l, s := w.Contender()
	lost := w.Server.LoseReply(stage.Creates(s))
	result := w.BeginLock(l)
	w.Hit(lost, "the contender sends a create")

	made := w.Nodes()
	// WaitOrSayWhy adds the argument for the last %s: why Lock goes on waiting.
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || len(w.Nodes()) > 1 || s.Tap.Armed() > 0 },
		"%s, and Lock neither returns nor waits on a watch%s", what)

	w.noSecondNode(1, what)
	w.locksDespite(result, what)
	w.keepsItsNode(made, what)
	w.unlockLast(l, "the contender whose reply was lost")
}

// waitersReplyLost loses the reply to a waiter's create. Before the waiter looks for its node, its session gets other
// nodes, and one of them goes while it looks. The case catches a search that takes the first node of its session, or
// one whose name or data only begin as the waiter's do.
func waitersReplyLost(w *World) {
	var what = i18n.Text("the reply to a waiter's create was lost with the connection, " +
		"and other nodes of its session have ids that begin as its own does")
	holder, holderSession := w.holder()
	_, middle, _ := w.waiter()
	l, s := w.Contender()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	w.Server.LoseReply(stage.Creates(s))
	result := w.BeginLock(l)
	w.Hit(back, "the client connects again after the reply to create was lost")

	name := w.NodesOf(s)[0]
	ofContenders := []string{name, w.NodesOf(holderSession)[0], w.NodesOf(middle)[0]}
	similar := w.makeSimilarNodes(s, name)
	noData := w.MustCreate(holderSession, w.Path+"/lock-", nil, zk.FlagEphemeralSequential) // another program's
	synctest.Wait()

	// The first node that the search looks at is deleted, unless it is a contender's.
	looks := w.Server.Hold(func(r zkserver.Request) bool {
		return r.Session == s.ID && (r.Op == jute.OpGetData || r.Op == jute.OpExists) && !slices.Contains(ofContenders, r.Path)
	})
	back.Release()
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || s.Sleeps() || len(looks.Hit()) > 0 },
		"%s, and it does not wait on a watch%s", what)
	if len(looks.Hit()) > 0 {
		require.NoError(w, holderSession.Delete((<-looks.Hit()).Path, -1))
	}
	looks.Release()
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || s.Sleeps() }, "%s, and it does not wait on a watch%s", what)

	// The waiter before it goes, and then the other nodes: it still waits for the holder.
	w.Vanishes(middle)
	w.staysBehind(result)
	require.Contains(w, []error{nil, zk.ErrNoNode}, holderSession.Delete(noData, -1))
	for _, node := range w.NodesOf(s) {
		if n, _ := w.Server.Node(node); slices.Contains(similar, string(n.Data)) {
			require.NoError(w, holderSession.Delete(node, -1))
		}
	}
	w.waitsItsTurn(holder, l, result, nil, what)
}

// makeSimilarNodes makes 200 more nodes of a session, so that a search that looks at a few children only hardly ever
// finds the right one. The data of half of them begins as that of the session's own node does, as with ids that are
// counted. If the id is in the name, as in 7-0000000001, half of the names begin with 70-. It returns their data.
func (w *World) makeSimilarNodes(s *Session, own string) (data []string) {
	node, _ := w.Server.Node(own)
	data = []string{string(node.Data) + "0", "x"}                   // an id may be any text, of another length, too
	likeOwn := strings.TrimRight(own[:len(own)-digits], "-") + "0-" // /lock/7-0000000001 gives /lock/70-
	for range 50 {
		for _, text := range data {
			for _, prefix := range []string{w.Path + "/lock-", likeOwn} {
				w.Aside("create", func() error {
					_, err := s.Create(prefix, []byte(text), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
					return err
				})
			}
		}
	}
	return data
}

// waitsItsTurn fails unless a waiter whose create was lost waits for the holder, with the node that create has made.
func (w *World) waitsItsTurn(holder, waiter Lock, result <-chan error, made []string, what i18n.Text) {
	if len(result) > 0 {
		w.locksDespite(result, what)
		w.Failf("%s, and it has got the lock while another contender holds it: two holders", what)
	}
	w.noSecondNode(2, what)
	w.keepsItsNode(made, what)
	w.MustUnlock(holder, "the holder")
	w.locksDespite(result, what)
	w.unlockLast(waiter, "the waiter")
}

func createLost(w *World) {
	var what = i18n.Text("create was lost with the connection and has never reached the server")
	for range 2 { // the parents are missing, and then they are there
		l, s := w.Contender()
		w.Server.LoseRequest(stage.Creates(s))
		err := w.Result(w.BeginLock(l), i18n.Textf("%s, and Lock", what))
		w.NoError(err, "%s, and Lock returns the error: look for the node, and if it is not there, create it", what)
		w.NotEmpty(w.Nodes(),
			"%s, and Lock has returned without a node, so that the next contender gets in: two holders", what)
		w.noSecondNode(1, what)
		w.unlockLast(l, "the contender whose create was lost")
	}
}

// eachFindsItsOwn has many contenders in one session: the server lists children in any order, so a
// lock that takes the first that may be its own errs sooner or later.
func eachFindsItsOwn(w *World) {
	w.idsDiffer()

	const n = 12 // contenders
	var what = i18n.Text("the replies to the creates of a session's contenders were lost")
	var own = i18n.Text("the session's node need not be the contender's own: look for an id that only this create has")
	s := w.Session()
	locks := w.contenders(n, s)
	var results []<-chan error
	for i, l := range locks {
		w.Server.LoseReply(stage.Creates(s))
		results = append(results, w.BeginLock(l))
		if i == 0 {
			w.locksDespite(results[0], what)
		}
		time.Sleep(stage.Patience) // afterwards it waits
		w.noSecondNode(i+1, what)
	}

	for i, l := range locks {
		for j := i + 1; j < n; j++ {
			if len(results[j]) > 0 {
				w.NoError(<-results[j], "%s, and Lock of %s fails", what, stage.Contender(j))
				w.Failf("%s, and %s has got the lock while %s holds it: two holders; %s",
					what, stage.Contender(j), stage.Contender(i), own)
			}
		}
		w.NoError(w.UnlockErr(l, i18n.Same("Unlock")), "%s, and Unlock of %s fails; %s", what, stage.Contender(i), own)
		if i+1 < n {
			w.Holds(results[i+1], i18n.Textf("%s (%s; %s)", stage.Contender(i+1), what, own))
		}
	}
	w.NothingLeft()
}

// idsDiffer has 300 contenders of a session lock, two at a time: if there are only ten thousand ids, two are the same.
func (w *World) idsDiffer() {
	s, seen := w.Session(), make(map[string]bool)
	for range 150 {
		locks := []Lock{w.Subject.New(s.Conn, w.Path), w.Subject.New(s.Conn, w.Path)}
		results := []<-chan error{w.BeginLock(locks[0]), w.BeginLock(locks[1])} // at the same instant
		time.Sleep(time.Second + 1234567*time.Nanosecond)                       // so the next ids that are a time differ
		for _, name := range w.NodesOf(s) {
			node, _ := w.Server.Node(name)
			id := name[:len(name)-digits] + string(node.Data)
			w.False(seen[id], "the nodes of two contenders of a session have the same name before the number, and the same "+
				"data, %q: if the reply to the create of one is lost, it takes the node of the other for its own: two holders",
				node.Data)
			seen[id] = true
		}
		for range locks {
			w.MustUnlock(locks[w.nextHolder(results)], it)
		}
	}
}

func twoRepliesLost(w *World) {
	l, s := w.Contender()
	// For half a minute each create is lost, then the reply to the next one.
	lost := w.Server.LoseRequest(stage.Creates(s)).Every()
	time.AfterFunc(30*time.Second, func() { w.Server.LoseReply(stage.Creates(s)); lost.Release() })
	w.locksDespite(w.BeginLock(l), "create was lost, and the reply to the next one, too,")
	w.Len(w.Nodes(), 1,
		"create was lost, then the reply to the next one, and there is not exactly one node: each create needs the search")
	w.unlockLast(l, "the contender")
}

// tryLocksReplyLost loses the reply to the create of a TryLock: of a free lock, and then of one that is held, when the
// search for the node is lost for a while, too.
func tryLocksReplyLost(w *World) {
	l, s := w.Contender()
	w.Server.LoseReply(stage.Creates(s))
	ok, err := w.TryLock(l, "TryLock, when the reply to its create is lost,")
	w.NoError(err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", searchForIt)
	w.True(ok, "the reply to the create of TryLock was lost, the lock was free, and TryLock returns false")
	w.Len(w.Nodes(), 1, "the reply to the create of TryLock was lost, and there is not exactly one node")

	other, otherSession := w.Contender()
	w.Server.LoseReply(stage.Creates(otherSession))
	time.AfterFunc(30*time.Second, w.CutOff(w.Server.LoseRequest, otherSession, jute.OpSync, jute.OpGetChildren2))
	ok, err = w.TryLock(other, "TryLock on a held lock, when the reply to its create is lost,")
	w.NoError(err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", searchForIt)
	w.False(ok,
		"the reply to the create of TryLock was lost, and it takes a lock that another contender holds: two holders")
	w.Len(w.Nodes(), 1, "the reply to the create of TryLock was lost, it has returned false, and has left its node behind")
	w.unlockLast(l, "the holder")
}

func (w *World) keepsItsNode(made []string, what i18n.Text) {
	w.Has(w.Nodes(), made, "%s, and Lock has made another node in place of the one that was there: it has lost its "+
		"place in the queue to all that have come since", what)
}

// longOutage keeps the client from any server for most of the time that its session lives without it. The client's
// requests fail with zk.ErrNoServer meanwhile.
func longOutage(w *World) {
	var what = i18n.Text("the reply to create was lost, no server could be reached for half a minute, " +
		"and then each request was lost for two")
	holder, _ := w.holder()
	l, s := w.Contender(w.SessionFor(longTimeout))
	lost := w.Server.LoseReply(stage.Creates(s))
	back := w.CutOff(w.Server.LoseRequest, s, jute.OpConnect) // each handshake is lost
	result := w.BeginLock(l)
	w.Hit(lost, "the contender sends a create")
	made := w.Nodes()
	time.Sleep(30 * time.Second)
	back()

	back = w.CutOff(w.Server.LoseRequest, s, jute.OpSync, jute.OpGetChildren2, jute.OpGetData, jute.OpExists)
	time.Sleep(2 * time.Minute)
	back()
	const patience = 10 * time.Minute // a lock may try again with longer and longer pauses
	w.WaitFor(patience, func() bool { return len(result) > 0 || s.Sleeps() })
	w.waitsItsTurn(holder, l, result, made, what)
}

// searchLost loses each request of the search in turn, and then its reply.
func searchLost(w *World) {
	w.EachRequest(func(n int) bool {
		n++ // request 1 is the create
		requestSent := w.searchLosesRequest(n, w.Server.LoseRequest)
		replySent := w.searchLosesRequest(n, w.Server.LoseReply)
		return requestSent || replySent
	})
}

// searchLosesRequest has a waiter whose n-th request, the search for its node, meets a fault. It reports whether the
// waiter has sent one.
func (w *World) searchLosesRequest(n int, lose stage.MakeFault) (sent bool) {
	holder, _ := w.holder()
	l, s := w.Contender()
	w.Server.LoseReply(stage.Creates(s))
	fault := lose(stage.NthRequest(s, n))
	result := w.BeginLock(l)
	what := i18n.Text("the reply to create was lost, and then a request of the search for the node")
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || s.Sleeps() }, "%s, and it does not wait on a watch%s", what)
	sent = len(fault.Hit()) > 0
	fault.Release()

	// When Lock knows the name of its node, it may return an error, as in step 3: it can delete the node.
	if len(result) > 0 {
		err := <-result
		w.HasError(err, "a waiter has got the lock while another contender holds it: two holders")
		w.WaitUntil(func() bool { return len(w.Nodes()) == 1 },
			"%s (request %d, %v), and Lock returns the error: the node is still there, and blocks every contender that "+
				"comes later; search until there is an answer, or the session has ended: %v", what, n, stage.RequestKind(s, n), err)
		w.True(sent, "%s, and Lock returns the error: %v", what, err)
		w.MustUnlock(holder, "the holder")
		return true
	}

	w.noSecondNode(2, what)
	w.MustUnlock(holder, "the holder")
	w.locksDespite(result, what)
	w.unlockLast(l, "the waiter")
	return sent
}

// syncFirst loses a create. The contender must not conclude that there is no node
// before it has looked after a sync: a server that is behind shows none, either.
func syncFirst(w *World) {
	holder, holderSession := w.holder()
	secret, err := holderSession.Create(w.Path+"/config", nil, zk.FlagEphemeral,
		zk.DigestACL(zk.PermAll, "admin", "secret")) // not a contender's: the search may not read it
	require.NoError(w, err)
	l, s := w.Contender()
	w.Server.LoseRequest(stage.Creates(s))
	result := w.BeginLock(l)
	w.Waits(result, s, "the contender whose create was lost")
	w.searchesBeforeTheNextCreate(stage.RequestsOf(s)[1:]) // without the create that was lost

	w.MustUnlock(holder, "the holder")
	w.locksDespite(result, "create was lost")
	require.NoError(w, holderSession.Delete(secret, -1))
	w.unlockLast(l, it)

	w.DeleteParent(holderSession)
	w.MakeParent()
	w.Server.LoseReply(stage.Creates(s))
	w.locksDespite(w.BeginLock(l), "the parent has been made again, where the numbers begin at 0, and the reply to create was lost")
	w.unlockLast(l, it)
}

// searchesBeforeTheNextCreate fails unless requests have a sync, and then a list of the children, before a create.
func (w *World) searchesBeforeTheNextCreate(requests []jute.Op) {
	create := slices.IndexFunc(requests, stage.CreatesNode)
	if create < 0 {
		create = len(requests)
	}
	search := requests[:create]
	sync := slices.Index(search, jute.OpSync)
	w.True(sync >= 0, "create was lost, and another one is sent without a sync before: the server that the client is "+
		"connected to now may not have the node of the first yet; call Sync, then Children, before you create again")
	w.True(slices.Contains(search[sync:], jute.OpGetChildren2), "create was lost, and another one is sent without a "+
		"look at the children after the sync: call Sync, then Children, before you create again")
}

// anothersCopy puts a node of another session, with the same data, in the place of the one that a lost create has made.
func anothersCopy(w *World) {
	l, s := w.Contender()
	admin := w.Session()
	w.Server.LoseReply(stage.Creates(s))
	held := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
	result := w.BeginLock(l)
	w.Hit(held, "the contender that never got the reply to its create looks for its node among the children")
	w.Len(w.Nodes(), 1, "create has made a node, and there is not exactly one")
	node, _ := w.Server.Node(w.NodesOf(s)[0])
	require.NoError(w, admin.Delete(w.NodesOf(s)[0], -1))
	theirs := w.MustCreate(admin, w.Path+"/lock-", node.Data, zk.FlagEphemeralSequential)
	held.Release()
	w.WaitOrSayWhy(func() bool { return len(result) > 0 || s.Sleeps() }, "another session has a node with the same data%s")
	if len(result) > 0 {
		w.NoError(<-result, "another session has a node with the same data, and Lock fails; make another node")
		w.Failf(
			"another session has a node with the same data as the one whose create was lost, and the contender takes it for " +
				"its own: it has the lock without a node of its own: two holders; compare the node's EphemeralOwner with conn.SessionID()")
	}
	require.NoError(w, admin.Delete(theirs, -1))
	w.locksDespite(result, "the reply to create was lost")
	w.unlockLast(l, "it, once the other session's node has gone,")
}

// sessionEndsBeforeSearch ends the session, and with it the node, before the client can look for the node. The client
// cannot connect again until then. First the reply to create is lost in the old session, and the search begins with a
// sync that fails because of the end. The second time the connection breaks before create: create waits in the client
// for the next session, where its reply is lost.
func sessionEndsBeforeSearch(w *World) {
	createsNode := func(r zkserver.Request) bool { return stage.CreatesNode(r.Op) }
	for _, createWaits := range []bool{false, true} {
		s := w.Ordinary()
		l, _ := w.Contender(s)
		back := w.Server.Hold(stage.Sent(s, jute.OpConnect)) // the client connects again only after back.Release
		if createWaits {
			require.True(w, w.Server.Cut(s.ID))
			w.Hit(back, "the client connects again")
		} else {
			w.Server.Fail(jute.ErrSessionExpired, func(r zkserver.Request) bool { return r.Op == jute.OpSync })
		}
		w.Server.LoseReply(createsNode) // in this session or, if create waits, in the next one
		result := w.BeginLock(l)
		time.Sleep(time.Second) // until create is sent, or waits
		w.Server.Expire(s.ID)
		back.Release()

		err := w.Result(result, "the session has ended after the reply to create was lost, and Lock")
		if err != nil { // Lock may return an error, or lock in the new session
			w.errorSaysWhy(err)
			w.NotLocked(l, "Unlock after a Lock that failed")
		} else {
			w.Len(w.Nodes(), 1, "the session has ended after the reply to create was lost, its node has gone with it, and "+
				"Lock returns without another, so that the next contender gets in: two holders")
			w.MustUnlock(l, "the contender, in its new session,")
		}
		time.Sleep(stage.Patience) // by then the client has a new session
		w.NothingLeft()

		w.Server.LoseReply(createsNode)
		const again = "the contender's session has ended, and in the next one the reply to create was lost"
		w.locksDespite(w.BeginLock(l), again)
		w.unlockLast(l, it)
	}
}
