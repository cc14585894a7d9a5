package suites

import (
	"cmp"
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

// The cases of this file have the explorer play schedules of a lock. A schedule is an order in which the requests of
// some contenders are carried out, and faults happen in between. Package explore searches schedules of a world for one
// that shows a violation. A player.World has the contenders, what each of them calls, and the faults that may happen.

// A ScheduleSubject is a lock that is put through every schedule of a few worlds.
type ScheduleSubject struct {
	// Folder of the exercise, such as 03-predecessor.
	Folder string
	// Open makes contenders; package locks makes it of an exercise's New.
	Open locks.Open
	// NotLocked is what Unlock returns if the lock is not held.
	NotLocked error
}

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
	for _, c := range scheduleCases(subject, e.Register) {
		p.Add(c.name, c.group, func(in *runner.Case) { c.run(in, subject) })
	}
	return p.Needs(s.Open != nil, "ScheduleSubject.Open is nil: it must make contenders")
}

// A scheduleCase is one case: a world, and how it is searched. A search is limited by a number
// of schedules, so that a grade does not depend on how fast the machine is.
type scheduleCase struct {
	name  i18n.Text
	group locktest.Group
	world player.World
	explore.Search
	unsafeOnly bool // no other violations count than those that cost all points
}

// scheduleCases are the cases for a kind of lock. They play every schedule of what a case of another suite does with
// one, or random schedules if there are too many. A search with a Seed is random, and draws the same ones each time.
func scheduleCases(s player.Subject, isRegister bool) []scheduleCase {
	l := &caseList{
		Subject: s, contenders: 2, faults: []player.Fault{player.LoseRequest, player.LoseReply, player.Cut, player.Expire},
		// With one fault there are fewer than two thousand schedules; the limit is for a lock that has no end of them.
		usual: explore.Search{Limit: 3000, Merge: true}, usualName: "every schedule of two contenders",
	}
	if s.Permits > 1 { // one contender has to wait; there are too many schedules of so many contenders
		l.contenders = s.Permits + 1
		l.usual = explore.Search{Seed: 2, Limit: 500}
		l.usualName = randomName(l.usual.Limit, l.contenders)
	}
	if s.Contexts {
		l.faults = append(l.faults, player.EndContext)
	}

	if isRegister {
		l.addRegisters()
		return l.list
	}
	l.addComplete()
	l.addShared()
	l.addRandom()
	return l.list
}

// A caseList collects the cases for a kind of lock.
type caseList struct {
	player.Subject
	contenders int
	faults     []player.Fault // that may happen to any lock of this kind
	usual      explore.Search // of most cases: every schedule, or random ones if there are too many
	usualName  i18n.Text
	list       []scheduleCase
}

func (l *caseList) add(g locktest.Group, name i18n.Text, w player.World, search explore.Search) {
	l.list = append(l.list, scheduleCase{name: name, group: g, world: w, Search: search})
}

func randomName(limit, contenders int) i18n.Text {
	return i18n.Textf("%d random schedules of %d contenders", limit, contenders)
}

// What a contender calls in a world: its script.
var (
	once   []player.Op // nil is the explorer's own script: the contender locks and unlocks
	twice  = []player.Op{player.LockOp, player.UnlockOp, player.LockOp, player.UnlockOp}
	thrice = append(slices.Clone(twice), player.LockOp, player.UnlockOp)
)

// oneOf is a world in which one of the faults may happen. All its contenders have the same script.
func oneOf(contenders int, script []player.Op, faults ...player.Fault) player.World {
	w := player.World{Contenders: contenders, Kinds: faults, Faults: min(len(faults), 1)}
	if script != nil {
		w.Scripts = slices.Repeat([][]player.Op{script}, contenders)
	}
	return w
}

// nines is a number of a node such that the next one has one digit more.
const nines = 999_999_999

var faultNames = map[player.Fault]i18n.Text{
	player.LoseRequest: "a request is lost", player.LoseReply: "a reply is lost",
	player.Cut: "a connection breaks", player.Expire: "a session ends",
	player.EndContext: "a ctx ends",
}

// addRegisters adds the worlds of stores that use a register: the Lock of a script writes, and its Unlock reads.
func (l *caseList) addRegisters() {
	const stores = 2
	name := i18n.Text("every schedule of two stores that write and read, twice")
	l.add(locktest.Liveness, name, oneOf(stores, twice), l.usual)
	for _, f := range []player.Fault{player.LoseRequest, player.LoseReply} {
		w := oneOf(stores, twice, f)
		w.Ensemble = true // with one address the client throws away what is sent between two connections
		l.add(locktest.Faults, i18n.Textf("%s, and at some moment %s", name, faultNames[f]), w, l.usual)
	}
}

