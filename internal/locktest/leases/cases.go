package leases

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/locktest/stage"
)

// Plan is the suite. Where a case needs exact control, its sleeps are of virtual time: exact, and free.
func (s Subject) Plan() stage.Plan {
	const queue, strict = true, true
	return stage.NewPlan(stage.WithoutParents(leaseCases), stage.Of[*leaseWorld](s.Level), queue, strict,
		func(w *stage.Stage) *leaseWorld {
			w.Keeps = s.Keeps
			return &leaseWorld{w, s}
		}).
		Needs(s.Open != nil, "LeaseSubject.Open is nil: it must make contenders")
}

// The groups and the traits of cases, for the table of this package.
const (
	safety, liveness, faults, cost = stage.Safety, stage.Liveness, stage.Faults, stage.Cost
	basic, exact                   = stage.OfBasic, stage.Exact
)

func row(name i18n.Text, g stage.Group, run func(w *leaseWorld), traits ...stage.Trait) stage.TestCase[*leaseWorld] {
	return stage.TestCase[*leaseWorld]{Name: name, Group: g, Run: run, Traits: traits}
}

var leaseCases = []stage.TestCase[*leaseWorld]{
	row("TryLock returns though no server answers", faults, tryLockInSilence, basic, exact),
	row("Unlock returns though no server answers and the node goes later", faults, unlockInSilence, basic, exact),
	row("a create that the client keeps back until its next session makes a node that goes",
		faults, createInTheNextSession, basic, exact),
	row("an expired session's holder is notified and its Unlock returns ErrLost", faults, expiredLease, basic),
	row("Unlock after the parent was made again touches nobody else's node", safety, unlockAfterNewParent, basic),
	row("Unlock of a holder that is cut off is not carried out in the next session",
		safety, unlockWhileCutOff, basic, exact),
	row("a holder that is cut off loses the lock before the next one gets in", safety, cutOff, basic, exact),
	row("a holder whose answer comes late loses the lock before the next one gets in", safety, lateAnswer, basic, exact),
	row("a holder that is cut off for a moment keeps the lock", faults, shortCut, basic, exact),
	row("a holder that holds the lock for long keeps it", liveness, longHold, basic, exact),
	row("a holder whose node is deleted is notified", faults, deletedLease, basic),
	row("tokens grow though the parent is made again", liveness, tokensGrow, basic),
	row("the queue goes by number where numbers wrap", liveness, numbersWrap, exact),
	row("a number that two may get is taken by nobody", safety, numbersRunOut, exact),
	row("a contender with another name waits its turn", safety, curatorName),
	row("a contender with another name that comes later waits", liveness, curatorComesLater),
	row("zk.Lock and ours keep each other out", safety, zkLock),
	row("a predecessor that changes and does not go lets nobody in", safety, predecessorChanges, basic),
	row("the parent is a container", cost, container, exact),
	row("a parent that goes between is made again", faults, parentGoes, basic, exact),
	row("a closed client ends Lock with an error, and the lease", faults, closedClient, basic),
	row("Lock with a closed client is an error at once", faults, closedBefore),
}

type leaseWorld struct {
	*stage.Stage
	kind Subject
}

// NothingLeft fails if the lock has left a node or a watch.
func (w *leaseWorld) NothingLeft() {
	w.Stage.NothingLeft()
	w.NoWatches()
}

// open makes a contender, in a session of its own unless one is given as in.
func (w *leaseWorld) open(in ...*stage.Session) (Lock, *stage.Session) {
	if len(in) == 0 {
		in = []*stage.Session{w.Session()}
	}
	l := w.kind.Open(in[0].Conn, w.Path)("contender")
	if s, ok := l.(Shutdowner); ok {
		w.Cleanup(func() { // before the client is closed
			if err := s.Shutdown(bounded(w)); err != nil {
				w.Errorf("the case is over, and Shutdown returns an error: %v", err)
			}
		})
	}
	return l, in[0]
}

// An attempt is a Lock that is under way.
type attempt struct {
	lease  Lease
	result <-chan error
}

// beginLock calls Lock in a goroutine of its own, with a ctx that ends with the case.
func (w *leaseWorld) beginLock(l Lock) *attempt {
	a := new(attempt)
	a.result = w.Aside("Lock", func() (err error) {
		a.lease, err = l.Lock(w.Context())
		return err
	})
	return a
}

// mustGet waits until a Lock has returned a lease.
func (w *leaseWorld) mustGet(a *attempt, name string) Lease {
	w.Holds(a.result, i18n.Same(name))
	return a.lease
}

func (w *leaseWorld) holder(in ...*stage.Session) (Lease, *stage.Session) {
	l, s := w.open(in...)
	return w.mustGet(w.beginLock(l), "the holder"), s
}

func (w *leaseWorld) waiter(name string) (*attempt, *stage.Session) {
	l, s := w.open()
	a := w.beginLock(l)
	w.Waits(a.result, s, i18n.Same(name))
	return a, s
}

// makeParent has a first holder make the parent of the nodes.
func (w *leaseWorld) makeParent() {
	lease, _ := w.holder()
	w.releaseLast(lease, "the first holder, which makes the parent,")
}

