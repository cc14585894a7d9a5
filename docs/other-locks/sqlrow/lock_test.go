// The suite of all locks, the faults of article B's lock in a table, and their remedies.
package sqlrow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/docs/other-locks/suite"
	"example.com/zklock/internal/testenv"
)

const longer = time.Hour / 2 // a time to live that no test reaches

// open opens a database with the lock's table.
func open(t testing.TB, spec string) *database.DB {
	db := databasetest.Open(t, spec, database.FewConns)
	require.NoError(t, sqlrow.Prepare(t.Context(), db))
	return db
}

// expire takes an hour from the life of a row.
func expire(t testing.TB, db *database.DB, name string) {
	testenv.Must(db.Exec(t.Context(), "UPDATE zklock_row SET expires = expires - 3600000 WHERE method_name = ?", name))(t)
}

// subject is a kind of contender on one database, as package suite asks for it: its Subject says what the fields are.
func subject(t testing.TB, contender func(db *database.DB, name string) suite.Lock) suite.Subject {
	spec := databasetest.Spec(t)
	db := open(t, spec)
	suite.Set(t, sqlrow.SweepEvery, time.Millisecond)
	return suite.Subject{
		Client: func(t testing.TB, spec string) func(string) suite.Lock {
			db := open(t, spec)
			return func(name string) suite.Lock { return contender(db, name) }
		},
		Server: spec, Via: databasetest.Via, Statement: databasetest.Statement(spec),
		ErrNotLocked: sqlrow.ErrNotLocked,
		Expire:       func(t testing.TB, name string, _ suite.Lock) { expire(t, db, name) },
		Without: map[string]string{
			"a waiter sleeps on a watch and does not poll":      "a database sends no event for a deletion, so a waiter polls",
			"contenders get in in the order in which they came": "nobody queues",
		},
		CleanUp:    sqlrow.CleanUp,
		ErrNoReply: database.ErrNoReply, Request: "INSERT INTO zklock_row", Release: "DELETE FROM zklock_row", Once: true,
		Left: func(ctx context.Context, name string) (rows int, err error) {
			err = db.Row(ctx, "SELECT count(*) FROM zklock_row WHERE method_name = ?", name).Scan(&rows)
			return rows, err
		},
	}
}

func newLock(db *database.DB, name string) suite.Lock   { return sqlrow.New(db, name, longer) }
func newFenced(db *database.DB, name string) suite.Lock { return sqlrow.NewFenced(db, name, longer) }

func TestBasic(t *testing.T) { suite.Run(t, subject(t, newLock)) }

func TestBasicBehindPgbouncer(t *testing.T) {
	t.Setenv("SQL", databasetest.Bouncer(t))
	suite.Run(t, subject(t, newLock))
}

func TestBasicFenced(t *testing.T) { suite.Run(t, subject(t, newFenced)) }

// Bug E2 on a database: the table that the lock protects refuses the late write of a
// holder that was paused, because it compares the token.
func TestATableRefusesTheLateWrite(t *testing.T) {
	e := exhibit.New(t, "O12")
	db := open(t, databasetest.Spec(t))
	name := suite.Name()
	a, b := sqlrow.NewFenced(db, name, longer), sqlrow.NewFenced(db, name, longer)
	const columns = "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL, token BIGINT NOT NULL"
	require.NoError(t, db.CreateTable(t.Context(), "zklock_store", columns))
	testenv.Must(db.Exec(t.Context(), "INSERT INTO zklock_store (id, value, token) VALUES (?, 0, 0)", name))(t)
	write := func(client string, token int64) int64 {
		rows := testenv.Must(db.Exec(t.Context(), "UPDATE zklock_store SET value = 1, token = ? WHERE id = ? AND token <= ?",
			token, name, token))(t)
		e.Arrow("%s->>S: UPDATE store SET value = 1, token = %d WHERE token <= %[2]d: %d rows", client, token, rows)
		return rows
	}

	require.NoError(t, a.Lock(t.Context()))
	late := a.Token()
	e.Arrow("A->>S: INSERT the lock's row, UPDATE the count of holders: %d", late)
	suite.Try(t, false, b, "the row lives")
	expire(t, db, name)
	suite.Try(t, true, b, "it looks each time for rows that have expired")
	e.Arrow("B->>S: INSERT the lock's row, UPDATE the count of holders: %d", b.Token())
	require.Greater(t, b.Token(), late)
	require.EqualValues(t, 1, write("B", b.Token()))
	require.Zero(t, write("A", late), "it is too late")
	require.NoError(t, b.Unlock(t.Context()))
}

// An article's lock is a lock as article B has it, with some of its remedies, which package sqlrow numbers.
type article struct {
	hasOwner bool // the fourth: the row names its owner; without it anybody deletes the row
	expires  bool // the third: the row has an expiry, and a timed job deletes it
	returns  bool // without the second: Lock does not wait
}

