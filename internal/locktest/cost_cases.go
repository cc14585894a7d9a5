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
)

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

// WatchesLeft looks for watches where nothing is left to wait for: after a release that comes while a waiter is about
// to wait, after a TryLock, and after the Unlock of a holder whose session has expired.
func WatchesLeft(w *World) {
	ReleaseBeforeWatch(w)
	holder, hs := w.holder()
	other, s := w.Contender()
	if _, err := w.Try(other, i18n.Textf("TryLock on a held lock", "锁在别人手里时调用 TryLock")); !errors.Is(err, errors.ErrUnsupported) {
		w.True(s.Tap.Armed() == 0, "TryLock has returned and has left a watch behind", "TryLock 返回之后留下了监听")
	}
	w.Expire(hs)
	w.Renewed(hs, i18n.Textf("the old holder's client has a new session", "原持有者的客户端有了新会话"))
	next, _ := w.holder()
	w.UnlockErr(holder, i18n.Textf("Unlock after the session has expired", "会话过期之后的 Unlock"))
	w.True(hs.Tap.Armed() == 0, "Unlock of a holder whose session has expired has left a watch behind: Get looks and sets none", "会话已过期的持有者的 Unlock 留下了监听：Get 只查看，不设监听")
	w.UnlockErr(next, i18n.Textf("the next holder", "下一个持有者")) // if its node was deleted, another case says so
	time.Sleep(w.Keeps)                                        // until then its node may stay, with a watch
	w.NoWatches()
}

// GoroutinesLeft looks for goroutines of the lock after a wait and a session's end.
func GoroutinesLeft(w *World) {
	WaiterSleeps(w)
	expiredWaiter(w)
	w.NoGoroutines()
}

// WakeUps measures the first release, before which a contender came last, and those after it.
func WakeUps(w *World) {
	if w.Subject.WakeUps == nil {
		w.Skip(i18n.Textf("Subject.WakeUps is nil: there is no prediction of the watch events to compare with", "Subject.WakeUps 为 nil：没有可供比较的监听事件数"))
	}
	for _, waiters := range []int{1, 12} {
		locks, results, sessions := w.queue(waiters + 1)
		holder := 0
		done := map[int]bool{0: true}
		for waiting := waiters; waiting > 0; waiting-- {
			before := Events(sessions, done)
			w.Unlock(locks[holder], stage.Contender(holder))
			holder = w.next(results)
			w.Eventually(i18n.Textf("all others wait again", "其余竞争者又都在等待"), func() bool { return othersWait(sessions, done, holder) })
			sent, predicted := int(Events(sessions, done)-before), w.Subject.WakeUps(waiting)
			switch {
			case sent > predicted && sent >= waiting && predicted < waiting:
				w.Failf(
					"you wake everybody: a release with %d waiting sent %d watch events, and %d was predicted (the herd effect); %s", "你唤醒了所有等待者：有 %d 个等待者时释放一次，发出了 %d 个监听事件，应为 %d 个（惊群效应）；%s", waiting, sent, predicted, w.Subject.watchOnly())
			case sent != predicted:
				w.Failf(
					"a release with %d waiting sent %d watch events, and %d was predicted (Subject.WakeUps)", "有 %d 个等待者时释放一次，发出了 %d 个监听事件，应为 %d 个（Subject.WakeUps）", waiting, sent, predicted)
			}
			done[holder] = true
		}
		w.unlockLast(locks[holder], i18n.Textf("the last", "最后一个"))
		if w.Subject.Queue {
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}

// watchOnly is what a waiter has to watch.
func (s Subject) watchOnly() i18n.Text {
	if s.Permits {
		return i18n.Textf("with p permits watch only the p nodes just before yours", "有 p 个许可，就只监听紧挨在自己前面的 p 个节点")
	}
	return i18n.Textf("watch only the node before yours", "请只监听前驱节点")
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

func requestCount(w *World) {
	if w.Subject.Requests == nil {
		w.Skip(i18n.Textf("Subject.Requests is nil: there is no prediction of the requests to compare with", "Subject.Requests 为 nil：没有可供比较的请求数"))
	}
	for _, n := range []int{1, 2, 3, 10} {
		locks, results, sessions := w.queue(n)
		holder := 0
		done := make(map[int]bool)
		for waiting := n - 1; waiting >= 0; waiting-- {
			w.Eventually(i18n.Textf("all others wait", "其余竞争者都在等待"), func() bool { return othersWait(sessions, done, holder) })
			w.Unlock(locks[holder], i18n.Textf("the holder", "持有者"))
			done[holder] = true
			if waiting > 0 {
				holder = w.next(results)
			}
		}
		requests := stage.RequestsOf(sessions...)
		if predicted := w.Subject.Requests(n); len(requests) != predicted {
			contenders := i18n.Textf("%d contenders that arrive one by one", "%d 个竞争者各加锁一次", n)
			if n == 1 {
				contenders = i18n.Textf("one contender alone", "单个竞争者加锁一次")
			}
			w.Failf("%s: %d requests in all, and %d were predicted (Subject.Requests): %s", "%s，共发了 %d 个请求，应为 %d 个（Subject.Requests）：%s", contenders, len(requests), predicted, ByKind(requests))
		}
		if w.Subject.Queue {
			w.NothingLeft()
			require.NoError(w, w.Session().Delete(w.Path, -1))
		}
	}
}
