package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/stage"
)

// The functions of the cases are here and in the files with names in _cases. The table lockCases, in locktest.go, has
// the sentence that each of them asks of a lock. Exported ones are for the suites in internal/grader/suites, too.

const allMustGetIn, someMayWait = true, false // of exclusion

// exclusion has every contender lock a few times, and count in a variable that nothing but the lock guards: the race
// detector sees what the counter may miss. If all must get in, a contender that does not get the lock fails the case.
// If some may wait, another case asks for that.
func exclusion(w *World, contenders []Lock, allGetIn bool) {
	const times = 5
	num := 0 // the counter
	var holders atomic.Int32
	var entered atomic.Bool // by any contender
	var failed error
	results := w.Rounds("Lock, Unlock", times, contenders, func(l Lock) error {
		if err := l.Lock(); err != nil {
			return i18n.Errorf("Lock fails: %w", err)
		}
		alone := holders.Add(1) == 1
		entered.Store(true)
		num++
		// Time for others to get in, if the lock lets them. Virtual time passes once all others wait.
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		err := l.Unlock()
		if !alone {
			return i18n.Errorf("it has got the lock while another contender holds it: two holders")
		}
		if err != nil {
			return i18n.Errorf("Unlock fails: %w", err)
		}
		return nil
	})

	for i, result := range results {
		if !allGetIn {
			w.WaitFor(stage.Patience, func() bool { return len(result) > 0 })
			if len(result) == 0 {
				continue // it still waits
			}
		}
		err := w.Result(result, stage.Contender(i))
		failed = cmp.Or(failed, err)
		if err != nil && (allGetIn || Unsafe(err.Error())) {
			w.Failf("%s\n    %v", stage.Contender(i), err)
		}
	}
	if !allGetIn {
		w.True(entered.Load(), "none of %d contenders has got the lock: %v", len(contenders), failed)
		return
	}
	w.Equal(times*len(contenders), num, "the count is wrong: two contenders held the lock at once: two holders")
	w.NothingLeft()
}

// Rounds has each contender do a round this many times, up to its first error, all of them at once.
func (w *World) Rounds(what string, times int, contenders []Lock, round func(l Lock) error) (results []<-chan error) {
	for _, l := range contenders {
		results = append(results, w.Aside(what, func() (err error) {
			for n := 0; n < times && err == nil; n++ {
				err = round(l)
			}
			return err
		}))
	}
	return results
}

// contenders makes contenders, in one session if it is given, otherwise each in a session of its own.
func (w *World) contenders(n int, in ...*Session) (list []Lock) {
	for range n {
		l, _ := w.Contender(in...)
		list = append(list, l)
	}
	return list
}

func exclusionInOneSession(w *World)   { exclusion(w, w.contenders(16, w.Session()), someMayWait) }
func exclusionInManySessions(w *World) { exclusion(w, w.contenders(8), someMayWait) }

func allGetIn(w *World) {
	exclusion(w, w.contenders(8), allMustGetIn)
	exclusion(w, w.contenders(16, w.Session()), allMustGetIn)
}

func reuse(w *World) {
	l, _ := w.Contender()
	for i := range 3 {
		w.lockOnce(l, i18n.Textf("the same contender, time %d", i+1))
	}
	w.NothingLeft()
}

