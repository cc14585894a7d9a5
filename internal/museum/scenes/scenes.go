// Package scenes has the bugs of the articles' ZooKeeper listings as the
// explorer plays them: the world in which each comes up, and a schedule that
// ends with it. The tests of the bugs, and the lab, show them.
package scenes

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/museum/java"
	"example.com/zklock/internal/museum/listings"
)

// A Scene is a bug.
type Scene struct {
	ID     string // as in docs/bugs.md
	Step   string // the folder of the step whose idea it breaks
	What   string // as in docs/bugs.md
	WhatZh string // the same in Chinese
	// Substitute says, in English and in Chinese, which lock is shown, if it is not
	// a listing of an article.
	Substitute [2]string
	// Kinds are the violations that show it.
	Kinds []explore.Kind
	// Like, if it is not nil, says which of the schedules with such a violation
	// is the one to show.
	Like  func(tr *explore.Trace) bool
	World explore.World // with the article's lock
	Ours  explore.World // the same with the lock that cures it
	// Search finds the bug in World.
	Search explore.Search
}

// A Schedule is how a scene is played.
type Schedule struct {
	Choices   []string `json:"choices"`
	Widths    []int    `json:"widths"`
	Violation string   `json:"violation"` // with which it ends
}

//go:embed schedules.json
var schedules []byte

// Schedules are the schedules by ID, each with all choices up to its
// violation.
func Schedules() map[string]Schedule {
	all := make(map[string]Schedule)
	if err := json.Unmarshal(schedules, &all); err != nil {
		panic(fmt.Sprintf("schedules.json: %v", err))
	}
	return all
}

//go:embed fates.json
var fates []byte

// FateTries is how many continuations of each beginning Fates has counted.
const FateTries = 40

// Fates are, by the ID of a scene, how many of FateTries random continuations of
// each beginning of its schedule end in its bug: see [explore.Fates].
func Fates() map[string][]int {
	all := make(map[string][]int)
	if err := json.Unmarshal(fates, &all); err != nil {
		panic(fmt.Sprintf("fates.json: %v", err))
	}
	return all
}

// Of returns the scenes of a step, by the name of its folder.
func Of(step string) []Scene {
	return slices.DeleteFunc(slices.Clone(All), func(s Scene) bool { return s.Step != step })
}

// Find returns a scene by its ID.
func Find(id string) (Scene, bool) {
	i := slices.IndexFunc(All, func(s Scene) bool { return s.ID == id })
	if i < 0 {
		return Scene{}, false
	}
	return All[i], true
}

// Subject shows a listing to the explorer.
func Subject(name string, lock listings.New) explore.Subject {
	return explore.Subject{
		Name:  name,
		Begin: java.Begin,
		Path:  "/lock", // as on the museum's stage: some listings take the path for a name
		Open: func(conn *zk.Conn, path string) func(string) explore.Lock {
			return func(string) explore.Lock { return listing{lock(conn, path)} }
		},
	}
}

type listing struct{ lock listings.Lock }

func (l listing) Lock(context.Context) error   { return l.lock.Lock() }
func (l listing) Unlock(context.Context) error { return l.lock.Unlock() }

// TryLock calls Lock, for a listing whose lock call returns false where
// another client holds the lock.
func (l listing) TryLock(context.Context) (bool, error) {
	err := l.lock.Lock()
	if errors.Is(err, listings.ErrFalse) {
		return false, nil
	}
	return err == nil, err
}

// titled makes a scene without its worlds.
func titled(id, step string, kinds ...explore.Kind) Scene {
	return Scene{ID: id, Step: step, What: titles[id][0], WhatZh: titles[id][1], Kinds: kinds, Search: explore.Search{Limit: 5000}}
}

// late makes a scene in which a holder of an earlier step's lock is stopped,
// and adds to a stock although its session has expired. With step 5's lock the
// stock compares tokens.
func late(id string, lock explore.Subject) Scene {
	s := titled(id, fifth, explore.OwnCheck)
	world := func(name string, lock explore.Subject, stock *stock) explore.World {
		w := one(stock.under(lock), explore.Stop)
		w.Lock.Name, w.Name = name, name
		return w
	}
	s.World = world(id, lock, new(stock))
	s.Ours = world(id+"-"+timeout.Name, timeout, &stock{fenced: true})
	s.Substitute = substitutes[id]
	atRandom(&s)
	return s
}

