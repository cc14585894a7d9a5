// Package timeout is step 5: a waiter can give up, and a holder is notified when
// it has lost the lock.
//
// The idea (article D's wait time and heartbeat, article C's await, article
// A's look at Curator): step 3's queue, with an answer to three questions.
//
//   - How does a waiter give up? When its ctx ends, Lock returns, even if no
//     server answers. The client's calls cannot be cancelled, so a goroutine
//     makes them. It owns the node from its creation to its removal.
//   - How does a holder notice that its session has ended? The goroutine reads
//     the node from time to time. The holder's own clock closes Lost one session
//     timeout after the last answered read was sent. (D's heartbeat writes the
//     node to keep it; the client's pings keep it already.)
//   - And if the holder does not notice? Each holder's token is higher than the
//     one before: what the lock protects can refuse the lower one.
//
// Cost: a contender that has to wait sends create, children, get (with the
// watch), children, get (its own node) and delete, and gets one event; one
// that does not have to wait sends create, children, get and delete. N
// contenders that arrive one by one and each lock once send 6N-2 requests. A
// holder sends one more for each third of the session timeout.
//
// What is still wrong, and is cured in zklock:
//
//   - The reply to create is lost, but the node was created: Lock returns an
//     error, and the node blocks the queue until the session ends.
//   - A server that is cut off from its leader goes on answering reads while
//     the leader ends the session: Lost closes too late.
//   - A delete names the node by its path. If the parent was deleted and
//     created again, that can be another contender's node by then.
//   - The names sort by number only until the server's counter passes 2³¹-1,
//     and contenders with other names, such as Curator's, are not seen.
//   - A waiter whose session expires gets an error, and does not queue again.
//   - The client notices a silent server only after two thirds of the session
//     timeout: a short silence can cost a lease although the session lives.
//   - Each call of Lock costs a node, six requests and two lists. A holder cannot
//     lock again, which it can in step 4. A program cannot wait for the work in the
//     background before it closes conn.
//   - Lost closes late if the machine was suspended, because the clock stopped.
package timeout

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	ErrHeld = errors.New("timeout: another contender holds the lock or waits for it") // of TryLock
	ErrLost = errors.New("timeout: the lock was lost before it was released")         // of Unlock

	errGone = fmt.Errorf("our node is gone: %w", zk.ErrNoNode)
)

const prefix = "lock-" // the server appends the number, ten digits

// A Lock is the lock at a path, for all goroutines of a process. Each call of
// Lock or TryLock is a contender of its own; its state is in its Lease.
type Lock struct {
	conn           *zk.Conn
	path           string
	sessionTimeout time.Duration
}

// New returns the lock whose queue is under path. sessionTimeout must not be longer
// than what the server has granted to conn: otherwise Lost closes too late.
// The parent and all nodes above it are created when they are needed.
func New(conn *zk.Conn, path string, sessionTimeout time.Duration) *Lock {
	return &Lock{conn, path, sessionTimeout}
}

// Lock waits until it holds the lock or ctx ends. If it returns an error, it
// does not hold the lock, and has left the queue, or does so in the background.
// errors.Is finds ctx.Err() if ctx has ended, and zk.ErrSessionExpired or
// zk.ErrNoNode if the session ended and its node was deleted.
func (l *Lock) Lock(ctx context.Context) (*Lease, error) { return l.contend(ctx, false) }

// TryLock takes the lock, or returns ErrHeld. It waits for the server until ctx
// ends, but not for a release. Its other errors are those of Lock.
func (l *Lock) TryLock(ctx context.Context) (*Lease, error) { return l.contend(ctx, true) }

// contend waits until run gives it the lock, or run ends, or ctx ends.
func (l *Lock) contend(ctx context.Context, try bool) (*Lease, error) {
	lease := &Lease{lock: l, id: rand.Text(), held: make(chan struct{}), finished: make(chan struct{})}
	lease.lost, lease.lose = context.WithCancel(context.Background())
	lease.over, lease.release = context.WithCancel(lease.lost)
	go lease.run(ctx, try)
	var err error
	select {
	case <-lease.held:
		return lease, nil
	case <-lease.finished: // without giving us the lock
		err = lease.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, fmt.Errorf("timeout: lock %s: %w", l.path, err)
}

// retry makes a request again until it does not fail with the connection. The
// request may be carried out more than once.
func (l *Lock) retry(request func() error) error {
	for {
		err := request()
		if !connectionLost(err) {
			return err
		}
		time.Sleep(100 * time.Millisecond) // the client notices a broken connection a moment later
		if l.conn.State() == zk.StateDisconnected {
			return zk.ErrClosing // an open client would be connecting by now
		}
	}
}

// connectionLost reports whether a request failed with its connection; it may have been
// carried out. If the client cannot write, its error is the network's.
func connectionLost(err error) bool {
	var netErr net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) ||
		errors.As(err, &netErr)
}

// nothingToDelete reports whether an error means that our node has gone, or goes with
// the closed client. After ErrSessionExpired, remove finds that out by the session.
func nothingToDelete(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrClosing)
}

// A Lease is one hold of the lock. Any goroutine may call its methods.
type Lease struct {
	lock    *Lock
	id      string // the data of our node; another contender's node of the same name has other data
	node    string // its path; "" before it is created
	session int64  // that created it
	token   int64

	held     chan struct{}   // run gives the lock to contend; the fields above are written before
	lost     context.Context // ends when the lock can no longer be trusted
	lose     func()          // ends lost
	over     context.Context // ends with lost, or when the holder unlocks
	release  func()          // ends over
	finished chan struct{}   // closed when run has ended: our node has gone, or goes with the client
	err      error           // why there is no lease; written before finished is closed
}

