package sqlrow_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlrow"
)

const insert = "INSERT INTO zklock_row"

func rows(t testing.TB, db *database.DB, name string) (n int) {
	require.NoError(t, db.Row(t.Context(), "SELECT count(*) FROM zklock_row WHERE method_name = ?", name).Scan(&n))
	return n
}

func try(t testing.TB, want bool, l *sqlrow.Lock, what string) {
	held, err := l.TryLock(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, held, what)
}

// The reply to the insert is lost. The contender sees an error, and its clean-up
// deletes the row over another connection.
func TestALostReplyToTheInsertIsAnErrorAndLeavesNoRow(t *testing.T) {
	defer sqlrow.CleanUp(2 * time.Minute)()
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	db, client := open(t, spec), open(t, via)
	name := databasetest.Name(t)
	l := sqlrow.New(client, name, longer)
	inserts := line.LoseReply(insert, nil)
	require.ErrorIs(t, l.Lock(t.Context()), database.ErrNoReply)
	require.Equal(t, 1, inserts(), "inserts: neither the lock nor the driver sends it again")
	require.ErrorIs(t, l.Unlock(t.Context()), sqlrow.ErrNotLocked)
	require.Zero(t, rows(t, db, name))
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
}

// The same, and the server cannot be reached afterwards: the row of a contender
// that does not hold the lock keeps all others out until it expires.
func TestWithoutALineTheRowOfALostReplyStaysUntilItExpires(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	db, client := open(t, spec), open(t, via)
	name := databasetest.Name(t)
	l := sqlrow.New(client, name, longer)
	line.LoseReply(insert, line.CutOff)
	require.ErrorIs(t, l.Lock(t.Context()), database.ErrNoReply)
	require.ErrorIs(t, l.Unlock(t.Context()), sqlrow.ErrNotLocked, "it does not act as the holder")
	next := sqlrow.New(db, name, longer)
	try(t, false, next, "the row is there")
	expire(t, db, name)
	require.NoError(t, next.Lock(t.Context()))
	require.NoError(t, next.Unlock(t.Context()))
}

// A client that sends the insert again waits for itself.
func TestAClientThatInsertsAgainWaitsForItself(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	client, name := open(t, via), databasetest.Name(t)
	line.LoseReply(insert, nil)
	again := func() error {
		_, err := client.Exec(t.Context(), insert+" (method_name, owner, times, expires) VALUES (?, 'me', 1, {now} + 1800000)", name)
		return err
	}
	require.ErrorIs(t, again(), database.ErrNoReply)
	require.True(t, database.IsDuplicate(again()), "nobody else has asked for the lock")
}

// The reply to the delete is lost. The holder cannot see whether it has released
// the lock; a second Unlock shows that, and affects no other contender.
func TestALostReplyToTheDeleteCanBeAskedAgain(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	db, client := open(t, spec), open(t, via)
	name := databasetest.Name(t)
	l := sqlrow.New(client, name, longer)
	require.NoError(t, l.Lock(t.Context()))
	deletes := line.LoseReply("DELETE FROM zklock_row", nil)
	err := l.Unlock(t.Context())
	require.ErrorIs(t, err, database.ErrNoReply)
	require.NotErrorIs(t, err, sqlrow.ErrNotLocked)
	require.Equal(t, 1, deletes())
	next := sqlrow.New(db, name, longer)
	try(t, true, next, "the row is gone")
	require.ErrorIs(t, l.Unlock(t.Context()), sqlrow.ErrNotLocked)
	require.Equal(t, 1, rows(t, db, name), "the next holder's row")
	require.NoError(t, next.Unlock(t.Context()))
}

// The server goes away and comes back. The proxy plays that: it ends all
// connections and refuses new ones, while the database itself runs on; that the row
// survives a true restart is what the database promises of each commit.
func TestTheHolderKeepsItsRowWhileTheServerIsAway(t *testing.T) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	db, client := open(t, spec), open(t, via)
	name := databasetest.Name(t)
	holder, waiter := sqlrow.New(client, name, longer), sqlrow.New(client, name, longer)
	require.NoError(t, holder.Lock(t.Context()))
	waits := make(chan error, 1)
	go func() { waits <- waiter.Lock(context.WithoutCancel(t.Context())) }()
	require.Eventually(t, func() bool { return waiter.Attempts() > 0 }, 2*time.Minute, time.Millisecond)

	line.CutOff()
	require.ErrorIs(t, <-waits, database.ErrNoReply, "the waiter gets an error, and does not wait on")
	err := holder.Unlock(t.Context())
	require.ErrorIs(t, err, database.ErrNoReply)
	require.NotErrorIs(t, err, sqlrow.ErrNotLocked)

	line.Heal()
	try(t, false, sqlrow.New(db, name, longer), "the holder's row is there")
	require.NoError(t, databasetest.WhileNoReply(t, func() error { return holder.Unlock(t.Context()) }))
	try(t, true, sqlrow.New(db, name, longer), "after Unlock")
}

// SQLite is part of the process. If that ends, the row stays in the file.
func TestTheRowSurvivesTheEndOfTheProcessInAFile(t *testing.T) {
	defer sqlrow.SweepEvery(time.Millisecond)()
	spec := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	before, name := open(t, spec), databasetest.Name(t)
	require.NoError(t, sqlrow.New(before, name, longer).Lock(t.Context()))
	require.NoError(t, before.Close())

	after := open(t, spec)
	next := sqlrow.New(after, name, longer)
	try(t, false, next, "the row is in the file")
	expire(t, after, name)
	require.NoError(t, next.Lock(t.Context()))
}

// On the night when summer time ends, a clock of local time shows the hour from two to
// three twice. A row that was made in the first one would live for an hour more,
// and one that was made in the second could be taken for expired by a client of
// another zone.
func TestTheDatabasesTimeDoesNotGoBackWhenSummerTimeEnds(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	if db.Kind != database.MariaDB {
		t.Skip("only MariaDB computes with local time: SQL=mysql://… (Debian: mariadb-server)")
	}
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	now := func(seconds int) (at int64) {
		_, err := conn.ExecContext(t.Context(), fmt.Sprintf("SET timestamp = %d", seconds)) // of this connection alone
		require.NoError(t, err)
		require.NoError(t, conn.QueryRowContext(t.Context(), db.Bind("SELECT {now}")).Scan(&at))
		return at
	}
	const end = 1761440400 // 2025-10-26, 01:00 UTC: in Europe 03:00 becomes 02:00
	for _, at := range []int{end - 3600, end - 1, end, end + 1, end + 3600} {
		require.EqualValues(t, at*1000, now(at))
	}
	_, err = conn.ExecContext(t.Context(), "SET timestamp = DEFAULT")
	require.NoError(t, err)
	var zone string
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@session.time_zone").Scan(&zone))
	require.Equal(t, "+00:00", zone, "a server in UTC would pass without this")
}
