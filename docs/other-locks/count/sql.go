package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/sqlforupdate"
	"example.com/zklock/docs/other-locks/sqlrow"
	"example.com/zklock/docs/other-locks/sqlversion"
)

// A sqlArena is a lock in a table.
type sqlArena struct {
	db         *database.DB
	text       string
	table, key string
	run        string // the name of the present run's lock
	contender  func(db *database.DB, name string) contender
}

func openSQL(ctx context.Context, spec string, a sqlArena, open func(context.Context, string) (*database.DB, error),
	prepare func(context.Context, *database.DB) error,
) (*sqlArena, error) {
	var err error
	if a.db, err = open(ctx, spec); err != nil {
		return nil, err
	}
	a.text = fmt.Sprintf("%s, %s", a.db.Version(ctx), database.Redacted(spec))
	if err := errors.Join(prepare(ctx, a.db), sqlversion.Prepare(ctx, a.db)); err != nil {
		a.db.Close()
		return nil, fmt.Errorf("%s: %w", database.Redacted(spec), err)
	}
	a.db.Rest()
	return &a, nil
}

func openRow(ctx context.Context, spec string) (arena, error) {
	return openSQL(ctx, spec, sqlArena{table: "zklock_row", key: "method_name", contender: func(db *database.DB, name string) contender {
		return sqlrow.New(db, name, ttl)
	}}, database.Open, sqlrow.Prepare)
}

func openForUpdate(ctx context.Context, spec string) (arena, error) {
	return openSQL(ctx, spec, sqlArena{table: "zklock_forupdate", key: "name", contender: func(db *database.DB, name string) contender {
		return sqlforupdate.New(db, name)
	}}, openTx, sqlforupdate.Prepare)
}

// Every waiter keeps a connection. Each one of SQLite's is an interpreter with
// a memory of its own, and polls; PostgreSQL admits 100 by default.
func openTx(ctx context.Context, spec string) (*database.DB, error) {
	if database.IsSQLite(spec) {
		return database.OpenTx(ctx, spec, 8)
	}
	return database.OpenTx(ctx, spec, 50)
}

// A sqlStock is the arena of sqlversion, whose contenders take a piece each.
type sqlStock struct {
	*sqlArena
	pieces int
}

type buyer struct{ *sqlversion.Stock }

func (b buyer) Lock(ctx context.Context) error { return b.Buy(ctx) }
func (b buyer) Unlock(context.Context) error   { return nil }

func openStock(ctx context.Context, spec string) (arena, error) {
	a, err := openSQL(ctx, spec, sqlArena{table: "zklock_version", key: "id", contender: func(db *database.DB, name string) contender {
		return buyer{sqlversion.New(db, name)}
	}}, database.Open, sqlversion.Prepare)
	return &sqlStock{sqlArena: a}, err
}

func (s *sqlStock) begin(ctx context.Context, n int) ([]contender, error) {
	all, err := s.sqlArena.begin(ctx, n)
	if err == nil {
		s.pieces, err = n, sqlversion.New(s.db, s.run).Put(ctx, n)
	}
	return all, err
}

// count is how many pieces are sold.
func (s *sqlStock) count(ctx context.Context) (int, error) {
	left, err := sqlversion.New(s.db, s.run).Read(ctx)
	return s.pieces - left.Resource, err
}

func (a *sqlArena) String() string { return a.text }
func (a *sqlArena) sent() int64    { return a.db.Statements() }

// write inserts a row.
func (a *sqlArena) write(ctx context.Context) error {
	return sqlversion.New(a.db, "count-write-"+rand.Text()).Put(ctx, 0)
}

func (a *sqlArena) begin(ctx context.Context, n int) (all []contender, err error) {
	a.run = "count-" + rand.Text()
	for range n {
		all = append(all, a.contender(a.db, a.run))
	}
	return all, a.db.Warm(ctx, n)
}

func (a *sqlArena) end(ctx context.Context) error {
	_, err := a.db.Exec(ctx, "DELETE FROM "+a.table+" WHERE "+a.key+" = ?", a.run)
	a.db.Rest() // a server has room for one pool, not for that of each lock
	return err
}

func (a *sqlArena) close(ctx context.Context) error {
	_, err := a.db.Exec(ctx, "DELETE FROM zklock_version WHERE id LIKE 'count-write-%'")
	return errors.Join(err, a.db.Close())
}
