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

// A table has the locks of one kind.
type table struct {
	name, key string
	prepare   func(ctx context.Context, db *database.DB) error
	contender func(db *database.DB, name string) contender
	onSQLite  int  // connections there
	stock     bool // the contenders take a piece each, and exclude nobody
}

var (
	rows     = table{name: "zklock_row", key: "method_name", prepare: sqlrow.Prepare, contender: newRow}
	versions = table{name: "zklock_version", key: "id", prepare: sqlversion.Prepare, contender: newBuyer, stock: true}
	// Every waiter keeps a connection. Each one of SQLite's is an interpreter with a memory of its own, and polls.
	rowsForUpdate = table{name: "zklock_forupdate", key: "name", prepare: sqlforupdate.Prepare,
		contender: newForUpdate, onSQLite: 8}
)

func newRow(db *database.DB, name string) contender       { return sqlrow.New(db, name, ttl) }
func newBuyer(db *database.DB, name string) contender     { return buyer{sqlversion.New(db, name)} }
func newForUpdate(db *database.DB, name string) contender { return sqlforupdate.New(db, name) }

type buyer struct{ *sqlversion.Stock } // its Lock takes a piece of the stock

func (b buyer) Lock(ctx context.Context) error { return b.Buy(ctx) }
func (b buyer) Unlock(context.Context) error   { return nil }

// open opens the locks of a table for a player, whose fields are explained in player.go.
func (k table) open(ctx context.Context, spec string) (*player, error) {
	conns := database.FewConns
	if database.IsSQLite(spec) {
		conns = k.onSQLite
	}
	db, err := database.Open(ctx, spec, conns)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(k.prepare(ctx, db), sqlversion.Prepare(ctx, db)); err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", database.Redacted(spec), err)
	}
	p := &player{server: fmt.Sprintf("%s, %s", db.Version(ctx), database.Redacted(spec)), sent: db.Statements}
	var run string // the name of the present run's lock
	var pieces int
	stock := func() *sqlversion.Stock { return sqlversion.New(db, run) }
	p.begin = func(ctx context.Context, n int) (all []contender, err error) {
		run = "count-" + rand.Text()
		for range n {
			all = append(all, k.contender(db, run))
		}
		if pieces = n; k.stock {
			if err := stock().Put(ctx, n); err != nil {
				return nil, err
			}
		}
		for range min(n, db.Stats().MaxOpenConnections) { // a measurement must not pay for them
			conn, err := db.Conn(ctx)
			if err != nil {
				return nil, err
			}
			defer conn.Close() // back to the pool
		}
		return all, nil
	}
	if k.stock {
		p.sold = func(ctx context.Context) (int, error) {
			left, err := stock().Read(ctx)
			return pieces - left.Resource, err
		}
	}
	p.end = func(ctx context.Context) error {
		_, err := db.Exec(ctx, "DELETE FROM "+k.name+" WHERE "+k.key+" = ?", run)
		db.SetMaxIdleConns(0) // a server has room for one pool, not for that of each lock
		db.SetMaxIdleConns(db.Stats().MaxOpenConnections)
		return err
	}
	p.write = func(ctx context.Context) error { return sqlversion.New(db, "count-write-"+rand.Text()).Put(ctx, 0) }
	p.close = func(ctx context.Context) error {
		_, err := db.Exec(ctx, "DELETE FROM zklock_version WHERE id LIKE 'count-write-%'")
		return errors.Join(err, db.Close())
	}
	return p, nil
}
