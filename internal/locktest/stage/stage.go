// Package stage is where the cases of a suite are played: a ZooKeeper, sessions of it, and the waits of a case there.
//
// A case calls an operation of a lock with Aside, which returns a channel at once, and then waits:
//
//   - Holds, Waits, Result: for a call, which must have got the lock, must sleep on a watch, or must have returned;
//   - Eventually, WaitUntil, WaitOrSayWhy: for a condition, with different messages if it never comes true;
//   - WaitFor, WaitWhileKept, Rest: for a time, in which something may happen;
//   - Hit, HitOrSleeps, HitOrReturns: for a request that meets a fault, or for what happens in place of that.
//
// NthRequest, Sent and Creates say which request a fault is to meet. The functions are in this order: how a case is
// played, sessions, calls, conditions and times, nodes, faults, requests.
package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/runner"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

// Patience is how long something that must happen may take. On the embedded server it is virtual time, and free.
var Patience = bubble.Patience

// A Stage is where one case is played: a ZooKeeper, and sessions of it.
type Stage struct {
	*runner.Case
	Server *zkserver.Server // nil: a real ZooKeeper
	Path   string           // of the lock; nothing is there yet, nor above it
	Queue  bool             // Path is the parent of the contenders' nodes
	Keeps  time.Duration    // how long a node of the lock may stay when nobody holds it
	Others []string         // nodes of contenders that the case is not about
	needs  Needs
	zoo    *ensemble.Ensemble
}

// Needs are what a case needs of its stage.
type Needs struct {
	Exact  bool // control of the server, which only the embedded one gives
	Calm   bool // sessions with the timeout CalmTimeout, on the embedded server
	Strict bool // no goroutine may be left when the case is over: nothing waits for it, and the bubble fails
}

// Play plays a case against the ZooKeeper that the environment variable ZK names, the embedded one if there is none.
func Play(c *runner.Case, queue bool, needs Needs, run func(w *Stage)) {
	if zoo := Real(c.T); zoo != nil {
		if needs.Exact || needs.Calm {
			c.T.Skip(i18n.Text("needs exact control of the server, which only the embedded one gives (unset ZK)"))
		}
		playReal(c, zoo, queue, run)
		return
	}
	bubble.Limits{None: c.Watched()}.Test(c.T, func(t *testing.T) {
		w := &Stage{Case: c.In(t), Queue: queue, needs: needs, Path: "/locktest/a/lock"}
		goroutines := runtime.NumGoroutine()
		t.Cleanup(func() { w.endAfterLeaks(goroutines) }) // runs last: the clients and the server are closed by then
		defer w.Left()

		// A zxid does not fit in 32 bits, and the number of a session is negative.
		options := []zkserver.Option{zkserver.WithEpoch(3), zkserver.WithID(200)}
		mostTime := 50 * time.Hour // of virtual time
		if needs.Calm {            // a server agrees to a session timeout of two ticks or more
			options = append(options, zkserver.WithTick(CalmTimeout/2))
			mostTime *= 24 // the longest such case lasts 40 days
		}
		w.Server = zkserver.New(options...) // not Run, which fails a test whose faults are not all met
		t.Cleanup(w.Server.Close)
		w.zoo = ensemble.OverPipes(w.Server)
		w.Observe(w.Server)
		defer w.Bound(mostTime)()

		run(w)
		if !w.needs.Strict {
			w.waitForLock(afterwards)
		}
	})
}

// playReal plays a case against a real ZooKeeper, below a node of the case's own.
func playReal(c *runner.Case, zoo *ensemble.Ensemble, queue bool, run func(w *Stage)) {
	root := "/locktest-" + rand.Text()
	w := &Stage{Case: c, Queue: queue, zoo: zoo, Path: root + "/a/lock"}
	admin := w.Session()
	c.Cleanup(func() { w.removeAll(admin.Conn, root) }) // before admin's session is closed
	run(w)
}

var openOnce = sync.OnceValues(func() (*ensemble.Ensemble, error) {
	return ensemble.Open(context.Background(), os.Getenv("ZK"))
})

