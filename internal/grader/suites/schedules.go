package suites

import (
	"context"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/runner"
)

// A ScheduleSubject is a lock that is put through every schedule of a few worlds.
type ScheduleSubject struct {
	// Folder of the exercise, such as 03-predecessor.
	Folder string
	// Open makes contenders; package locks makes it of an exercise's New.
	Open locks.Open
	// NotLocked is what Unlock returns if the lock is not held.
	NotLocked error
}

// A schedulePlan is one case: a world and how it is searched. A search is limited by a number
// of schedules, so that a grade does not depend on how fast the machine is.
type schedulePlan struct {
	name  i18n.Text
	group locktest.Group
	world player.World
	explore.Search
	unsafeOnly bool // no other violations count than those that cost all points
}

var faultNames = map[player.Fault]i18n.Text{
	player.LoseRequest: "a request is lost", player.LoseReply: "a reply is lost",
	player.Cut: "a connection breaks", player.Expire: "a session ends",
	player.EndContext: "a ctx ends",
}

// plans are the cases for a kind of lock. They play every schedule of what a fixed case does with one, or random
// schedules if there are too many. Two contenders with one fault have fewer than two thousand schedules; the limit is
// for a lock that has no end of them. A search with a Seed is random, and draws the same schedules each time.
func plans(s player.Subject, register bool) []schedulePlan {
	p := &planner{
		Subject: s, contenders: 2, kinds: []player.Fault{player.LoseRequest, player.LoseReply, player.Cut, player.Expire},
		every: explore.Search{Limit: 3000, Merge: true}, everyName: "every schedule of two contenders",
	}
	if s.Permits > 1 {
		p.contenders = s.Permits + 1
		p.every = explore.Search{Seed: 2, Limit: 500}
		p.everyName = randomName(p.every.Limit, p.contenders)
	}
	if s.Contexts {
		p.kinds = append(p.kinds, player.EndContext)
	}
	if register {
		p.addRegisters()
		return p.list
	}
	p.addComplete()
	p.addShared()
	p.addRandom()
	return p.list
}

// A planner makes the plans for a lock.
type planner struct {
	player.Subject
	contenders int
	kinds      []player.Fault // that may happen to any lock of this kind
	every      explore.Search // plays every schedule, or random ones if there are too many
	everyName  i18n.Text
	list       []schedulePlan
}

// nines is a number of a node such that the next one has one digit more.
const nines = 999_999_999

// What a contender does in a world.
var (
	twice  = []player.Op{player.LockOp, player.UnlockOp, player.LockOp, player.UnlockOp}
	thrice = append(slices.Clone(twice), player.LockOp, player.UnlockOp)
)

// randomName names the schedules of a random search.
func randomName(limit, contenders int) i18n.Text {
	return i18n.Textf("%d random schedules of %d contenders", limit, contenders)
}

func (p *planner) add(g locktest.Group, name i18n.Text, w player.World, search explore.Search) {
	p.list = append(p.list, schedulePlan{name: name, group: g, world: w, Search: search})
}

// worldOf is a world in which one of the faults may happen.
func worldOf(contenders int, faults ...player.Fault) player.World {
	return player.World{Contenders: contenders, Kinds: faults, Faults: min(len(faults), 1)}
}

// addRegisters adds the worlds of stores that write and read.
func (p *planner) addRegisters() {
	stores := i18n.Text("every schedule of two stores that write and read, twice")
	for _, f := range []player.Fault{"", player.LoseRequest, player.LoseReply} {
		group, w, name := locktest.Liveness, worldOf(2), stores
		if f != "" {
			// With one address the library throws away what is sent between two connections.
			group, w, name = locktest.Faults, worldOf(2, f), i18n.Textf("%s, and at some moment %s", stores, faultNames[f])
			w.Ensemble = true
		}
		w.Scripts = [][]player.Op{twice, twice}
		p.add(group, name, w, p.every)
	}
}

