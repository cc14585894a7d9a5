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

// record is the node that the leaders write.
const record = "/locktest/record"

var refusedButWritten = i18n.Textf("a write that was refused has changed the data: an old token has written", "遭到拒绝的写改变了数据：旧令牌写进去了")

// recordMustBe fails unless the record has this data.
func (w *election) recordMustBe(want string, message i18n.Text) {
	w.Helper()
	data, _, err := w.Session().Get(record)
	require.NoError(w, err)
	w.Equal(want, string(data), "%s", "%s", message)
}

// write calls Write, which must return.
func (w *election) write(c Candidate, term int64, data string) error {
	w.Helper()
	return w.Result(w.Aside("Write", func() error { return c.Write(term, record, []byte(data)) }), i18n.Same("Write"))
}

// mustBeRefused fails unless err is ErrStale, the error of a write.
func (w *election) mustBeRefused(err error, what i18n.Text) {
	w.Helper()
	w.HasError(err, "%s writes, and Write returns no error: an old token has written, and the next leader's data may be overwritten", "%s写入，Write 却没有返回错误：旧令牌写进去了，下一个领导者的数据可能遭到覆盖", what)
	w.ErrorIs(err, w.subject.ErrStale, "%s writes, and Write returns another error than ErrStale", "%s写入，Write 返回的错误不是 ErrStale", what)
}

func writes(w *election) {
	w.makeRecord()
	leader, next := w.leaderAndNext()
	w.NoError(w.write(leader.candidate, leader.term, "by a"), "the leader writes in its term, and Write fails", "领导者在自己的任期里写，Write 却失败了")
	w.recordMustBe("by a", i18n.Textf("the leader has written, and the data is another", "领导者已经写入，数据却不是它写的"))
	w.mustBeRefused(w.write(leader.candidate, leader.term-1, "by a"), i18n.Textf("the leader, in an earlier term than its own,", "领导者用比自己更早的任期"))
	w.mustBeRefused(w.write(next.candidate, 0, "by b"), i18n.Textf("a candidate that has not led yet, in term 0,", "还没有领导过的候选者用任期 0"))
	w.mustBeRefused(w.write(leader.candidate, leader.term+1<<32, "by a"), i18n.Textf("the leader, in a term that has not begun,", "领导者用尚未开始的任期"))
	w.resigns(leader)
	w.mustLead(next)
	w.mustBeRefused(w.write(leader.candidate, leader.term, "by a, late"), i18n.Textf("a candidate that has resigned", "已经卸任的候选者"))
	w.recordMustBe("by a", refusedButWritten)
	w.NoError(w.write(next.candidate, next.term, "by b"), "the next leader writes in its term, and Write fails", "下一个领导者在自己的任期里写，Write 却失败了")
	w.resigns(next)
	again := w.campaign(i18n.Textf("the first leader, once more,", "再次写入的第一个领导者"), leader.candidate, leader.s)
	w.mustLead(again)
	w.mustBeRefused(w.write(again.candidate, leader.term, "by a, late"), i18n.Textf("a leader, in an earlier term of its own,", "再次当选的领导者用自己早先的任期"))
	w.recordMustBe("by b", refusedButWritten)
	w.resigns(again)
}

// nameComesAgain has the session of a leader end, and the empty parent go: the numbers begin
// again, and the next leader's node has the number of the old one's.
func nameComesAgain(w *election) {
	w.makeRecord()
	leader := w.leader()
	w.Expire(leader.s)
	w.DeleteParent(w.Session())
	next := w.leader()
	w.Renewed(leader.s, i18n.Textf("the old leader's client has a new session", "原领导者的客户端有了新会话"))
	w.mustBeRefused(w.write(leader.candidate, leader.term, "by a, late"), i18n.Textf("an old leader whose node had the number of the present leader's", "节点序号与现任领导者相同的原领导者"))
	w.recordMustBe("nothing", refusedButWritten)
	w.ctxMustEnd(leader, electionTimeout, i18n.Textf("the leader's session has ended, and the next leader's node has the same number", "领导者的会话已经结束，下一个领导者的节点有同样的序号"))
	w.resignsLate(leader)
	w.Rest()
	w.NoError(next.ctx.Err(), "an old leader whose node had the number of the present leader's has ended, and the present one's leadership is lost: its node was deleted", "节点序号与现任领导者相同的原领导者退出之后，现任领导者也失去了领导地位：它的节点被删除了")
	w.resigns(next)
}