// Token returns the fencing token: the zxid with which our node was created. The
// token of each later holder is higher.
func (l *Lease) Token() int64 { return l.token }

// Lost returns a channel that is closed when the lock can no longer be trusted:
// its node has gone, or no answer arrived in time. Work under it must stop then.
func (l *Lease) Lost() <-chan struct{} { return l.lost.Done() }

// Unlock releases the lock, and returns when its node has gone. If ctx ends
// before that, Unlock returns ctx.Err(), the node goes in the background, and
// Unlock can be called again to wait. If the lock was lost, it returns ErrLost.
func (l *Lease) Unlock(ctx context.Context) error {
	l.release()
	var err error
	select {
	case <-l.finished: // and our node has gone
	case <-l.lost.Done():
	case <-ctx.Done():
		err = fmt.Errorf("timeout: unlock %s: %w", l.node, ctx.Err())
	}
	if l.lost.Err() != nil {
		err = fmt.Errorf("%w: %s", ErrLost, l.node)
	}
	return err
}

// run is the goroutine that owns our node, from its creation to its removal.
func (l *Lease) run(ctx context.Context, try bool) {
	defer close(l.finished)
	err := l.enqueue(ctx)
	if err == nil {
		err = l.await(ctx, try)
	}
	if err == nil {
		err = l.hold(ctx)
	}
	// Our node is deleted after an error, too, unless it has gone: another's can have its name.
	if l.node != "" && !nothingToDelete(err) {
		if removed := l.remove(); err == nil {
			err = removed
		}
	}
	if err != nil {
		l.err = err
		l.lose()
	}
}

// enqueue creates our node, at the end of the queue.
func (l *Lease) enqueue(ctx context.Context) error {
	conn, dir := l.lock.conn, l.lock.path
	for ctx.Err() == nil {
		node, err := conn.Create(dir+"/"+prefix, []byte(l.id), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err == nil {
			l.node, l.session = node, conn.SessionID() // read now: the create may have waited for a session
			return nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = l.lock.createParents(dir)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l *Lock) createParents(dir string) error {
	for {
		_, err := l.conn.Create(dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // another contender was faster
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.createParents(path.Dir(dir)); err != nil {
			return err
		}
	}
}

// await waits until our node is the first in the queue: step 3's loop. If try is set and
// our node is not the first, it does not wait and returns ErrHeld.
func (l *Lease) await(ctx context.Context, try bool) error {
	for {
		var before string
		err := l.lock.retry(func() (err error) { before, err = l.predecessor(); return err })
		if err != nil || before == "" {
			return err
		}
		if try {
			return ErrHeld
		}
		// GetW and not ExistsW: if the node was deleted after the list was
		// read, ExistsW would set a watch that nothing ever fires.
		var changed <-chan zk.Event
		err = l.lock.retry(func() (err error) { _, _, changed, err = l.lock.conn.GetW(before); return err })
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

// predecessor returns the path of the node just before ours, "" if ours is first.
// Unlike step 3 it does not look for our own node in the list: look reads it.
func (l *Lease) predecessor() (before string, err error) {
	children, _, err := l.lock.conn.Children(l.lock.path)
	if err != nil {
		return "", err
	}
	for _, child := range children {
		if !strings.HasPrefix(child, prefix) {
			continue // this node is not a contender's
		}
		child = l.lock.path + "/" + child
		if len(child) == len(l.node) && child < l.node {
			before = max(before, child)
		}
	}
	return before, nil
}

// look reads our node, and returns until when the lock can be trusted: one session
// timeout after the read was sent. The server receives the read later, and ends the
// session no sooner than one session timeout after that.
func (l *Lease) look() (until time.Time, err error) {
	err = l.lock.retry(func() error {
		sent := time.Now()
		data, stat, err := l.lock.conn.Get(l.node)
		if err == nil && string(data) != l.id {
			return errGone // another contender's node has its name now
		}
		if err == nil && l.token == 0 {
			l.token = stat.Czxid
		}
		until = sent.Add(l.lock.sessionTimeout)
		return err
	})
	return until, err
}

// hold gives the lock to the caller, and reads our node until the lease is over.
// The clock that closes Lost is a timer of its own, because a read may return only
// after the session has ended. If hold returns nil, our node may still be there.
func (l *Lease) hold(ctx context.Context) error {
	until, err := l.look()
	if err != nil {
		return err
	}
	clock := time.AfterFunc(time.Until(until), l.lose)
	defer clock.Stop()
	// The channel is unbuffered, and contend leaves its select for ctx, too: either
	// both sides see the lock handed over, or neither does.
	select {
	case l.held <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		select {
		case <-l.over.Done():
			return nil
		case <-time.After(l.lock.sessionTimeout / 3):
		}
		until, err := l.look()
		switch {
		case err == nil:
			clock.Reset(time.Until(until)) // never earlier than before
		case nothingToDelete(err):
			return err
		} // after any other error the clock goes on as it was set
	}
}

// remove deletes our node, which would block all later contenders. It tries until
// the node or its session has gone. An error means that it had gone before.
func (l *Lease) remove() error {
	conn, tried := l.lock.conn, false
	return l.lock.retry(func() error {
		if conn.SessionID() != l.session {
			return zk.ErrSessionExpired // another contender's node may have the name now
		}
		if conn.State() != zk.StateHasSession {
			return zk.ErrNoServer // the client would keep the delete back, perhaps until the next session
		}
		err := conn.Delete(l.node, -1)
		if errors.Is(err, zk.ErrNoNode) && tried {
			return nil // most likely an earlier delete has removed it, and its reply was lost
		}
		if err == nil || nothingToDelete(err) {
			return err
		}
		tried = true
		return zk.ErrConnectionClosed // retry tries again, whatever the error was
	})
}
