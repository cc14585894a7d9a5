package suites

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// A Candidate may lead. One goroutine calls Lead at a time; any may call Write.
type Candidate interface {
	locks.Candidate
	// Write sets a node's data if term is the present leader's.
	Write(term int64, path string, data []byte) error
}

// An ElectionSubject is an election by a fair queue.
type ElectionSubject struct {
	// New makes a candidate of the election at path, the parent of its nodes. The server has agreed to timeout.
	New func(conn *zk.Conn, path string, timeout time.Duration) Candidate
	// Lead wraps ErrLost if the leadership ended too early, and Write wraps ErrStale if the term is not the leader's.
	ErrLost, ErrStale error
	// Level says how much is asked. The zero Level is Full.
	Level locktest.Level
}

// electionTimeout is the session timeout of the candidates, unless a case says another.
const electionTimeout = 10 * time.Second

func (s ElectionSubject) Plan() locktest.Plan {
	asLock := locktest.Subject{New: s.lockOf(electionTimeout), Queue: true, WakeUps: func(int) int { return 1 }}
	return locktest.NewPlan(electionCases, stage.Of[*election](s.Level), asLock,
		func(w *locktest.World) *election { return &election{World: w, subject: s, timeout: electionTimeout} }).
		Needs(s.New != nil, "ElectionSubject.New is nil: it must make a candidate")
}

// lockOf makes a lock of a candidate: Lock returns when it leads, and Unlock has it resign. timeout is its session's.
func (s ElectionSubject) lockOf(timeout time.Duration) func(conn *zk.Conn, path string) locktest.Lock {
	return func(conn *zk.Conn, path string) locktest.Lock {
		newCandidate := locks.Candidates(s.New)(conn, path, timeout)
		return locktest.Background(leaderLock{newCandidate("")})
	}
}

type leaderLock struct{ contender }

func (leaderLock) TryLock() (bool, error) { return false, errors.ErrUnsupported }
func (l leaderLock) Unlock() error        { return l.contender.Unlock(context.Background()) }

// resting makes a case that ends with a check: nothing may be left when the work in the background has come to its end.
func resting(run func(w *election)) func(w *election) {
	return func(w *election) {
		run(w)
		w.Rest()
		w.NothingLeft()
	}
}

func ofLocks(run lockCase) func(w *election) { return func(w *election) { run(w.World) } }

// All cases but one are exact, because a real server may grant another session timeout.
var electionCases = []locktest.TestCase[*election]{
	row("a candidate that is alone leads, and its term is the czxid of its node",
		liveness, resting(termIsCzxid), basic, exact),
	row("Lead returns what its function returns", liveness, resting(leadReturns), basic, exact),
	row("candidates lead one after the other in the order in which they came",
		liveness, ofLocks(locktest.QueueOrder), basic, exact),
	row("the leader's ctx ends with the caller's, and nobody else leads before it has resigned",
		safety, resting(ctxOfLeader), basic, exact),
	row("a candidate whose ctx ends leaves the queue", liveness, resting(ctxOfCandidate), basic, exact),
	row("a waiting candidate sleeps", liveness, ofLocks(locktest.WaiterSleeps), basic, exact),
	row("the session of a leader ends, its ctx too, and Lead returns ErrLost",
		faults, resting(leadersSessionEnds), basic, exact),
	row("a leader writes, and a term that has ended writes no more", safety, resting(writes), basic, exact),
	row("the ctx of a leader that is cut off ends before the next one leads", safety, leaderCutOff, exact),
	row("the ctx of a leader whose answer comes late, and that is cut off then, ends before the next one leads",
		safety, leaderLateAnswer, exact),
	row("a candidate waits for as long as the leader leads, a day if need be", safety, longestTerm, calm),
	row("a leader that is cut off for a moment goes on leading", faults, resting(leaderShortCut), exact),
	row("a long term does not end by itself", liveness, resting(longTerm), exact),
	row("the ctx of a leader whose node was deleted ends", faults, resting(leadersNodeGoes), exact),
	row("a write that the old leader has sent and that arrives after the hand-over is refused",
		safety, resting(writeUnderWay), exact),
	row("a leader whose node's number another leader has now leads and writes no more",
		safety, resting(nameComesAgain), exact),
	row("a write that fails for another reason is not ErrStale", faults, resting(writeFails), exact),
	row("a candidate sends next to nothing while nothing changes", cost, ofLocks(locktest.WaiterIsQuiet), exact),
	row("no watch is left where nothing is left to wait for", cost, ofLocks(locktest.WatchesLeft), exact),
	row("no goroutine is left when every candidate has resigned", cost, electionGoroutines, exact),
	row("a resignation wakes one candidate", cost, ofLocks(locktest.WakeUps), bare, exact),
	row("a child that is not a candidate is ignored", liveness, ofLocks(locktest.ForeignChild), bare, exact),
	row("missing parents are made", liveness, ofLocks(locktest.MissingParents), bare, exact),
	row("a candidate that goes lets nobody lead before its turn", safety, ofLocks(locktest.WaiterGoes), bare, exact),
	row("a resignation between the look and the watch is not missed",
		liveness, ofLocks(locktest.ReleaseBeforeWatch), exact),
	row("a candidate that goes before it is watched lets nobody lead",
		safety, ofLocks(locktest.WaiterGoesBeforeWatch), exact),
	row("a resignation while a candidate is cut off is not missed", faults, ofLocks(locktest.ReleaseWhileCutOff), exact),
	row("a closed session wakes a candidate with an error", faults, ofLocks(locktest.ClosedWaiter), exact),
}

