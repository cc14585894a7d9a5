package locks

import (
	"cmp"
	"fmt"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// A Task is a part of exercise 11: a listing of the articles, and a violation to find in it. No scene of the lab shows
// that violation of the listing: the student has to find a schedule that does.
type Task struct {
	Number int
	Source string      // the listing's file in internal/bugs/listings
	Harm   player.Kind // the violation to find
	Lock   Lock        // its entry in the catalogue
}

// Tasks are all tasks, in the order of their numbers.
var Tasks = []Task{
	task(1, "c_await.go", listings.NewAwaitLock,
		player.World{Lock: existingQueue, Contenders: 2, Kinds: []player.Fault{player.LoseReply}, Faults: 1}, player.Hang,
		"article C, await()"),
	task(2, "a_queue.go", listings.NewZkClientLock, player.World{Lock: existingQueue, Contenders: 2}, player.WatchLeft,
		"article A, the lock with ZkClient"),
	task(3, "d_wait.go", listings.NewDistributedLock,
		player.World{Lock: player.Subject{Path: "/locks/lock"}, Contenders: 2, Kinds: []player.Fault{player.Cut}, Faults: 1},
		player.NodeLeft, "article D, the lock with a wait time"),
	task(4, "b_counting.go", listings.NewCountingLock,
		player.World{Lock: existingQueue, Contenders: 3, Kinds: []player.Fault{player.Expire}, Faults: 1}, player.TwoHolders,
		"article B, the lock that counts"),
	task(5, "a_ephemeral.go", listings.NewZookeeperLock,
		player.World{Contenders: 2, Kinds: []player.Fault{player.LoseRequest}, Faults: 1}, player.ForeignDelete,
		"article A, the first lock"),
	task(6, "d_first.go", listings.NewZkLock,
		player.World{Lock: existingQueue, Contenders: 3, Kinds: []player.Fault{player.Expire}, Faults: 1}, player.Overtaken,
		"article D, the first lock"),
}

// existingQueue says that a lock takes its path for the parent of its queue, which exists.
var existingQueue = player.Subject{Queue: true, Exists: true}

// task makes the task to find the harm in the world w, whose Lock has only Path, Queue and Exists: what the listing
// takes its path for. The title names the listing; Text is a string type, and the Chinese is found by the English.
func task(number int, source string, lock listings.New, w player.World, harm player.Kind, title Text) Task {
	name := fmt.Sprint("break-", number)
	path, listing := w.Lock, scenes.Subject(name, lock)
	listing.Path = cmp.Or(path.Path, listing.Path)
	listing.Queue, listing.Exists = path.Queue, path.Exists
	w.Lock, w.Name = listing, name
	note := i18n.Both("Break it: internal/bugs/listings/"+source+". The link that Copy link copies is your answer.",
		"请破坏它：internal/bugs/listings/"+source+"。“复制链接”得到的链接就是你的答案。")
	return Task{Number: number, Source: source, Harm: harm, Lock: Lock{
		Name: name, Group: Exercises,
		Title: i18n.Both(fmt.Sprintf("Exercise 11, listing %d: %s", number, title.String()),
			fmt.Sprintf("练习 11，第 %d 个：%s", number, title.In(i18n.Chinese))),
		Note:  note,
		Scene: &Scene{Lock: name, Contenders: w.Contenders, Seed: 1, Kinds: w.Kinds, Faults: w.Faults},
		Goal:  &Goal{Kind: harm, Text: scenes.Goals[harm], Reached: explore.EndsIn(harm)},
		World: w, Subject: withSession(listing), // withSession: with the session timeout that the lab asks for
		Level: &Level{
			Number:  len(scenes.WithScene) + number - 1, // from 0; the levels with a scene come first
			Chapter: scenes.Chapters[scenes.OnYourOwn],
			Level: scenes.Level{Name: title, Intro: note, Victory: "No scene of the lab shows this. Say it in a sentence of " +
				"your own: what did the code believe, and what would it have had to ask?"},
		},
	}}
}
