package locks

import "time"

// Opening is the scene that the page opens with, and the locks beside each other.
var (
	Opening = Address{Locks: []string{"herd", "predecessor"}, Scene: Scene{Lock: "herd", Contenders: 20, Measured: true, Seed: 3}, Mode: "watch"}

	// OpeningStops are about both films of Opening. After the last one the page shows
	// Measured times of a thousand contenders.
	OpeningStops = []OpeningStop{
		{At: 300 * us, Text: Text{
			En: "Twenty programs, A to T, all need the same thing, and only one may have it at a time. They ask a server, ZooKeeper, for a lock. Both pictures show the same race; only the way of waiting differs.",
			Zh: "A 到 T，二十个程序都要用同一样东西，而同一时刻只许一个用。于是它们向 ZooKeeper 服务器要一把锁。两幅图是同一场竞争，不同的只是怎样等。",
		}},
		{At: 3900 * us, Text: Text{
			En: "A came first and has the lock. The thin lines are watches. “Wake all”: everyone watches the whole queue. “Wake one”: each watches only the card before its own, and has sent one more request for it.",
			Zh: "A 先到，锁归 A。细线是“监听”。“全部唤醒”：人人盯着整个队列。“唤醒一个”：各自只盯着前面的那一张卡片，为此每个多发了一个请求。",
		}},
		{At: 4300 * us, Text: Text{
			En: "A is done and takes its card away. “Wake all”: ZooKeeper must notify all 19 that wait: the stars. “Wake one”: it has notified one, B, and B is already asking whether it is first.",
			Zh: "A 用完了，取走自己的卡片。“全部唤醒”：ZooKeeper 要通知全部 19 个等待者（星星）。“唤醒一个”：只通知了 B，它已经在问自己是不是第一了。",
		}},
		{At: 4620 * us, Quote: "有个专业名词:惊群效应", Text: Text{
			En: "“Wake all”: all 19 ask at once “is it my turn?” and wait in line at the server. For 18 of them it is not: they wake for nothing. This is the herd effect. “Wake one”: B has already had the lock.",
			Zh: "“全部唤醒”：19 个同时来问“轮到我了吗”，在服务器门口排起了长队，其中 18 个白白醒来。这就是“惊群效应”，又叫“羊群效应”。“唤醒一个”：B 连锁都用完了。",
		}},
		{At: 16560 * us, Text: Text{
			En: "It happens again at every release. “Wake one”: all twenty are done, and none woke for nothing. “Wake all”: twelve are done, and more than 140 times one of them woke for nothing.",
			Zh: "每释放一次，就重演一次。“唤醒一个”：二十个全部完成，没有谁白醒一场。“全部唤醒”：才完成十二个，已经白白唤醒了 140 多次。",
		}},
		{At: 21300 * us, Measured: true, Text: Text{
			En: "Twice as many programs wake for nothing four times as often. A thousand of them at a real ZooKeeper on the same machine, measured (docs/figures.md):",
			Zh: "程序多一倍，白白唤醒的次数就是四倍。一千个程序，在同一台机器上的真实 ZooKeeper 上实测（docs/figures.md）：",
		}},
	}
)

// Memory is the next opening: sixteen goroutines of one program, with a node each and with
// one for all.
var (
	Memory = Address{Locks: []string{"timeout", "zklock"}, Scene: Scene{Lock: "timeout", Contenders: 16, Shared: true, Measured: true, Seed: 3}, Mode: "watch"}

	MemoryStops = []OpeningStop{
		{At: 300 * us, Text: Text{
			En: "Sixteen goroutines of one program, A to P, want the lock. Step 5 asks ZooKeeper for a node for each of them; zklock asks for one node for the whole program.",
			Zh: "同一个程序里的十六个 goroutine，A 到 P，都要这把锁。第 5 步为每一个都向 ZooKeeper 要一个节点；zklock 为整个程序只要一个节点。",
		}},
		{At: 3150 * us, Text: Text{
			En: "A holds the lock in both. Step 5 has sixteen nodes in its queue, and each has cost several requests. zklock has one node, and has sent two requests.",
			Zh: "两边都是 A 持有锁。第 5 步的队列里有十六个节点，每个都花了好几个请求。zklock 只有一个节点，一共发了两个请求。",
		}},
		{At: 3900 * us, Text: Text{
			En: "A has released. In step 5 an event wakes B, and B reads the queue and its node before it holds. In zklock B, and then six more, have had the lock meanwhile: it goes on in memory, and nothing is sent.",
			Zh: "A 释放了锁。在第 5 步，事件唤醒 B，B 要先读队列和自己的节点，才能持有锁。在 zklock，这段时间里从 B 起已有七个先后拿到锁：锁在内存里交接，什么也不用发。",
		}},
		{At: 5200 * us, Text: Text{
			En: "zklock: all sixteen are done, with one node and three requests: create, look, delete. Step 5: the fourth is still to come.",
			Zh: "zklock：十六个全部完成，只用了一个节点、三个请求：创建、查看、删除。第 5 步：还没轮到第四个。",
		}},
		{At: 17600 * us, Text: Text{
			En: "Step 5 is done, too, with 94 requests. Other programs do not wait long for zklock: after sixteen holds, or after 50 ms, it gives the node back and queues again.",
			Zh: "第 5 步也完成了，用了 94 个请求。别的程序也不会久等：交接满十六次，或者满 50 ms，zklock 就归还节点，重新排队。",
		}},
	}
)

const us = time.Microsecond

// An OpeningStop is an instant of the opening, and what is to be seen there.
type OpeningStop struct {
	At       time.Duration `json:"at_ns"`
	Text     Text          `json:"text"`
	Quote    string        `json:"quote,omitempty"`    // what an article says, as in Stop
	Measured bool          `json:"measured,omitempty"` // with the measured times
}