// scene makes a scene. Of the world's Lock, what opens it is set here, for the
// article's lock and for ours.
func scene(id, step string, lock listings.New, cure explore.Subject, world explore.World, kinds ...explore.Kind) Scene {
	s := titled(id, step, kinds...)
	s.World, s.Ours = world, world

	subject := Subject(id, lock)
	s.World.Lock.Name, s.World.Lock.Open, s.World.Lock.Begin = id, subject.Open, subject.Begin
	if s.World.Lock.Path == "" {
		s.World.Lock.Path = subject.Path
	}
	s.World.Name = id

	ours := s.World.Lock
	ours.Name, ours.Open, ours.Begin = id+"-"+cure.Name, cure.Open, nil
	ours.Queue = ours.Queue || cure.Queue
	ours.NotLocked, ours.Requeues, ours.Timed, ours.Contexts = cure.NotLocked, cure.Requeues, cure.Timed, cure.Contexts
	s.Ours.Lock, s.Ours.Name = ours, ours.Name
	return s
}

// with changes a scene.
func (s Scene) with(change func(s *Scene)) Scene {
	change(&s)
	return s
}

// atRandom: there are too many schedules to go through them all, or what is
// looked for comes up late in their order.
func atRandom(s *Scene) { s.Search.Seed = 1 }

// mayFail: in this world it is right that a call of Lock fails.
func mayFail(s *Scene) {
	s.World.Lock.Ignore = []explore.Kind{explore.Failure}
	s.Ours.Lock.Ignore = s.World.Lock.Ignore
}

// noNode reports whether a node that somebody wanted to watch was gone.
func noNode(tr *explore.Trace) bool {
	return slices.ContainsFunc(tr.Log, func(e explore.Entry) bool { return e.Kind == "reply" && e.Watch && e.Err != "" })
}

var (
	first  = "01-naive-ephemeral"
	third  = "03-sequential-predecessor"
	fourth = "04-reentrant"
	fifth  = "05-timeout"

	naive, herd, predecessor, reentrant = steps.Naive(), steps.Herd(), steps.Predecessor(), steps.Reentrant()
	timeout, complete                   = steps.Timeout(), steps.Zklock()

	bare  = explore.Subject{}
	queue = explore.Subject{Queue: true, Exists: true}
	deep  = explore.Subject{Path: "/locks/lock"}
)

// one is a world of two contenders in which one fault may happen.
func one(lock explore.Subject, f explore.Fault) explore.World {
	return explore.World{Lock: lock, Kinds: []explore.Fault{f}, Faults: 1}
}

// among is such a world with n contenders.
func among(n int, lock explore.Subject, f explore.Fault) explore.World {
	w := one(lock, f)
	w.Contenders = n
	return w
}

const cycles = 4 // of A in again

// again: A locks several times, B locks once.
var again = [][]explore.Op{slices.Repeat([]explore.Op{explore.LockOp, explore.UnlockOp}, cycles)}

// frames is a check that no call of Lock is made within another one.
func frames(function string) func() string {
	return func() string {
		if n := java.Frames(function); n > 3 {
			return fmt.Sprintf("%d calls of Lock are on the stacks of two contenders", n)
		}
		return ""
	}
}

// patient is step 5's lock with the wait time of article D's second version.
func patient() explore.Subject {
	s := timeout
	s.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		open := timeout.Open(conn, path)
		return func(name string) explore.Lock { return boundedLock{open(name)} }
	}
	return s
}

type boundedLock struct{ l explore.Lock }

func (b boundedLock) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listings.WaitTime)
	defer cancel()
	return b.l.Lock(ctx)
}

func (b boundedLock) TryLock(ctx context.Context) (bool, error) { return b.l.TryLock(ctx) }
func (b boundedLock) Unlock(ctx context.Context) error          { return b.l.Unlock(ctx) }
func (b boundedLock) Token() int64                              { return b.l.(explore.Leased).Token() }
func (b boundedLock) Lost() <-chan struct{}                     { return b.l.(explore.Leased).Lost() }

