package sqlrow_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/database/databasetest"
	"example.com/zklock/docs/other-locks/exhibit"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/language"
)

// sqliteConn is what database/sql asks of SQLite's connections here.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.NamedValueChecker
}

// A recorder is a client's connection. It records the statements and the answers.
type recorder struct {
	sqliteConn
	film   *exhibit.Film
	client string
	names  *exhibit.Names
}

// filmed replaces the pool of a database by one connection of it, with a recorder.
func filmed(t *testing.T, db *database.DB, c recorder) *database.DB {
	pool := db.DB
	conn, err := pool.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Raw(func(raw any) error {
		c.sqliteConn = raw.(sqliteConn)
		return nil
	}))
	db.DB = sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		conn.Close()
		pool.Close()
	})
	return db
}

func (c recorder) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c recorder) Driver() driver.Driver                        { return nil }
func (c recorder) Close() error                                 { return nil } // the pool closes it

// sends records a statement; do returns its result.
func (c recorder) sends(statement string, do func() (result language.Text, err error)) error {
	op, _, _ := strings.Cut(statement, " ")
	answer := c.film.Sends(c.client, op, statement)
	result, err := do()
	switch {
	case database.IsDuplicate(err):
		answer(language.Say("a duplicate key", "键重复"), false)
	case err != nil:
		answer(language.Same(err.Error()), false)
	default:
		answer(result, true)
	}
	return err
}

func (c recorder) BeginTx(ctx context.Context, options driver.TxOptions) (tx driver.Tx, err error) {
	err = c.sends("BEGIN", func() (language.Text, error) {
		tx, err = c.sqliteConn.BeginTx(ctx, options)
		return language.Same("ok"), err
	})
	return filmedTx{tx, c}, err
}

type filmedTx struct {
	driver.Tx
	recorder recorder
}

func (tx filmedTx) Commit() error {
	return tx.recorder.sends("COMMIT", func() (language.Text, error) { return language.Same("ok"), tx.Tx.Commit() })
}

func (tx filmedTx) Rollback() error {
	return tx.recorder.sends("ROLLBACK", func() (language.Text, error) { return language.Same("ok"), tx.Tx.Rollback() })
}

func (c recorder) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, query)
	return filmedStmt{stmt, c, query}, err
}

type filmedStmt struct {
	driver.Stmt
	recorder recorder
	query    string
}

func (s filmedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.recorder.sends(show(s.recorder.names, s.recorder.client, s.query, args), func() (language.Text, error) {
		if result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args); err != nil {
			return language.Text{}, err
		}
		rows, err := result.RowsAffected()
		return language.Say("rows: %d", "%d 行", rows), err
	})
	return result, err
}

// QueryContext reads the one value that each SELECT here asks for.
func (s filmedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	value := []driver.Value{nil}
	err = s.recorder.sends(show(s.recorder.names, s.recorder.client, s.query, args), func() (language.Text, error) {
		if rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args); err == nil {
			rows.Columns() // Next of this driver needs it before
			err = rows.Next(value)
		}
		return language.Same(fmt.Sprint(value[0])), err
	})
	return &oneValue{Rows: rows, value: value}, err
}

type oneValue struct {
	driver.Rows
	value []driver.Value
}

func (r *oneValue) Next(to []driver.Value) error {
	if r.value == nil {
		return r.Rows.Next(to)
	}
	copy(to, r.value)
	r.value = nil
	return nil
}

// show is a statement as a person writes it: with its arguments, "now" for the database's
// time, and the client's name for a random owner.
func show(names *exhibit.Names, client, query string, args []driver.NamedValue) string {
	query = strings.ReplaceAll(query, "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)", "now")
	for _, a := range args {
		word := fmt.Sprint(a.Value)
		if names.Drawn(word, client) {
			word = client
		}
		if _, ok := a.Value.(string); ok {
			word = "'" + word + "'"
		}
		query = strings.Replace(query, "?", word, 1)
	}
	return query
}

