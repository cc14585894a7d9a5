// The suite of all locks, and the tests of autocommit, of limits and of what is locked.
package sqlforupdate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/testenv"
)

// open opens a database with the lock's table, and with this number of connections.
func open(t testing.TB, spec string, conns int) *database.DB {
	db := databasetest.Open(t, spec, conns)
	require.NoError(t, sqlforupdate.Prepare(t.Context(), db))
	return db
}

// withRows opens a database that locks rows.
func withRows(t testing.TB) *database.DB {
	return open(t, databasetest.OpenOn(t, database.FewConns, database.PostgreSQL, database.MariaDB).Spec, 8)
}

// endConnection ends the connection of a holder, from another one. On SQLite, which has none, it ends the transaction.
func endConnection(t testing.TB, spec string, holder *sqlforupdate.Lock) {
	if database.IsSQLite(spec) {
		require.NoError(t, holder.Tx().Rollback())
		return
	}
	db := databasetest.Open(t, spec, database.FewConns)
	query, kill := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d, 60000)"
	if db.Kind == database.MariaDB {
		query, kill = "SELECT connection_id()", "KILL %d"
	}
	var id int
	require.NoError(t, holder.Tx().QueryRow(query).Scan(&id))
	testenv.Must(db.Exec(t.Context(), fmt.Sprintf(kill, id)))(t)
}

// subject is a kind of contender on one database, as package suite asks for it: its Subject says what the fields are.
func subject(t testing.TB, contender func(db *database.DB, name string) suite.Lock) suite.Subject {
	spec := databasetest.Spec(t)
	direct := open(t, spec, 4)
	s := suite.Subject{
		Client: func(t testing.TB, spec string) func(string) suite.Lock {
			db := open(t, spec, 16)
			return func(name string) suite.Lock { return contender(db, name) }
		},
		Server: spec, Via: databasetest.Via, Statement: databasetest.Statement(spec),
		ErrNotLocked: sqlforupdate.ErrNotLocked,
		Expire: func(t testing.TB, _ string, holder suite.Lock) {
			endConnection(t, spec, holder.(*sqlforupdate.Lock))
		},
		Without: map[string]string{
			"contenders get in in the order in which they came": "the server wakes waiters in an order that it does not promise",
		},
		ErrNoReply: database.ErrNoReply,
	}
	if direct.Kind != database.SQLite { // which does not say who waits
		s.Waiting = func(name string) int { return waiting(t, direct, name) }
	}
	return s
}

func newLock(db *database.DB, name string) suite.Lock { return sqlforupdate.New(db, name) }

func TestBasic(t *testing.T) { suite.Run(t, subject(t, newLock)) }

func TestBasicBehindPgbouncer(t *testing.T) {
	t.Setenv("SQL", databasetest.Bouncer(t))
	suite.Run(t, subject(t, newLock))
}

// autocommitLock is the article's without SET AUTOCOMMIT = 0.
func autocommitLock(db *database.DB, name string) suite.Lock {
	return &suite.Contender{Try: func(ctx context.Context) (bool, error) {
		if _, err := db.Exec(ctx, "INSERT INTO zklock_forupdate (name) VALUES (?)", name); err != nil && !database.IsDuplicate(err) {
			return false, err
		}
		query := "SELECT name FROM zklock_forupdate WHERE name = ?"
		if db.Kind != database.SQLite {
			query += " FOR UPDATE"
		}
		err := db.Row(ctx, query, name).Scan(new(string))
		return err == nil, err
	}, Free: func(_ context.Context, held bool) error {
		if !held {
			return sqlforupdate.ErrNotLocked
		}
		return nil
	}}
}

func TestWithAutocommitTheLockEndsWithItsStatement(t *testing.T) {
	s := subject(t, autocommitLock)
	for _, name := range []string{
		"TryLock on a held lock says false at once and leaves nothing behind",
		"one at a time holds it, contenders of one session",
	} {
		require.Contains(t, suite.Verdict(t, s, name), "two holders")
		require.Empty(t, suite.Verdict(t, subject(t, newLock), name))
	}
}

// A session lock is the server connection's, and behind pgbouncer that is nobody's.
func TestASessionLockBehindPgbouncerExcludesNobody(t *testing.T) {
	spec := databasetest.Bouncer(t)
	for range 2 {
		var held bool
		require.NoError(t, databasetest.Open(t, spec, database.FewConns).Row(t.Context(), "SELECT pg_try_advisory_lock(53)").Scan(&held))
		require.True(t, held)
	}
}

// A waiter whose attempt has reached its limit, error 1205, asks again, and what its transaction had is given back.
func TestAWaiterThatReachesTheLimitAsksAgain(t *testing.T) {
	db := open(t, databasetest.Spec(t), 4)
	name := suite.Name()
	a, b := sqlforupdate.New(db, name), sqlforupdate.New(db, name)
	sqlforupdate.SetLimit(b, time.Second) // MariaDB counts whole seconds
	require.NoError(t, a.Lock(t.Context()))
	got := bubble.Aside(func() error { return b.Lock(context.WithoutCancel(t.Context())) })
	require.Eventually(t, func() bool { return b.Attempts() >= 2 }, 2*time.Minute, time.Millisecond)
	require.Empty(t, got, "the waiter has got the lock, or an error")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Unlock(ended), "a ctx that has ended before keeps no holder from committing")
	require.NoError(t, <-got)
	require.NoError(t, b.Unlock(t.Context()))
}

