package locktest

import (
	"errors"
	"fmt"
	"sync"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// owners is the world of one case about owners.
type owners struct {
	*World
	subject OwnersSubject
}

// mutex makes one Mutex in a session of its own. Each call of what it returns
// makes another owner.
func (w *owners) mutex() (open func(name string) Lock, s *Session) {
	w.Helper()
	s = w.Session()
	return w.subject.Open(s.Conn, w.Path), s
}

// times fails if an owner does not hold the lock as often as it should.
func (w *owners) times(n int, l Lock, when string) {
	w.Helper()
	if w.subject.Holds != nil {
		require.Equal(w, n, w.subject.Holds(l), "Holds is wrong, %s", when)
	}
}

// tryLock fails if TryLock does not return at once what it should.
func (w *owners) tryLock(want bool, l Lock, name string) {
	w.Helper()
	ok, err := w.Try(l, "TryLock of "+name)
	require.NoError(w, err, "TryLock of %s fails", name)
	if want {
		require.True(w, ok, "TryLock of %s returns false, and no other owner holds the lock", name)
	} else {
		require.False(w, ok, "TryLock of %s returns true, and it does not get the lock: two holders", name)
	}
}

// notOwner fails if Unlock is anything but ErrNotOwner.
func (w *owners) notOwner(l Lock, name string) {
	w.Helper()
	err := w.UnlockErr(l, "Unlock by "+name)
	require.Error(w, err, "Unlock by %s returns no error, though it does not hold the lock: return ErrNotOwner", name)
	if w.subject.ErrNotOwner != nil {
		require.ErrorIs(w, err, w.subject.ErrNotOwner, "Unlock by %s returns another error than ErrNotOwner", name)
	}
}

// queues calls Lock aside, and waits until the queue has n nodes and the caller
// waits.
func (w *owners) queues(l Lock, s *Session, n int, name string) <-chan error {
	w.Helper()
	result := w.Lock(l)
	look := w.Session()
	w.Eventually(name+" is in the queue", func() bool {
		if len(result) > 0 {
			require.NoError(w, <-result, "%s must wait its turn in the queue, and Lock fails at once", name)
			w.Fatalf("%s has got the lock while another owner holds it: two holders", name)
		}
		nodes, _, err := look.Children(w.Path)
		require.NoError(w, err)
		return len(nodes) == n
	})
	w.Waits(result, s, name)
	return result
}

func lockAgain(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.MustLock(owner, "the owner")
	w.Eventually("all requests of Lock are answered", func() bool { return s.Tap.Pending() == 0 })
	before := len(stage.RequestsOf(s))
	w.MustLock(owner, "the owner, which holds the lock already,")
	w.tryLock(true, owner, "the owner, which holds the lock already,")
	w.times(3, owner, "after a Lock, a Lock and a TryLock")
	w.Unlock(owner, "the owner, which has locked three times,")
	w.Unlock(owner, "the owner, which has locked three times and unlocked once,")
	w.times(1, owner, "after three Locks and two Unlocks")
	require.Len(w, stage.RequestsOf(s), before, "an owner that holds the lock locks again, and asks the server: count in memory")
	w.Unlock(owner, "the owner")
	w.NothingLeft()
}

func lastUnlock(w *owners) {
	open, _ := w.mutex()
	owner, another := open("owner"), open("another")
	stranger, _ := w.Contender()
	for range 2 { // the second time all must be as if there had been no first
		w.MustLock(owner, "the owner")
		nodes := w.Nodes()
		require.Len(w, nodes, 1, "an owner that holds the lock must have one node")
		w.MustLock(owner, "the owner, for the second time")
		w.MustLock(owner, "the owner, for the third time")
		require.Equal(w, nodes, w.Nodes(), "an owner that locks three times must have one node, the one that it has made first")
		for i := range 2 {
			w.Unlock(owner, "the owner")
			require.Equal(w, nodes, w.Nodes(),
				"after 3 Locks and %d Unlocks the owner still holds the lock, and its node has gone, so that the next contender gets in: two holders; delete it with the last Unlock", i+1)
			w.tryLock(false, another, "another owner, after too few Unlocks,")
			w.tryLock(false, stranger, "a stranger, after too few Unlocks,")
		}
		w.Unlock(owner, "the owner, for the last time,")
		w.NoNodes("the owner has unlocked as often as it has locked, and its node is still there: delete it with the last Unlock")
		w.times(0, owner, "after the last Unlock")
		w.tryLock(true, another, "another owner, after the last Unlock,")
		w.Unlock(another, "the other owner")
	}
	w.NothingLeft()
}

func anotherOwner(w *owners) {
	open, s := w.mutex()
	a, b, c := open("a"), open("b"), open("c")
	stranger, ss := w.Contender()
	w.MustLock(a, "the first owner")
	resultB := w.queues(b, s, 2, "the second owner")
	resultS := w.queues(stranger, ss, 3, "a stranger")
	resultC := w.queues(c, s, 4, "the third owner")
	w.times(0, b, "while it waits")
	w.MustLock(a, "the first owner, while others wait,")
	w.Unlock(a, "the first owner, which has locked twice,")
	require.Len(w, w.Nodes(), 4, "an owner has locked twice and unlocked once, and its node has gone: the next contender gets in while it holds the lock: two holders; count, and delete the node with the last Unlock")
	w.Waits(resultB, s, "the second owner")
	w.Unlock(a, "the first owner")
	w.Holds(resultB, "the second owner, whose turn it is,")
	w.times(1, b, "after its turn has come")
	w.Waits(resultS, ss, "a stranger that came after the second owner")
	w.Waits(resultC, s, "the third owner")
	w.Unlock(b, "the second owner")
	w.Holds(resultS, "a stranger, whose turn it is,")
	w.Waits(resultC, s, "the third owner, which came after a stranger,")
	w.Unlock(stranger, "the stranger")
	w.Holds(resultC, "the third owner")
	w.Unlock(c, "the third owner")
	w.NothingLeft()
}

func equalNames(w *owners) {
	open, s := w.mutex()
	a, b := open("worker"), open("worker")
	w.MustLock(a, "the first of two owners with one name")
	w.tryLock(false, b, "the second of two owners with one name")
	w.notOwner(b, "the second of two owners with one name")
	result := w.queues(b, s, 2, "the second of two owners with one name")
	w.Unlock(a, "the first")
	w.Holds(result, "the second")
	w.notOwner(a, "the first, which has let go,")
	w.Unlock(b, "the second")
	w.NothingLeft()
}

// A doubleLock locks and unlocks two times in place of once.
type doubleLock struct{ once Lock }

func (l doubleLock) Lock() error            { return errors.Join(l.once.Lock(), l.once.Lock()) }
func (l doubleLock) TryLock() (bool, error) { return l.once.TryLock() }
func (l doubleLock) Unlock() error          { return errors.Join(l.once.Unlock(), l.once.Unlock()) }

func manyOwners(w *owners) {
	open, _ := w.mutex()
	var contenders []Lock
	for i := range 16 {
		contenders = append(contenders, doubleLock{open(fmt.Sprint("owner ", i))})
	}
	exclusion(w.World, contenders, true)
}

// manyGoroutines has goroutines of one owner inside together, and never those
// of two. They hurry, and meet at all points of Lock and Unlock; the race
// detector finds the faults in the books.
func manyGoroutines(w *owners) {
	const ownersN, goroutines, rounds = 4, 4, 25
	open, _ := w.mutex()
	var mu sync.Mutex
	inside := make(map[int]int) // goroutines, by owner
	enter := func(owner, n int) (alone bool) {
		mu.Lock()
		defer mu.Unlock()
		if inside[owner] += n; inside[owner] == 0 {
			delete(inside, owner)
		}
		return len(inside) <= 1
	}
	var results []<-chan error
	for owner := range ownersN {
		l := open(fmt.Sprint("owner ", owner))
		for range goroutines {
			results = append(results, w.Aside("Lock, Unlock", func() (err error) {
				for i := 0; i < rounds && err == nil; i++ {
					if err = l.Lock(); err != nil {
						break
					}
					alone := enter(owner, 1)
					enter(owner, -1)
					err = l.Unlock()
					if err == nil && !alone {
						err = errors.New("an owner has got the lock while another one holds it: two holders")
					}
				}
				return err
			}))
		}
	}
	for _, result := range results {
		require.NoError(w, w.Result(result, "Lock or Unlock of one of four goroutines of an owner"), "one of four goroutines of an owner that lock and unlock at once")
	}
	w.NothingLeft()
}

// queueNode makes the parent of the queue, so that the next create is that of
// a node in it.
func (w *owners) queueNode(l Lock) {
	w.Helper()
	w.MustLock(l, "a first owner")
	w.Unlock(l, "it")
}

func lockAtOnce(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.queueNode(owner)
	held := w.Server.Hold(stage.Creates(s))
	first := w.Lock(owner)
	w.Hit(held, "the request is sent")
	second := w.Lock(owner)
	synctest.Wait()
	w.times(0, owner, "while its first Lock is under way")
	held.Release()
	w.Holds(first, "the first goroutine")
	w.Holds(second, "the second goroutine of the same owner")
	require.Len(w, w.Nodes(), 1, "two goroutines of one owner that lock at once make two nodes: it waits for itself")
	w.times(2, owner, "after both of its goroutines have locked")
	w.Unlock(owner, "one goroutine")
	require.Len(w, w.Nodes(), 1, "one goroutine of two has unlocked, and the node has gone, so that the next contender gets in: two holders")
	w.Unlock(owner, "the other goroutine")
	w.NothingLeft()
}

func lockFailsForOne(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	holder, _ := w.holder()
	first := w.queues(owner, s, 2, "one goroutine")
	second := w.Lock(owner)
	synctest.Wait()
	fault := w.Server.Fail(jute.ErrRuntimeInconsistency, stage.Sent(s, jute.OpGetChildren2)) // when it looks again
	w.Unlock(holder, "the holder")
	locked := 0
	for _, result := range []<-chan error{first, second} {
		if w.Result(result, "Lock of one of two goroutines") == nil {
			locked++
		}
	}
	fault.Release()
	// A Lock that tries again gets in as well.
	require.Positive(w, locked, "a request of one goroutine fails, and none of the owner's two goroutines gets the lock: a failure must fail only the goroutine that it happened to")
	require.False(w, w.subject.Requeues && locked < 2, "a request of one goroutine has failed, and it has not tried again")
	w.times(locked, owner, "after one of two Locks has failed, or has tried again")
	for range locked {
		w.Unlock(owner, "the owner")
	}
	w.notOwner(owner, "the owner, which has unlocked as often as it has locked,")
	w.NothingLeft()
}

func lockDuringUnlock(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	w.MustLock(owner, "the owner")
	nodes := w.Nodes()
	held := w.Server.Hold(stage.Sent(s, jute.OpDelete))
	unlocked := w.Aside("Unlock", owner.Unlock)
	w.Hit(held, "the request is sent")
	result := w.Lock(owner)
	synctest.Wait()
	held.Release()
	require.NoError(w, w.Result(unlocked, "the last Unlock"))
	w.Holds(result, "an owner that locks during its last Unlock")
	now := w.Nodes()
	require.NotEmpty(w, now, "an owner that locks during its last Unlock holds the lock without a node, so that the next contender gets in: two holders")
	require.Len(w, now, 1, "an owner that locks during its last Unlock leaves a node behind")
	require.NotEqual(w, nodes, now, "the node must be a new one")
	w.Unlock(owner, "the owner, once more,")
	w.NothingLeft()
}

func tryLockOwners(w *owners) {
	open, _ := w.mutex()
	owner, another := open("owner"), open("another")
	w.tryLock(true, owner, "an owner, on a free lock,")
	w.tryLock(true, owner, "the owner that holds the lock")
	w.times(2, owner, "after TryLock has returned true twice")
	nodes := w.Nodes()
	require.Len(w, nodes, 1, "an owner that locks twice has one node")
	w.tryLock(false, another, "another owner of the same Mutex")
	w.times(0, another, "after TryLock has returned false")
	w.Unlock(owner, "the owner, which has locked twice,")
	w.tryLock(false, another, "another owner, after one of two Unlocks,")
	require.Equal(w, nodes, w.Nodes(), "TryLock has returned false, and it has left a node behind, or the holder's has gone")
	w.Unlock(owner, "the owner")
	w.tryLock(true, another, "another owner, on a free lock,")
	w.Unlock(another, "the other owner")
	w.NothingLeft()
}

func tryLockWhileWaiting(w *owners) {
	open, s := w.mutex()
	holder, owner := open("holder"), open("owner")
	w.MustLock(holder, "the holder")
	result := w.queues(owner, s, 2, "the owner")
	w.tryLock(false, owner, "an owner whose Lock waits")
	require.Len(w, w.Nodes(), 2, "TryLock has returned false, and it has left a node behind, or the waiter's has gone")
	w.Unlock(holder, "the holder")
	w.Holds(result, "the owner")
	w.tryLock(true, owner, "an owner whose Lock has got in")
	w.Unlock(owner, "it, for the first time,")
	w.Unlock(owner, "it, for the second time,")
	w.NothingLeft()
}

func unlockByAnother(w *owners) {
	open, s := w.mutex()
	holder, waiter, idle := open("holder"), open("waiter"), open("idle")
	w.MustLock(holder, "the holder")
	result := w.queues(waiter, s, 2, "the waiter")
	nodes := w.Nodes()
	w.notOwner(idle, "an owner that has never locked")
	w.notOwner(waiter, "an owner whose Lock waits")
	require.ElementsMatch(w, nodes, w.Nodes(), "Unlock by an owner that does not hold the lock has deleted another contender's node")
	w.times(1, holder, "after another owner's Unlock")
	w.Waits(result, s, "the waiter")
	w.Unlock(holder, "the holder")
	w.Holds(result, "the waiter")
	w.notOwner(holder, "an owner that has let go")
	w.tryLock(false, idle, "an owner that does not hold the lock")
	w.Unlock(waiter, "it")
	w.NothingLeft()
}

func unlockTooMany(w *owners) {
	open, _ := w.mutex()
	owner, next := open("owner"), open("next")
	w.MustLock(owner, "the owner")
	w.MustLock(owner, "the owner, for the second time,")
	w.Unlock(owner, "the owner")
	w.Unlock(owner, "the owner, for the second time,")
	w.notOwner(owner, "an owner, two Locks and three Unlocks,")
	w.MustLock(next, "the next owner")
	w.notOwner(owner, "an owner, two Locks and four Unlocks,")
	w.tryLock(false, owner, "an owner that has unlocked too often")
	w.Unlock(next, "the next owner")
	w.MustLock(owner, "an owner that has unlocked too often")
	w.times(1, owner, "after Unlocks too many, and one Lock")
	w.Unlock(owner, "it")
	w.NoNodes("an Unlock too many is still in the count: the node stays after the next Unlock")
	w.NothingLeft()
}

// lockFails spoils each request of an owner's Lock in turn, while a stranger
// Holds the lock. Article C's lock sets its count and its owner before it asks
// for the lock: if that fails they stay.
func lockFails(w *owners) {
	for _, sp := range w.spoilers() {
		for n := 1; w.GoesOn(n); n++ {
			holder, _ := w.holder()
			open, s := w.mutex()
			owner := open("owner")
			fault, release := w.spoil(sp, s, n)
			result := w.Lock(owner)
			early := w.Meets(fault, s, "the request is spoiled, or the owner waits")
			free := !early || w.goesOn(result, s)
			if free {
				w.Unlock(holder, "the holder")
			}
			err := w.Result(result, fmt.Sprintf("Lock of an owner, when its request %d %s, and it has tried again and waits, and the holder has let go,", n, sp.what))
			how := sp.how(s, n)
			release()
			if err == nil {
				require.True(w, free, "%s, and Lock returns no error while another contender holds the lock: two holders", how)
				met := len(fault.Hit()) > 0
				fault.Release()
				w.times(1, owner, "after a Lock")
				require.NotEmpty(w, w.Nodes(), "%s, and Lock has returned without a node, so that the next contender gets in: two holders", how)
				w.Unlock(owner, "the owner")
				w.nothingStays(how)
				if met { // it has tried again itself
					continue
				}
				require.Greater(w, n, 2, "an owner that waits sends only one request")
				break
			}
			w.cleanBooks(owner, open("another"), s, n, how, err, func() {
				if !free {
					w.Unlock(holder, "the holder")
				}
			})
		}
	}
}

// tryLockFails spoils each request of TryLock on a free lock in turn.
func tryLockFails(w *owners) {
	first, _ := w.Contender()
	w.queueNode(first)
	var open func(name string) Lock
	w.spoilTryLock("the owner", func() (_ Lock, s *Session) {
		open, s = w.mutex()
		return open("owner"), s
	}, func(owner Lock, s *Session, sp spoiler, n int, _ bool, err error) {
		w.cleanBooks(owner, open("another"), s, n, sp.how(s, n), err, func() {})
	})
}

// cleanBooks fails if an owner whose Lock has failed, because request n of its
// session was spoiled, is taken for the holder or for anything else than a new
// owner.
func (w *owners) cleanBooks(owner, another Lock, s *Session, n int, how string, err error, freed func()) {
	w.Helper()
	w.times(0, owner, "after a Lock that failed: "+how)
	w.Eventually("the owner's client is connected", func() bool { return s.State() == zk.StateHasSession })
	if ok, _ := w.Try(owner, "TryLock of an owner whose Lock has failed"); ok {
		require.True(w, len(w.NodesOf(s)) > 0, "the owner's Lock has failed (%s), and it is in the books: it locks again without a node, so that the next contender gets in: two holders", how)
		w.Unlock(owner, "it")
	}
	w.leavesNothing(owner, s, n, how, err)
	result := w.Lock(another)
	freed()
	w.Holds(result, "another owner, after one has failed to lock ("+how+"),")
	w.tryLock(false, owner, "an owner whose Lock has failed ("+how+") while another one holds the lock")
	w.notOwner(owner, "an owner whose Lock has failed ("+how+")")
	w.Unlock(another, "the other owner")
	w.MustLock(owner, "the owner whose Lock has failed ("+how+"), once more,")
	w.times(1, owner, "after a Lock that failed and one that did not")
	w.Unlock(owner, "it")
	w.NoNodes("every owner has let go, and a node is left")
}

// unlockFails loses the reply to the last Unlock's delete: the node has gone,
// and the owner cannot find out.
func unlockFails(w *owners) {
	open, s := w.mutex()
	owner := open("owner")
	next, _ := w.Contender()
	w.MustLock(owner, "the owner")
	fault := w.Server.LoseReply(stage.Sent(s, jute.OpDelete))
	unlocked := w.Aside("Unlock", owner.Unlock)
	err := w.Result(unlocked, "Unlock, when the reply to its delete is lost,")
	require.NotEmpty(w, fault.Hit())
	require.NotErrorIs(w, err, w.subject.ErrNotOwner, "the owner's own delete has let go of the lock, and Unlock returns ErrNotOwner")
	w.Eventually("the owner's client is connected again", func() bool { return s.State() == zk.StateHasSession })
	w.MustLock(next, "the next one")
	if err == nil { // it has asked again
		w.tryLock(false, owner, "an owner that has let go")
	} else {
		ok, _ := w.Try(owner, "TryLock of an owner whose Unlock has failed")
		require.False(w, ok, "an owner whose Unlock has failed counts up, and the next one holds the lock: two holders")
		result := w.Lock(owner)
		if w.goesOn(result, s) { // it has found out, and queues again
			w.notOwner(owner, "an owner whose first Unlock let go of the lock after all, and that waits,")
			w.Unlock(next, "the next one")
			w.Holds(result, "the owner, which has queued again,")
			w.Unlock(owner, "it")
			w.NothingLeft()
			return
		}
		require.Error(w, <-result, "Lock of an owner whose Unlock has failed returns no error, and the next one holds the lock: two holders")
	}
	w.notOwner(owner, "an owner whose first Unlock let go of the lock after all")
	w.Unlock(next, "the next one")
	w.MustLock(owner, "the owner, once more,")
	w.Unlock(owner, "it")
	w.NothingLeft()
}

func expiredOwner(w *owners) {
	open, s := w.mutex()
	owner, another := open("owner"), open("another")
	w.MustLock(owner, "the owner")
	w.MustLock(owner, "the owner, for the second time,")
	w.Expire(s)
	next, _ := w.Contender()
	w.MustLock(next, "the next one")
	w.Renewed(s, "the old owner's client has a new session")
	before := w.Nodes()
	if err := w.UnlockErr(owner, "Unlock after the session has expired"); err != nil && w.subject.ErrNotOwner != nil {
		require.ErrorIs(w, err, w.subject.ErrNotOwner, "the first of two Unlocks after the session has expired")
	}
	w.notOwner(owner, "an owner whose session has expired, its last,")
	w.times(0, owner, "after Unlock has returned ErrNotOwner")
	require.Equal(w, before, w.Nodes(), "an expired owner's Unlock has deleted another contender's node, the new holder's: two holders")
	w.tryLock(false, owner, "an owner whose session has expired, while the next one holds the lock,")
	w.tryLock(false, another, "another owner of its Mutex, while the next one holds the lock,")
	w.Unlock(next, "the next one")
	w.MustLock(owner, "the owner, in its new session,")
	w.times(1, owner, "in its new session")
	w.tryLock(false, another, "another owner of its Mutex")
	w.Unlock(owner, "the owner")
	w.NothingLeft()
}

func nilOwner(w *owners) {
	s := w.Session()
	if w.subject.Nobody == nil {
		w.Skip("OwnersSubject.Nobody is nil: there is no Mutex to call without an owner")
	}
	nobody := w.subject.Nobody(s.Conn, w.Path)
	require.Error(w, w.UnlockErr(nobody, "Unlock without an owner"), "Unlock without an owner, which has not locked, returns no error")
	if w.Result(w.Lock(nobody), "Lock without an owner") == nil {
		stranger, _ := w.Contender()
		ok, err := w.Try(stranger, "TryLock while no owner holds the lock")
		require.NoError(w, err, "TryLock while no owner holds the lock fails")
		require.False(w, ok, "Lock without an owner returns no error, and another contender gets the lock: two holders")
		w.Unlock(nobody, "no owner, which has locked,")
	}
	ok, err := w.Try(nobody, "TryLock without an owner")
	require.Equal(w, ok, err == nil, "TryLock without an owner returns %v and the error %v, and no other owner holds the lock", ok, err)
	if ok {
		w.Unlock(nobody, "no owner, which has locked,")
	}
	w.NoNodes("without an owner, Lock or TryLock leaves a node behind")
}
