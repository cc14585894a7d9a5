package zklock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
)

// Errors that errors.Is finds.
var (
	// ErrHeld: another contender holds the lock or waits for it.
	ErrHeld = errors.New("zklock: another contender holds the lock or waits for it")
	// ErrLost: the lock was gone before Unlock. The error also wraps the cause, such as ErrNotProved.
	ErrLost = errors.New("zklock: the lock was lost")
	// ErrUnlocked: the lease was unlocked before.
	ErrUnlocked = errors.New("zklock: the lease was unlocked before")
	// ErrShutdown: Shutdown was called before Lock or TryLock.
	ErrShutdown = errors.New("zklock: Shutdown was called, and the Mutex grants no new locks")
	// ErrNotAsked: Revoke does not write into the node of a library that does not read requests, or may not.
	ErrNotAsked = errors.New("zklock: the participant does not read requests, and was not asked")
	// ErrTooSlow: Lock gives up because a round trip to the servers takes a twelfth of
	// the session timeout or longer. A lease would be lost as soon as it is granted. Ask
	// for a longer session timeout, or use servers that are nearer or less busy.
	ErrTooSlow = client.ErrTooSlow
)

// An Owner is the identity of a holder, as a thread is in Java: one line of work that may pass through many functions,
// and may lock again in each of them. Goroutines that share an owner share its lock, too: they do not exclude each
// other. A line of work that locks once needs none; see Mutex.Lock. The zero Owner has no name.
type Owner struct{ name string }

// NewOwner returns a new owner, distinct from others of its name. Participants shows the name, of at most 64 KiB.
func NewOwner(name string) *Owner { return &Owner{name} }

// String returns the owner's name.
func (o *Owner) String() string { return o.name }

// A Mutex is the lock at a path for all goroutines of a process. It is safe for concurrent use. Make one per process
// and path and share it: its goroutines queue in memory, and have one node for all of them in the queue at the server.
type Mutex struct {
	settings
	client *client.Client
	parent *client.Parent
	tasks  client.Tasks // requests that Shutdown waits for
	path   string

	// A turn (queue.go) is an owner's place in the memory's queue. An entry (entry.go) is a node of this Mutex.
	mu      sync.Mutex
	owners  map[*Owner]*turn // of those that hold the lock or wait for it
	waiting []*turn          // in their order
	shut    bool             // Shutdown has been called
	current *entry           // which is queued, held or idle; nil if nobody needs one
	entries []*entry         // all that have a node
	watches []watched        // other contenders' nodes (wait.go)
	parked  chan *parking    // a parked entry (parking.go) until a call waits for its events
	stats   Stats            // without what is true of now
	habit   habit            // for WithCaching
}

type settings struct {
	acl         []zk.ACL
	data        []byte
	holds       int           // by one node, at most
	during      time.Duration // from the first to the last of them
	timeout     time.Duration // of the session; 0: not given
	caching     time.Duration // how long a node stays that nobody needs; 0: not at all
	logger      Logger        // of losses, or nil
	leastStreak int           // the streak that a node needs at least to stay, see habit
}

// An Option changes how a Mutex works.
type Option func(*settings) error

const (
	shortest = 100 * time.Millisecond           // leaves room for the requests that keep a lease alive
	longest  = math.MaxInt32 * time.Millisecond // is the most that ZooKeeper's protocol has room for
	maxData  = 64 << 10
)

// WithSessionTimeout gives the session timeout that the server has agreed to. The default is what Connect's client has
// agreed on last; or, if another function has opened conn, 4 s, see New. If the value is too long, Lost may close after
// the next holder got in; if it is too short, leases are lost without need.
func WithSessionTimeout(d time.Duration) Option {
	return func(s *settings) error {
		if d < shortest || d > longest {
			return fmt.Errorf("WithSessionTimeout: %v is not between %v and %v", d, shortest, longest)
		}
		s.timeout = d
		return nil
	}
}

