// Package election is exercise 10: one leader at a time, with a hand-over that
// nobody doubts.
package election

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	// ErrLost is what Lead returns, or wraps, if the leadership ended before the
	// leader resigned. A candidate that has not led yet returns another error.
	ErrLost = errors.New("election: leadership lost")
	// ErrStale is what Write returns if the term is not that of the leader.
	ErrStale = errors.New("election: the term has ended")
)

var errNotWritten = errors.New("election: not written yet: docs/exercises/_10-election/lock.go")

// A Candidate may lead. Only one Lead at a time may be called; Write can be called
// by many goroutines.
type Candidate struct {
	conn    *zk.Conn
	path    string
	timeout time.Duration
}

// New returns a candidate of the election whose queue is under path. It sends
// nothing. Timeout is the session timeout that the server has agreed to.
func New(conn *zk.Conn, path string, timeout time.Duration) *Candidate {
	return &Candidate{conn: conn, path: path, timeout: timeout}
}

// Lead waits until the candidate is the leader, calls lead, and resigns when it
// returns. The ctx that lead is given ends with ctx. It also ends when the leadership is lost, and then before
// another candidate leads. Term is the czxid of the leader's node.
//
// Lead returns the error of lead. If the leadership was lost, it returns an error that wraps ErrLost. If ctx ends
// before the candidate leads, it returns an error that wraps ctx.Err().
func (c *Candidate) Lead(ctx context.Context, lead func(ctx context.Context, term int64) error) error {
	return errNotWritten
}

// Write sets the data of a node that exists, in the name of a term. If that is not
// the term of the present leader, Write changes nothing and returns ErrStale.
func (c *Candidate) Write(term int64, path string, data []byte) error {
	return errNotWritten
}

// createParents makes the node dir and those above it, if they are missing. It is
// written already: call it when a create says zk.ErrNoNode, and create again.
func createParents(conn *zk.Conn, dir string) error {
	for {
		_, err := conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another candidate was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := createParents(conn, path.Dir(dir)); err != nil {
			return err
		}
	}
}
