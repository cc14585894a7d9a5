package suites

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

// A Candidate may lead. One goroutine calls Lead at a time; any may call Write.
type Candidate interface {
	// Lead waits until the candidate leads, calls lead, and resigns when that
	// returns. The ctx of lead ends with ctx and with the leadership.
	Lead(ctx context.Context, lead func(ctx context.Context, term int64) error) error
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

// electionTimeout is the session timeout of the cases' clients, which session asks for.
const electionTimeout = 10 * time.Second

// Plan has the cases of an election.
func (s ElectionSubject) Plan() locktest.Plan {
	contender := locktest.Subject{New: s.contender(electionTimeout), Queue: true, WakeUps: func(int) int { return 1 }}
	return locktest.NewPlan(electionCases, stage.Of[*election](s.Level), contender, func(w *locktest.World) *election { return &election{w, s} }).
		Needs(s.New != nil, "ElectionSubject.New is nil: it must make a candidate")
}

// contender makes a candidate, whose sessions have this timeout, as a lock.
func (s ElectionSubject) contender(timeout time.Duration) func(conn *zk.Conn, path string) locktest.Lock {
	return func(conn *zk.Conn, path string) locktest.Lock {
		return &leaderLock{candidate: s.New(conn, path, timeout)}
	}
}

// resting runs a case at whose end nothing may be left, once what goes on in the
// background has come to its end.
func resting(run func(w *election)) func(w *election) {
	return func(w *election) {
		run(w)
		w.Rest()
		w.NothingLeft()
	}
}

// ofLocks is a case of locks.
func ofLocks(run func(w *locktest.World)) func(w *election) {
	return func(w *election) { run(w.World) }
}

// A leaderLock is a candidate as a lock: Lock returns when it leads, and Unlock has
// it resign.
type leaderLock struct {
	candidate Candidate
	resign    chan struct{} // nil: it does not lead
	done      chan error
}

func (o *leaderLock) Lock() error {
	leads, resign, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- o.candidate.Lead(context.Background(), func(context.Context, int64) error {
			close(leads)
			<-resign
			return nil
		})
	}()
	select {
	case <-leads:
		o.resign, o.done = resign, done
		return nil
	case err := <-done:
		if err == nil {
			err = errors.New("Lead has returned without an error, and has not called its function")
		}
		return err
	}
}

func (o *leaderLock) Unlock() error {
	if o.resign == nil {
		return errors.New("does not lead")
	}
	close(o.resign)
	o.resign = nil
	return <-o.done
}

