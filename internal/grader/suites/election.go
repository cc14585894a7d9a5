package suites

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// A Candidate may lead. One goroutine calls Lead at a time; any may call Write.
type Candidate interface {
	locks.Candidate
	// Write sets a node's data if term is the present leader's.
	Write(term int64, path string, data []byte) error
}

// An ElectionSubject is an election by a fair queue.
type ElectionSubject struct {
	// New makes a candidate of the election at path, the parent of its nodes. The
	// server has agreed to the session timeout.
	New func(conn *zk.Conn, path string, timeout time.Duration) Candidate
	// ErrLost is what Lead wraps if the leadership ended too early, and ErrStale
	// what Write wraps if the term is not the leader's.
	ErrLost, ErrStale error
	// Level says how much is asked. The zero Level is Full.
	Level locktest.Level
}

// electionTimeout is the session timeout of the candidates, unless a case says another.
const electionTimeout = 10 * time.Second

// Plan has the cases of an election.
func (s ElectionSubject) Plan() locktest.Plan {
	asLock := locktest.Subject{New: s.lockOf(electionTimeout), Queue: true, WakeUps: func(int) int { return 1 }}
	return locktest.NewPlan(electionCases, stage.Of[*election](s.Level), asLock,
		func(w *locktest.World) *election { return &election{w, s, electionTimeout} }).
		Needs(s.New != nil, "ElectionSubject.New is nil: it must make a candidate")
}

// lockOf makes a candidate a lock, for the cases of locks: Lock returns when the candidate leads,
// and Unlock has it resign. Its session has this timeout.
func (s ElectionSubject) lockOf(timeout time.Duration) func(conn *zk.Conn, path string) locktest.Lock {
	return func(conn *zk.Conn, path string) locktest.Lock {
		return leaderLock{locks.Candidates(s.New)(conn, path, timeout)("")}
	}
}

type leaderLock struct{ contender }

func (l leaderLock) Lock() error          { return l.contender.Lock(context.Background()) }
func (leaderLock) TryLock() (bool, error) { return false, errors.ErrUnsupported }
func (l leaderLock) Unlock() error        { return l.contender.Unlock(context.Background()) }

// resting makes a case that ends with a check: nothing may be left when the work in the
// background has come to its end.
func resting(run func(w *election)) func(w *election) {
	return func(w *election) {
		run(w)
		w.Rest()
		w.NothingLeft()
	}
}

// ofLocks makes a case of one for locks.
func ofLocks(run func(w *locktest.World)) func(w *election) {
	return func(w *election) { run(w.World) }
}

