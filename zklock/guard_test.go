// Tests of Lease.Guard, which refuses late writes of a holder that has lost the lock. helpers_test.go has the helpers.
//
// A guard is of a guard node, which has one child: the mark of the last guard, "token-id". The data of the guard node
// is the name of that mark. A write with a guard is a multi: it checks that the guard's mark is there, and then writes.
package zklock_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

const (
	guarded   = "/data" // the node that the holders write
	guardNode = "/guard"
)

// deleteGuard deletes the guard node and its children by hand.
func (tb *serverTest) deleteGuard(admin *zk.Conn) {
	for _, child := range tb.srv.Children(guardNode) {
		tb.delete(admin, guardNode+"/"+child)
	}
	tb.delete(admin, guardNode)
}

// A late write of the first of two holders is refused, although the first has not noticed that its lease is over.
// Scenes Z1 and Z2 of docs/bugs.md show two other ways to fence, which let the write pass.
func TestALateWriteIsFencedByAGuard(t *testing.T) {
	for what, isMadeAgain := range map[string]bool{"the guard stays": false, "the guard is made again": true} {
		onServerCase(t, what, func(tb *serverTest) {
			other := tb.connect()
			tb.create(other, guarded, "", zk.FlagPersistent)
			first, l := tb.lockWithGuard(tb.connect())
			tb.delete(other, l.Node())
			tb.delete(other, lockPath) // the numbers begin again
			if isMadeAgain {
				tb.deleteGuard(other)
			}

			second, _ := tb.lockWithGuard(other)
			testenv.Must(second.Set(context.Background(), guarded, []byte("the second's"), -1))(tb)
			require.ErrorIs(tb, testenv.Err(first.Set(context.Background(), guarded, []byte("the first's"), -1)), zklock.ErrFenced)
			require.Equal(tb, "the second's", string(tb.stored(guarded).Data))
			testenv.Must(second.Set(context.Background(), guarded, []byte("the second's again"), -1))(tb)
		})
	}
}

// marks returns the marks of the lease's guards: they begin with its token.
func (tb *serverTest) marks(l *zklock.Lease) []string {
	return slices.DeleteFunc(tb.srv.Children(guardNode), func(name string) bool {
		return !strings.HasPrefix(name, fmt.Sprintf("%d-", l.Token()))
	})
}

// lockWithGuard acquires the lock, and makes a guard of the lease.
func (tb *serverTest) lockWithGuard(conn *zk.Conn) (*zklock.Guard, *zklock.Lease) {
	tb.Helper()
	l := tb.mustLock(tb.mutex(conn))
	g := testenv.Must(l.Guard(context.Background(), guardNode))(tb)
	return g, l
}

// A lease's first Guard sends two requests: a read of the guard node and a multi. A later one for the same lease sends
// the read alone, and a write with a guard is one request, as any write. After the end of a lease nothing is sent.
func TestAGuardCostsTwoRequestsAndItsWritesOneEach(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		overGuard, l := tb.lockWithGuard(conn)
		tb.mustUnlock(l)
		_, l = tb.lockWithGuard(conn)
		require.Len(tb, tb.srv.Children(guardNode), 1, "the child of the first has gone")

		sent := tb.countRequests(func(r zkserver.Request) bool { return r.Session == conn.SessionID() && r.Op != jute.OpPing })
		second := testenv.Must(l.Guard(context.Background(), guardNode))(tb)
		path := testenv.Must(second.Create(context.Background(), guarded, []byte("first"), 0, everybody))(tb)
		require.Equal(tb, guarded, path)
		stat := testenv.Must(second.Set(context.Background(), guarded, []byte("second"), 0))(tb)
		require.EqualValues(tb, 1, stat.Version)
		done, err := second.Multi(context.Background(), &zk.CheckVersionRequest{Path: guarded, Version: 1},
			&zk.SetDataRequest{Path: guarded, Data: []byte("third"), Version: -1})
		require.NoError(tb, err)
		require.Len(tb, done, 2)
		require.EqualValues(tb, 2, done[1].Stat.Version)
		require.NoError(tb, second.Delete(context.Background(), guarded, 2))
		const guardAndWrites = 1 + 4 // the read of second; its Create, Set, Multi and Delete
		require.EqualValues(tb, guardAndWrites, sent.Load())

		_, err = overGuard.Create(context.Background(), guarded, nil, 0, everybody)
		require.ErrorIs(tb, err, zklock.ErrFenced)
		require.Regexp(tb, "^zklock: the lease is over, ", err.Error())
		require.ErrorIs(tb, err, zklock.ErrUnlocked)
		require.EqualValues(tb, guardAndWrites, sent.Load(), "a lease that is over sends nothing")
		tb.mustUnlock(l) // which sends the delete of the holder's node
		require.ErrorIs(tb, second.Delete(context.Background(), guarded, -1), zklock.ErrFenced, "and not that there is no node")
		require.ErrorIs(tb, testenv.Err(l.Guard(context.Background(), guardNode)), zklock.ErrUnlocked)
		require.EqualValues(tb, guardAndWrites+1, sent.Load())
	})
}