// EphemeralNode looks at the node that the holder has made.
func EphemeralNode(w *World) {
	admin := w.Session()
	l, s := w.holder()
	nodes := w.Nodes()
	there, _, err := admin.Exists(w.Path)
	if err == nil && there && len(nodes) == 0 && !w.Subject.Queue {
		nodes = append(nodes, path.Base(w.Path)) // Nodes does not list it, because it is not ephemeral
	}
	w.NotEmpty(nodes, "Lock has returned, and there is no node of the holder at %s or below it: nothing keeps the next contender out; "+
		"make a node, and hold the lock only if that makes you the holder", w.Path)

	for _, node := range nodes {
		p := w.Path + "/" + node
		_, stat, err := admin.Get(p)
		if errors.Is(err, zk.ErrNoNode) { // it is the node at the path itself
			p = w.Path
			_, stat, err = admin.Get(p)
		}
		w.NoError(err, "the holder's node %s", p)
		w.True(stat.EphemeralOwner != 0, "the holder's node %s is not ephemeral: if the holder dies, its node stays, and "+
			"no contender ever gets the lock; create it with zk.FlagEphemeral or zk.FlagEphemeralSequential", p)
		w.Equal(s.SessionID(), stat.EphemeralOwner, "the holder's node %s belongs to another session", p)
	}
	w.Len(nodes, 1, "one contender holds the lock, and there are several nodes")
	w.MustUnlock(l, "the holder")
	w.NoNodes("Unlock has returned, and the holder's node is still there: every other contender waits; " +
		"Unlock must delete the node")
}

// WaiterSleeps has a waiter that must sleep on a watch, and wakes it: first alone, and then on a second path, while its
// client also waits for a lock on a third one.
func WaiterSleeps(w *World) {
	w.sleepsAndWakes(func(*Session) {})
	w.Path += "-2"
	w.MakeParent()
	w.sleepsAndWakes(w.onAnotherPath)
}

// waitersOfTwoLocks has two waiters in one session, of two locks. Somebody holds the other lock by hand, with a
// node that is not ephemeral, and that has the name of the first lock's node.
func waitersOfTwoLocks(w *World) {
	holder, _ := w.holder()
	s, otherPath := w.Session(), w.Path+"-by-hand"
	byHand := otherPath + "/" + w.Nodes()[0]
	for _, node := range []string{otherPath, byHand} {
		w.MustCreate(s, node, nil, zk.FlagPersistent)
	}
	if !w.Subject.Queue { // the path of such a lock is that of the holder's node
		otherPath = byHand
	}
	otherResult := w.BeginLock(w.Subject.New(s.Conn, otherPath))
	w.Waits(otherResult, s, "a waiter of a lock that somebody holds by hand, with a node that is not ephemeral,")
	waiter, _, result := w.waiter(s)
	w.MustUnlock(holder, "the holder")
	w.Holds(result, "a waiter, in whose session another contender waits for another lock,")
	w.unlockLast(waiter, it)
	w.NoError(s.Delete(byHand, -1), "a waiter of a lock that somebody holds by hand has deleted another contender's node")
	w.Holds(otherResult, "the waiter of the other lock")

	WaiterSleeps(w)
}

// WaiterIsQuiet counts what a waiter sends while nothing happens.
func WaiterIsQuiet(w *World) {
	w.sleepsAndWakes(func(s *Session) {
		before, quiet := len(stage.RequestsOf(s)), 10*time.Second
		if w.Server == nil { // there, time is real
			quiet = 500 * time.Millisecond
		}
		time.Sleep(quiet) // in which nothing happens that a waiter could wait for
		// A lock may show now and then that its session lives: zklock sends two requests in a third of the session timeout.
		const few = 10
		sent := stage.RequestsOf(s)[before:]
		w.True(len(sent) <= few, "the waiter polls: it has sent %d requests in %v while nothing changed (%s); set a watch, "+
			"and sleep until its event comes", len(sent), quiet, ByKind(sent))
	})
}

// onAnotherPath has the client of a waiter wait for another lock, too, whose nodes have the same names.
func (w *World) onAnotherPath(waiters *Session) {
	w.Path += "-2"
	w.MakeParent()
	holder, _ := w.holder()
	waiter, _ := w.Contender(waiters)
	result := w.BeginLock(waiter)
	w.Waits(result, waiters, "a contender on another path")
	w.MustUnlock(holder, "a contender on another path")
	w.Holds(result, "a contender on another path")
	w.unlockLast(waiter, it)
}