// All cases but one are exact, because a real server may grant another session timeout.
var electionCases = []locktest.TestCase[*election]{
	{Name: "a candidate that is alone leads, and its term is the czxid of its node", Zh: "只有一个候选者时由它领导，任期就是其节点的 czxid", Group: locktest.Liveness, Run: resting(termIsCzxid), Basic: true, Exact: true},
	{Name: "Lead returns what its function returns", Zh: "Lead 返回传给它的函数的返回值", Group: locktest.Liveness, Run: resting(leadReturns), Basic: true, Exact: true},
	{Name: "candidates lead one after the other in the order in which they came", Zh: "候选者按到来的次序依次领导", Group: locktest.Liveness, Run: ofLocks(locktest.QueueOrder), Basic: true, Exact: true},
	{Name: "the leader's ctx ends with the caller's, and nobody else leads before it has resigned", Zh: "ctx 结束会通知领导者，领导者卸任之前别人不会上任", Group: locktest.Safety, Run: resting(ctxOfLeader), Basic: true, Exact: true},
	{Name: "a candidate whose ctx ends leaves the queue", Zh: "ctx 结束的候选者会离开队列", Group: locktest.Liveness, Run: resting(ctxOfCandidate), Basic: true, Exact: true},
	{Name: "a waiting candidate sleeps", Zh: "等待的候选者在睡眠", Group: locktest.Liveness, Run: ofLocks(locktest.WaiterSleeps), Basic: true, Exact: true},
	{Name: "the session of a leader ends, its ctx too, and Lead returns ErrLost", Zh: "领导者的会话结束，其 ctx 也结束，Lead 返回 ErrLost", Group: locktest.Faults, Run: resting(leadersSessionEnds), Basic: true, Exact: true},
	{Name: "a leader writes, and a term that has ended writes no more", Zh: "领导者能写，任期结束后不能再写", Group: locktest.Safety, Run: resting(writes), Basic: true, Exact: true},
	{Name: "the ctx of a leader that is cut off ends before the next one leads", Zh: "领导者断线，在下一个领导者上任之前得到通知", Group: locktest.Safety, Run: leaderCutOff, Exact: true},
	{Name: "the ctx of a leader whose answer comes late, and that is cut off then, ends before the next one leads", Zh: "响应来迟、随后断线的领导者，在下一个领导者上任之前得到通知", Group: locktest.Safety, Run: leaderLateAnswer, Exact: true},
	{Name: "a candidate waits for as long as the leader leads, a day if need be", Zh: "领导者领导多久，候选者就等多久，哪怕一天", Group: locktest.Safety, Run: longestTerm, Calm: true},
	{Name: "a leader that is cut off for a moment goes on leading", Zh: "领导者短暂断线，继续领导", Group: locktest.Faults, Run: resting(leaderShortCut), Exact: true},
	{Name: "a long term does not end by itself", Zh: "长任期不会自己结束", Group: locktest.Liveness, Run: resting(longTerm), Exact: true},
	{Name: "the ctx of a leader whose node was deleted ends", Zh: "节点遭到删除的领导者会得到通知", Group: locktest.Faults, Run: resting(leadersNodeGoes), Exact: true},
	{Name: "a write that the old leader has sent and that arrives after the hand-over is refused", Zh: "原领导者发出、交接之后才到达的写会遭到拒绝", Group: locktest.Safety, Run: resting(writeUnderWay), Exact: true},
	{Name: "a leader whose node's number another leader has now leads and writes no more", Zh: "别的领导者的节点有了同样的序号，原领导者就不能再领导、再写", Group: locktest.Safety, Run: resting(nameComesAgain), Exact: true},
	{Name: "a write that fails for another reason is not ErrStale", Zh: "因别的原因失败的写，不是 ErrStale", Group: locktest.Faults, Run: resting(writeFails), Exact: true},
	{Name: "a candidate sends next to nothing while nothing changes", Zh: "没有变化时，候选者几乎不发请求", Group: locktest.Cost, Run: ofLocks(locktest.WaiterIsQuiet), Exact: true},
	{Name: "no watch is left where nothing is left to wait for", Zh: "等待结束后，不遗留监听", Group: locktest.Cost, Run: ofLocks(locktest.WatchesLeft), Exact: true},
	{Name: "no goroutine is left when every candidate has resigned", Zh: "所有候选者卸任之后，不留下 goroutine", Group: locktest.Cost, Run: electionGoroutines, Exact: true},
	{Name: "a resignation wakes one candidate", Zh: "一次卸任只唤醒一个候选者", Group: locktest.Cost, Run: ofLocks(locktest.WakeUps), Bare: true, Exact: true},
	{Name: "a child that is not a candidate is ignored", Zh: "忽略不属于候选者的子节点", Group: locktest.Liveness, Run: ofLocks(locktest.ForeignChild), Bare: true, Exact: true},
	{Name: "missing parents are made", Zh: "父节点不存在时会自动创建", Group: locktest.Liveness, Run: ofLocks(locktest.MissingParents), Bare: true, Exact: true},
	{Name: "a candidate that goes lets nobody lead before its turn", Zh: "候选者离开时，不会让别人提前当上领导者", Group: locktest.Safety, Run: ofLocks(locktest.WaiterGoes), Bare: true, Exact: true},
	{Name: "a resignation between the look and the watch is not missed", Zh: "查看之后、监听之前的卸任不会漏掉", Group: locktest.Liveness, Run: ofLocks(locktest.ReleaseBeforeWatch), Exact: true},
	{Name: "a candidate that goes before it is watched lets nobody lead", Zh: "候选者在别人监听它之前离开，不会让别人当上领导者", Group: locktest.Safety, Run: ofLocks(locktest.WaiterGoesBeforeWatch), Exact: true},
	{Name: "a resignation while a candidate is cut off is not missed", Zh: "候选者断线期间的卸任不会漏掉", Group: locktest.Faults, Run: ofLocks(locktest.ReleaseWhileCutOff), Exact: true},
	{Name: "a closed session wakes a candidate with an error", Zh: "会话关闭时，候选者醒来并得到错误", Group: locktest.Faults, Run: ofLocks(locktest.ClosedWaiter), Exact: true},
}

