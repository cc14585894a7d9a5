package locks

import (
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/zklock"
)

var stepLocks = []Lock{
	{
		Name: "naive", Group: Steps,
		Title:    "Step 1: one node",
		Note:     "One ephemeral node. Everybody watches it, and every release wakes everybody.",
		Requests: "n² + 2n", Events: "n(n−1)/2",
		Subject: withSession(steps.Naive()),
	},
	{
		Name: "herd", Group: Steps,
		Title:    "Step 2: a queue, and a herd",
		Note:     "A fair queue. Everybody watches its parent, and every change wakes everybody.",
		Requests: "n² + n + 1", Events: "n² − n + 1",
		Subject: withSession(steps.Herd()),
	},
	{
		Name: "predecessor", Group: Steps,
		Title:    "Step 3: each watches the one before",
		Note:     "A fair queue. Each contender watches the node before its own, and a release wakes one.",
		Requests: "5n − 2", Events: "n − 1",
		Subject: withSession(steps.Predecessor()),
	},
	{
		Name: "reentrant", Group: Steps,
		Title:    "Step 4: reentrant",
		Note:     "Step 3, and the same owner may lock again.",
		Requests: "5n − 2", Events: "n − 1",
		Subject: withSession(steps.Reentrant()),
	},
	{
		Name: "timeout", Group: Steps,
		Title: "Step 5: a wait that ends, and a lease that ends in time",
		Note: "Step 3's queue: a waiter can give up, a holder's own clock ends its lease before the lock is lost, " +
			"and each holder has a higher token.",
		Requests: "6n − 2", Events: "n − 1",
		Subject: steps.TimeoutIn,
	},
	{
		Name: "zklock", Group: Steps,
		Title:   "zklock: the complete lock",
		Note:    "It survives lost replies, ended sessions and holders that are cut off, and a fast hand-over saves requests.",
		Subject: steps.ZklockIn,
	},
	{
		Name: "zklock-caching", Group: Steps,
		Title: "zklock with WithCaching: the node stays",
		Note:  "After five locks in a row with nobody in between, a process keeps its node: it locks without a packet until another one comes.",
		Scene: &stories["zklock-caching"].Scene,
		Subject: func(session time.Duration) player.Subject {
			return steps.ZklockWith(session, zklock.WithCaching(5*time.Second))
		},
	},
}

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
		Goal:  &Goal{Text: "Break it: make anything go wrong.", Reached: func(*player.Trace) bool { return false }},
		Level: &Level{Level: level, Number: len(scenes.WithScene) + len(Tasks) + number,
			Chapter: scenes.Chapters[scenes.CannotWin]},
	}
}

var brokenNote = Text("A queue lock like step 3's, with one line wrong. Which?")

// slug is the name of a broken lock in addresses.
func slug(bug string) string {
	return "broken-" + strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(strings.ToLower(bug))
}

func brokenLocks() (list []Lock) {
	for _, bug := range broken.Bugs[1:] { // the first is the right lock
		newLock := func(conn *zk.Conn, path string) *broken.Lock { return broken.New(bug.Name, conn, path) }
		s := steps.OfPlain(slug(bug.Name), newLock, broken.ErrNotLocked)
		s.Queue = true
		list = append(list, Lock{
			Name: s.Name, Group: Broken, Title: i18n.Both(bug.Name, bug.Zh), Note: brokenNote, Subject: withSession(s),
		})
	}
	return list
}