func Real(t require.TestingT) *ensemble.Ensemble {
	if !testenv.Elsewhere() {
		return nil
	}
	zoo, err := openOnce()
	require.NoError(t, err)
	return zoo
}

// CalmTimeout is the session timeout of a Calm case, the least that its server agrees to; it outlives a short break.
const CalmTimeout = 20 * time.Minute

// afterwards is how long a lock may clean up after its case, in virtual time, with clients and a server that live.
const afterwards = 10 * time.Minute

// waitForLock waits until no goroutine of the lock is left.
func (w *Stage) waitForLock(patience time.Duration) bool {
	return w.poll(30*time.Second, patience, func() bool { return !runner.InLock() })
}

// poll waits until ok returns true, in virtual time, and for no longer than patience. It reports
// whether ok has. The pause between two calls of ok grows up to maxPause.
func (w *Stage) poll(maxPause, patience time.Duration, ok func() bool) bool {
	pause := 10 * time.Millisecond
	for begin := time.Now(); ; pause = min(2*pause, maxPause) {
		synctest.Wait()
		w.Step()
		if done := ok(); done || time.Since(begin) >= patience {
			return done
		}
		time.Sleep(pause)
	}
}

// endAfterLeaks ends a worker's process after a case that has passed, if a goroutine is left when clients and server
// are closed: the bubble would not end. The lock need not be to blame: a closed client leaves some requests unanswered.
func (w *Stage) endAfterLeaks(goroutines int) {
	if w.needs.Strict || w.Failed() || !w.Watched() {
		return
	}
	if !w.poll(time.Second, time.Minute, func() bool { return runtime.NumGoroutine() <= goroutines }) {
		w.Over()
	}
}

// NoGoroutines fails if the lock has left a goroutine though its client has long been connected. It skips real servers.
func (w *Stage) NoGoroutines() {
	if w.Server != nil && !w.waitForLock(afterwards) {
		w.Failf(
			"the lock leaks a goroutine: every contender has let go, its client has been connected for %v since, and the "+
				"goroutine still waits%s", afterwards, runner.Leaked())
	}
}

// A Session is one client of the ZooKeeper under test.
type Session struct {
	*zk.Conn
	Tap *wiretap.Tap
	ID  int64
}

// Sleeps reports whether the lock of the session sleeps on a watch, and each of its requests is answered.
func (s *Session) Sleeps() bool { return s.Tap.Armed() > 0 && s.Tap.Pending() == 0 }

// Session opens a session that ends with the test.
func (w *Stage) Session() *Session { return w.SessionFor(bubble.SessionTimeout) }

// SessionFor is Session with another timeout.
func (w *Stage) SessionFor(timeout time.Duration) *Session {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	tap := wiretap.NewWithLog()
	conn, err := w.zoo.Connect(ctx, ensemble.Options{SessionTimeout: timeout, Tap: tap, Buffer: 256 << 10}) // bytes
	require.NoError(w, err)
	w.Cleanup(conn.Close)
	return &Session{Conn: conn, Tap: tap, ID: conn.SessionID()}
}

// Ordinary opens a session as most users of go-zookeeper do, with zk.Connect: in such a client a request can wait for
// the next session. It has three servers, because in a client that has tried them all the waiting requests fail. The
// options get the client before it is connected.
func (w *Stage) Ordinary(options ...func(*zk.Conn)) *Session {
	tap := wiretap.NewWithLog()
	options = append(options, zk.WithMaxConnBufferSize(64<<10))
	conn := bubble.Connect(w, tap.Dialer(w.Server.Dial), bubble.SessionTimeout, bubble.Three, options...)
	w.Eventually("the client has a session", func() bool { return conn.State() == zk.StateHasSession })
	return &Session{Conn: conn, Tap: tap, ID: conn.SessionID()}
}

// Contender is the name of contender i of a case in a message.
func Contender(i int) i18n.Text { return i18n.Textf("contender %s", i18n.Letter(i)) }

