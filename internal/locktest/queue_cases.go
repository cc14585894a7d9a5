package locktest

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// The cases of the queue: its order, what goes in it, and what comes between a look at it and a watch.

// queue lines up n contenders, each in its own session: the first holds the lock, and the others wait, one by one.
func (w *World) queue(n int) (locks []Lock, results []<-chan error, sessions []*Session) {
	for range n {
		l, s := w.Contender()
		locks = append(locks, l)
		sessions = append(sessions, s)
	}
	w.MakeParent() // made in advance, so that no request is spent on it
	if w.Server != nil && w.Subject.Queue {
		const large = 1<<24 - 1 // the numbers after it have no room in 16 bits, nor in the 24 of a float32
		w.Server.SetSequence(w.Path, large)
	}
	for i, l := range locks {
		result := w.BeginLock(l)
		results = append(results, result)
		if i == 0 {
			w.Holds(result, "the first")
		} else {
			w.Waits(result, sessions[i], stage.Contender(i))
		}
	}
	return locks, results, sessions
}

func (w *World) nextHolder(results []<-chan error) (holder int) {
	w.WaitOrSayWhy(func() bool { holder = firstIn(results); return holder >= 0 }, "a release wakes no contender%s")
	w.NoError(<-results[holder], "Lock of %s fails", stage.Contender(holder))
	return holder
}

// firstIn returns the index of the first contender that has a result which nobody has received, -1 if there is none.
func firstIn(results []<-chan error) int {
	return slices.IndexFunc(results, func(result <-chan error) bool { return len(result) > 0 })
}

// QueueOrder requires that each release lets in the contender that came next.
func QueueOrder(w *World) {
	locks, results, sessions := w.queue(6)
	for i, l := range locks {
		for j := i + 1; j < len(locks); j++ {
			w.Waits(results[j], sessions[j], stage.Contender(j))
		}
		if i+1 == len(locks) {
			w.MustUnlock(l, stage.Contender(i))
			break
		}
		// The next one's first request is held back for a second: in a queue the others wait for it. In a race one of them
		// wins meanwhile, and the request is held back until that one is known.
		letGoOn := func() {}
		if w.Server != nil {
			letGoOn = w.Server.Hold(stage.NthRequest(sessions[i+1], 1)).Release
		}
		w.MustUnlock(l, stage.Contender(i))
		if w.Server != nil {
			time.Sleep(time.Second)
		}
		if raceIsWon := firstIn(results) >= 0; !raceIsWon {
			letGoOn()
		}
		next := w.nextHolder(results)
		letGoOn()

		how := i18n.Text("the contender whose node has the smallest number is the next")
		if len(w.Nodes()) < len(locks)-1-i {
			how = "those that wait have no nodes of their own, and a race for one node keeps no order; each contender makes " +
				"a node with zk.FlagEphemeralSequential when it comes, and the smallest number is the next"
		}
		w.Equal(i+1, next, "%s gets in before %s, which came earlier: %s", stage.Contender(next), stage.Contender(i+1), how)
	}
	w.NothingLeft()
}

// WaiterGoes has the waiters between the holder and the last one go, from the back to the front. Each may wake the last
// waiter. One is a contender, and the others are nodes that another program has made.
//
// If the lock's own names have the usual form, such as lock-0000000001, those nodes count as contenders': the first
// of them stays, and holds the lock after the holder. A lock with names of another form need not count them.
func WaiterGoes(w *World) {
	crowd := 254         // with the holder and a waiter, 256 are before the last one: a byte cannot count them
	if w.Server == nil { // each takes a second of real time
		crowd = 2
	}

	locks, _, sessions := w.queue(2)
	admin, name := w.Session(), slices.Max(w.Nodes())
	ownPrefix := strings.TrimRight(name, "0123456789") // all that is before the number
	prefix := cmp.Or(usualPrefix.FindString(name), ownPrefix)
	var others []string
	for range crowd {
		others = append(others, w.MustCreate(admin, w.Path+"/"+prefix, nil, zk.FlagEphemeralSequential))
	}

	areContenders, goEarly := prefix == ownPrefix, others
	if areContenders {
		goEarly = others[1:]
	}

	last, s, result := w.waiter()
	for _, node := range slices.Backward(goEarly) {
		require.NoError(w, admin.Delete(node, -1))
		if len(stage.RequestsOf(s)) < 3000 { // else it polls, and has looked often enough
			w.staysBehind(result)
		}
	}
	w.Vanishes(sessions[1])
	w.staysBehind(result)

	after := i18n.Text("the waiter after the one that has gone")
	w.Waits(result, s, after)
	w.MustUnlock(locks[0], "the holder")
	if areContenders {
		w.Waits(result, s, i18n.Textf("a waiter behind %s, which another program has made,", others[0]))
		require.NoError(w, admin.Delete(others[0], -1))
	}
	w.Holds(result, after)
	w.unlockLast(last, it)
}

