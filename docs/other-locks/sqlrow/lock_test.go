package sqlrow_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/internal/locktest"
)

// longer is a time to live that no test reaches.
const longer = time.Hour / 2

func open(t testing.TB, spec string) *database.DB {
	db := databasetest.Open(t, spec)
	require.NoError(t, sqlrow.Prepare(t.Context(), db))
	return db
}

// expire takes an hour from the life of a row.
func expire(t testing.TB, db *database.DB, name string) {
	_, err := db.Exec(t.Context(), "UPDATE zklock_row SET expires = expires - 3600000 WHERE method_name = ?", name)
	require.NoError(t, err)
}

// subject makes contenders of any kind on one database.
func subject(t testing.TB, contender func(db *database.DB, name string) locktest.Other) locktest.OtherSubject {
	spec := databasetest.Spec(t)
	t.Cleanup(sqlrow.SweepEvery(time.Millisecond))
	return locktest.OtherSubject{
		Client: func(t testing.TB) func(string) locktest.Other {
			db := open(t, spec)
			return func(name string) locktest.Other { return contender(db, name) }
		},
		ErrNotLocked: sqlrow.ErrNotLocked,
		Expire:       func(t testing.TB, name string, _ locktest.Other) { expire(t, open(t, spec), name) },
		Without: map[string]string{
			"the holder has a node and it is ephemeral":            "a database ends no row with the connection that made it; the row expires",
			"a waiter sleeps on a watch and does not poll":         "a database sends no event for a deletion, so a waiter polls",
			"contenders get in in the order in which they came":    "nobody queues",
			"a release between looking and watching is not missed": "there is no watch; the next attempt comes within 64 ms",
			"missing parents are made":                             "Prepare makes the table",
		},
	}
}

func TestBasic(t *testing.T) {
	locktest.RunOther(t, subject(t, func(db *database.DB, name string) locktest.Other {
		return sqlrow.New(db, name, longer)
	}))
}

func newFenced(t testing.TB, db *database.DB, name string) *sqlrow.Lock {
	require.NoError(t, sqlrow.PrepareFenced(t.Context(), db))
	return sqlrow.NewFenced(db, name, longer)
}

func TestBasicFenced(t *testing.T) {
	locktest.RunOther(t, subject(t, func(db *database.DB, name string) locktest.Other { return newFenced(t, db, name) }))
}

// Bug E2 on a database: the table that the lock protects refuses the late write of a
// holder that was paused, because it compares the token.
func TestATableRefusesTheLateWrite(t *testing.T) {
	e := exhibit.New(t, "O12", "a database", "A", "B")
	db := open(t, databasetest.Spec(t))
	name := databasetest.Name(t)
	a, b := newFenced(t, db, name), newFenced(t, db, name)
	require.NoError(t, db.CreateTable(t.Context(), "zklock_store", "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL, token BIGINT NOT NULL"))
	_, err := db.Exec(t.Context(), "INSERT INTO zklock_store (id, value, token) VALUES (?, 0, 0)", name)
	require.NoError(t, err)
	write := func(client string, token int64) int64 {
		rows, err := db.Exec(t.Context(), "UPDATE zklock_store SET value = 1, token = ? WHERE id = ? AND token <= ?", token, name, token)
		require.NoError(t, err)
		e.Does(client, fmt.Sprintf("UPDATE store SET value = 1, token = %d WHERE token <= %[1]d", token), fmt.Sprintf("%d rows", rows))
		return rows
	}
	const insert = "INSERT the lock's row, UPDATE the count of holders"
	require.NoError(t, a.Lock(t.Context()))
	late := a.Token()
	e.Does("A", insert, late)
	e.Note("A", "reads 0, and is paused")
	expire(t, db, name)
	e.Note("S", "the row has expired")
	require.NoError(t, b.Lock(t.Context()))
	e.Does("B", insert, b.Token())
	require.Greater(t, b.Token(), late)
	require.EqualValues(t, 1, write("B", b.Token()))
	e.Note("A", "continues")
	require.Zero(t, write("A", late))
	e.Note("A", "sees 0 rows: it is too late")
	require.NoError(t, b.Unlock(t.Context()))
}