func (w *leaseWorld) release(l Lease, name string) {
	require.NoError(w, l.Unlock(bounded(w)), "Unlock of %s fails", name)
}

// releaseLast has the last holder unlock, after which nothing may be left.
func (w *leaseWorld) releaseLast(l Lease, name string) {
	w.release(l, name)
	w.NothingLeft()
}

// bounded returns a ctx for a call that must return.
func bounded(w *leaseWorld) context.Context { return w.endsIn(stage.Patience) }

func (w *leaseWorld) endsIn(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	w.Cleanup(cancel)
	return ctx
}

// mustLose waits until Lost of a lease is closed; what says why it must be.
func (w *leaseWorld) mustLose(l Lease, what string) {
	select {
	case <-l.Lost():
	case <-time.After(stage.Patience):
		w.Fatalf("%s, and Lost is not closed", what)
	}
}

// tryLockInSilence calls TryLock with a ctx that has ended, and then while the server does not answer.
func tryLockInSilence(w *leaseWorld) {
	l, s := w.open()
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := l.TryLock(ended)
	require.ErrorIs(w, err, context.Canceled)
	require.Empty(w, stage.RequestsOf(s), "ctx had ended before, and TryLock has sent something")

	held := w.Server.Hold(stage.NthRequest(s, 1))
	began := time.Now()
	_, err = l.TryLock(w.endsIn(time.Second))
	require.ErrorIs(w, err, context.DeadlineExceeded)
	require.Equal(w, time.Second, time.Since(began))
	held.Release()
	w.Rest()
	w.NothingLeft()
}

func unlockInSilence(w *leaseWorld) {
	lease, s := w.holder()
	held := w.Server.Hold(stage.NthRequest(s, 1))
	began := time.Now()
	err := lease.Unlock(w.endsIn(time.Second))
	require.ErrorIs(w, err, context.DeadlineExceeded)
	require.ErrorContains(w, err, w.Path)
	require.Equal(w, time.Second, time.Since(began), "Unlock waits for the server, not for ctx")
	held.Release()
	require.NoError(w, lease.Unlock(bounded(w)), "Unlock, called again, waits for the end of the first")
	w.NothingLeft()
}

// unlockAfterNewParent lets the next holder have a node of the same name.
func unlockAfterNewParent(w *leaseWorld) {
	lease, s := w.holder()
	w.Expire(s)
	admin := w.Session()
	w.DeleteParent(admin)
	next, _ := w.holder()
	require.Len(w, w.Nodes(), 1)
	name := w.Nodes()[0] // the same one, unless names have ids
	w.Renewed(s, i18n.Same("the old holder's client has a new session"))

	before, _, err := admin.Get(w.Path + "/" + name)
	require.NoError(w, err)
	unlocked := lease.Unlock(bounded(w))
	after, _, err := admin.Get(w.Path + "/" + name)
	require.NoError(w, err,
		"an expired holder's Unlock has deleted another contender's node, the new holder's of the same name: two holders")
	require.Equal(w, before, after, "an expired holder's Unlock has changed the new holder's node")
	require.ErrorIs(w, unlocked, w.kind.ErrLost, "Unlock after the session has expired")
	require.False(w, bubble.IsClosed(next.Lost()), "Lost of the new holder is closed")
	w.releaseLast(next, "the new holder")
}

// unlockWhileCutOff lets the client keep requests back until the next holder has a node of the same name.
func unlockWhileCutOff(w *leaseWorld) {
	lease, s := w.holder(w.Ordinary())
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.Hit(back, i18n.Same("the holder's client connects again"))
	unlocked := w.Aside("Unlock", func() error { return lease.Unlock(bounded(w)) })
	time.Sleep(time.Second) // for Unlock to send its requests

	w.Server.Expire(s.ID)
	w.DeleteParent(w.Session())
	next, _ := w.holder()
	nodes := w.Nodes() // the name of the holder's, unless names have ids
	back.Release()
	require.ErrorIs(w, w.Result(unlocked, i18n.Same("Unlock of a holder whose session has expired")), w.kind.ErrLost)
	time.Sleep(stage.Patience) // for a delete that the client has kept back
	require.Equal(w, nodes, w.Nodes(), "Unlock was called while the client was cut off; the client has kept the delete "+
		"back, and sent it in its next session, and has deleted another contender's node; "+
		"send nothing while the client has no connection")
	w.releaseLast(next, "the next holder")
}

// createInTheNextSession has the client keep a create back while it has no connection, until its session has ended.
func createInTheNextSession(w *leaseWorld) {
	w.makeParent()
	l, s := w.open(w.Ordinary())
	back := w.Server.Hold(stage.Sent(s, jute.OpConnect))
	require.True(w, w.Server.Cut(s.ID))
	w.Hit(back, i18n.Same("the client connects again"))
	a := w.beginLock(l)
	time.Sleep(time.Second) // for Lock to send its requests
	w.Server.Expire(s.ID)
	back.Release()
	w.releaseLast(w.mustGet(a, "a contender whose session has expired before its create was sent"), "it")
}

