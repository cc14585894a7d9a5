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
		Note: "After five locks in a row with nobody in between, a process keeps its node: it locks without a packet " +
			"until another one comes.",
		Scene: &stories["zklock-caching"].Scene,
		Subject: func(session time.Duration) player.Subject {
			return steps.ZklockWith(session, zklock.WithCaching(5*time.Second))
		},
	},
}
