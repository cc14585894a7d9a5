package scenes

import (
	"context"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/zklock"
)

// Z is not an article: these are two ways to guard writes to ZooKeeper itself that are
// often proposed.
var articleZ = []Bug{
	{
		ID: "Z1", Step: library, Cure: late(byGuard).under(complete),
		Title: Text{En: "a check of the holder's node lets a late write pass", Zh: "检查持有者的节点，放过了迟到的写入"},
		World: explore.World{Lock: late(byNode).under(complete), Shared: true}, Kinds: []explore.Kind{explore.LostAddition}, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is zklock, and A and B are goroutines of one process. Each holder reads a number from /stock, and writes it back with one added, in a transaction that checks that the holder's node exists. A has a goroutine write, and unlocks without waiting for it.",
			Zh: "锁是 zklock，A 和 B 是同一个进程的 goroutine。每个持有者从 /stock 读一个数，加一后写回，写入的事务检查持有者的节点存在。A 把写入交给一个 goroutine，不等它就释放锁。",
		},
		Level: Level{
			Name:  Text{En: "The same node", Zh: "同一个节点"},
			Intro: Text{En: "The lock is zklock, and A and B are goroutines of one process. Each write to /stock is carried out only if the holder's node exists. A leaves its write to a goroutine, and unlocks.", Zh: "锁是 zklock，A 和 B 是同一个进程的 goroutine。只有持有者的节点存在，对 /stock 的写入才会执行。A 把写入交给一个 goroutine，随即释放锁。"},
			Hints: []Text{
				{En: "By which node does B hold the lock after A?", Zh: "A 之后，B 凭哪个节点持有锁？"},
				{En: "A's write has to come late: after B has read the number, and before B unlocks.", Zh: "A 的写入要迟到：在 B 读完数之后，B 释放之前。"},
				{En: "Let A unlock, and let B read. Then let A's write go on, and after that B's.", Zh: "让 A 释放，让 B 读数。然后放行 A 的写入，最后才是 B 的。"},
			},
			Victory: Text{En: "The late writer had unlocked, and the next holder held the lock: by the same node, because goroutines of a process hand the lock on in memory. So the check of the late write succeeded, and one addition is lost. Rule: a node stands for a process's place in the queue, not for one holder. Zklock's Guard has a node that is named after the token, and each holder has a token of its own.", Zh: "迟到的写入者已经释放，持有锁的是下一个，凭的却是同一个节点，因为同一进程的 goroutine 在内存里交接锁。所以迟到的写入通过了检查，有一次加一丢失了。要点：节点代表的是进程在队列里的位置，不是某一个持有者。zklock 的 Guard 用令牌给节点命名，而每个持有者的令牌都不同。"},
		},
		Stops: []Stop{
			{At: 1 * ms, Text: Text{En: "A and B are goroutines of one process. Their Mutex makes one node for both.", Zh: "A 和 B 是同一个进程的 goroutine，共用的 Mutex 只创建一个节点。"}, States: "waits waits"},
			{At: 201 * ms, Text: Text{En: "The node is there, and no other: it is the first in the queue.", Zh: "节点已经创建，排在第一：队列里没有别的节点。"}, States: "waits waits", Nodes: "client"},
			{At: 901 * ms, Text: Text{En: "A holds the lock, and has read the number in /stock: 0.", Zh: "A 持有锁，读到 /stock 里的数是 0。"}, States: "holds waits", Nodes: "client"},
			{At: 1101 * ms, Text: Text{En: "A has left its write to a goroutine, and has unlocked. Nothing was sent for that: the lock is B's now, by the same node.", Zh: "A 把写入交给一个 goroutine，已经释放了锁。释放没有发任何请求：锁现在归 B，凭的是同一个节点。"}, States: "done waits", Nodes: "client"},
			{At: 1601 * ms, Text: Text{En: "B has read the number, too: 0. A's write is on its way.", Zh: "B 也读到了 0。A 的写入正在路上。"}, States: "done holds", Nodes: "client"},
			{At: 2101 * ms, Text: Text{En: "A's write has been carried out: its check found the node. /stock is 1, and B does not know.", Zh: "A 的写入执行了：检查发现节点还在。/stock 现在是 1，B 并不知道。"}, States: "done unlocks", Nodes: "client"},
			{At: 2601 * ms, Text: Text{En: "B has written what it has computed from 0: 1. Its node has gone.", Zh: "B 写入了根据 0 算出的 1，节点也已删除。"}, States: "done unlocks"},
			{At: 2701 * ms, Text: Text{En: "Two have added one each, and /stock is 1. With a Guard the check names the token, and A's write is refused.", Zh: "两个持有者各加了一，/stock 却是 1。用 Guard 时，检查的是以令牌命名的节点，A 的写入会被拒绝。"}, States: "done done", Broken: true},
		},
	},
	{
		ID: "Z2", Step: library, Cure: late(byGuard).under(complete),
		Title: Text{En: "the version of a node that was made again is the same", Zh: "节点重建之后，版本号还是同一个"},
		World: explore.World{Lock: late(byVersion).under(complete)}, Kinds: []explore.Kind{explore.LostAddition}, Search: atRandom, Goal: lostAddition,
		Substitute: Text{
			En: "The lock is zklock, in two processes. Each holder makes the node /guard, writes its token there, and deletes the node before it unlocks. It reads a number from /stock, and writes it back with one added, in a transaction that checks the version of /guard. A has a goroutine write, and unlocks without waiting for it.",
			Zh: "锁是 zklock，A 和 B 在两个进程里。每个持有者创建节点 /guard，写入自己的 fencing token（隔离令牌），释放锁之前再删掉它。持有期间从 /stock 读一个数，加一后写回，写入的事务检查 /guard 的版本号。A 把写入交给一个 goroutine，不等它就释放锁。",
		},
		Level: Level{
			Name:  Text{En: "The same version", Zh: "同一个版本号"},
			Intro: Text{En: "The lock is zklock, in two processes. A holder makes /guard, writes its token there, and notes the version; it deletes /guard before it unlocks. Each write to /stock is carried out only if /guard has that version. A leaves its write to a goroutine, and unlocks.", Zh: "锁是 zklock，A 和 B 在两个进程里。持有者创建 /guard，写入令牌，记下版本号；释放锁之前删掉 /guard。只有 /guard 还是那个版本号，对 /stock 的写入才会执行。A 把写入交给一个 goroutine，随即释放锁。"},
			Hints: []Text{
				{En: "Which version has a node that was deleted and made again?", Zh: "一个节点删掉之后重新创建，版本号是多少？"},
				{En: "Let A lock and unlock, and keep its write back. Then let B lock, and make /guard again.", Zh: "让 A 加锁、释放，扣住它的写入。然后让 B 加锁，重新创建 /guard。"},
				{En: "B has the lock. Let it write its token to /guard and read the number. Then let A's write go on, before B's.", Zh: "B 拿到了锁。让它把令牌写入 /guard，读完数。然后放行 A 的写入，赶在 B 之前。"},
			},
			Victory: Text{En: "The next holder had made /guard again and written its token there. The versions of a new node begin at 0, so /guard had the version that the late writer had noted, and the late write passed its check. Rule: a version tells apart the states of one node, not those of two nodes with one name. Zklock's Guard checks a node that is named after the token: no later holder makes that one.", Zh: "下一个持有者重新创建了 /guard，写入了自己的令牌。新节点的版本号从 0 开始，所以 /guard 的版本号又和迟到的写入者记下的一样，那次写入通过了检查。要点：版本号区分的是同一个节点的先后状态，区分不了同名的两个节点。zklock 的 Guard 检查的节点以令牌命名，后来的持有者不会再创建它。"},
		},
		Stops: []Stop{
			{At: 501 * ms, Text: Text{En: "A and B are two processes. Each has its node in the queue, and A is the first.", Zh: "A 和 B 是两个进程，各有一个节点在队列里，A 排在第一。"}, States: "waits waits", Nodes: "A B"},
			{At: 1401 * ms, Text: Text{En: "B watches the node of A, and its own.", Zh: "B 监听 A 的节点，也监听自己的。"}, States: "waits waits", Nodes: "A B", Watchers: "B B"},
			{At: 3001 * ms, Text: Text{En: "A holds the lock. It has made /guard, has written its token there, so that the version is 1, and has read the number: 0.", Zh: "A 持有锁，创建了 /guard，写入了令牌，版本号因此是 1；读到的数是 0。"}, States: "holds waits", Nodes: "A B", Watchers: "A B B"},
			{At: 3201 * ms, Text: Text{En: "A has left its write to a goroutine, and unlocks: first it deletes /guard.", Zh: "A 把写入交给一个 goroutine，开始释放锁：先删除 /guard。"}, States: "unlocks waits", Nodes: "A B", Watchers: "A B B"},
			{At: 3701 * ms, Text: Text{En: "Then it has deleted its node. The write is still in the process.", Zh: "然后删除了自己的节点。那次写入还留在进程里。"}, States: "unlocks waits", Nodes: "B", Watchers: "B"},
			{At: 3901 * ms, Text: Text{En: "A is done. B has got the event, and makes /guard again.", Zh: "A 做完了。B 收到事件，重新创建 /guard。"}, States: "done waits", Nodes: "B", Watchers: "B"},
			{At: 4801 * ms, Text: Text{En: "B holds the lock, and has read 0, too. It has written its own token to /guard: the version of the new node is 1.", Zh: "B 持有锁，读到的也是 0，又把自己的令牌写入了 /guard：新节点的版本号是 1。"}, States: "done holds", Nodes: "B", Watchers: "B"},
			{At: 5501 * ms, Text: Text{En: "A's write has been carried out: /guard had the version that A has noted. /stock is 1, and B does not know.", Zh: "A 的写入执行了：/guard 的版本号正是 A 记下的那个。/stock 现在是 1，B 并不知道。"}, States: "done unlocks", Nodes: "B", Watchers: "B"},
			{At: 6301 * ms, Text: Text{En: "B has written what it has computed from 0: 1. Its node has gone.", Zh: "B 写入了根据 0 算出的 1，节点也已删除。"}, States: "done unlocks"},
			{At: 6401 * ms, Text: Text{En: "Two have added one each, and /stock is 1. With a Guard the check names the token, and A's write is refused.", Zh: "两个持有者各加了一，/stock 却是 1。用 Guard 时，检查的是以令牌命名的节点，A 的写入会被拒绝。"}, States: "done done", Broken: true},
		},
	},
}

// late is a stock whose holders guard their writes in one way. A has its number written by a
// goroutine, and unlocks without waiting for that.
func late(guard func(l *zklock.Lease) listings.Guarded) *stock { return &stock{guard: guard} }

func byNode(*zklock.Lease) listings.Guarded    { return new(listings.ByNode) }
func byVersion(*zklock.Lease) listings.Guarded { return new(listings.ByVersion) }
func byGuard(l *zklock.Lease) listings.Guarded { return &zklocksGuard{lease: l} }

type zklocksGuard struct {
	lease *zklock.Lease
	guard *zklock.Guard
}

func (g *zklocksGuard) Begin(*zk.Conn, string, int64) (err error) {
	g.guard, err = g.lease.Guard(context.Background(), "/guard")
	return err
}

func (g *zklocksGuard) Set(path string, data []byte) error {
	_, err := g.guard.Set(context.Background(), path, data, -1)
	return err
}

func (g *zklocksGuard) End() {}