// closing is step 3's lock of a caller that closes its client after Unlock.
func closing() explore.Subject {
	s := predecessor
	s.Open = func(conn *zk.Conn, path string) func(string) explore.Lock {
		open := predecessor.Open(conn, path)
		return func(name string) explore.Lock { return closer{open(name), conn} }
	}
	return s
}

type closer struct {
	l    explore.Lock
	conn *zk.Conn
}

func (c closer) Lock(ctx context.Context) error            { return c.l.Lock(ctx) }
func (c closer) TryLock(ctx context.Context) (bool, error) { return c.l.TryLock(ctx) }

func (c closer) Unlock(ctx context.Context) error {
	defer c.conn.Close()
	return c.l.Unlock(ctx)
}

// titles are the headings of docs/bugs.md, and the same in Chinese.
var titles = map[string][2]string{
	"A1":  {"every error means held, and the stack grows", "任何错误都被当成“锁被占用”，调用栈越来越深"},
	"A2":  {"unlock deletes its successor's node", "unlock 删除了后来者的节点"},
	"A3":  {"each lost race adds a frame to the stack", "每抢输一次，调用栈就多一层"},
	"A4":  {"a waiter whose session is gone never wakes", "会话已失效的等待者永远不会被唤醒"},
	"A5":  {"the reply to create is lost: the client waits for itself", "create 的应答丢失：客户端在等自己"},
	"A6":  {"waiters have no order: a slow one starves", "等待者没有次序：慢的那个会饿死"},
	"A11": {"an exception while it waits: lock() just returns", "等待时发生异常：lock() 直接返回"},
	"A7":  {"a release before the latch exists is lost", "latch 创建之前的释放通知会丢失"},
	"A8":  {"a waiter whose own node is gone panics", "自己的节点被删除后，等待者会崩溃"},
	"A9":  {"the second lock() on the same object panics", "同一对象第二次 lock() 会崩溃"},
	"A10": {"lock() throws if the parent does not exist", "父节点不存在时，lock() 抛出异常"},
	"B1":  {"the sequence number is taken for the number of children", "把序号当成了子节点的个数"},
	"C2":  {"the lock call fails just when its node becomes the first", "节点刚排到第一，加锁调用却失败了"},
	"D1":  {"a watch on a deleted node never fires", "对已删除节点的监听永远不会触发"},
	"D2":  {"a notify that comes before the wait is lost", "先于 wait 的 notify 会丢失"},
	"D3":  {"a waiter that is woken does not read the list again", "等待者被唤醒后不再重新读取列表"},
	"D4":  {"two clients create the parent at once: one gets false", "两个客户端同时创建父节点：其中一个得到 false"},
	"D5":  {"a missing session is taken for a held lock", "没有会话，却当成锁被占用"},
	"D6":  {"a waiter that is woken queues again, behind its own node", "等待者被唤醒后再次排队，排到了自己的节点后面"},
	"D7":  {"the node before is gone: the waiter takes the lock", "前驱节点没了，等待者就当作拿到了锁"},
	"D8":  {"each wake-up starts the wait time again", "每次唤醒都重新计算等待时间"},
	"D9":  {"lock b waits for lock a", "锁 b 在等锁 a"},
	"D10": {"close() after a failed lock() deletes path null", "lock() 失败后的 close() 删除路径 null"},
	"C1":  {"a thread that failed to lock is counted as the holder", "加锁失败的线程被记为持有者"},
	"B2":  {"anybody may delete the row, and it has no expiry", "谁都能删除这一行，而且它永不过期"},
	"B3":  {"after a crash, a key without a time to live stays", "崩溃之后，没有过期时间的键一直留着"},
	"B4":  {"a slow holder deletes its successor's key", "动作慢的持有者删除了后来者的键"},
	"D11": {"the heartbeat outlives the lock, as a hot loop", "释放锁之后，心跳线程仍空转不停"},
	"D12": {"the heartbeat writes, and does not keep the lock", "心跳只是不停地写，保不住锁"},
	"E1":  {"a paused holder writes after the next one has started", "暂停过的持有者在后来者开始之后才写入"},
	"E2":  {"compare and delete protects the key, not the resource", "先比较再删除，保护的是键，不是资源"},
}

