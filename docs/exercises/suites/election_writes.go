package suites

import (
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
	"example.com/zklock/internal/zkserver"
)

const record = "/locktest/record"

func (w *election) recorded(want, message string) {
	w.Helper()
	data, _, err := w.Session().Get(record)
	require.NoError(w, err)
	require.Equal(w, want, string(data), message)
}

// write calls Write, which must return.
func (w *election) write(c Candidate, number int64, data string) error {
	w.Helper()
	return w.Result(w.Aside("Write", func() error { return c.Write(number, record, []byte(data)) }), "Write")
}

func (w *election) refused(err error, what string) {
	w.Helper()
	require.Error(w, err, "%s writes, and Write returns no error: an old token has written, and the next leader's data may be overwritten", what)
	require.ErrorIs(w, err, w.subject.ErrStale, "%s writes, and Write returns another error than ErrStale", what)
}

func writes(w *election) {
	w.record()
	a, b := w.leaderAndNext()
	require.NoError(w, w.write(a.candidate, a.number, "by a"), "the leader writes in its term, and Write fails")
	w.recorded("by a", "the leader has written, and the data is another")
	w.refused(w.write(a.candidate, a.number-1, "by a"), "the leader, in an earlier term than its own,")
	w.refused(w.write(a.candidate, a.number+1, "by a"), "the leader, in a term that has not begun,")
	w.resigns(a)
	w.leads(b)
	w.refused(w.write(a.candidate, a.number, "by a, late"), "a candidate that has resigned")
	w.recorded("by a", "a write that was refused has changed the data: an old token has written")
	require.NoError(w, w.write(b.candidate, b.number, "by b"), "the next leader writes in its term, and Write fails")
	w.resigns(b)
	again := w.callLead("the first leader, once more,", a.candidate, a.s)
	w.leads(again)
	w.refused(w.write(again.candidate, a.number, "by a, late"), "a leader, in an earlier term of its own,")
	w.recorded("by b", "a write that was refused has changed the data: an old token has written")
	w.resigns(again)
}

// writeUnderWay holds back each request of a Write in turn, while the leader's
// node goes and the next one leads.
func writeUnderWay(w *election) {
	w.record()
	for n := 1; w.GoesOn(n); n++ {
		a, b := w.leaderAndNext()
		count := 0
		held := w.Server.Hold(func(r zkserver.Request) bool {
			// The leader's proofs that its session lives touch its own node.
			if r.Session != a.s.ID || stage.ByClient(r.Op) || r.Op != jute.OpMulti && r.Path != record {
				return false
			}
			count++
			return count == n
		})
		written := w.Aside("Write", func() error { return a.candidate.Write(a.number, record, []byte("by a, late")) })
		w.Eventually("the write is held back, or has ended", func() bool { return len(held.Hit()) > 0 || len(written) > 0 })
		if len(held.Hit()) == 0 {
			held.Release()
			require.NoError(w, <-written, "the leader writes in its term, and Write fails")
			require.Greater(w, n, 1, "Write sends no request for the node that it writes")
			w.resigns(a)
			w.leads(b)
			w.resigns(b)
			break
		}
		nodes := w.NodesOf(a.s)
		require.NotEmpty(w, nodes, "the leader has no node")
		require.NoError(w, w.Session().Delete(nodes[0], -1))
		w.leads(b)
		require.NoError(w, w.write(b.candidate, b.number, "by b"), "the next leader writes in its term, and Write fails")
		held.Release()
		w.refused(w.Result(written, "Write, whose request was held back,"), "an old leader whose write was under way at the hand-over")
		w.recorded("by b", "the old leader's write was under way at the hand-over, and has overwritten the next leader's: an old token has written; look and write in one transaction (Multi)")
		w.ctxEnds(a, electionTimeout, "the leader's node has gone")
		w.lost(a)
		w.resigns(b)
		w.Rest()
	}
}

func writeFails(w *election) {
	a := w.leader()
	err := w.write(a.candidate, a.number, "x")
	require.ErrorIs(w, err, zk.ErrNoNode, "the node that is written does not exist, and Write returns no error that wraps zk.ErrNoNode")
	require.NotErrorIs(w, err, w.subject.ErrStale, "the node that is written does not exist, and Write returns ErrStale: the leader takes its leadership for lost")
	require.NoError(w, a.ctx.Err(), "the node that is written does not exist, and the leader's ctx has ended")
	w.resigns(a)
}