// An election is the world of a case.
type election struct {
	*locktest.World
	subject ElectionSubject
	timeout time.Duration // of the sessions of candidates
}

// A campaign is one call of Lead.
type campaign struct {
	candidate Candidate
	s         *locktest.Session
	name      i18n.Text          // of the candidate, in messages
	cancel    context.CancelFunc // ends the ctx that Lead is called with
	began     chan struct{}      // closed when the candidate leads; ctx and term are set before
	ctx       context.Context    // of the leader
	term      int64
	result    <-chan error    // of Lead
	resign    func(err error) // has the leader's function return
}

// campaign has a candidate call Lead; without a candidate, a new one in a session of its own. The
// leader's function returns when the case calls resign.
func (w *election) campaign(name i18n.Text, candidate Candidate, s *locktest.Session) *campaign {
	w.Helper()
	if candidate == nil {
		s = w.SessionFor(w.timeout)
		candidate = w.subject.New(s.Conn, w.Path, w.timeout)
	}
	// This ctx has a deadline that is not why it ends, and a cause that is not ctx.Err().
	ctx, cancel := context.WithTimeout(context.Background(), 1000*time.Hour)
	ctx, end := context.WithCancelCause(ctx)
	resigned := make(chan error, 1)
	var once sync.Once
	c := &campaign{candidate: candidate, s: s, name: name, began: make(chan struct{})}
	c.cancel = func() { end(errors.New("the caller's own reason")) }
	c.resign = func(err error) { once.Do(func() { resigned <- err }) }
	w.Cleanup(func() {
		cancel()
		c.resign(nil)
	})
	c.result = w.Aside("Lead", func() error {
		return candidate.Lead(ctx, func(ctx context.Context, term int64) error {
			c.ctx, c.term = ctx, term
			close(c.began)
			return <-resigned
		})
	})
	return c
}

// ended reports whether a candidate leads, or its Lead has returned.
func (c *campaign) ended() bool { return bubble.IsClosed(c.began) || len(c.result) > 0 }

// mustLead waits until a candidate leads.
func (w *election) mustLead(c *campaign) {
	w.Helper()
	w.Await(c.ended, "%s must lead, and its function is not called%s", "%s应该当选，传给 Lead 的函数却没有被调用%s", c.name)
	if !bubble.IsClosed(c.began) {
		w.NoError(<-c.result, "%s must lead, and Lead fails", "%s应该当选，Lead 却失败了", c.name)
		w.Failf("Lead of %s returns without an error, and has not called its function", "%s的 Lead 没有返回错误，却也没有调用传给它的函数", c.name)
	}
}

// mustWait fails if a candidate leads, or does not sleep.
func (w *election) mustWait(c *campaign, why i18n.Text) {
	w.Helper()
	w.Sleeps(c.s, c.name, c.ended)
	w.mustNotLead(c, why)
}

// mustNotLead fails if a candidate leads, or its Lead has returned.
func (w *election) mustNotLead(c *campaign, why i18n.Text) {
	w.Helper()
	if bubble.IsClosed(c.began) {
		w.Failf("%s leads, and must not: %s: two leaders", "%s不该当选却当选了：%s：出现两个领导者", c.name, why)
	}
	if len(c.result) > 0 {
		w.NoError(<-c.result, "%s must wait, and Lead fails", "%s应该等待，Lead 却失败了", c.name)
		w.Failf("%s must wait, and Lead returns", "%s应该等待，Lead 却返回了", c.name)
	}
}

// resigns has a leader's function return, and Lead with it.
func (w *election) resigns(c *campaign) {
	w.Helper()
	c.resign(nil)
	w.NoError(w.Result(c.result, i18n.Textf("Lead of %s, whose function has returned,", "函数已经返回，%s的 Lead", c.name)), "the function of %s has returned, and Lead fails", "%s的函数已经返回，Lead 却失败了", c.name)
}

