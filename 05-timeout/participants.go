package timeout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Participant is a contender in the queue, of whatever process and library.
type Participant struct {
	Owner    string // its owner's name; "" if it is not one of ours
	Data     []byte // who it says it is: WithData; the node's data if it is not one of ours
	Position int    // 0 is the holder
	Node     string // the path of its node
	Token    int64  // its node's czxid: its fencing token once it holds the lock
}

// Participants returns who holds the lock and who waits for it, the holder
// first, none if nobody does. It is a picture of a moment: contenders that
// leave while it is taken are left out. An error wraps what the server said,
// or ctx.Err().
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	return aside(ctx, m, "list the participants of", func(left <-chan struct{}) ([]Participant, error) {
		// What was made through another server is to be seen, too.
		err := m.link.insist(left, theLeader, func() error { _, err := m.conn.Sync(m.path); return err })
		if err != nil {
			return nil, err
		}
		names, err := m.children(left)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { _, ok := sequence(name); return !ok })
		slices.SortFunc(names, func(a, b string) int {
			na, _ := sequence(a)
			nb, _ := sequence(b)
			return cmp.Compare(na-nb, 0) // as before does
		})
		var all []Participant
		for _, name := range names {
			p := Participant{Node: m.path + "/" + name, Position: len(all)}
			data, stat, err := m.get(left, p.Node)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", p.Node, err)
			}
			p.Data, p.Token = data, stat.Czxid
			if r, ok := parseRecord(data); ok {
				p.Owner, p.Data = r.Owner, r.data()
			}
			all = append(all, p)
		}
		return all, nil
	})
}

// Revoke asks a participant to let go of the lock: its Lease's
// RevokeRequested is closed, now or once it holds the lock. Nobody is forced.
// A holder of Curator's that is revocable is asked in Curator's way. That the
// participant has gone is no error. An error wraps what the server said, or
// ctx.Err().
func (m *Mutex) Revoke(ctx context.Context, p Participant) error {
	name, below := strings.CutPrefix(p.Node, m.path+"/")
	if _, ok := sequence(name); !ok || !below || strings.Contains(name, "/") {
		return fmt.Errorf("timeout: revoke %s: %q is no participant", m.path, p.Node)
	}
	_, err := aside(ctx, m, "revoke a participant of", func(left <-chan struct{}) (struct{}, error) {
		for {
			data, stat, err := m.get(left, p.Node)
			if err == nil {
				asked := []byte(curatorRevoke)
				if r, ours := parseRecord(data); ours {
					r.Revoke = stat.Czxid
					asked = r.encode()
				}
				err = m.link.insist(left, aQuorum, func() error { _, err := m.conn.Set(p.Node, asked, stat.Version); return err })
			}
			switch {
			case errors.Is(err, zk.ErrBadVersion):
				// somebody else asks, too
			case errors.Is(err, zk.ErrNoNode):
				return struct{}{}, nil
			default:
				return struct{}{}, err
			}
		}
	})
	return err
}

// aside runs f in a goroutine of its own, for its requests cannot be
// cancelled, and waits until it is done or ctx ends. Left is closed then.
func aside[T any](ctx context.Context, m *Mutex, what string, f func(left <-chan struct{}) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	began := time.Now()
	if ctx.Err() != nil {
		return *new(T), m.link.ended(ctx, what+" "+m.path, began)
	}
	done := make(chan outcome, 1)
	m.link.spawn(func() {
		value, err := f(ctx.Done())
		done <- outcome{value, err}
	})
	select {
	case o := <-done:
		if errors.Is(o.err, errStopped) {
			return o.value, m.link.ended(ctx, what+" "+m.path, began)
		}
		if o.err != nil {
			return o.value, fmt.Errorf("timeout: %s %s: %w", what, m.path, o.err)
		}
		return o.value, nil
	case <-ctx.Done():
		return *new(T), m.link.ended(ctx, what+" "+m.path, began)
	}
}