func (*leaderLock) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// All are exact, because a real server may grant another session timeout.
var electionCases = []locktest.TestCase[*election]{
	{Name: "a candidate that is alone leads, and its term is the czxid of its node", Group: locktest.Liveness, Run: resting(termIsCzxid), Basic: true, Exact: true},
	{Name: "Lead returns what its function returns", Group: locktest.Liveness, Run: resting(leadReturns), Basic: true, Exact: true},
	{Name: "candidates lead one after the other in the order in which they came", Group: locktest.Liveness, Run: ofLocks(locktest.QueueOrder), Basic: true, Exact: true},
	{Name: "the leader's ctx ends with the caller's, and nobody else leads before it has resigned", Group: locktest.Safety, Run: resting(ctxOfLeader), Basic: true, Exact: true},
	{Name: "a candidate whose ctx ends leaves the queue", Group: locktest.Liveness, Run: resting(ctxOfCandidate), Basic: true, Exact: true},
	{Name: "a waiting candidate sleeps", Group: locktest.Liveness, Run: ofLocks(locktest.WaiterSleeps), Basic: true, Exact: true},
	{Name: "the session of a leader ends, its ctx too, and Lead returns ErrLost", Group: locktest.Faults, Run: resting(leadersSessionEnds), Basic: true, Exact: true},
	{Name: "a leader writes, and a term that has ended writes no more", Group: locktest.Safety, Run: resting(writes), Basic: true, Exact: true},
	{Name: "the ctx of a leader that is cut off ends before the next one leads", Group: locktest.Safety, Run: leaderCutOff, Exact: true},
	{Name: "the ctx of a leader whose answer comes late, and that is cut off then, ends before the next one leads", Group: locktest.Safety, Run: leaderLateAnswer, Exact: true},
	{Name: "a candidate waits for as long as the leader leads, a day if need be", Group: locktest.Safety, Run: longestTerm, Calm: true},
	{Name: "a leader that is cut off for a moment goes on leading", Group: locktest.Faults, Run: resting(leaderShortCut), Exact: true},
	{Name: "a long term does not end by itself", Group: locktest.Liveness, Run: resting(longTerm), Exact: true},
	{Name: "the ctx of a leader whose node was deleted ends", Group: locktest.Faults, Run: resting(leadersNodeGoes), Exact: true},
	{Name: "a leader that does not listen gets ErrLost all the same", Group: locktest.Faults, Run: resting(deafLeader), Exact: true},
	{Name: "a write that the old leader has sent and that arrives after the hand-over is refused", Group: locktest.Safety, Run: resting(writeUnderWay), Exact: true},
	{Name: "a write that fails for another reason is not ErrStale", Group: locktest.Faults, Run: resting(writeFails), Exact: true},
	{Name: "a candidate sends next to nothing while nothing changes", Group: locktest.Cost, Run: ofLocks(locktest.WaiterIsQuiet), Exact: true},
	{Name: "no watch is left where nothing is left to wait for", Group: locktest.Cost, Run: ofLocks(locktest.WatchesLeft), Exact: true},
	{Name: "no goroutine is left when every candidate has resigned", Group: locktest.Cost, Run: electionGoroutines, Exact: true},
	{Name: "a resignation wakes one candidate", Group: locktest.Cost, Run: ofLocks(locktest.WakeUps), Bare: true, Exact: true},
	{Name: "a child that is not a candidate is ignored", Group: locktest.Liveness, Run: ofLocks(locktest.ForeignChild), Bare: true, Exact: true},
	{Name: "missing parents are made", Group: locktest.Liveness, Run: ofLocks(locktest.MissingParents), Bare: true, Exact: true},
	{Name: "a candidate that goes lets nobody lead before its turn", Group: locktest.Safety, Run: ofLocks(locktest.WaiterGoes), Bare: true, Exact: true},
	{Name: "a resignation between the look and the watch is not missed", Group: locktest.Liveness, Run: ofLocks(locktest.ReleaseBeforeWatch), Exact: true},
	{Name: "a candidate that goes before it is watched lets nobody lead", Group: locktest.Safety, Run: ofLocks(locktest.WaiterGoesBeforeWatch), Exact: true},
	{Name: "a resignation while a candidate is cut off is not missed", Group: locktest.Faults, Run: ofLocks(locktest.ReleaseWhileCutOff), Exact: true},
	{Name: "a closed session wakes a candidate with an error", Group: locktest.Faults, Run: ofLocks(locktest.ClosedWaiter), Exact: true},
}

type election struct {
	*locktest.World
	subject ElectionSubject
}

// A term is one call of Lead, as the case sees it.
type term struct {
	candidate Candidate
	s         *locktest.Session
	name      string
	cancel    context.CancelFunc // of Lead's ctx
	began     chan struct{}
	ctx       context.Context // of the leader, once it has begun
	number    int64
	result    <-chan error
	resign    func(err error) // ends the leader's function
}

// callLead has a candidate call Lead. The leader's function returns when the case calls resign.
func (w *election) callLead(name string, candidate Candidate, s *locktest.Session) *term {
	w.Helper()
	if candidate == nil {
		s = w.Session()
		candidate = w.subject.New(s.Conn, w.Path, electionTimeout)
	}
	ctx, cancel := context.WithCancel(context.Background())
	resigned := make(chan error, 1)
	var once sync.Once
	a := &term{candidate: candidate, s: s, name: name, cancel: cancel, began: make(chan struct{})}
	a.resign = func(err error) { once.Do(func() { resigned <- err }) }
	w.Cleanup(func() {
		cancel()
		a.resign(nil)
	})
	a.result = w.Aside("Lead", func() error {
		return candidate.Lead(ctx, func(ctx context.Context, number int64) error {
			a.ctx, a.number = ctx, number
			close(a.began)
			return <-resigned
		})
	})
	return a
}