// addComplete adds the worlds of which every schedule is played: without a fault, and with each one.
func (l *caseList) addComplete() {
	l.add(locktest.Liveness, l.usualName, oneOf(l.contenders, once), l.usual)
	if l.Queue {
		l.addQueue()
	}
	l.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody writes the data of a node again", l.usualName),
		oneOf(l.contenders, once, player.NodeSet), l.usual)
	fresh := oneOf(l.contenders, once, player.LoseRequest, player.LoseReply)
	fresh.Missing = true // the nodes above the lock's
	l.add(locktest.Faults, i18n.Textf("%s on a path whose nodes do not exist, and a request or a reply is lost",
		l.usualName), fresh, l.usual)

	if l.Contexts {
		l.addContexts()
	}
	if !l.Reentrant && !l.Timed {
		lockAgain := []player.Op{player.LockOp, player.RelockOp, player.UnlockOp}
		l.add(locktest.Faults, i18n.Textf("%s, and a holder whose session has ended locks again without Unlock",
			l.usualName), oneOf(l.contenders, lockAgain, player.Expire), l.usual)
	}
	if !l.Timed { // it would send requests all day
		l.add(locktest.Liveness, i18n.Textf("%s, and at some moment a day passes", l.usualName),
			oneOf(l.contenders, once, player.Day), l.usual)
	}

	for _, f := range l.faults {
		l.add(locktest.Faults, i18n.Textf("%s, and at some moment %s", l.usualName, faultNames[f]),
			oneOf(l.contenders, once, f), l.usual)
	}
	if findsItsNode := len(l.Known) == 0; l.Queue && findsItsNode { // also after several faults in a row
		l.add(locktest.Faults, "every schedule of one contender that comes to servers that are behind, and three "+
			"requests or replies are lost",
			player.World{Contenders: 1, Kinds: []player.Fault{player.LoseRequest, player.LoseReply}, Faults: 3,
				Behind: true, Ensemble: true, Scripts: [][]player.Op{twice}}, explore.Search{Limit: 3000})
	}
}

// someTwice is for contenders that lock twice: there are too many schedules to play every one.
var someTwice = explore.Search{Seed: 3, Limit: 600}

// addQueue adds the worlds in which something happens to the nodes of a queue.
func (l *caseList) addQueue() {
	w := oneOf(l.contenders, once)
	w.Sequence, w.Stranger = nines, true // Stranger is a node of another kind
	l.add(locktest.Liveness, i18n.Textf("%s, beside a node of another kind, and a number has one digit more than the "+
		"one before", l.usualName), w, l.usual)
	l.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody deletes a waiter's node", l.usualName),
		oneOf(l.contenders, once, player.NodeGoes), l.usual)
	l.add(locktest.Faults, i18n.Textf("%s that lock twice, and at some moment the parent, which is empty, goes, or a "+
		"session ends", randomName(someTwice.Limit, l.contenders)),
		oneOf(l.contenders, twice, player.Remake, player.Expire), someTwice)
}

// addContexts adds the worlds in which a ctx ends: at some moment between two Locks, and just after the lock looks at it.
func (l *caseList) addContexts() {
	l.add(locktest.Faults, i18n.Textf("%s that lock twice, and a ctx ends", randomName(someTwice.Limit, l.contenders)),
		oneOf(l.contenders, twice, player.EndContext), someTwice)
	l.add(locktest.Faults, i18n.Textf("%s, and a ctx ends after a look at it", l.usualName),
		oneOf(l.contenders, once, player.EndAfterLook, player.EndAfterLook2), l.usual)
}

func (l *caseList) addShared() {
	few, some := explore.Search{Seed: 1, Limit: 200}, explore.Search{Seed: 1, Limit: 600}
	w := oneOf(l.contenders, once)
	w.Shared = true
	l.add(locktest.Liveness, i18n.Textf("%s in one session", randomName(few.Limit, l.contenders)), w, few)

	w = oneOf(l.contenders, twice, player.LoseRequest, player.LoseReply)
	w.Shared, w.Ensemble = true, true
	l.add(locktest.Faults, i18n.Textf("%s in one session that lock twice, and at some moment a request or a reply is "+
		"lost", randomName(some.Limit, l.contenders)), w, some)

	// After its session's end a client fails one more call before it connects again: the third Lock is in the next one.
	w = oneOf(l.contenders+1, once, player.Expire)
	w.Shared, w.Scripts = true, [][]player.Op{thrice, thrice, thrice}
	l.add(locktest.Faults, i18n.Textf("%s in one session that lock three times, and at some moment it ends",
		randomName(some.Limit, l.contenders+1)), w, some)

	if l.Reentrant {
		tryFirst := []player.Op{player.TryLockOp, player.UnlockOp, player.LockOp, player.UnlockOp}
		owners := player.World{Contenders: 3, Shared: true, OneOwner: true, Scripts: [][]player.Op{tryFirst, twice}}
		l.add(locktest.Liveness, i18n.Textf("%d random schedules of two goroutines of one owner, and another owner",
			some.Limit), owners, some)
	}
}

