package locks

import (
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
)

// provedLocks are the last levels, which cannot be won: all schedules of their worlds were played, and none
// breaks the lock.
var provedLocks = []Lock{
	proved(0, "proved-predecessor", steps.Predecessor(), player.World{Contenders: 3}, Text{En: "step 3, three contenders, no fault", Zh: "第 3 步，三个竞争者，没有故障"}, scenes.Level{
		Name:  Text{En: "Step 3 against you", Zh: "第 3 步对阵你"},
		Intro: Text{En: "The lock of step 3, three contenders, no fault: only the order is yours. Play what broke the articles' chains.", Zh: "第 3 步的锁，三个竞争者，没有故障：你能决定的只有次序。试试让文章里的链条出错的那些办法。"},
		Victory: Text{
			En: "Nothing broke, and not by luck: the explorer has played every order of this world, and none breaks it. Rule: it reads the list after each wake-up, and takes only the first place for the lock; so an unlucky order costs it a request, and nothing else.",
			Zh: "什么也没有坏。这不是运气：探索器试遍了这里的每一种次序，没有一种能让它出错。要点：等待者每次醒来都重新读取列表，只有排第一才算拿到锁；所以次序再不巧，也只是多花一个请求。",
		},
	}),
	proved(1, "proved-zklock", steps.Zklock(), player.World{Contenders: 2, Kinds: []player.Fault{player.LoseRequest, player.LoseReply}, Faults: 1}, Text{En: "zklock, two contenders, one fault", Zh: "zklock，两个竞争者，一次故障"}, scenes.Level{
		Name:  Text{En: "zklock against you", Zh: "zklock 对阵你"},
		Intro: Text{En: "The complete lock, two contenders. Once you may lose a request or a reply, and the connection with it: what broke steps 1 to 4.", Zh: "完整的锁，两个竞争者。你可以丢失一个请求或者一个响应，连接也随之断开：第 1 到第 4 步都败在这上面。"},
		Victory: Text{
			En: "Nothing broke. The explorer has played every schedule of this world, with the fault at each place and without it. Rule: after a lost reply zklock looks for the id in its node's name and makes no second node; so a fault costs requests, and nothing else.",
			Zh: "什么也没有坏。探索器试遍了这里的每一种调度，不论故障出在哪里，或者不出故障。要点：响应丢失之后，zklock 会按节点名字里的 ID 去找，不会再建第二个节点；所以一次故障只是多花几个请求。",
		},
	}),
}

// proved is the entry of a level. Its number is 0 for the first of these levels.
func proved(number int, name string, lock player.Subject, w player.World, what Text, level scenes.Level) Lock {
	w.Lock, w.Name = lock, name
	return Lock{
		Name: name, Group: Exercises, World: w, Subject: withSession(lock),
		Title: Text{En: "You cannot win: " + what.En, Zh: "赢不了的关：" + what.Zh},
		Note:  Text{En: "All schedules of this world were played: none breaks the lock.", Zh: "这里的每一种调度都试过了，没有一种能让锁出错。"},
		Scene: &Scene{Lock: name, Contenders: w.Contenders, Seed: 1, Kinds: w.Kinds, Faults: w.Faults},
		Goal: &Goal{Text: Text{En: "Break it: make anything go wrong.", Zh: "击败它：让它出任何一种错。"},
			Reached: func(*player.Trace) bool { return false }},
		Level: &Level{Level: level, Number: len(scenes.All) + len(Tasks) + number, Chapter: scenes.Chapters[scenes.CannotWin]},
	}
}
