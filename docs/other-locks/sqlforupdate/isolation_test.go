package sqlforupdate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/internal/testenv"
)

// answer is a statement's result, or its error's code.
func answer(err error, value any) any {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return value
	case errors.Is(err, sql.ErrNoRows):
		return "no row"
	case errors.As(err, &my):
		return fmt.Sprintf("error %d", my.Number)
	case errors.As(err, &pg):
		return "error " + pg.Code
	}
	return err
}

// A client is one transaction of an exhibit, or several, one after the other.
type client struct {
	t     *testing.T
	e     *exhibit.Exhibit
	db    *database.DB
	name  string
	tx    *sql.Tx
	shown map[string]string // names of rows, as the diagram shows them
}

func (c *client) begin(level sql.IsolationLevel) {
	tx, err := c.db.BeginTx(c.t.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { tx.Rollback() })
	c.tx = tx
	c.e.Does(c.name, "BEGIN", "ok")
}

// ask runs a statement and records it. A select returns a value.
func (c *client) ask(query, row string) any {
	result := c.run(query, row)
	c.e.Does(c.name, shown(query, row), result)
	return result
}

func (c *client) run(query, row string) any {
	if query[:6] == "SELECT" {
		var value int
		err := c.tx.QueryRow(c.db.Bind(query), c.shown[row]).Scan(&value)
		return answer(err, value)
	}
	_, err := c.tx.Exec(c.db.Bind(query), c.shown[row])
	return answer(err, "ok")
}

func (c *client) commit() any {
	result := answer(c.tx.Commit(), "ok")
	c.e.Does(c.name, "COMMIT", result)
	return result
}

// waits runs a statement that has to wait, and returns when it does.
func (c *client) waits(query, row string) (result <-chan any) {
	ch := make(chan any, 1)
	go func() { ch <- c.run(query, row) }()
	// MariaDB renews innodb_trx once nobody has read it for 100 ms.
	require.Eventually(c.t, func() bool { return lockWaits(c.t, c.db) > 0 }, 2*time.Minute, 250*time.Millisecond)
	c.e.Waits(c.name, shown(query, row))
	return ch
}

func shown(query, row string) string { return strings.ReplaceAll(query, "?", "'"+row+"'") }

