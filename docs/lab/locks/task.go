package locks

import (
	"fmt"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/museum/listings"
	"example.com/zklock/internal/museum/scenes"
)

// A Task is a part of exercise 12: a listing of the articles, and the harm that
// it is to come to. No scene shows it: in each world the search stops at an
// easier harm, or the scene of that listing has another fault.
type Task struct {
	Number int
	Source string // the listing's file in internal/museum/listings
	Harm   explore.Kind
	Lock   Lock // its entry in the catalogue
}

// Tasks are all tasks, in the order of their numbers.
var Tasks = []Task{
	task(1, "c_await.go", listings.NewAwaitLock, explore.World{Lock: queue, Contenders: 2, Kinds: []explore.Fault{explore.LoseReply}, Faults: 1}, explore.Hang,
		Text{"article C, await()", "文章 C，await()"},
		Text{"Make a contender wait forever.", "让一个竞争者永远等下去。"}),
	task(2, "a_queue.go", listings.NewZkClientLock, explore.World{Lock: queue, Contenders: 2}, explore.WatchLeft,
		Text{"article A, the lock with ZkClient", "文章 A，用 ZkClient 的锁"},
		Text{"Make a client leave a watch behind.", "让一个客户端留下一个监听。"}),
	task(3, "d_wait.go", listings.NewDistributedLock, explore.World{Lock: explore.Subject{Path: "/locks/lock"}, Contenders: 2, Kinds: []explore.Fault{explore.Cut}, Faults: 1}, explore.NodeLeft,
		Text{"article D, the lock with a wait time", "文章 D，带等待时间的锁"},
		Text{"Make a contender give up and leave a node behind.", "让一个竞争者放弃等待，却留下一个节点。"}),
	task(4, "b_counting.go", listings.NewCountingLock, explore.World{Lock: queue, Contenders: 3, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, explore.TwoHolders,
		Text{"article B, the lock that counts", "文章 B，用计数判断的锁"},
		Text{"Make two hold the lock at once.", "让两个竞争者同时持有锁。"}),
	task(5, "a_ephemeral.go", listings.NewZookeeperLock, explore.World{Contenders: 2, Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1}, explore.ForeignDelete,
		Text{"article A, the first lock", "文章 A，第一个锁"},
		Text{"Make one client delete another's node.", "让一个客户端删除别人的节点。"}),
	task(6, "d_first.go", listings.NewZkLock, explore.World{Lock: queue, Contenders: 3, Kinds: []explore.Fault{explore.Expire}, Faults: 1}, explore.Overtaken,
		Text{"article D, the first lock", "文章 D，第一个锁"},
		Text{"Let a contender get in before one that is before it in the queue.", "让一个竞争者插队：排在它前面的还没拿到锁，它先拿到。"}),
}

// queue is the path of a lock that takes it for the parent of its queue.
var queue = explore.Subject{Queue: true, Exists: true}

func task(number int, source string, lock listings.New, w explore.World, harm explore.Kind, what, goal Text) Task {
	name := fmt.Sprint("break-", number)
	listing := scenes.Subject(name, lock)
	if w.Lock.Path != "" {
		listing.Path = w.Lock.Path
	}
	listing.Queue, listing.Exists = w.Lock.Queue, w.Lock.Exists
	w.Lock, w.Name = listing, name
	return Task{number, source, harm, Lock{
		Name: name, Group: Exercises,
		Title: Text{fmt.Sprintf("Exercise 12, listing %d: %s", number, what.En), fmt.Sprintf("练习 12，第 %d 个：%s", number, what.Zh)},
		Note: Text{
			"Break it: internal/museum/listings/" + source + ". The link that Copy link copies is your answer.",
			"请破坏它：internal/museum/listings/" + source + "。“复制链接”得到的链接就是你的答案。",
		},
		Scene: &Scene{Lock: name, Contenders: w.Contenders, Seed: 1, Kinds: w.Kinds, Faults: w.Faults},
		Goal:  &Goal{Kind: harm, Text: goal}, World: w, Subject: in(listing),
	}}
}

func init() {
	for _, t := range Tasks {
		Add(t.Lock)
	}
}
