// Tests of what the lock does when the line to the database breaks.
package sqlforupdate_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/faults"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/proxy"
	"example.com/zklock/internal/testenv"
)

// openWithLine opens the database directly, and by way of a line that the test can break.
func openWithLine(t *testing.T) (line *proxy.Proxy, db, client *database.DB) {
	spec := databasetest.Spec(t)
	line, via := databasetest.Via(t, spec)
	return line, open(t, spec, 4), open(t, via, 8)
}

// write writes a text into the row of a lock, in the transaction of its holder.
func write(t testing.TB, db *database.DB, holder *sqlforupdate.Lock, name, text string) error {
	_, err := holder.Tx().ExecContext(t.Context(), db.Bind("UPDATE zklock_forupdate SET description = ? WHERE name = ?"), text, name)
	return err
}

// written returns the text that is committed in the row of a lock.
func written(t testing.TB, db *database.DB, name string) string {
	var text sql.NullString
	require.NoError(t, db.Row(t.Context(), "SELECT description FROM zklock_forupdate WHERE name = ?", name).Scan(&text))
	return text.String
}

func TestNothingIsLeftBehindAtAnyInstant(t *testing.T) { faults.Sweep(t, subject(t, newLock)) }

// The holder sees the same error whether its COMMIT came and the reply was lost, or the connection broke before, as in
// the next test: ErrNotLocked, which is certain, and ErrNoReply, so that what it wrote may be there or not.
func TestALostReplyToTheCommitLeavesTheWriteInDoubt(t *testing.T) {
	line, db, client := openWithLine(t)
	name := suite.Name()
	l, next := sqlforupdate.New(client, name), sqlforupdate.New(db, name)
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, write(t, client, l, name, "new"))

	commits := line.LoseReply("COMMIT", nil)
	err := l.Unlock(t.Context())
	require.ErrorIs(t, err, sqlforupdate.ErrNotLocked)
	require.ErrorIs(t, err, database.ErrNoReply)
	require.Equal(t, 1, commits())

	require.NoError(t, next.Lock(t.Context()), "nobody holds it")
	require.Equal(t, "new", written(t, db, name))
	require.NoError(t, next.Unlock(t.Context()))
}

// The server goes away and comes back. The proxy plays that: it ends all connections and refuses new ones, while the
// database itself runs on. As in a true restart all transactions are over, so the holder has lost the lock and can
// write nothing more with it: the transaction is its fencing token (bug E1).
func TestTheHolderLosesTheLockWhenTheServerGoesAway(t *testing.T) {
	line, db, client := openWithLine(t)
	name := suite.Name()
	holder, waiter := sqlforupdate.New(client, name), sqlforupdate.New(client, name)
	require.NoError(t, holder.Lock(t.Context()))
	require.NoError(t, write(t, client, holder, name, "early"))
	waits := bubble.Aside(func() error { return waiter.Lock(context.WithoutCancel(t.Context())) })
	require.Eventually(t, func() bool { return waiter.Attempts() > 0 }, 2*time.Minute, time.Millisecond)

	line.CutOff()
	require.ErrorIs(t, <-waits, database.ErrNoReply, "the waiter gets an error, and does not wait on")
	next := sqlforupdate.New(db, name)
	require.NoError(t, next.Lock(t.Context()), "another client gets in, once the server has noticed")
	require.Error(t, write(t, client, holder, name, "late"))
	err := holder.Unlock(t.Context())
	require.ErrorIs(t, err, sqlforupdate.ErrNotLocked)
	require.ErrorIs(t, err, database.ErrNoReply)
	require.Empty(t, written(t, db, name))
	require.NoError(t, next.Unlock(t.Context()))

	line.Heal()
	require.NoError(t, faults.RetryWhileNoReply(t, database.ErrNoReply, func() error { return waiter.Lock(t.Context()) }))
	require.NoError(t, waiter.Unlock(t.Context()))
}

