package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/jute"
	"example.com/zklock/zklock"
)

// TestWhatACachedNodeChanges is what WithCaching says that differs, beside what is without it:
// what another process finds, or the caller, after an Unlock.
func TestWhatACachedNodeChanges(t *testing.T) {
	twice := func(tb *table, conn *zk.Conn, try func() (bool, error)) string {
		slow := tb.srv.Hold(of(conn.SessionID(), jute.OpDelete, "")) // the first attempt is faster
		first, err := try()
		require.NoError(tb, err)
		slow.Release()
		time.Sleep(time.Second)
		second, err := try()
		return fmt.Sprint(first, second, err)
	}
	unnoticed := func(end func(tb *table, id int64)) func(tb *table, conn *zk.Conn, ours *zklock.Mutex) string {
		return func(tb *table, conn *zk.Conn, ours *zklock.Mutex) string {
			l := tb.mustLock(ours, nil)
			time.Sleep(time.Second) // for the answer to the list
			id := conn.SessionID()
			back := tb.srv.Hold(of(id, jute.OpConnect, "")) // the client does not learn it
			unlocked := aside(func() error { end(tb, id); return l.Unlock(limited(tb, time.Minute)) })
			time.Sleep(time.Second)
			back.Release()
			return fmt.Sprint(errors.Is(<-unlocked, zklock.ErrLost), len(tb.srv.Children(top)))
		}
	}
	for _, c := range []struct {
		what          string
		see           func(tb *table, conn *zk.Conn, ours *zklock.Mutex) string
		with, without string
	}{
		{"TryLock", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			other := contender(tb.connect(), top)
			return twice(tb, conn, other.TryLock)
		}, "false true <nil>", "true true <nil>"},
		{"TryLock of another library", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			other := &foreignLock{conn: tb.connect(), path: top, name: "other"}
			return twice(tb, conn, func() (bool, error) { return other.TryLock(context.Background()) })
		}, "false true <nil>", "true false <nil>"}, // it is not reentrant
		{"a crash", func(tb *table, conn *zk.Conn, _ *zklock.Mutex) string {
			id, began := conn.SessionID(), time.Now()
			silence := tb.srv.Hold(from(id)).Every()
			passes(tb, lockAside(context.Background(), tb.mutex(tb.connect()), nil))
			silence.Release()
			return fmt.Sprint(time.Since(began).Round(10 * time.Second))
		}, "10s", "0s"}, // the session timeout
		{"Unlock after the end of the session", unnoticed(func(tb *table, id int64) { tb.srv.Expire(id) }), "false 0", "true 0"},
		{"Unlock after its node was deleted", unnoticed(func(tb *table, id int64) {
			tb.srv.Cut(id)
			require.NoError(tb, tb.connect().Delete(tb.node(0), -1))
		}), "false 0", "true 0"},
	} {
		for _, with := range []bool{true, false} {
			onTables(t, fmt.Sprintf("%s, with caching %v", c.what, with), func(tb *table) {
				conn, options, want := tb.connect(), always, c.with
				if !with {
					options, want = nil, c.without
				}
				ours := tb.mutex(conn, options...)
				l := tb.mustLock(ours, nil)
				time.Sleep(time.Minute)
				require.NoError(tb, l.Unlock(context.Background()))
				require.Equal(tb, want, c.see(tb, conn, ours))
			})
		}
	}
}
