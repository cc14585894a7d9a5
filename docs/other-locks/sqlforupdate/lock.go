// Package sqlforupdate is article B's pessimistic lock: SELECT … FOR UPDATE.
//
// The idea: a transaction that reads a row FOR UPDATE locks the row until it ends. All other transactions that do the
// same wait, in the server, and the server wakes the next one. So nobody polls, and a crash releases the lock: the
// connection breaks and the server rolls the transaction back.
//
// Why autocommit must be off: with autocommit each statement is a transaction by itself, so the lock ends with the very
// SELECT that has taken it, and two clients are inside. BeginTx is what turns it off here, for one transaction.
// TestWithAutocommitTheLockEndsWithItsStatement forces it.
//
// Row or table: the row must exist, or there is nothing to lock, so New's contenders insert it first. And the condition
// must find it by an index. On MariaDB with its default isolation, REPEATABLE READ, a search without an index locks
// every row that it reads, which is the article's table lock. With READ COMMITTED, which package database sets, and on
// PostgreSQL, only the rows that match stay locked.
//
// Error 1205: a waiter of MariaDB gives up after innodb_lock_wait_timeout, 50 s by default. It ends the statement, not
// the transaction: whatever that has locked before stays locked. So Lock rolls back and tries again, until ctx ends.
// The limit here is the statement's own, WAIT n, and no longer than ctx lives. PostgreSQL waits without end by default;
// SET LOCAL lock_timeout ends that, and ends with the transaction: until Unlock a statement of the holder's own that
// waits for another row for 20 s fails, too.
//
// A waiter that gives up: PostgreSQL ends its statement when the client asks for that, and pgx does. MariaDB does not
// notice that a client has gone until it answers, so the statement would wait on and keep one of the server's
// connections, of which there are 151. Package database sends KILL QUERY.
//
// The row may be deleted, by a job that tidies up: the next Lock makes it again.
//
// SQLite has no FOR UPDATE and no row locks. BEGIN IMMEDIATE is its nearest counterpart: it locks the whole database
// for all writers. And its waiters poll: they sleep up to 100 ms between two looks.
//
// Cost: 3 statements an acquisition on MariaDB, 4 on PostgreSQL and SQLite, with any number of
// waiters; 1 attempt, unless a wait reaches its limit.
//
// Remaining faults:
//
//   - Each waiter keeps a connection. If all connections of the pool wait, a holder that needs a second connection for
//     its work waits for them, and they for it: a deadlock that no server sees. The holder works on Tx, which is the
//     connection that it has. TestAPoolFullOfWaitersStopsAHolderThatNeedsAnotherConnection forces it.
//   - The order is the server's: neither promises a queue.
//   - Two locks that two clients take in different order are a deadlock. The server sees that one, and ends one of the
//     transactions.
//   - A holder that has lost its connection works on, beside the next one (bug E1). Writes through Tx are safe: the
//     transaction that was rolled back takes no more. That is the advantage of this lock over all others here: guarded
//     data in the same database can be written in the same transaction. Unlock returns ErrNotLocked.
//   - A client that hangs, and whose connection stays open, holds the lock until it goes on; PostgreSQL has
//     idle_in_transaction_session_timeout for that.
package sqlforupdate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"example.com/zklock/docs/other-locks/database"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it
// never did, or its transaction has ended since.
var ErrNotLocked = errors.New("sqlforupdate: not locked")

const (
	noWait      = 0
	waitLimit   = 20 * time.Second // the time that one attempt waits at the server
	commitLimit = 2 * time.Second  // the time that a COMMIT may take after the end of its ctx
)

// Prepare creates the table unless it exists.
func Prepare(ctx context.Context, db *database.DB) error {
	return db.CreateTable(ctx, "zklock_forupdate", "name {name} NOT NULL PRIMARY KEY, description VARCHAR(64)")
}

// A Lock is one contender for a named lock. It is for one goroutine at a time, and can be used again after Unlock.
type Lock struct {
	db       *database.DB
	name     string
	limit    time.Duration
	made     bool // the row exists
	attempts atomic.Int64

	// While we hold the lock; tx is nil otherwise.
	conn *sql.Conn
	tx   *sql.Tx
	end  context.CancelFunc // of tx's ctx
}

// New returns a contender for the lock of that name. Prepare must have created
// the table. Each contender keeps a connection of the pool.
func New(db *database.DB, name string) *Lock { return &Lock{db: db, name: name, limit: waitLimit} }

// Attempts is the number of times that the contender has asked for the lock.
func (l *Lock) Attempts() int64 { return l.attempts.Load() }

// Tx is the transaction that holds the lock, for the holder's own work; nil if
// this Lock does not hold it. Unlock commits it.
func (l *Lock) Tx() *sql.Tx { return l.tx }

// Lock waits until it holds the lock or ctx ends. If it returns an error it does
// not hold the lock; the error wraps ctx.Err() if that was the reason.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		held, err := l.attempt(ctx, l.limit)
		if held || err != nil {
			return err
		}
		if ctx.Err() != nil { // else the wait has reached its limit
			return l.failed(ctx, ctx.Err())
		}
	}
}