// addComplete adds the worlds of which every schedule is played: without a fault, and with each one.
func (p *planner) addComplete() {
	twiceEach := explore.Search{Seed: 3, Limit: 600} // where all lock twice
	twiceName := randomName(twiceEach.Limit, p.contenders)
	p.add(locktest.Liveness, p.everyName, worldOf(p.contenders), p.every)
	if p.Queue {
		w := worldOf(p.contenders) // Stranger is a node of another kind
		w.Sequence, w.Stranger = nines, true
		p.add(locktest.Liveness, i18n.Textf("%s, beside a node of another kind, and a number has one digit more than the "+
			"one before", p.everyName), w, p.every)
		p.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody deletes a waiter's node", p.everyName),
			worldOf(p.contenders, player.NodeGoes), p.every)
		w = worldOf(p.contenders, player.Remake, player.Expire)
		w.Scripts = slices.Repeat([][]player.Op{twice}, p.contenders)
		p.add(locktest.Faults, i18n.Textf("%s that lock twice, and at some moment the parent, which is empty, goes, or a "+
			"session ends", twiceName), w, twiceEach)
	}

	// These are for every kind of lock.
	p.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody writes the data of a node again", p.everyName),
		worldOf(p.contenders, player.NodeSet), p.every)
	fresh := worldOf(p.contenders, player.LoseRequest, player.LoseReply)
	fresh.Missing = true
	p.add(locktest.Faults, i18n.Textf("%s on a path whose nodes do not exist, and a request or a reply is lost",
		p.everyName), fresh, p.every)

	// These are for some kinds of lock only.
	if p.Contexts {
		again := player.World{Contenders: p.contenders, Kinds: []player.Fault{player.EndContext}, Faults: 1, Scripts: [][]player.Op{twice, twice}}
		p.add(locktest.Faults, i18n.Textf("%s that lock twice, and a ctx ends", twiceName), again, twiceEach)
		p.add(locktest.Faults, i18n.Textf("%s, and a ctx ends after a look at it", p.everyName),
			worldOf(p.contenders, player.EndAfterLook, player.EndAfterLook2), p.every)
	}
	if !p.Reentrant && !p.Timed {
		w := worldOf(p.contenders, player.Expire)
		w.Scripts = slices.Repeat([][]player.Op{{player.LockOp, player.RelockOp, player.UnlockOp}}, p.contenders)
		p.add(locktest.Faults, i18n.Textf("%s, and a holder whose session has ended locks again without Unlock",
			p.everyName), w, p.every)
	}
	if !p.Timed { // it would send requests all day
		p.add(locktest.Liveness, i18n.Textf("%s, and at some moment a day passes", p.everyName),
			worldOf(p.contenders, player.Day), p.every)
	}

	// Each fault comes by itself here. A lock that finds its node again meets several, on servers that are behind.
	for _, f := range p.kinds {
		p.add(locktest.Faults, i18n.Textf("%s, and at some moment %s", p.everyName, faultNames[f]),
			worldOf(p.contenders, f), p.every)
	}
	if p.Queue && len(p.Known) == 0 { // it finds its node again
		behind := worldOf(1, player.LoseRequest, player.LoseReply)
		behind.Faults, behind.Behind, behind.Ensemble = 3, true, true
		behind.Scripts = [][]player.Op{twice}
		p.add(locktest.Faults, "every schedule of one contender that comes to servers that are behind, and three "+
			"requests or replies are lost", behind, explore.Search{Limit: 3000})
	}
}

// addShared adds the worlds of contenders that share a session.
func (p *planner) addShared() {
	some := explore.Search{Seed: 1, Limit: 200}
	shared := worldOf(p.contenders)
	shared.Shared = true
	p.add(locktest.Liveness, i18n.Textf("%s in one session", randomName(some.Limit, p.contenders)), shared, some)

	some.Limit = 600
	lossy := worldOf(p.contenders, player.LoseRequest, player.LoseReply)
	lossy.Shared, lossy.Ensemble = true, true
	lossy.Scripts = slices.Repeat([][]player.Op{twice}, p.contenders)
	p.add(locktest.Faults, i18n.Textf("%s in one session that lock twice, and at some moment a request or a reply is "+
		"lost", randomName(some.Limit, p.contenders)), lossy, some)

	// After its session's end a client fails one more call before it connects again: the third Lock is in the next one.
	shared = worldOf(p.contenders+1, player.Expire)
	shared.Shared, shared.Scripts = true, [][]player.Op{thrice, thrice, thrice}
	p.add(locktest.Faults, i18n.Textf("%s in one session that lock three times, and at some moment it ends",
		randomName(some.Limit, p.contenders+1)), shared, some)
	if p.Reentrant {
		owners := worldOf(3)
		owners.Shared, owners.OneOwner = true, true
		owners.Scripts = [][]player.Op{{player.TryLockOp, player.UnlockOp, player.LockOp, player.UnlockOp}, twice}
		p.add(locktest.Liveness, i18n.Textf("%d random schedules of two goroutines of one owner, and another owner",
			some.Limit), owners, some)
	}
}

