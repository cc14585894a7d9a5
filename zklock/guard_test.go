package zklock_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

const (
	guarded   = "/data" // what the holders write
	guardNode = "/guard"
)

var everybody = zk.WorldACL(zk.PermAll)

// guardedBy returns a write by a lease's guard.
func guardedBy(tb *table, l *zklock.Lease) (write func(value string) error) {
	g := testenv.Must(l.Guard(context.Background(), guardNode))(tb)
	return func(value string) error {
		_, err := g.Set(context.Background(), guarded, []byte(value), -1)
		return err
	}
}

// Two holders, one after the other, make their guards. The first does not notice that it is over.
var handOvers = map[string]func(tb *table) (first, second func(string) error){
	"to another process": func(tb *table) (func(string) error, func(string) error) {
		conn, other := tb.connect(), tb.connect()
		l := tb.mustLock(tb.mutex(conn), nil)
		first := guardedBy(tb, l)
		require.NoError(tb, other.Delete(l.Node(), -1))
		require.NoError(tb, other.Delete(top, -1)) // the numbers begin again
		return first, guardedBy(tb, tb.mustLock(tb.mutex(other), nil))
	},
	"inside a Mutex": func(tb *table) (func(string) error, func(string) error) { return inside(tb, func() {}) },
	"inside a Mutex, and the guard is made again": func(tb *table) (func(string) error, func(string) error) {
		return inside(tb, func() { tb.deleteGuard(tb.connect()) })
	},
}

func (tb *table) deleteGuard(admin *zk.Conn) {
	tb.Helper()
	for _, child := range tb.srv.Children(guardNode) {
		require.NoError(tb, admin.Delete(guardNode+"/"+child, -1))
	}
	require.NoError(tb, admin.Delete(guardNode, -1))
}

func inside(tb *table, between func()) (first, second func(string) error) {
	m := tb.mutex(tb.connect())
	l := tb.mustLock(m, nil)
	first = guardedBy(tb, l)
	waiter := queued(m, 1)[0]
	require.NoError(tb, l.Unlock(context.Background()))
	next := gets(tb, waiter)
	require.Equal(tb, l.Node(), next.Node())
	between()
	return first, guardedBy(tb, next)
}

// TestALateWriteIsFencedByAGuard. Scenes Z1 and Z2 of the museum show two other ways, which let it pass.
func TestALateWriteIsFencedByAGuard(t *testing.T) {
	for whither, handOver := range handOvers {
		onTables(t, whither, func(tb *table) {
			tb.create(tb.connect(), guarded, "", 0)
			first, second := handOver(tb)
			require.NoError(tb, second("the second's"))
			require.ErrorIs(tb, first("the first's"), zklock.ErrFenced)
			node, _ := tb.srv.Node(guarded)
			require.Equal(tb, "the second's", string(node.Data))
			require.NoError(tb, second("the second's again"))
		})
	}
}

// guard makes a guard of a new lease.
func (tb *table) guard(conn *zk.Conn) (*zklock.Guard, *zklock.Lease) {
	tb.Helper()
	l := tb.mustLock(tb.mutex(conn), nil)
	g := testenv.Must(l.Guard(context.Background(), guardNode))(tb)
	return g, l
}