// addRandom adds the worlds that have too many schedules to play every one.
func (l *caseList) addRandom() {
	few, many := explore.Search{Seed: 1, Limit: 200}, explore.Search{Seed: 1, Limit: 1000}
	w := oneOf(l.contenders, once, l.faults...)
	if l.Queue {
		w.Kinds = append(slices.Clone(l.faults), player.NodeGoes)
	}
	w.Faults = 2
	l.add(locktest.Faults, i18n.Textf("%s, and at some moments two of these faults",
		randomName(many.Limit, l.contenders)), w, many)
	l.list[len(l.list)-1].unsafeOnly = true // a lock whose first try to clean up is lost, too, may leave a node

	crowd := l.contenders + 1
	fewName := randomName(few.Limit, crowd)
	l.add(locktest.Liveness, fewName, oneOf(crowd, once), few)
	l.add(locktest.Faults, i18n.Textf("%s, and at some moment one of these faults", fewName),
		oneOf(crowd, once, l.faults...), few)

	w = oneOf(crowd, once, player.NodeSet, player.NodeGoes)
	w.Faults = 2
	if l.Contexts {
		w.Kinds = append(w.Kinds, player.EndContext)
	}
	manyName := randomName(many.Limit, crowd)
	l.add(locktest.Faults, i18n.Textf("%s, and at some moments somebody writes a node again, and deletes a waiter's",
		manyName), w, many)

	if hasTryLock := l.Together == nil && !l.Timed; hasTryLock {
		w = oneOf(crowd, once, player.LoseRequest, player.NodeGoes, player.NodeSet, player.Expire)
		if l.Queue {
			w.Sequence = nines
		}
		w.Scripts = [][]player.Op{once, {player.TryLockOp, player.UnlockOp}} // the second contender only tries
		l.add(locktest.Faults, i18n.Textf("%s, one of which only tries, and a request is lost, a session ends, or a "+
			"waiter's node is deleted or written", manyName), w, many)
	}
}

// run searches the world for a violation, and fails the case with the one that it reports.
func (s scheduleCase) run(c *runner.Case, lock player.Subject) {
	var entered atomic.Bool // a contender has been inside
	lock = lock.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock {
		c.Step() // for the watchdog: a schedule begins
		return recordEntry(l, &entered)
	})
	if s.unsafeOnly {
		lock.Ignore = slices.Concat(lock.Ignore, player.KindsBut(unsafe...))
	}
	s.world.Lock = lock
	s.world.Tagged = s.world.Shared && lock.Alone // tags tell equal requests of one session's goroutines apart

	const memory = 256 << 20 // bytes, until this returns: the explorer leaves garbage
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
	result := explore.Explore(c.T, s.world, s.Search)
	found := result.Found
	if found == nil {
		c.Log(result)
		return
	}
	if !slices.Contains(unsafe, found.Violation.Kind) {
		found = cmp.Or(s.findUnsafe(c, &entered), found)
	}
	c.Fail(i18n.Textf("%s, in this schedule:\n%s", violationText(found), found.Steps()), labAddress(c, found))
}

// unsafe are the violations for which a lock gets no points.
var unsafe = []player.Kind{player.TwoHolders, player.ForeignDelete, player.NodeMissing, player.LostAddition, player.StaleWrite}

// closedSchedules are enough to see that a lock, such as the stub, lets nobody in: no contender has been inside in any.
const closedSchedules = 100

// unsafeActions limits the actions of a search for an unsafe violation: it is enough for 1000 schedules
// of a lock that waits for events, and for 40 of one that polls.
const unsafeActions = 15_000

// findUnsafe searches again, for an unsafe violation alone: a schedule ends with its first violation, and one that is
// unsafe may come after it. It returns nil if it finds none.
func (s scheduleCase) findUnsafe(c *runner.Case, entered *atomic.Bool) *player.Trace {
	s.world.Lock.Ignore = slices.Concat(s.world.Lock.Ignore, player.KindsBut(unsafe...))
	if !entered.Load() {
		first := s.Search
		first.Limit = closedSchedules
		if found := explore.Explore(c.T, s.world, first).Found; found != nil || !entered.Load() {
			return found
		}
	}

	if s.Seed != 0 { // a random search may not come to it so soon
		s.Limit *= 5
	}
	s.Actions = unsafeActions
	return explore.Explore(c.T, s.world, s.Search).Found
}

// recordEntry wraps a lock so that it sets entered when a contender gets it. A lock with a token keeps that.
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

type contender = player.Lock // a name for the embedded field, which must not be that of a method

type entryRecorder struct {
	contender
	entered *atomic.Bool
}

// Does is called when the explorer counts the contender as inside.
func (r entryRecorder) Does() i18n.Text {
	r.entered.Store(true)
	return player.Does(r.contender)
}

// labAddress is the address at which the lab plays a trace up to its violation, from the # on. If
// another violation would end the schedule there before, the address names the one that is wanted.
// It is empty if the lab does not come to the violation: a lock may be random.
func labAddress(c *runner.Case, tr *player.Trace) string {
	a := addressOf(tr)
	for range 4 { // tries, for a lock whose schedules do not repeat each time
		for _, want := range []player.Kind{"", tr.Violation.Kind} { // "": the first violation, whichever it is
			a.Want = want
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