// staysBehind fails if the last waiter, whose Lock the result is of, does not wait on when one before it has gone.
func (w *World) staysBehind(result <-chan error) {
	select {
	case err := <-result:
		w.NoError(err, "the last waiter must go on waiting, and Lock fails")
		w.Failf("the waiter before it has gone, the holder still holds the lock, and the last waiter has got it: two " +
			"holders; the node that went need not have been the holder's, so look again at the whole queue after each event")
	case <-time.After(time.Second): // every event has come by then
	}
}

// usualPrefix is how a contender's node usually begins.
var usualPrefix = regexp.MustCompile("^[a-z]+-")

// ForeignChild has children that are not contenders' nodes. Names that end in a number are among them only if the
// lock's own names have one of the usual prefixes: an exercise may leave the names to its author.
func ForeignChild(w *World) {
	if w.Server == nil { // a real server deletes a container that is empty
		w.MakeParent()
	}
	l, _ := w.Contender()
	w.MustLock(l, "a first contender")
	ownPrefix := ""
	if nodes := w.Nodes(); len(nodes) > 0 {
		ownPrefix = usualPrefix.FindString(nodes[0])
		w.True(strings.HasPrefix(nodes[0], w.Subject.Prefix), "a contender's node is %s, and its name must begin with %s: a "+
			"contender that another program has made does not see that it is in the queue: two holders", nodes[0], w.Subject.Prefix)
	}
	w.MustUnlock(l, it)

	s, names := w.Session(), foreignNames(ownPrefix)
	for _, name := range names {
		w.MustCreate(s, w.Path+"/"+name, nil, zk.FlagPersistent)
	}
	w.MustLock(l, i18n.Textf("a contender beside %d nodes that are not contenders'", len(names)))

	// One more node sorts between those of the two contenders, and its digits are not its end.
	own := slices.DeleteFunc(w.Nodes(), func(node string) bool { return slices.Contains(names, node) })
	between := own[0] + ".bak"
	names = append(names, between)
	w.MustCreate(s, w.Path+"/"+between, nil, zk.FlagPersistent)

	other, otherSession := w.Contender()
	result := w.BeginLock(other)
	w.Waits(result, otherSession, i18n.Textf("the second contender, beside %s, which is not a contender's,", between))
	w.MustUnlock(l, "the first")
	w.Holds(result, "the second contender")
	w.MustUnlock(other, it)
	w.WaitWhileKept(len(names))

	ok, err := w.TryLock(l, i18n.Textf("TryLock beside %d nodes that are not contenders'", len(names)))
	if !errors.Is(err, errors.ErrUnsupported) {
		w.NoError(err, "TryLock beside nodes that are not contenders' fails")
		w.True(ok, "TryLock returns false because of nodes that are not contenders', and nobody holds the lock")
		w.MustUnlock(l, "the contender that took the lock with TryLock")
	}
	w.WaitWhileKept(len(names))
	w.Len(w.Nodes(), len(names), "the nodes that are not contenders' must stay, and no other node")
}

// foreignNames lists names of nodes that are not contenders' where the names of contenders begin with ownPrefix.
func foreignNames(ownPrefix string) []string {
	names, prefixes := []string{"config", "minutes"}, []string{ownPrefix}
	if locks := []string{"lock-", "read-", "write-"}; slices.Contains(locks, ownPrefix) {
		prefixes = locks
		names = append(names, "0", "0000000000", "lock", "LOCK-0000000000", "READ-0000000000", "Write-0000000000",
			"lockfile-0000000000", "reader-0000000000", "writers-0000000000",
			"clock-0000000000", "thread-0000000000", "rewrite-0000000000")
	}
	for _, prefix := range prefixes {
		if prefix != "" {
			names = append(names, prefix+"tmp", prefix+"1.bak")
		}
	}
	return names
}

