// Package locks is the catalogue of the lab: every lock that can run in the page, with the page's text on it.
package locks

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"time"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

type Text = i18n.Text

// A Group of locks, in the order in which the page shows them.
type Group string

const (
	Steps     Group = "steps"     // the folders 01 to 05
	Museum    Group = "museum"    // the articles' listings
	Broken    Group = "broken"    // locks with one line wrong
	Exercises Group = "exercises" // what a student edits
)

var groups = []Group{Steps, Museum, Broken, Exercises}

// A Goal is what a person who chooses the schedule tries to reach.
type Goal struct {
	Kind    player.Kind              `json:"kind"` // of violation; "": the lock cannot be broken
	Text    Text                     `json:"text"`
	Reached func(*player.Trace) bool `json:"-"` // whether a schedule reaches it
}

// A Level is a lock's place in the game. The page shows them in the order of Number.
type Level struct {
	scenes.Level
	Number  int      `json:"number"`
	Chapter Text     `json:"chapter"`
	Plays   []string `json:"plays"` // the choices that the last hint plays
}

// A Lock is an entry of the catalogue.
type Lock struct {
	Name  string `json:"name"` // in addresses: letters, digits and hyphens
	Group Group  `json:"group"`
	Title Text   `json:"title"`
	Note  Text   `json:"note"`
	// Requests and Events are the formulas for n contenders that lock once each, as text; "" if none is known.
	Requests string `json:"requests"`
	Events   string `json:"events"`
	Contexts bool   `json:"contexts"`        // Lock takes a ctx, which may end
	Alone    bool   `json:"alone"`           // contenders of a session share nothing but the session
	Parent   bool   `json:"parent"`          // the contenders' nodes have a parent, which may be removed
	Scene    *Scene `json:"scene,omitempty"` // shows what the lock is known for; nil: six contenders, no changes
	Goal     *Goal  `json:"goal,omitempty"`
	Level    *Level `json:"level,omitempty"` // each lock with a goal has one
	// Fates[i] says how many percent of random continuations after the scene's first i choices, with the faults that may
	// still happen, reach the goal.
	Fates []int  `json:"fates,omitempty"`
	Story *Story `json:"story,omitempty"`
	// World is the lock's own world for chosen schedules; see In. Without a Name, there is none.
	World player.World `json:"-"`
	// Subject is the lock for the explorer. Its clients have this session timeout.
	Subject func(session time.Duration) player.Subject `json:"-"`
}

// In completes a world in which somebody chooses the schedule, or the explorer searches. The contenders and what may go
// wrong are those of w; a lock with a world of its own brings the rest.
func (l Lock) In(w player.World) player.World {
	w.Lock, w.Name = l.Subject(player.SessionTimeout), l.Name
	if own := l.World; own.Name != "" {
		w.Scripts, w.Missing, w.Stranger, w.Forbidden = own.Scripts, own.Missing, own.Stranger, own.Forbidden
		w.Apart, w.Unconnected, w.Sequence, w.Ensemble = own.Apart, own.Unconnected, own.Sequence, own.Ensemble
	}
	w.Tagged = w.Shared && w.Lock.Lenient && w.Lock.Alone // as in the grader: each contender gets its own answers
	if slices.Contains(w.Kinds, player.Refuse) {
		w.Unconnected = true // it is a client's first connection that is refused
	}
	return w
}

var catalogue []Lock

// All locks of this project are in the catalogue. The lab's engine may add those of the exercises.
func init() {
	Add(slices.Concat(stepLocks, listingLocks(), brokenLocks())...)
	for _, task := range Tasks {
		Add(task.Lock)
	}
	Add(provedLocks...)
}

// Add puts locks into the catalogue. It panics if a name is taken.
func Add(locks ...Lock) {
	for _, l := range locks {
		if _, err := Find(l.Name); err == nil {
			panic("locks: there are two of " + l.Name)
		}
		s := l.Subject(Session)
		l.Contexts, l.Alone, l.Parent = s.Contexts, s.Alone, s.Queue || s.Exists
		l.Story = cmp.Or(stories[l.Name], l.Story)
		catalogue = append(catalogue, l)
	}
}

