// Package sqlrow is article B's first lock: a row with a unique key.
//
// The idea: a table can hold only one row with a given key, so the contender whose insert succeeds holds the lock, and
// deletes the row to release it. The article names four faults of it and four remedies. This lock has three of the
// remedies:
//
//   - "The database is a single point": the article copies two databases to each other. That gives the lock to two
//     holders, because each database grants it before it has the other's row; the test
//     TestTwoDatabasesThatCopyToEachOtherGiveTwoHolders forces it. Not cured here. The cure is a majority, such as
//     ZooKeeper's.
//   - "It does not block": Lock inserts in a loop, as the article says, but pauses after each attempt: 1 ms at first,
//     then twice as long each time up to 64 ms, and each pause is random between half of that and all of it. Without
//     pauses the waiters keep the database from serving the holder.
//   - "It has no expiry": the row has one, by the database's clock, so the clocks of the clients do not matter. The
//     article's timed job deletes the rows that have expired: Sweep. The waiters run it, each once a second, and
//     TryLock each time that it finds a row.
//   - "It is not reentrant": the row names its owner and counts. The article looks into the database first to see
//     whether the row is its own. This lock does the same while it acts as the holder: a counter in memory would not
//     notice the expiry (bug B4).
//
// Cost: 2 statements if the lock is free; with N contenders the load grows as N².
//
// Remaining faults:
//
//   - Nobody queues: a waiter can starve, and a newcomer, whose pauses are short, overtakes those that came before. A
//     watch or a queue at the server cures it: package sqlforupdate, or steps 2 and 3.
//   - After a release the lock is free until the next attempt, with one waiter up to 64 ms.
//   - A holder that works longer than its row lives loses the lock and does not notice before Unlock. Renewal (package
//     redis has it) makes that rarer, but only a fencing token that the resource compares makes it harmless (bug E1):
//     NewFenced has one. The article's id column, auto_increment, is nearly one: but an insert that is slow gets its id
//     before it gets its row.
//   - If the reply to an insert is lost, the row is there and the contender has no reply that says so. Lock returns an
//     error that wraps database.ErrNoReply, and tries to delete the row by its owner, which is new in each acquisition.
//     So it does if its ctx ends and the server does not answer that it has ended the insert. If that fails, too, the
//     row stays until it expires. To insert again would be to wait for one's own row, as on Redis:
//     TestAClientThatRetriesWaitsForItself.
package sqlrow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/limits"
)

// ErrNotLocked is returned by Unlock, and by Lock of a holder that locks again,
// when the Lock does not hold its lock: it never did, or its row has expired.
var ErrNotLocked = errors.New("sqlrow: not locked")

var (
	sweepEvery = time.Second
	cleanUp    = 2 * time.Second // the time that a failed attempt may take to remove its row
)

// Prepare creates the tables unless they exist.
func Prepare(ctx context.Context, db *database.DB) error {
	// The key is the article's uidx_method_name. times and expires are what its remedies add.
	err := db.CreateTable(ctx, "zklock_row", `
		method_name {name}      NOT NULL PRIMARY KEY,
		owner       VARCHAR(64) NOT NULL,
		times       INTEGER     NOT NULL,
		expires     BIGINT      NOT NULL`)
	if err != nil {
		return err
	}
	// For NewFenced.
	return db.CreateTable(ctx, "zklock_holders", "name {name} NOT NULL PRIMARY KEY, holders BIGINT NOT NULL")
}

// A Lock is one contender for a named lock. It is for one goroutine at a time, and can be used again after Unlock.
type Lock struct {
	db       *database.DB
	name     string
	ttl      time.Duration
	owner    string // of our row while we hold the lock
	times    int    // that we hold it, by the replies so far
	swept    time.Time
	fenced   bool  // made by NewFenced
	token    int64 // of a fenced lock
	attempts atomic.Int64
}

// New returns a contender for the lock of that name, whose row lives for ttl
// unless it is released earlier. Prepare must have created the tables.
func New(db *database.DB, name string, ttl time.Duration) *Lock {
	return &Lock{db: db, name: name, ttl: ttl}
}

// Attempts is the number of times that the contender has asked for the lock.
func (l *Lock) Attempts() int64 { return l.attempts.Load() }

