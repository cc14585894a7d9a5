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

// A schedulePlan is one case: a world and how it is searched. A limit is a number
// of schedules, so that a grade does not depend on how fast the machine is.
type schedulePlan struct {
	name  i18n.Text
	group locktest.Group
	world player.World
	explore.Search
	safety bool // only what costs all points counts
}

var faultNames = map[player.Fault]i18n.Text{
	player.LoseRequest: i18n.Textf("a request is lost", "丢失一个请求"), player.LoseReply: i18n.Textf("a reply is lost", "丢失一个响应"),
	player.Cut: i18n.Textf("a connection breaks", "有一次连接断开"), player.Expire: i18n.Textf("a session ends", "有一个会话结束"),
	player.EndContext: i18n.Textf("a ctx ends", "有一个 ctx 结束"),
}

// plans are the worlds for a kind of lock: what the fixed cases do with one
// schedule each, with all schedules, and at random where they are too many. Two
// contenders with one fault have fewer than two thousand; the limit is for a lock
// that has no end of them.
func plans(s player.Subject, register bool) []schedulePlan {
	p := &planner{Subject: s, contenders: 2, every: i18n.Textf("every schedule of two contenders", "两个竞争者的每一种调度"),
		all: explore.Search{Limit: 3000, Merge: true}, kinds: []player.Fault{player.LoseRequest, player.LoseReply,
			player.Cut, player.Expire}}
	if s.Permits > 1 {
		p.contenders = s.Permits + 1
		p.all = explore.Search{Seed: 2, Limit: 500}
		p.every = random(p.all.Limit, p.contenders)
	}
	if s.Contexts {
		p.kinds = append(p.kinds, player.EndContext)
	}
	if register {
		p.registers()
		return p.list
	}
	p.completely()
	p.inOneSession()
	p.atRandom()
	return p.list
}

// A planner makes the plans for a lock.
type planner struct {
	player.Subject
	contenders int
	all        explore.Search
	every      i18n.Text // what all is
	kinds      []player.Fault
	list       []schedulePlan
}

var (
	twice  = []player.Op{player.LockOp, player.UnlockOp, player.LockOp, player.UnlockOp}
	thrice = append(slices.Clone(twice), player.LockOp, player.UnlockOp)
)

func random(limit, contenders int) i18n.Text {
	return i18n.Textf("%d random schedules of %d contenders", "%[2]d 个竞争者，%[1]d 种随机调度", limit, contenders)
}

func (p *planner) add(g locktest.Group, name i18n.Text, w player.World, search explore.Search) {
	p.list = append(p.list, schedulePlan{name: name, group: g, world: w, Search: search})
}

func worldOf(contenders int, faults ...player.Fault) player.World {
	return player.World{Contenders: contenders, Kinds: faults, Faults: min(len(faults), 1)}
}

// registers are the worlds of stores that write and read.
func (p *planner) registers() {
	stores := i18n.Textf("every schedule of two stores that write and read, twice", "两个存储服务各写读两次的每一种调度")
	for _, f := range []player.Fault{"", player.LoseRequest, player.LoseReply} {
		group, w, name := locktest.Liveness, worldOf(2), stores
		if f != "" {
			// With one address the library throws away what is sent between two connections.
			group, w, name = locktest.Faults, worldOf(2, f), i18n.Textf("%s, and at some moment %s", "%s，其间%s", stores, faultNames[f])
			w.Ensemble = true
		}
		w.Scripts = [][]player.Op{twice, twice}
		p.add(group, name, w, p.all)
	}
}