// A write whose answer is lost returns ErrUnknownOutcome, and is sent again only if no server has received it.
func TestALostAnswerToAWriteIsReported(t *testing.T) {
	withClient(t, func(tb *serverTest, conn *zk.Conn) {
		id := conn.SessionID()
		g, l := tb.lockWithGuard(conn)
		write := func(ctx context.Context) (nodes int, err error) { // makes one more child of the root, and counts them
			_, err = g.Create(ctx, guarded+"-", nil, zk.FlagSequence, everybody)
			return len(tb.srv.Children("/")), err
		}
		before := len(tb.srv.Children("/"))
		isWrite := requestOf(id, jute.OpMulti, guardNode+"/"+tb.srv.Children(guardNode)[0])

		// The write is carried out, and its answer is lost.
		lost := tb.srv.LoseReply(isWrite)
		nodes, err := write(context.Background())
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.Equal(tb, before+1, nodes)

		// The ctx ends before the server carries the write out.
		slow := tb.srv.Hold(isWrite)
		nodes, err = write(tb.within(time.Second))
		require.ErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.ErrorIs(tb, err, context.DeadlineExceeded)
		require.Equal(tb, before+1, nodes)
		slow.Release()
		time.Sleep(sessionTimeout) // until the write is carried out, and the session is proved again
		require.Len(tb, tb.srv.Children("/"), before+2)

		// The write waits until there is a server again.
		down := tb.srv.LoseRequest(requestOf(id, jute.OpConnect, "")).Every()
		tb.srv.Cut(id)
		time.Sleep(time.Second)                     // until the client has noticed
		time.AfterFunc(3*time.Second, down.Release) // when every server has been tried
		nodes = testenv.Must(write(context.Background()))(tb)
		require.Equal(tb, before+3, nodes)

		nodes, err = write(tb.within(0)) // its ctx has ended before
		require.ErrorIs(tb, err, context.DeadlineExceeded)
		require.NotErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.Equal(tb, before+3, nodes)

		// The write waits for a server until the lease is lost.
		down = tb.srv.LoseRequest(requestOf(id, jute.OpConnect, "")).Every()
		tb.srv.Cut(id)
		time.Sleep(time.Second)
		nodes, err = write(tb.within(time.Minute))
		require.ErrorIs(tb, err, zklock.ErrFenced)
		require.ErrorIs(tb, err, zklock.ErrLost)
		require.Equal(tb, before+3, nodes)
		require.True(tb, isClosed(l.Lost()))
		down.Release()
	})
}

// A guard is made once although the answer is lost, and also if somebody has deleted the child of the lease before.
func TestAGuardIsMadeOnceThoughItsAnswerIsLost(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		for _, deleted := range []bool{false, true, false} {
			if deleted {
				tb.delete(admin, guardNode+"/"+tb.srv.Children(guardNode)[0])
			}
			l := tb.mustLock(tb.mutex(conn))
			lost := tb.srv.LoseReply(requestOf(conn.SessionID(), jute.OpMulti, guardNode))
			g := testenv.Must(l.Guard(tb.within(time.Minute), guardNode))(tb)
			require.Len(tb, lost.Hit(), 1)
			require.Len(tb, tb.marks(l), 1)
			require.Len(tb, tb.srv.Children(guardNode), 1)
			testenv.Must(g.Multi(context.Background()))(tb)
			tb.mustUnlock(l)
		}
	})
}

