package sqlrow

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"example.com/zklock/docs/other-locks/database"
)

// PrepareFenced creates the tables for NewFenced unless they exist.
func PrepareFenced(ctx context.Context, db *database.DB) error {
	if err := Prepare(ctx, db); err != nil {
		return err
	}
	err := db.CreateTable(ctx, "zklock_holders", "name {name} NOT NULL PRIMARY KEY, holders BIGINT NOT NULL")
	if err != nil {
		return fmt.Errorf("sqlrow: create the table of the holders: %w", err)
	}
	return nil
}

// NewFenced is New for a lock whose holders have a Token. An acquisition is one
// transaction of 5 statements: begin, insert the row, count one more holder, read
// the count, commit. So a holder that came later has a higher number: its insert waits
// for the commit of the one before. The first holder of a name sends one more.
// PrepareFenced must have created the tables.
func NewFenced(db *database.DB, name string, ttl time.Duration) *Lock {
	l := New(db, name, ttl)
	l.fenced = true
	return l
}

// Token is the fencing token: it is higher than that of every earlier holder. It is
// 0 unless NewFenced has made the Lock, and valid while the lock is held.
func (l *Lock) Token() int64 { return l.token }

// insertFenced inserts the row and counts, or does neither.
func (l *Lock) insertFenced(ctx context.Context, owner string) error {
	l.db.Count(1)
	tx, err := l.db.BeginTx(ctx, l.db.TxOptions())
	if err != nil {
		return database.Explain(ctx, err)
	}
	defer tx.Rollback()
	exec := func(query string, args ...any) (sql.Result, error) {
		l.db.Count(1)
		return tx.ExecContext(ctx, l.db.Bind(query), args...)
	}
	if _, err := exec(insertRow, l.name, owner, l.ttl.Milliseconds()); err != nil {
		return database.Explain(ctx, err)
	}
	const count = "UPDATE zklock_holders SET holders = holders + 1 WHERE name = ?"
	result, err := exec(count, l.name)
	if err != nil {
		return database.Explain(ctx, err)
	}
	if rows, err := result.RowsAffected(); err == nil && rows == 0 {
		if _, err := exec("INSERT INTO zklock_holders (name, holders) VALUES (?, 1)", l.name); err != nil {
			return database.Explain(ctx, err)
		}
	}
	l.db.Count(2)
	var token int64
	if err := tx.QueryRowContext(ctx, l.db.Bind("SELECT holders FROM zklock_holders WHERE name = ?"), l.name).Scan(&token); err != nil {
		return database.Explain(ctx, err)
	}
	if err := tx.Commit(); err != nil {
		return database.Explain(ctx, err)
	}
	l.token = token
	return nil
}
