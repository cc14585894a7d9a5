package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/conns"
)

// definiteAnswers are the results of a request that a server has answered, and that it decides once and for all.
var definiteAnswers = []error{
	nil, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals,
}

// answersOfOneServer are those with which a single server, without asking the leader, may refuse a write: it does if it
// runs with zookeeper.enableEagerACLCheck.
var answersOfOneServer = []error{zk.ErrNoNode, zk.ErrNoAuth, zk.ErrInvalidACL}

// refusals are errors of the client, or of the server, that the next try would meet, too.
var refusals = []error{
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrBadArguments, zk.ErrAuthFailed, zk.ErrAPIError, zk.ErrReconfigDisabled,
}

// passing are codes for which the client has no name: the server is in trouble (-1 to -5),
// has waited too long (-7), or has too much to do. The next try may have another answer.
var passing = []string{"-1", "-2", "-3", "-4", "-5", "-7", "-127"}

func oneOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// transient reports whether the next try may have another answer. If a write fails, the client returns the net
// package's error, whatever that is. So every other error is transient.
func transient(err error) bool {
	code, unnamed := serverCode(err)
	return !oneOf(err, refusals) && (!unnamed || slices.Contains(passing, code))
}

// meanings has what a server says by a code for which the client has no name.
var meanings = map[string]string{
	"-124": "the server refuses clients that do not authenticate (enforce.auth.enabled)",
	"-125": "a quota of the path is exceeded", "-127": "the server has too much to do",
}

// explain says in words what a server's error code means.
func explain(err error) error {
	if err != nil {
		if code, _ := serverCode(err); meanings[code] != "" {
			return fmt.Errorf("%s: %w", meanings[code], err)
		}
	}
	return err
}

// serverCode returns a server's error code for which the client has no name.
func serverCode(err error) (code string, unnamed bool) {
	return strings.CutPrefix(err.Error(), "unknown error: ")
}

// noAnswer is the error of a request without a definite answer: it may have been carried out, or not.
type noAnswer struct {
	server string
	err    error
}

func (e *noAnswer) Error() string {
	return fmt.Sprintf("no answer from %s: %v", e.server, explain(e.err))
}
func (e *noAnswer) Unwrap() error { return e.err }

// busy returns 1, for a count, if a server has answered that it could not carry out the request now, and else 0.
func (e *noAnswer) busy() int {
	if _, unnamed := serverCode(e.err); unnamed {
		return 1
	}
	return 0
}

// maybe reports whether a request with this error may have been carried out: it was not answered, and the client has
// not dropped it before it was sent.
func maybe(err error) bool {
	var lost *noAnswer
	return errors.As(err, &lost) && !errors.Is(err, zk.ErrNoServer)
}

// ErrTooSlow, ErrUnknownOutcome and ErrFenced are zklock's, which documents them.
var (
	ErrFenced  = errors.New("zklock: the lease is over, a later holder guards the data, or the guard node was deleted")
	ErrTooSlow = errors.New("zklock: the servers answer too slowly for the session timeout: " +
		"a round trip must take less than a twelfth of it")
	ErrUnknownOutcome = errors.New("zklock: the write was not answered: it was carried out, or it was not, or it will be")
)

var (
	// ErrClosed: the session ends with the client, and all its nodes go.
	ErrClosed = fmt.Errorf("the client has been closed: %w", zk.ErrClosing)
	// ErrGone: a node has gone, or its session has.
	ErrGone = errors.New("the node in the queue has gone")
	// ErrStopped: the answer is no longer needed.
	ErrStopped = errors.New("zklock: the answer is no longer needed")
)

const shortPause = 100 * time.Millisecond

// again waits before the next try; the pause grows with the number of times that the server was too busy. It returns
// err if another try makes no sense, ErrStopped once stop is closed, and ErrClosed if the client has been closed.
func (c *Client) again(err error, stop <-chan struct{}, busy int) error {
	if err := c.final(err); err != nil {
		return err
	}
	return c.pause(c.backoff(busy), stop)
}

// final returns nil if a request that has failed with err may be tried again.
func (c *Client) final(err error) error {
	var lost *noAnswer
	if !errors.As(err, &lost) {
		return err
	}
	if errors.Is(err, zk.ErrShortBuffer) { // and it will not grow
		return fmt.Errorf("the client sends no packet that large, see zk.WithMaxConnBufferSize: %w", lost.err)
	}
	c.mu.Lock()
	c.trouble, c.troubleAt = lost, time.Now()
	c.mu.Unlock()
	if errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrConnectionClosed) && conns.Closed(c.conn) {
		c.close()
		return ErrClosed
	}
	return nil
}

// backoff is the pause after a server has refused a request n times: it grows, up to a third of the session timeout.
func (c *Client) backoff(n int) time.Duration { return min(shortPause<<min(n, 10), c.Timeout()/3) }

func (c *Client) pause(d time.Duration, stop <-chan struct{}) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.closed:
		return ErrClosed
	case <-stop:
		return ErrStopped
	}
}

// Ended returns the error of a call whose ctx has ended. It wraps ctx.Err() and, if a request had no answer, the error
// of the last one. It says if the client has no server, or waits for one.
func (c *Client) Ended(ctx context.Context, what string, began time.Time) error {
	err := conns.WhyEnded(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	silent := time.Since(c.waitingSince)
	switch {
	case c.trouble != nil && c.troubleAt.After(began):
		err = fmt.Errorf("%w (%w)", err, c.trouble)
	case c.conn.State() != zk.StateHasSession:
		tried := "it tries to connect again"
		if known := conns.Of(c.conn); known != nil {
			tried = known.Report()
		}
		err = fmt.Errorf("%w (the client has no server: %s)", err, tried)
	case c.underWay > 0 && silent > shortPause:
		err = fmt.Errorf("%w (%s has not answered for %v)", err, c.conn.Server(), silent.Round(time.Millisecond))
	}
	return fmt.Errorf("zklock: %s, after %v: %w", what, time.Since(began).Round(time.Millisecond), err)
}

// Trouble says what is wrong with the servers if the client has none. refused: one of them refuses its session.
func (c *Client) Trouble() (report string, refused bool) {
	known := conns.Of(c.conn)
	if known == nil || c.conn.State() == zk.StateHasSession {
		return "", false
	}
	return known.Report(), known.Refused()
}

// Aside runs f as a task, because its requests cannot be cancelled, and waits until it is done or ctx ends. The end of
// ctx closes f's stop, so that f makes no further request.
func (c *Client) Aside(ctx context.Context, tasks *Tasks, what string, f func(stop <-chan struct{}) error) error {
	began := time.Now()
	done := make(chan error, 1)
	tasks.Spawn(func() { done <- f(ctx.Done()) })
	err := ErrStopped
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	switch {
	case errors.Is(err, ErrStopped):
		return c.Ended(ctx, what, began)
	case err != nil:
		return fmt.Errorf("zklock: %s: %w", what, err)
	}
	return nil
}