// WithACL sets the access rights of the nodes that are made, the parents among them; by default everybody may do
// everything. A parent that is there keeps its rights, which decide which contenders may queue and delete nodes.
// All contenders must be allowed to create, delete and read: a waiter that may not read the node before its own gets no
// event when that is deleted. Revoke also needs the permission to write.
func WithACL(acl []zk.ACL) Option {
	return func(s *settings) error {
		if len(acl) == 0 {
			return errors.New("WithACL: the list is empty: nobody could do anything")
		}
		s.acl = slices.Clone(acl)
		return nil
	}
}

// WithData describes this contender; Participants shows it. The default is the
// host's name and the process's number, "host:pid". The data has at most 64 KiB.
func WithData(data []byte) Option {
	return func(s *settings) error {
		if len(data) > maxData {
			return fmt.Errorf("WithData: %d bytes, more than %d", len(data), maxData)
		}
		s.data = bytes.Clone(data)
		return nil
	}
}

// WithHandOver limits how often, and for how long, goroutines of this Mutex hand the lock on to each other before other
// contenders get their turn: a node serves at most that many holds, from 1 to 1024, and no hold begins after d. Then
// the Mutex deletes the node and queues again, at the end. So no other process waits for this one longer than d and one
// hold, and a contender that came while the node was there goes first. Each node costs two requests, sometimes a list
// more, and a round trip between two holds. The default is 16 holds and 50 ms; with 1 hold nothing is handed on.
func WithHandOver(holds int, d time.Duration) Option {
	return func(s *settings) error {
		if holds < 1 || holds > 1<<passBits {
			return fmt.Errorf("WithHandOver: %d holds are not between 1 and %d", holds, 1<<passBits)
		}
		if d < 0 {
			return fmt.Errorf("WithHandOver: %v is negative", d)
		}
		s.holds, s.during = holds, d
		return nil
	}
}

// New returns the lock whose queue is under path. It sends nothing: the parent and all above it are made when they are
// needed. The error, if any, says which argument is wrong; for a path that is not valid it wraps zk.ErrInvalidPath.
//
// A conn that was opened with zk.Connect does not say which session timeout the servers have agreed to. Without
// WithSessionTimeout, 4 s is assumed: servers agree to no less, unless their tickTime is below 2 s or their
// minSessionTimeout below 4 s. With such servers that is unsafe: two may hold the lock at once. If the session timeout
// is longer, leases are lost without need. So this is said once for each conn in the log of package zk.
func New(conn *zk.Conn, path string, options ...Option) (*Mutex, error) {
	if conn == nil {
		return nil, errors.New("zklock: the connection is nil")
	}
	if err := client.CheckPath(path); err != nil {
		return nil, fmt.Errorf("zklock: path %q: %w", path, err)
	}
	host, _ := os.Hostname()
	m := &Mutex{
		settings: settings{
			acl: zk.WorldACL(zk.PermAll), data: fmt.Appendf(nil, "%s:%d", host, os.Getpid()),
			holds: 16, during: 50 * time.Millisecond, leastStreak: defaultStreak,
		},
		path:   path,
		owners: make(map[*Owner]*turn), parked: make(chan *parking, 1),
	}
	for _, option := range options {
		if option == nil {
			return nil, fmt.Errorf("zklock: lock %s: an option is nil", path)
		}
		if err := option(&m.settings); err != nil {
			return nil, fmt.Errorf("zklock: lock %s: %w", path, err)
		}
	}
	m.habit.needed = m.leastStreak
	m.client = client.Of(conn, m.timeout)
	m.parent = m.client.Parent(path, m.acl)
	return m, nil
}

// check panics if m was not made by New.
func (m *Mutex) check() {
	if m == nil || m.client == nil {
		panic("zklock: a Mutex is made with New")
	}
}