func (a article) lock(db *database.DB, name string) suite.Lock {
	l := &suite.Contender{Try: func(ctx context.Context) (bool, error) {
		expires := "{now} + 1000000000000"
		if a.expires {
			if _, err := sqlrow.Sweep(ctx, db); err != nil {
				return false, err
			}
			expires = "{now} + 1800000"
		}
		_, err := db.Exec(ctx, "INSERT INTO zklock_row (method_name, owner, times, expires) VALUES (?, '', 1, "+expires+")", name)
		if database.IsDuplicate(err) || database.IsDeadlock(err) {
			return false, nil
		}
		return err == nil, err
	}, Free: func(ctx context.Context, held bool) error {
		if a.hasOwner && !held {
			return sqlrow.ErrNotLocked
		}
		rows, err := db.Exec(ctx, "DELETE FROM zklock_row WHERE method_name = ?", name)
		if err == nil && rows == 0 {
			err = sqlrow.ErrNotLocked
		}
		return err
	}}
	if a.returns {
		l.Wait = func(ctx context.Context) error {
			if held, err := l.TryLock(ctx); held || err != nil {
				return err
			}
			return errors.New("another one holds it")
		}
	}
	return l
}

// Each of the article's faults fails by the name of its case, and the lock with the remedy for that passes the case.
func TestTheArticlesFaultsFailByName(t *testing.T) {
	const expiry, notLocked = "a holder whose session expires lets the next one in", "returns no error, though the lock is not held"
	for _, c := range []struct {
		name           string // of the case in the suite
		broken, mended func(db *database.DB, name string) suite.Lock
		fault          string // what the suite says of the broken one
	}{
		{expiry, article{hasOwner: true, returns: true}.lock, article{hasOwner: true, expires: true}.lock, "another one holds it"},
		{expiry, article{hasOwner: true}.lock, article{hasOwner: true, expires: true}.lock, "does not return"},
		{
			"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing",
			article{}.lock, article{hasOwner: true}.lock, notLocked,
		},
		// A flag in memory is not enough: the row must name its owner.
		{
			"Unlock after the session expired is ErrNotLocked and touches nobody else's node",
			article{hasOwner: true, expires: true}.lock, newLock, notLocked,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fault == "does not return" { // nothing else has to be done within that time
				suite.Patience(t, 200*time.Millisecond)
			}
			require.Contains(t, suite.Verdict(t, subject(t, c.broken), c.name), c.fault)
			suite.Patience(t, 2*time.Minute)
			require.Empty(t, suite.Verdict(t, subject(t, c.mended), c.name))
		})
	}
}

// The article's fourth fault, and its remedy: without an owner in the row a
// holder that locks again finds its own row. The count ends with the row.
func TestItsOwnerMayLockAgain(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	name := suite.Name()
	article := article{hasOwner: true}.lock(db, name+"-b")
	require.NoError(t, article.Lock(t.Context()))
	suite.Try(t, false, article, "nobody else has asked for the article's lock")

	a, b := sqlrow.New(db, name, longer), sqlrow.New(db, name, longer)
	require.NoError(t, a.Lock(t.Context()))
	suite.Round(t, a)
	suite.Try(t, false, b, "after one of two Unlocks")
	require.NoError(t, a.Unlock(t.Context()))
	suite.Round(t, b)

	require.NoError(t, a.Lock(t.Context()))
	expire(t, db, name)
	suite.Try(t, true, b)
	require.ErrorIs(t, a.Lock(t.Context()), sqlrow.ErrNotLocked, "a counter in memory would say that it is held (bug B4)")
	require.NoError(t, b.Unlock(t.Context()))
}

// The article's remedy for the single point is two databases that copy to each
// other. A row that was not copied yet does not exist there: both grant the lock.
func TestTwoDatabasesThatCopyToEachOtherGiveTwoHolders(t *testing.T) {
	one, other := open(t, database.Embedded), open(t, database.Embedded)
	a, b := sqlrow.New(one, "order", longer), sqlrow.New(other, "order", longer)
	suite.Try(t, true, a)
	suite.Try(t, true, b, "two holders, before a row is copied")

	var owner string
	require.NoError(t, one.Row(t.Context(), "SELECT owner FROM zklock_row").Scan(&owner))
	_, err := other.Exec(t.Context(), "INSERT INTO zklock_row (method_name, owner, times, expires) VALUES ('order', ?, 1, 0)", owner)
	require.True(t, database.IsDuplicate(err), "and when it is, the copies disagree")
}

// The costs that the README and NewFenced state.
func TestAFreeLockCostsTwoStatements(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	name := suite.Name()
	plain, fenced := sqlrow.New(db, name, longer), sqlrow.NewFenced(db, name+"-fenced", longer)
	for l, cost := range map[*sqlrow.Lock]int64{plain: 2, fenced: 4 + 1} { // the lock is made, and deleted
		before := db.Statements()
		suite.Round(t, l)
		require.Equal(t, cost, db.Statements()-before)
	}
	require.EqualValues(t, 1, plain.Attempts())
}
