// Package scenes has the bugs of the articles' listings, with all that the pages
// and the lab say of each: an entry in the file of its article. A bug on
// ZooKeeper is there as the explorer plays it: the world in which it comes up,
// and a schedule that ends with it. The tests of the bugs, and the lab, show them.
// What the lab's game and its story say of a bug is in texts, a file for each.
package scenes

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

type Text = i18n.Text

// A Bug is an entry of the catalogue.
type Bug struct {
	ID    string         // the article's letter, or Z if no article has it, and a number
	Step  string         // the folder of the step whose idea it breaks
	Title Text           // the heading in docs/bugs.md, without the ID
	Cure  player.Subject // the lock of a step that cures it, or zklock
	// Kinds are the violations that show it. The first one is its kind on all pages. Goal says in words
	// what a person who plays the scheduler is to reach; the default is that of the first.
	Kinds []player.Kind
	Goal  Text

	// NoScene says why the lab cannot show it. Without a scene it has none of the
	// fields below, and needs a test in internal/bugs/examples.
	NoScene *NoScene

	// Listing is the article's lock. Substitute, if it is not empty, says which lock is
	// there in its place, in Listing or as the World's Lock.
	Listing    listings.New
	Substitute Text
	// World is where it comes up: how many contend, what they do, and what may go
	// wrong. Its Lock need not say how it is opened: Listing does. Without a Listing it
	// has all that a Subject needs, and the same Path as Cure.
	World player.World
	Ours  player.World // the same with Cure; set here
	// Like, if it is not nil, says which of the schedules with such a violation
	// is the one to show.
	Like   func(tr *player.Trace) bool
	Search explore.Search // finds the bug in World; the default is to go through the schedules, up to 5000
	// Level is what the game says around Goal, and Stops are its story: six to ten instants of the scene's
	// film, or of Play's. Both are in texts/ID.json; set here. An entry has no more of them than Level.Route.
	Level Level
	Stops []Stop
	Play  *Play
}

// A NoScene is the reason for which a bug has no scene.
type NoScene struct {
	Why  Text   // half a sentence
	Near string // a scene with the same mistake; "" if there is none
}

// A Stop is an instant, and what is to be seen there. Quote is what an article
// says, if its words are at stake. The rest is what the caption claims of the film:
// a test compares it.
type Stop struct {
	At       time.Duration `json:"at_ns"`
	Text     Text          `json:"text"`
	Quote    string        `json:"quote,omitempty"`
	States   string        `json:"-"` // of the contenders, in order: outside, waits, holds, unlocks, done or failed
	Nodes    string        `json:"-"` // the owners of the nodes, in the order of their names
	Watchers string        `json:"-"` // the clients with a watch, in order
	Broken   bool          `json:"-"` // a violation has happened
}

// A Play is a schedule for a story of which the bug's own scene shows too little.
type Play struct {
	Contenders int
	Kinds      []player.Fault
	Faults     int
	Choices    []string
}

// In is the world of the bug's scene, or of its cure, as the story has it.
func (p *Play) In(w player.World) player.World {
	w.Contenders, w.Kinds, w.Faults = p.Contenders, p.Kinds, p.Faults
	return w
}

// Bugs are all bugs in the order of the catalogue: by step, by article, and by
// number. All are those that have a scene.
var (
	Bugs = catalogue(articleA, articleB, articleC, articleD, articleE, articleZ)
	All  = slices.DeleteFunc(slices.Clone(Bugs), func(b Bug) bool { return b.World.Lock.Open == nil })
)

func catalogue(articles ...[]Bug) []Bug {
	all := slices.Concat(articles...)
	slices.SortFunc(all, func(a, b Bug) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Article(), b.Article()), cmp.Compare(a.number(), b.number()))
	})
	for i := range all {
		all[i].open()
		all[i].tell()
	}
	return all
}

// Article is the letter of the article.
func (b Bug) Article() string { return b.ID[:1] }

func (b Bug) number() int {
	n, _ := strconv.Atoi(b.ID[1:])
	return n
}

// Heading is its heading in docs/bugs.md, and in the Chinese edition.
func (b Bug) Heading() Text { return Text{En: b.ID + ": " + b.Title.En, Zh: b.ID + "：" + b.Title.Zh} }

// CuredIn names the lock that cures the bug.
func (b Bug) CuredIn() Text {
	n := 1 + slices.Index([]string{naive.Name, herd.Name, predecessor.Name, reentrant.Name, timeout.Name}, b.Cure.Name)
	if n == 0 {
		return i18n.Same(b.Cure.Name)
	}
	return i18n.Textf("step %d", "第 %d 步", n)
}

