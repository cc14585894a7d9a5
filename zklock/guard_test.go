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
	"example.com/zklock/zklock"
	"example.com/zklock/zkserver"
)

const (
	guarded   = "/data" // what the holders write
	guardNode = "/guard"
)

// A way is one in which a holder writes: it begins with the lease, and returns the write.
type way func(tb *table, conn *zk.Conn, l *zklock.Lease) (write func(value string) error)

var (
	everybody = zk.WorldACL(zk.PermAll)
	ways      = map[string]way{
		"Guard": func(tb *table, _ *zk.Conn, l *zklock.Lease) func(string) error {
			g, err := l.Guard(context.Background(), guardNode)
			require.NoError(tb, err)
			return func(value string) error {
				_, err := g.Set(context.Background(), guarded, []byte(value), -1)
				return err
			}
		},
		// It is proposed for Curator in CURATOR-542.
		"check of the holder's node": func(_ *table, conn *zk.Conn, l *zklock.Lease) func(string) error {
			return func(value string) error {
				_, err := conn.Multi(&zk.CheckVersionRequest{Path: l.Node(), Version: -1},
					&zk.SetDataRequest{Path: guarded, Data: []byte(value), Version: -1})
				return err
			}
		},
		"check of the version of a node with the token": func(tb *table, conn *zk.Conn, l *zklock.Lease) func(string) error {
			conn.Create(guardNode, nil, 0, everybody)
			stat, err := conn.Set(guardNode, fmt.Append(nil, l.Token()), -1)
			require.NoError(tb, err)
			return func(value string) error {
				_, err := conn.Multi(&zk.CheckVersionRequest{Path: guardNode, Version: stat.Version},
					&zk.SetDataRequest{Path: guarded, Data: []byte(value), Version: -1})
				return err
			}
		},
	}
)

// handOver has two holders, one after the other, begin in a way. The first does not notice
// that it is over.
var handOvers = map[string]func(tb *table, begin way) (first, second func(string) error){
	"to another process": func(tb *table, begin way) (func(string) error, func(string) error) {
		conn, other := tb.connect(), tb.connect()
		l := tb.mustLock(tb.mutex(conn), nil)
		first := begin(tb, conn, l)
		require.NoError(tb, other.Delete(l.Node(), -1))
		require.NoError(tb, other.Delete(top, -1)) // the numbers begin again
		return first, begin(tb, other, tb.mustLock(tb.mutex(other), nil))
	},
	"inside a Mutex": func(tb *table, begin way) (func(string) error, func(string) error) {
		return inside(tb, begin, func() {})
	},
	"inside a Mutex, and the guard is made again": func(tb *table, begin way) (func(string) error, func(string) error) {
		return inside(tb, begin, func() { tb.deleteGuard(tb.connect()) })
	},
}

func (tb *table) deleteGuard(admin *zk.Conn) {
	tb.Helper()
	for _, child := range tb.srv.Children(guardNode) {
		require.NoError(tb, admin.Delete(guardNode+"/"+child, -1))
	}
	require.NoError(tb, admin.Delete(guardNode, -1))
}

func inside(tb *table, begin way, between func()) (first, second func(string) error) {
	conn := tb.connect()
	m := tb.mutex(conn)
	l := tb.mustLock(m, nil)
	first = begin(tb, conn, l)
	waiter := queued(m, 1)[0]
	require.NoError(tb, l.Unlock(context.Background()))
	next := gets(tb, waiter)
	require.Equal(tb, l.Node(), next.Node())
	between()
	return first, begin(tb, conn, next)
}

// TestALateWriteIsFencedByAGuardAndByNothingElse: each of the two other ways lets one of
// the first holder's writes pass after the second has begun. It replaces what the
// second has written.
func TestALateWriteIsFencedByAGuardAndByNothingElse(t *testing.T) {
	passes := map[string]string{
		"check of the holder's node":                    "inside a Mutex",
		"check of the version of a node with the token": "inside a Mutex, and the guard is made again",
	}
	for how, begin := range ways {
		for whither, handOver := range handOvers {
			if how == "check of the holder's node" && whither == "inside a Mutex, and the guard is made again" {
				continue // it has none
			}
			onTables(t, how+", "+whither, func(tb *table) {
				_, err := tb.connect().Create(guarded, nil, 0, everybody)
				require.NoError(tb, err)
				first, second := handOver(tb, begin)
				require.NoError(tb, second("the second's"))
				late := first("the first's")
				wrong := passes[how] == whither
				require.Equal(tb, wrong, late == nil, "the late write: %v", late)
				node, _ := tb.srv.Node(guarded)
				require.Equal(tb, map[bool]string{false: "the second's", true: "the first's"}[wrong], string(node.Data))
				if how == "Guard" {
					require.ErrorIs(tb, late, zklock.ErrFenced)
					require.NoError(tb, second("the second's again"))
				}
			})
		}
	}
}