type election struct {
	*locktest.World
	subject ElectionSubject
	timeout time.Duration // of the sessions of candidates
}

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

// newCampaign has a new candidate, in a session of its own, call Lead.
func (w *election) newCampaign(name i18n.Text) *campaign {
	s := w.SessionFor(w.timeout)
	return w.newCampaignOf(name, w.subject.New(s.Conn, w.Path, w.timeout), s)
}

// newCampaignOf has a candidate call Lead, with a ctx whose deadline is never reached.
func (w *election) newCampaignOf(name i18n.Text, candidate Candidate, s *locktest.Session) *campaign {
	return w.campaignWithin(1000*time.Hour, name, candidate, s)
}

// campaignWithin has a candidate call Lead, with this time for a deadline. The leader's function returns at resign.
func (w *election) campaignWithin(d time.Duration, name i18n.Text, candidate Candidate, s *locktest.Session) *campaign {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	ctx, end := context.WithCancelCause(ctx) // when the case ends it, its cause is not ctx.Err()

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

func (w *election) mustLead(c *campaign) {
	w.WaitOrSayWhy(c.ended, "%s must lead, and its function is not called%s", c.name)
	if !bubble.IsClosed(c.began) {
		w.NoError(<-c.result, "%s must lead, and Lead fails", c.name)
		w.Failf("Lead of %s returns without an error, and has not called its function", c.name)
	}
}

// mustWait fails if a candidate leads, or does not sleep.
func (w *election) mustWait(c *campaign, why i18n.Text) {
	w.Sleeps(c.s, c.name, c.ended)
	w.mustNotLead(c, why)
}

func (w *election) mustNotLead(c *campaign, why i18n.Text) {
	w.False(bubble.IsClosed(c.began), "%s leads, and must not: %s: two leaders", c.name, why)
	if len(c.result) > 0 {
		w.NoError(<-c.result, "%s must wait, and Lead fails", c.name)
		w.Failf("%s must wait, and Lead returns", c.name)
	}
}

// resigns has a leader's function return, and Lead with it.
func (w *election) resigns(c *campaign) {
	c.resign(nil)
	w.NoError(w.Result(c.result, i18n.Textf("Lead of %s, whose function has returned,", c.name)),
		"the function of %s has returned, and Lead fails", c.name)
}

func (w *election) leader() *campaign {
	c := w.newCampaign("the leader")
	w.mustLead(c)
	return c
}

func (w *election) leaderAndNext() (leader, next *campaign) {
	leader, next = w.leader(), w.newCampaign("the next candidate")
	w.mustWait(next, "another candidate leads")
	return leader, next
}

func (w *election) ctxMustEnd(c *campaign, within time.Duration, what i18n.Text) {
	select {
	case <-c.ctx.Done():
	case <-time.After(within):
		w.Failf("%s, and the ctx of the leader does not end in %v: it goes on leading, and the next one may lead: two "+
			"leaders", what, within)
	}
}

// resignsAfterLoss has the function return of a leader that has lost its leadership: Lead must return ErrLost.
func (w *election) resignsAfterLoss(c *campaign) {
	c.resign(c.ctx.Err())
	err := w.Result(c.result, i18n.Textf("Lead of %s, whose leadership was lost,", c.name))
	w.ErrorIs(err, w.subject.ErrLost,
		"%s has lost its leadership before it resigned, and Lead returns no error that wraps ErrLost", c.name)
}

func termIsCzxid(w *election) {
	leader := w.leader()
	nodes := w.Nodes()
	w.Len(nodes, 1, "one candidate leads, and there is not exactly one node")
	node, _ := w.Server.Node(w.Path + "/" + nodes[0])
	w.Equal(leader.s.ID, node.Stat.EphemeralOwner,
		"the leader's node is not an ephemeral one of its session: if the leader dies, nobody else ever leads")
	w.Equal(node.Stat.Czxid, leader.term, "the term is not the czxid of the leader's node")
	w.NoError(leader.ctx.Err(), "the leader's ctx has ended, and the leader has not resigned")
	w.resigns(leader)
	w.HasError(leader.ctx.Err(), "the leader has resigned, and its ctx has not ended: what it has started goes on")
}

// leadReturns has a leader resign with an error of its function, and lead twice more: once it resigns before an answer.
func leadReturns(w *election) {
	var leader *campaign
	for _, own := range []error{context.Canceled, i18n.Errorf("another client's: %w; %w", zk.ErrSessionExpired, zk.ErrClosing)} {
		leader = w.leader()
		leader.cancel()
		// The clean-up meets an error, though the node goes: Lead must return the function's error all the same.
		w.Server.LoseReply(stage.Sent(leader.s, jute.OpDelete))
		leader.resign(own)
		err := w.Result(leader.result, "Lead, whose function has returned,")
		w.ErrorIs(err, own, "ctx has ended, the leader's function returns an error, and Lead does not return it")
		w.NotErrorIs(err, w.subject.ErrLost, "the leader has resigned, and Lead returns ErrLost")
	}

	again := w.newCampaignOf("the same candidate, once more,", leader.candidate, leader.s)
	w.mustLead(again)
	w.Rest() // what the first term has left behind has come to its end
	w.NoError(again.ctx.Err(), "%s", secondTermEnds)
	w.True(again.term > leader.term, "the candidate leads once more, and its term is not higher")
	answer := w.Server.HoldReply(stage.NthRequest(again.s, 1))
	w.WaitFor(w.timeout, func() bool { return len(answer.Hit()) > 0 }) // it shows that its session lives; in vain in stage 1
	again.resign(nil)
	synctest.Wait() // its Lead waits for an answer
	answer.Release()
	w.resigns(again)

	third := w.newCampaignOf("the same candidate, once more,", leader.candidate, leader.s)
	w.mustLead(third)
	again.cancel()
	w.Rest()
	w.NoError(third.ctx.Err(), "an earlier term and the ctx of its Lead have ended, and the ctx of the present term has ended with them")
	w.resigns(third)
}

func ctxOfLeader(w *election) {
	leader, next := w.leaderAndNext()
	leader.cancel()
	w.ctxMustEnd(leader, time.Millisecond, "the ctx that Lead was called with has ended")

	w.Rest() // a minute, in which Lead may clean up
	w.NotErrorIs(w.write(leader.candidate, leader.term, "at last"), w.subject.ErrStale, "the leader's ctx has ended, "+
		"its function has not returned, nobody else leads, and Write returns ErrStale: it is its term until it has resigned")
	w.mustNotLead(next, "the leader's ctx has ended, and its function has not returned: it may still be at work; "+
		"resign after that")

	leader.resign(nil)
	err := w.Result(leader.result, "Lead, whose function has returned,")
	w.NotErrorIs(err, w.subject.ErrLost, "ctx has ended and the leader has resigned, and Lead returns ErrLost")
	w.NoError(err, "ctx has ended, the leader's function has returned nil, and Lead returns another error than its "+
		"function")
	w.mustLead(next)
	w.resigns(next)
}

// ctxOfCandidate ends the ctx of two of three candidates that wait: that of one is cancelled, and one has a deadline.
func ctxOfCandidate(w *election) {
	leader, next := w.leaderAndNext()
	third := w.newCampaign("the third candidate")
	w.mustWait(third, "another candidate leads")
	s := w.SessionFor(w.timeout)
	withDeadline := w.campaignWithin(time.Second, "the next candidate", w.subject.New(s.Conn, w.Path, w.timeout), s)

	next.cancel()
	mustWrap := func(c *campaign, why error) {
		w.ErrorIs(w.Result(c.result, "Lead, whose ctx has ended,"), why,
			"the ctx of a waiting candidate has ended, and Lead returns no error that wraps ctx.Err()")
	}
	mustWrap(next, context.Canceled)
	mustWrap(withDeadline, context.DeadlineExceeded)
	w.Eventually("the node of the candidate that gave up goes", func() bool { return len(w.Nodes()) <= 2 })
	w.Rest()
	w.mustNotLead(third, "the candidate before it has given up, and the leader still leads; look again at the whole "+
		"queue after each event")

	w.resigns(leader)
	began := time.Now()
	w.mustLead(third)
	w.True(time.Since(began) <= time.Second, "the leader has resigned, and the next one leads %v later: it leads at "+
		"once, for nobody else does", time.Since(began))
	w.False(bubble.IsClosed(next.began), "a candidate has given up, and leads while another one does: two leaders")
	w.resigns(third)
}

// leadersSessionEnds ends the session of a leader, which campaigns again in its next one, and that of a candidate.
func leadersSessionEnds(w *election) {
	leader, next := w.leaderAndNext()
	w.Expire(leader.s)
	w.mustLead(next)
	w.ctxMustEnd(leader, electionTimeout, "the leader's session has ended")
	w.Rest() // the leader's function goes on, although its ctx has ended
	w.Empty(leader.result, "the leadership was lost, and Lead has returned while its function is at work: for the "+
		"caller it has ended")
	w.resignsAfterLoss(leader)

	w.Renewed(leader.s, "the old leader's client has a new session")
	again := w.newCampaignOf("the old leader, in its new session,", leader.candidate, leader.s)
	w.mustWait(again, "another candidate leads")

	third := w.newCampaign("the third candidate")
	w.mustWait(third, "another candidate leads")
	w.Expire(third.s)
	w.Rest()
	third.cancel() // it may have queued again
	w.NotErrorIs(w.Result(third.result, "Lead, whose ctx has ended,"), w.subject.ErrLost, "the session of a candidate that has not "+
		"led yet has ended, and Lead returns ErrLost: it has no leadership to lose, so return the client's error")

	w.resigns(next)
	w.mustLead(again)
	w.True(again.term > next.term, "the next leader's term is not higher")
	w.Rest()
	w.NoError(again.ctx.Err(), "%s", secondTermEnds)
	w.resigns(again)
}

var secondTermEnds = i18n.Text("the candidate leads once more, and the ctx of its second term has ended by itself")

func (w *election) makeRecord() {
	w.MustCreate(w.Session(), record, []byte("nothing"), zk.FlagPersistent)
}

// leaderCutOff holds back all that the leader's client sends, writes too, until its session has expired.
// The leader has led for different times before, and the session timeouts differ, too.
func leaderCutOff(w *election) {
	w.makeRecord()
	for _, c := range []struct{ led, timeout time.Duration }{
		{led: 0, timeout: electionTimeout},
		{led: 1500 * time.Millisecond, timeout: 4 * time.Second},
		{led: 3 * time.Second, timeout: 30 * time.Second},
		{led: 5 * time.Second, timeout: electionTimeout},
		{led: 30 * time.Second, timeout: 4 * time.Second},
	} {
		w.timeout = c.timeout
		leader, next := w.leaderAndNext()
		time.Sleep(c.led)
		w.NoError(leader.ctx.Err(), "nothing has happened, the sessions live for %v without a packet, and the leader's "+
			"ctx has ended after %v: show in time that the session lives", w.timeout, c.led)

		back := w.CutOff(w.Server.Hold, leader.s)
		for range 5 { // goroutines, which may wait for each other
			w.Aside("Write", func() error { return leader.candidate.Write(leader.term, record, nil) })
		}
		select {
		case <-leader.ctx.Done():
			w.False(bubble.IsClosed(next.began),
				"the leader was cut off, and the next one led before the leader's ctx had ended: two leaders")
		case <-next.began:
			w.Failf("the leader was cut off, its session has ended, and the next one leads while the leader's " +
				"ctx has not ended: two leaders; the leader must count the time since it sent the last request " +
				"that was answered, and end its ctx before the session timeout has passed")
		case <-time.After(stage.Patience):
			w.Failf("the leader is cut off for a minute, and neither does its ctx end nor does the next one lead")
		}
		w.mustLead(next)
		leader.resign(nil)
		back()
		w.resignsAfterLoss(leader)
		w.lastResigns(next)
	}
	w.NothingLeft()
}

func (w *election) lastResigns(c *campaign) {
	w.resigns(c)
	w.Eventually("the queue is empty", func() bool { return len(w.Nodes()) == 0 })
	w.Rest()
}

// leaderLateAnswer keeps back the answer to each of the first requests of a candidate in turn.
func leaderLateAnswer(w *election) {
	const requests = 8           // first it becomes the leader with them, and then it shows that its session lives
	const tick = 2 * time.Second // of the server, which ends sessions at its ticks alone
	for n := 1; n <= requests; n++ {
		for _, late := range []time.Duration{4 * time.Second, 4600 * time.Millisecond, 6 * time.Second} {
			// The case begins just before a tick. The timeout is a number of ticks, so the session ends just after it.
			time.Sleep(time.Until(time.Now().Truncate(tick).Add(2*tick - 100*time.Millisecond)))
			w.lateAnswer(n, late)
		}
	}
	w.NothingLeft()
}

// lateAnswer has the n-th answer come late and cuts the leader's client off before: the request is the last packet of
// the session that the server receives.
func (w *election) lateAnswer(n int, late time.Duration) {
	s := w.Session()
	answer := w.Server.HoldReply(stage.NthRequest(s, n))
	leader := w.newCampaignOf("the leader", w.subject.New(s.Conn, w.Path, electionTimeout), s)
	w.Eventually("the leader shows again and again that its session lives", func() bool { return len(answer.Hit()) > 0 })
	back := w.CutOff(w.Server.Hold, s)
	next := w.newCampaign("the next candidate")
	time.Sleep(late)
	answer.Release()
	w.mustLead(next)

	if bubble.IsClosed(leader.began) {
		w.HasError(leader.ctx.Err(), "the answer to request %d of the leader, %v, came %v late, then the leader was cut "+
			"off, and the next one leads while the leader's ctx has not ended: two leaders; the server's clock has run "+
			"since it got the request: count from when the request was sent, not from the answer", n, stage.RequestKind(s, n),
			late)
	}
	leader.resign(nil)
	back()
	if bubble.IsClosed(leader.began) {
		w.resignsAfterLoss(leader)
	}
	leader.cancel()
	w.lastResigns(next)
}

func longestTerm(w *election) {
	w.Subject.New = w.subject.lockOf(stage.CalmTimeout)
	locktest.LongHold(w.World)
}

// leaderShortCut breaks the leader's connection, then loses a request with it, and then cuts the leader off for longer.
func leaderShortCut(w *election) {
	leader, next := w.leaderAndNext()
	for range 5 { // times
		time.Sleep(7 * time.Second) // less than the session timeout
		require.True(w, w.Server.Cut(leader.s.ID))
	}
	for range 3 { // times
		lost := w.Server.LoseRequest(stage.NthRequest(leader.s, 1))
		w.Eventually("the leader shows that its session lives", func() bool { return len(lost.Hit()) > 0 || leader.ctx.Err() != nil })
		lost.Release()
		w.Rest() // several in a row would cost the leadership
	}
	w.NoError(leader.ctx.Err(), "the connection of the leader broke and came back at once, its session lives, and its "+
		"ctx has ended: zk.ErrConnectionClosed does not say that the session has ended; ask again")

	back := w.CutOff(w.Server.Hold, leader.s)
	time.Sleep(7500 * time.Millisecond) // of ten seconds: the leadership may be lost, and the session lives
	back()
	leader.resign(nil)
	w.Result(leader.result, "Lead, whose function has returned,")
	w.mustLead(next)
	w.resigns(next)
}

// longTerm has a leader whose session timeout is short lead for long. Somebody writes the data of its node and of the
// next candidate's: that costs no leadership, and changes no term.
func longTerm(w *election) {
	w.timeout = time.Second // far less than usual
	w.makeRecord()
	leader, next := w.leaderAndNext()
	nextsNode, _ := w.Server.Node(w.NodesOf(next.s)[0])
	for _, node := range w.Nodes() {
		w.Server.Touch(w.Path + "/" + node)
	}

	time.Sleep(20 * time.Minute)
	w.NoError(leader.ctx.Err(), "nothing has happened for 20 minutes, but that somebody has written the data of the "+
		"leader's node again, and its ctx has ended: show often enough that the session lives, whose timeout is %v", w.timeout)
	w.NoError(w.write(leader.candidate, leader.term, "by a"),
		"somebody has written the data of the leader's node again, and Write fails")
	w.mustNotLead(next, "another candidate leads")

	w.resigns(leader)
	w.mustLead(next)
	w.Equal(nextsNode.Stat.Czxid, next.term,
		"the term is not the czxid of the leader's node, whose data was written while it waited")
	w.resigns(next)
}

func leadersNodeGoes(w *election) {
	leader := w.leader()
	w.Server.Touch(w.Path + "/" + w.Nodes()[0])
	w.Rest() // a watch that it has on its node has fired
	require.NoError(w, w.Session().Delete(w.Path+"/"+w.Nodes()[0], -1))
	w.ctxMustEnd(leader, electionTimeout,
		"an operator has written the data of the leader's node, and then deleted the node")
	w.resignsAfterLoss(leader)
}

func electionGoroutines(w *election) {
	for _, run := range []func(w *election){ctxOfLeader, ctxOfCandidate, leadersSessionEnds} {
		resting(run)(w)
	}
	w.NoGoroutines()
}
