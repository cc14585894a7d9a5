package locks

import (
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
)

// provedLocks are the last levels, which cannot be won: all schedules of their worlds were played, and none
// breaks the lock.
var provedLocks = []Lock{
	proved(0, "proved-predecessor", steps.Predecessor(), player.World{Contenders: 3},
		"step 3, three contenders, no fault", scenes.Level{
			Name:  "Step 3 against you",
			Intro: "The lock of step 3, three contenders, no fault: only the order is yours. Play what broke the articles' chains.",
			Victory: "Nothing broke, and not by luck: the explorer has played every order of this world, and none breaks " +
				"it. Rule: it reads the list after each wake-up, and takes only the first place for the lock; so an unlucky order costs it a request, and nothing else.",
		}),
	proved(1, "proved-zklock", steps.Zklock(),
		player.World{Contenders: 2, Kinds: []player.Fault{player.LoseRequest, player.LoseReply}, Faults: 1}, "zklock, two contenders, one fault", scenes.Level{
			Name: "zklock against you",
			Intro: "The complete lock, two contenders. Once you may lose a request or a reply, and the connection with it: " +
				"what broke steps 1 to 4.",
			Victory: "Nothing broke. The explorer has played every schedule of this world, with the fault at each place and " +
				"without it. Rule: after a lost reply zklock looks for the id in its node's name and makes no second node; so a fault costs requests, and nothing else.",
		}),
}

// proved is the entry of a level. Its number is 0 for the first of these levels.
func proved(number int, name string, lock player.Subject, w player.World, what Text, level scenes.Level) Lock {
	w.Lock, w.Name = lock, name
	return Lock{
		Name: name, Group: Exercises, World: w, Subject: withSession(lock),
		Title: i18n.Both("You cannot win: "+what.String(), "赢不了的关："+what.In(i18n.Chinese)),
		Note:  "All schedules of this world were played: none breaks the lock.",
		Scene: &Scene{Lock: name, Contenders: w.Contenders, Seed: 1, Kinds: w.Kinds, Faults: w.Faults},
		Goal: &Goal{Text: "Break it: make anything go wrong.",
			Reached: func(*player.Trace) bool { return false }},
		Level: &Level{Level: level, Number: len(scenes.WithScene) + len(Tasks) + number, Chapter: scenes.Chapters[scenes.CannotWin]},
	}
}