// guard makes a guard of a new lease.
func (tb *table) guard(conn *zk.Conn) (*zklock.Guard, *zklock.Lease) {
	tb.Helper()
	l := tb.mustLock(tb.mutex(conn), nil)
	g, err := l.Guard(context.Background(), guardNode)
	require.NoError(tb, err)
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
		second, err := l.Guard(context.Background(), guardNode)
		require.NoError(tb, err)
		require.Equal(tb, 1, requests)
		path, err := second.Create(context.Background(), guarded, []byte("first"), 0, everybody)
		require.NoError(tb, err)
		require.Equal(tb, guarded, path)
		stat, err := second.Set(context.Background(), guarded, []byte("second"), 0)
		require.NoError(tb, err)
		require.EqualValues(tb, 1, stat.Version)
		done, err := second.Multi(context.Background(), &zk.CheckVersionRequest{Path: guarded, Version: 1},
			&zk.SetDataRequest{Path: guarded, Data: []byte("third"), Version: -1})
		require.NoError(tb, err)
		require.Len(tb, done, 2)
		require.EqualValues(tb, 2, done[1].Stat.Version)
		require.NoError(tb, second.Delete(context.Background(), guarded, 2))
		require.Equal(tb, 5, requests)

		_, err = g.Create(context.Background(), guarded, nil, 0, everybody)
		require.ErrorIs(tb, err, zklock.ErrFenced)
		require.NoError(tb, l.Unlock(context.Background()))
		_, l = tb.guard(conn)
		require.ErrorIs(tb, second.Delete(context.Background(), guarded, -1), zklock.ErrFenced, "and not that there is no node")
		require.NoError(tb, l.Unlock(context.Background()))
	})
}

// TestALateGuardIsFenced: that of an earlier holder, which has not noticed its loss.
func TestALateGuardIsFenced(t *testing.T) {
	onTable(t, func(tb *table) {
		_, early := tb.guard(tb.connect())
		require.NoError(tb, early.Unlock(context.Background()))
		g, l := tb.guard(tb.connect())
		_, err := early.Guard(context.Background(), guardNode)
		require.ErrorIs(tb, err, zklock.ErrFenced)
		require.ErrorContains(tb, err, guardNode)
		_, err = g.Create(context.Background(), guarded, nil, 0, everybody)
		require.NoError(tb, err)
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

		down := many(tb.srv.LoseRequest, func(r zkserver.Request) bool { return r.Op == jute.OpConnect && r.Session == id })
		tb.srv.Cut(id)
		time.Sleep(time.Second)                                    // until the client has noticed
		time.AfterFunc(5*time.Second, func() { releaseAll(down) }) // when every server has been tried
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
			g, err := l.Guard(limited(tb, time.Minute), guardNode)
			require.NoError(tb, err)
			require.Len(tb, lost.Hit(), 1)
			require.Equal(tb, []string{fmt.Sprint(l.Token())}, tb.srv.Children(guardNode))
			_, err = g.Multi(context.Background())
			require.NoError(tb, err)
			require.NoError(tb, l.Unlock(context.Background()))
		}
	})
}

// TestWhatGuardRefuses.
func TestWhatGuardRefuses(t *testing.T) {
	onTable(t, func(tb *table) {
		conn, admin := tb.connect(), tb.connect()
		_, err := admin.Create(guarded, []byte("no token"), 0, everybody)
		require.NoError(tb, err)
		_, err = admin.Create("/closed", nil, 0, zk.WorldACL(zk.PermRead))
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
		_, err = g.Set(context.Background(), guarded, nil, 7)
		require.ErrorIs(tb, err, zk.ErrBadVersion)
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
			made := aside(func() error {
				_, err := l.Guard(limited(tb, time.Minute), guardNode)
				return err
			})
			<-read.Hit()
			change()
			read.Release()
			if i == 3 {
				require.ErrorIs(tb, <-made, zklock.ErrFenced)
			} else {
				require.NoError(tb, <-made)
				require.Contains(tb, tb.srv.Children(guardNode), fmt.Sprint(l.Token()))
			}
			require.NoError(tb, l.Unlock(context.Background()))
		}
	})
}