// A job tidies up: a Lock that has made its row makes it again. The row can also go and come back in one transaction; a
// waiter of PostgreSQL then finds none, although no committed state is without it.
func TestARowThatWasDeletedIsMadeAgain(t *testing.T) {
	db, name := withRows(t), suite.Name()
	l := sqlforupdate.New(db, name)
	suite.Round(t, l)
	const remove, insert = "DELETE FROM zklock_forupdate WHERE name = ?", "INSERT INTO zklock_forupdate (name) VALUES (?)"
	testenv.Must(db.Exec(t.Context(), remove, name))(t)
	suite.Round(t, l)
	testenv.Must(db.Exec(t.Context(), remove, name))(t)
	suite.Try(t, true, l, "nobody holds it")
	require.NoError(t, l.Unlock(t.Context()))

	tx := testenv.Must(db.BeginTx(t.Context(), nil))(t)
	testenv.Must(tx.ExecContext(t.Context(), db.Bind(remove), name))(t)
	testenv.Must(tx.ExecContext(t.Context(), db.Bind(insert), name))(t)
	got := bubble.Aside(func() error { return l.Lock(t.Context()) })
	require.Eventually(t, func() bool { return waiting(t, db, name) == 1 }, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit())
	require.NoError(t, <-got)
	require.NoError(t, l.Unlock(t.Context()))
}

// waiting is how many contenders wait in the server's queue for a row.
func waiting(t testing.TB, db *database.DB, name string) (n int) {
	if db.Kind == database.PostgreSQL {
		name = "" // it is a parameter
	}
	return databasetest.Running(t, db, "SELECT name FROM zklock_forupdate%"+name+"%", true)
}

func TestCallsOnASilentLineEndWithTheirContext(t *testing.T) {
	l := faults.Open(t, subject(t, newLock))
	err := l.RequireSilentCallsEnd(t, context.DeadlineExceeded)
	require.ErrorIs(t, err, sqlforupdate.ErrNotLocked)
	require.ErrorIs(t, err, database.ErrNoReply, "its work may have been committed")
	l.CutOff() // now the server notices, too
	suite.Round(t, l.Next)
}

// The holder's machine vanishes: no packet comes from it any more, not even the one
// that ends a connection. The server cannot see that, and keeps the row locked until
// the connection is closed. With a limit on the idle time of a transaction it rolls back.
func TestAMachineThatVanishesHoldsTheRow(t *testing.T) {
	line, db, client := openWithLine(t)
	e := exhibit.New(t, "O6")
	name := suite.Name()
	const lock, noLimit = "SELECT … FOR UPDATE", ""
	oneSecond := map[database.Kind]string{
		database.PostgreSQL: "SET idle_in_transaction_session_timeout = '1s'",
		database.MariaDB:    "SET SESSION idle_transaction_timeout = 1",
	}[db.Kind]
	b := sqlforupdate.New(db, name)
	for _, setLimit := range []string{noLimit, oneSecond} {
		a := sqlforupdate.New(client, name)
		require.NoError(t, a.Lock(t.Context()))
		e.Arrow("A->>S: %s: ok", lock)
		if setLimit != noLimit {
			testenv.Must(a.Tx().Exec(setLimit))(t)
			e.Arrow("A->>S: a limit on idle transactions: 1 s")
		}

		line.Silence(proxy.ToServer, proxy.ToClient)
		e.Arrow("B->>S: %s", lock)
		if setLimit == noLimit {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			require.ErrorIs(t, b.Lock(ctx), context.DeadlineExceeded)
			cancel()
			line.CutOff() // the server sees the connection closed, and the row is free
		} else {
			require.NoError(t, b.Lock(t.Context()), "after 1 s the server rolls back")
			e.Arrow("S-->>B: ok")
			require.NoError(t, b.Unlock(t.Context()))
		}
		suite.Round(t, b)
		line.Heal()
	}
}