// Lock waits until the owner holds the lock, or ctx ends; the lease does not end with ctx. An owner that holds it
// already gets another lease of it, without a request. A nil owner is a new one, for work that locks once.
//
// A session that expires while Lock waits is not an error: it queues again, at the end, in the client's new session. A
// connection that breaks is not an error either.
//
// Once ctx has ended, Lock does not return a lease, even if it got the lock in the same instant: it returns, promptly,
// an error that wraps ctx.Err(). Its node is then removed as soon as a server can be reached, so that the contenders
// behind it do not wait for it. Other errors are the server's, such as zk.ErrNoAuth, or zk.ErrClosing if conn has been
// closed; or ErrShutdown, or ErrTooSlow. After any error the owner has as many leases as before.
func (m *Mutex) Lock(ctx context.Context, owner *Owner) (*Lease, error) {
	return m.acquire(ctx, owner, false)
}

// TryLock is Lock without the wait for other contenders: if one of them holds the lock or waits for it, TryLock returns
// ErrHeld, and has left nothing behind. For TryLock, a node that is being deleted still holds the lock. An owner is not
// another contender for itself: beside a Lock of the same owner that finds the lock free, TryLock gets a lease, too.
// TryLock returns when the server has answered, or when ctx ends.
func (m *Mutex) TryLock(ctx context.Context, owner *Owner) (*Lease, error) {
	return m.acquire(ctx, owner, true)
}

func (m *Mutex) acquire(ctx context.Context, owner *Owner, try bool) (*Lease, error) {
	m.check()
	if owner == nil {
		owner = new(Owner)
	}
	if len(owner.name) > maxData {
		return nil, fmt.Errorf("zklock: lock %s: the owner's name has %d bytes, more than %d", m.path, len(owner.name), maxData)
	}

	began := time.Now()
	for ctx.Err() == nil {
		l, refused, err := m.join(owner, try)
		if err != nil {
			return nil, err
		}
		m.attend(ctx, l.turn.ready, refused) // waits
		l, retry, err := m.settle(ctx, l, client.IsClosed(refused))
		if !retry {
			return l, err
		}
	}
	return nil, m.client.Ended(ctx, "lock "+m.path, began)
}

// settle returns the lease if its owner holds the lock, and ends it otherwise. It says retry if the
// lock was lost as soon as it was granted, or if ctx has ended: then the loop of acquire ends.
func (m *Mutex) settle(ctx context.Context, l *Lease, refused bool) (_ *Lease, retry bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ctxEnded := l.turn, ctx.Err() != nil
	granted := t.entry != nil
	if granted && !ctxEnded && !m.isLostLocked(t) {
		return l, false, nil
	}

	l.endLocked()
	switch {
	case ctxEnded || granted:
		return nil, true, nil
	case refused || t.err == ErrHeld: // nothing else is wrong
		return nil, false, m.refusedLocked()
	case errors.Is(t.err, ErrHeld): // joined with another error: the server refuses to delete the attempt's node
		m.stats.Refused++
	}
	return nil, false, fmt.Errorf("zklock: lock %s: %w", m.path, t.err)
}

// join adds a lease to the owner's turn. An owner without a turn gets one, and waits. With try,
// refused is closed if another contender is before the owner, and the turn waits for it.
func (m *Mutex) join(owner *Owner, try bool) (l *Lease, refused <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.owners[owner]
	switch {
	case t == nil && m.shut:
		return nil, nil, fmt.Errorf("%w: %s", ErrShutdown, m.path)
	case try && m.isBehindLocked(t):
		return nil, nil, m.refusedLocked()
	case t == nil:
		t = m.enqueueLocked(owner)
	}
	l = &Lease{m: m, turn: t}
	l.ctx, l.cancel = context.WithCancelCause(t.lostCtx)
	t.leases++
	if !try {
		t.mayWait = true
		return l, nil, nil
	}
	if t.refused == nil {
		t.refused = make(chan struct{})
	}
	return l, t.refused, nil
}

