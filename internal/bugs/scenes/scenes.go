// Package scenes has the bugs of the articles' listings: each is an entry in the file of its article. The entry of a
// bug on ZooKeeper is a scene, which the explorer plays: the world in which the bug comes up, and a schedule that ends
// with it. The tests of the bugs, the pages and the lab show the scenes. What the lab's game and the story of a scene
// say is in the folder texts, a file for each bug.
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

// A Bug is an entry of the catalogue. Of most fields, an entry writes only what differs from the default: setDefaults.
type Bug struct {
	ID    string         // the article's letter, or Z if no article has it, and a number
	Step  string         // the folder of the step whose idea the bug breaks
	Title Text           // the heading in docs/bugs.md, without the ID
	Cure  player.Subject // the lock that cures the bug: that of a step, or zklock
	Kinds []player.Kind  // the violations that show the bug; the first one is its kind on all pages
	Goal  Text           // what a person who plays the scheduler is to reach; the default is that of the first kind

	// NoScene says why the lab cannot show the bug, which has none of the fields below, but a test in docs/other-locks.
	NoScene *NoScene

	// Listing is the article's lock. Substitute describes the one that stands for it, in Listing or in World; "": none.
	Listing    listings.New
	Substitute Text
	// World is where the bug comes up: how many contend, what they do, and what may go wrong. Its Lock need not say
	// how it is opened: Listing does. Without a Listing it has all that a Subject needs, and the same Path as Cure.
	World player.World
	Ours  player.World // World with Cure as its lock, set from both: the bug must not come up there
	// Like, if it is not nil, is true of a trace that shows this bug, and not another one with the same violation.
	Like   func(tr *player.Trace) bool
	Search explore.Search // finds the bug in World; the default is to go through the schedules, up to 5000
	Level  Level          // the texts of the game, read from texts/ID.json; an entry has at most its Route
	Stops  []Stop         // the story: six to ten instants of a film, read from the same file
	Play   *Play          // the schedule of that film, if it is not the scene's own
}

// A NoScene is the reason for which a bug has no scene.
type NoScene struct {
	Folder string // in docs/other-locks: that of the lock
	Why    Text   // half a sentence
	Near   string // the ID of a scene with the same mistake; "" if there is none
}

// A Stop is an instant of a film, and what is to be seen there. A test compares the fields below Quote with the film.
type Stop struct {
	At       time.Duration `json:"at_ns"`
	Text     Text          `json:"text"`
	Quote    string        `json:"quote,omitempty"` // a sentence of an article, if it is about that
	States   string        `json:"-"`               // of the contenders, in order: outside, waits, holds, unlocks, done or failed
	Nodes    string        `json:"-"`               // the owners of the nodes, in the order of their names
	Watchers string        `json:"-"`               // the clients with a watch, in order
	Broken   bool          `json:"-"`               // a violation has happened
}

// A Play is a schedule for a story of which the scene's own schedule shows too little.
type Play struct {
	Contenders int
	Kinds      []player.Fault
	Faults     int
	Choices    []string
}

// In returns a world of the bug, World or Ours, with what may happen in the story.
func (p *Play) In(w player.World) player.World {
	w.Contenders, w.Kinds, w.Faults = p.Contenders, p.Kinds, p.Faults
	return w
}

// Bugs are all bugs in the order of docs/bugs.md: by step, by article, and by number.
// WithScene are those of them that have a scene.
var (
	Bugs      = catalogue(articleA, articleB, articleC, articleD, articleE, articleZ)
	WithScene = slices.DeleteFunc(slices.Clone(Bugs), func(b Bug) bool { return b.World.Lock.Open == nil })
)

// catalogue puts the bugs into their order, and sets what their entries leave out.
func catalogue(articles ...[]Bug) []Bug {
	all := slices.Concat(articles...)
	slices.SortFunc(all, func(a, b Bug) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Article(), b.Article()), cmp.Compare(a.number(), b.number()))
	})
	for i := range all {
		all[i].setDefaults()
		all[i].readTexts()
	}
	return all
}

func (b Bug) Article() string { return b.ID[:1] } // a letter

func (b Bug) number() int {
	n, _ := strconv.Atoi(b.ID[1:])
	return n
}

// Heading is the heading in docs/bugs.md, and in its Chinese edition.
func (b Bug) Heading() Text {
	return i18n.Both(b.ID+": "+b.Title.String(), b.ID+"："+b.Title.In(i18n.Chinese))
}

// CuredIn names the lock that cures the bug.
func (b Bug) CuredIn() Text {
	n := 1 + slices.Index([]string{naive.Name, herd.Name, predecessor.Name, reentrant.Name, timeout.Name}, b.Cure.Name)
	if n == 0 {
		return i18n.Same(b.Cure.Name)
	}
	return i18n.Textf("step %d", n)
}

