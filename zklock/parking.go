package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
)

// A parking is an entry (entry.go) that waits for the contenders before it. A goroutine that waits with it would keep
// the large stack that its requests have needed. So the entry's goroutine ends, and one of the calls of Lock and
// TryLock in attend waits for its events, too. When one comes, that call starts the next goroutine, which handles it.
//
// The parking waits in Mutex.parked until a call takes it. The call puts it back if it ends before an event has come.
type parking struct {
	m      *Mutex
	e      *entry
	before queue

	// What it waits for.
	nearer, farther watched          // the nodes of the last two before it
	own             <-chan zk.Event  // of the watch on its own node
	closed          <-chan struct{}  // closed with the client
	pollDue         <-chan time.Time // when to look for the nearer node
	event           zk.Event         // of one of the nodes, when it has come
}

var noParking = new(parking) // of a call that has no entry to wait for: no event comes

// errParked: the entry waits for others, and needs no goroutine.
var errParked = errors.New("the entry is parked")

// attend waits until a call may end: its turn is ready or refused, or its ctx ends. Meanwhile it waits for the events
// of the entry, if that is parked and no other call does. One does: an entry for which no call waits leaves the queue.
func (m *Mutex) attend(ctx context.Context, ready, refused <-chan struct{}) {
	for p := noParking; p != nil; {
		next, handle := p.await(m.parked, ready, refused, ctx.Done())
		eventCame, callEnds := handle != nil, next == nil
		m.mu.Lock()
		switch isParked := p.e != nil && p.e.parked == p; { // false if leaveLocked has resumed it
		case isParked && eventCame:
			m.resumeLocked(p.e, handle)
		case isParked && callEnds:
			m.parked <- p // for another call; there is room, because a Mutex has one parked entry at most
		}
		m.mu.Unlock()
		p = next
	}
}

// await waits for whatever comes first: a parking that another call has left, which is next; an event of p, and the
// handler for it; or the end of the call, for which next is nil.
func (p *parking) await(parked <-chan *parking, ready, refused, done <-chan struct{}) (next *parking, handle handler) {
	next = noParking
	select {
	case next = <-parked:
	case <-p.closed:
		handle = (*parking).clientClosed
	case <-p.pollDue:
		handle = (*parking).poll
	case p.event = <-p.own:
		handle = (*parking).ownChanged
	case p.event = <-p.nearer.changed:
		handle = (*parking).nearerChanged
	case p.event = <-p.farther.changed:
		handle = (*parking).fartherChanged
	case <-ready:
		next = nil
	case <-refused:
		next = nil
	case <-done:
		next = nil
	}
	return next, handle
}

// resumeLocked starts the goroutine of a parked entry again, first with the handler.
func (m *Mutex) resumeLocked(e *entry, handle handler) {
	p := e.parked
	e.parked = nil
	select {
	case <-m.parked: // no call has taken it
	default:
	}
	go func() {
		growStack()
		before, err := handle(p)
		m.proceed(e, before, err)
	}()
}

// A handler handles an event of a parked entry, and returns the contenders that are left before it.
type handler func(*parking) (queue, error)

func (p *parking) clientClosed() (queue, error) { return p.before, client.ErrClosed }
func (p *parking) stopped() (queue, error)      { return p.before, client.ErrStopped }
func (p *parking) ownChanged() (queue, error)   { return p.before, p.m.ownChanged(p.e, p.event) }

func (p *parking) nearerChanged() (queue, error) {
	// If the node was of our own session, that may have ended: then our node is
	// deleted in the same transaction, and either event may be sent first.
	trusted := p.nearer.session != p.e.node.Session
	return p.changed(p.nearer, trusted)
}

func (p *parking) fartherChanged() (queue, error) { return p.changed(p.farther, true) }

// changed handles an event of a watched node. If the node has not gone, or if our own may have gone
// with it (trusted is false), only a list shows the contenders that are left.
func (p *parking) changed(w watched, trusted bool) (queue, error) {
	p.m.mu.Lock()
	p.m.watches = slices.DeleteFunc(p.m.watches, func(known watched) bool { return known.changed == w.changed })
	p.m.mu.Unlock()
	deleted := trusted && p.event.Type == zk.EventNodeDeleted
	if w.entry != nil { // the node is of this Mutex: its entry knows
		deleted = w.entry.deleted
	}
	if deleted {
		return p.m.without(p.e, p.before, w.name)
	}
	return p.m.list(p.e)
}

// poll looks for the nearer node, in case its watch is lost: a server may refuse to set the
// watches again in the next connection, and the client does not report it.
func (p *parking) poll() (queue, error) {
	p.e.pollDue = nil
	_, _, err := p.m.client.Get(p.e.left, p.m.path+"/"+p.before.nearer)
	if errors.Is(err, zk.ErrNoNode) {
		return p.m.list(p.e) // our own node may have gone without an event, too
	}
	return p.before, err
}

// growStack makes the stack of a goroutine larger than 4 KiB, the size that those of waiting calls have. The runtime
// keeps stacks of one size together: a gap that a short goroutine leaves between those of long waits stays unused.
//
//go:noinline
func growStack() byte {
	var room [3500]byte                       // does not fit into what is left of 4 KiB
	return room[len(noParking.before.nearer)] // an index that the compiler does not know, so room is not optimized away
}
