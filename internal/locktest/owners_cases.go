package locktest

import (
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// The cases about owners. The table ownersCases, in owners.go, has the sentence that each of them asks of a lock. In a
// case, mutex makes one Mutex in one session, and open makes its owners. A stranger has another Mutex and session. The
// subject's fields: Shared, one node for all owners of a Mutex; Requeues, a Lock that fails or loses its session queues
// again; Holds, how many times an owner has locked.

func lockAgain(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.MustLock(owner, "the owner")
	w.Eventually("all requests of Lock are answered", func() bool { return s.Tap.Pending() == 0 })

	before := len(stage.RequestsOf(s))
	w.MustLock(owner, "the owner, which holds the lock already,")

	w.tryLockGets(owner, "the owner, which holds the lock already,")
	w.holdsTimes(3, owner, "after a Lock, a Lock and a TryLock")

	w.MustUnlock(owner, "the owner, which has locked three times,")
	w.MustUnlock(owner, "the owner, which has locked three times and unlocked once,")
	w.holdsTimes(1, owner, "after three Locks and two Unlocks")
	w.Len(stage.RequestsOf(s), before, "an owner that holds the lock locks again, and asks the server: count in memory")

	if !w.subject.Requeues { // a lock with a lease may be lost meanwhile
		w.Unreachable(s)
		w.lockOnce(owner, "the owner, which holds the lock already, and whose client is not connected,")
		w.Eventually("the owner's client is connected again", func() bool { return s.State() == zk.StateHasSession })
	}
	w.unlockLast(owner, "the owner")
}

func lastUnlock(w *owners) {
	open, _ := w.mutex()
	owner, another := open("owner"), open("another")
	stranger, _ := w.Contender()
	for range 2 { // the second time all must be as if there had been no first
		w.MustLock(owner, "the owner")

		nodes := w.Nodes()
		w.Len(nodes, 1, "an owner that holds the lock must have one node")

		w.MustLock(owner, "the owner, for the second time")
		w.MustLock(owner, "the owner, for the third time")
		w.Equal(nodes, w.Nodes(), "an owner that locks three times must have one node, the one that it has made first")

		for i := range 2 {
			w.MustUnlock(owner, "the owner")
			w.Equal(nodes, w.Nodes(), "after 3 Locks and %d Unlocks the owner still holds the lock, and its node has gone, "+
				"so that the next contender gets in: two holders; delete it with the last Unlock", i+1)
			w.tryLockIsRefused(another, "another owner, after too few Unlocks,")
			w.tryLockIsRefused(stranger, "a stranger, after too few Unlocks,")
		}

		w.MustUnlock(owner, "the owner, for the last time,")
		w.NoNodes("the owner has unlocked as often as it has locked, and its node is still there: " +
			"delete it with the last Unlock")
		w.holdsTimes(0, owner, "after the last Unlock")
		w.tryLockGets(another, "another owner, after the last Unlock,")
		w.MustUnlock(another, "the other owner")
	}

	const many, goroutines = 70_000, 4 // more than 16 bits can count
	w.MustLock(owner, "the owner")
	for _, call := range []func(Lock) error{Lock.Lock, Lock.Unlock} {
		results := w.Rounds("Lock, Unlock", many/goroutines, slices.Repeat([]Lock{owner}, goroutines), func(l Lock) error {
			w.Step() // the watchdog sees no step in a call that sends nothing
			return call(l)
		})
		for _, result := range results {
			w.NoError(w.Result(result, it), "one of %d Locks of an owner, or of as many Unlocks, fails", many)
		}
	}
	w.holdsTimes(1, owner, "after goroutines of the holder have locked and unlocked: two of them may have counted at once")
	w.tryLockIsRefused(another, i18n.Textf("another owner, before the last of %d Unlocks,", many))
	w.unlockLast(owner, "the owner, for the last time,")
}

func anotherOwner(w *owners) {
	open, s := w.mutex()
	a, b, c := open("a"), open("b"), open("c")
	stranger, strangerSession := w.Contender()

	w.MustLock(a, "the first owner")
	resultB := w.waitsAtPlace(2, b, s, "the second owner")
	resultS := w.waitsAtPlace(3, stranger, strangerSession, "a stranger")
	resultC := w.waitsAtPlace(4, c, s, "the third owner")

	w.holdsTimes(0, b, "while it waits")
	w.MustLock(a, "the first owner, while others wait,")
	w.MustUnlock(a, "the first owner, which has locked twice,")
	w.Len(w.Nodes(), 4, "an owner has locked twice and unlocked once, and its node has gone: the next contender gets "+
		"in while it holds the lock: two holders; count, and delete the node with the last Unlock")
	w.Waits(resultB, s, "the second owner")

	w.MustUnlock(a, "the first owner")
	w.Holds(resultB, "the second owner, whose turn it is,")
	w.holdsTimes(1, b, "after its turn has come")
	w.Waits(resultS, strangerSession, "a stranger that came after the second owner")
	w.Waits(resultC, s, "the third owner")

	w.MustUnlock(b, "the second owner")
	w.Holds(resultS, "a stranger, whose turn it is,")
	w.Waits(resultC, s, "the third owner, which came after a stranger,")

	w.MustUnlock(stranger, "the stranger")
	w.Holds(resultC, "the third owner")
	w.unlockLast(c, "the third owner")
}

func equalNames(w *owners) {
	open, s := w.mutex()
	a, b := open("worker"), open("worker")
	w.MustLock(a, "the first of two owners with one name")

	w.tryLockIsRefused(b, "the second of two owners with one name")
	w.unlockIsRefused(b, "the second of two owners with one name")
	result := w.waitsAtPlace(2, b, s, "the second of two owners with one name")

	w.MustUnlock(a, "the first owner")
	w.Holds(result, "the second")
	w.unlockIsRefused(a, "the first, which has let go,")
	w.unlockLast(b, "the second")
}

func manyOwners(w *owners) {
	open, _ := w.mutex()
	var contenders []Lock
	for i := range 16 {
		contenders = append(contenders, doubleLock{open(fmt.Sprint("owner ", i))})
	}
	exclusion(w.World, contenders, allMustGetIn)
}

// manyGoroutines has goroutines of one owner hold the lock together, and never those of two owners. They
// sleep nowhere, and so meet at all points of Lock and Unlock; the race detector finds the faults in the books.
func manyGoroutines(w *owners) {
	const ownerCount, goroutines, rounds = 4, 4, 25
	open, _ := w.mutex()
	var mu sync.Mutex
	inside := make(map[int]int)                        // how many goroutines hold the lock, by owner
	count := func(owner, change int) (oneOwner bool) { // one owner at most is inside
		mu.Lock()
		defer mu.Unlock()
		inside[owner] += change
		if inside[owner] == 0 {
			delete(inside, owner)
		}
		return len(inside) <= 1
	}

	var results []<-chan error
	for owner := range ownerCount {
		sharers := slices.Repeat([]Lock{open(fmt.Sprint("owner ", owner))}, goroutines)
		results = append(results, w.Rounds("Lock, Unlock", rounds, sharers, func(l Lock) error {
			if err := l.Lock(); err != nil {
				return err
			}
			oneOwner := count(owner, 1)
			count(owner, -1)
			if w.subject.Holds != nil {
				w.subject.Holds(l)
			}
			err := l.Unlock()
			if err == nil && !oneOwner {
				err = i18n.Errorf("an owner has got the lock while another one holds it: two holders")
			}
			return err
		})...)
	}

	for _, result := range results {
		w.NoError(w.Result(result, "Lock or Unlock of one of four goroutines of an owner"),
			"one of four goroutines of an owner that lock and unlock at once")
	}
	w.NothingLeft()
}

// lockAtOnce has goroutines of an owner lock before its node is made, while it waits, and while another one tries.
func lockAtOnce(w *owners) {
	open, s := w.mutex()
	owner, another := open("owner"), open("another")
	w.makeQueue(owner)
	w.lockBeforeTheNode(owner, s)

	// Two goroutines of each of two owners wait: the first that gets the lock wakes the other one of its owner.
	holder, _ := w.holder()
	var results []<-chan error
	for _, l := range []Lock{owner, another, another, owner} {
		results = append(results, w.BeginLock(l))
		w.Rest()
	}
	w.MustUnlock(holder, "the holder")
	bothHold := func(l Lock, first, second <-chan error) {
		w.Holds(first, "a goroutine of the owner whose turn it is")
		w.Holds(second, "a goroutine of the owner whose turn it is")
		w.MustUnlock(l, it)
		w.MustUnlock(l, it)
	}
	bothHold(owner, results[0], results[3])
	bothHold(another, results[1], results[2])

	// A goroutine locks while another one of its owner only tries, which finds that the lock is held.
	w.MustLock(another, "another owner")
	time.AfterFunc(time.Second, w.Server.Hold(stage.Creates(s)).Release)
	tried, _ := w.beginTryLock(owner)
	synctest.Wait()
	waits := w.BeginLock(owner)
	w.NoError(w.Result(tried, i18n.Same("TryLock")), "TryLock fails")
	w.Waits(waits, s, "a goroutine that locked while another one of its owner tried in vain,")
	w.MustUnlock(another, it)
	w.Holds(waits, "a goroutine that locked while another one of its owner tried in vain,")
	w.unlockLast(owner, it)
}

// lockBeforeTheNode has three goroutines of an owner lock while the create of its node is under way.
func (w *owners) lockBeforeTheNode(owner Lock, s *Session) {
	held := w.Server.Hold(stage.Creates(s))
	first := w.BeginLock(owner)
	w.Hit(held, "the request is sent")
	second, third := w.BeginLock(owner), w.BeginLock(owner)
	synctest.Wait()
	w.holdsTimes(0, owner, "while its first Lock is under way")

	held.Release()
	w.Holds(first, "the first goroutine")
	w.Holds(second, "the second goroutine of the same owner")
	w.Holds(third, "the third goroutine of the same owner")
	w.Len(w.Nodes(), 1, "two goroutines of one owner that lock at once make two nodes: it waits for itself")
	w.holdsTimes(3, owner, "after its goroutines have locked")

	w.MustUnlock(owner, "one goroutine")
	w.MustUnlock(owner, "one goroutine")
	w.Len(w.Nodes(), 1, "one goroutine of two has unlocked, and the node has gone, so that the next contender gets "+
		"in: two holders")
	w.unlockLast(owner, "the other goroutine")
}

// lockFailsForOne has two goroutines of an owner wait, and one request fail when they may get in.
func lockFailsForOne(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	holder, _ := w.holder()
	first := w.waitsAtPlace(2, owner, s, "one goroutine")
	second := w.BeginLock(owner)
	synctest.Wait()

	fault := w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(s, jute.OpGetChildren2)) // when it looks again
	w.MustUnlock(holder, "the holder")
	locked := 0
	for _, result := range []<-chan error{first, second} {
		if w.Result(result, "Lock of one of two goroutines") == nil {
			locked++
		}
	}
	fault.Release()

	// A Lock that tries again gets in as well.
	w.True(locked > 0, "a request of one goroutine fails, and none of the owner's two goroutines gets the lock: a "+
		"failure must fail only the goroutine that it happened to")
	w.False(w.subject.Requeues && locked < 2, "a request of one goroutine has failed, and it has not tried again")
	w.holdsTimes(locked, owner, "after one of two Locks has failed, or has tried again")

	for range locked {
		w.MustUnlock(owner, "the owner")
	}
	w.unlockIsRefused(owner, "the owner, which has unlocked as often as it has locked,")
	w.NothingLeft()
}

