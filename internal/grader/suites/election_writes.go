package suites

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/zkserver"
)

// The cases of an election whose leaders write: the table electionCases, in election.go, has their sentences.

// record is the node that the leaders write.
const record = "/locktest/record"

var refusedButWritten = i18n.Text("a write that was refused has changed the data: an old token has written")

func (w *election) recordMustBe(want string, message i18n.Text) {
	data, _, err := w.Session().Get(record)
	require.NoError(w, err)
	w.Equal(want, string(data), "%s", message)
}

func (w *election) write(c Candidate, term int64, data string) error {
	return w.Result(w.Aside("Write", func() error { return c.Write(term, record, []byte(data)) }), i18n.Same("Write"))
}

func (w *election) mustBeRefused(err error, what i18n.Text) {
	w.HasError(err, "%s writes, and Write returns no error: an old token has written, and the next leader's data may "+
		"be overwritten", what)
	w.ErrorIs(err, w.subject.ErrStale, "%s writes, and Write returns another error than ErrStale", what)
}

// writes has a leader, a candidate and a former leader write. Only the leader may, and only in its present term.
func writes(w *election) {
	w.makeRecord()
	leader, next := w.leaderAndNext()
	w.NoError(w.write(leader.candidate, leader.term, "by a"), "the leader writes in its term, and Write fails")
	w.recordMustBe("by a", "the leader has written, and the data is another")
	w.mustBeRefused(w.write(leader.candidate, leader.term-1, "by a"), "the leader, in an earlier term than its own,")
	w.mustBeRefused(w.write(next.candidate, 0, "by b"), "a candidate that has not led yet, in term 0,")
	w.mustBeRefused(w.write(leader.candidate, leader.term+1<<32, "by a"), "the leader, in a term that has not begun,")

	w.resigns(leader)
	w.mustLead(next)
	w.mustBeRefused(w.write(leader.candidate, leader.term, "by a, late"), "a candidate that has resigned")
	w.recordMustBe("by a", refusedButWritten)
	w.NoError(w.write(next.candidate, next.term, "by b"), "the next leader writes in its term, and Write fails")

	w.resigns(next)
	again := w.newCampaignOf("the first leader, once more,", leader.candidate, leader.s)
	w.mustLead(again)
	w.mustBeRefused(w.write(again.candidate, leader.term, "by a, late"), "a leader, in an earlier term of its own,")
	w.recordMustBe("by b", refusedButWritten)
	w.NoError(w.write(again.candidate, again.term, "by a"), "another leader has written since, and Write fails")
	w.resigns(again)
	s := w.Ordinary() // it connects again at once
	last := w.newCampaignOf("a leader", w.subject.New(s.Conn, w.Path, w.timeout), s)
	for _, outage := range []time.Duration{30 * time.Millisecond, 1530 * time.Millisecond} { // in between two tenths of a second
		last = w.writesInTheNextTerm(last, outage)
	}
	w.writesAfterOutage(last)
}

// writesInTheNextTerm loses a write with its connection. The leader resigns, leads once more, and writes nothing
// more of its last term.
func (w *election) writesInTheNextTerm(leader *campaign, outage time.Duration) (again *campaign) {
	w.mustLead(leader)
	lost := w.Server.LoseRequest(stage.Sent(leader.s, jute.OpMulti, jute.OpSetData))
	late := w.Aside("Write", func() error { return leader.candidate.Write(leader.term, record, []byte("lost")) })
	time.AfterFunc(outage, w.CutOff(w.Server.Hold, leader.s, jute.OpConnect))
	w.Hit(lost, "the leader writes")
	time.Sleep(50 * time.Millisecond) // of virtual time: what looks each tenth of a second looks in the next term
	leader.resign(nil)
	w.Result(leader.result, "Lead, whose function has returned,")
	again = w.newCampaignOf("the same candidate, once more,", leader.candidate, leader.s)
	w.mustLead(again)
	w.Result(late, "Write, whose request was lost,")
	node, _ := w.Server.Node(record)
	w.True(string(node.Data) != "lost" || node.Stat.Mzxid < again.term, "a write was lost with its connection, the leader has "+
		"resigned and leads in its next term, and the write of its last term is sent in this one: an old token has written")
	return again
}

// writesAfterOutage has a leader resign that cannot reach a server, so that its node may stay. It leads once more.
func (w *election) writesAfterOutage(leader *campaign) {
	w.Unreachable(leader.s)
	leader.resign(nil)
	w.Result(leader.result, "Lead, whose function has returned,")
	w.Rest()
	w.mustBeRefused(w.write(leader.candidate, leader.term, "late"),
		"a candidate that has resigned, and could not reach a server,")
	last := w.newCampaignOf("the same candidate, once more,", leader.candidate, leader.s)
	w.Rest()
	w.False(last.term == leader.term, "a candidate has resigned, and could not reach a server; it leads once more, and "+
		"its term is the old one: a late write of that term passes; make a node for each Lead")
	last.resign(nil)
	w.Expire(leader.s)
}

