package locks

import (
	"fmt"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
)

// A Task is a part of exercise 11: a listing of the articles, and the violation to find in it. No scene
// shows it: a search of the task's world stops at an easier one, or the listing's scene has another fault.
type Task struct {
	Number int
	Source string // the listing's file in internal/bugs/listings
	Harm   player.Kind
	Lock   Lock // its entry in the catalogue
}

// Tasks are all tasks, in the order of their numbers.
var Tasks = []Task{
	task(1, "c_await.go", listings.NewAwaitLock, player.World{Lock: existingQueue, Contenders: 2, Kinds: []player.Fault{player.LoseReply}, Faults: 1}, player.Hang,
		Text{En: "article C, await()", Zh: "文章 C，await()"}),
	task(2, "a_queue.go", listings.NewZkClientLock, player.World{Lock: existingQueue, Contenders: 2}, player.WatchLeft,
		Text{En: "article A, the lock with ZkClient", Zh: "文章 A，用 ZkClient 的锁"}),
	task(3, "d_wait.go", listings.NewDistributedLock, player.World{Lock: player.Subject{Path: "/locks/lock"}, Contenders: 2, Kinds: []player.Fault{player.Cut}, Faults: 1}, player.NodeLeft,
		Text{En: "article D, the lock with a wait time", Zh: "文章 D，带等待时间的锁"}),
	task(4, "b_counting.go", listings.NewCountingLock, player.World{Lock: existingQueue, Contenders: 3, Kinds: []player.Fault{player.Expire}, Faults: 1}, player.TwoHolders,
		Text{En: "article B, the lock that counts", Zh: "文章 B，用计数判断的锁"}),
	task(5, "a_ephemeral.go", listings.NewZookeeperLock, player.World{Contenders: 2, Kinds: []player.Fault{player.LoseRequest}, Faults: 1}, player.ForeignDelete,
		Text{En: "article A, the first lock", Zh: "文章 A，第一个锁"}),
	task(6, "d_first.go", listings.NewZkLock, player.World{Lock: existingQueue, Contenders: 3, Kinds: []player.Fault{player.Expire}, Faults: 1}, player.Overtaken,
		Text{En: "article D, the first lock", Zh: "文章 D，第一个锁"}),
}

// existingQueue is the path of a lock that takes it for the parent of its queue.
var existingQueue = player.Subject{Queue: true, Exists: true}

// task makes a task. In w.Lock, only Path, Queue and Exists are set: what the listing takes its path for.
func task(number int, source string, lock listings.New, w player.World, harm player.Kind, what Text) Task {
	name := fmt.Sprint("break-", number)
	listing := scenes.Subject(name, lock)
	if w.Lock.Path != "" {
		listing.Path = w.Lock.Path
	}
	listing.Queue, listing.Exists = w.Lock.Queue, w.Lock.Exists
	w.Lock, w.Name = listing, name
	note := Text{En: "Break it: internal/bugs/listings/" + source + ". The link that Copy link copies is your answer.", Zh: "请破坏它：internal/bugs/listings/" + source + "。“复制链接”得到的链接就是你的答案。"}
	return Task{Number: number, Source: source, Harm: harm, Lock: Lock{
		Name: name, Group: Exercises,
		Title: Text{En: fmt.Sprintf("Exercise 11, listing %d: %s", number, what.En), Zh: fmt.Sprintf("练习 11，第 %d 个：%s", number, what.Zh)},
		Note:  note,
		Scene: &Scene{Lock: name, Contenders: w.Contenders, Seed: 1, Kinds: w.Kinds, Faults: w.Faults},
		Goal:  &Goal{harm, scenes.Goals[harm], explore.EndsIn(harm)}, World: w,
		Level: &Level{Number: len(scenes.All) + number - 1, Chapter: scenes.Chapters[scenes.OnYourOwn], Level: scenes.Level{Name: what, Intro: note, Victory: Text{
			En: "No scene of the lab shows this. Say it in a sentence of your own: what did the code believe, and what would it have had to ask?",
			Zh: "实验室里没有这一幕。请用一句话说清楚：代码以为怎样，又本该去问什么？",
		}}}, Subject: withSession(listing),
	}}
}

// taskLocks are the entries of the tasks.
func taskLocks() (list []Lock) {
	for _, t := range Tasks {
		list = append(list, t.Lock)
	}
	return list
}
