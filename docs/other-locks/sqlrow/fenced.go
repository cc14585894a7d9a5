package sqlrow

import (
	"context"
	"time"

	"example.com/zklock/docs/other-locks/database"
)

// NewFenced is New for a lock whose holders have a Token. An acquisition is one transaction of 4 statements: begin,
// insert the row, count one more holder, commit. So a holder that came later has a higher number: its insert waits for
// the commit of the one before.
func NewFenced(db *database.DB, name string, ttl time.Duration) *Lock {
	l := New(db, name, ttl)
	l.fenced = true
	return l
}

// Token is the fencing token: it is higher than that of every earlier holder. It is
// 0 unless NewFenced has made the Lock, and valid while the lock is held.
func (l *Lock) Token() int64 { return l.token }

// insertFenced inserts the row and counts, or does neither.
func (l *Lock) insertFenced(ctx context.Context, owner string) (token int64, err error) {
	l.db.Count(2)
	tx, err := l.db.BeginTx(ctx, l.db.TxOptions())
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, l.db.Bind(insertRow), l.name, owner, l.ttl.Milliseconds()); err != nil {
		return 0, err
	}
	again := "ON CONFLICT (name) DO UPDATE SET holders = zklock_holders.holders + 1"
	if l.db.Kind == database.MariaDB {
		again = "ON DUPLICATE KEY UPDATE holders = holders + 1"
	}
	l.db.Count(2)
	count := l.db.Bind("INSERT INTO zklock_holders (name, holders) VALUES (?, 1) " + again + " RETURNING holders")
	if err := tx.QueryRowContext(ctx, count, l.name).Scan(&token); err != nil {
		return 0, err
	}
	return token, tx.Commit()
}