// completely are the worlds that are played to the end, alone and with each fault.
func (p *planner) completely() {
	some, each := explore.Search{Seed: 3, Limit: 600}, random(600, p.contenders) // where all lock twice
	p.add(locktest.Liveness, p.every, worldOf(p.contenders), p.all)
	if p.Queue {
		w := worldOf(p.contenders)
		w.Sequence, w.Stranger = 999_999_999, true
		p.add(locktest.Liveness, i18n.Textf("%s, beside a node of another kind, and a number has one digit more than the one before",
			"%s，旁边有一个不属于竞争者的节点，序号也多出一位", p.every), w, p.all)
		p.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody deletes a waiter's node", "%s，其间有人删除了等待者的节点", p.every),
			worldOf(p.contenders, player.NodeGoes), p.all)
		w = worldOf(p.contenders, player.Remake, player.Expire)
		w.Scripts = slices.Repeat([][]player.Op{twice}, p.contenders)
		p.add(locktest.Faults, i18n.Textf("%s that lock twice, and at some moment the parent, which is empty, goes, or a session ends", "%s，各加锁两次，其间空的父节点被删除，或者有一个会话结束", each), w, some)
	}
	p.add(locktest.Faults, i18n.Textf("%s, and at some moment somebody writes the data of a node again", "%s，其间有人把节点的数据又写了一遍", p.every),
		worldOf(p.contenders, player.NodeSet), p.all)
	fresh := worldOf(p.contenders, player.LoseRequest, player.LoseReply)
	fresh.Missing = true
	p.add(locktest.Faults, i18n.Textf("%s on a path whose nodes do not exist, and a request or a reply is lost",
		"%s，路径上的节点都不存在，其间丢失一个请求或响应", p.every), fresh, p.all)
	if p.Contexts {
		again := player.World{Contenders: p.contenders, Kinds: []player.Fault{player.EndContext}, Faults: 1, Scripts: [][]player.Op{twice, twice}}
		p.add(locktest.Faults, i18n.Textf("%s that lock twice, and a ctx ends", "%s，各加锁两次，其间某个 ctx 结束", each), again, some)
		p.add(locktest.Faults, i18n.Textf("%s, and a ctx ends after a look at it", "%s，某个 ctx 在被检查之后才结束", p.every),
			worldOf(p.contenders, player.EndAfterLook, player.EndAfterLook2), p.all)
	}
	if !p.Reentrant && !p.Timed {
		w := worldOf(p.contenders, player.Expire)
		w.Scripts = slices.Repeat([][]player.Op{{player.LockOp, player.RelockOp, player.UnlockOp}}, p.contenders)
		p.add(locktest.Faults, i18n.Textf("%s, and a holder whose session has ended locks again without Unlock",
			"%s，会话已结束的持有者没有 Unlock 又再次 Lock", p.every), w, p.all)
	}
	if !p.Timed { // it would send requests all day
		p.add(locktest.Liveness, i18n.Textf("%s, and at some moment a day passes", "%s，其间过了一天", p.every), worldOf(p.contenders, player.Day), p.all)
	}
	for _, f := range p.kinds {
		p.add(locktest.Faults, i18n.Textf("%s, and at some moment %s", "%s，其间%s", p.every, faultNames[f]), worldOf(p.contenders, f), p.all)
	}
	if p.Queue && len(p.Known) == 0 { // it finds its node again
		behind := worldOf(1, player.LoseRequest, player.LoseReply)
		behind.Faults, behind.Behind, behind.Ensemble, behind.Scripts = 3, true, true, [][]player.Op{twice}
		p.add(locktest.Faults, i18n.Textf("every schedule of one contender that comes to servers that are behind, and three requests or replies are lost",
			"一个竞争者连到落后的服务器，其间丢失三个请求或响应的每一种调度"), behind, explore.Search{Limit: 3000})
	}
}