// A heldRead is a Lock whose n-th read is held back on its way to the server, or which waits after fewer reads.
type heldRead struct {
	contender Lock
	session   *Session
	result    <-chan error // of Lock
	release   func()       // lets the read go on
	read      i18n.Text    // "read number n"
}

// atEachRead has a contender lock while another one holds the lock, again and again: the first time its first read is
// held back, then its second, and so on, until it waits without a read that is held back. Each time atEachRead calls f,
// which does what the case is about.
func (w *World) atEachRead(f func(heldRead)) {
	w.EachRequest(func(n int) bool {
		l, s := w.Contender()
		held := w.Server.Hold(stage.Nth(n, stage.Sent(s, jute.OpGetData, jute.OpExists, jute.OpGetChildren2)))
		result := w.BeginLock(l)
		met := w.HitOrSleeps(held, s, "the waiter's read is held back, or it waits")
		f(heldRead{contender: l, session: s, result: result, release: held.Release, read: i18n.Textf("read number %d", n)})
		w.True(met || n > 1, "the waiter looks at nothing before it waits: it can wait for a release that has been")
		return met
	})
}

// ReleaseBeforeWatch has the holder release just before each read of a waiter.
func ReleaseBeforeWatch(w *World) {
	holder, _ := w.holder()
	w.atEachRead(func(held heldRead) {
		w.MustUnlock(holder, "the holder")
		held.release()
		w.WaitOrSayWhy(func() bool { return len(held.result) > 0 }, "the holder has let go between the waiter's look and its watch (its %s came "+
			"after the release), and the waiter sleeps on: the event is lost; one request must look and set the watch, and a node that it "+
			"does not find is a release%s", held.read)
		w.NoError(<-held.result,
			"the lock was let go while the waiter was about to wait (its %s came after the release), and Lock fails", held.read)
		holder = held.contender
	})
	w.unlockLast(holder, "the last")
}

// WaiterGoesBeforeWatch has the waiter before another one go just before each read of that one.
func WaiterGoesBeforeWatch(w *World) {
	holder, _ := w.holder()
	middle, middleSession := w.Contender()
	w.Waits(w.BeginLock(middle), middleSession, "the waiter")
	w.atEachRead(func(held heldRead) {
		w.Vanishes(middleSession)
		held.release()
		select {
		case err := <-held.result:
			w.NoError(err, "the waiter before it has gone, and Lock fails (its %s came afterwards)", held.read)
			w.Failf(
				"the waiter before it has gone before it was watched (the %s came afterwards), and a waiter has got the lock: "+
					"two holders; the node that is missing need not have been the holder's, so look again at the whole queue", held.read)
		case <-time.After(time.Second): // every event has come by then
		}
		w.Waits(held.result, held.session, i18n.Textf("a waiter whose %s came after the waiter before it had gone", held.read))
		middleSession = held.session // it is in the middle for the next one
	})
	w.Vanishes(middleSession)
	w.unlockLast(holder, "the holder")
}

// NodeGoes deletes a waiter's own node just before each of its reads.
func NodeGoes(w *World) {
	admin := w.Session()
	holder, _ := w.holder()
	before := w.Nodes()
	w.atEachRead(func(held heldRead) {
		for _, node := range w.Nodes() {
			if !slices.Contains(before, node) {
				require.NoError(w, admin.Delete(w.Path+"/"+node, -1))
			}
		}
		held.release()
		without := i18n.Textf(
			"a waiter's own node had gone before its %s, and it takes the lock without a node, so that the next contender "+
				"gets in, too: two holders; look for the own node in each list of children", held.read)
		if returned := !w.waitsAgain(held.result, held.session); returned {
			w.HasError(w.Result(held.result, "Lock of a waiter whose node has gone"), "%s", without)
			w.NotLocked(held.contender, "Unlock after a Lock that failed")
			return
		}

		// It has made another node, or it watches the holder's and notices the loss at the release.
		w.MustUnlock(holder, "the holder")
		if err := w.Result(held.result, "Lock of a waiter whose node has gone"); err == nil {
			w.NotEmpty(w.Nodes(), "%s", without)
			w.MustUnlock(held.contender, "a waiter whose node had gone, and that has queued again,")
		} else {
			w.False(w.Subject.Requeues, "a waiter's own node had gone before its %s, and it does not queue again", held.read)
		}
		w.NothingLeft()
		w.MustLock(holder, "the holder, once more")
		before = w.Nodes()
	})
	w.MustUnlock(holder, "the holder")
	w.NoNodes("every contender has let go, and a node is left")
	w.endsWithTheQueue(w.queueGoes(admin, func() { w.DeleteParent(admin) }))
	w.queueGoesUnseen(admin)
}