// leads waits until a candidate leads.
func (w *election) leads(a *term) {
	w.Helper()
	w.WaitUntil(a.name+" leads", func() bool { return stage.IsClosed(a.began) || len(a.result) > 0 },
		func() string { return a.name + " must lead, and its function is not called" + w.Why() })
	if !stage.IsClosed(a.began) {
		require.NoError(w, <-a.result, "%s must lead, and Lead fails", a.name)
		w.Fatalf("Lead of %s returns without an error, and has not called its function", a.name)
	}
}

// waits fails if a candidate leads that must wait.
func (w *election) mustWait(a *term, why string) {
	w.Helper()
	w.WaitUntil(a.name+" waits", func() bool {
		return stage.IsClosed(a.began) || len(a.result) > 0 || a.s.Sleeps()
	}, func() string {
		return a.name + " waits without a watch: no event will report its turn" + w.Why()
	})
	w.notYet(a, why)
}

func (w *election) notYet(a *term, why string) {
	w.Helper()
	if stage.IsClosed(a.began) {
		w.Fatalf("%s leads, and must not: %s: two leaders", a.name, why)
	}
	if len(a.result) > 0 {
		require.NoError(w, <-a.result, "%s must wait, and Lead fails", a.name)
		w.Fatalf("%s must wait, and Lead returns", a.name)
	}
}

// resigns ends a leader's function, and Lead with it.
func (w *election) resigns(a *term) {
	w.Helper()
	a.resign(nil)
	require.NoError(w, w.Result(a.result, "Lead of "+a.name+", whose function has returned,"), "the function of %s has returned, and Lead fails", a.name)
}

// leader returns a candidate that leads.
func (w *election) leader() *term {
	w.Helper()
	a := w.callLead("the leader", nil, nil)
	w.leads(a)
	return a
}

// leaderAndNext returns a candidate that leads, and one that waits.
func (w *election) leaderAndNext() (leader, next *term) {
	w.Helper()
	leader, next = w.leader(), w.callLead("the next candidate", nil, nil)
	w.mustWait(next, "another candidate leads")
	return leader, next
}

// ctxEnds waits until a leader's ctx has ended.
func (w *election) ctxEnds(a *term, within time.Duration, what string) {
	w.Helper()
	select {
	case <-a.ctx.Done():
	case <-time.After(within):
		w.Fatalf("%s, and the ctx of the leader does not end in %v: it goes on leading, and the next one may lead: two leaders", what, within)
	}
}

// lost ends the function of a leader that has lost its leadership.
func (w *election) lost(a *term) {
	w.Helper()
	a.resign(nil)
	err := w.Result(a.result, "Lead of "+a.name+", whose leadership was lost,")
	require.ErrorIs(w, err, w.subject.ErrLost, "%s has lost its leadership before it resigned, and Lead returns no error that wraps ErrLost", a.name)
}

func termIsCzxid(w *election) {
	a := w.callLead("the candidate", nil, nil)
	w.leads(a)
	nodes := w.Nodes()
	require.Len(w, nodes, 1, "one candidate leads, and there is not exactly one node")
	node, _ := w.Server.Node(w.Path + "/" + nodes[0])
	require.Equal(w, a.s.ID, node.Stat.EphemeralOwner, "the leader's node is not an ephemeral one of its session: if the leader dies, nobody else ever leads")
	require.Equal(w, node.Stat.Czxid, a.number, "the term is not the czxid of the leader's node")
	require.NoError(w, a.ctx.Err(), "the leader's ctx has ended, and the leader has not resigned")
	w.resigns(a)
	require.Error(w, a.ctx.Err(), "the leader has resigned, and its ctx has not ended: what it has started goes on")
}