// The cost that NewFenced states: 5 statements, and the delete.
func TestAFencedLockCostsSixStatements(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	l := newFenced(t, db, databasetest.Name(t))
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()), "the count exists from now on")
	before := db.Statements()
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	require.EqualValues(t, 6, db.Statements()-before)
}

// articleLock is the article's, with the loop around its insert.
type articleLock struct {
	db       *database.DB
	name     string
	hasOwner bool // the fourth remedy; without it anybody deletes
	expires  bool // the third remedy, and a timed job
	returns  bool // as without the second remedy: Lock does not wait
	attempts atomic.Int64
	holds    bool
}

func (l *articleLock) Attempts() int64 { return l.attempts.Load() }

func (l *articleLock) Lock(ctx context.Context) error {
	for {
		if held, err := l.TryLock(ctx); held || err != nil {
			return err
		}
		if l.returns {
			return errors.New("another one holds it")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (l *articleLock) TryLock(ctx context.Context) (bool, error) {
	l.attempts.Add(1)
	expires := "{now} + 1800000"
	if l.expires {
		if _, err := sqlrow.Sweep(ctx, l.db); err != nil {
			return false, err
		}
	} else {
		expires = "{now} + 1000000000000"
	}
	_, err := l.db.Exec(ctx, "INSERT INTO zklock_row (method_name, owner, times, expires) VALUES (?, '', 1, "+expires+")", l.name)
	if database.IsDuplicate(err) || database.IsDeadlock(err) {
		return false, nil
	}
	l.holds = err == nil
	return err == nil, err
}

func (l *articleLock) Unlock(ctx context.Context) error {
	if l.hasOwner && !l.holds {
		return sqlrow.ErrNotLocked
	}
	l.holds = false
	rows, err := l.db.Exec(ctx, "DELETE FROM zklock_row WHERE method_name = ?", l.name)
	if err == nil && rows == 0 {
		err = sqlrow.ErrNotLocked
	}
	return err
}

// Each of the article's faults fails by the name of its case, and the lock with
// the remedy for that passes the case.
func TestTheArticlesFaultsFailByName(t *testing.T) {
	for _, c := range []struct {
		name           string
		broken, mended func(db *database.DB, name string) locktest.Other
		words          string
	}{
		{
			"a holder whose session expires lets the next one in",
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true, returns: true}
			},
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true, expires: true}
			},
			"another one holds it",
		},
		{
			"a holder whose session expires lets the next one in",
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true}
			},
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true, expires: true}
			},
			"does not return",
		},
		{
			"Unlock by a contender that does not hold it is ErrNotLocked and frees nothing",
			func(db *database.DB, name string) locktest.Other { return &articleLock{db: db, name: name} },
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true}
			},
			"returns no error, though the lock is not held",
		},
		// A flag in memory is not enough: the row must name its owner.
		{
			"Unlock after the session expired is ErrNotLocked and touches nobody else's node",
			func(db *database.DB, name string) locktest.Other {
				return &articleLock{db: db, name: name, hasOwner: true, expires: true}
			},
			func(db *database.DB, name string) locktest.Other { return sqlrow.New(db, name, longer) },
			"returns no error, though the lock is not held",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.words == "does not return" { // nothing else has to be done within that time
				locktest.OtherPatience(t, 200*time.Millisecond)
			}
			words := locktest.OtherVerdict(t, subject(t, c.broken), c.name)
			require.Contains(t, words, c.words)
			locktest.OtherPatience(t, 2*time.Minute)
			require.Empty(t, locktest.OtherVerdict(t, subject(t, c.mended), c.name))
		})
	}
}

// The holder crashes: it sends nothing more, and its row expires by itself.
func TestTheRowOfAHolderThatCrashesExpires(t *testing.T) {
	defer sqlrow.SweepEvery(time.Millisecond)()
	spec := databasetest.Spec(t)
	crashed := open(t, spec)
	name := databasetest.Name(t)
	require.NoError(t, sqlrow.New(crashed, name, 20*time.Millisecond).Lock(t.Context()))
	crashed.Close()

	next := sqlrow.New(open(t, spec), name, longer)
	require.NoError(t, next.Lock(t.Context()))
	require.NoError(t, next.Unlock(t.Context()))
}

