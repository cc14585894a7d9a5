package zklock

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
)

var (
	// ErrFenced: the lease is over, and the error then wraps ErrLost or ErrUnlocked, too; a later holder of the lock
	// has made its Guard; or somebody has deleted the guard node. Nothing was written.
	ErrFenced = client.ErrFenced
	// ErrUnknownOutcome: a write's answer was lost, or ctx ended first. The write was carried out, or not, or will be.
	ErrUnknownOutcome = client.ErrUnknownOutcome
)

// A Guard fences data that is in the same ZooKeeper as the lock: a write by it is carried out only as long as no later
// holder of the lock has made its own Guard. It is safe for concurrent use. It needs no release: the next holder's
// Guard replaces it. For that the guard node has one child, which stands for the latest hold with a Guard, and the
// transaction of each write checks that this child exists.
//
// A check of the holder's node in the same transaction is not enough: owners of a Mutex hand the lock on without a new
// node, so a late write of the last owner would be carried out. Nor is a check of the version of a node that has the
// token, because the versions of a node that was deleted begin again at 0.
type Guard struct {
	lease    *Lease
	path     string
	markPath string // of the child that stands for the hold: no other hold's Guard makes one of that name
}

// Guard makes the lease's guard at path, which is the same one for all holders of the lock: a node of its own, whose
// parent exists, and neither the lock's path nor below it. The guards of earlier holders are void when Guard returns.
// Until then an earlier holder that has not noticed its loss may still write; so read the data after Guard.
//
// The node at path has one child, whose name begins with the token of the last Guard, and that name as
// its data. Guard sends two requests; a later call for the same lease sends one.
//
// Guard returns ErrFenced if the lease is over, which sends nothing, or if a later holder has made its Guard. Any other
// error says which argument is wrong, or wraps the server's error or ctx.Err(), and Guard may be called again.
func (l *Lease) Guard(ctx context.Context, path string) (*Guard, error) {
	l.check()
	m := l.m
	err := client.CheckPath(path)
	if err == nil && strings.HasPrefix(path+"/", m.path+"/") {
		err = fmt.Errorf("%w: the guard needs a path outside that of the lock, %s", zk.ErrInvalidPath, m.path)
	}
	if err != nil {
		return nil, fmt.Errorf("zklock: guard %q: %w", path, err)
	}
	checkNotOver := func() error { return l.checkNotOver(path) }
	if err := checkNotOver(); err != nil {
		return nil, err
	}
	mark := l.mark()
	err = m.client.Aside(ctx, &m.tasks, "make the guard "+path, func(stop <-chan struct{}) error {
		return m.client.Guard(stop, checkNotOver, path, mark, m.acl)
	})
	if err != nil {
		return nil, err
	}
	return &Guard{l, path, mark.In(path)}, nil
}

// mark returns what stands for the hold in the name of the guard node's child; it is the same for all leases of a hold.
func (l *Lease) mark() client.Mark {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.turn.mark.ID == "" {
		l.turn.mark = client.Mark{Token: l.turn.token, ID: rand.Text()}
	}
	return l.turn.mark
}

// checkNotOver returns ErrFenced if the lease is over.
func (l *Lease) checkNotOver(path string) error {
	l.Lost() // which ends the lease if the wall clock says that its session may be over
	if l.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrFenced, path, context.Cause(l.ctx))
}

// Multi carries out all operations, which are package zk's requests, or none of them. It returns a result for each, and
// ErrFenced if the guard is void. If the lease is over, or an operation is nil or of another type, nothing is sent.
// Other errors are the server's, as zk.ErrBadVersion: nothing was written, and the failed operation's result has it.
//
// As long as no server can be reached, Multi waits. A write that was sent is not sent
// again: if its answer is lost, the error wraps ErrUnknownOutcome. If ctx ends, the error
// wraps ctx.Err(), and ErrUnknownOutcome, too, unless nothing was sent.
func (g *Guard) Multi(ctx context.Context, operations ...any) ([]zk.MultiResponse, error) {
	if g == nil || g.lease == nil {
		panic("zklock: a Guard is what Lease.Guard returns with a nil error")
	}
	m := g.lease.m
	checkNotOver := func() error { return g.lease.checkNotOver(g.path) }
	return m.client.Guarded(ctx, &m.tasks, checkNotOver, g.path, g.markPath, operations)
}

// Set is zk.Conn's Set. Its errors are those of Multi.
func (g *Guard) Set(ctx context.Context, path string, data []byte, version int32) (*zk.Stat, error) {
	done, err := g.Multi(ctx, &zk.SetDataRequest{Path: path, Data: data, Version: version})
	if err != nil {
		return nil, err
	}
	return done[0].Stat, nil
}

// Create is zk.Conn's Create. Its errors are those of Multi.
func (g *Guard) Create(ctx context.Context, path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	done, err := g.Multi(ctx, &zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: flags})
	if err != nil {
		return "", err
	}
	return done[0].String, nil
}

// Delete is zk.Conn's Delete. Its errors are those of Multi.
func (g *Guard) Delete(ctx context.Context, path string, version int32) error {
	_, err := g.Multi(ctx, &zk.DeleteRequest{Path: path, Version: version})
	return err
}