// inOneSession are the worlds of contenders that share a session.
func (p *planner) inOneSession() {
	some := explore.Search{Seed: 1, Limit: 200}
	shared := worldOf(p.contenders)
	shared.Shared = true
	p.add(locktest.Liveness, i18n.Textf("%s in one session", "%s，同在一个会话", random(some.Limit, p.contenders)), shared, some)
	some.Limit = 600
	lossy := worldOf(p.contenders, player.LoseRequest, player.LoseReply)
	lossy.Shared, lossy.Scripts = true, slices.Repeat([][]player.Op{twice}, p.contenders)
	p.add(locktest.Faults, i18n.Textf("%s in one session that lock twice, and at some moment a request or a reply is lost",
		"%s，同在一个会话，各加锁两次，其间丢失一个请求或响应", random(some.Limit, p.contenders)), lossy, some)
	// When the session has ended, the client fails what is asked of it once more
	// before it connects again: the third Lock is in the next session.
	shared = worldOf(p.contenders+1, player.Expire)
	shared.Shared, shared.Scripts = true, [][]player.Op{thrice, thrice, thrice}
	p.add(locktest.Faults, i18n.Textf("%s in one session that lock three times, and at some moment it ends",
		"%s，同在一个会话，各加锁三次，其间会话结束", random(some.Limit, p.contenders+1)), shared, some)
	if p.Reentrant {
		owners := worldOf(3)
		owners.Shared, owners.OneOwner = true, true
		owners.Scripts = [][]player.Op{{player.TryLockOp, player.UnlockOp, player.LockOp, player.UnlockOp}, twice}
		p.add(locktest.Liveness, i18n.Textf(
			"%d random schedules of two goroutines of one owner, and another owner", "一个所有者的两个 goroutine 和另一个所有者，%d 种随机调度", some.Limit), owners, some)
	}
}

// atRandom are the worlds that have too many schedules.
func (p *planner) atRandom() {
	pairs := explore.Search{Seed: 1, Limit: 1000}
	two := worldOf(p.contenders, p.kinds...)
	if p.Queue {
		two.Kinds = append(slices.Clone(p.kinds), player.NodeGoes)
	}
	two.Faults = 2
	p.add(locktest.Faults, i18n.Textf("%s, and at some moments two of these faults", "%s，其间发生上述故障中的两个", random(pairs.Limit, p.contenders)), two, pairs)
	p.list[len(p.list)-1].safety = true // a lock whose first try to clean up is lost, too, may leave a node
	some, n := explore.Search{Seed: 1, Limit: 200}, p.contenders+1
	more := random(some.Limit, n)
	p.add(locktest.Liveness, more, worldOf(n), some)
	p.add(locktest.Faults, i18n.Textf("%s, and at some moment one of these faults", "%s，其间发生上述故障之一", more), worldOf(n, p.kinds...), some)
	waits := worldOf(n, player.NodeSet, player.NodeGoes)
	if waits.Faults = 2; p.Contexts {
		waits.Kinds = append(waits.Kinds, player.EndContext)
	}
	p.add(locktest.Faults, i18n.Textf("%s, and at some moments somebody writes a node again, and deletes a waiter's", "%s，其间有人重写了节点，又删除了等待者的节点", random(pairs.Limit, n)), waits, pairs)
	if p.Together == nil && !p.Timed { // it has a TryLock
		tries := worldOf(n, player.LoseRequest, player.NodeGoes, player.NodeSet, player.Expire)
		if p.Queue {
			tries.Sequence = 999_999_999
		}
		tries.Scripts = [][]player.Op{nil, {player.TryLockOp, player.UnlockOp}}
		p.add(locktest.Faults, i18n.Textf("%s, one of which only tries, and a request is lost, a session ends, or a waiter's node is deleted or written", "%s，其中一个只用 TryLock，其间丢失一个请求、有一个会话结束，或者等待者的节点被删除、被改写", random(pairs.Limit, n)), tries, pairs)
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
		p.Add(c.name.En, c.name.Zh, c.group, func(in *runner.Case) { c.run(in, subject) })
	}
	return p.Needs(s.Open != nil, "ScheduleSubject.Open is nil: it must make contenders")
}

// manyActions are those of 1000 schedules of a lock that waits for events, and of 40 of
// one that polls.
const manyActions = 15_000