// Aside calls an operation of a lock in a goroutine of its own; its result comes on the channel.
func (w *Stage) Aside(what string, f func() error) <-chan error {
	result := make(chan error, 1)
	done := w.Does(what)
	go runner.Aside(func() {
		err := f()
		done()
		result <- err
	})
	return result
}

// Result waits for the result of an operation that must end.
func (w *Stage) Result(ch <-chan error, what i18n.Text) error {
	select {
	case err := <-ch:
		return err
	case <-time.After(Patience):
		w.Failf("%s does not return%s", what, w.Why())
		return nil
	}
}

// Holds waits until a contender has got the lock, and fails if its Lock fails or does not return.
func (w *Stage) Holds(ch <-chan error, name i18n.Text) {
	w.NoError(w.Result(ch, i18n.Textf("Lock of %s", name)), "Lock of %s fails", name)
}

// Waits waits until a contender sleeps on a watch. It fails if its Lock returns instead, whose result comes on ch.
func (w *Stage) Waits(ch <-chan error, s *Session, name i18n.Text) {
	w.Sleeps(s, name, func() bool { return len(ch) > 0 })
	if len(ch) > 0 {
		w.NoError(<-ch, "%s must wait, and Lock fails", name)
		w.Failf("%s has got the lock while another contender holds it: two holders", name)
	}
}

// Sleeps waits until a contender sleeps on a watch, or its call has returned. It fails if neither happens: the
// contender waits without a watch.
func (w *Stage) Sleeps(s *Session, name i18n.Text, returned func() bool) {
	before := s.Tap.Counts().Total()
	if bubble.Until(w.settle, func() bool { return returned() || s.Sleeps() }) {
		return
	}
	const oneLook = 5 // requests at most
	n := s.Tap.Counts().Total() - before
	w.True(n <= oneLook, "%s polls: it has sent %d requests in %v while it had to wait, and has set no watch; set a watch "+
		"and sleep until its event comes", name, n, Patience)
	w.Failf("%s waits without a watch: no event will wake it at the release%s", name, w.Why())
}

// EachRequest calls try with 1, 2 and so on, until try reports that an operation has sent no request of that number.
func (w *Stage) EachRequest(try func(n int) (sent bool)) {
	for n := 1; w.NotPolling(n) && try(n); n++ {
	}
}

// NotPolling is the condition of a loop over the requests of an operation: true, or it fails if there are too many.
func (w *Stage) NotPolling(n int) bool {
	w.True(n <= 100, "the lock polls: it sends more than 100 requests for one operation")
	return true
}

// Eventually waits until ok returns true, and fails if that never comes.
func (w *Stage) Eventually(what i18n.Text, ok func() bool) {
	w.WaitOrSayWhy(ok, "never happens: %s%s", what)
}

// WaitUntil is Eventually with a message of its own. It polls, because a real server announces no change.
func (w *Stage) WaitUntil(ok func() bool, format string, args ...any) {
	w.True(bubble.Until(w.settle, ok), format, args...)
}

// WaitOrSayWhy is WaitUntil with a message whose last argument is Why.
func (w *Stage) WaitOrSayWhy(ok func() bool, format string, args ...any) {
	if !bubble.Until(w.settle, ok) {
		w.Failf(format, append(args, w.Why())...)
	}
}

// settle returns when all goroutines of a case in virtual time wait.
func (w *Stage) settle() {
	if w.Server != nil {
		synctest.Wait()
		w.Step()
	}
}

// Why says which nodes and watches are at the server when an operation does not return, in the words of the lesson.
func (w *Stage) Why() i18n.Text {
	if w.Server == nil {
		return ""
	}
	synctest.Wait()
	nodes := w.Nodes()
	var lines []i18n.Text
	for _, watch := range w.Server.Watches() {
		lines = append(lines, w.watched(watch))
	}
	onParent := slices.ContainsFunc(w.Server.Watches(), func(watch zkserver.Watch) bool {
		return !watch.Children && watch.Path == w.Path
	})
	switch {
	case len(nodes) == 0 && w.Queue && onParent:
		lines = append(lines, i18n.Textf(
			"no contender has a node: %s is the parent of the nodes, and is there before any contender comes; each "+
				"contender makes a node of its own below it, with zk.FlagEphemeralSequential", path.Base(w.Path)))
	case len(nodes) == 0:
		lines = append(lines, "no contender has a node: the lock is free")
	default:
		lines = append(lines, i18n.Textf("the nodes that are there: %s", i18n.List(nodes)))
	}
	if len(w.Server.Watches()) == 0 {
		lines = append(lines, "no contender has a watch: nothing will wake one that waits")
	}
	return i18n.Textf(":\n    %s", i18n.Join(slices.Compact(lines), "\n    "))
}