func leadReturns(w *election) {
	own := errors.New("the function's own error")
	a := w.callLead("the candidate", nil, nil)
	w.leads(a)
	a.resign(own)
	err := w.Result(a.result, "Lead, whose function has returned,")
	require.ErrorIs(w, err, own, "the leader's function returns an error, and Lead does not return it")
	require.NotErrorIs(w, err, w.subject.ErrLost, "the leader has resigned, and Lead returns ErrLost")
	w.Rest()
	w.NothingLeft()
	b := w.callLead("the same candidate, once more,", a.candidate, a.s)
	w.leads(b)
	require.Greater(w, b.number, a.number, "the candidate leads once more, and its term is not higher")
	w.resigns(b)
}

func ctxOfLeader(w *election) {
	a, b := w.leaderAndNext()
	a.cancel()
	w.ctxEnds(a, time.Second, "the ctx that Lead was called with has ended")
	w.Rest() // it cleans up for a minute
	w.notYet(b, "the leader's ctx has ended, and its function has not returned: it may still be at work; resign after that")
	a.resign(nil)
	err := w.Result(a.result, "Lead, whose function has returned,")
	require.NotErrorIs(w, err, w.subject.ErrLost, "ctx has ended and the leader has resigned, and Lead returns ErrLost")
	w.leads(b)
	w.resigns(b)
}

func ctxOfCandidate(w *election) {
	a := w.leader()
	b := w.callLead("the second candidate", nil, nil)
	w.mustWait(b, "another candidate leads")
	c := w.callLead("the third candidate", nil, nil)
	w.mustWait(c, "another candidate leads")
	b.cancel()
	require.ErrorIs(w, w.Result(b.result, "Lead, whose ctx has ended,"), context.Canceled, "the ctx of a waiting candidate has ended, and Lead returns no error that wraps ctx.Err()")
	w.Eventually("the node of the candidate that gave up goes", func() bool { return len(w.Nodes()) <= 2 })
	w.Rest()
	w.notYet(c, "the candidate before it has given up, and the leader still leads; look again at the whole queue after each event")
	w.resigns(a)
	w.leads(c)
	require.False(w, stage.IsClosed(b.began), "a candidate has given up, and leads while another one does: two leaders")
	w.resigns(c)
}

func leadersSessionEnds(w *election) {
	a, b := w.leaderAndNext()
	w.Expire(a.s)
	w.leads(b)
	w.ctxEnds(a, electionTimeout, "the leader's session has ended")
	w.lost(a)
	w.Renewed(a.s, "the old leader's client has a new session")
	again := w.callLead("the old leader, in its new session,", a.candidate, a.s)
	w.mustWait(again, "another candidate leads")
	w.resigns(b)
	w.leads(again)
	require.Greater(w, again.number, b.number, "the next leader's term is not higher")
	w.resigns(again)
}

