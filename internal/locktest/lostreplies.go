package locktest

import (
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

// A LostReplySubject is a fair queue whose contenders find the node again that a create has made whose reply was
// lost. Subject, with FindsNode, has the cases that hold for any contender: the two suites complete each other.
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
	{Name: "the reply to create is lost and Lock goes on with the node that is there", Zh: "create 的响应丢失，Lock 用已有的节点继续", Group: Faults, Run: replyLost, Basic: true},
	{Name: "the reply to create is lost and a waiter goes on with the node that is there", Zh: "create 的响应丢失，等待者用已有的节点继续", Group: Faults, Run: waitersReplyLost, Basic: true},
	{Name: "a create that never arrived is sent again", Zh: "没有送达的 create 会重发", Group: Faults, Run: createLost, Basic: true, Bare: true},
	{Name: "contenders of one session each find their own node", Zh: "同一会话的竞争者各自找到自己的节点", Group: Faults, Run: eachFindsItsOwn, Basic: true},
	{Name: "the replies to two creates in a row are lost", Zh: "接连两个 create 的响应都丢失", Group: Faults, Run: twoRepliesLost, Basic: true},
	{Name: "the reply to the create of TryLock is lost", Zh: "TryLock 的 create 响应丢失", Group: Faults, Run: tryLocksReplyLost},
	{Name: "the search for the node is lost, too", Zh: "查找节点的请求也丢失", Group: Faults, Run: searchLost},
	{Name: "no server can be reached for half a minute when the reply to create is lost", Zh: "create 的响应丢失，半分钟连不上任何服务器", Group: Faults, Run: longOutage, Exact: true},
	{Name: "the search begins with a sync", Zh: "查找之前先 sync", Group: Faults, Run: syncFirst},
	{Name: "another session's node is not taken for the own one", Zh: "不会把别的会话的节点当成自己的", Group: Safety, Run: anothersCopy},
	{Name: "the session ends before the search", Zh: "查找之前会话就结束了", Group: Faults, Run: sessionEndsBeforeSearch},
}

var searchForIt = i18n.Textf(
	"the node may be there although create has failed: give each node an id of its own, in its data, and after zk.ErrConnectionClosed look for the node that has it", "create 失败了，节点却可能已经创建：请在每个节点的数据里写入各自的 id，遇到 zk.ErrConnectionClosed，就去找带着这个 id 的节点")

// survives waits until a contender has the lock; what says what was lost.
func (w *World) survives(result <-chan error, what i18n.Text) {
	w.Helper()
	err := w.Result(result, i18n.Textf("%s, and its Lock", "%s，Lock", what))
	w.NoError(err, "%s, and Lock returns the error; %s", "%s，Lock 返回了这个错误；%s", what, searchForIt)
}

// oneNode fails if there are more nodes than contenders.
func (w *World) oneNode(n int, what i18n.Text) {
	w.Helper()
	w.True(len(w.Nodes()) <= n,
		"%s, and the contender has made a second node: the second waits for the first, which nothing deletes; %s", "%s，竞争者又创建了第二个节点：第二个等着第一个，而第一个永远不会有人删除；%s", what, searchForIt)
}

func replyLost(w *World) {
	var what = i18n.Textf("the reply to create was lost with the connection", "create 的响应随连接一起丢失")
	l, s := w.Contender()
	lost := w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.Hit(lost, i18n.Textf("the contender sends a create", "竞争者发出 create"))
	made := w.Nodes()
	w.Await(func() bool { return len(result) > 0 || len(w.Nodes()) > 1 || s.Tap.Armed() > 0 },
		"%s, and Lock neither returns nor waits on a watch%s", "%s，Lock 既不返回，也不在监听上等待%s", what)
	w.oneNode(1, what)
	w.survives(result, what)
	w.sameNode(made, what)
	w.unlockLast(l, i18n.Textf("the contender whose reply was lost", "响应丢失的竞争者"))
}

