package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrFenced is zklock's.
var ErrFenced = errors.New("zklock: a later holder guards the data, or the guard node was deleted")

// GuardMark returns the child of a guard node that is named after a token: no later Guard
// makes one of that name.
func GuardMark(path string, token int64) string { return fmt.Sprintf("%s/%d", path, token) }

// Guard makes the mark of a token below the guard node, and deletes that of the last Guard.
// The data of the guard node is the token of the last Guard.
func (c *Client) Guard(stop <-chan struct{}, path string, token int64, acl []zk.ACL) error {
	data := fmt.Append(nil, token)
	missing := int64(0) // the token of a mark that somebody has deleted
	for {
		seen, stat, err := c.Get(stop, path)
		there := err == nil
		ops := []any{
			&zk.CreateRequest{Path: path, Data: data, Acl: acl},
			&zk.CreateRequest{Path: GuardMark(path, token), Acl: acl},
		}
		last := int64(0)
		if there {
			ops[0] = &zk.SetDataRequest{Path: path, Data: data, Version: stat.Version}
			last, err = guardToken(seen)
			switch {
			case err != nil || last == token:
				return err // it was made before, perhaps without an answer
			case last > token:
				return fmt.Errorf("%w: %s", ErrFenced, path)
			case last != 0 && last != missing:
				ops = append(ops, &zk.DeleteRequest{Path: GuardMark(path, last), Version: -1})
			}
		} else if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		done, err := c.Multi(stop, ops...)
		switch failed := slices.IndexFunc(done, func(r zk.MultiResponse) bool { return r.Error != nil }); {
		case err == nil:
			return nil
		case errors.Is(err, ErrUnknownOutcome):
		case failed == 0 && (errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) || there && errors.Is(err, zk.ErrNoNode)):
		case failed == 0 && errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("the parent of the guard has to exist: %w", err)
		case failed == 2 && errors.Is(err, zk.ErrNoNode):
			missing = last
		default:
			return err
		}
		if err := c.Sync(stop); err != nil { // what was read is old
			return err
		}
	}
}

// Guarded carries out all operations, or none: they are package zk's requests. It returns
// ErrFenced if the mark of the guard at path has gone.
func (c *Client) Guarded(ctx context.Context, tasks *Tasks, path, mark string, operations []any) ([]zk.MultiResponse, error) {
	began, what := time.Now(), "write with the guard "+path
	if ctx.Err() != nil {
		return nil, c.Ended(ctx, what, began)
	}
	all := []any{&zk.CheckVersionRequest{Path: mark, Version: -1}}
	for _, operation := range operations {
		switch operation.(type) {
		case *zk.CreateRequest, *zk.SetDataRequest, *zk.DeleteRequest, *zk.CheckVersionRequest:
			all = append(all, operation)
		default:
			return nil, fmt.Errorf("zklock: %s: %T is not an operation of a transaction", what, operation)
		}
	}
	type outcome struct {
		done []zk.MultiResponse
		err  error
	}
	answer := make(chan outcome, 1)
	ended := c.Aside(ctx, tasks, what, func(stop <-chan struct{}) error {
		done, err := c.Multi(stop, all...)
		answer <- outcome{done, err}
		return err
	})
	var o outcome
	select {
	case o = <-answer:
	default:
		return nil, fmt.Errorf("%w: %w", ended, ErrUnknownOutcome)
	}
	switch {
	case o.err == nil:
		return o.done[1:], nil
	case errors.Is(o.err, ErrStopped):
		return nil, ended // and nothing was sent
	case len(o.done) > 0 && errors.Is(o.done[0].Error, zk.ErrNoNode):
		return nil, fmt.Errorf("%w: %s", ErrFenced, path)
	}
	return o.done[min(1, len(o.done)):], fmt.Errorf("zklock: %s: %w", what, o.err)
}

// guardToken returns the token in the data of a guard node, 0 if it is empty.
func guardToken(data []byte) (token int64, err error) {
	if len(data) == 0 {
		return 0, nil
	}
	if token, err = strconv.ParseInt(string(data), 10, 64); err != nil {
		return 0, errors.New("the node is not a guard: its data is not a token")
	}
	return token, nil
}
