// Package election elects one leader among candidates: step 3's queue, in which
// the first leads, and a clock that ends its term before its session can end.
//
// The server ends a session when it has received nothing for the session timeout.
// After an answer the leader's session lives for a timeout from when the leader
// sent the request. The leader leads for two thirds of that, and asks again in
// time.
package election

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	// ErrLost is what Lead returns, or wraps, if the leadership ended before the
	// leader resigned: its session may have ended, or its node has gone. It is the
	// cause of the end of the leader's ctx, too.
	ErrLost = errors.New("election: leadership lost")
	// ErrStale is what Write returns if the term is not that of the leader.
	ErrStale = errors.New("election: the term has ended")
)

const prefix = "candidate-" // the server appends the number, ten digits

// A Candidate may lead. Only one Lead at a time may be called; Write can be called
// by many goroutines.
type Candidate struct {
	conn    *zk.Conn
	path    string
	timeout time.Duration

	mu   sync.Mutex // guards what follows
	node string     // our node's path while we lead; "" when we do not
	term int64
}

// New returns a candidate of the election whose queue is under path. Timeout is
// the session timeout that the server has agreed to.
func New(conn *zk.Conn, path string, timeout time.Duration) *Candidate {
	return &Candidate{conn: conn, path: path, timeout: timeout}
}

// Lead waits until the candidate is the leader, calls lead, and resigns when it
// returns. The ctx that lead is given ends with ctx, and when the leadership is
// lost. Nobody else leads before lead has returned, or its ctx has ended by the
// loss. Terms grow from leader to leader.
//
// Lead returns the error of lead, joined with ErrLost if the leadership was lost.
// If ctx ends before the candidate leads, the error wraps ctx.Err(), and the
// candidate has left the queue or the error says that its node is still there.
func (c *Candidate) Lead(ctx context.Context, lead func(ctx context.Context, term int64) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("election: stand at %s: %w", c.path, err)
	}
	node, err := c.enqueue()
	if err != nil {
		return err
	}
	if err := c.wait(ctx, node); err != nil {
		return c.giveUp(node, err)
	}
	sent := time.Now()
	_, stat, err := c.conn.Get(node)
	if err != nil {
		return c.giveUp(node, err)
	}
	c.reigns(node, stat.Czxid)
	reign, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	// The timer and keep only end the ctx: the node is deleted when lead has returned.
	last := time.AfterFunc(time.Until(c.safe(sent)), func() { end(ErrLost) })
	go c.keep(node, last, end, over)
	err = lead(reign, stat.Czxid)
	close(over)
	last.Stop()
	if errors.Is(context.Cause(reign), ErrLost) {
		err = errors.Join(err, ErrLost)
	}
	end(nil)
	c.reigns("", 0)
	return errors.Join(err, c.giveUp(node, nil))
}

// safe is the time until which the leader may rely on its session, if the server
// has received a request that was sent at this time.
func (c *Candidate) safe(sent time.Time) time.Time { return sent.Add(c.timeout * 2 / 3) }

// keep shows again and again that the session lives, and postpones its end. It
// sends a transaction, because a server that is cut off from the others still
// answers reads; one that changes nothing, because the next candidate watches the
// node and would wake.
func (c *Candidate) keep(node string, last *time.Timer, end context.CancelCauseFunc, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(c.timeout / 6):
		}
		sent := time.Now()
		err := c.transact(node)
		switch {
		case err == nil:
			last.Reset(time.Until(c.safe(sent)))
		case errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer):
			// The client connects again, perhaps in time.
		default:
			end(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
	}
}

func (c *Candidate) reigns(node string, term int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node, c.term = node, term
}

// Write sets the data of a node that exists, in the name of a term. If that is not
// the term of the present leader, Write changes nothing and returns ErrStale.
func (c *Candidate) Write(term int64, path string, data []byte) error {
	c.mu.Lock()
	node, current := c.node, c.term
	c.mu.Unlock()
	if node == "" || term != current {
		return ErrStale
	}
	err := c.transact(node, &zk.SetDataRequest{Path: path, Data: data, Version: -1})
	if err != nil && !errors.Is(err, ErrStale) {
		err = fmt.Errorf("election: write %s: %w", path, err)
	}
	return err
}

// transact carries out what it is given if our node is there, and returns ErrStale
// if it is not. Between a look and a write the next leader may begin.
func (c *Candidate) transact(node string, ops ...any) error {
	results, err := c.conn.Multi(append([]any{&zk.CheckVersionRequest{Path: node, Version: -1}}, ops...)...)
	if len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
		return ErrStale
	}
	return err
}

// wait returns when our node is the first in the queue.
func (c *Candidate) wait(ctx context.Context, node string) error {
	for {
		before, err := c.predecessor(node)
		if err != nil || before == "" {
			return errors.Join(err, ctx.Err()) // it may have ended at the last moment
		}
		// GetW and not ExistsW: if the node was deleted after the list was
		// read, ExistsW would set a watch that nothing ever fires.
		_, _, changed, err := c.conn.GetW(c.path + "/" + before)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		select {
		case event := <-changed:
			if event.Err != nil {
				return event.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enqueue creates our node, at the end of the queue.
func (c *Candidate) enqueue() (node string, err error) {
	for {
		node, err = c.conn.Create(c.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			err = c.createParents(c.path)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("election: stand at %s: %w", c.path, err)
		}
		return node, nil
	}
}

func (c *Candidate) createParents(dir string) error {
	for {
		_, err := c.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another candidate was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := c.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// predecessor returns the name of the node just before ours in the queue, ""
// if ours is the first.
func (c *Candidate) predecessor(node string) (before string, err error) {
	children, _, err := c.conn.Children(c.path)
	if err != nil {
		return "", err
	}
	name := path.Base(node)
	found := false
	for _, child := range children {
		if !strings.HasPrefix(child, prefix) {
			continue // this node is not a candidate's
		}
		switch strings.Compare(child, name) {
		case 0:
			found = true
		case -1:
			before = max(before, child)
		}
	}
	if !found {
		return "", fmt.Errorf("our node is gone, most likely with its session: %w", zk.ErrNoNode)
	}
	return before, nil
}

// giveUp leaves the queue: a node left behind would block all later
// candidates. It returns cause, joined with the error of the delete, if any.
func (c *Candidate) giveUp(node string, cause error) error {
	if cause != nil {
		cause = fmt.Errorf("election: wait at %s: %w", node, cause)
	}
	if errors.Is(cause, zk.ErrSessionExpired) || errors.Is(cause, zk.ErrClosing) {
		return cause // the server deletes the node at the end of the session
	}
	// When a connection breaks, the requests under way fail. A moment later
	// the client has noticed, and the next delete waits for a new connection.
	var err error
	for range 3 {
		err = c.conn.Delete(node, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return cause
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(cause, fmt.Errorf("election: %s stays in the queue until its session ends: %w", node, err))
}