// watched says for which change a watch is set.
func (w *Stage) watched(watch zkserver.Watch) i18n.Text {
	node, exists := w.Server.Node(watch.Path)
	name := strings.TrimPrefix(watch.Path, path.Dir(w.Path)+"/")
	switch {
	case !watch.Children && !exists:
		return i18n.Textf(
			"a contender watches %s, which has gone: the event is lost, for the node went before the watch was set; use one "+
				"request that looks and sets the watch (GetW), and look again if it finds no node", name)
	case !watch.Children && watch.Path == w.Path && w.Queue:
		return i18n.Textf("a contender watches %s, the parent: a release does not change the parent's data; "+
			"watch the node before its own, or the list of the children", name)
	case watch.Children:
		return i18n.Textf("a contender watches the children of %s", name)
	}
	if node.Stat.EphemeralOwner == watch.Session {
		return i18n.Textf(
			"a contender watches %s, which its own session has made and which is still there: if it is the contender's old "+
				"node, it waits for itself; delete it before you make another", name)
	}
	return i18n.Textf("a contender watches %s, which is still there", name)
}

// WaitFor waits until ok returns true, at most for d. It does not fail.
func (w *Stage) WaitFor(d time.Duration, ok func() bool) {
	for begin := time.Now(); !ok() && time.Since(begin) < d; {
		time.Sleep(time.Millisecond + time.Since(begin)/100)
	}
}

// WaitWhileKept waits for the time Keeps, in which a lock may keep a node that nobody needs. On a real server it then
// waits until at most n nodes are left.
func (w *Stage) WaitWhileKept(n int) {
	time.Sleep(w.Keeps)
	w.WaitFor(Patience, func() bool { return w.Keeps == 0 || w.Server != nil || len(w.Nodes()) <= n })
}

// Rest gives a lock the time to end its work in the background: Patience, on the embedded server.
func (w *Stage) Rest() {
	if w.Server != nil {
		time.Sleep(Patience)
	}
}

// MakeParent makes all nodes above the contenders', which anybody may change.
func (w *Stage) MakeParent() {
	w.MakeParents(w.Session().Conn, zk.WorldACL(zk.PermAll))
	if w.Queue {
		w.makeNode(w.Session().Conn, w.Path, zk.WorldACL(zk.PermAll))
	}
}

// MakeParents makes all nodes above the lock's; the last has that acl.
func (w *Stage) MakeParents(conn *zk.Conn, acl []zk.ACL) { w.makeNode(conn, path.Dir(w.Path), acl) }

// makeNode makes a node with that acl, and all above it, unless they are there.
func (w *Stage) makeNode(conn *zk.Conn, p string, acl []zk.ACL) {
	if p == "/" {
		return
	}
	w.makeNode(conn, path.Dir(p), zk.WorldACL(zk.PermAll))
	require.Contains(w, []error{nil, zk.ErrNodeExists}, testenv.Err(conn.Create(p, nil, zk.FlagPersistent, acl)))
}