// open puts the locks into the worlds of a scene: the article's lock, and the one
// that cures it, in the same world.
func (b *Bug) open() {
	if b.Listing != nil {
		subject := Subject(b.ID, b.Listing)
		b.World.Lock.Open, b.World.Lock.Begin = subject.Open, subject.Begin
		b.World.Lock.Path = cmp.Or(b.World.Lock.Path, subject.Path)
	}
	if b.Goal.En == "" && len(b.Kinds) > 0 {
		b.Goal = Goals[b.Kinds[0]]
	}
	if b.Search.Limit == 0 {
		b.Search.Limit = 5000
	}
	b.Ours = b.World
	b.World.Name, b.World.Lock.Name = b.ID, b.ID
	if b.Listing == nil {
		b.Ours.Lock = b.Cure
	} else {
		ours, cure := &b.Ours.Lock, b.Cure
		ours.Open, ours.Begin = cure.Open, nil
		ours.Queue = ours.Queue || cure.Queue
		ours.NotLocked, ours.Requeues, ours.Timed, ours.Contexts = cure.NotLocked, cure.Requeues, cure.Timed, cure.Contexts
		if cure.Check != nil {
			ours.Check = cure.Check
		}
		if cure.Ignore != nil {
			ours.Ignore = cure.Ignore
		}
	}
	b.Ours.Lock.Name = b.ID + "-" + b.Cure.Name
	b.Ours.Name = b.Ours.Lock.Name
}

// Find returns a bug that has a scene.
func Find(id string) (Bug, bool) { return findBug(All, id) }

func findBug(list []Bug, id string) (Bug, bool) {
	i := slices.IndexFunc(list, func(b Bug) bool { return b.ID == id })
	if i < 0 {
		return Bug{}, false
	}
	return list[i], true
}

// Get returns a bug, which must be in the catalogue.
func Get(id string) Bug {
	b, ok := findBug(Bugs, id)
	if !ok {
		panic("scenes: no bug " + id + ": write its entry in internal/bugs/scenes/article_" + strings.ToLower(id[:1]) + ".go")
	}
	return b
}

// A Schedule is how a scene is played.
type Schedule struct {
	Choices   []string `json:"choices"`
	Widths    []int    `json:"widths"`
	Violation Text     `json:"violation"` // with which it ends
}

//go:embed schedules.json
var schedules []byte

// Schedules are the schedules by ID, each with all choices up to its
// violation.
var Schedules = sync.OnceValue(func() map[string]Schedule { return decoded[Schedule]("schedules.json", schedules) })

// decoded is a file of this folder. The lab's catalogue asks for it hundreds of times, at each
// start of a program.
func decoded[V any](name string, text []byte) map[string]V {
	all := make(map[string]V)
	if err := json.Unmarshal(text, &all); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return all
}

//go:embed fates.json
var fates []byte

// FateTries is how many continuations of each beginning Fates has counted.
const FateTries = 100

// Fates are, by the ID of a scene, how many of FateTries random continuations of
// each beginning of its schedule reach its goal: see [explore.Fates]. Those of its level's
// Route, if it has one, are behind the ID and a slash.
var Fates = sync.OnceValue(func() map[string][]int { return decoded[[]int]("fates.json", fates) })

// Only returns a world in which no violations but the scene's are reported.
func (b Bug) Only(w player.World) player.World {
	w.Lock.Ignore = player.KindsBut(b.Kinds...)
	return w
}

// Shows reports whether a trace ends with what the scene is about.
func (b Bug) Shows(tr *player.Trace) bool {
	if slices.Contains(b.Kinds, player.Outlived) {
		return tr.Knows(player.Outlived)
	}
	return tr.Violation != nil && slices.Contains(b.Kinds, tr.Violation.Kind) && (b.Like == nil || b.Like(tr))
}

// Reached reports whether a trace ends with what Goal says.
func (b Bug) Reached(tr *player.Trace) bool {
	return explore.EndsIn(b.Kinds[0])(tr) && (b.Like == nil || b.Like(tr))
}

// Trace returns the scene's schedule, to be played; nil if it has none.
func (b Bug) Trace() *player.Trace {
	sch, ok := Schedules()[b.ID]
	if !ok {
		return nil
	}
	return &player.Trace{World: b.World, Choices: sch.Choices, Widths: sch.Widths}
}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Anchor returns the anchor that GitHub gives a heading, such as that of a bug
// in docs/bugs.md.
func Anchor(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

var sequence = regexp.MustCompile(`\d{10}`)

// Short returns a node's name on the page: /lock/lock-0000000003 is lock-3.
func Short(p string) string {
	return sequence.ReplaceAllStringFunc(path.Base(p), func(digits string) string {
		n, _ := strconv.Atoi(digits)
		return strconv.Itoa(n)
	})
}