// queueGoes deletes the node of a contender that is alone, and perhaps the parent, before the contender reads the queue.
func (w *World) queueGoes(admin *Session, deleteParent func()) (l Lock, result <-chan error) {
	l, s := w.Contender()
	list := w.Server.Hold(stage.Sent(s, jute.OpGetChildren2))
	result = w.BeginLock(l)
	w.Hit(list, "a contender reads the queue")
	require.NoError(w, admin.Delete(w.NodesOf(s)[0], -1))
	deleteParent()
	list.Release()
	return l, result
}

// queueGoesUnseen deletes the whole queue, and its parent, while a waiter is cut off.
func (w *World) queueGoesUnseen(admin *Session) {
	holder, _ := w.holder()
	l, s, result := w.waiter()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	for _, node := range w.Nodes() {
		require.NoError(w, admin.Delete(w.Path+"/"+node, -1))
	}
	w.DeleteParent(admin)
	w.UnlockErr(holder, "Unlock of a holder whose node has gone")
	w.Hit(back, "the waiter's client connects again")
	back.Release()
	w.endsWithTheQueue(l, result)
}

// endsWithTheQueue fails unless a Lock whose queue has gone returns an error, or queues again.
func (w *World) endsWithTheQueue(l Lock, result <-chan error) {
	if w.Result(result, "Lock of a contender whose queue has gone") != nil {
		return
	}
	w.NotEmpty(w.Nodes(), "the queue has gone with a contender's node, and it takes the lock without a node: two holders")
	w.MustUnlock(l, "a contender whose queue had gone, and that has queued again,")
}

// queuesAgainBehind has the session of a waiter end that queues again, and has others behind it: they are before it then.
func (w *World) queuesAgainBehind() {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	next, _, nextResult := w.waiter()
	w.Expire(s)
	w.Renewed(s, "the waiter's client has a new session")
	w.waitsAgain(result, s)
	w.MustUnlock(holder, "the holder")
	w.Holds(nextResult, "a waiter before which another one's session has ended")
	w.Waits(result, s, "a waiter that has queued again, behind the holder,")
	w.MustUnlock(next, "the next holder")
	w.Holds(result, "a waiter whose session has expired, and that has queued again,")
	w.unlockLast(waiter, it)
}

func ReleaseWhileCutOff(w *World) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.MustUnlock(holder, "the holder")
	w.Hit(back, "the waiter's client connects again")
	time.Sleep(time.Second) // of virtual time, in which it may not give up
	back.Release()
	w.Holds(result, "a waiter that was cut off when the lock was let go")
	require.Equal(w, s.ID, s.SessionID())
	w.unlockLast(waiter, it)
}

// CreateIsLost has a Lock lose its create, or the reply. Another contender of its session holds the lock.
func CreateIsLost(w *World) {
	for _, lose := range []stage.MakeFault{w.Server.LoseRequest, w.Server.LoseReply} {
		s := w.Ordinary()
		locks := w.contenders(2, s)
		w.MustLock(locks[0], "the holder")
		held := w.Nodes()
		lose(stage.Creates(s))
		result := w.BeginLock(locks[1])
		time.Sleep(stage.Patience) // of virtual time, in which it may try again
		w.False(len(result) > 0 && <-result == nil, "the create of Lock, or the reply to it, is lost, and it takes a lock that "+
			"another contender of its session holds: two holders; a node of your session need not be yours")
		w.Has(w.Nodes(), held, "the create of Lock, or the reply to it, is lost, and its clean-up has deleted the node of the "+
			"holder, which has the same session: two holders; a node of your session need not be yours")
		s.Close()
	}
}