// leader returns a candidate that leads.
func (w *election) leader() *campaign {
	w.Helper()
	c := w.campaign(i18n.Textf("the leader", "领导者"), nil, nil)
	w.mustLead(c)
	return c
}

// leaderAndNext returns a candidate that leads, and one that waits.
func (w *election) leaderAndNext() (leader, next *campaign) {
	w.Helper()
	leader, next = w.leader(), w.campaign(i18n.Textf("the next candidate", "下一个候选者"), nil, nil)
	w.mustWait(next, i18n.Textf("another candidate leads", "另一个候选者在领导"))
	return leader, next
}

// ctxMustEnd waits until a leader's ctx has ended.
func (w *election) ctxMustEnd(c *campaign, within time.Duration, what i18n.Text) {
	w.Helper()
	select {
	case <-c.ctx.Done():
	case <-time.After(within):
		w.Failf("%s, and the ctx of the leader does not end in %v: it goes on leading, and the next one may lead: two leaders", "%s，领导者的 ctx 在 %v 内没有结束：领导者以为自己还在领导，而下一个可能已经上任：出现两个领导者", what, within)
	}
}

// resignsLate has the function of a leader return that has lost its leadership.
func (w *election) resignsLate(c *campaign) {
	w.Helper()
	c.resign(nil)
	err := w.Result(c.result, i18n.Textf("Lead of %s, whose leadership was lost,", "领导地位已经失去，%s的 Lead", c.name))
	w.ErrorIs(err, w.subject.ErrLost, "%s has lost its leadership before it resigned, and Lead returns no error that wraps ErrLost", "%s在卸任之前就失去了领导地位，Lead 返回的错误却没有包装 ErrLost", c.name)
}

func termIsCzxid(w *election) {
	leader := w.leader()
	nodes := w.Nodes()
	w.Len(nodes, 1, "one candidate leads, and there is not exactly one node", "只有一个候选者在领导，应当恰好有一个节点")
	node, _ := w.Server.Node(w.Path + "/" + nodes[0])
	w.Equal(leader.s.ID, node.Stat.EphemeralOwner, "the leader's node is not an ephemeral one of its session: if the leader dies, nobody else ever leads", "领导者的节点不是自己会话的临时节点：领导者一旦崩溃，就再也选不出领导者")
	w.Equal(node.Stat.Czxid, leader.term, "the term is not the czxid of the leader's node", "任期不是领导者的节点的 czxid")
	w.NoError(leader.ctx.Err(), "the leader's ctx has ended, and the leader has not resigned", "领导者还没有卸任，ctx 就结束了")
	w.resigns(leader)
	w.HasError(leader.ctx.Err(), "the leader has resigned, and its ctx has not ended: what it has started goes on", "领导者已经卸任，ctx 却没有结束：启动的工作还在继续")
}

func leadReturns(w *election) {
	own := i18n.Errorf("the function's own error", "函数自己的错误")
	leader := w.leader()
	leader.cancel()
	leader.resign(own)
	err := w.Result(leader.result, i18n.Textf("Lead, whose function has returned,", "函数已经返回，Lead"))
	w.ErrorIs(err, own, "ctx has ended, the leader's function returns an error, and Lead does not return it", "ctx 已经结束，领导者的函数返回了错误，Lead 却没有返回这个错误")
	w.NotErrorIs(err, w.subject.ErrLost, "the leader has resigned, and Lead returns ErrLost", "领导者已经卸任，Lead 却返回 ErrLost")
	again := w.campaign(i18n.Textf("the same candidate, once more,", "再次参选的同一个候选者"), leader.candidate, leader.s)
	w.mustLead(again)
	w.Rest() // what the first term has left behind has come to its end
	w.NoError(again.ctx.Err(), "the candidate leads once more, and the ctx of its second term has ended by itself", "候选者再次当选，第二个任期的 ctx 却自己结束了")
	w.True(again.term > leader.term, "the candidate leads once more, and its term is not higher", "候选者再次当选，任期却没有增大")
	w.resigns(again)
}

