// Tests of what the lock does when the line to the database breaks, or a ctx ends.
package sqlrow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

// The cases of all locks. That a row survives a true restart is what the database promises of each commit.
func TestTheLineBreaks(t *testing.T) { faults.Run(t, subject(t, newLock)) }

func TestNothingIsLeftBehindAtAnyInstant(t *testing.T) {
	t.Run("plain", func(t *testing.T) { faults.Sweep(t, subject(t, newLock)) })
	t.Run("fenced", func(t *testing.T) { faults.Sweep(t, subject(t, newFenced)) })
}

// Another transaction has the row, and commits late. The waiter's insert waits for that, and its ctx ends. Lock does
// not wait for the commit, and no row is left whose holder has gone.
func TestAWaiterWhoseCtxEndsLeavesNoRow(t *testing.T) {
	db := databasetest.OpenOn(t, database.FewConns, database.PostgreSQL, database.MariaDB)
	for what, contender := range map[string]func(*database.DB, string, time.Duration) *sqlrow.Lock{
		"plain": sqlrow.New, "fenced": sqlrow.NewFenced,
	} {
		t.Run(what, func(t *testing.T) {
			name := suite.Name()
			waiter := contender(db, name, longer)
			require.NoError(t, sqlrow.New(db, name, longer).Lock(t.Context()))
			databasetest.RequireEnds(t, db, "zklock_row", "DELETE FROM zklock_row WHERE method_name = ?", name, waiter.Lock)
			suite.Try(t, true, waiter, "a row is left that nobody holds")
			require.NoError(t, waiter.Unlock(t.Context()))
		})
	}
}

// The ctx of Unlock ends when its DELETE comes to the server. MariaDB then ends it, and answers now and then that it
// has deleted no row: that does not mean that the row has gone.
func TestAnUnlockWhoseCtxEndsCanBeAskedAgain(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	name := suite.Name()
	l, next := sqlrow.New(open(t, via), name, longer), sqlrow.New(open(t, spec), name, longer)
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, l.Lock(ctx))
		line.At(proxy.ToServer, 1, cancel)
		if err := l.Unlock(ctx); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, l.Unlock(t.Context()))
		}
		suite.Round(t, next)
	}
}

// On the night when summer time ends, a clock of local time shows the hour from two to three twice. A row that was made
// in the first one would live for an hour more, and one that was made in the second could be taken for expired by a
// client of another zone.
func TestTheDatabasesTimeDoesNotGoBackWhenSummerTimeEnds(t *testing.T) {
	db := databasetest.OpenOn(t, database.FewConns, database.MariaDB) // only it computes with local time
	conn := testenv.Must(db.Conn(t.Context()))(t)
	defer conn.Close()
	const end = 1761440400 // 2025-10-26, 01:00 UTC: in Europe 03:00 becomes 02:00
	for _, at := range []int{end - 3600, end - 1, end, end + 1, end + 3600} {
		var now int
		_ = testenv.Must(conn.ExecContext(t.Context(), fmt.Sprintf("SET timestamp = %d", at)))(t) // of conn alone
		require.NoError(t, conn.QueryRowContext(t.Context(), db.Bind("SELECT {now}")).Scan(&now))
		require.Equal(t, at*1000, now)
	}
	_ = testenv.Must(conn.ExecContext(t.Context(), "SET timestamp = DEFAULT"))(t)
	var zone string
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@session.time_zone").Scan(&zone))
	require.Equal(t, "+00:00", zone, "a server in UTC would pass without this")
}