// refusedLocked counts a TryLock that fails because of another contender.
func (m *Mutex) refusedLocked() error {
	m.stats.Refused++
	return fmt.Errorf("%w: %s", ErrHeld, m.path)
}

// Holds returns how many leases an owner has: how often it has locked and not unlocked yet. It is 0 after a loss.
func (m *Mutex) Holds(owner *Owner) int {
	m.check()
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.owners[owner]
	if t == nil || t.entry == nil || m.isLostLocked(t) {
		return 0
	}
	return t.leases
}

// Shutdown ends the use of the Mutex: from now on Lock and TryLock return ErrShutdown. It waits until nothing is under
// way: nobody holds the lock or waits for it through this Mutex, and no request of it is unanswered. Owners that wait
// already get their turn, and an owner that holds the lock may lock it again. A node that was given up is deleted in
// the background, so call Shutdown before conn.Close: without a server, the node stays until the session ends, and the
// next holder waits for that. With a server, Close ends the session: the next holder may be in while this one still works.
//
// If ctx ends first, Shutdown returns an error that wraps ctx.Err() and names what is still under way. Nothing of that
// is ended, and Shutdown may be called again to wait for it. Other Mutexes of conn go on.
func (m *Mutex) Shutdown(ctx context.Context) error {
	m.check()
	began := time.Now()
	m.mu.Lock()
	m.shut = true
	m.passLocked(m.current) // which gives up a node that nobody needs
	done := m.tasks.Idle()
	m.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if client.IsClosed(done) {
		return nil
	}
	return fmt.Errorf("%w: %s", m.client.Ended(ctx, "shut down the lock "+m.path, began), m.underWay())
}

// underWay names what Shutdown waits for.
func (m *Mutex) underWay() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	rest := m.tasks.Running() // tasks that are not named otherwise
	switch m.current.stateLocked() {
	case held:
		rest--
		all = append(all, fmt.Sprintf("%s is held by %q", m.current.node.Path, m.current.holder.owner))
	case queued:
		rest--
	}
	if n := len(m.waiting); n > 0 {
		all = append(all, fmt.Sprintf("owners that wait for the lock: %d", n))
	}
	for _, e := range m.entries {
		if e.state >= leaving {
			rest--
			all = append(all, e.node.Path+" is being deleted")
		}
	}
	if rest > 0 {
		all = append(all, fmt.Sprintf("requests that are not answered: %d", rest))
	}
	return strings.Join(all, "; ")
}

// Do locks, calls f, and unlocks whatever happens: after an error, a panic,
// and when ctx has ended. The ctx that f gets is that of Lease.Context: it ends when
// ctx does, and with ErrLost as its cause when the lock is lost; f must then stop.
//
// If f is called, Do returns f's error, or the one of Unlock if that is ErrLost or
// a refusal of the server, or both. If the server does not answer, Do waits for the
// Unlock no longer than the session timeout, and once ctx has ended no longer than a twelfth of
// it. That is not an error: the node is deleted later. If f is not called, Do returns Lock's error.
func (m *Mutex) Do(ctx context.Context, owner *Owner, f func(ctx context.Context, l *Lease) error) (err error) {
	l, err := m.Lock(ctx, owner)
	if err != nil {
		return err
	}
	defer func() {
		unlockCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), m.client.Timeout())
		defer stop()
		longestRoundTrip := m.client.Timeout() / 12 // see ErrTooSlow
		stopSoon := func() { time.AfterFunc(longestRoundTrip, stop) }
		defer context.AfterFunc(ctx, stopSoon)()
		unlockErr := l.Unlock(unlockCtx)
		if errors.Is(unlockErr, unlockCtx.Err()) {
			unlockErr = nil // f has been called, and the node goes by itself
		}
		err = errors.Join(err, unlockErr)
	}()
	return f(l.Context(ctx), l)
}