// sleepsAndWakes has a waiter sleep while meanwhile runs and the lock is held, and get the lock after the release.
func (w *World) sleepsAndWakes(meanwhile func(s *Session)) {
	holder, _ := w.holder()
	waiter, s, result := w.waiter()
	meanwhile(s)
	w.Waits(result, s, "the waiter")
	w.MustUnlock(holder, "the holder")
	w.Holds(result, "the waiter, after the release,")
	w.unlockLast(waiter, it)
}

// LongHold has a holder that holds the lock for weeks, and whose session lives: no contender can know more of it.
func LongHold(w *World) {
	holder, holderSession := w.holder()
	h := &longHold{World: w, held: w.Nodes(), began: time.Now()}
	var waiters []Lock
	var sessions []*Session // of the waiters
	for range 2 {
		l, s := w.Contender()
		waiters = append(waiters, l)
		h.results = append(h.results, w.BeginLock(l))
		sessions = append(sessions, s)
		time.Sleep(time.Second) // whether it waits on a watch is another case
		h.stillHeld()
	}
	h.all = w.Nodes()

	h.letWeeksPass(holderSession, sessions[0])
	if w.Server != nil && !h.looksEnough(sessions[0]) {
		w.wakeOften(h.all)
		h.stillHeld()
	}

	// Nothing has become of the holder, and the waiters get in after it.
	tries, _ := w.Contender()
	if ok, err := w.TryLock(tries, "TryLock on a lock that has been held for weeks"); !errors.Is(err, errors.ErrUnsupported) {
		w.NoError(err, "TryLock on a lock that has been held for weeks fails: false says that another contender holds it")
		w.False(ok, "TryLock takes a lock that another contender has held for weeks: two holders")
	}
	h.stillHeld()
	w.MustUnlock(holder, "the holder, after weeks,")
	for range waiters {
		w.MustUnlock(waiters[w.nextHolder(h.results)], it)
	}
	w.NothingLeft()
}

// A longHold is a lock that one contender holds for weeks while others wait.
type longHold struct {
	*World
	began   time.Time
	held    []string       // the holder's node, or nodes
	all     []string       // the nodes once all wait; empty before
	results []<-chan error // of the waiters' Lock
}

// stillHeld fails if a waiter's Lock has returned, or a node has gone.
func (w *longHold) stillHeld() {
	after := time.Since(w.began)
	for i, result := range w.results {
		if len(result) > 0 {
			w.NoError(<-result,
				"the holder has held the lock for %v, and Lock of a waiter fails: Lock waits for as long as that takes", after)
			w.Failf("the holder has held the lock for %v, its session lives, and %s has got it: two holders; however long it "+
				"takes, only the holder or the end of its session ends a hold", after, stage.Contender(i+1))
		}
	}
	w.Has(w.Nodes(), w.held, "the holder has held the lock for %v, its session lives, and its node is gone, so that the "+
		"next contender gets in: two holders; a waiter cannot find out that a holder has hung, and no clock ends a hold: "+
		"only Unlock and the end of the session delete the node", after)
	w.Has(w.Nodes(), w.all, "a waiter has waited for %v, and its node is gone: another waiter has deleted another "+
		"contender's node, or it has left the queue", after)
}

// letWeeksPass lets weeks of virtual time pass, in longer and longer steps, or until a contender has looked enough.
func (w *longHold) letWeeksPass(holder, waiter *Session) {
	const weeks = 40 * 24 * time.Hour
	for step := time.Second; time.Since(w.began) < weeks && !w.looksEnough(waiter) && !w.looksEnough(holder); {
		time.Sleep(step)
		synctest.Wait()
		w.stillHeld()
		longest := max(10*time.Minute, time.Since(w.began)/4)
		step = min(2*step, longest)
	}
}

// looksEnough reports whether a lock that also looks now and then, besides its watch, has looked often enough: after
// half a minute, if it looks each millisecond; after three hours, if it looks each second or two.
func (w *longHold) looksEnough(s *Session) bool {
	const often, lessOften = 60_000, 6000
	looks := len(stage.RequestsOf(s))
	return looks >= often || looks >= lessOften && time.Since(w.began) > 3*time.Hour
}