// Guard refuses paths that cannot be guards, and no error of a server or of the client is ErrFenced.
func TestWhatGuardRefuses(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		conn, admin := tb.connect(), tb.connect()
		tb.create(admin, guarded, "no token", zk.FlagPersistent)
		tb.create(admin, "/deep", "1-a/b", zk.FlagPersistent) // the slash: a mark, which is "token-id", is the name of a child
		testenv.Must(admin.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead)))(tb)
		g, l := tb.lockWithGuard(conn)
		testenv.Must(l.Guard(context.Background(), lockPath+"-guard"))(tb)
		for path, want := range map[string]string{
			guarded: "is not a guard", "/deep": "is not a guard", "/no/parent": "the parent of the guard has to exist", "guard": "slash",
			"/closed": zk.ErrNoAuth.Error(), "/closed/guard": zk.ErrNoAuth.Error(),
			lockPath: "outside that of the lock", lockPath + "/guard": "outside that of the lock",
		} {
			_, err := l.Guard(tb.within(time.Minute), path)
			require.ErrorContains(tb, err, want)
			require.ErrorContains(tb, err, path)
		}
		require.ErrorIs(tb, testenv.Err(g.Set(context.Background(), guarded, nil, 7)), zk.ErrBadVersion) // the version is 0
		done, err := g.Multi(context.Background(), &zk.CheckVersionRequest{Path: guarded, Version: 0}, &zk.DeleteRequest{Path: "/missing", Version: -1})
		require.ErrorIs(tb, err, zk.ErrNoNode)
		require.NotErrorIs(tb, err, zklock.ErrFenced)
		require.Len(tb, done, 2)
		require.NoError(tb, done[0].Error)
		require.ErrorIs(tb, done[1].Error, zk.ErrNoNode)
		require.ErrorContains(tb, testenv.Err(g.Multi(context.Background(), zk.DeleteRequest{Path: guarded})), "zk.DeleteRequest")
		_, err = g.Multi(context.Background(), (*zk.DeleteRequest)(nil))
		require.ErrorContains(tb, err, "is nil")
		require.NotErrorIs(tb, err, zklock.ErrUnknownOutcome)
		_, err = g.Set(context.Background(), guarded, make([]byte, 2*jute.MaxFrame), -1)
		require.ErrorContains(tb, err, "packet")
		require.NotErrorIs(tb, err, zklock.ErrUnknownOutcome)
		tb.mustUnlock(l)
	})
}

// A guard is made although the guard node changes after Guard has read it. Only a higher token fences the lease.
func TestAGuardIsMadeThoughItsServerIsBehind(t *testing.T) {
	onServer(t, func(tb *serverTest) {
		tap := new(wiretap.Tap)
		conn, admin := tb.connectWith(ensemble.Options{Tap: tap}), tb.connect()
		for _, c := range []struct {
			change func()
			fenced bool
		}{
			{change: func() { admin.Create(guardNode, nil, 0, everybody) }},
			{change: func() { admin.Set(guardNode, []byte("1"), -1) }},
			{change: func() { tb.deleteGuard(admin) }},
			{change: func() { admin.Set(guardNode, fmt.Append(nil, math.MaxInt64), -1) }, fenced: true},
		} {
			l := tb.mustLock(tb.mutex(conn))
			read := tb.srv.HoldReply(requestOf(conn.SessionID(), jute.OpGetData, guardNode))
			made := inBackground(func() error { return testenv.Err(l.Guard(tb.within(time.Minute), guardNode)) })
			<-read.Hit()
			c.change()
			before := tap.Counts()
			read.Release()

			if c.fenced {
				err := <-made
				require.ErrorIs(tb, err, zklock.ErrFenced)
				require.ErrorContains(tb, err, guardNode)
			} else {
				require.NoError(tb, <-made)
				require.Len(tb, tb.marks(l), 1)
			}
			require.Positive(tb, tap.Counts().Since(before).Requests[jute.OpSync], "its server, which may be behind, is not brought up to date")
			tb.mustUnlock(l)
		}
	})
}
