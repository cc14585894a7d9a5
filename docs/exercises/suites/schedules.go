package suites

import (
	"context"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/judge"
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

// A schedulePlan is one case: a world and how it is searched. A limit is a number
// of schedules, so that a grade does not depend on how fast the machine is.
type schedulePlan struct {
	name  language.Text
	group locktest.Group
	world explore.World
	explore.Search
}

// plans are the worlds for a kind of lock: what the fixed cases do with one
// schedule each, with all schedules, and at random where they are too many. Two
// contenders with one fault have fewer than two thousand; the limit is for a lock
// that has no end of them.
func plans(s explore.Subject) (list []schedulePlan) {
	all, some := explore.Search{Limit: 3000, Merge: true}, explore.Search{Seed: 1, Limit: 200}
	contenders, every := 2, language.Say("every schedule of two contenders", "两个竞争者的每一种调度")
	if s.Permits > 1 {
		contenders = s.Permits + 1
		all = explore.Search{Seed: 2, Limit: 500}
		every = language.Say("%d random schedules of %d contenders", "%[2]d 个竞争者，%[1]d 种随机调度", all.Limit, contenders)
	}
	add := func(g locktest.Group, name language.Text, w explore.World, search explore.Search) {
		list = append(list, schedulePlan{name, g, w, search})
	}
	with := func(n int, faults ...explore.Fault) explore.World {
		return explore.World{Contenders: n, Kinds: faults, Faults: min(len(faults), 1)}
	}
	add(locktest.Liveness, every, with(contenders), all)
	if s.Queue {
		w := with(contenders)
		w.Sequence = 9
		add(locktest.Liveness, language.Say("%s, and a number has one digit more than the one before", "%s，其间序号多出一位", every), w, all)
	}
	if !s.Timed { // it would send requests all day
		add(locktest.Liveness, language.Say("%s, and at some moment a day passes", "%s，其间过去一天", every), with(contenders, explore.Day), all)
	}
	kinds := []explore.Fault{explore.LoseRequest, explore.LoseReply, explore.Cut, explore.Expire}
	names := map[explore.Fault]language.Text{
		explore.LoseRequest: language.Say("a request is lost", "丢失一个请求"), explore.LoseReply: language.Say("a reply is lost", "丢失一个应答"),
		explore.Cut: language.Say("a connection breaks", "有一次连接断开"), explore.Expire: language.Say("a session ends", "有一个会话结束"),
		explore.EndContext: language.Say("a ctx ends", "有一个 ctx 结束"),
	}
	if s.Contexts {
		kinds = append(kinds, explore.EndContext)
	}
	for _, f := range kinds {
		add(locktest.Faults, language.Say("%s, and at some moment %s", "%s，其间%s", every, names[f]), with(contenders, f), all)
	}
	more := language.Say("%d random schedules of %d contenders", "%[2]d 个竞争者，%[1]d 种随机调度", some.Limit, contenders+1)
	add(locktest.Liveness, more, with(contenders+1), some)
	add(locktest.Faults, language.Say("%s, and at some moment one of these faults", "%s，其间发生上述故障之一", more), with(contenders+1, kinds...), some)
	if s.Together == nil && !s.Timed { // it has a TryLock
		tries := with(contenders + 1)
		tries.Scripts = [][]explore.Op{nil, {explore.TryLockOp, explore.UnlockOp}}
		add(locktest.Liveness, language.Say(
			"%d random schedules of %d contenders, one of which only tries", "%[2]d 个竞争者，其中一个只用 TryLock，%[1]d 种随机调度", some.Limit, contenders+1), tries, some)
	}
	shared := with(contenders)
	shared.Shared = true
	add(locktest.Liveness, language.Say("%d random schedules of %d contenders in one session", "同一会话的 %[2]d 个竞争者，%[1]d 种随机调度", some.Limit, contenders), shared, some)
	// When the session has ended, the client fails what is asked of it once more
	// before it connects again: the third Lock is in the next session.
	twice := []explore.Op{explore.LockOp, explore.UnlockOp, explore.LockOp, explore.UnlockOp}
	thrice := append(slices.Clone(twice), explore.LockOp, explore.UnlockOp)
	shared.Contenders, shared.Kinds, shared.Faults, shared.Scripts = contenders+1, []explore.Fault{explore.Expire}, 1, [][]explore.Op{thrice, thrice, thrice}
	some.Limit = 600
	add(locktest.Faults, language.Say(
		"%d random schedules of %d contenders in one session that lock three times, and at some moment it ends", "同一会话的 %[2]d 个竞争者各加锁三次，其间会话结束，%[1]d 种随机调度", some.Limit, contenders+1), shared, some)
	if s.Reentrant {
		owners := with(3)
		owners.Shared, owners.OneOwner = true, true
		owners.Scripts = [][]explore.Op{twice, twice}
		add(locktest.Liveness, language.Say(
			"%d random schedules of two goroutines of one owner, and another owner", "一个所有者的两个 goroutine 和另一个所有者，%d 种随机调度", some.Limit), owners, some)
	}
	return list
}

// Plan has a case for each world.
func (s ScheduleSubject) Plan() locktest.Plan {
	e, err := locks.FindExercise(s.Folder)
	if err != nil {
		return locktest.Plan{Missing: err.Error()}
	}
	subject := e.Subject(s.Open, s.NotLocked, explore.SessionTimeout)
	var p locktest.Plan
	for _, c := range plans(subject) {
		p.Add(c.name.En, c.name.Zh, c.group, func(in *judge.Case) { c.run(in, subject) })
	}
	return p.Needs(s.Open != nil, "ScheduleSubject.Open is nil: it must make contenders")
}

// enough is after how many schedules in which nobody has been inside a search for
// two holders ends: the lock lets nobody in, as the stub does.
const enough = 100

func (p schedulePlan) run(c *judge.Case, s explore.Subject) {
	open := s.Open
	var entered atomic.Bool
	s.Open = func(conn *zk.Conn, path string) func(name string) explore.Lock {
		c.Step() // a schedule begins
		made := open(conn, path)
		return func(name string) explore.Lock { return watchEntry(made(name), &entered) }
	}
	p.world.Lock = s
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20)) // the explorer lets garbage lie
	r := explore.Explore(c.T, p.world, p.Search)
	if r.Found == nil {
		c.Log(r)
		return
	}
	found := r.Found
	if !slices.Contains(unsafe, found.Violation.Kind) {
		if worse := p.worse(c, &entered); worse != nil {
			found = worse
		}
	}
	c.Fail(words(found), address(found))
}