// wakeOften wakes a waiter hundreds of times for nothing: it sets the nodes' data, and makes and deletes a child.
func (w *World) wakeOften(nodes []string) {
	admin := w.Session()
	for range 1100 { // a lock may count the times that it has woken, and give up at a thousand
		for _, node := range nodes {
			if !w.Server.Touch(w.Path + "/" + node) { // the lock is not a queue: its node is at the path
				w.Server.Touch(w.Path)
			}
		}
		if w.Subject.Queue {
			w.MustCreate(admin, w.Path+"/minutes", nil, zk.FlagEphemeral)
			require.NoError(w, admin.Delete(w.Path+"/minutes", -1))
		}
		time.Sleep(time.Millisecond)
	}
}

// MissingParents has contenders lock at a path above which no node is there.
func MissingParents(w *World) {
	w.MakeParent()
	first, _ := w.Contender()
	w.lockOnce(first, "the first contender")
	w.MustLock(first, "the first contender")
	w.Path += "-17+%d/lock-0000000000/read-write/λ μ/" + w.Nodes()[0] // like contenders' nodes, or like formats
	w.MustUnlock(first, "the first contender")

	a, _ := w.Contender()
	b, s := w.Contender()
	w.NoError(w.Result(w.BeginLock(a), "Lock where the parents are missing"),
		"Lock fails where the parents of its node are missing: make them when create returns zk.ErrNoNode")
	result := w.BeginLock(b)
	w.Waits(result, s, "the second contender")
	w.MustUnlock(a, "the first contender")
	w.Holds(result, "the second contender")
	w.unlockLast(b, "the second contender")

	admin := w.Session()
	w.removeParents(admin)
	w.lockOnce(a, "the first contender, whose parents have gone,")
	if w.Server != nil {
		w.parentsChangeDuringTryLock(admin)
	}
}

// removeParents removes the path of the lock and all above it.
func (w *World) removeParents(admin *Session) {
	for p := w.Path; p != "/"; p = path.Dir(p) {
		require.Contains(w, []error{nil, zk.ErrNoNode, zk.ErrNotEmpty}, admin.Delete(p, -1))
	}
}

// parentsChangeDuringTryLock has somebody make the parents, or make and remove them, between two requests of TryLock.
func (w *World) parentsChangeDuringTryLock(admin *Session) {
	makeParents := func() { w.MakeParents(admin.Conn, zk.WorldACL(zk.PermAll)) }
	w.EachRequest(func(n int) bool {
		for _, change := range []func(){func() { w.removeParents(admin) }, makeParents} {
			w.removeParents(admin)
			l, s := w.Contender()
			held := w.Server.Hold(stage.NthRequest(s, n))
			tried, ok := w.beginTryLock(l)
			if !w.HitOrReturns(held, tried) {
				return false
			}
			change()
			held.Release()
			err := w.Result(tried, i18n.Same("TryLock"))
			w.True(*ok || err != nil, "request %d of TryLock, %v, was on its way, and somebody made or removed the parents: "+
				"nobody holds the lock, and TryLock returns false and no error; only the create of the lock's own node "+
				"says whether another contender holds it", n, stage.RequestKind(s, n))
			w.UnlockErr(l, it)
		}
		return true
	})
}

func tryLockFree(w *World) {
	a, _ := w.Contender()
	for range 2 { // the second time it has let go
		ok, err := w.TryLock(a, "TryLock on a free lock")
		w.NoError(err, "TryLock on a free lock fails")
		w.True(ok, "TryLock returns false, and the lock is free")
		w.MustUnlock(a, "the contender that took the lock with TryLock")
	}
	w.NothingLeft()
}