// The film of a row that expires, in docs/other-locks/films: A is paused for longer than its row
// lives, B waits and gets in, and the table that both write to compares tokens, so
// that A's late write changes no row. SQLite runs in the bubble, and so does its clock.
func TestTheFilmOfARowThatExpires(t *testing.T) {
	const (
		ttl   = 4 * time.Second
		name  = "order"
		first = 1 // token
	)
	bubble.Test(t, func(t *testing.T) {
		admin := databasetest.Open(t, database.Embedded)
		require.NoError(t, sqlrow.PrepareFenced(t.Context(), admin))
		require.NoError(t, admin.CreateTable(t.Context(), "store", "id {name} NOT NULL PRIMARY KEY, value INTEGER NOT NULL, token BIGINT NOT NULL"))
		_, err := admin.Exec(t.Context(), "INSERT INTO store (id, value, token) VALUES ('stock', 0, 0)")
		require.NoError(t, err)

		who := new(exhibit.Names)
		film := exhibit.NewFilm(t, "sqlrow", "sqlrow", "SQLite", func() map[string]string {
			there := make(map[string]string)
			var owner string
			err := admin.Row(t.Context(), "SELECT owner FROM zklock_row WHERE method_name = ?", name).Scan(&owner)
			if errors.Is(err, sql.ErrNoRows) {
				return there
			}
			require.NoError(t, err)
			there["/zklock_row/"+name] = who.Client(owner)
			return there
		}, "A", "B")
		contender := func(client string) (*database.DB, *sqlrow.Lock) {
			db := filmed(t, databasetest.Open(t, admin.Spec()), recorder{film: film, client: client, names: who})
			return db, sqlrow.NewFenced(db, name, ttl)
		}
		read := func(db *database.DB) (value int) {
			require.NoError(t, db.Row(t.Context(), "SELECT value FROM store WHERE id = 'stock'").Scan(&value))
			return value
		}
		write := func(db *database.DB, value int, token int64) (rows int64) {
			rows, err := db.Exec(t.Context(), "UPDATE store SET value = ?, token = ? WHERE id = 'stock' AND token <= ?", value, token, token)
			require.NoError(t, err)
			return rows
		}
		aDB, a := contender("A")
		bDB, b := contender("B")
		var both sync.WaitGroup
		began := time.Now()
		at := func(d time.Duration) { time.Sleep(d - time.Since(began)) } // of virtual time

		both.Go(func() {
			film.State("A", "waits", language.Say("asks for the lock", "请求锁"))
			require.NoError(t, a.Lock(t.Context()))
			token := a.Token()
			require.EqualValues(t, first, token)
			film.State("A", "holds", language.Say("holds the lock with token %d", "拿到锁，令牌是 %d", token))
			seen := read(aDB)
			at(time.Second)
			film.Process("A", "stopped", language.Say("is paused, as by a long garbage collection, after it has read from the store", "读过存储之后停顿了，好比遇到一次很长的垃圾回收"))
			at(6 * time.Second)
			film.Process("A", "runs on", language.Say("runs on, and does not notice that time has passed", "继续运行，不知道时间已经过去"))
			at(6300 * time.Millisecond)
			require.Zero(t, write(aDB, seen+1, token))
			film.Note("A", language.Say("has changed no row: the store has seen a token above %d", "一行也没有改：存储已经见过比 %d 大的令牌", token))
			at(6800 * time.Millisecond)
			film.State("A", "unlocks", language.Say("calls Unlock", "调用 Unlock"))
			require.ErrorIs(t, a.Unlock(t.Context()), sqlrow.ErrNotLocked)
			film.State("A", "outside", language.Say("gets an error from Unlock: it does not hold the lock", "从 Unlock 得知自己并不持有锁"))
			film.State("A", "done", language.Text{})
		})
		both.Go(func() {
			at(3 * time.Second)
			film.State("B", "waits", language.Say("asks for the lock, and asks again after each pause", "请求锁，拿不到就停一会儿再试"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, b.Lock(ctx))
			film.State("B", "holds", language.Say("holds the lock with token %d", "拿到锁，令牌是 %d", b.Token()))
			require.EqualValues(t, 1, write(bDB, read(bDB)+1, b.Token()))
			film.Note("B", language.Say("has written to the store with token %d", "用令牌 %d 写入了存储", b.Token()))
			at(7500 * time.Millisecond)
			film.State("B", "unlocks", language.Say("calls Unlock", "调用 Unlock"))
			require.NoError(t, b.Unlock(t.Context()))
			film.State("B", "outside", language.Say("has unlocked", "已释放锁"))
			film.State("B", "done", language.Text{})
		})
		at(time.Second + time.Millisecond)
		var expires int64
		require.NoError(t, admin.Row(t.Context(), "SELECT expires FROM zklock_row WHERE method_name = ?", name).Scan(&expires))
		time.Sleep(time.Until(time.UnixMilli(expires)))
		film.Lost("A", false, first)
		film.Note("", language.Say("A's row has expired by the database's clock, and stays until a waiter looks for such rows", "按数据库的时钟，A 的行已经过期；要等某个等待者来清理，才会删掉"))
		both.Wait()
		require.Equal(t, 1, read(admin))
		film.Compare()
	})
}