// All returns the catalogue by groups, and each group in the order of Add. Of the exercises, those with a goal
// come last: the listings of exercise 11.
func All() []Lock {
	position := func(l Lock) int {
		if l.Group == Exercises && l.Goal != nil {
			return len(groups)
		}
		return slices.Index(groups, l.Group)
	}
	list := slices.Clone(catalogue)
	slices.SortStableFunc(list, func(a, b Lock) int { return position(a) - position(b) })
	return list
}

// Find returns the lock of a name.
func Find(name string) (Lock, error) {
	for _, l := range catalogue {
		if l.Name == name {
			return l, nil
		}
	}
	return Lock{}, i18n.Errorf("there is no lock %q", name)
}

// Session is the session timeout in a film, if the latency is not high.
const Session = 4 * time.Second

// A Scene has all inputs of a film.
type Scene struct {
	Lock       string        `json:"lock"`
	Contenders int           `json:"contenders"`
	Shared     bool          `json:"shared,omitempty"`
	LatencyMs  float64       `json:"latency_ms,omitempty"` // 0: 20
	Measured   bool          `json:"measured,omitempty"`   // at the pace of film.Measured, whatever LatencyMs is
	Seed       uint64        `json:"seed"`
	Changes    []film.Change `json:"changes,omitempty"`
	// For a schedule that somebody chooses: what may go wrong, at most how many times, and the choices.
	Kinds   []player.Fault `json:"kinds,omitempty"`
	Faults  int            `json:"faults,omitempty"`
	Choices []string       `json:"choices,omitempty"`
	Scripts [][]player.Op  `json:"scripts,omitempty"` // the calls of each contender, as in player.World
}

// World returns the scene as package film plays it: a world, and the pace of its packets.
func (s Scene) World() (player.World, film.Pace, error) {
	l, err := Find(s.Lock)
	if err != nil {
		return player.World{}, film.Pace{}, err
	}
	if !(s.LatencyMs >= 0 && s.LatencyMs <= 10_000) { // NaN is neither
		return player.World{}, film.Pace{}, i18n.Errorf("a latency of %v ms is not possible: from 1 to 10000", s.LatencyMs)
	}
	pace := film.Pace{Latency: time.Duration(cmp.Or(s.LatencyMs, 20) * float64(time.Millisecond))}
	if s.Measured {
		pace = film.Measured(s.Contenders)
	}
	pace.Seed, pace.Changes = s.Seed, s.Changes
	session := max(Session, 40*pace.Latency) // one that is shorter than the way of a few packets ends by itself
	w := player.World{Lock: l.Subject(session), Contenders: s.Contenders, Shared: s.Shared, Scripts: s.Scripts}
	return w, pace, nil
}

// A Story explains a scene at a few instants of its film.
type Story struct {
	Scene Scene  `json:"scene"` // a listing's is a schedule, and so is one with Choices
	Stops []Stop `json:"stops"`
}

// A Stop is an instant of a film, and what is to be seen there.
type Stop = scenes.Stop

// An OpeningScene shows two locks beside each other, and explains their films at a few instants.
type OpeningScene struct {
	Address `json:"-"`
	Name    Text    `json:"name"` // the button that leads to it
	Titles  [2]Text `json:"titles"`
	Stops   []Stop  `json:"stops"`
}

// stories.json has the words of the openings, and of the stories of the steps and zklock. Package scenes has the bugs'.
//
//go:embed stories.json
var storiesText []byte

// Openings are the scenes that the page opens with, one after the other. At the last stop of the first one
// the page shows the measured times of a thousand contenders.
var Openings = readStories("openings")

// Opening is the address of the first of them.
var Opening = Openings[0].Address

// stories are those of the steps and of zklock, by the lock's name.
var stories = func() map[string]*Story {
	all := make(map[string]*Story)
	for _, s := range readStories("stories") {
		all[s.Lock] = &Story{s.Scene, s.Stops}
	}
	return all
}()

// readStories reads one of the two lists in stories.json. A story has neither a name nor titles.
func readStories(name string) (list []OpeningScene) {
	var all map[string][]struct {
		Address string
		Name    Text
		Titles  [2]Text
		Stops   []scenes.ToldStop
	}
	must(json.Unmarshal(storiesText, &all))
	for _, s := range all[name] {
		address, err := parseAnyLock(s.Address)
		must(err)
		list = append(list, OpeningScene{Address: address, Name: s.Name, Titles: s.Titles, Stops: scenes.StopsOf(s.Stops)})
	}
	return list
}

func must(err error) {
	if err != nil {
		panic("stories.json: " + err.Error())
	}
}