// Lock waits until it holds the lock or ctx ends. If it returns an error it does
// not hold the lock; the error wraps ctx.Err() if that was the reason.
func (l *Lock) Lock(ctx context.Context) error {
	return limits.Poll(ctx, "sqlrow: lock "+l.name, func(ctx context.Context) (bool, error) { return l.attempt(ctx, false) })
}

// TryLock takes the lock if nobody holds it, or if this Lock does. It returns
// false and no error only if another contender holds the lock.
func (l *Lock) TryLock(ctx context.Context) (bool, error) { return l.attempt(ctx, true) }

// attempt inserts the row. If a row is there it may have expired: an attempt of Lock looks for such rows once a second,
// and one that is the last looks each time, and inserts again also if another contender has deleted the row meanwhile.
func (l *Lock) attempt(ctx context.Context, last bool) (bool, error) {
	l.attempts.Add(1)
	if l.times > 0 {
		return l.again(ctx)
	}
	held, err := l.insert(ctx)
	if held || err != nil || !last && time.Since(l.swept) < sweepEvery {
		return held, err
	}
	l.swept = time.Now()
	if swept, err := Sweep(ctx, l.db); err != nil || swept == 0 && !last {
		return false, err
	}
	return l.insert(ctx)
}

const insertRow = "INSERT INTO zklock_row (method_name, owner, times, expires) VALUES (?, ?, 1, {now} + ?)"

func (l *Lock) insert(ctx context.Context) (bool, error) {
	owner := rand.Text()
	var token int64
	var err error
	if l.fenced {
		token, err = l.insertFenced(ctx, owner)
		err = database.Explain(ctx, err)
	} else {
		_, err = l.db.Exec(ctx, insertRow, l.name, owner, l.ttl.Milliseconds())
	}
	switch {
	case err == nil:
		l.owner, l.times, l.token = owner, 1, token
		return true, nil
	case database.IsDuplicate(err), database.IsDeadlock(err):
		return false, nil
	}
	// The row may be there all the same: the reply was lost, or ctx ended after the statement was sent.
	if !database.IsAnswer(err) {
		limits.CleanUp(ctx, cleanUp, func(ctx context.Context) {
			l.db.Exec(ctx, "DELETE FROM zklock_row WHERE method_name = ? AND owner = ?", l.name, owner)
		})
	}
	return false, fmt.Errorf("sqlrow: lock %s: %w", l.name, err)
}

// again counts up, if the row is still ours, and gives it a new life.
func (l *Lock) again(ctx context.Context) (bool, error) {
	rows, err := l.db.Exec(ctx, "UPDATE zklock_row SET times = times + 1, expires = {now} + ? "+
		"WHERE method_name = ? AND owner = ? AND expires > {now}", l.ttl.Milliseconds(), l.name, l.owner)
	if err != nil {
		return false, fmt.Errorf("sqlrow: lock %s again: %w", l.name, err)
	}
	if rows == 0 {
		return false, l.lost()
	}
	l.times++
	return true, nil
}

// Unlock releases the lock, if it was locked once; otherwise it counts down. If this Lock does not hold the lock,
// Unlock returns ErrNotLocked and deletes no other contender's row. After any other error the lock may still be held,
// and Unlock can be called again.
func (l *Lock) Unlock(ctx context.Context) error {
	var rows int64
	var err error
	switch {
	case l.times == 0:
		return ErrNotLocked
	case l.times > 1:
		rows, err = l.db.Exec(ctx, "UPDATE zklock_row SET times = times - 1 WHERE method_name = ? AND owner = ?", l.name, l.owner)
	default:
		rows, err = l.db.Exec(ctx, "DELETE FROM zklock_row WHERE method_name = ? AND owner = ?", l.name, l.owner)
	}
	if err != nil {
		return fmt.Errorf("sqlrow: unlock %s: %w", l.name, err)
	}
	if rows == 0 {
		return l.lost()
	}
	l.times--
	return nil
}

func (l *Lock) lost() error {
	l.times = 0
	return fmt.Errorf("%w: the row of %s has expired", ErrNotLocked, l.name)
}

// Sweep is the article's timed job: it deletes all rows that have expired, and returns how many there were.
func Sweep(ctx context.Context, db *database.DB) (rows int64, err error) {
	rows, err = db.Exec(ctx, "DELETE FROM zklock_row WHERE expires <= {now}")
	if err != nil && !database.IsDeadlock(err) {
		return rows, fmt.Errorf("sqlrow: sweep: %w", err)
	}
	return rows, nil
}