func expiredLease(w *leaseWorld) {
	lease, s := w.holder()
	w.Expire(s)
	next, _ := w.holder()
	w.mustLose(lease, "the session has expired")

	before := w.Nodes()
	err := lease.Unlock(bounded(w))
	require.Equal(w, before, w.Nodes(),
		"an expired holder's Unlock has deleted another contender's node, the new holder's: two holders")
	require.ErrorIs(w, err, w.kind.ErrLost, "Unlock after the session has expired")
	require.False(w, bubble.IsClosed(next.Lost()), "Lost of the new holder is closed")
	require.Greater(w, next.Token(), lease.Token(), "the token of the next holder is not higher")
	w.release(next, "the new holder")
	again, _ := w.holder(s)
	w.releaseLast(again, "the old holder's client, in its new session")
}

// cutOff keeps all that a holder sends from the server, from different moments on: a holder proves now and then that
// its session lives, and the last proof may be old.
func cutOff(w *leaseWorld) {
	for _, quiet := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 30 * time.Second} {
		lease, s := w.holder()
		next, _ := w.open()
		a := w.beginLock(next)
		time.Sleep(quiet) // the time since the holder's last request
		back := w.CutOff(w.Server.Hold, s)
		began := time.Now()
		w.mustLose(lease, "the holder has been cut off for longer than its session")
		require.LessOrEqual(w, time.Since(began), 10*time.Second, "Lost closes later than the session timeout")
		require.Empty(w, a.result, "the next one has got the lock before the Lost of the holder was closed: two holders")
		w.release(w.mustGet(a, "the next one, when the session has expired"), "it")

		began = time.Now()
		require.ErrorIs(w, lease.Unlock(bounded(w)), w.kind.ErrLost)
		require.Less(w, time.Since(began), time.Second, "the lease is lost, and Unlock waits for the server")
		back()
		w.Eventually(i18n.Same("the queue is empty"), func() bool { return len(w.Nodes()) == 0 })
	}
	w.Rest()
	w.NothingLeft()
}

// lateAnswer keeps back the answer to a holder's request, and nothing that the holder sends later
// arrives: for the server the session's last packet is that request.
func lateAnswer(w *leaseWorld) {
	lease, s := w.holder()
	next, _ := w.open()
	a := w.beginLock(next)
	late := w.Server.HoldReply(stage.NthRequest(s, 1))
	w.Hit(late, i18n.Same("the holder sends a request"))

	back := w.CutOff(w.Server.Hold, s)
	time.Sleep(6 * time.Second) // of the ten that the session lives without a packet
	late.Release()
	w.mustLose(lease, "the holder has been cut off for longer than its session")
	require.Empty(w, a.result, "the next one has got the lock before the Lost of the holder was closed: two "+
		"holders; count the session timeout from when the request was sent, not from when its answer arrives")
	w.release(w.mustGet(a, "the next one, when the session has expired"), "it")
	require.ErrorIs(w, lease.Unlock(bounded(w)), w.kind.ErrLost)
	back()
	w.Rest()
	w.NothingLeft()
}

func shortCut(w *leaseWorld) {
	lease, s := w.holder()
	for range 5 {
		time.Sleep(7 * time.Second) // less than the session timeout
		require.True(w, w.Server.Cut(s.ID))
	}
	time.Sleep(time.Minute) // for the clock to close Lost by mistake
	require.False(w, bubble.IsClosed(lease.Lost()), "the connection broke and came back, and Lost is closed")
	w.releaseLast(lease, "the holder")
}

func longHold(w *leaseWorld) {
	lease, _ := w.holder()
	time.Sleep(time.Hour) // for the clock to close Lost by mistake
	require.False(w, bubble.IsClosed(lease.Lost()), "nothing happened for an hour, and Lost is closed")
	w.release(lease, "the holder")
	time.Sleep(time.Minute)
	require.False(w, bubble.IsClosed(lease.Lost()), "the holder has let go, and a minute later Lost is closed")
	w.NothingLeft()
}

// deletedLease deletes the holder's node twice: the first time Unlock comes before the loss is
// noticed, the second time the next holder has a node of the same name.
func deletedLease(w *leaseWorld) {
	admin := w.Session()
	lease, _ := w.holder()
	require.NoError(w, admin.Delete(w.Path+"/"+w.Nodes()[0], -1))
	require.ErrorIs(w, lease.Unlock(bounded(w)), w.kind.ErrLost, "the holder's node was deleted before its Unlock")
	w.DeleteParent(admin)

	lease, _ = w.holder()
	name := w.Nodes()[0]
	require.NoError(w, admin.Delete(w.Path+"/"+name, -1))
	w.DeleteParent(admin)
	next, _ := w.holder()
	nodes := w.Nodes() // the same name, unless names have ids
	w.mustLose(lease, "the holder's node was deleted")
	require.ErrorIs(w, lease.Unlock(bounded(w)), w.kind.ErrLost)
	w.Rest() // for a delete in the background
	require.Equal(w, nodes, w.Nodes(),
		"the node of a holder that has lost its own has gone: that of the next holder, which has the same name")
	w.releaseLast(next, "the next holder")
}
