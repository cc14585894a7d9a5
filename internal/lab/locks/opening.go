package locks

import (
	"time"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
)

const us = time.Microsecond

// An OpeningScene is two locks beside each other, and what is to be seen at some instants of
// their films.
type OpeningScene struct {
	Address `json:"-"`
	Name    Text    `json:"name"` // the button that leads to it
	Titles  [2]Text `json:"titles"`
	Stops   []Stop  `json:"stops"`
}

// Openings are the scenes that the page opens with, each after the one before. At the last stop
// of the first the page shows the measured times of a thousand contenders.
var Openings = []OpeningScene{
	{
		beside("herd", "predecessor", Scene{Contenders: 20, Measured: true, Seed: 3}),
		Text{}, [2]Text{{En: "Wake all · step 2", Zh: "全部唤醒 · 第 2 步"}, {En: "Wake one · step 3", Zh: "唤醒一个 · 第 3 步"}},
		[]Stop{
			{At: 300 * us, Text: Text{
				En: "Twenty programs, A to T, want to write one file, and only one may write at a time. So they ask a server, ZooKeeper, for a lock.",
				Zh: "A 到 T，二十个程序都要写同一个文件，而同一时刻只许一个写。于是它们向 ZooKeeper 服务器要一把锁。",
			}},
			{At: 3900 * us, Text: Text{
				En: "A came first and has the lock. The cards are the queue at the server, in the order of arrival. A purple line is a watch: “tell me when this changes”. “Wake all”: each watches the whole queue. “Wake one”: each watches the card before its own, which takes one more request each.",
				Zh: "A 先到，锁归 A。卡片按到达的先后，排成服务器上的队列。紫线是“监听”：有变化就通知我。“全部唤醒”：人人监听整个队列。“唤醒一个”：只监听前面的那一张卡片，为此每个等待者多发了一个请求。",
			}},
			{At: 4300 * us, Text: Text{
				En: "A is done and takes its card away. “Wake all”: ZooKeeper must notify all 19 that wait, and A, whose own watch is still set: the stars. “Wake one”: it has notified one, B, and B is already making sure that it is first.",
				Zh: "A 用完了，取走自己的卡片。“全部唤醒”：ZooKeeper 要通知全部 19 个等待者（A 排队时也设过监听，也收到一个）：就是这些星星。“唤醒一个”：只通知了 B，B 已经在查自己是不是第一了。",
			}},
			{At: 4900 * us, Quote: "有个专业名词:惊群效应", Text: Text{
				En: "“Wake all”: all 19 have asked “is it my turn?” at once. Ten have read “no” already: they were woken for nothing. Seven stand in line at the server. This is the herd effect. “Wake one”: B has had the lock, and C is making sure that it is first.",
				Zh: "“全部唤醒”：19 个同时来问“轮到我了吗”。十个已经读到“没有”，也就是被无效唤醒；还有七个在服务器门口排队。这就是“惊群效应”，又叫“羊群效应”。“唤醒一个”：B 已经用完了锁，C 正在查自己是不是第一。",
			}},
			{At: 16560 * us, Text: Text{
				En: "It happens again each time that a card is taken away. “Wake one”: all twenty are done, and none woke for nothing. “Wake all”: twelve are done, and programs were woken for nothing 150 times.",
				Zh: "每取走一张卡片，就重演一次。“唤醒一个”：二十个全部完成，没有一次无效唤醒。“全部唤醒”：才完成十二个，已经有 150 次无效唤醒。",
			}},
			{At: 21303780 * time.Nanosecond, Text: Text{
				En: "With twice as many programs, four times as many are woken for nothing. A thousand, measured at a real ZooKeeper (docs/figures.md):",
				Zh: "程序多一倍，无效唤醒的次数就是四倍。一千个程序和真实的 ZooKeeper 在同一台机器上，实测（docs/figures.md）：",
			}},
		},
	},
	{
		beside("predecessor", "reentrant", Scene{Contenders: 3, LatencyMs: 20, Seed: 1, Scripts: [][]explore.Op{nested, nested, nested}}),
		Text{En: "A lock in a lock ›", Zh: "锁里再加锁 ›"}, [2]Text{{En: "Queues again · step 3", Zh: "再去排队 · 第 3 步"}, {En: "Counts · step 4", Zh: "只记次数 · 第 4 步"}},
		[]Stop{
			{At: 15 * ms, Text: Text{
				En: "A, B and C need the lock. In each of them a function that holds the lock calls another one, which takes the lock, too: each locks twice, and unlocks twice.",
				Zh: "A、B、C 都要这把锁。在它们的代码里，持有锁的函数又调用另一个函数，那个函数也要加锁：每个都加锁两次，释放两次。",
			}},
			{At: 95 * ms, Text: Text{
				En: "A holds the lock in both, and locks once more. Step 3 sends a request for a second card. Step 4 finds A in a list of its own and counts: two. It sends nothing.",
				Zh: "两边都是 A 持有锁，接着又加一次锁。第 3 步发出请求，再要一张卡片。第 4 步在自己的登记簿里找到 A，只把次数记成 2，什么也不发。",
			}},
			{At: 206 * ms, Text: Text{
				En: "Step 3: A's second card is the last in the queue. A waits for C, C waits for B, and B waits for A's first card: nothing can go on. Step 4: A does its work.",
				Zh: "第 3 步：A 的第二张卡片排在队尾。A 等 C，C 等 B，B 又等 A 的第一张卡片：谁也动不了。第 4 步：A 照常做事。",
			}},
			{At: 300 * ms, Text: Text{
				En: "Step 4: A has unlocked once. The count is one again, so A still holds the lock, and again nothing was sent.",
				Zh: "第 4 步：A 释放了一次。次数减为 1，A 仍然持有锁，这一次也什么都没有发。",
			}},
			{At: 425 * ms, Text: Text{
				En: "Step 4: A has unlocked a second time. Only now one request has taken its card away, and B is awake. Step 3: this is a deadlock, and it never ends.",
				Zh: "第 4 步：A 第二次释放。这时才有一个请求取走它的卡片，B 醒了。第 3 步：这就是死锁，永远不会结束。",
			}},
			{At: 960 * ms, Text: Text{
				En: "Step 4: C is the last and has taken its card away. All three have locked twice, with 13 requests, as many as if each had locked once.",
				Zh: "第 4 步：最后的 C 也取走了卡片。三个都加锁两次，一共 13 个请求，和各加锁一次同样多。",
			}},
		},
	},
	{
		beside("reentrant", "timeout", Scene{Contenders: 3, LatencyMs: 20, Seed: 1, Changes: []film.Change{
			{At: 175 * ms, Who: "B", Do: explore.EndContext}, {At: 195 * ms, Who: "A", Do: explore.Stop},
		}}),
		Text{En: "A wait that ends ›", Zh: "等待可以结束 ›"}, [2]Text{{En: "Waits on · step 4", Zh: "一直等 · 第 4 步"}, {En: "Gives up · step 5", Zh: "及时放手 · 第 5 步"}},
		[]Stop{
			{At: 170 * ms, Text: Text{
				En: "A holds the lock; B and C wait. B will soon want to give up, and then A's program stops for four seconds, as a machine does that is out of memory.",
				Zh: "A 持有锁，B 和 C 在等。B 马上就不想等了；接着 A 的程序会停顿四秒，就像内存耗尽的机器那样。",
			}},
			{At: 190 * ms, Text: Text{
				En: "B's time is over. Step 4's Lock cannot be told so: B waits on. In step 5 B's Lock has returned with an error, and a request to take B's card away is on its way.",
				Zh: "B 的时间到了。第 4 步的 Lock 没法得知，B 只能接着等。第 5 步里，B 的 Lock 已经返回错误，取走卡片的请求正在路上。",
			}},
			{At: 310 * ms, Text: Text{
				En: "Step 5: C was told, has read the queue again, and watches A's card now: B has left no gap. In both, A has stopped, and does not know it.",
				Zh: "第 5 步：C 得到通知，又读了一遍队列，现在改为监听 A 的卡片：B 走了，队列没有断。两边的 A 都停住了，自己并不知道。",
			}},
			{At: 4210 * ms, Text: Text{
				En: "ZooKeeper has heard nothing of A for four seconds. It ends A's session, which is what it keeps for A, and takes A's card away. The next one is told: B in step 4, C in step 5, where B's old watch is told, too.",
				Zh: "ZooKeeper 四秒没有收到 A 的消息，于是结束 A 的会话（服务器替 A 保管的一切），取走 A 的卡片，并通知下一个：第 4 步是 B，第 5 步是 C（B 留下的监听也收到一个）。",
			}},
			{At: 4274 * ms, Text: Text{
				En: "Step 4: B holds the lock, and A has not noticed that it has lost it: when A runs on, both may write. Step 5: C reads the number of its own card before it holds the lock.",
				Zh: "第 4 步：B 持有锁，A 却没有发现自己已经丢了锁：等 A 接着运行，两个就可能同时写。第 5 步：C 先读自己卡片的编号，然后才持有锁。",
			}},
			{At: 4300 * ms, Text: Text{
				En: "A runs on. Step 5: its own clock tells A first that the lock is lost, and C holds it. If A had stopped for longer, C's higher number would let a storage refuse what A writes.",
				Zh: "A 接着运行。第 5 步：A 自己的时钟先告诉它锁已丢失，C 持有锁。假如 A 停得更久，C 的编号更大，存储也能凭它拒绝 A 的写入。",
			}},
			{At: 6400 * ms, Text: Text{
				En: "Step 4: only now, two seconds later, A is connected again and asks for its card. The answer will be that there is none.",
				Zh: "第 4 步：两秒过后，A 才重新连上，去查自己的卡片。回答会是：没有这张卡片。",
			}},
		},
	},
	{
		beside("timeout", "zklock", Scene{Contenders: 16, Shared: true, Measured: true, Seed: 3}),
		Text{En: "Sixteen in one program ›", Zh: "一个程序，十六个 ›"}, [2]Text{{En: "A node for each · step 5", Zh: "各有一个节点 · 第 5 步"}, {En: "One node for all · zklock", Zh: "共用一个节点 · zklock"}},
		[]Stop{
			{At: 300 * us, Text: Text{
				En: "Sixteen goroutines of one program, A to P, want the lock. Step 5 asks ZooKeeper for a node, a card in the queue, for each of them; zklock asks for one for the whole program.",
				Zh: "同一个程序里的十六个 goroutine，A 到 P，都要这把锁。第 5 步为每一个都向 ZooKeeper 要一个节点，也就是队列里的一张卡片；zklock 为整个程序只要一个。",
			}},
			{At: 3150 * us, Text: Text{
				En: "A holds the lock in both. Step 5 has sixteen nodes in its queue, and each has cost several requests. zklock has one node, and has sent two requests.",
				Zh: "两边都是 A 持有锁。第 5 步的队列里有十六个节点，每个都花了好几个请求。zklock 只有一个节点，一共发了两个请求。",
			}},
			{At: 3900 * us, Text: Text{
				En: "A has released. In step 5 an event wakes B, and B reads the queue and its node before it holds. In zklock B, and then six more, have had the lock meanwhile: it goes on in memory, and nothing is sent.",
				Zh: "A 释放了锁。在第 5 步，事件唤醒 B，B 要先读队列和自己的节点，才能持有锁。在 zklock 里，同样的时间，从 B 起已有七个先后拿到锁：锁在内存里交接，什么也不用发。",
			}},
			{At: 5200 * us, Text: Text{
				En: "zklock: all sixteen are done, with one node and three requests: create, look, delete. Step 5: the fourth is still to come.",
				Zh: "zklock：十六个全部完成，只用了一个节点、三个请求：创建、查看、删除。第 5 步：还没轮到第四个。",
			}},
			{At: 17600 * us, Text: Text{
				En: "Step 5 is done, too, with 94 requests. Other programs do not wait long for zklock: after sixteen holds, or after 50 ms, it gives the node back and queues again.",
				Zh: "第 5 步也完成了，用了 94 个请求。别的程序也不会久等：交接满十六次，或者满 50 ms，zklock 就归还节点，重新排队。",
			}},
		},
	},
	{
		beside("predecessor", "zklock", Scene{Contenders: 6, Measured: true, Seed: 3}),
		Text{En: "Six programs ›", Zh: "六个程序 ›"}, [2]Text{{En: "Asks again · step 3", Zh: "再问一次 · 第 3 步"}, {En: "Knows already · zklock", Zh: "早已知道 · zklock"}},
		[]Stop{
			{At: 1190 * us, Text: Text{
				En: "Six programs, each with a node of its own. A holds the lock in both. In zklock a waiter watches its own node, too, and the two before it, and has sent more requests for that.",
				Zh: "六个程序，各有一个节点。两边都是 A 持有锁。在 zklock 里，等待者还监听自己的节点和前面的两个节点，为此多发了一些请求。",
			}},
			{At: 2050 * us, Text: Text{
				En: "B has released in both. zklock: C holds the lock in the instant in which it is told. Step 3: C is not told yet.",
				Zh: "两边的 B 都释放了。zklock：C 一得到通知就持有锁。第 3 步：通知还在去 C 的路上。",
			}},
			{At: 2300 * us, Text: Text{
				En: "Step 3: C has been told, and has asked for the queue again: one more way to the server and back. zklock: C has had the lock already, and knew that nobody else was before it.",
				Zh: "第 3 步：C 得到通知，又去读队列：多一次往返。zklock：C 早知道前面没有别人，这时已经用完了锁。",
			}},
			{At: 3744 * us, Text: Text{
				En: "zklock: all six are done. Step 3: the fifth holds the lock. The price: 36 requests, eight more than step 3's, and waiters that are told early. They were sent while others held the lock.",
				Zh: "zklock：六个全部完成。第 3 步：才轮到第五个。代价是一共 36 个请求，比第 3 步多八个，等待者也会提前收到通知；不过，这些都发生在别人持有锁的时候。",
			}},
		},
	},
}

// Opening is the first.
var Opening = Openings[0].Address

// nested are the calls of a contender that takes the lock while it holds it.
var nested = []explore.Op{explore.LockOp, explore.LockOp, explore.UnlockOp, explore.UnlockOp}

func beside(left, right string, s Scene) Address {
	s.Lock = left
	return Address{Locks: []string{left, right}, Scene: s, Mode: "watch"}
}