// All are the scenes, in the order of docs/bugs.md.
var All = []Scene{
	scene("A1", first, listings.NewZookeeperLock, naive, explore.World{Lock: explore.Subject{Path: "/private/lock"}, Contenders: 1, Forbidden: true}, explore.Endless).with(func(s *Scene) {
		// The article's lock tries without end. Ours is right to return the error.
		s.Ours.Lock.Ignore = []explore.Kind{explore.Failure}
	}),
	scene("A2", first, listings.NewZookeeperLock, naive, one(bare, explore.Stop), explore.ForeignDelete),
	scene("A3", first, listings.NewZookeeperLock, naive, explore.World{Lock: explore.Subject{Check: frames("(*zookeeperLock).Lock")}, Scripts: again}, explore.OwnCheck).with(func(s *Scene) {
		s.Ours.Lock.Check = frames("(*Lock).Lock")
		atRandom(s)
	}),
	scene("A4", first, listings.NewZookeeperLock, naive, one(bare, explore.Expire), explore.Hang),
	scene("A5", first, listings.NewZookeeperLock, complete, among(1, bare, explore.LoseReply), explore.Hang),
	scene("A6", first, listings.NewZookeeperLock, herd, explore.World{Lock: explore.Subject{Bypass: cycles - 1}, Scripts: again}, explore.Starves).with(atRandom),
	scene("A11", first, listings.NewZookeeperLock, naive, one(bare, explore.LoseRequest), explore.TwoHolders),
	scene("A7", third, listings.NewZkClientLock, predecessor, explore.World{Lock: queue}, explore.Hang),
	scene("A8", third, listings.NewZkClientLock, predecessor, among(3, queue, explore.Expire), explore.Crash).with(func(s *Scene) {
		s.Like = func(tr *explore.Trace) bool { return strings.Contains(tr.Violation.What, "out of range [-") }
	}),
	scene("A9", third, listings.NewZkClientLock, predecessor, explore.World{Lock: queue, Scripts: [][]explore.Op{slices.Repeat([]explore.Op{explore.LockOp, explore.UnlockOp}, 2)}}, explore.Crash),
	scene("A10", third, listings.NewZkClientLock, predecessor, explore.World{Lock: bare, Missing: true}, explore.Crash),
	scene("B1", third, listings.NewCountingLock, predecessor, explore.World{Lock: queue, Contenders: 3}, explore.Hang),
	scene("C2", third, listings.NewAwaitLock, predecessor, explore.World{Lock: queue}, explore.Failure, explore.Crash),
	// Both hang. In one the node to watch has gone, in the other it has not.
	scene("D1", third, listings.NewZkLock, predecessor, explore.World{Lock: queue}, explore.Hang).with(func(s *Scene) { s.Like = noNode }),
	scene("D2", third, listings.NewZkLock, predecessor, explore.World{Lock: queue}, explore.Hang).with(func(s *Scene) {
		s.Like = func(tr *explore.Trace) bool { return !noNode(tr) }
	}),
	scene("D3", third, listings.NewZkLock, predecessor, among(3, queue, explore.Expire), explore.TwoHolders, explore.Overtaken, explore.NodeMissing).with(atRandom),
	scene("D4", third, listings.NewZkLock, predecessor, explore.World{Lock: bare, Missing: true}, explore.Failure),
	// False means held.
	scene("D5", third, listings.NewZkLock, predecessor, explore.World{
		Lock: queue, Contenders: 1, Scripts: [][]explore.Op{{explore.TryLockOp, explore.UnlockOp}}, Unconnected: true, Kinds: []explore.Fault{explore.Refuse}, Faults: 1,
	}, explore.Failure),
	scene("D6", third, listings.NewDistributedLock, predecessor, explore.World{Lock: deep}, explore.Failure, explore.NodeLeft),
	scene("D7", third, listings.NewDistributedLock, predecessor, among(3, deep, explore.Expire), explore.TwoHolders).with(atRandom),
	scene("D8", third, listings.NewDistributedLock, patient(), explore.World{
		Lock: explore.Subject{Path: "/locks/lock", Within: listings.WaitTime}, Contenders: 3, Kinds: []explore.Fault{explore.Pause}, Faults: 2,
	}, explore.TooLong).with(atRandom),
	scene("D9", third, listings.NewDistributedLock, predecessor, explore.World{Lock: deep, Apart: true}, explore.Hang),
	scene("D10", third, listings.NewDistributedLock, closing(), explore.World{
		Lock: explore.Subject{Path: "/private/lock", Closes: true}, Contenders: 1, Forbidden: true,
	}, explore.SessionLeft).with(mayFail),
	scene("C1", fourth, listings.NewCountedLock, reentrant, explore.World{
		Lock: explore.Subject{Queue: true}, Scripts: [][]explore.Op{nil, slices.Repeat([]explore.Op{explore.LockOp, explore.UnlockOp}, 2)},
		Kinds: []explore.Fault{explore.LoseRequest}, Faults: 1,
	}, explore.TwoHolders).with(mayFail),
	scene("D11", fifth, listings.NewHeartbeatLock, timeout, explore.World{Lock: deep, Contenders: 1}, explore.Endless),
	scene("D12", fifth, listings.NewHeartbeatLock, timeout, one(deep, explore.Expire), explore.Outlived).with(func(s *Scene) {
		// It is reported apart, and does not end a search.
		s.Search = explore.Search{Seed: 1, Limit: 50}
	}),
	late("E1", predecessor),
	// The late holder's Unlock finds the node of the next one, compares, and does
	// not delete it. By then both have held the lock at once, and have written.
	late("E2", naive).with(func(s *Scene) {
		s.Like = func(tr *explore.Trace) bool {
			return slices.Contains(tr.Known, string(explore.Outlived)) && compares(tr)
		}
	}),
}