// worse looks for a violation for which a lock gets no points, because a schedule
// ends with its first violation, and a worse one may come after it.
func (p schedulePlan) worse(c *judge.Case, entered *atomic.Bool) *explore.Trace {
	for _, k := range explore.Kinds {
		if !slices.Contains(unsafe, k) {
			p.world.Lock.Ignore = append(p.world.Lock.Ignore, k)
		}
	}
	if !entered.Load() {
		first := p.Search
		first.Limit = enough
		if found := explore.Explore(c.T, p.world, first).Found; found != nil || !entered.Load() {
			return found
		}
	}
	if p.Seed != 0 {
		p.Limit *= 5
	}
	return explore.Explore(c.T, p.world, p.Search).Found
}

// watchEntry makes the same lock, which notes that somebody has got it.
func watchEntry(l explore.Lock, entered *atomic.Bool) explore.Lock {
	n := entryRecorder{l, entered}
	if leased, ok := l.(explore.Leased); ok {
		return struct {
			entryRecorder
			explore.Leased
		}{n, leased}
	}
	return n
}

type contender = explore.Lock

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

func (n entryRecorder) TryLock(ctx context.Context) (bool, error) {
	ok, err := n.contender.TryLock(ctx)
	if ok {
		n.entered.Store(true)
	}
	return ok, err
}

// unsafe are the violations for which a lock gets no points.
var unsafe = []explore.Kind{explore.TwoHolders, explore.ForeignDelete, explore.NodeMissing}

// address is where the lab plays a trace, from the # on.
func address(tr *explore.Trace) string {
	w := tr.World
	return locks.Address{
		Locks: []string{w.Name}, Mode: "schedule", Sequence: w.Sequence, OneOwner: w.OneOwner, Scripts: w.Scripts,
		Scene: locks.Scene{Lock: w.Name, Contenders: w.Contenders, Shared: w.Shared, Seed: 1, Kinds: w.Kinds, Faults: w.Faults, Choices: tr.Whole()},
	}.String()
}

// words say to a student what has happened.
func words(tr *explore.Trace) language.Text {
	return language.Say("%s, in this schedule:\n%s", "%s。调度如下：\n%s", tr.Violation.Text(), tr.Steps())
}