// nameComesAgain has the node of a leader go, and the empty parent: the numbers begin again, and the next leader's node
// has the number of the old one's. First the old leader's session ends, and then both are of one session.
func nameComesAgain(w *election) {
	w.makeRecord()
	for _, oneSession := range []bool{false, true} {
		w.Path += "-2" // another parent, which has had no children
		leader, admin := w.leader(), w.Session()
		s := leader.s // of the next leader
		if oneSession {
			require.NoError(w, admin.Delete(w.Path+"/"+w.Nodes()[0], -1))
		} else {
			w.Expire(leader.s)
			s = w.SessionFor(w.timeout)
		}
		w.DeleteParent(admin)
		next := w.newCampaignOf("the next leader", w.subject.New(s.Conn, w.Path, w.timeout), s)
		w.mustLead(next)
		if !oneSession {
			w.Renewed(leader.s, "the old leader's client has a new session")
		}

		w.mustBeRefused(w.write(leader.candidate, leader.term, "by a, late"),
			"an old leader whose node had the number of the present leader's")
		w.recordMustBe("nothing", refusedButWritten)

		w.ctxMustEnd(leader, electionTimeout, "the leader's node has gone, and the next leader's node has the same number")
		w.resignsAfterLoss(leader)
		w.Rest()
		w.NoError(next.ctx.Err(), "an old leader whose node had the number of the present leader's has ended, and the "+
			"present one's leadership is lost: its node was deleted")
		w.resigns(next)
	}
}

// writeUnderWay holds back each request of a Write in turn, while the leader's node goes and the next one leads.
func writeUnderWay(w *election) {
	w.makeRecord()
	w.EachRequest(func(n int) (sent bool) {
		leader, next := w.leaderAndNext()
		held := w.Server.Hold(stage.Nth(n, func(r zkserver.Request) bool {
			// The leader's proofs that its session lives touch its own node.
			return r.Session == leader.s.ID && !stage.ByClient(r.Op) && (r.Op == jute.OpMulti || r.Path == record)
		}))
		written := w.Aside("Write", func() error { return leader.candidate.Write(leader.term, record, []byte("by a, late")) })
		if !w.HitOrReturns(held, written) {
			held.Release()
			w.NoError(<-written, "the leader writes in its term, and Write fails")
			w.True(n > 1, "Write sends no request for the node that it writes")
			w.resigns(leader)
			w.mustLead(next)
			w.resigns(next)
			return false
		}

		nodes := w.NodesOf(leader.s)
		w.NotEmpty(nodes, "the leader has no node")
		require.NoError(w, w.Session().Delete(nodes[0], -1))
		w.mustLead(next)
		w.NoError(w.write(next.candidate, next.term, "by b"), "the next leader writes in its term, and Write fails")

		held.Release()
		w.mustBeRefused(w.Result(written, "Write, whose request was held back,"),
			"an old leader whose write was under way at the hand-over")
		w.recordMustBe("by b", "the old leader's write was under way at the hand-over, and has overwritten the next "+
			"leader's: an old token has written; look and write in one transaction (Multi)")
		w.ctxMustEnd(leader, electionTimeout, "the leader's node has gone")
		w.resignsAfterLoss(leader)
		w.resigns(next)
		w.Rest()
		return true
	})
}

// writeFails has a leader write a node that does not exist, then many at once, and then in trouble of each kind.
func writeFails(w *election) {
	w.timeout = 30 * time.Second // the leader leads on when no server can be reached for a moment
	leader := w.leader()
	err := w.write(leader.candidate, leader.term, "x")
	w.ErrorIs(err, zk.ErrNoNode, "the node that is written does not exist, and Write returns no error that wraps "+
		"zk.ErrNoNode")
	w.NotErrorIs(err, w.subject.ErrStale,
		"the node that is written does not exist, and Write returns ErrStale: the leader takes its leadership for lost")
	w.NoError(leader.ctx.Err(), "the node that is written does not exist, and the leader's ctx has ended")

	w.makeRecord()
	w.writeAtOnce(leader)
	changes := stage.Sent(leader.s, jute.OpMulti, jute.OpSetData)
	unreachable := func() { w.Unreachable(leader.s) }
	for i, trouble := range []func(){
		func() { w.Server.LoseReply(changes) },
		func() { w.Server.LoseRequest(changes) },
		unreachable, unreachable, unreachable, // three times, because an attempt may be lucky once
		func() { w.Server.Fail(jute.ErrNoAuth, changes) },
	} {
		trouble()
		err := w.write(leader.candidate, leader.term, fmt.Sprint(i))
		w.NotErrorIs(err, w.subject.ErrStale, "a write or its reply is lost, is not permitted, or no server can be "+
			"reached, and Write returns ErrStale: the leader takes its leadership for lost")
		if err == nil {
			w.recordMustBe(fmt.Sprint(i), "Write returns no error, and the data is another")
		}
		w.Rest() // it is connected again
	}
	w.resigns(leader)
}

// writeAtOnce has goroutines of a leader write at once, two of them each of ten nodes.
func (w *election) writeAtOnce(leader *campaign) {
	admin, results := w.Session(), make([]<-chan error, 20)
	name := func(i int) string { return fmt.Sprint(record, i/2) }
	for i := range results {
		admin.Create(name(i), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)) // the second time it is there
	}
	for i := range results {
		results[i] = w.Aside("Write", func() error { return leader.candidate.Write(leader.term, name(i), []byte(name(i))) })
	}
	for i, result := range results {
		w.NoError(w.Result(result, i18n.Same("Write")), "goroutines of the leader write at once, some of them the same node, "+
			"and Write fails: check the leader's node, and set the data whatever its version is (-1)")
		data, _, _ := admin.Get(name(i))
		w.Equal(name(i), string(data), "goroutines of the leader write at once, and a Write returns no error, and its data is "+
			"not there: each Write must send its own data")
	}
}
