package locks

import (
	"time"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/zklock"
)

var stepLocks = []Lock{
	{
		Name: "naive", Group: Steps,
		Title:    Text{En: "Step 1: one node", Zh: "第 1 步：一个节点"},
		Note:     Text{En: "One ephemeral node. Everybody watches it, and every release wakes everybody.", Zh: "一个临时节点。等待者都监听它，每次释放都会唤醒全部等待者。"},
		Requests: "n² + 2n", Events: "n(n−1)/2",
		Subject: withSession(steps.Naive()),
	},
	{
		Name: "herd", Group: Steps,
		Title:    Text{En: "Step 2: a queue, and a herd", Zh: "第 2 步：公平队列，惊群还在"},
		Note:     Text{En: "A fair queue. Everybody watches its parent, and every change wakes everybody.", Zh: "公平队列。等待者都监听父节点，每次变化都会唤醒全部等待者：惊群效应，又称羊群效应。"},
		Requests: "n² + n + 1", Events: "n² − n + 1",
		Subject: withSession(steps.Herd()),
	},
	{
		Name: "predecessor", Group: Steps,
		Title:    Text{En: "Step 3: each watches the one before", Zh: "第 3 步：只监听前一个节点"},
		Note:     Text{En: "A fair queue. Each contender watches the node before its own, and a release wakes one.", Zh: "公平队列。每个等待者只监听前一个节点（前驱节点），一次释放只唤醒一个。"},
		Requests: "5n − 2", Events: "n − 1",
		Subject: withSession(steps.Predecessor()),
	},
	{
		Name: "reentrant", Group: Steps,
		Title:    Text{En: "Step 4: reentrant", Zh: "第 4 步：可重入"},
		Note:     Text{En: "Step 3, and the same owner may lock again.", Zh: "在第 3 步的基础上，同一个所有者可以再次加锁。"},
		Requests: "5n − 2", Events: "n − 1",
		Subject: withSession(steps.Reentrant()),
	},
	{
		Name: "timeout", Group: Steps,
		Title:    Text{En: "Step 5: a wait that ends, and a lease that ends in time", Zh: "第 5 步：能放弃等待，能察觉丢锁"},
		Note:     Text{En: "Step 3's queue: a waiter can give up, a holder's own clock ends its lease before the lock is lost, and each holder has a higher token.", Zh: "仍是第 3 步的队列。等待者可以放弃；持有者凭自己的时钟得知锁已丢失；每个持有者的 fencing token（隔离令牌）都比前一个的大。"},
		Requests: "6n − 2", Events: "n − 1",
		Subject: steps.TimeoutIn,
	},
	{
		Name: "zklock", Group: Steps,
		Title:   Text{En: "zklock: the complete lock", Zh: "zklock：完整的锁"},
		Note:    Text{En: "It survives lost replies, ended sessions and holders that are cut off, and a fast hand-over saves requests.", Zh: "经得起响应丢失、会话结束和持有者断线；交接更快，请求更少。"},
		Subject: steps.ZklockIn,
	},
	{
		Name: "zklock-caching", Group: Steps,
		Title: Text{En: "zklock with WithCaching: the node stays", Zh: "zklock 加上 WithCaching：节点留着不删"},
		Note: Text{En: "After five locks in a row with nobody in between, a process keeps its node: it locks without a packet until another one comes.",
			Zh: "一个进程连续加锁五次，中间没有别人，就把节点留着：此后加锁一个包也不用发，直到别的进程到来。"},
		Scene: &stories["zklock-caching"].Scene,
		Subject: func(session time.Duration) player.Subject {
			return steps.ZklockWith(session, zklock.WithCaching(5*time.Second))
		},
	},
}