// lockWaits is how many statements on the table of the exhibits wait for a lock.
func lockWaits(t testing.TB, db *database.DB) (n int) {
	query := "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%zklock_exhibit%'"
	if db.Kind == database.PostgreSQL {
		query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%zklock_exhibit%'"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, db.QueryRowContext(ctx, query).Scan(&n))
	return n
}

// clients are two clients of a table with a row to lock and a row to count in. Their
// names in the table are the test's own.
func clients(t *testing.T, e *exhibit.Exhibit, db *database.DB) (a, b *client) {
	require.NoError(t, db.CreateTable(t.Context(), "zklock_exhibit", "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL"))
	own := databasetest.Name(t)
	rows := map[string]string{"lock": own + "-lock", "stock": own + "-stock", "missing": own + "-missing"}
	for _, row := range []string{"lock", "stock"} {
		testenv.Must(db.Exec(t.Context(), "INSERT INTO zklock_exhibit (id, value) VALUES (?, 0)", rows[row]))(t)
	}
	return &client{t: t, e: e, db: db, name: "A", shown: rows}, &client{t: t, e: e, db: db, name: "B", shown: rows}
}

const (
	lockRow = "SELECT value FROM zklock_exhibit WHERE id = ? FOR UPDATE"
	read    = "SELECT value FROM zklock_exhibit WHERE id = ?"
)

// addTwice lets two clients add one under the lock. B begins, reads, and then waits
// for the lock. It returns what came of B's update, and the count at the end.
func addTwice(t *testing.T, e *exhibit.Exhibit, db *database.DB, level sql.IsolationLevel) (update any, count int) {
	a, b := clients(t, e, db)
	a.begin(level)
	a.ask(lockRow, "lock")
	b.begin(level)
	b.ask(read, "stock")
	got := b.waits(lockRow, "lock")
	seen := a.ask(read, "stock").(int)
	a.ask(fmt.Sprintf("UPDATE zklock_exhibit SET value = %d WHERE id = ?", seen+1), "stock")
	require.Equal(t, "ok", a.commit())
	result := <-got
	require.Equal(t, 0, result)
	e.Answer("B", result)
	e.Note("B", "holds the lock")
	seen = b.ask(read, "stock").(int)
	update = b.ask(fmt.Sprintf("UPDATE zklock_exhibit SET value = %d WHERE id = ?", seen+1), "stock")
	if update == "ok" {
		require.Equal(t, "ok", b.commit())
	} else {
		b.tx.Rollback()
	}
	require.NoError(t, db.Row(t.Context(), read, a.shown["stock"]).Scan(&count))
	e.Note("A,B", "two additions, and the count is %d", count)
	return update, count
}

// MariaDB at REPEATABLE READ, its default: the lock excludes, and the read under it
// is as old as the transaction's first read.
func TestALostUpdateUnderTheLock(t *testing.T) {
	db := databasetest.On(t, 8, database.MariaDB) // the diagram has what that one answers
	update, count := addTwice(t, exhibit.New(t, "O1", "MariaDB, REPEATABLE READ"), db, sql.LevelRepeatableRead)
	require.Equal(t, "ok", update)
	require.Equal(t, 1, count, "of two additions")
}

// PostgreSQL at REPEATABLE READ reads as old a value, and refuses the update.
func TestPostgreSQLRefusesTheUpdate(t *testing.T) {
	db := databasetest.On(t, 8, database.PostgreSQL) // the diagram has what that one answers
	update, count := addTwice(t, exhibit.New(t, "O2", "PostgreSQL, REPEATABLE READ"), db, sql.LevelRepeatableRead)
	require.Equal(t, "error 40001", update)
	require.Equal(t, 1, count, "B gets an error, and begins again")
}

// READ COMMITTED, on both servers: each statement reads what is committed.
func TestAtReadCommittedNoUpdateIsLost(t *testing.T) {
	db := databasetest.On(t, 8, database.PostgreSQL, database.MariaDB)
	update, count := addTwice(t, exhibit.New(t, "O3", "MariaDB or PostgreSQL, READ COMMITTED"), db, sql.LevelReadCommitted)
	require.Equal(t, "ok", update)
	require.Equal(t, 2, count)
}

const insertMissing = "INSERT INTO zklock_exhibit (id, value) VALUES (?, 1)"

// missing lets two clients lock a row that does not exist; both are inside.
func missing(t *testing.T, e *exhibit.Exhibit, db *database.DB, level sql.IsolationLevel) (a, b *client) {
	a, b = clients(t, e, db)
	a.begin(level)
	require.Equal(t, "no row", a.ask(lockRow, "missing"))
	b.begin(level)
	require.Equal(t, "no row", b.ask(lockRow, "missing"))
	e.Note("A,B", "both have locked the row that does not exist: two holders")
	return a, b
}

// A row that does not exist, on MariaDB at REPEATABLE READ: what is locked is the gap
// where the row would be, by both, and neither can insert.
func TestAMissingRowAtRepeatableReadIsADeadlock(t *testing.T) {
	db := databasetest.On(t, 8, database.MariaDB) // the diagram has what that one answers
	e := exhibit.New(t, "O4", "MariaDB, REPEATABLE READ")
	a, b := missing(t, e, db, sql.LevelRepeatableRead)
	first := a.waits(insertMissing, "missing")
	second := b.run(insertMissing, "missing")
	require.ElementsMatch(t, []any{"ok", "error 1213"}, []any{<-first, second}, "the server ends one of the two")
	// It is mostly B, which closes the circle; but A may look for one just then, too.
	e.Does("B", shown(insertMissing, "missing"), "error 1213, or ok")
	e.Answer("A", "ok, or error 1213")
}

// At READ COMMITTED, and on PostgreSQL at both levels, nothing is locked: the
// insert decides.
func TestAMissingRowLocksNothing(t *testing.T) {
	db := databasetest.On(t, 8, database.PostgreSQL, database.MariaDB)
	levels := []sql.IsolationLevel{sql.LevelReadCommitted}
	if db.Kind == database.PostgreSQL {
		levels = append(levels, sql.LevelRepeatableRead)
	}
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			e := exhibit.New(t, "O5", "MariaDB at READ COMMITTED, or PostgreSQL")
			a, b := missing(t, e, db, level)
			require.Equal(t, "ok", a.ask(insertMissing, "missing"))
			waits := b.waits(insertMissing, "missing")
			require.Equal(t, "ok", a.commit())
			result := <-waits
			want := map[database.Kind]string{database.MariaDB: "error 1062", database.PostgreSQL: "error 23505"}[db.Kind]
			require.Equal(t, want, result)
			e.Answer("B", "a duplicate key, which is error 1062 or 23505")
		})
	}
}