func ctxOfLeader(w *election) {
	leader, next := w.leaderAndNext()
	leader.cancel()
	w.ctxMustEnd(leader, time.Second, i18n.Textf("the ctx that Lead was called with has ended", "调用 Lead 时所用的 ctx 已经结束"))
	w.Rest() // it cleans up for a minute
	w.NotErrorIs(w.write(leader.candidate, leader.term, "at last"), w.subject.ErrStale, "the leader's ctx has ended, its function has not returned, nobody else leads, and Write returns ErrStale: it is its term until it has resigned", "领导者的 ctx 已经结束，函数还没有返回，没有别人在领导，Write 却返回 ErrStale：卸任之前仍是它的任期")
	w.mustNotLead(next, i18n.Textf("the leader's ctx has ended, and its function has not returned: it may still be at work; resign after that", "领导者的 ctx 已经结束，函数还没有返回，可能还在工作；请在函数返回之后再卸任"))
	leader.resign(nil)
	err := w.Result(leader.result, i18n.Textf("Lead, whose function has returned,", "函数已经返回，Lead"))
	w.NotErrorIs(err, w.subject.ErrLost, "ctx has ended and the leader has resigned, and Lead returns ErrLost", "ctx 已经结束，领导者已经卸任，Lead 却返回 ErrLost")
	w.NoError(err, "ctx has ended, the leader's function has returned nil, and Lead returns another error than its function", "ctx 已经结束，领导者的函数返回 nil，Lead 返回的却不是函数的返回值")
	w.mustLead(next)
	w.resigns(next)
}

func ctxOfCandidate(w *election) {
	leader, next := w.leaderAndNext()
	third := w.campaign(i18n.Textf("the third candidate", "第三个候选者"), nil, nil)
	w.mustWait(third, i18n.Textf("another candidate leads", "另一个候选者在领导"))
	next.cancel()
	w.ErrorIs(w.Result(next.result, i18n.Textf("Lead, whose ctx has ended,", "ctx 已经结束，Lead")), context.Canceled, "the ctx of a waiting candidate has ended, and Lead returns no error that wraps ctx.Err()", "候选者还在等待，ctx 已经结束，Lead 返回的错误却没有包装 ctx.Err()")
	w.Eventually(i18n.Textf("the node of the candidate that gave up goes", "候选者放弃之后，节点消失"), func() bool { return len(w.Nodes()) <= 2 })
	w.Rest()
	w.mustNotLead(third, i18n.Textf("the candidate before it has given up, and the leader still leads; look again at the whole queue after each event", "前一个候选者放弃了，领导者还在领导；每次收到事件都要重新看整个队列"))
	w.resigns(leader)
	began := time.Now()
	w.mustLead(third)
	w.True(time.Since(began) <= time.Second, "the leader has resigned, and the next one leads %v later: it leads at once, for nobody else does", "领导者已经卸任，下一个过了 %v 才上任：没有别人在领导，应当立即上任", time.Since(began))
	w.False(bubble.IsClosed(next.began), "a candidate has given up, and leads while another one does: two leaders", "一个候选者已经放弃，却在别人领导时当选：出现两个领导者")
	w.resigns(third)
}

func leadersSessionEnds(w *election) {
	leader, next := w.leaderAndNext()
	w.Expire(leader.s)
	w.mustLead(next)
	w.ctxMustEnd(leader, electionTimeout, i18n.Textf("the leader's session has ended", "领导者的会话已经结束"))
	w.Rest() // the leader does not listen
	w.Empty(leader.result, "the leadership was lost, and Lead has returned while its function is at work: for the caller it has ended", "领导地位已经失去，函数还在工作，Lead 却返回了：调用方会以为函数已经结束")
	w.resignsLate(leader)
	w.Renewed(leader.s, i18n.Textf("the old leader's client has a new session", "原领导者的客户端有了新会话"))
	again := w.campaign(i18n.Textf("the old leader, in its new session,", "处于新会话的原领导者"), leader.candidate, leader.s)
	w.mustWait(again, i18n.Textf("another candidate leads", "另一个候选者在领导"))
	w.resigns(next)
	w.mustLead(again)
	w.True(again.term > next.term, "the next leader's term is not higher", "下一个领导者的任期没有增大")
	w.resigns(again)
}

