package scenes

import (
	"cmp"
	"slices"
	"strings"

	"example.com/zklock/internal/explore/player"
)

// A Level has the texts of the game for a scene. The player is to reach the bug's Goal.
type Level struct {
	Name    Text                 `json:"name"`           // does not say what is wrong
	Intro   Text                 `json:"intro"`          // what the code promises, and what may happen; not the solution
	Hints   []Text               `json:"hints"`          // one at a time; the last makes Plays choices of the Way; empty if the scene has no choices
	Victory Text                 `json:"victory"`        // what happened, why the code let it happen, and the rule to take away
	Else    map[player.Kind]Text `json:"else,omitempty"` // what is said of another violation than that of the goal
	// Route is the solution as a person plays it, clients in the order A, B, C. Nil: it is the scene's schedule.
	Route []string `json:"-"`
}

// Chapters are the names of the chapters of the game, in their order.
var Chapters = []Text{
	"Watch it break",
	"Order is enough",
	"The one bad moment",
	"One fault",
	"Time and pauses",
	"On your own", "You cannot win",
}

// The numbers of the chapters. The last two have no scenes.
const (
	watchItBreak = iota
	orderIsEnough
	oneBadMoment
	withOneFault
	timeAndPauses
	OnYourOwn
	CannotWin
)

// Way returns the choices of the solution, along which the hints lead.
func (b Bug) Way() []string {
	if b.Level.Route != nil {
		return b.Level.Route
	}
	return Schedules()[b.ID].Choices
}

// chances returns the Fates of the Way: of each of its beginnings, how many random continuations reach the goal.
func (b Bug) chances() []int {
	id := b.ID
	if b.Level.Route != nil {
		id += "/"
	}
	if Fates()[id] == nil {
		panic("scenes: fates.json has nothing for " + id + ": go generate ./...")
	}
	return Fates()[id]
}

// Plays is how many choices of the Way the last hint makes. The next one makes the goal more likely than not.
func (b Bug) Plays() int {
	chances := b.chances()
	n := len(chances) - 1
	for n > 0 && chances[n-1]*2 > FateTries {
		n--
	}
	return max(n-1, 0)
}

// easy is a number of FateTries. If as many random schedules reach the goal, a person reaches it by luck.
const easy = 30

// Chapter is the number of the level's chapter. A fault that may happen, but not on the Way, decides nothing.
func (b Bug) Chapter() int {
	happens := func(f player.Fault) bool { return strings.Contains(strings.Join(b.Way(), ","), ": "+string(f)) }
	switch {
	case len(b.Way()) == 0:
		return watchItBreak
	case happens(player.Stop) || happens(player.Pause):
		return timeAndPauses
	case slices.ContainsFunc(b.World.Kinds, happens):
		return withOneFault
	case b.chances()[0] >= easy:
		return orderIsEnough
	}
	return oneBadMoment
}

// Levels are the bugs with a scene in the order of the game: by chapter, chance at random, and number of choices.
func Levels() []Bug {
	return slices.SortedStableFunc(slices.Values(WithScene), func(a, b Bug) int {
		return cmp.Or(cmp.Compare(a.Chapter(), b.Chapter()), cmp.Compare(b.chances()[0], a.chances()[0]),
			cmp.Compare(len(a.Way()), len(b.Way())))
	})
}

// Goals are, by kind of violation, the Goal of a bug that has none of its own.
var Goals = map[player.Kind]Text{
	player.Endless:       "Make it send requests without end.",
	player.ForeignDelete: "Make one client delete another's node.",
	player.Hang:          "Make a contender wait forever.",
	player.TwoHolders:    "Make two hold the lock at once.",
	player.Crash:         "Make lock() panic.",
	player.Failure:       "Make lock() fail although nothing forbids it.",
	player.TooLong:       "Make a contender wait longer than the time it asked for.",
	player.SessionLeft:   "Leave a session behind.",
	player.NodeLeft:      "Make a contender give up and leave a node behind.",
	player.WatchLeft:     "Make a client leave a watch behind.",
	player.Overtaken:     "Let a contender get in before one that is before it in the queue.",
	player.LostAddition:  "Let two holders add one each to /stock, and make one addition get lost.",
	player.Outlived:      "Make a holder outlive its session.",
}
