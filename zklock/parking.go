package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
)

// A parking is an entry that waits for those before it. It has no goroutine, whose stack its
// requests have made large: one of the callers that wait for their turn waits for its events,
// too, and then starts the goroutine that handles them.
type parking struct {
	m      *Mutex
	e      *entry
	before queue

	// What it waits for.
	nearer, farther watched          // the nodes of the last two before it
	own             <-chan zk.Event  // of the watch on its own node
	closed          <-chan struct{}  // closed with the client
	again           <-chan time.Time // when to look for the nearer node
	event           zk.Event         // of a node, when it has come
}

var noParking = new(parking) // has no entry and no events

// errParked: the entry waits for others, and needs no goroutine.
var errParked = errors.New("the entry is parked")

// attend waits until a call may end: its turn is ready or refused, or its ctx ends. Meanwhile it
// waits for the events of the entry, if that is parked and no other caller does. Some caller
// does: an entry for which nobody waits leaves the queue.
func (m *Mutex) attend(ctx context.Context, ready, refused <-chan struct{}) {
	for p := noParking; p != nil; {
		next, handle := p.await(m.parked, ready, refused, ctx.Done())

		m.mu.Lock()
		switch isParked := p.e != nil && p.e.parked == p; { // or it goes on already
		case isParked && handle != nil:
			m.resumeLocked(p.e, handle)
		case isParked && next == nil: // this call ends: another one takes the entry
			m.parked <- p // has room: no other one is parked
		}
		m.mu.Unlock()
		p = next
	}
}

// await returns what to wait for next, nil if the call ends, and what handles the event of p that has come.
func (p *parking) await(parked <-chan *parking, ready, refused, done <-chan struct{}) (next *parking, handle handler) {
	next = noParking
	select {
	case next = <-parked:
	case <-p.closed:
		handle = (*parking).clientClosed
	case <-p.again:
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

// resumeLocked has a parked entry go on.
func (m *Mutex) resumeLocked(e *entry, handle handler) {
	p := e.parked
	e.parked = nil
	select {
	case <-m.parked: // no caller waits for its events yet
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
	// If it was of our own session, that may have ended: then our node is
	// deleted in the same transaction, and either event may be sent first.
	trusted := p.nearer.session != p.e.node.Session
	return p.changed(p.nearer, trusted)
}

func (p *parking) fartherChanged() (queue, error) { return p.changed(p.farther, true) }

// changed handles an event of a watched node. If that has not gone, or if its event is not trusted
// because our own may have gone with it, only a list shows the contenders that are left.
func (p *parking) changed(w watched, trusted bool) (queue, error) {
	p.m.mu.Lock()
	p.m.watches = slices.DeleteFunc(p.m.watches, func(known watched) bool { return known.changed == w.changed })
	p.m.mu.Unlock()
	deleted := trusted && p.event.Type == zk.EventNodeDeleted
	if w.entry != nil {
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
	p.e.again = nil
	_, _, err := p.m.client.Get(p.e.left, p.m.path+"/"+p.before.nearer)
	if errors.Is(err, zk.ErrNoNode) {
		return p.m.list(p.e) // our own node may have gone without an event, too
	}
	return p.before, err
}

// growStack makes the stack of a short goroutine so large that it does not lie between those of
// the callers that wait: the room between them would stay unused when it ends.
//
//go:noinline
func growStack() byte {
	var room [3500]byte // more than what is left of 4 KiB
	return room[len(noParking.before.nearer)]
}