// TryLockHeld tries to lock beside a holder, whatever the numbers of the two nodes are.
func TryLockHeld(w *World) {
	holder, holderSession := w.holder()
	before := w.Nodes()
	other, _ := w.Contender()
	neighbour, _ := w.Contender(holderSession) // a node of its session is not its own
	// One digit differs, or one byte: a lock may compare only a part of the two numbers.
	distances := []int{1, 10, 100, 1 << 8, 1000, 10_000, 1 << 16, 100_000, 1_000_000, 10_000_000, 1 << 24, 100_000_000, 1_000_000_000}
	for i, distance := range distances {
		w.setNextNumber(before, distance)
		contender, note := other, i18n.Same("")
		if i%2 == 1 {
			contender, note = neighbour, ", which has the same session: a node of your session need not be yours"
		}
		began := time.Now()
		ok, err := w.TryLock(contender, "TryLock on a held lock")
		w.True(w.Server == nil || time.Since(began) < 10*time.Millisecond,
			"TryLock on a held lock takes %v: it waits for nobody", time.Since(began))
		w.NoError(err, "TryLock on a held lock fails: false says that another contender holds it")
		w.False(ok, "TryLock takes a lock that another contender holds%s: two holders", note)
	}
	w.WaitUntil(func() bool { return slices.Equal(before, w.Nodes()) },
		"TryLock has returned false and has left a node behind: it blocks every contender that comes later")

	w.MustUnlock(holder, "the holder")
	w.WaitWhileKept(0)
	ok, err := w.TryLock(other, "TryLock on a lock that has been let go")
	w.NoError(err, "TryLock on a lock that has been let go fails")
	w.True(ok, "TryLock returns false on a lock that has been let go")
	w.unlockLast(other, "the contender that took the lock with TryLock")
}

const digits = 10 // of the number that the server appends to a sequential node's name

// setNextNumber gives the next node in the queue a number at this distance from that of the holder's node: a lock that
// does not compare all digits takes the two for the same. The node of a lock that is not a queue has no number.
func (w *World) setNextNumber(holder []string, distance int) {
	if w.Server == nil || len(holder) == 0 {
		return
	}
	number := holder[0][max(0, len(holder[0])-digits):]
	if n, err := strconv.Atoi(number); err == nil {
		w.Server.SetSequence(w.Path, int32(n+distance))
	}
}

// tryLockRaces holds back each request of a TryLock in turn, while another contender asks for the lock.
func tryLockRaces(w *World) {
	w.EachRequest(func(n int) bool {
		l, s := w.Contender()
		other, otherSession := w.Contender()
		held := w.Server.Hold(stage.NthRequest(s, n))
		tried, ok := w.beginTryLock(l)
		met := w.HitOrReturns(held, tried)
		result := w.BeginLock(other)
		w.Eventually("the other contender has the lock, or waits", func() bool { return len(result) > 0 || otherSession.Sleeps() })
		otherWaits := len(result) == 0 // behind the TryLock, which must therefore get the lock
		held.Release()
		w.WaitOrSayWhy(func() bool { return len(tried) > 0 }, "another contender has taken the lock while request %d of TryLock, "+
			"%v, was on its way, and TryLock waits for it: TryLock waits for nobody%s", n, stage.RequestKind(s, n))
		w.NoError(<-tried, "another contender has asked for the lock while request %d of TryLock was on its way, and TryLock fails", n)

		if *ok {
			if len(result) > 0 {
				w.NoError(<-result, "Lock of the other contender fails")
				w.Failf("another contender has taken the lock while request %d of TryLock was on its way, and TryLock takes "+
					"it, too: two holders", n)
			}
			w.MustUnlock(l, "the contender that took the lock with TryLock")
		} else if otherWaits {
			w.Failf(
				"another contender has queued behind TryLock while request %d of it, %v, was on its way, and TryLock returns "+
					"false, though nobody holds the lock: only the nodes of contenders before its own count", n, stage.RequestKind(s, n))
		}

		w.Holds(result, "the other contender")
		w.MustUnlock(other, it)
		w.lockOnce(l, "the contender that has called TryLock before")
		w.noNodeStays(i18n.Textf("another contender has taken the lock while request %d of TryLock was on its way", n))
		w.True(met || n > 1, "TryLock sends no request")
		return met
	})
}

