package locktest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// ByKind counts requests.
func ByKind(requests []jute.Op) string {
	counts := make(map[jute.Op]int)
	for _, op := range requests {
		counts[op]++
	}
	var kinds []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		kinds = append(kinds, fmt.Sprintf("%v %d", op, counts[op]))
	}
	return strings.Join(kinds, ", ")
}

// WatchesLeft looks for watches where nothing is left to wait for: after a release
// that comes while a waiter is about to wait, and after a TryLock.
func WatchesLeft(w *World) {
	ReleaseBeforeWatch(w)
	w.NoWatches()
	holder, _ := w.holder()
	other, s := w.Contender()
	if _, err := w.Try(other, "TryLock on a held lock"); !errors.Is(err, errors.ErrUnsupported) {
		require.Zero(w, s.Tap.Armed(), "TryLock has returned and has left a watch behind")
	}
	w.Unlock(holder, "the holder")
	w.NoWatches()
}

// GoroutinesLeft looks for goroutines of the lock after a wait and a session's end.
func GoroutinesLeft(w *World) {
	WaiterSleeps(w)
	ExpiredWaiter(w)
	w.NoGoroutines()
}

// WakeUps measures the first release, before which a contender came last, and
// those after it.
func WakeUps(w *World) {
	if w.Subject.WakeUps == nil {
		w.Skip("Subject.WakeUps is nil: there is no prediction of the watch events to compare with")
	}
	for n := 1; n <= 12; n += 11 {
		locks, results, sessions := w.queue(n + 1)
		holder := 0
		done := map[int]bool{0: true}
		for waiting := n; waiting > 0; waiting-- {
			before := Events(sessions, done)
			w.Unlock(locks[holder], fmt.Sprintf("contender %d", holder))
			w.WaitUntil("a contender has the lock", func() bool {
				holder = FirstIn(results)
				return holder >= 0
			}, func() string { return fmt.Sprintf("a release with %d waiting wakes no contender%s", waiting, w.Why()) })
			require.NoError(w, <-results[holder], "Lock of contender %d fails", holder)
			w.Eventually("all others wait again", func() bool { return othersWait(sessions, done, holder) })
			sent, predicted := int(Events(sessions, done)-before), w.Subject.WakeUps(waiting)
			switch {
			case sent > predicted && sent >= waiting && predicted < waiting:
				w.Fatalf("you wake everybody: a release with %d waiting sent %d watch events, and %d was predicted (the herd effect); watch only the node before yours", waiting, sent, predicted)
			case sent != predicted:
				w.Fatalf("a release with %d waiting sent %d watch events, and %d was predicted (Subject.WakeUps)", waiting, sent, predicted)
			}
			done[holder] = true
		}
		w.Unlock(locks[holder], "the last")
		w.NothingLeft()
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

// Events counts the watch events that were sent to contenders that are not
// done.
func Events(sessions []*Session, done map[int]bool) (n int64) {
	for i, s := range sessions {
		if !done[i] {
			n += s.Tap.Counts().Events
		}
	}
	return n
}

func requestCount(w *World) {
	if w.Subject.Requests == nil {
		w.Skip("Subject.Requests is nil: there is no prediction of the requests to compare with")
	}
	for _, n := range []int{1, 2, 3, 10} {
		locks, results, sessions := w.queue(n)
		holder := 0
		done := make(map[int]bool)
		for waiting := n - 1; waiting >= 0; waiting-- {
			w.Eventually("all others wait", func() bool { return othersWait(sessions, done, holder) })
			w.Unlock(locks[holder], "the holder")
			done[holder] = true
			if waiting > 0 {
				w.Eventually("a contender has the lock", func() bool {
					holder = FirstIn(results)
					return holder >= 0
				})
				require.NoError(w, <-results[holder], "Lock of contender %d fails", holder)
			}
		}
		requests := stage.RequestsOf(sessions...)
		if predicted := w.Subject.Requests(n); len(requests) != predicted {
			w.Fatalf("%d contenders that arrive one by one send %d requests in all, and %d were predicted (Subject.Requests): %s", n, len(requests), predicted, ByKind(requests))
		}
		if w.Subject.Queue {
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}