func waitersReplyLost(w *World) {
	var what = i18n.Textf("the reply to a waiter's create was lost with the connection, and other nodes of its session have ids that begin as its own does", "等待者的 create 响应随连接一起丢失，同一会话里还有别的节点，id 的开头与它的相同")
	holder, holderSession := w.holder()
	l, s := w.Contender()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.Hit(back, i18n.Textf("the client connects again after the reply to create was lost", "create 的响应丢失之后，客户端重连"))

	// Before it looks for its node, the session gets 200 more nodes: a search that looks at a few children only hardly
	// ever finds the right one. The data of half of them begins as that of its node does, as with ids that are counted.
	name, first := w.NodesOf(s)[0], w.NodesOf(holderSession)[0]
	mine, _ := w.Server.Node(name)
	theirs, short := append(mine.Data, '0'), []byte("x")       // an id may be any text, of another length, too
	like := strings.TrimRight(name[:len(name)-10], "-") + "0-" // if the id is in the name
	for i := range 200 {
		data := [][]byte{theirs, short}[i%2]
		w.Aside("create", func() error {
			_, err := s.Create([]string{w.Path + "/lock-", like}[i/2%2], data, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			return err
		})
	}
	foreign, err := holderSession.Create(w.Path+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)) // of a program that writes no data
	require.NoError(w, err)
	synctest.Wait()

	// The first node that the search looks at is deleted, unless it is its own.
	looks := w.Server.Hold(func(r zkserver.Request) bool {
		return r.Session == s.ID && (r.Op == jute.OpGetData || r.Op == jute.OpExists) && r.Path != name && r.Path != first
	})
	back.Release()
	w.Await(func() bool { return len(result) > 0 || s.Sleeps() || len(looks.Hit()) > 0 }, "%s, and it does not wait on a watch%s", "%s，之后却没有在监听上等待%s", what)
	if len(looks.Hit()) > 0 {
		require.NoError(w, holderSession.Delete((<-looks.Hit()).Path, -1))
	}
	looks.Release()
	w.Await(func() bool { return len(result) > 0 || s.Sleeps() }, "%s, and it does not wait on a watch%s", "%s，之后却没有在监听上等待%s", what)
	require.Contains(w, []error{nil, zk.ErrNoNode}, holderSession.Delete(foreign, -1))
	for _, node := range w.NodesOf(s) {
		if n, _ := w.Server.Node(node); string(n.Data) == string(theirs) || string(n.Data) == string(short) {
			require.NoError(w, holderSession.Delete(node, -1))
		}
	}
	w.waitsItsTurn(holder, l, result, nil, what)
}

// waitsItsTurn fails if a waiter whose create was lost does not wait until the holder lets
// go, with the node that create has made.
func (w *World) waitsItsTurn(holder, waiter Lock, result <-chan error, made []string, what i18n.Text) {
	w.Helper()
	if len(result) > 0 {
		w.survives(result, what)
		w.Failf("%s, and it has got the lock while another contender holds it: two holders", "%s，别的竞争者还持有锁，这个竞争者又拿到了锁：出现两个持有者", what)
	}
	w.oneNode(2, what)
	w.sameNode(made, what)
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.survives(result, what)
	w.unlockLast(waiter, i18n.Textf("the waiter", "等待者"))
}

func createLost(w *World) {
	var what = i18n.Textf("create was lost with the connection and has never reached the server", "create 随连接一起丢失，没有到达服务器")
	for range 2 { // the parents are missing, and then they are there
		l, s := w.Contender()
		w.Server.LoseRequest(stage.Creates(s))
		err := w.Result(w.Lock(l), i18n.Textf("%s, and Lock", "%s，Lock", what))
		w.NoError(err, "%s, and Lock returns the error: look for the node, and if it is not there, create it", "%s，Lock 返回了这个错误：请先找节点，找不到再创建", what)
		w.NotEmpty(w.Nodes(),
			"%s, and Lock has returned without a node, so that the next contender gets in: two holders", "%s，Lock 返回时却没有节点，下一个竞争者也会拿到锁：出现两个持有者", what)
		w.oneNode(1, what)
		w.unlockLast(l, i18n.Textf("the contender whose create was lost", "create 丢失的竞争者"))
	}
}