// TryLock has just looked for rows that have expired; then this one does.
func TestTryLockTakesARowThatHasExpired(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	name := databasetest.Name(t)
	holder, next := sqlrow.New(db, name, longer), sqlrow.New(db, name, longer)
	require.NoError(t, holder.Lock(t.Context()))
	try(t, false, next, "TryLock on a held lock")
	expire(t, db, name)
	try(t, true, next, "TryLock on a row that has expired")
	require.NoError(t, next.Unlock(t.Context()))
}

// MariaDB compares texts without regard to case and to blanks at the end, unless
// the column says else.
func TestNamesThatDifferAreLocksOfTheirOwn(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	name := databasetest.Name(t)
	for _, end := range []string{"x", "X", "x ", "é", "e"} {
		try(t, true, sqlrow.New(db, name+end, longer), name+end)
		try(t, false, sqlrow.New(db, name+end, longer), name+end)
	}
}

// The holder is paused while its row expires. The database reports that, both when
// it unlocks and when it locks again.
func TestAPausedHolderIsNotifiedThatItsRowHasExpired(t *testing.T) {
	spec := databasetest.Spec(t)
	s := subject(t, nil)
	db := open(t, spec)
	name := databasetest.Name(t)
	paused, next := sqlrow.New(db, name, longer), sqlrow.New(db, name, longer)
	require.NoError(t, paused.Lock(t.Context()))
	expire(t, db, name)
	require.NoError(t, next.Lock(t.Context()))

	require.ErrorIs(t, paused.Lock(t.Context()), s.ErrNotLocked, "a counter in memory would say that it is held")
	require.ErrorIs(t, paused.Unlock(t.Context()), s.ErrNotLocked)
	held, err := sqlrow.New(db, name, longer).TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, held, "the next holder's row is gone")
	require.NoError(t, next.Unlock(t.Context()))
}

// The article's fourth fault, and its remedy: without an owner in the row a
// holder that locks again finds its own row.
func TestItsOwnerMayLockAgain(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	name := databasetest.Name(t)
	article := &articleLock{db: db, name: name + "-b", hasOwner: true}
	require.NoError(t, article.Lock(t.Context()))
	again, err := article.TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, again, "nobody else has asked for the article's lock")

	a, b := sqlrow.New(db, name, longer), sqlrow.New(db, name, longer)
	require.NoError(t, a.Lock(t.Context()))
	require.NoError(t, a.Lock(t.Context()))
	require.NoError(t, a.Unlock(t.Context()))
	held, err := b.TryLock(t.Context())
	require.NoError(t, err)
	require.False(t, held, "after one of two Unlocks")
	require.NoError(t, a.Unlock(t.Context()))
	require.NoError(t, b.Lock(t.Context()))
	require.NoError(t, b.Unlock(t.Context()))
}

// The article's remedy for the single point is two databases that copy to each
// other. A row that was not copied yet does not exist there: both grant the lock.
func TestTwoDatabasesThatCopyToEachOtherGiveTwoHolders(t *testing.T) {
	one, other := open(t, database.Embedded), open(t, database.Embedded)
	a, b := sqlrow.New(one, "order", longer), sqlrow.New(other, "order", longer)
	heldA, err := a.TryLock(t.Context())
	require.NoError(t, err)
	heldB, err := b.TryLock(t.Context())
	require.NoError(t, err)
	require.True(t, heldA && heldB, "two holders, before a row is copied")

	var owner string
	require.NoError(t, one.Row(t.Context(), "SELECT owner FROM zklock_row").Scan(&owner))
	_, err = other.Exec(t.Context(), "INSERT INTO zklock_row (method_name, owner, times, expires) VALUES ('order', ?, 1, 0)", owner)
	require.True(t, database.IsDuplicate(err), "and when it is, the copies disagree")
}

// The cost that the package's comment states.
func TestAFreeLockCostsTwoStatements(t *testing.T) {
	db := open(t, databasetest.Spec(t))
	l := sqlrow.New(db, databasetest.Name(t), longer)
	before := db.Statements()
	require.NoError(t, l.Lock(t.Context()))
	require.NoError(t, l.Unlock(t.Context()))
	require.EqualValues(t, 2, db.Statements()-before)
	require.EqualValues(t, 1, l.Attempts())
}