func (l *Lock) failed(ctx context.Context, err error) error {
	return fmt.Errorf("sqlforupdate: lock %s: %w", l.name, database.Explain(ctx, err))
}

// TryLock takes the lock if nobody holds it. It returns false and no error only if another contender holds the lock.
func (l *Lock) TryLock(ctx context.Context) (bool, error) { return l.attempt(ctx, noWait) }

// attempt begins a transaction that holds the lock. The limit is that of its wait.
func (l *Lock) attempt(ctx context.Context, limit time.Duration) (held bool, err error) {
	l.attempts.Add(1)
	if l.tx != nil {
		return false, l.failed(ctx, errors.New("this Lock holds it already: it is not reentrant"))
	}
	if err := l.insert(ctx); err != nil {
		return false, l.failed(ctx, err)
	}
	if deadline, ok := ctx.Deadline(); ok && limit > 0 && l.db.Kind == database.MariaDB {
		// If the line breaks, the server goes on waiting for the row until then.
		limit = max(time.Millisecond, min(limit, time.Until(deadline)))
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return false, l.failed(ctx, err)
	}
	// database/sql rolls a transaction back when the ctx of BeginTx ends. This
	// one must end with ctx only until the lock is held.
	txCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	tx, err := l.begin(txCtx, conn, limit)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if tx != nil {
			tx.Rollback() // error 1205 ends the statement, not the transaction
		}
		end()
		conn.Close() // back to the pool
		if errors.Is(err, sql.ErrNoRows) {
			// It was deleted; or, on PostgreSQL, deleted and made again by one transaction that we waited for.
			l.made = false
			return l.attempt(ctx, limit)
		}
		if database.IsHeld(err) || database.IsDeadlock(err) {
			return false, nil
		}
		return false, l.failed(ctx, err)
	}
	l.conn, l.tx, l.end = conn, tx, end
	return true, nil
}

// begin begins a transaction and locks the row in it. The limit of the wait is the statement's or the transaction's:
// the connection goes back to the pool, and another user must not find a limit there. If begin returns an error and a
// transaction, that must be rolled back.
func (l *Lock) begin(ctx context.Context, conn *sql.Conn, limit time.Duration) (*sql.Tx, error) {
	if l.db.Kind == database.SQLite {
		return l.beginImmediate(ctx, conn, limit)
	}
	l.db.Count(1)
	tx, err := conn.BeginTx(ctx, l.db.TxOptions())
	if err != nil {
		return nil, err
	}
	wait := ""
	switch {
	case limit == noWait:
		wait = " NOWAIT"
	case l.db.Kind == database.PostgreSQL:
		l.db.Count(1)
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", limit.Milliseconds())); err != nil {
			return tx, err
		}
	default:
		wait = fmt.Sprintf(" WAIT %d", max(1, int(math.Ceil(limit.Seconds()))))
	}
	var name string
	l.db.Count(1)
	query := "SELECT name FROM zklock_forupdate WHERE name = ? FOR UPDATE" + wait
	return tx, tx.QueryRowContext(ctx, l.db.Bind(query), l.name).Scan(&name)
}

// beginImmediate is begin on SQLite. The limit is the connection's, so it is set back.
func (l *Lock) beginImmediate(ctx context.Context, conn *sql.Conn, limit time.Duration) (*sql.Tx, error) {
	set := func(ctx context.Context, limit time.Duration) error {
		l.db.Count(1)
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", limit.Milliseconds()))
		return err
	}
	if err := set(ctx, limit); err != nil {
		return nil, err
	}
	l.db.Count(1)
	tx, err := conn.BeginTx(ctx, nil) // BEGIN IMMEDIATE, see package database
	return tx, errors.Join(err, set(context.WithoutCancel(ctx), database.SQLiteBusyTimeout))
}

// insert makes the row, once, unless it is missed later.
func (l *Lock) insert(ctx context.Context) error {
	if l.made || l.db.Kind == database.SQLite {
		return nil
	}
	var found int
	err := l.db.Row(ctx, "SELECT 1 FROM zklock_forupdate WHERE name = ?", l.name).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = l.db.Exec(ctx, "INSERT INTO zklock_forupdate (name) VALUES (?)", l.name)
		if database.IsDuplicate(err) || database.IsDeadlock(err) {
			err = nil // another contender was faster
		}
	}
	l.made = err == nil
	return err
}

// Unlock releases the lock: it commits the transaction. If this Lock does not hold the lock, Unlock returns
// ErrNotLocked. After any error the lock is not held, and what was written through Tx is lost; unless the error wraps
// database.ErrNoReply, too: then it may have been committed. If ctx ends before the answer comes, Unlock closes the
// connection; the server holds the row until it notices that.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.tx == nil {
		return ErrNotLocked
	}
	l.db.Count(1)
	end := l.end // the end of the ctx that the transaction was begun with closes the connection
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(commitLimit, end) })
	err := l.tx.Commit()
	stop()
	l.tx = nil
	end()
	l.conn.Close() // back to the pool
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: the transaction of %s has ended: %w", ErrNotLocked, l.name, database.Explain(ctx, err))
	if ctx.Err() != nil { // the COMMIT was sent
		err = fmt.Errorf("%w: %w", err, database.ErrNoReply)
	}
	return err
}
