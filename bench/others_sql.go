//go:build others

package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"example.com/zklock/bench/internal/spec"
	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/docs/other-locks/sqlversion"
	"example.com/zklock/internal/language"
)

func init() {
	arenas["sqlrow"] = openSQL("zklock_row", "method_name", database.Open, sqlrow.Prepare,
		func(db *database.DB, name string) otherLocker { return sqlrow.New(db, name, otherTTL) })
	openStock := openSQL("zklock_version", "id", database.Open, sqlversion.Prepare,
		func(db *database.DB, name string) otherLocker { return buyer{sqlversion.New(db, name)} })
	arenas["sqlversion"] = func(ctx context.Context, spec string) (arena, error) {
		a, err := openStock(ctx, spec)
		if err != nil {
			return nil, err
		}
		return sqlStock{a.(*sqlArena)}, nil
	}
	arenas["sqlforupdate"] = openSQL("zklock_forupdate", "name", openTx, sqlforupdate.Prepare,
		func(db *database.DB, name string) otherLocker { return sqlforupdate.New(db, name) })
}

// Every waiter keeps a connection. Each one of SQLite's is an interpreter with
// a memory of its own, and polls; PostgreSQL admits 100 by default.
const (
	sqliteConns = 8
	serverConns = 50
)

func openTx(ctx context.Context, spec string) (*database.DB, error) {
	if database.IsSQLite(spec) {
		return database.OpenTx(ctx, spec, sqliteConns)
	}
	return database.OpenTx(ctx, spec, serverConns)
}

// A buyer adds to the count on the server: it takes one piece of the stock.
type buyer struct{ *sqlversion.Stock }

func (b buyer) Lock(ctx context.Context) error { return b.Buy(ctx) }
func (b buyer) Unlock(context.Context) error   { return nil }

type sqlArena struct {
	db         *database.DB
	table, key string
	made       bool // the table did not exist before
	text       string
	new        func(db *database.DB, name string) otherLocker
	watcher    *database.DB // nil on SQLite; a pool of its own, for the other one may be full of waiters
	run        string       // the name of the present run's lock
	n          int
}

func openSQL(table, key string,
	open func(ctx context.Context, spec string) (*database.DB, error),
	prepare func(ctx context.Context, db *database.DB) error,
	newLocker func(db *database.DB, name string) otherLocker,
) func(ctx context.Context, spec string) (arena, error) {
	return func(ctx context.Context, spec string) (arena, error) {
		db, err := open(ctx, spec)
		if err != nil {
			return nil, err
		}
		a := &sqlArena{db: db, table: table, key: key, new: newLocker}
		a.text = fmt.Sprintf("%s at %s, %s", db.Version(ctx), database.Redacted(spec), db.Durable(ctx))
		if spec == database.Embedded {
			a.text = fmt.Sprintf("%s, embedded, %s", db.Version(ctx), db.Durable(ctx))
		}
		_, err = db.Exec(ctx, "SELECT 1 FROM "+table+" WHERE 1 = 0")
		a.made = err != nil
		err = prepare(ctx, db)
		if err == nil && !database.IsSQLite(spec) {
			a.watcher, err = database.OpenTx(ctx, spec, 1)
		}
		if err != nil {
			db.Close()
			return nil, language.Errorf("%s: %w", "%s：%v", database.Redacted(spec), err)
		}
		db.Rest()
		return a, nil
	}
}

func (a *sqlArena) String() string { return a.text }

func (a *sqlArena) begin(ctx context.Context, n int) (lockers []otherLocker, err error) {
	a.run, a.n = "bench-"+rand.Text(), n
	for range n {
		lockers = append(lockers, a.new(a.db, a.run))
	}
	return lockers, a.db.Warm(ctx, n)
}

// A sqlStock is the arena of sqlversion.
type sqlStock struct{ *sqlArena }

func (a sqlStock) begin(ctx context.Context, n int) ([]otherLocker, error) {
	lockers, err := a.sqlArena.begin(ctx, n)
	if err == nil {
		err = sqlversion.New(a.db, a.run).Put(ctx, n)
	}
	return lockers, err
}

func (a sqlStock) count(ctx context.Context) (int, error) {
	left, err := sqlversion.New(a.db, a.run).Read(ctx)
	return a.n - left.Resource, err
}

func (a *sqlArena) sent() int64 { return a.db.Statements() }

// A server that was stopped, and not killed, breaks no connection.
func (a *sqlArena) answers(ctx context.Context) error {
	if a.watcher == nil {
		return nil // it is part of the process
	}
	ctx, cancel := context.WithTimeout(ctx, spec.AnswerTimeout)
	defer cancel()
	if err := a.watcher.PingContext(ctx); err != nil {
		return language.Errorf("no answer within %v: %w", "%v 内没有响应：%v", spec.AnswerTimeout, database.Explain(ctx, err))
	}
	return nil
}

func (a *sqlArena) end(ctx context.Context) error {
	err := a.answers(ctx) // else each connection of the pool would wait
	if err == nil {
		_, err = a.db.Exec(ctx, "DELETE FROM "+a.table+" WHERE "+a.key+" = ?", a.run)
	}
	a.db.Rest() // a server has room for one pool, not for that of each lock
	if err != nil {
		err = language.Errorf("in table %s the row whose %s is %s: %w", "表 %s 里 %s 为 %s 的那一行：%v", a.table, a.key, a.run, err)
	}
	return err
}

func (a *sqlArena) close(ctx context.Context) (err error) {
	if a.made {
		if err = a.answers(ctx); err == nil {
			_, err = a.db.Exec(ctx, "DROP TABLE "+a.table)
		}
		if err != nil {
			err = language.Errorf("table %s: %w", "表 %s：%v", a.table, err)
		}
	}
	a.db.Close()
	if a.watcher != nil {
		a.watcher.Close()
	}
	return err
}
