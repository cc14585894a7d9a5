package scenes

import (
	"strings"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/player"
)

// The bugs of article A's two listings. The locks and worlds with a name are in worlds.go.
var articleA = []Bug{
	{
		// The article's lock tries without end. Ours returns the error, as it should.
		ID: "A1", Step: step1, Cure: mayFail(naive),
		Title:   Text{En: "every error means held, and the stack grows", Zh: "任何错误都被当成“锁被占用”，调用栈越来越深"},
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.Endless},
		World: player.World{Lock: player.Subject{Path: "/private/lock"}, Contenders: 1, Forbidden: true},
	},
	{
		ID: "A2", Step: step1, Cure: naive,
		Title:   Text{En: "unlock deletes its successor's node", Zh: "unlock 删除了后来者的节点"},
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.Stop), Kinds: []player.Kind{player.ForeignDelete},
		// Both have made the node and hold the lock. The next holder has not unlocked.
		Like: func(tr *player.Trace) bool {
			made := countEntries(tr, func(e player.Entry) bool { return e.Kind == "reply" && e.Op == "create" && e.Err == "" })
			unlocks := countEntries(tr, func(e player.Entry) bool { return e.Text.En == "unlocks" })
			return made == 2 && unlocks == 1 && tr.Knows(player.Outlived)
		},
	},
	{
		ID: "A3", Step: step1, Cure: stackChecked(naive, "(*Lock).Lock"),
		Title:   Text{En: "each lost race adds a frame to the stack", Zh: "每抢输一次，调用栈就多一层"},
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.StackGrows}, Search: atRandom,
		World: player.World{Lock: stackChecked(bare, "(*zookeeperLock).Lock"), Scripts: repeats},
		Goal:  Text{En: "Make the calls of lock() pile up on the stack.", Zh: "让 lock() 的调用在栈上越堆越深。"},
	},
	{
		ID: "A4", Step: step1, Cure: naive,
		Title:   Text{En: "a waiter whose session is gone never wakes", Zh: "会话已失效的等待者永远不会被唤醒"},
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.Expire), Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A5", Step: step1, Cure: complete,
		Title:   Text{En: "the reply to create is lost: the client waits for itself", Zh: "create 的响应丢失：客户端在等自己"},
		Listing: listings.NewZookeeperLock, World: oneFaultAmong(1, bare, player.LoseReply), Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A6", Step: step1, Cure: herd,
		Title:   Text{En: "waiters have no order: a slow one starves", Zh: "等待者没有次序：慢的那个会陷入饥饿"},
		Listing: listings.NewZookeeperLock, Kinds: []player.Kind{player.Starves}, Search: atRandom,
		World: player.World{Lock: player.Subject{Bypass: cycles - 1}, Scripts: repeats},
		Goal:  Text{En: "Let A get in three times while B waits.", Zh: "让 A 在 B 等待期间连续三次拿到锁。"},
	},
	{
		ID: "A7", Step: step3, Cure: predecessor,
		Title:   Text{En: "a release before the latch exists is lost", Zh: "latch 创建之前的释放通知会丢失"},
		Listing: listings.NewZkClientLock, World: player.World{Lock: queue}, Kinds: []player.Kind{player.Hang},
	},
	{
		ID: "A8", Step: step3, Cure: predecessor,
		Title:   Text{En: "a waiter whose own node is gone panics", Zh: "自己的节点被删除后，等待者会崩溃"},
		Listing: listings.NewZkClientLock, World: oneFaultAmong(3, queue, player.Expire), Kinds: []player.Kind{player.Crash},
		Like:  func(tr *player.Trace) bool { return strings.Contains(tr.Violation.What.En, "out of range [-") },
		Level: Level{Route: route("A: request,B: request,A: request,B: request,C: request,B: request,B: request,C: request,B: expire,B: reconnect,A: unlock,C: request,B: reconnect,C: request,B: request,gap A7: go on,A: request,B: request")},
	},
	{
		ID: "A9", Step: step3, Cure: predecessor,
		Title:   Text{En: "the second lock() on the same object panics", Zh: "同一对象第二次 lock() 会崩溃"},
		Listing: listings.NewZkClientLock, Kinds: []player.Kind{player.Crash},
		World: player.World{Lock: queue, Scripts: [][]player.Op{lockTimes(2)}},
	},
	{
		ID: "A10", Step: step3, Cure: predecessor,
		Title:   Text{En: "lock() throws if the parent does not exist", Zh: "父节点不存在时，lock() 抛出异常"},
		Listing: listings.NewZkClientLock, World: player.World{Missing: true}, Kinds: []player.Kind{player.Crash},
	},
	{
		ID: "A11", Step: step1, Cure: naive,
		Title:   Text{En: "an exception while it waits: lock() just returns", Zh: "等待时发生异常：lock() 直接返回"},
		Listing: listings.NewZookeeperLock, World: oneFault(bare, player.LoseRequest), Kinds: []player.Kind{player.TwoHolders},
	},
}