// eachFindsItsOwn has many contenders in one session: the server lists children in any order, so a
// lock that takes the first that may be its own errs sooner or later.
func eachFindsItsOwn(w *World) {
	w.idsDiffer()
	const n = 12
	var what = i18n.Textf("the replies to the creates of a session's contenders were lost", "同一会话里各竞争者的 create 响应都丢失了")
	var own = i18n.Textf(
		"the session's node need not be the contender's own: look for an id that only this create has", "这个会话的节点不一定是该竞争者自己的：请找只有这一次 create 才有的 id")
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
		time.Sleep(stage.Patience) // afterwards it waits
		w.oneNode(i+1, what)
	}
	for i, l := range locks {
		for j := i + 1; j < n; j++ {
			if len(results[j]) > 0 {
				w.NoError(<-results[j], "%s, and Lock of %s fails", "%s，%s 的 Lock 失败", what, stage.Contender(j))
				w.Failf(
					"%s, and %s has got the lock while %s holds it: two holders; %s", "%[1]s，%[3]s 还持有锁，%[2]s 又拿到了锁：出现两个持有者；%[4]s", what, stage.Contender(j), stage.Contender(i), own)
			}
		}
		w.NoError(w.UnlockErr(l, i18n.Same("Unlock")), "%s, and Unlock of %s fails; %s", "%s，%s 的 Unlock 失败；%s", what, stage.Contender(i), own)
		if i+1 < n {
			w.Eventually(i18n.Textf("%s, whose turn it is, gets the lock (%s; %s)", "轮到%s 拿到锁（%s；%s）", stage.Contender(i+1), what, own), func() bool { return len(results[i+1]) > 0 })
			w.NoError(<-results[i+1], "%s, and Lock of %s fails; %s", "%s，%s 的 Lock 失败；%s", what, stage.Contender(i+1), own)
		}
	}
	w.NothingLeft()
}

// idsDiffer has so many contenders of a session lock that two have the same id if it is one of ten thousand.
func (w *World) idsDiffer() {
	s, seen := w.Session(), make(map[string]bool)
	for range 300 {
		time.Sleep(1234567 * time.Nanosecond) // clocks differ
		l, _ := w.Contender(s)
		w.MustLock(l, it)
		name := w.NodesOf(s)[0]
		node, _ := w.Server.Node(name)
		id := name[:len(name)-10] + string(node.Data)
		w.False(seen[id], "the nodes of two contenders of a session have the same name before the number, and the same data, %q: if the reply to the create of one is lost, it takes the node of the other for its own: two holders", "同一会话的两个竞争者，节点除序号外名字相同，数据也相同（%q）：其中一个的 create 响应丢失，就会把另一个的节点当成自己的，出现两个持有者", node.Data)
		seen[id] = true
		w.Unlock(l, it)
	}
}

func twoRepliesLost(w *World) {
	l, s := w.Contender()
	// The create that is sent again is lost in its turn.
	w.Server.LoseRequest(stage.Creates(s))
	w.Server.LoseReply(stage.Creates(s))
	w.survives(w.Lock(l), i18n.Textf("create was lost, and the reply to the next one, too,", "create 丢失，下一个 create 的响应也丢失"))
	w.Len(w.Nodes(), 1,
		"create was lost, then the reply to the next one, and there is not exactly one node: each create needs the search", "create 丢失，接着下一个 create 的响应丢失之后，应当恰好有一个节点：每次 create 之后都需要查找")
	w.unlockLast(l, i18n.Textf("the contender", "竞争者"))
}