// lockDuringUnlock calls Lock or TryLock while the answer to the delete of the last Unlock is late. The answer is an
// error, or it is none, or the connection breaks before it.
func lockDuringUnlock(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	lock := func() (bool, error) { return true, owner.Lock() }
	for _, during := range []struct {
		call  func() (bool, error)
		fails bool // the delete of Unlock
		cut   bool // the connection breaks before the answer to the delete; otherwise the answer is late
	}{
		{call: lock, fails: true}, {call: lock}, {call: owner.TryLock}, {call: lock, cut: true},
	} {
		w.MustLock(owner, "the owner")
		before := w.Nodes()
		held := w.Server.HoldReply(stage.Sent(s, jute.OpExists))
		go s.Exists("/") // each answer waits for the one before, so all are late until this one comes
		synctest.Wait()
		if during.fails {
			w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(s, jute.OpDelete))
		}
		unlocked := w.Aside("Unlock", owner.Unlock)
		synctest.Wait()

		ok := false
		result := w.Aside("Lock", func() (err error) {
			ok, err = during.call()
			return err
		})
		synctest.Wait()
		if during.cut {
			require.True(w, w.Server.Cut(s.ID))
		}
		held.Release()
		unlockFailed := w.Result(unlocked, "the last Unlock") != nil
		w.Rest()
		if unlockFailed && len(result) == 0 { // Lock waits for another Unlock
			w.UnlockErr(owner, "Unlock, called again,")
		}

		err := w.Result(result, "Lock of an owner during its last Unlock")
		switch {
		case !ok, unlockFailed && err != nil: // TryLock does not wait; Lock may want another Unlock before
			w.UnlockErr(owner, "Unlock, called again,")
		default:
			w.NoError(err, "Lock of an owner during its last Unlock fails")
			w.lockedDuringUnlock(owner, unlockFailed, before)
		}
	}
}

