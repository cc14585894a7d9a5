// Package sqlversion is article B's optimistic lock: a version beside the data.
//
// The idea, and the article's example: clients sell from a stock. Each reads the stock and its version, does its work,
// and then updates the row only if the version is still the one that it has read. Of two clients that have read the
// same version one succeeds; the other finds that it has changed no row, and begins again. It is not a lock: nobody
// holds anything and nobody waits, so nothing can be left behind by a crash, and a client that was paused cannot write
// late: its version is old. That makes the version a fencing token that the resource itself compares.
//
// Cost: 2 statements an attempt; if N clients come at once and go in step, (N+1)/2 attempts
// each. A failed attempt is followed by a random pause, so that not all go in step.
//
// Remaining faults:
//
//   - The work between reading and writing is done for nothing when the attempt fails, so it must have no other effect,
//     such as a letter that was sent.
//   - Nobody queues: a client can starve. Package sqlforupdate queues.
//   - If the reply to an update is lost, the client cannot see whether it has sold. Buy returns an error that wraps
//     database.ErrNoReply and does not try again: it might sell twice, as TestAfterALostReplyThePieceMayBeTaken shows.
//     The cure is a row with the order's own id, inserted in the same transaction.
//   - The article's updated_at in place of a version: two updates in the same tick of the clock look like one. A column
//     of whole seconds, the article's datetime, loses updates; the test TestATimestampForAVersionLosesUpdates forces
//     it.
package sqlversion

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.com/zklock/docs/other-locks/database"
	"example.com/zklock/docs/other-locks/limits"
)

// ErrSoldOut is returned by Buy when nothing is left.
var ErrSoldOut = errors.New("sqlversion: sold out")

// Prepare creates the table unless it exists.
func Prepare(ctx context.Context, db *database.DB) error {
	return db.CreateTable(ctx, "zklock_version", `
		id       {name}  NOT NULL PRIMARY KEY,
		resource INTEGER     NOT NULL,
		version  INTEGER     NOT NULL`)
}

// A Stock is something that can be sold. It may be used concurrently.
type Stock struct {
	db       *database.DB
	id       string
	attempts atomic.Int64
}

// New returns the stock of that id.
func New(db *database.DB, id string) *Stock { return &Stock{db: db, id: id} }

// Put makes the stock, with so many pieces. It fails if the stock exists.
func (s *Stock) Put(ctx context.Context, pieces int) error {
	if _, err := s.db.Exec(ctx, "INSERT INTO zklock_version (id, resource, version) VALUES (?, ?, 1)", s.id, pieces); err != nil {
		return fmt.Errorf("sqlversion: put %s: %w", s.id, err)
	}
	return nil
}

// A Reading is a value that a client has read: step 1 of the article.
type Reading struct {
	Resource, Version int
}

// Read reads the stock and its version.
func (s *Stock) Read(ctx context.Context) (r Reading, err error) {
	err = s.db.Row(ctx, "SELECT resource, version FROM zklock_version WHERE id = ?", s.id).Scan(&r.Resource, &r.Version)
	if err != nil {
		return r, fmt.Errorf("sqlversion: read %s: %w", s.id, database.Explain(ctx, err))
	}
	return r, nil
}

// Take takes one piece if nothing has changed since the reading: step 3 of the
// article. It returns false if something has.
func (s *Stock) Take(ctx context.Context, r Reading) (bool, error) {
	rows, err := s.db.Exec(ctx, "UPDATE zklock_version SET resource = resource - 1, version = version + 1 "+
		"WHERE id = ? AND version = ?", s.id, r.Version)
	if database.IsDeadlock(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sqlversion: take from %s: %w", s.id, err)
	}
	return rows == 1, nil
}

// Attempts is the number of times that clients have tried to take a piece.
func (s *Stock) Attempts() int64 { return s.attempts.Load() }

// Buy takes one piece, and tries until it succeeds, nothing is left, or ctx ends. After any error but ErrSoldOut the
// piece may have been taken all the same.
func (s *Stock) Buy(ctx context.Context) error {
	return limits.Poll(ctx, "sqlversion: buy from "+s.id, func(ctx context.Context) (bool, error) {
		s.attempts.Add(1)
		r, err := s.Read(ctx)
		if err != nil {
			return false, err
		}
		if r.Resource < 1 {
			return false, ErrSoldOut
		}
		return s.Take(ctx, r)
	})
}