func unlockByNonHolder(w *World) {
	holder, s := w.Contender()
	stranger, _ := w.Contender()
	neighbour, _ := w.Contender(s) // in the holder's own session
	w.MustLock(holder, "the holder")
	freesNothing := func(l Lock, name i18n.Text) {
		before := w.Nodes()
		err := w.UnlockErr(l, name)
		w.Equal(before, w.Nodes(),
			"%s has deleted another contender's node, the holder's: delete only the node that this contender has made", name)
		w.IsNotLocked(err, name)
	}
	freesNothing(stranger, "Unlock by a contender that does not hold the lock")
	freesNothing(neighbour, "Unlock by another contender of the holder's session")
	ok, _ := w.TryLock(stranger, "TryLock on a held lock")
	w.False(ok, "Unlock by a contender that does not hold the lock has freed it: two holders")
	w.NotLocked(stranger, "Unlock after TryLock has returned false")

	waiter, _, result := w.waiter()
	w.MustUnlock(holder, "the holder")
	w.Holds(result, "the waiter")
	freesNothing(holder, "the second Unlock")
	w.MustUnlock(waiter, "the new holder")
	w.NotLocked(stranger, "Unlock of a lock that no contender holds")
	w.NothingLeft()
}

// NoPermission has a parent that only another user may write to.
func NoPermission(w *World) {
	admin := w.Session()
	require.NoError(w, admin.AddAuth("digest", []byte("admin:secret")))
	w.MakeParents(admin.Conn, zk.DigestACL(zk.PermAll, "admin", "secret"))
	// The parent cannot be used, and below it one cannot be made.
	for _, at := range []string{w.Path, w.Path + "/%d %v"} {
		l := w.Subject.New(w.Session().Conn, at)
		ok, err := w.TryLock(l, "TryLock without permission")
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("%s: %w", at, zk.ErrNoAuth) // it has no TryLock
		}
		w.HasError(err,
			`TryLock takes the error "no permission" for "another contender holds the lock": only zk.ErrNodeExists says that`)
		w.False(ok, "TryLock without permission returns true")
		for _, err := range []error{err, w.Result(w.BeginLock(l), "Lock without permission")} {
			w.ErrorIs(err, zk.ErrNoAuth, "Lock and TryLock without permission must return an error that wraps the client's")
			w.namesTheLock(err)
		}
		w.NotLocked(l, "Unlock after a Lock that failed")
	}
	if w.Server != nil {
		w.noRightToRead("/read/node", func(holder *Session) string { return w.NodesOf(holder)[0] })
		w.noRightToRead("/read/queue", func(*Session) string { return w.Path })
	}
}

// noRightToRead has a contender lock at a path where somebody takes away the right to read a node, which nodeOf names.
func (w *World) noRightToRead(at string, nodeOf func(holder *Session) string) {
	w.Path = at
	_, holderSession := w.holder()
	_, err := w.Session().SetACL(nodeOf(holderSession), zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
	require.NoError(w, err)
	l, s := w.Contender()
	result := w.BeginLock(l)
	w.WaitFor(10*time.Minute, func() bool { return len(result) > 0 || s.Sleeps() })
	if returned := !w.waitsAgain(result, s); returned { // else it waits for an event that the server will not send
		err := w.Result(result, "Lock without permission")
		w.HasError(err, "a waiter may not read the holder's node, or the queue, and its Lock returns no error while "+
			"another contender holds the lock: two holders")
		w.ErrorIs(err, zk.ErrNoAuth, "Lock and TryLock without permission must return an error that wraps the client's")
		w.namesTheLock(err)
	}
}