// setDefaults sets what an entry may leave out: the goal, how to search, the lock of World, and Ours.
func (b *Bug) setDefaults() {
	if b.Goal.String() == "" && len(b.Kinds) > 0 {
		b.Goal = Goals[b.Kinds[0]]
	}
	b.Search.Limit = cmp.Or(b.Search.Limit, 5000)
	if b.Listing != nil {
		subject := Subject(b.ID, b.Listing)
		b.World.Lock.Open, b.World.Lock.Begin = subject.Open, subject.Begin
		b.World.Lock.Path = cmp.Or(b.World.Lock.Path, subject.Path)
	}

	b.Ours = b.World
	b.World.Name, b.World.Lock.Name = b.ID, b.ID
	b.Ours.Lock = b.Cure
	if b.Listing != nil {
		b.Ours.Lock = inItsPlace(b.World.Lock, b.Cure)
	}
	b.Ours.Lock.Name = b.ID + "-" + b.Cure.Name
	b.Ours.Name = b.Ours.Lock.Name
}

// inItsPlace is a listing's lock that works as cure does. What its entry says of it stays, such as what is checked.
func inItsPlace(lock, cure player.Subject) player.Subject {
	lock.Open, lock.Begin = cure.Open, nil
	lock.Queue = lock.Queue || cure.Queue
	lock.NotLocked, lock.Requeues, lock.Timed, lock.Contexts = cure.NotLocked, cure.Requeues, cure.Timed, cure.Contexts
	if cure.Check != nil {
		lock.Check = cure.Check
	}
	if cure.Ignore != nil {
		lock.Ignore = cure.Ignore
	}
	return lock
}

// Find returns the bug with an ID, if it has a scene.
func Find(id string) (bug Bug, found bool) {
	if i := slices.IndexFunc(WithScene, func(b Bug) bool { return b.ID == id }); i >= 0 {
		return WithScene[i], true
	}
	return Bug{}, false
}

// Get returns the bug with an ID, whether it has a scene or not. It panics if there is none.
func Get(id string) Bug {
	if i := slices.IndexFunc(Bugs, func(b Bug) bool { return b.ID == id }); i >= 0 {
		return Bugs[i]
	}
	panic("scenes: no bug " + id + ": write its entry in internal/bugs/scenes/article_" + strings.ToLower(id[:1]) + ".go")
}

// A Schedule is the saved schedule of a scene.
type Schedule struct {
	Choices   []string `json:"choices"`   // up to the violation
	Widths    []int    `json:"widths"`    // how many choices were possible, each time
	Violation Text     `json:"violation"` // that the schedule ends with
}

//go:embed schedules.json
var schedules []byte

// Schedules are the schedules of the scenes, by ID. They are decoded once: the lab asks for them hundreds of times.
var Schedules = sync.OnceValue(func() map[string]Schedule { return decode[Schedule]("schedules.json", schedules) })

func decode[V any](name string, text []byte) map[string]V {
	all := make(map[string]V)
	if err := json.Unmarshal(text, &all); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return all
}

//go:embed fates.json
var fates []byte

// FateTries is how many random continuations of each beginning of a schedule were played.
const FateTries = 100

// Fates are, by the ID of a scene, a number for each beginning of its schedule: how many of FateTries random
// continuations reach the goal, see [explore.Fates]. The key of those of a Level.Route is the ID and a slash: "A8/".
var Fates = sync.OnceValue(func() map[string][]int { return decode[[]int]("fates.json", fates) })

// Only returns a world that reports no other violations than those of the bug.
func (b Bug) Only(w player.World) player.World {
	w.Lock.Ignore = player.KindsBut(b.Kinds...)
	return w
}

// Shows reports whether a trace shows the bug.
func (b Bug) Shows(tr *player.Trace) bool {
	if slices.Contains(b.Kinds, player.Outlived) { // never a Violation, but always Known
		return tr.Knows(player.Outlived)
	}
	return tr.Violation != nil && slices.Contains(b.Kinds, tr.Violation.Kind) && (b.Like == nil || b.Like(tr))
}

// Reached reports whether a trace ends with what Goal asks for.
func (b Bug) Reached(tr *player.Trace) bool {
	return explore.EndsIn(b.Kinds[0])(tr) && (b.Like == nil || b.Like(tr))
}

// Trace returns the scene's schedule, to be played; nil if it has none.
func (b Bug) Trace() *player.Trace {
	saved, ok := Schedules()[b.ID]
	if !ok {
		return nil
	}
	return &player.Trace{World: b.World, Choices: saved.Choices, Widths: saved.Widths}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Anchor returns the anchor that GitHub gives a heading, such as that of a bug in docs/bugs.md. If an earlier heading
// of the page uses the same one, a number is added.
func Anchor(heading string, used ...string) string {
	name := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	anchor := name
	for n := 1; slices.Contains(used, anchor); n++ {
		anchor = fmt.Sprintf("%s-%d", name, n)
	}
	return anchor
}

var sequenceNumber = regexp.MustCompile(`\d{10}`)

// Short returns the name of a node as pages have it: lock-3 for /lock/lock-0000000003.
func Short(node string) string {
	return sequenceNumber.ReplaceAllStringFunc(path.Base(node), func(digits string) string {
		n, _ := strconv.Atoi(digits)
		return strconv.Itoa(n)
	})
}
