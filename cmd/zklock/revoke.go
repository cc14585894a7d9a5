package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

// passBits are the low bits of a token, in which a Mutex counts how many times it has handed the lock on. The other
// bits are the czxid of its node, so tokens that differ in these bits alone are of one node.
const passBits = 10

// revoke asks the holder of the lock to release it, or the contender that has the token of -token.
func (c *call) revoke(ctx context.Context) int {
	conn, mutex, status := c.open(ctx)
	if status != 0 {
		return status
	}
	defer conn.Close()
	queue, _, err := c.queue(ctx, conn)
	if err != nil {
		return c.fail(exitUnavailable, err)
	}
	i := slices.IndexFunc(queue, func(p contender) bool {
		return c.token == 0 && p.Holds || c.token != 0 && p.Token>>passBits == c.token>>passBits // 0: no -token
	})
	switch {
	case i < 0 && c.token == 0:
		c.print("nobody holds %s", c.path)
		return 0
	case i < 0:
		return c.fail(exitFailure, i18n.Errorf("nobody has the token %d", c.token))
	}
	p := queue[i]
	if p.Library != "zklock" && p.Library != "Curator mutex" {
		return c.fail(exitFailure, i18n.Errorf("%s (%v) does not read requests, and was not asked", shown(p.Data), p.library()))
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := mutex.Revoke(asking, zklock.Participant{Node: p.Node, Token: p.Token}); {
	case errors.Is(err, zklock.ErrNotAsked):
		return c.fail(exitFailure, i18n.Errorf(
			"%s may be the id of a LeaderSelector, and was not asked; for a mutex: zkCli.sh set %s __REVOKE__", shown(p.Data), p.Node))
	case err != nil:
		return c.fail(exitUnavailable, err)
	}
	c.print("asked %s, %s, token %d, to release %s", shown(p.Owner), shown(p.Data), p.Token, c.path)
	return c.awaitRelease(ctx, conn, p)
}

// awaitRelease waits until a contender that was asked has left the queue, at most for the time of -wait.
func (c *call) awaitRelease(ctx context.Context, conn *zk.Conn, p contender) int {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	for {
		queue, changed, err := c.queue(ctx, conn)
		took := time.Since(asked).Round(time.Millisecond)
		switch {
		case err == nil && !slices.ContainsFunc(queue, func(q contender) bool { return q.Node == p.Node }):
			c.print("it has gone, after %v", took)
			return 0
		case ctx.Err() != nil:
			return c.fail(exitHeld, i18n.Errorf("it is still there, %v after the request", took))
		case err != nil:
			return c.fail(exitUnavailable, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