// MustCreate makes a node as another program does, and returns its path. Anybody may change the node.
func (w *Stage) MustCreate(s *Session, path string, data []byte, flags int32) string {
	node, err := s.Create(path, data, flags, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
	return node
}

// DeleteParent deletes the parent, once it is empty. A real server may have done so: it is a container.
func (w *Stage) DeleteParent(s *Session) {
	w.Eventually(i18n.Same("the parent can be deleted"), func() bool {
		err := s.Delete(w.Path, -1)
		return err == nil || w.Server == nil && errors.Is(err, zk.ErrNoNode)
	})
}

// removeAll deletes nodes that a case may have left on a real server.
func (w *Stage) removeAll(conn *zk.Conn, p string) {
	children, _, _ := conn.Children(p)
	for _, child := range children {
		w.removeAll(conn, p+"/"+child)
	}
	if err := conn.Delete(p, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		w.Errorf("clean up: delete %s: %v", p, err)
	}
}

// Nodes lists the nodes of contenders: those below the lock's path, and the one at the path if it is ephemeral.
func (w *Stage) Nodes() []string {
	nodes, owner := w.children()
	if owner != 0 {
		nodes = append(nodes, path.Base(w.Path))
	}
	return slices.DeleteFunc(nodes, func(node string) bool { return slices.Contains(w.Others, node) })
}

// children lists the nodes below the lock's path. The owner is the session of the node at the path, if it is ephemeral.
func (w *Stage) children() (names []string, owner int64) {
	if w.Server != nil {
		node, _ := w.Server.Node(w.Path)
		return w.Server.Children(w.Path), node.Stat.EphemeralOwner
	}
	s := w.Session()
	require.NoError(w, testenv.Err(s.Sync("/")))
	names, stat, err := s.Children(w.Path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, 0
	}
	require.NoError(w, err)
	return names, stat.EphemeralOwner
}

// NodesOf lists the ephemeral nodes of a session, which the embedded server knows.
func (w *Stage) NodesOf(s *Session) []string {
	nodes, _ := w.Server.Ephemerals(s.ID)
	return nodes
}

// NothingLeft fails if the lock has left a node. A watch that is left blocks nobody: NoWatches looks for it.
func (w *Stage) NothingLeft() {
	w.NoNodes("every contender has let go, and the lock leaves a node behind: it blocks every contender that comes later")
}

// NoNodes fails if a contender has a node, and keeps it for longer than it may.
func (w *Stage) NoNodes(message i18n.Text) {
	w.WaitWhileKept(0)
	w.Empty(w.Nodes(), "%s", message)
}

// NoWatches fails if the lock has left a watch, where that can be seen.
func (w *Stage) NoWatches() {
	if w.Server == nil {
		return
	}
	synctest.Wait()
	if watches := w.Server.Watches(); len(watches) > 0 {
		w.Failf(
			"every contender has let go, and the lock leaves a watch on %s behind, which the server keeps for as long as "+
				"the session lives; ExistsW on a node that has gone sets a watch, and GetW does not", watches[0].Path)
	}
}

// A MakeFault makes a fault that meets the next request for which when returns true, such as zkserver.Server.Hold.
type MakeFault = func(when func(zkserver.Request) bool) *zkserver.Fault

// Hit waits until a request meets a fault, and fails if none does; what names the request.
func (w *Stage) Hit(f *zkserver.Fault, what i18n.Text) {
	select {
	case <-f.Hit():
	case <-time.After(Patience):
		w.Failf("never happens: %s%s", what, w.Why())
	}
}

// HitOrSleeps waits until a request meets a fault, and returns true. If the session's contender sleeps on a watch
// before that, no request will come, and HitOrSleeps returns false.
func (w *Stage) HitOrSleeps(f *zkserver.Fault, s *Session, what i18n.Text) bool {
	w.Eventually(what, func() bool { return len(f.Hit()) > 0 || s.Sleeps() })
	return len(f.Hit()) > 0
}

// HitOrReturns waits until a request meets a fault or a call returns, and reports whether a request has met it.
func (w *Stage) HitOrReturns(f *zkserver.Fault, result <-chan error) bool {
	w.Eventually("a request is on its way, or the call returns", func() bool { return len(f.Hit()) > 0 || len(result) > 0 })
	return len(f.Hit()) > 0
}

// CutOff makes a fault meet the requests that the client of a session sends, on this connection and on
// later ones, until back is called: requests of the kinds ops, or all if there are no ops.
func (w *Stage) CutOff(fault MakeFault, s *Session, ops ...jute.Op) (back func()) {
	return fault(Sent(s, ops...)).Every().Release
}

// Outage is for how long Unreachable keeps a client from its servers. A session of ten seconds lives on.
const Outage = 4 * time.Second

// Unreachable keeps a client from any server for the time Outage: its requests fail with zk.ErrNoServer.
func (w *Stage) Unreachable(s *Session) {
	time.AfterFunc(Outage, w.CutOff(w.Server.LoseRequest, s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	time.Sleep(100 * time.Millisecond) // until the client has noticed
}

// Vanishes ends the session of a waiter, so that its node goes, and keeps its client from coming back. What its Lock
// does then is of no interest: it may return, wait, or try again.
func (w *Stage) Vanishes(s *Session) {
	if w.Server == nil {
		s.Close()
		return
	}
	w.CutOff(w.Server.Hold, s, jute.OpConnect)
	require.True(w, w.Server.Expire(s.ID))
}

// Expire ends a session behind its client's back. The embedded server ends it itself: EndSession has to take the
// session over, and a client that connects again at once may take it back each time, before its end.
func (w *Stage) Expire(s *Session) {
	if w.Server == nil || !w.Server.Expire(s.ID) {
		require.NoError(w, testenv.Err(w.zoo.EndSession(s.Tap, s.ID)))
	}
}

// Renewed waits until a client whose session has ended has another one.
func (w *Stage) Renewed(s *Session, what i18n.Text) {
	w.Eventually(what, func() bool { return s.SessionID() != 0 && s.SessionID() != s.ID && s.State() == zk.StateHasSession })
}

// SaysExpired answers the next request of a lock with the error that its session has ended. It ends a second later.
func (w *Stage) SaysExpired(s *Session) {
	w.Server.Fail(jute.ErrSessionExpired, NthRequest(s, 1))
	time.AfterFunc(time.Second, func() { w.Server.Expire(s.ID) })
}

// NthRequest returns the condition of the n-th request that the lock of a session sends from now on.
func NthRequest(s *Session, n int) func(zkserver.Request) bool {
	return Nth(n, func(r zkserver.Request) bool { return r.Session == s.ID && !ByClient(r.Op) })
}

// Nth returns the condition of the n-th request, from now on, that fulfils another one.
func Nth(n int, when func(zkserver.Request) bool) func(zkserver.Request) bool {
	count := 0
	return func(r zkserver.Request) bool {
		if !when(r) {
			return false
		}
		count++
		return count == n
	}
}

// Sent returns the condition of the requests of these kinds in a session; of all, if there are none. A multi is of the
// kind of its first part, too.
func Sent(s *Session, ops ...jute.Op) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		isOne := len(ops) == 0 || slices.Contains(ops, r.Op) || r.Op == jute.OpMulti && slices.Contains(ops, r.First)
		return r.Session == s.ID && isOne
	}
}

// Creates returns the condition of the requests that create a node in a session.
func Creates(s *Session) func(zkserver.Request) bool {
	return func(r zkserver.Request) bool {
		return r.Session == s.ID && CreatesNode(r.Op) && r.First != jute.OpDelete
	}
}

func RequestsOf(sessions ...*Session) (ops []jute.Op) {
	for _, s := range sessions {
		ops = append(ops, s.Tap.Log()...)
	}
	return ops
}

// RequestKind is the kind of the n-th request of a session, from 1; OpError if it has sent fewer.
func RequestKind(s *Session, n int) jute.Op {
	if sent := RequestsOf(s); n <= len(sent) {
		return sent[n-1]
	}
	return jute.OpError
}

// CreatesNode reports whether a request makes a node that a lock may leave behind.
func CreatesNode(op jute.Op) bool {
	return op == jute.OpCreate || op == jute.OpMulti || op == jute.OpCreate2 || op == jute.OpCreateContainer || op == jute.OpCreateTTL
}

// ByClient reports whether the client sends requests of this kind by itself: no lock decides whether and when.
func ByClient(op jute.Op) bool {
	return op == jute.OpPing || op == jute.OpConnect || op == jute.OpSetWatches
}