// addRandom adds the worlds that have too many schedules to play every one.
func (p *planner) addRandom() {
	pairs := explore.Search{Seed: 1, Limit: 1000}
	two := worldOf(p.contenders, p.kinds...)
	if p.Queue {
		two.Kinds = append(slices.Clone(p.kinds), player.NodeGoes)
	}
	two.Faults = 2
	p.add(locktest.Faults, i18n.Textf("%s, and at some moments two of these faults",
		randomName(pairs.Limit, p.contenders)), two, pairs)
	p.list[len(p.list)-1].unsafeOnly = true // a lock whose first try to clean up is lost, too, may leave a node

	some, n := explore.Search{Seed: 1, Limit: 200}, p.contenders+1
	more := randomName(some.Limit, n)
	p.add(locktest.Liveness, more, worldOf(n), some)
	p.add(locktest.Faults, i18n.Textf("%s, and at some moment one of these faults", more), worldOf(n, p.kinds...), some)
	waits := worldOf(n, player.NodeSet, player.NodeGoes)
	waits.Faults = 2
	if p.Contexts {
		waits.Kinds = append(waits.Kinds, player.EndContext)
	}
	p.add(locktest.Faults, i18n.Textf("%s, and at some moments somebody writes a node again, and deletes a waiter's",
		randomName(pairs.Limit, n)), waits, pairs)
	if p.Together == nil && !p.Timed { // it has a TryLock
		tries := worldOf(n, player.LoseRequest, player.NodeGoes, player.NodeSet, player.Expire)
		if p.Queue {
			tries.Sequence = nines
		}
		tries.Scripts = [][]player.Op{nil, {player.TryLockOp, player.UnlockOp}}
		p.add(locktest.Faults, i18n.Textf("%s, one of which only tries, and a request is lost, a session ends, or a "+
			"waiter's node is deleted or written", randomName(pairs.Limit, n)), tries, pairs)
	}
}

// Plan has a case for each world.
func (s ScheduleSubject) Plan() locktest.Plan {
	e, err := locks.FindExercise(s.Folder)
	if err != nil {
		return locktest.Plan{Missing: err.Error()}
	}
	subject := e.Subject(s.Open, s.NotLocked, player.SessionTimeout)
	if _, err := locks.Find(e.Name()); err != nil { // as the lab does with a student's lock
		locks.AddExercise(s.Folder, i18n.Same(e.Name()), s.Open, s.NotLocked)
	}
	var p locktest.Plan
	for _, c := range plans(subject, e.Register) {
		p.Add(c.name, c.group, func(in *runner.Case) { c.run(in, subject) })
	}
	return p.Needs(s.Open != nil, "ScheduleSubject.Open is nil: it must make contenders")
}

// worseActions limits the actions of a search for a worse violation: it is enough for 1000 schedules
// of a lock that waits for events, and for 40 of one that polls.
const worseActions = 15_000

// closedSchedules are enough to see that a lock, such as the stub, lets nobody in: no contender has been inside in any.
const closedSchedules = 100

// run searches the world for a violation, and fails the case with the one that it reports.
func (p schedulePlan) run(c *runner.Case, s player.Subject) {
	var entered atomic.Bool
	s = s.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock {
		c.Step() // a schedule begins
		return recordEntry(l, &entered)
	})
	if p.unsafeOnly {
		s.Ignore = slices.Concat(s.Ignore, player.KindsBut(unsafe...))
	}
	p.world.Lock = s
	p.world.Tagged = p.world.Shared && s.Alone                  // else goroutines that send equal requests at once get each other's answers
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20)) // bytes, until this returns: the explorer leaves garbage
	result := explore.Explore(c.T, p.world, p.Search)
	found := result.Found
	if found == nil {
		c.Log(result)
		return
	}
	if !slices.Contains(unsafe, found.Violation.Kind) {
		if worse := p.worse(c, &entered); worse != nil {
			found = worse
		}
	}
	c.Fail(i18n.Textf("%s, in this schedule:\n%s", violationText(found), found.Steps()), labAddress(c, found))
}