// writeUnderWay holds back each request of a Write in turn, while the leader's
// node goes and the next one leads.
func writeUnderWay(w *election) {
	w.makeRecord()
	for n := 1; w.GoesOn(n); n++ {
		leader, next := w.leaderAndNext()
		count := 0
		held := w.Server.Hold(func(r zkserver.Request) bool {
			// The leader's proofs that its session lives touch its own node.
			if r.Session != leader.s.ID || stage.ByClient(r.Op) || r.Op != jute.OpMulti && r.Path != record {
				return false
			}
			count++
			return count == n
		})
		written := w.Aside("Write", func() error { return leader.candidate.Write(leader.term, record, []byte("by a, late")) })
		w.Eventually(i18n.Textf("the write is held back, or has ended", "写请求被扣住，或者已经结束"), func() bool { return len(held.Hit()) > 0 || len(written) > 0 })
		if len(held.Hit()) == 0 {
			held.Release()
			w.NoError(<-written, "the leader writes in its term, and Write fails", "领导者在自己的任期里写，Write 却失败了")
			w.True(n > 1, "Write sends no request for the node that it writes", "Write 没有对要写的节点发送任何请求")
			w.resigns(leader)
			w.mustLead(next)
			w.resigns(next)
			break
		}
		nodes := w.NodesOf(leader.s)
		w.NotEmpty(nodes, "the leader has no node", "领导者没有节点")
		require.NoError(w, w.Session().Delete(nodes[0], -1))
		w.mustLead(next)
		w.NoError(w.write(next.candidate, next.term, "by b"), "the next leader writes in its term, and Write fails", "下一个领导者在自己的任期里写，Write 却失败了")
		held.Release()
		w.mustBeRefused(w.Result(written, i18n.Textf("Write, whose request was held back,", "请求被扣住过的 Write")), i18n.Textf("an old leader whose write was under way at the hand-over", "原领导者在交接前发出、交接后才到达的请求"))
		w.recordMustBe("by b", i18n.Textf("the old leader's write was under way at the hand-over, and has overwritten the next leader's: an old token has written; look and write in one transaction (Multi)", "交接时，原领导者的写请求还在路上，随后覆盖了下一个领导者的数据：旧令牌写进去了；请在同一个事务（Multi）里检查并写入"))
		w.ctxMustEnd(leader, electionTimeout, i18n.Textf("the leader's node has gone", "领导者的节点消失"))
		w.resignsLate(leader)
		w.resigns(next)
		w.Rest()
	}
}

func writeFails(w *election) {
	w.timeout = 30 * time.Second // it leads on when no server can be reached for a moment
	leader := w.leader()
	err := w.write(leader.candidate, leader.term, "x")
	w.ErrorIs(err, zk.ErrNoNode, "the node that is written does not exist, and Write returns no error that wraps zk.ErrNoNode", "要写的节点不存在，Write 返回的错误却没有包装 zk.ErrNoNode")
	w.NotErrorIs(err, w.subject.ErrStale, "the node that is written does not exist, and Write returns ErrStale: the leader takes its leadership for lost", "要写的节点不存在，Write 却返回 ErrStale：领导者会以为自己已失去领导地位")
	w.NoError(leader.ctx.Err(), "the node that is written does not exist, and the leader's ctx has ended", "要写的节点不存在，领导者的 ctx 却结束了")
	w.makeRecord()
	changes := func(r zkserver.Request) bool {
		return r.Session == leader.s.ID && (r.Op == jute.OpMulti || r.Op == jute.OpSetData)
	}
	for i, lose := range []func(func(zkserver.Request) bool) *zkserver.Fault{w.Server.LoseReply, w.Server.LoseRequest, nil,
		func(when func(zkserver.Request) bool) *zkserver.Fault { return w.Server.Fail(jute.ErrNoAuth, when) }} {
		if lose != nil {
			lose(changes)
		} else {
			w.Unreachable(leader.s)
		}
		err := w.write(leader.candidate, leader.term, fmt.Sprint(i))
		w.NotErrorIs(err, w.subject.ErrStale, "a write or its reply is lost, is not permitted, or no server can be reached, and Write returns ErrStale: the leader takes its leadership for lost", "写请求或其响应丢失、没有权限，或者连不上服务器，Write 却返回 ErrStale：领导者会以为自己已失去领导地位")
		if err == nil {
			w.recordMustBe(fmt.Sprint(i), i18n.Textf("Write returns no error, and the data is another", "Write 没有返回错误，数据却不是它写的"))
		}
		w.Rest() // it is connected again
	}
	w.resigns(leader)
}