// compares reports whether a client that has written reads, without a watch, a
// node of another client that has written: step 1's Unlock, too late.
func compares(tr *explore.Trace) bool {
	owner, wrote := "", make(map[string]bool)
	for _, e := range tr.Log {
		if e.Kind != "reply" || e.Err != "" {
			continue
		}
		switch {
		case e.Op == "create":
			owner = e.Who
		case e.Op == "setData":
			wrote[e.Who] = true
			if e.Who != owner && !wrote[owner] {
				return false // the next holder's is the late one
			}
		case e.Op == "getData" && e.Path == tr.World.Lock.Path && !e.Watch && e.Who != owner:
			return wrote[owner] && wrote[e.Who]
		}
	}
	return false
}

// A NoScene is a bug of the catalogue that the lab cannot show.
type NoScene struct {
	ID         string
	Why, WhyZh string // half a sentence, in English and in Chinese
	// Near is a scene with the same mistake; "" if there is none.
	Near string
}

// Without are the bugs that have no scene.
var Without = []NoScene{
	{
		"B2", "the server in the lab is a ZooKeeper, and this lock is a row in a database",
		"实验室里的服务器是 ZooKeeper，而这个锁是数据库里的一行", "A2",
	},
	{
		"B3", "the server in the lab is a ZooKeeper, and this lock is a key in Redis that nothing deletes when its client ends",
		"实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，客户端结束后它不会自动删除", "",
	},
	{
		"B4", "the server in the lab is a ZooKeeper, and this lock is a key in Redis that expires by a clock of its own",
		"实验室里的服务器是 ZooKeeper，而这个锁是 Redis 里的一个键，按 Redis 自己的时钟过期", "A2",
	},
}

// Only returns a world in which no violations but the scene's are reported.
func (s Scene) Only(w explore.World) explore.World {
	w.Lock.Ignore = nil
	for _, kind := range explore.Kinds {
		if !slices.Contains(s.Kinds, kind) {
			w.Lock.Ignore = append(w.Lock.Ignore, kind)
		}
	}
	return w
}

// Shows reports whether a trace ends with what the scene is about.
func (s Scene) Shows(tr *explore.Trace) bool {
	if s.Like != nil && !s.Like(tr) {
		return false
	}
	if slices.Contains(s.Kinds, explore.Outlived) {
		return slices.Contains(tr.Known, string(explore.Outlived))
	}
	return tr.Violation != nil && slices.Contains(s.Kinds, tr.Violation.Kind)
}

// Trace returns the scene's schedule, to be played; nil if it has none.
func (s Scene) Trace() *explore.Trace {
	sch, ok := Schedules()[s.ID]
	if !ok {
		return nil
	}
	return &explore.Trace{World: s.World, Choices: sch.Choices, Widths: sch.Widths}
}