// enough is after how many schedules in which nobody has been inside a search for
// two holders ends: the lock lets nobody in, as the stub does.
const enough = 100

func (p schedulePlan) run(c *runner.Case, s player.Subject) {
	var entered atomic.Bool
	s = s.Wrapped(func(l player.Lock, _ *zk.Conn, _, _ string) player.Lock {
		c.Step() // a schedule begins
		return watchEntry(l, &entered)
	})
	if p.safety {
		s.Ignore = slices.Concat(s.Ignore, player.KindsBut(unsafe...))
	}
	p.world.Lock = s
	p.world.Tagged = p.world.Shared && s.Alone                  // else goroutines that send equal requests at once get each other's answers
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
	c.Fail(failureText(found), labAddress(c, found))
}

// worse looks for a violation for which a lock gets no points, because a schedule
// ends with its first violation, and a worse one may come after it.
func (p schedulePlan) worse(c *runner.Case, entered *atomic.Bool) *player.Trace {
	p.world.Lock.Ignore = slices.Concat(p.world.Lock.Ignore, player.KindsBut(unsafe...))
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
	p.Actions = manyActions
	return explore.Explore(c.T, p.world, p.Search).Found
}

// watchEntry makes the same lock, which notes that somebody has got it.
func watchEntry(l player.Lock, entered *atomic.Bool) player.Lock {
	n := entryRecorder{l, entered}
	if leased, ok := l.(player.Leased); ok {
		return struct {
			entryRecorder
			player.Leased
		}{n, leased}
	}
	return n
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

// labAddress is where the lab plays a trace, from the # on, up to its violation. If another
// violation would end the schedule there before, the address says which one is wanted.
// It is empty if the lab does not come to it: a lock may draw lots.
func labAddress(c *runner.Case, tr *player.Trace) string {
	a := addressOf(tr)
	for range replayTries {
		for _, a.Want = range []player.Kind{"", tr.Violation.Kind} {
			if kind, err := replay(c, a.String()); err == nil && kind == tr.Violation.Kind {
				return a.String()
			}
		}
	}
	return ""
}

// replayTries are for a lock whose schedules do not repeat each time.
const replayTries = 4

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
		Locks: []string{w.Name}, Mode: "schedule", Sequence: w.Sequence, OneOwner: w.OneOwner, Stranger: w.Stranger, Behind: w.Behind, Ensemble: w.Ensemble,
		Missing: w.Missing,
		Scene: locks.Scene{Lock: w.Name, Contenders: w.Contenders, Shared: w.Shared, Seed: 1, Kinds: w.Kinds,
			Faults: w.Faults, Choices: tr.Whole(), Scripts: w.Scripts},
	}
}

// failureText says to a student what has happened.
func failureText(tr *player.Trace) i18n.Text {
	return i18n.Textf("%s, in this schedule:\n%s", "%s。调度如下：\n%s", violationText(tr), tr.Steps())
}

// violationText is the violation, and if a node is left, which lost request is to be tried again.
func violationText(tr *player.Trace) i18n.Text {
	if tr.Violation.Kind != player.NodeLeft {
		return tr.Violation.Text()
	}
	v := tr.Violation.What
	for _, e := range slices.Backward(tr.Log) {
		if e.Kind != "lost" || e.Who != tr.Violation.Who {
			continue
		}
		switch e.Op {
		case jute.OpDelete.String():
			return i18n.Textf("%s: its delete is lost, and must be sent again", "%s：删除它的请求丢失了，必须重发", v)
		case jute.OpGetChildren2.String(), jute.OpGetData.String(), jute.OpExists.String():
			return i18n.Textf("%s: a %s is lost; before its error is returned the node must be deleted, and the delete sent again if it fails",
				"%s：%s 丢失了；返回这个错误之前必须删除节点，删除失败就要重发", v, e.Op)
		}
		break
	}
	return v
}