// lockedDuringUnlock fails unless an owner that has locked during its last Unlock has one node. If the Unlock has not
// failed, that must be another one than before.
func (w *owners) lockedDuringUnlock(owner Lock, unlockFailed bool, before []string) {
	now := w.Nodes()
	w.NotEmpty(now, "an owner that locks during its last Unlock holds the lock without a node, so that the next "+
		"contender gets in: two holders")
	w.Len(now, 1, "an owner that locks during its last Unlock leaves a node behind")
	w.True(unlockFailed || !slices.Equal(before, now), "the node must be a new one")
	w.MustUnlock(owner, "the owner, once more,")
	if unlockFailed {
		w.UnlockErr(owner, "Unlock, called again,") // the first one may have been counted, or not
	}
	w.NothingLeft()
}

func tryLockOwners(w *owners) {
	open, _ := w.mutex()
	owner, another := open("a/b"), open("another") // an owner may be called anything
	w.tryLockGets(owner, "an owner with the name a/b, on a free lock,")
	w.tryLockGets(owner, "the owner that holds the lock")
	nodes := w.Nodes()
	w.Len(nodes, 1, "an owner that locks twice has one node")

	w.tryLockIsRefused(another, "another owner of the same Mutex")
	w.holdsTimes(0, another, "after TryLock has returned false")

	w.MustUnlock(owner, "the owner, which has locked twice,")
	w.tryLockIsRefused(another, "another owner, after one of two Unlocks,")
	w.holdsTimes(1, owner, "after two TryLocks and one Unlock")
	w.Equal(nodes, w.Nodes(), "TryLock has returned false, and it has left a node behind, or the holder's has gone")

	w.MustUnlock(owner, "the owner")
	w.tryLockGets(another, "another owner, on a free lock,")
	w.unlockLast(another, "the other owner")
}

