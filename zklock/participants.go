package zklock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/record"
)

// A Participant is a contender in the queue, of whatever process and library.
type Participant struct {
	Owner    string // for whom its node was made; of this Mutex's node, the present holder. "" if it is not a zklock's
	Data     []byte // its description: WithData; the node's data if it is not one of ours
	Position int    // 0 is the holder
	Node     string // the path of its node
	// Token is the exact fencing token of the holder if it holds the lock by this Mutex,
	// and otherwise the least that a lease by the node may have: it is higher than those
	// of the participants before it.
	Token   int64
	Cached  bool      // nobody holds the lock by this Mutex, which keeps its node; see WithCaching
	Library string    // "zklock", "zk.Lock", "Curator mutex", "kazoo lock", "lock-" for a name without an id, "" if unknown
	Session int64     // whose node it is; it goes with the session
	Since   time.Time // when the node was made, by the clock of the servers
}

// Participants returns the queue: the holder, and then those that wait, in
// their order. It is a picture of a moment: contenders that leave while it is
// taken are left out. An error wraps the server's error, or ctx.Err().
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	m.check()
	var all []Participant
	err := m.client.Aside(ctx, &m.tasks, "list the participants of "+m.path, func(left <-chan struct{}) error {
		return m.readAll(left, func(name string, data []byte, stat *zk.Stat) {
			p := Participant{
				Data: data, Position: len(all), Node: m.path + "/" + name, Token: stat.Czxid << passBits,
				Library: record.Library(name, data), Session: stat.EphemeralOwner, Since: time.UnixMilli(stat.Ctime),
			}
			if r, ok := record.Parse(name, data); ok {
				p.Owner, p.Data = r.OwnerName(), r.Contents()
			}
			m.mu.Lock()
			switch e := m.entries[name]; {
			case m.cachedLocked(e):
				p.Owner, p.Token, p.Cached = "", m.tokenLocked(e), true
			case e != nil && e.holder != nil:
				p.Owner, p.Token = e.holder.owner.name, e.holder.token
			}
			m.mu.Unlock()
			all = append(all, p)
		})
	})
	if err != nil {
		return nil, err // and all may still be written to
	}
	return all, nil
}

// readAll reads the contenders' nodes in their order. It begins with a sync: the
// client's server may be behind the one through which a node was made.
func (m *Mutex) readAll(stop <-chan struct{}, each func(name string, data []byte, stat *zk.Stat)) error {
	if err := m.client.Sync(stop); err != nil {
		return err
	}
	names, _, err := m.client.Children(stop, m.path)
	if err != nil {
		return err
	}
	numbers := make(map[string]int32)
	for _, name := range names {
		if n, ok := record.Sequence(name); ok {
			numbers[name] = n
		}
	}
	byNumber := func(a, b string) int { return record.Order(numbers[a], numbers[b]) }
	for _, name := range slices.SortedFunc(maps.Keys(numbers), byNumber) {
		data, stat, err := m.client.Get(stop, m.path+"/"+name)
		if err == nil {
			each(name, data, stat)
		} else if !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("read %s/%s: %w", m.path, name, err)
		}
	}
	return nil
}

// Revoke asks a participant to release the lock: its Lease's
// RevokeRequested is closed, now or once it holds the lock. Nobody is forced.
// A holder of Curator's that is revocable is asked in Curator's way. Revoking a
// participant that has left is not an error. An error wraps the server's error, or
// ctx.Err().
func (m *Mutex) Revoke(ctx context.Context, p Participant) error {
	m.check()
	name, below := strings.CutPrefix(p.Node, m.path+"/")
	if _, ok := record.Sequence(name); !ok || !below || strings.Contains(name, "/") {
		return fmt.Errorf("zklock: revoke %s: %q is not a participant", m.path, p.Node)
	}
	return m.client.Aside(ctx, &m.tasks, "revoke a participant of "+m.path, func(left <-chan struct{}) error {
		data, stat, err := m.client.Get(left, p.Node)
		if err == nil && p.Token != 0 && p.Token>>passBits < stat.Czxid {
			return nil // it has left, and another node has its name
		}
		if err == nil {
			request := []byte(record.CuratorRevoke)
			if r, ours := record.Parse(name, data); ours {
				r.Revoke = true
				request = r.Encode()
			}
			err = m.client.Set(left, p.Node, request, -1) // its owner writes nothing there but its record
		}
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}
