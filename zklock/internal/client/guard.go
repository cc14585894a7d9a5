package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A guard node fences late writes. It has one child, the last mark, and its data is the mark's name, "TOKEN-ID". A Mark
// stands for a hold, and a guarded write checks in the same transaction that the hold's mark is there. No other hold
// has its name: servers that have lost their data give out the same tokens again, and the ID is random. Earlier
// versions of zklock have marks without an ID, and refuse a guard node whose data has one.
type Mark struct {
	Token int64  // of the hold
	ID    string // "": none
}

func (m Mark) String() string {
	if m.ID == "" {
		return fmt.Sprint(m.Token)
	}
	return fmt.Sprintf("%d-%s", m.Token, m.ID)
}

// In returns the path of the mark below a guard node.
func (m Mark) In(path string) string { return path + "/" + m.String() }

// Guard reads the guard node. Then one transaction makes the guard node or writes its data, makes the mark, and deletes
// the last mark. If one of these has changed meanwhile, Guard reads again. Once over returns an error, because the
// lease is over, nothing is sent. After an error of Guard the mark may be there: the same mark is found then.
func (c *Client) Guard(stop <-chan struct{}, over func() error, path string, mark Mark, acl []zk.ACL) error {
	const ofGuard, ofLast = 0, 2 // the indices of the operations on the guard node and on the last mark
	data := fmt.Append(nil, mark)
	var missing Mark // a last mark that somebody has deleted
	for {
		seen, stat, err := c.Get(stop, path)
		there := err == nil
		ops := []any{
			&zk.CreateRequest{Path: path, Data: data, Acl: acl},
			&zk.CreateRequest{Path: mark.In(path), Acl: acl},
		}
		var last Mark
		if there {
			ops[ofGuard] = &zk.SetDataRequest{Path: path, Data: data, Version: stat.Version}
			last, err = parseMark(seen)
			switch {
			case err != nil:
				return err
			case last == mark: // it was made before, perhaps without an answer
				return nil
			case last.Token >= mark.Token: // of two holds with one token the first to come stays
				return fmt.Errorf("%w: %s", ErrFenced, path)
			case last != Mark{} && last != missing:
				ops = append(ops, &zk.DeleteRequest{Path: last.In(path), Version: -1})
			}
		} else if !errors.Is(err, zk.ErrNoNode) {
			return err
		}

		done, err := c.Multi(stop, over, ops...)
		noNode := errors.Is(err, zk.ErrNoNode)
		switch failed := slices.IndexFunc(done, func(r zk.MultiResponse) bool { return r.Error != nil }); {
		case err == nil:
			return nil
		case errors.Is(err, ErrUnknownOutcome): // the next read shows the outcome
		case failed == ofGuard && noNode && !there: // the create needs a parent
			return fmt.Errorf("the parent of the guard has to exist: %w", err)
		case failed == ofGuard && (noNode || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists)):
			// The guard node has been deleted, written or made since it was read.
		case failed == ofLast && noNode:
			missing = last
		default: // a failed create of the mark, too
			return err
		}
		if err := c.Sync(stop); err != nil { // what was read is old
			return err
		}
	}
}

// Guarded carries out all operations, or none: they are package zk's requests. mark is the path of the guard's mark,
// below the guard node at path: if it has gone, Guarded returns ErrFenced. Once over returns an error, nothing is sent.
func (c *Client) Guarded(
	ctx context.Context, tasks *Tasks, over func() error, path, mark string, operations []any,
) ([]zk.MultiResponse, error) {
	began, what := time.Now(), "write with the guard "+path
	if ctx.Err() != nil {
		return nil, c.Ended(ctx, what, began)
	}
	const ofMark, ofOperations = 0, 1 // the indices of the check of the mark, and of the first operation
	all := []any{&zk.CheckVersionRequest{Path: mark, Version: -1}}
	for _, operation := range operations {
		switch operation.(type) {
		case *zk.CreateRequest, *zk.SetDataRequest, *zk.DeleteRequest, *zk.CheckVersionRequest:
		default:
			return nil, fmt.Errorf("zklock: %s: %T is not an operation of a transaction", what, operation)
		}
		if reflect.ValueOf(operation).IsNil() {
			return nil, fmt.Errorf("zklock: %s: the %T is nil", what, operation)
		}
		all = append(all, operation)
	}

	var done []zk.MultiResponse
	var err error
	answered := make(chan struct{}) // closed when done and err are written; Aside may return before, at the end of ctx
	ended := c.Aside(ctx, tasks, what, func(stop <-chan struct{}) error {
		defer close(answered)
		done, err = c.Multi(stop, over, all...)
		return err
	})
	switch {
	case !IsClosed(answered): // the operations may still be carried out
		return nil, fmt.Errorf("%w: %w", ended, ErrUnknownOutcome)
	case err == nil:
		return done[ofOperations:], nil
	case errors.Is(err, ErrStopped): // ctx has ended before anything was sent
		return nil, ended
	case errors.Is(err, ErrFenced):
		return nil, err
	case len(done) > ofMark && errors.Is(done[ofMark].Error, zk.ErrNoNode):
		return nil, fmt.Errorf("%w: %s", ErrFenced, path)
	}
	return done[min(ofOperations, len(done)):], fmt.Errorf("zklock: %s: %w", what, err)
}

// parseMark returns the mark whose name is the data of a guard node, and none if that is empty.
func parseMark(data []byte) (mark Mark, err error) {
	if len(data) == 0 {
		return mark, nil
	}
	token, id, _ := strings.Cut(string(data), "-")
	if mark.Token, err = strconv.ParseInt(token, 10, 64); err != nil || strings.Contains(id, "/") {
		return mark, errors.New("the node is not a guard: its data is not a token")
	}
	mark.ID = id
	return mark, nil
}