func tryLockWhileWaiting(w *owners) {
	open, s := w.mutex()
	holder, owner := open("holder"), open("owner")
	w.MustLock(holder, "the holder")
	result := w.waitsAtPlace(2, owner, s, "the owner")
	nodes := w.Nodes()
	w.tryLockIsRefused(owner, "an owner whose Lock waits")
	w.Equal(nodes, w.Nodes(), "TryLock has returned false, and it has left a node behind, or the waiter's has gone")
	w.MustUnlock(holder, "the holder")
	w.Holds(result, "the owner")
	w.tryLockGets(owner, "an owner whose Lock has got in")
	w.MustUnlock(owner, "it, for the first time,")
	w.unlockLast(owner, "it, for the second time,")
}

func unlockByAnother(w *owners) {
	open, s := w.mutex()
	holder, waiter, idle := open("holder"), open("waiter"), open("idle")
	w.MustLock(holder, "the holder")
	result := w.waitsAtPlace(2, waiter, s, "the waiter")

	nodes := w.Nodes()
	w.unlockIsRefused(idle, "an owner that has never locked")
	w.unlockIsRefused(waiter, "an owner whose Lock waits")
	w.Equal(nodes, w.Nodes(), "Unlock by an owner that does not hold the lock has deleted another contender's node")
	w.holdsTimes(1, holder, "after another owner's Unlock")
	w.Waits(result, s, "the waiter")

	w.MustUnlock(holder, "the holder")
	w.Holds(result, "the waiter")
	w.unlockIsRefused(holder, "an owner that has let go")
	w.tryLockIsRefused(idle, "an owner that does not hold the lock")
	w.unlockLast(waiter, it)
}