// TestAGuardCostsTwoRequestsAndAWriteNone besides itself. Another call for the same lease
// makes the same guard.
func TestAGuardCostsTwoRequestsAndAWriteNone(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		g, l := tb.guard(conn)
		require.NoError(tb, l.Unlock(context.Background()))
		_, l = tb.guard(conn)
		require.Len(tb, tb.srv.Children(guardNode), 1, "the child of the first has gone")
		requests := 0
		count := tb.srv.Hold(func(r zkserver.Request) bool {
			if r.Session == conn.SessionID() && r.Op != jute.OpPing {
				requests++
			}
			return false
		})
		defer count.Release()
		second := testenv.Must(l.Guard(context.Background(), guardNode))(tb)
		require.Equal(tb, 1, requests)
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
		require.Equal(tb, 5, requests)

		require.ErrorIs(tb, testenv.Err(g.Create(context.Background(), guarded, nil, 0, everybody)), zklock.ErrFenced)
		require.NoError(tb, l.Unlock(context.Background()))
		_, l = tb.guard(conn)
		require.ErrorIs(tb, second.Delete(context.Background(), guarded, -1), zklock.ErrFenced, "and not that there is no node")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestALostAnswerToAWriteIsReported, and the write is not sent again. One that no server
// has received is sent once a server can be reached.
func TestALostAnswerToAWriteIsReported(t *testing.T) {
	onTable(t, func(tb *table) {
		conn := tb.connect()
		id := conn.SessionID()
		g, l := tb.guard(conn)
		written := func(ctx context.Context) (int, error) {
			_, err := g.Create(ctx, guarded+"-", nil, zk.FlagSequence, everybody)
			return len(tb.srv.Children("/")), err
		}
		before := len(tb.srv.Children("/"))
		write := of(id, jute.OpMulti, fmt.Sprintf("%s/%d", guardNode, l.Token()))
		lost := tb.srv.LoseReply(write)
		now, err := written(context.Background())
		require.Len(tb, lost.Hit(), 1)
		require.ErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.Equal(tb, before+1, now)

		slow := tb.srv.Hold(write)
		now, err = written(limited(tb, time.Second))
		require.ErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.ErrorIs(tb, err, context.DeadlineExceeded)
		require.Equal(tb, before+1, now)
		slow.Release()
		require.NoError(tb, l.Unlock(context.Background()))
		require.Len(tb, tb.srv.Children("/"), before+2, "it has been carried out by now")

		down := tb.srv.LoseRequest(of(id, jute.OpConnect, "")).Every()
		tb.srv.Cut(id)
		time.Sleep(time.Second)                     // until the client has noticed
		time.AfterFunc(5*time.Second, down.Release) // when every server has been tried
		now, err = written(context.Background())
		require.NoError(tb, err)
		require.Equal(tb, before+3, now)

		ended, cancel := context.WithCancel(context.Background())
		cancel()
		now, err = written(ended)
		require.ErrorIs(tb, err, context.Canceled)
		require.NotErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.Equal(tb, before+3, now)
	})
}

// TestAGuardIsMadeOnceThoughItsAnswerIsLost, and though somebody has deleted its child.
func TestAGuardIsMadeOnceThoughItsAnswerIsLost(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		for _, deleted := range []bool{false, true, false} {
			if deleted {
				require.NoError(tb, admin.Delete(guardNode+"/"+tb.srv.Children(guardNode)[0], -1))
			}
			l := tb.mustLock(tb.mutex(conn), nil)
			lost := tb.srv.LoseReply(of(conn.SessionID(), jute.OpMulti, guardNode))
			g := testenv.Must(l.Guard(limited(tb, time.Minute), guardNode))(tb)
			require.Len(tb, lost.Hit(), 1)
			require.Equal(tb, []string{fmt.Sprint(l.Token())}, tb.srv.Children(guardNode))
			testenv.Must(g.Multi(context.Background()))(tb)
			require.NoError(tb, l.Unlock(context.Background()))
		}
	})
}

// TestWhatGuardRefuses.
func TestWhatGuardRefuses(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		tb.create(admin, guarded, "no token", 0)
		_, err := admin.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead))
		require.NoError(tb, err)
		g, l := tb.guard(conn)
		for path, want := range map[string]string{
			guarded: "is not a guard", "/no/parent": "the parent of the guard has to exist", "guard": "slash",
			"/closed": zk.ErrNoAuth.Error(), "/closed/guard": zk.ErrNoAuth.Error(),
		} {
			_, err := l.Guard(limited(tb, time.Minute), path)
			require.ErrorContains(tb, err, want)
			require.ErrorContains(tb, err, path)
		}
		require.ErrorIs(tb, testenv.Err(g.Set(context.Background(), guarded, nil, 7)), zk.ErrBadVersion)
		done, err := g.Multi(context.Background(), &zk.CheckVersionRequest{Path: guarded, Version: 0}, &zk.DeleteRequest{Path: "/missing", Version: -1})
		require.ErrorIs(tb, err, zk.ErrNoNode)
		require.NotErrorIs(tb, err, zklock.ErrFenced)
		require.Len(tb, done, 2)
		require.NoError(tb, done[0].Error)
		require.ErrorIs(tb, done[1].Error, zk.ErrNoNode)
		_, err = g.Multi(context.Background(), zk.DeleteRequest{Path: guarded})
		require.ErrorContains(tb, err, "zk.DeleteRequest")
		_, err = g.Set(context.Background(), guarded, make([]byte, 2<<20), -1)
		require.ErrorContains(tb, err, "packet")
		require.NotErrorIs(tb, err, zklock.ErrUnknownOutcome)
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestAGuardIsMadeThoughItsServerIsBehind: what it has read is old.
func TestAGuardIsMadeThoughItsServerIsBehind(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		for i, change := range []func(){
			func() { admin.Create(guardNode, nil, 0, everybody) },
			func() { admin.Set(guardNode, []byte("1"), -1) },
			func() { tb.deleteGuard(admin) },
			func() { admin.Set(guardNode, fmt.Append(nil, math.MaxInt64), -1) }, // a later holder's
		} {
			l := tb.mustLock(tb.mutex(conn), nil)
			read := tb.srv.HoldReply(of(conn.SessionID(), jute.OpGetData, guardNode))
			made := aside(func() error { _, err := l.Guard(limited(tb, time.Minute), guardNode); return err })
			<-read.Hit()
			change()
			read.Release()
			if i == 3 {
				err := <-made
				require.ErrorIs(tb, err, zklock.ErrFenced)
				require.ErrorContains(tb, err, guardNode)
			} else {
				require.NoError(tb, <-made)
				require.Contains(tb, tb.srv.Children(guardNode), fmt.Sprint(l.Token()))
			}
			require.NoError(tb, l.Unlock(context.Background()))
		}
	})
}