func (w *election) record() {
	_, err := w.Session().Create(record, []byte("nothing"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(w, err)
}

// leaderCutOff holds back all that the leader's client sends, until its session
// has expired. The last packet that the server received came at different times.
func leaderCutOff(w *election) {
	for _, quiet := range []time.Duration{0, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second, 30 * time.Second} {
		a, b := w.leaderAndNext()
		time.Sleep(quiet)
		back := w.CutOff(w.Server.Hold, a.s)
		select {
		case <-a.ctx.Done():
			require.False(w, stage.IsClosed(b.began), "the leader was cut off, and the next one led before the leader's ctx had ended: two leaders")
		case <-b.began:
			w.Fatal("the leader was cut off, its session has ended, and the next one leads while the leader's ctx has not ended: two leaders; the leader must count the time since it sent the last request that was answered, and end its ctx before the session timeout has passed")
		case <-time.After(stage.Patience):
			w.Fatal("the leader is cut off for a minute, and neither does its ctx end nor does the next one lead")
		}
		w.leads(b)
		a.resign(nil)
		back()
		w.lost(a)
		w.resigns(b)
		w.Eventually("the queue is empty", func() bool { return len(w.Nodes()) == 0 })
		w.Rest()
	}
	w.NothingLeft()
}

// leaderLateAnswer keeps back the answer to one request of the leader after the other,
// and everything that its client sends afterwards for good: that request is the
// last packet of the session that the server receives. The first requests are those
// with which the candidate becomes the leader.
func leaderLateAnswer(w *election) {
	for n := 1; n <= 8; n++ {
		for _, late := range []time.Duration{4 * time.Second, 6 * time.Second} {
			w.lateAnswer(n, late)
		}
	}
	w.NothingLeft()
}

func (w *election) lateAnswer(n int, late time.Duration) {
	s := w.Session()
	answer := w.Server.HoldReply(stage.Number(s, n))
	a := w.callLead("the leader", w.subject.New(s.Conn, w.Path, electionTimeout), s)
	w.Eventually("the leader shows again and again that its session lives", func() bool { return len(answer.Hit()) > 0 })
	back := w.CutOff(w.Server.Hold, s)
	b := w.callLead("the next candidate", nil, nil)
	time.Sleep(late)
	answer.Release()
	w.leads(b)
	if stage.IsClosed(a.began) {
		require.Error(w, a.ctx.Err(), "the answer to request %d of the leader, %v, came %v late, then the leader was cut off, and the next one leads while the leader's ctx has not ended: two leaders; the server's clock has run since it got the request: count from when the request was sent, not from the answer", n, stage.LastRequest(s, n), late)
	}
	a.resign(nil)
	back()
	if stage.IsClosed(a.began) {
		w.lost(a)
	}
	a.cancel()
	w.resigns(b)
	w.Eventually("the queue is empty", func() bool { return len(w.Nodes()) == 0 })
	w.Rest()
}

// longestTerm has a leader that leads for a day.
func longestTerm(w *election) {
	w.Subject.New = w.subject.contender(stage.CalmTimeout)
	locktest.LongHold(w.World)
}

func leaderShortCut(w *election) {
	a := w.leader()
	for range 5 {
		time.Sleep(7 * time.Second)
		require.True(w, w.Server.Cut(a.s.ID))
	}
	for range 3 { // a request of the leader goes with its connection
		lost := w.Server.LoseRequest(func(r zkserver.Request) bool { return r.Session == a.s.ID && !stage.ByClient(r.Op) })
		w.Eventually("the leader shows that its session lives", func() bool { return len(lost.Hit()) > 0 || a.ctx.Err() != nil })
		lost.Release()
		w.Rest() // several in a row would be a loss
	}
	require.NoError(w, a.ctx.Err(), "the connection of the leader broke and came back at once, its session lives, and its ctx has ended: zk.ErrConnectionClosed does not say that the session has ended; ask again")
	w.resigns(a)
}

func longTerm(w *election) {
	a, b := w.leaderAndNext()
	time.Sleep(20 * time.Minute)
	require.NoError(w, a.ctx.Err(), "nothing has happened for 20 minutes, and the leader's ctx has ended: show again and again that the session lives")
	w.notYet(b, "another candidate leads")
	w.resigns(a)
	w.leads(b)
	w.resigns(b)
}

func leadersNodeGoes(w *election) {
	a := w.leader()
	require.NoError(w, w.Session().Delete(w.Path+"/"+w.Nodes()[0], -1))
	w.ctxEnds(a, electionTimeout, "an operator has deleted the leader's node")
	w.lost(a)
}

// deafLeader ends a leader's session and lets the function return long after.
func deafLeader(w *election) {
	a := w.leader()
	w.Expire(a.s)
	w.Rest()
	require.Empty(w, a.result, "the leadership was lost, and Lead has returned while its function is at work: for the caller it has ended")
	w.lost(a)
}

func electionGoroutines(w *election) {
	for _, run := range []func(w *election){ctxOfLeader, ctxOfCandidate, leadersSessionEnds} {
		resting(run)(w)
	}
	w.NoGoroutines()
}