func unlockTooMany(w *owners) {
	open, _ := w.mutex()
	owner, next := open("owner"), open("next")
	w.MustLock(owner, "the owner")
	w.MustLock(owner, "the owner, for the second time,")
	w.MustUnlock(owner, "the owner")
	w.MustUnlock(owner, "the owner, which unlocks for the second time,")
	w.unlockIsRefused(owner, "an owner, two Locks and three Unlocks,")

	w.MustLock(next, "the next owner")
	w.unlockIsRefused(owner, "an owner, two Locks and four Unlocks,")
	w.tryLockIsRefused(owner, "an owner that has unlocked too often")
	w.MustUnlock(next, "the next owner")

	w.MustLock(owner, "an owner that has unlocked too often")
	w.holdsTimes(1, owner, "after Unlocks too many, and one Lock")
	w.MustUnlock(owner, it)
	w.NoNodes("an Unlock too many is still in the count: the node stays after the next Unlock")
}

// lockFails has each request of a Lock go wrong in turn, while a stranger holds the lock; spoilEach has a new owner for
// each. Article C's lock sets its count and its owner before it asks for the lock: if that fails, both stay set.
func lockFails(w *owners) {
	owner := w.spoiledOwner()
	owner.got = func(owner Lock) { w.holdsTimes(1, owner, "after a Lock") }
	w.spoilEach(w.spoilLock, owner)
}

// tryLockFails spoils each request of TryLock on a free lock in turn.
func tryLockFails(w *owners) {
	first, _ := w.Contender()
	w.makeQueue(first)
	w.spoilEach(w.spoilTryLock, w.spoiledOwner())
}

// unlockFails loses the delete of an owner's last Unlock, and then the reply to such a delete.
func unlockFails(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.unlockLosesItsDelete(owner, s)
	next, _ := w.Contender()
	if !w.subject.Shared {
		next = doubleLock{open("next")}
	}
	w.unlockLosesItsReply(owner, next, s)
}

// unlockLosesItsDelete loses the delete of an owner's last Unlock. Another Unlock makes up for it.
func (w *owners) unlockLosesItsDelete(owner Lock, s *Session) {
	w.MustLock(owner, "the owner")
	w.Server.LoseRequest(stage.Sent(s, jute.OpDelete))
	if w.UnlockErr(owner, i18n.Same("Unlock")) != nil {
		w.Eventually("the owner's client is connected again", func() bool { return s.State() == zk.StateHasSession })
		ok, err := w.TryLock(owner, "TryLock of an owner whose Unlock has failed")
		w.True(ok || err != nil, "the Unlock of an owner has failed, no other owner holds the lock, and TryLock returns "+
			"false and no error: that says that another one holds it")
		w.MustUnlock(owner, "the owner, whose first Unlock has failed,")
		w.UnlockErr(owner, "Unlock, called again,") // the first one may have been counted, or not
	}
	w.lockOnce(doubleLock{owner}, "the owner, which locks twice, and whose Unlock has failed once,")
}

// unlockLosesItsReply loses the reply to the delete of an owner's last Unlock: the node has gone, so the next contender
// gets in, and the owner cannot know.
func (w *owners) unlockLosesItsReply(owner, next Lock, s *Session) {
	w.MustLock(owner, "the owner")
	fault := w.Server.LoseReply(stage.Sent(s, jute.OpDelete))
	err := w.UnlockErr(owner, "Unlock, when the reply to its delete is lost,")
	w.NotEmpty(fault.Hit(), "the last Unlock of an owner sends no delete")
	w.Eventually("the owner's client is connected again", func() bool { return s.State() == zk.StateHasSession })
	w.MustLock(next, "the next one")

	if err == nil { // it has asked again
		w.tryLockIsRefused(owner, "an owner that has let go")
	} else {
		ok, _ := w.TryLock(owner, "TryLock of an owner whose Unlock has failed")
		w.False(ok, "an owner whose Unlock has failed counts up, and the next one holds the lock: two holders")
		result := w.BeginLock(owner)
		if queuesAgain := w.waitsAgain(result, s); queuesAgain { // it has found out
			w.unlockIsRefused(owner, "an owner whose first Unlock let go of the lock after all, and that waits,")
			w.MustUnlock(next, "the next one")
			w.Holds(result, "the owner, which has queued again,")
			w.unlockLast(owner, it)
			return
		}
		w.HasError(<-result, "Lock of an owner whose Unlock has failed returns no error, and the next one holds the "+
			"lock: two holders")
	}
	w.unlockIsRefused(owner, "an owner whose first Unlock let go of the lock after all")
	w.MustUnlock(next, "the next one")
	w.lockOnce(doubleLock{owner}, "the owner, once more,")
	w.NothingLeft()
}