// All connections wait for the lock, and the holder needs one for its work. The ctx of the work is what ends it here.
func TestAPoolFullOfWaitersStopsAHolderThatNeedsAnotherConnection(t *testing.T) {
	db := open(t, databasetest.Spec(t), 3)
	name := suite.Name()
	holder := sqlforupdate.New(db, name)
	require.NoError(t, holder.Lock(t.Context()))
	got := make(chan error, 2) // two waiters, which with the holder have all connections
	for range cap(got) {
		waiter := sqlforupdate.New(db, name)
		go func() { got <- errors.Join(waiter.Lock(context.Background()), waiter.Unlock(context.Background())) }()
	}
	poolIsFull := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return errors.Is(testenv.Err(db.ExecContext(ctx, "SELECT 1")), context.DeadlineExceeded)
	}
	require.Eventually(t, poolIsFull, 2*time.Minute, time.Millisecond, "a connection is free")

	// On the connection that it has, the holder can work.
	testenv.Must(holder.Tx().ExecContext(t.Context(), "SELECT 1"))(t)
	require.NoError(t, holder.Unlock(t.Context()))
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}

// A condition that no index serves locks every row on MariaDB with its default isolation: the article's table lock.
// With READ COMMITTED, and on PostgreSQL, it locks the rows that match.
func TestARowOrTheTable(t *testing.T) {
	db := withRows(t)
	mine, other := suite.Name()+"-mine", suite.Name()+"-other"
	for _, n := range []string{mine, other} {
		testenv.Must(db.Exec(t.Context(), "INSERT INTO zklock_forupdate (name, description) VALUES (?, ?)", n, n))(t)
	}
	const indexed, notIndexed = "name = ?", "description = ?"
	for _, c := range []struct {
		isolation  sql.IsolationLevel
		condition  string
		locksTable bool
	}{
		{sql.LevelReadCommitted, indexed, false},
		{sql.LevelReadCommitted, notIndexed, false},
		{sql.LevelRepeatableRead, indexed, false},
		{sql.LevelRepeatableRead, notIndexed, db.Kind == database.MariaDB},
	} {
		t.Run(fmt.Sprintf("%v, %s", c.isolation, c.condition), func(t *testing.T) {
			tx := testenv.Must(db.BeginTx(t.Context(), &sql.TxOptions{Isolation: c.isolation}))(t)
			defer tx.Rollback()
			query := db.Bind("SELECT name FROM zklock_forupdate WHERE " + c.condition + " FOR UPDATE")
			require.NoError(t, tx.QueryRow(query, mine).Scan(new(string)))
			l := sqlforupdate.New(db, other)
			held := testenv.Must(l.TryLock(t.Context()))(t)
			require.Equal(t, !c.locksTable, held, "the lock of another row")
			if held {
				require.NoError(t, l.Unlock(t.Context()))
			}
		})
	}
}

// Locking leaves the settings of a connection as they were: the pool gives it to
// others, for whose statements a row must not count as held at once.
func TestALimitDoesNotStayOnTheConnection(t *testing.T) {
	spec := databasetest.Spec(t)
	name := suite.Name()
	holder := sqlforupdate.New(open(t, spec, 2), name)
	db := open(t, spec, 1)
	limit := func() (value string) {
		require.NoError(t, db.QueryRowContext(t.Context(), map[database.Kind]string{
			database.SQLite:     "PRAGMA busy_timeout",
			database.PostgreSQL: "SHOW lock_timeout",
			database.MariaDB:    "SELECT @@session.innodb_lock_wait_timeout",
		}[db.Kind]).Scan(&value))
		return value
	}
	before := limit()
	l := sqlforupdate.New(db, name)
	suite.Round(t, l)
	require.Equal(t, before, limit(), "after Lock")
	require.NoError(t, holder.Lock(t.Context()))
	suite.Try(t, false, l)
	require.Equal(t, before, limit(), "after TryLock")
	require.NoError(t, holder.Unlock(t.Context()))
}

// The cost that the README states.
func TestARoundOfStatements(t *testing.T) {
	db := open(t, databasetest.Spec(t), 4)
	l := sqlforupdate.New(db, suite.Name())
	suite.Round(t, l, "the row exists from now on")
	before := db.Statements()
	suite.Round(t, l)
	want := map[database.Kind]int64{
		database.SQLite:     4, // two of which set the limit and set it back
		database.PostgreSQL: 4,
		database.MariaDB:    3,
	}[db.Kind]
	require.Equal(t, want, db.Statements()-before)
}
