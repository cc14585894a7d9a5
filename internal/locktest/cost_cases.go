package locktest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/testenv"
)

// The cases of cost: requests and watch events that are counted, and watches and goroutines that are left.

// ByKind returns how many requests there are of each kind, for a message.
func ByKind(requests []jute.Op) i18n.Text {
	counts := make(map[jute.Op]int)
	for _, op := range requests {
		counts[op]++
	}
	var kinds []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%v %d", op, counts[op]))
	}
	return i18n.List(kinds)
}

// WatchesLeft looks for watches where nothing is left to wait for: after ReleaseBeforeWatch, whose releases come while
// a waiter is about to wait, after a TryLock, and after the Unlock of a holder whose session has expired.
func WatchesLeft(w *World) {
	ReleaseBeforeWatch(w)
	holder, holderSession := w.holder()
	other, s := w.Contender()
	if w.Subject.FindsNode { // its search may leave one, too
		w.Server.LoseReply(stage.Creates(s))
	}
	_, err := w.TryLock(other, "TryLock on a held lock")
	if hasTryLock := !errors.Is(err, errors.ErrUnsupported); hasTryLock {
		w.True(s.Tap.Armed() == 0, "TryLock has returned and has left a watch behind")
	}

	w.Expire(holderSession)
	w.Renewed(holderSession, "the old holder's client has a new session")
	next, _ := w.holder()
	w.UnlockErr(holder, "Unlock after the session has expired")
	w.True(holderSession.Tap.Armed() == 0, "Unlock of a holder whose session has expired has left a watch behind: Get looks and "+
		"sets none")
	w.UnlockErr(next, "the next holder") // if its node was deleted, another case says so
	time.Sleep(w.Keeps)                  // for how long a node may stay, with a watch, when nobody holds the lock
	w.NoWatches()
}

// GoroutinesLeft looks for goroutines of the lock after a wait, a search, a session's end, and that of its node.
func GoroutinesLeft(w *World) {
	WaiterSleeps(w)
	if w.Subject.FindsNode {
		replyLost(w)
	}
	expiredWaiter(w)
	if w.Subject.Queue {
		l, result := w.queueGoes(w.Session(), func() {})
		if w.Result(result, "Lock of a contender whose queue has gone") == nil { // NodeGoes says whether that is right
			w.UnlockErr(l, "Unlock of a holder whose node has gone")
		}
	}
	w.closesWhileItCleansUp()
	w.NoGoroutines()
}

// closesWhileItCleansUp has each delete of a TryLock on a held lock lost. If it returns, its client is closed while what
// it has left behind may be cleaning up.
func (w *World) closesWhileItCleansUp() {
	holder, _ := w.holder()
	l, s := w.Contender()
	back := w.CutOff(w.Server.LoseRequest, s, jute.OpDelete)
	result := w.Aside("TryLock", func() error { return testenv.Err(l.TryLock()) })
	time.Sleep(longWait) // of virtual time
	if len(result) > 0 {
		s.Close()
	}
	back()
	w.Result(result, "TryLock, each of whose deletes was lost for a while,")
	w.MustUnlock(holder, "the holder")
}

func WakeUps(w *World) {
	if w.Subject.WakeUps == nil {
		w.Skip(i18n.Text("Subject.WakeUps is nil: there is no prediction of the watch events to compare with"))
	}
	advice := i18n.Text("watch only the node before your own")
	if w.Subject.Permits {
		advice = "with p permits watch only the p nodes just before yours"
	}
	for _, waiters := range []int{1, 13} { // with one, a lock that wakes all and one that wakes one look the same
		locks, results, sessions := w.queue(waiters + 1)
		holder := 0
		done := map[int]bool{0: true} // the contenders that wait no longer
		if middle := 5; middle < waiters && w.Subject.Queue {
			w.Vanishes(sessions[middle]) // the one behind it wakes, and has another one before it
			w.waitsAgain(results[middle+1], sessions[middle+1])
			results[middle], done[middle] = nil, true
			waiters--
		}
		for waiting := waiters; waiting > 0; waiting-- {
			before := Events(sessions, done)
			w.MustUnlock(locks[holder], stage.Contender(holder))
			holder = w.nextHolder(results)
			w.Eventually("all others wait again", func() bool { return othersWait(sessions, done, holder) })
			sent, predicted := int(Events(sessions, done)-before), w.Subject.WakeUps(waiting)
			wakesAll := sent >= waiting && predicted < waiting
			w.False(wakesAll, "you wake everybody: a release with %d waiting sent %d watch events, and %d was predicted (the herd "+
				"effect); %s", waiting, sent, predicted, advice)
			w.True(sent == predicted, "a release with %d waiting sent %d watch events, and %d was predicted (Subject.WakeUps)",
				waiting, sent, predicted)
			done[holder] = true
		}
		w.unlockLast(locks[holder], "the last")
		if w.Subject.Queue {
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}

// othersWait reports whether all contenders wait but the holder and those that are done.
func othersWait(sessions []*Session, done map[int]bool, holder int) bool {
	for i, s := range sessions {
		if i != holder && !done[i] && !s.Sleeps() {
			return false
		}
	}
	return true
}

// Events counts the watch events that were sent to contenders that are not done.
func Events(sessions []*Session, done map[int]bool) (n int64) {
	for i, s := range sessions {
		if !done[i] {
			n += s.Tap.Counts().Events
		}
	}
	return n
}

// requestCount counts the requests of a few contenders, as Subject.Requests describes them.
func requestCount(w *World) {
	if w.Subject.Requests == nil {
		w.Skip(i18n.Text("Subject.Requests is nil: there is no prediction of the requests to compare with"))
	}
	for _, n := range []int{1, 2, 3, 10} { // contenders
		locks, results, sessions := w.queue(n)
		holder := 0
		done := make(map[int]bool) // the contenders that wait no longer
		for waiting := n - 1; waiting >= 0; waiting-- {
			w.Eventually("all others wait", func() bool { return othersWait(sessions, done, holder) })
			w.MustUnlock(locks[holder], "the holder")
			done[holder] = true
			if waiting > 0 {
				holder = w.nextHolder(results)
			}
		}
		requests := stage.RequestsOf(sessions...)
		if predicted := w.Subject.Requests(n); len(requests) != predicted {
			contenders := i18n.Textf("%d contenders that arrive one by one", n)
			if n == 1 {
				contenders = "one contender alone"
			}
			w.Failf("%s: %d requests in all, and %d were predicted (Subject.Requests): %s", contenders, len(requests),
				predicted, ByKind(requests))
		}
		if w.Subject.Queue {
			w.NothingLeft()
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}