// expiredOwner ends the session of an owner that has locked twice. Others lock; then it unlocks twice, and locks again.
func expiredOwner(w *owners) {
	open, s := w.mutex()
	owner, another := open("owner"), open("another")
	w.MustLock(owner, "the owner")
	w.MustLock(owner, "the owner, for the second time,")
	w.Expire(s)
	w.Renewed(s, "the old owner's client has a new session")
	if !w.subject.Shared { // else it waits in memory for the first one's Unlock
		w.tryLockGets(another, "another owner of a Mutex whose session has expired")
		w.MustUnlock(another, "the other owner")
	}
	next, _ := w.Contender()
	w.MustLock(next, "the next one")

	before := w.Nodes()
	if err := w.UnlockErr(owner, "Unlock after the session has expired"); err != nil && w.subject.ErrNotOwner != nil {
		w.ErrorIs(err, w.subject.ErrNotOwner, "the first of two Unlocks after the session has expired")
	}
	w.unlockIsRefused(owner, "an owner whose session has expired, its last,")
	w.Equal(before, w.Nodes(), "an expired owner's Unlock has deleted another contender's node, the new holder's: two "+
		"holders")

	w.tryLockIsRefused(owner, "an owner whose session has expired, while the next one holds the lock,")
	w.tryLockIsRefused(another, "another owner of its Mutex, while the next one holds the lock,")
	w.holdsTimes(0, owner, "after Unlock has returned ErrNotOwner")

	w.MustUnlock(next, "the next one")
	w.MustLock(owner, "the owner, in its new session,")
	w.holdsTimes(1, owner, "in its new session")
	w.tryLockIsRefused(another, "another owner of its Mutex")

	s.ID = s.SessionID() // that of its new session, for Sent
	if w.Server != nil { // a real server cannot be told to lose a reply
		w.Server.LoseReply(stage.Sent(s, jute.OpDelete))
	}
	if err := w.UnlockErr(owner, i18n.Same("Unlock")); err != nil {
		w.holdsTimes(1, owner, "after a last Unlock that failed, and that can be called again")
	}
	w.NothingLeft()
}

func otherMutex(w *owners) {
	if w.subject.Other == nil {
		w.Skip(i18n.Text("OwnersSubject.Other is nil: no owner uses two locks"))
	}
	open, s := w.mutex()
	owner, at := open("owner"), w.Path+"-2"
	w.MustLock(owner, "the owner")
	other, stranger := w.subject.Other(owner, s.Conn, at), w.subject.Open(w.Session().Conn, at)("stranger")

	w.holdsTimes(0, other, "of a lock that its owner does not hold, though it holds another one")
	w.unlockIsRefused(other, "the holder of another lock")
	w.MustLock(other, "the owner, which holds another lock,")
	w.tryLockIsRefused(stranger, "a stranger, at the second lock of an owner,")
	w.MustUnlock(owner, "the owner")
	w.tryLockIsRefused(stranger, "a stranger, at the second lock of an owner,")
	w.MustUnlock(other, "the owner, at its second lock,")
	w.tryLockGets(stranger, "a stranger, when the owner has let go,")
}

func nilOwner(w *owners) {
	s := w.Session()
	if w.subject.Nobody == nil {
		w.Skip(i18n.Text("OwnersSubject.Nobody is nil: there is no Mutex to call without an owner"))
	}
	nobody := w.subject.Nobody(s.Conn, w.Path)
	w.HasError(w.UnlockErr(nobody, "Unlock without an owner"),
		"Unlock without an owner, which has not locked, returns no error")
	if w.Result(w.BeginLock(nobody), "Lock without an owner") == nil {
		stranger, _ := w.Contender()
		ok, err := w.TryLock(stranger, "TryLock while no owner holds the lock")
		w.NoError(err, "TryLock while no owner holds the lock fails")
		w.False(ok, "Lock without an owner returns no error, and another contender gets the lock: two holders")
		w.MustUnlock(nobody, "no owner, which has locked,")
	}
	ok, err := w.TryLock(nobody, "TryLock without an owner")
	w.Equal(ok, err == nil, "TryLock without an owner returns %v and the error %v, and no other owner holds the lock",
		ok, err)
	if ok {
		w.MustUnlock(nobody, "no owner, which has locked,")
	}
	w.NoNodes("without an owner, Lock or TryLock leaves a node behind")
}