// makeRecord makes the node that the leaders write.
func (w *election) makeRecord() {
	_, err := w.Session().Create(record, []byte("nothing"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
}

// leaderCutOff holds back all that the leader's client sends, until its session has expired.
// The leader has led for different times before, and the session timeouts differ, too.
func leaderCutOff(w *election) {
	for i, led := range []time.Duration{0, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second, 30 * time.Second} {
		w.timeout = []time.Duration{electionTimeout, 4 * time.Second, 30 * time.Second}[i%3]
		leader, next := w.leaderAndNext()
		time.Sleep(led)
		w.NoError(leader.ctx.Err(), "nothing has happened, the sessions live for %v without a packet, and the leader's ctx has ended after %v: show in time that the session lives", "什么都没有发生，会话超时时间是 %v，领导者的 ctx 过了 %v 就结束了：请及时证明会话还在", w.timeout, led)
		back := w.CutOff(w.Server.Hold, leader.s)
		select {
		case <-leader.ctx.Done():
			w.False(bubble.IsClosed(next.began), "the leader was cut off, and the next one led before the leader's ctx had ended: two leaders", "领导者断线，ctx 还没有结束，下一个就上任了：出现两个领导者")
		case <-next.began:
			w.Failf("the leader was cut off, its session has ended, and the next one leads while the leader's ctx has not ended: two leaders; the leader must count the time since it sent the last request that was answered, and end its ctx before the session timeout has passed", "领导者断线，会话已经结束，ctx 还没有结束，下一个就上任了：出现两个领导者；领导者必须从最近一个得到响应的请求发出时算起，在会话超时时间过去之前结束自己的 ctx")
		case <-time.After(stage.Patience):
			w.Failf("the leader is cut off for a minute, and neither does its ctx end nor does the next one lead", "领导者断线了一分钟，ctx 没有结束，下一个也没有上任")
		}
		w.mustLead(next)
		leader.resign(nil)
		back()
		w.resignsLate(leader)
		w.resigns(next)
		w.Eventually(i18n.Textf("the queue is empty", "队列空了"), func() bool { return len(w.Nodes()) == 0 })
		w.Rest()
	}
	w.NothingLeft()
}

// leaderLateAnswer keeps back the answer to each of the first requests of a candidate in turn, and
// then cuts its client off: that request is the last packet of the session that the server receives.
// With the first ones the candidate becomes the leader.
func leaderLateAnswer(w *election) {
	for n := 1; n <= 8; n++ {
		for _, late := range []time.Duration{4 * time.Second, 4600 * time.Millisecond, 6 * time.Second} {
			// A session ends at a tick of the server, every two seconds: just after the timeout.
			time.Sleep(time.Until(time.Now().Truncate(2 * time.Second).Add(3900 * time.Millisecond)))
			w.lateAnswer(n, late)
		}
	}
	w.NothingLeft()
}

func (w *election) lateAnswer(n int, late time.Duration) {
	s := w.Session()
	answer := w.Server.HoldReply(stage.Number(s, n))
	leader := w.campaign(i18n.Textf("the leader", "领导者"), w.subject.New(s.Conn, w.Path, electionTimeout), s)
	w.Eventually(i18n.Textf("the leader shows again and again that its session lives", "领导者一再证明自己的会话还在"), func() bool { return len(answer.Hit()) > 0 })
	back := w.CutOff(w.Server.Hold, s)
	next := w.campaign(i18n.Textf("the next candidate", "下一个候选者"), nil, nil)
	time.Sleep(late)
	answer.Release()
	w.mustLead(next)
	if bubble.IsClosed(leader.began) {
		w.HasError(leader.ctx.Err(), "the answer to request %d of the leader, %v, came %v late, then the leader was cut off, and the next one leads while the leader's ctx has not ended: two leaders; the server's clock has run since it got the request: count from when the request was sent, not from the answer", "领导者的第 %d 个请求（%v）的响应迟到了 %v，随后领导者断线，ctx 还没有结束，下一个就上任了：出现两个领导者；服务器收到请求时就开始计时，所以请从发出请求时算起，不要从收到响应时算起", n, stage.LastRequest(s, n), late)
	}
	leader.resign(nil)
	back()
	if bubble.IsClosed(leader.began) {
		w.resignsLate(leader)
	}
	leader.cancel()
	w.resigns(next)
	w.Eventually(i18n.Textf("the queue is empty", "队列空了"), func() bool { return len(w.Nodes()) == 0 })
	w.Rest()
}

// longestTerm has a leader that leads for a day.
func longestTerm(w *election) {
	w.Subject.New = w.subject.lockOf(stage.CalmTimeout)
	locktest.LongHold(w.World)
}

func leaderShortCut(w *election) {
	leader, next := w.leaderAndNext()
	for range 5 {
		time.Sleep(7 * time.Second) // less than the session timeout
		require.True(w, w.Server.Cut(leader.s.ID))
	}
	for range 3 { // a request of the leader is lost with its connection
		lost := w.Server.LoseRequest(func(r zkserver.Request) bool { return r.Session == leader.s.ID && !stage.ByClient(r.Op) })
		w.Eventually(i18n.Textf("the leader shows that its session lives", "领导者证明自己的会话还在"), func() bool { return len(lost.Hit()) > 0 || leader.ctx.Err() != nil })
		lost.Release()
		w.Rest() // several in a row would cost the leadership
	}
	w.NoError(leader.ctx.Err(), "the connection of the leader broke and came back at once, its session lives, and its ctx has ended: zk.ErrConnectionClosed does not say that the session has ended; ask again", "领导者的连接断开，随即恢复，会话还在，ctx 却结束了：zk.ErrConnectionClosed 并不表示会话已经结束；请再问一次")
	back := w.CutOff(w.Server.Hold, leader.s)
	time.Sleep(7500 * time.Millisecond) // the leadership may be lost, and the session lives
	back()
	leader.resign(nil)
	w.Result(leader.result, i18n.Textf("Lead, whose function has returned,", "函数已经返回，Lead"))
	w.mustLead(next)
	w.resigns(next)
}

func longTerm(w *election) {
	w.makeRecord()
	leader, next := w.leaderAndNext()
	nextsNode, _ := w.Server.Node(w.NodesOf(next.s)[0])
	for _, node := range w.Nodes() {
		w.Server.Touch(w.Path + "/" + node)
	}
	time.Sleep(20 * time.Minute)
	w.NoError(leader.ctx.Err(), "nothing has happened for 20 minutes, but that somebody has written the data of the leader's node again, and its ctx has ended: show again and again that the session lives", "20 分钟内，除了有人把领导者的节点的数据又写了一遍，什么都没有发生，领导者的 ctx 却结束了：请不断证明会话还在")
	w.NoError(w.write(leader.candidate, leader.term, "by a"), "somebody has written the data of the leader's node again, and Write fails", "有人把领导者的节点的数据又写了一遍，Write 就失败了")
	w.mustNotLead(next, i18n.Textf("another candidate leads", "另一个候选者在领导"))
	w.resigns(leader)
	w.mustLead(next)
	w.Equal(nextsNode.Stat.Czxid, next.term, "the term is not the czxid of the leader's node, whose data was written while it waited", "领导者等待时，节点的数据被人写过，任期却不是节点的 czxid")
	w.resigns(next)
}

func leadersNodeGoes(w *election) {
	leader := w.leader()
	w.Server.Touch(w.Path + "/" + w.Nodes()[0])
	w.Rest() // a watch that it has on its node has fired
	require.NoError(w, w.Session().Delete(w.Path+"/"+w.Nodes()[0], -1))
	w.ctxMustEnd(leader, electionTimeout, i18n.Textf("an operator has written the data of the leader's node, and then deleted the node", "运维人员改写了领导者的节点的数据，随后删除了这个节点"))
	w.resignsLate(leader)
}

func electionGoroutines(w *election) {
	for _, run := range []func(w *election){ctxOfLeader, ctxOfCandidate, leadersSessionEnds} {
		resting(run)(w)
	}
	w.NoGoroutines()
}