func tryLocksReplyLost(w *World) {
	l, s := w.Contender()
	w.Server.LoseReply(stage.Creates(s))
	ok, err := w.Try(l, i18n.Textf("TryLock, when the reply to its create is lost,", "create 的响应丢失时的 TryLock"))
	w.NoError(err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", "TryLock 的 create 响应丢失，TryLock 返回了这个错误；%s", searchForIt)
	w.True(ok, "the reply to the create of TryLock was lost, the lock was free, and TryLock returns false", "TryLock 的 create 响应丢失，锁空闲，TryLock 却返回 false")
	w.Len(w.Nodes(), 1, "the reply to the create of TryLock was lost, and there is not exactly one node", "TryLock 的 create 响应丢失之后，应当恰好有一个节点")
	other, otherSession := w.Contender()
	w.Server.LoseReply(stage.Creates(otherSession))
	ok, err = w.Try(other, i18n.Textf("TryLock on a held lock, when the reply to its create is lost,", "锁在别人手里、create 的响应丢失时的 TryLock"))
	w.NoError(err, "the reply to the create of TryLock was lost, and TryLock returns the error; %s", "TryLock 的 create 响应丢失，TryLock 返回了这个错误；%s", searchForIt)
	w.False(ok,
		"the reply to the create of TryLock was lost, and it takes a lock that another contender holds: two holders", "TryLock 的 create 响应丢失，别的竞争者还持有锁，TryLock 又拿到了锁：出现两个持有者")
	w.Len(w.Nodes(), 1,
		"the reply to the create of TryLock was lost, it has returned false, and has left its node behind", "TryLock 的 create 响应丢失，调用返回 false，却留下了自己的节点")
	w.unlockLast(l, i18n.Textf("the holder", "持有者"))
}

// sameNode fails if the node that create has made is not there any more.
func (w *World) sameNode(made []string, what i18n.Text) {
	w.Helper()
	w.Has(w.Nodes(), made,
		"%s, and Lock has made another node in place of the one that was there: it has lost its place in the queue to all that have come since", "%s，节点明明还在，Lock 却另外创建了一个：原来的位置丢了，排到了所有后来者的后面", what)
}

// longOutage keeps the client from any server for most of the time that its session lives without it: 40 s is the
// longest that a server agrees to by default. The client's requests fail with zk.ErrNoServer meanwhile.
func longOutage(w *World) {
	holder, _ := w.holder()
	l, s := w.Contender(w.SessionFor(40 * time.Second))
	lost := w.Server.LoseReply(stage.Creates(s))
	back := w.CutOff(w.Server.LoseRequest, s, jute.OpConnect) // each handshake is lost
	result := w.Lock(l)
	w.Hit(lost, i18n.Textf("the contender sends a create", "竞争者发出 create"))
	made := w.Nodes()
	time.Sleep(30 * time.Second)
	back()
	back = w.CutOff(w.Server.LoseRequest, s, jute.OpSync, jute.OpGetChildren2, jute.OpGetData, jute.OpExists, jute.OpCreate)
	time.Sleep(2 * time.Minute)
	back()
	var what = i18n.Textf("the reply to create was lost, no server could be reached for half a minute, and then each request was lost for two", "create 的响应丢失，半分钟连不上任何服务器，随后两分钟里每个请求都丢失")
	// A lock may try again with longer and longer pauses.
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
			what := i18n.Textf("the reply to create was lost, and then a request of the search for the node", "create 的响应丢失，查找节点的请求又丢失了")
			w.Await(func() bool { return len(result) > 0 || s.Sleeps() }, "%s, and it does not wait on a watch%s", "%s，之后却没有在监听上等待%s", what)
			hit := len(fault.Hit()) > 0
			fault.Release()
			// When Lock knows the name of its node, it may return an error, as in step 3: it can
			// delete the node.
			if len(result) > 0 {
				err := <-result
				w.HasError(err, "a waiter has got the lock while another contender holds it: two holders", "别的竞争者还持有锁，一个等待者又拿到了锁：出现两个持有者")
				w.WaitUntil(func() bool { return len(w.Nodes()) == 1 },
					"%s (request %d, %v), and Lock returns the error: the node is still there, and blocks every contender that comes later; search until there is an answer, or the session has ended: %v", "%s（第 %d 个请求，%v），Lock 返回了这个错误：节点还在，会挡住后来的每个竞争者；请一直查找，直到有响应，或者会话已经结束：%v", what, n, stage.LastRequest(s, n), err)
				w.True(hit, "%s, and Lock returns the error: %v", "%s，Lock 返回了这个错误：%v", what, err)
				w.Unlock(holder, i18n.Textf("the holder", "持有者"))
				more = true
				continue
			}
			w.oneNode(2, what)
			w.Unlock(holder, i18n.Textf("the holder", "持有者"))
			w.survives(result, what)
			w.unlockLast(l, i18n.Textf("the waiter", "等待者"))
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
	holder, holderSession := w.holder()
	secret, err := holderSession.Create(w.Path+"/config", nil, zk.FlagEphemeral, zk.DigestACL(zk.PermAll, "admin", "secret")) // not a contender's
	require.NoError(w, err)
	l, s := w.Contender()
	w.Server.LoseRequest(stage.Creates(s))
	result := w.Lock(l)
	w.Waits(result, s, i18n.Textf("the contender whose create was lost", "create 丢失的竞争者"))
	synced, looked := false, false
	for _, op := range stage.RequestsOf(s)[1:] {
		if stage.CreatesNode(op) {
			break
		}
		synced = synced || op == jute.OpSync
		looked = looked || synced && op == jute.OpGetChildren2
	}
	w.True(synced,
		"create was lost, and another one is sent without a sync before: the server that the client is connected to now may not have the node of the first yet; call Sync, then Children, before you create again", "create 丢失，没有先 sync 就又发了一个：客户端现在连接的服务器可能还不知道第一个 create 的节点；再次 create 之前，请先调用 Sync，再调用 Children")
	w.True(looked,
		"create was lost, and another one is sent without a look at the children after the sync: call Sync, then Children, before you create again", "create 丢失，sync 之后没有看子节点列表就又发了一个：再次 create 之前，请先调用 Sync，再调用 Children")
	w.Unlock(holder, i18n.Textf("the holder", "持有者"))
	w.survives(result, i18n.Textf("create was lost", "create 丢失"))
	require.NoError(w, holderSession.Delete(secret, -1))
	w.unlockLast(l, it)
}

// anothersCopy puts a node of another session, with the same data, in the place
// of the one that a lost create has made.
func anothersCopy(w *World) {
	l, s := w.Contender()
	admin := w.Session()
	w.Server.LoseReply(stage.Creates(s))
	held := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
	result := w.Lock(l)
	w.Hit(held, i18n.Textf("the contender that never got the reply to its create looks for its node among the children", "竞争者没有收到 create 的响应，在子节点里找自己的节点"))
	nodes := w.Nodes()
	w.Len(nodes, 1, "create has made a node, and there is not exactly one", "create 已创建节点，应当恰好有一个")
	node := w.Path + "/" + nodes[0]
	data, _, err := admin.Get(node)
	require.NoError(w, err)
	require.NoError(w, admin.Delete(node, -1))
	theirs, err := admin.Create(w.Path+"/lock-", data, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
	held.Release()
	w.Await(func() bool { return len(result) > 0 || s.Sleeps() }, "another session has a node with the same data%s", "另一个会话的节点带有相同的数据%s")
	if len(result) > 0 {
		w.NoError(<-result, "another session has a node with the same data, and Lock fails; make another node", "另一个会话的节点带有相同的数据，Lock 就失败了；请另外创建节点")
		w.Failf(
			"another session has a node with the same data as the one whose create was lost, and the contender takes it for its own: it has the lock without a node of its own: two holders; compare the node's EphemeralOwner with conn.SessionID()", "另一个会话的节点与丢失的那个 create 带有相同的数据，竞争者把它当成了自己的：没有自己的节点却拿到锁，出现两个持有者；请把节点的 EphemeralOwner 与 conn.SessionID() 比较")
	}
	require.NoError(w, admin.Delete(theirs, -1))
	w.survives(result, i18n.Textf("the reply to create was lost", "create 的响应丢失"))
	w.unlockLast(l, i18n.Textf("it, once the other session's node has gone,", "另一个会话的节点消失之后，这个竞争者"))
}

// sessionEndsBeforeSearch ends the session, and with it the node, before the
// client can look for the node.
func sessionEndsBeforeSearch(w *World) {
	l, s := w.Contender()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	w.Server.LoseReply(stage.Creates(s))
	result := w.Lock(l)
	w.Hit(back, i18n.Textf("the client connects again after the reply to create was lost", "create 的响应丢失之后，客户端重连"))
	w.Server.Expire(s.ID)
	back.Release()
	err := w.Result(result, i18n.Textf("the session has ended after the reply to create was lost, and Lock", "create 的响应丢失之后会话结束，Lock"))
	if err != nil { // Lock may return an error, or lock in the new session
		w.NotLocked(l, i18n.Textf("Unlock after a Lock that failed", "Lock 失败之后的 Unlock"))
	} else {
		w.Len(w.Nodes(), 1,
			"the session has ended after the reply to create was lost, its node has gone with it, and Lock returns without another, so that the next contender gets in: two holders", "create 的响应丢失之后会话结束，节点随之消失，Lock 没有再创建节点就返回，下一个竞争者就能拿到锁：出现两个持有者")
		w.Unlock(l, i18n.Textf("the contender, in its new session,", "处于新会话的竞争者"))
	}
	w.Renewed(s, i18n.Textf("the client has a new session", "客户端有了新会话"))
	time.Sleep(stage.Patience)
	w.NothingLeft()
	s.ID = s.SessionID()
	w.Server.LoseReply(stage.Creates(s))
	w.survives(w.Lock(l), i18n.Textf("the reply to create was lost in the client's second session", "在客户端的第二个会话里，create 的响应丢失"))
	w.Unlock(l, it)
}