// worse searches for a violation that costs all points. A schedule ends with its first one; a worse may come after it.
func (p schedulePlan) worse(c *runner.Case, entered *atomic.Bool) *player.Trace {
	p.world.Lock.Ignore = slices.Concat(p.world.Lock.Ignore, player.KindsBut(unsafe...))
	if !entered.Load() {
		first := p.Search
		first.Limit = closedSchedules
		if found := explore.Explore(c.T, p.world, first).Found; found != nil || !entered.Load() {
			return found
		}
	}
	if p.Seed != 0 { // a random search may not come to the worse violation so soon
		p.Limit *= 5
	}
	p.Actions = worseActions
	return explore.Explore(c.T, p.world, p.Search).Found
}

// recordEntry wraps a lock so that it sets entered when a contender gets it.
func recordEntry(l player.Lock, entered *atomic.Bool) player.Lock {
	recorder := entryRecorder{l, entered}
	if leased, ok := l.(player.Leased); ok {
		return struct {
			entryRecorder
			player.Leased
		}{recorder, leased}
	}
	return recorder
}

type contender = player.Lock

type entryRecorder struct {
	contender
	entered *atomic.Bool
}

func (n entryRecorder) Lock(ctx context.Context) error {
	err := n.contender.Lock(ctx)
	if err == nil {
		n.entered.Store(true)
	}
	return err
}

func (n entryRecorder) Does() i18n.Text { return player.Does(n.contender) }

func (n entryRecorder) TryLock(ctx context.Context) (bool, error) {
	ok, err := n.contender.TryLock(ctx)
	if ok {
		n.entered.Store(true)
	}
	return ok, err
}

// unsafe are the violations for which a lock gets no points.
var unsafe = []player.Kind{player.TwoHolders, player.ForeignDelete, player.NodeMissing, player.LostAddition, player.StaleWrite}

// labAddress is the address at which the lab plays a trace up to its violation, from the # on. If
// another violation would end the schedule there before, the address names the one that is wanted.
// It is empty if the lab does not come to the violation: a lock may draw lots.
func labAddress(c *runner.Case, tr *player.Trace) string {
	a := addressOf(tr)
	for range 4 { // tries, for a lock whose schedules do not repeat each time
		for _, a.Want = range []player.Kind{"", tr.Violation.Kind} {
			if kind, err := replay(c, a.String()); err == nil && kind == tr.Violation.Kind {
				return a.String()
			}
		}
	}
	return ""
}

// replay plays an address as the lab does, and returns the violation that it ends with.
func replay(c *runner.Case, address string) (player.Kind, error) {
	a, err := locks.ParseAddress(address)
	if err != nil {
		return "", err
	}
	c.Step()
	_, tr, _, err := film.Play(c.T, a.World(), a.Choices)
	if err != nil || tr.Violation == nil {
		return "", err
	}
	return tr.Violation.Kind, nil
}

func addressOf(tr *player.Trace) locks.Address {
	w := tr.World
	return locks.Address{
		Locks: []string{w.Name}, Mode: "schedule",
		Sequence: w.Sequence, OneOwner: w.OneOwner, Stranger: w.Stranger, Behind: w.Behind, Ensemble: w.Ensemble, Missing: w.Missing,
		Scene: locks.Scene{Lock: w.Name, Contenders: w.Contenders, Shared: w.Shared, Seed: 1, Kinds: w.Kinds,
			Faults: w.Faults, Choices: tr.Whole(), Scripts: w.Scripts},
	}
}

// violationText is the violation. If a node is left, it also says which lost request the lock must send again.
func violationText(tr *player.Trace) i18n.Text {
	if tr.Violation.Kind != player.NodeLeft {
		return tr.Violation.Text()
	}
	v := tr.Violation.What
	for _, e := range slices.Backward(tr.Log) {
		if e.Kind != "lost" || e.Who != tr.Violation.Who {
			continue
		}
		switch e.Op { // of the last request of the contender that is lost
		case jute.OpDelete.String():
			return i18n.Textf("%s: its delete is lost, and must be sent again", v)
		case jute.OpGetChildren2.String(), jute.OpGetData.String(), jute.OpExists.String():
			return i18n.Textf("%s: a %s is lost; before its error is returned the node must be deleted, and the delete sent "+
				"again if it fails", v, e.Op)
		}
		break
	}
	return v
}
