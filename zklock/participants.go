package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
	"example.com/zklock/zklock/internal/record"
)

// A Participant is a contender in the queue, of whatever process and library.
type Participant struct {
	Owner    string // for which the node was made; the present holder for this Mutex's node; "" for one of no zklock
	Data     []byte // that of WithData; the node's data if it is not a zklock's
	Position int    // in the queue, from 0
	Node     string // the path of its node
	// Holds: it waits for none of those before it. It is the first, or a reader or a semaphore's lease beside the first.
	Holds bool
	// Token is the fencing token if the participant holds the lock by this Mutex. Otherwise a lease by its node has this
	// token or a higher one. It is higher than those of the participants before it.
	Token  int64
	Cached bool // nobody holds the lock by this Mutex, which keeps its node; see WithCaching
	// Library is "zklock", "zk.Lock", "zklock or zk.Lock" if Unreadable, "Curator mutex", "Curator read lock",
	// "Curator write lock", "Curator semaphore", "Curator latch", "kazoo lock", which its write lock is, too,
	// "kazoo read lock", "kazoo semaphore", "ZooKeeper WriteLock", "lock-" for a name without an id, "" if unknown.
	Library    string
	Kind       string    // "reader", "writer", "semaphore", "leader"; "" for a mutex
	Passes     bool      // its library acquires its lock although a Mutex holds the path
	Unreadable bool      // this client may not read the node's data
	Session    int64     // whose node it is; it goes with the session
	Since      time.Time // when the node was made, by the clock of the servers
}

// Participants returns the queue: the holder, and then those that wait, in their order. Leases of a semaphore and nodes
// of a latch at the path are listed, too, although a Mutex does not wait for them. It is a picture of a moment:
// contenders that leave while it is taken are left out. An error wraps the server's error, or ctx.Err().
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	m.check()
	var all []Participant
	// Aside runs the function in a goroutine, and returns when that is done or ctx ends, which closes left.
	err := m.client.Aside(ctx, &m.tasks, "list the participants of "+m.path, func(left <-chan struct{}) error {
		isContender := func(name string) bool { return record.KindOf(name, nil) != nil }
		children, err := m.client.ReadChildren(left, m.path, isContender)
		// In their order: that of their numbers, if they have any, is that of their czxids.
		slices.SortFunc(children, func(a, b client.Child) int { return cmp.Compare(a.Stat.Czxid, b.Stat.Czxid) })

		// A kind of contender has two sets of classes, as bits: Is, which it belongs to, and After, which it waits for.
		var before record.Class // those of the contenders so far
		for i, child := range children {
			kind := record.KindOf(child.Name, child.Data)
			p := m.participant(child, kind)
			waits := before&kind.After != 0
			p.Position, p.Holds = i, !waits
			before |= kind.Is
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		return nil, err // all may still be written, if ctx has ended
	}
	return all, nil
}

// participant returns what is known of a contender from its node alone, and of one of this Mutex from its entry.
func (m *Mutex) participant(child client.Child, kind *record.Kind) Participant {
	p := Participant{
		Data: child.Data, Node: m.path + "/" + child.Name, Token: child.Stat.Czxid << passBits, // of its first hold
		Library: kind.Library, Kind: kind.Role, Passes: kind.Passes(), Unreadable: child.Unreadable,
		Session: child.Stat.EphemeralOwner, Since: time.UnixMilli(child.Stat.Ctime),
	}
	if r, ok := record.Parse(child.Name, child.Data); ok {
		p.Owner, p.Data = r.OwnerName(), r.Contents()
	} else if p.Unreadable && p.Library == "zk.Lock" {
		p.Library = "zklock or zk.Lock"
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := m.entryLocked(child.Name); {
	case e == nil: // the node is not this Mutex's
	case e.state == idle:
		p.Owner, p.Token, p.Cached = "", m.tokenLocked(e), true // of the next hold
	case e.holder != nil:
		p.Owner, p.Token = e.holder.owner.name, e.holder.token
	}
	return p
}

// Revoke asks a participant to release the lock: its Lease's RevokeRequested is closed, now or once it holds the lock.
// Nobody is forced. A holder of Curator's that is revocable is asked in Curator's way, if its node has an address as
// its data: other data may be the id of a LeaderSelector, which the request would replace. All others are left alone,
// and the error wraps [ErrNotAsked]. It is not an error if one has left. Errors wrap the server's, or ctx.Err().
func (m *Mutex) Revoke(ctx context.Context, p Participant) error {
	m.check()
	name, below := strings.CutPrefix(p.Node, m.path+"/")
	if record.KindOf(name, nil) == nil || !below || strings.Contains(name, "/") {
		return fmt.Errorf("zklock: revoke %s: %q is not a participant", m.path, p.Node)
	}
	err := m.client.Aside(ctx, &m.tasks, "revoke a participant of "+m.path, func(left <-chan struct{}) error {
		data, stat, err := m.client.Get(left, p.Node)
		if wasMadeLater := err == nil && p.Token != 0 && p.Token>>passBits < stat.Czxid; wasMadeLater {
			return nil // the participant has left, and another node has its name
		}
		if err == nil {
			request := record.Request(name, data)
			if request == nil {
				return ErrNotAsked
			}
			err = m.client.Set(left, p.Node, request, -1) // its owner writes nothing there but its record
		}
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	if errors.Is(err, ErrNotAsked) {
		return fmt.Errorf("%w: %s", ErrNotAsked, p.Node)
	}
	return err
}
