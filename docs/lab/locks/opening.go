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

const us = time.Microsecond

// An OpeningStop is an instant of the opening, and what is to be seen there.
type OpeningStop struct {
	At       time.Duration `json:"at_ns"`
	Text     Text          `json:"text"`
	Quote    string        `json:"quote,omitempty"`    // what an article says, as in Stop
	Measured bool          `json:"measured,omitempty"` // with the measured times
}
