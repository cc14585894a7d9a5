// Package etcd is a lock on etcd, through etcd's own package concurrency: ZooKeeper's recipe on its nearest relative.
// The articles do not have it.
//
// The idea: a session is a lease that the client keeps alive; a key with that lease goes with it, as an ephemeral node
// does. A contender puts a key under the lock's prefix. Of all keys there the one that was created first, by its
// revision, holds the lock, and each other waits for the deletion of the one created just before its own: step 3's
// queue.
//
// The trap: the key is the prefix and the number of the lease, and nothing else. So all Mutexes of one session that
// lock one prefix put the same key, each finds that it is the first, and all are inside at once:
// TestTenMutexesInOneSessionAreAllInside forces it. A concurrency.Mutex excludes sessions, not goroutines. Each Lock of
// this package has a session of its own.
//
// Cost: 2 requests if the lock is free, 2 or 3 more and 1 event for a waiter: N contenders
// send about 5N. A session costs 1, and 1 more each third of its lease's life.
//
// Remaining faults:
//
//   - A holder that is cut off or paused for longer than its lease writes beside the next one (bug E1). Token is the
//     fencing token that the resource must compare.
//   - Lost is closed by a timer of the client, so a client that was paused finds it closed only when it goes on.
//   - While no server can be reached, Unlock waits until its ctx ends, and so does Lock, or until the lease has ended
//     by the client's clock: then it returns ErrNoReply.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/zklock/docs/other-locks/limits"
)

// ErrNotLocked is returned by Unlock when the Lock does not hold its lock: it never did, or its lease has ended.
var ErrNotLocked = errors.New("etcd: not locked")

// ErrNoReply says that the connection broke, or that the server is not ready, before
// the reply came. Whether the request has been executed is unknown.
var ErrNoReply = errors.New("no reply from etcd, which may have done what was asked")

var connectTimeout = 5 * time.Second

var cleanUp = 2 * time.Second // the time that a failed attempt may take to remove its key and lease

// Connect opens a client of the servers at some addresses. An error is one line, and comes within seconds.
func Connect(ctx context.Context, addresses []string, options ...grpc.DialOption) (*clientv3.Client, error) {
	reconnect := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}
	reconnect.Backoff.MaxDelay = time.Second // and not 2 minutes, in which a lease ends beside a server that is back
	client, err := clientv3.New(clientv3.Config{
		Endpoints: addresses, DialOptions: append(options, grpc.WithConnectParams(reconnect)),
		Logger: zap.NewNop(), // each error is returned, too
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(addresses, ","), err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := client.Get(ctx, "zklock"); err != nil {
		client.Close()
		return nil, fmt.Errorf("etcd at %s: no answer within %v: %w", strings.Join(addresses, ","), connectTimeout, err)
	}
	return client, nil
}

// A Lock is one contender for the lock at a prefix, with a session of its own. It is for one goroutine at a time, and
// can be used again after Unlock. Close ends its session.
type Lock struct {
	client   *clientv3.Client
	prefix   string
	ttl      int // seconds
	session  *session
	mutex    *concurrency.Mutex // nil while we do not hold the lock
	attempts atomic.Int64
}

// A session is a lease that is kept alive.
type session struct {
	*concurrency.Session
	lost chan struct{} // closed when the lease can no longer be trusted, or is no longer kept alive
	stop context.CancelFunc
}

// New returns a contender whose lease lives for ttl seconds after the last sign
// of life. The prefix must not end in / or contain //.
func New(client *clientv3.Client, prefix string, ttl int) *Lock {
	return &Lock{client: client, prefix: prefix, ttl: ttl}
}

// Attempts is the number of times that the contender has asked for the lock.
func (l *Lock) Attempts() int64 { return l.attempts.Load() }

// Lock waits until it holds the lock or ctx ends. If it returns an error it does
// not hold the lock; the error wraps ctx.Err() if that was the reason.
func (l *Lock) Lock(ctx context.Context) error { return l.lock(ctx, (*concurrency.Mutex).Lock) }

// TryLock takes the lock if nobody holds it. It returns false and no error only if another contender holds the lock.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	err := l.lock(ctx, (*concurrency.Mutex).TryLock)
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}

// lock takes the lock by one of the two methods of a Mutex, Lock or TryLock.
func (l *Lock) lock(ctx context.Context, method func(*concurrency.Mutex, context.Context) error) error {
	l.attempts.Add(1)
	if strings.Contains(l.prefix, "//") || strings.HasSuffix(l.prefix, "/") {
		return fmt.Errorf("etcd: lock %s: the prefix contains // or ends in /, and would share its queue with another lock: leave that out", l.prefix)
	}
	if l.mutex != nil {
		return fmt.Errorf("etcd: lock %s: this Lock holds it already: it is not reentrant", l.prefix)
	}
	if err := l.Open(ctx); err != nil {
		return fmt.Errorf("etcd: lock %s: %w", l.prefix, explain(ctx, err))
	}

	// The Mutex adds a / and lists all that begins so. With one / alone the lock x
	// would list the keys of the lock x/b, and wait for its holder (bug D9).
	mutex := concurrency.NewMutex(l.session.Session, l.prefix+"/")
	// When ctx ends the Mutex deletes its key, and waits for that without a bound.
	result := make(chan error, 1)
	lockCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { result <- method(mutex, lockCtx) }()
	var err, why error // why the call is given up
	select {
	case err = <-result:
	case <-ctx.Done():
		why = ctx.Err()
	case <-l.session.lost: // its place in the queue is lost, or no server is there
		why = fmt.Errorf("%w: the lease has ended", ErrNoReply)
	}
	if why != nil {
		select {
		case err = <-result:
		case <-time.After(cleanUp):
			err = why
		}
	}

	if errors.Is(err, rpctypes.ErrLeaseNotFound) && ctx.Err() == nil {
		// The lease ended, and its keeper has not noticed yet.
		l.session.stop()
		l.session = nil
		l.attempts.Add(-1)
		return l.lock(ctx, method)
	}
	if err != nil {
		if !errors.Is(err, concurrency.ErrLocked) {
			given := l.session // the reply may be lost, and the key there: it goes with its lease
			l.session = nil
			limits.CleanUp(ctx, cleanUp, func(ctx context.Context) {
				given.stop()
				l.client.Revoke(ctx, given.Lease())
			})
		}
		return fmt.Errorf("etcd: lock %s: %w", l.prefix, explain(ctx, err))
	}
	l.mutex = mutex
	return nil
}

// Open opens the session unless there is one that lives. Lock does so, too.
func (l *Lock) Open(ctx context.Context) error {
	if l.session != nil {
		select {
		case <-l.session.lost:
		default:
			return nil
		}
	}
	sent := time.Now()
	lease, err := l.client.Grant(ctx, int64(l.ttl))
	if err != nil {
		return err
	}
	s, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return err
	}
	s.Orphan() // it would count the lease's life from the reply, and until the first renewal not at all
	alive, stop := context.WithCancel(l.client.Ctx())
	l.session = &session{s, make(chan struct{}), stop}
	go l.session.keepAlive(alive, sent, time.Duration(lease.TTL)*time.Second) // the server may have granted more than ttl
	return nil
}

// keepAlive renews the lease until ctx ends, and closes lost when the lease is over by the client's clock.
func (s *session) keepAlive(ctx context.Context, sent time.Time, ttl time.Duration) {
	defer close(s.lost)
	limits.Keep(ctx, sent, ttl, ttl/3, func(ctx context.Context) (gone bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, ttl/3) // the next one asks another server
		defer cancel()
		_, err = s.Client().KeepAliveOnce(ctx, s.Lease())
		return errors.Is(err, rpctypes.ErrLeaseNotFound), err
	})
}

// Token is the fencing token: the revision of the store when we got the lock. It is higher than that of every earlier
// holder, whose key had to go first. It must be called while the lock is held.
func (l *Lock) Token() int64 { return l.mutex.Header().Revision }

// Lost is closed when the lock can no longer be trusted: the lease has ended, or could not be renewed for as long as it
// lives. It must be called while the lock is held.
func (l *Lock) Lost() <-chan struct{} { return l.session.lost }

// Unlock releases the lock. If this Lock does not hold it, Unlock returns ErrNotLocked. After any other error the lock
// may still be held, and Unlock can be called again.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.mutex == nil {
		return ErrNotLocked
	}
	// The key goes with the lease. Unlock alone would not say that it has gone.
	response, err := l.client.Txn(ctx).If(l.mutex.IsOwner()).Then(clientv3.OpDelete(l.mutex.Key())).Commit()
	if err != nil {
		return fmt.Errorf("etcd: unlock %s: %w", l.prefix, explain(ctx, err))
	}
	l.mutex = nil
	if !response.Succeeded {
		return fmt.Errorf("%w: the key of %s has gone, most likely with its lease", ErrNotLocked, l.prefix)
	}
	return nil
}

// Close ends the session, and with it the lock if it is held.
func (l *Lock) Close(ctx context.Context) error {
	if l.session == nil {
		return nil
	}
	l.session.stop()
	_, err := l.client.Revoke(ctx, l.session.Lease())
	l.session, l.mutex = nil, nil
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = nil // it has ended already
	}
	return explain(ctx, err)
}

// explain adds to an error that ctx has ended, or ErrNoReply if the error says that no server answered.
func explain(ctx context.Context, err error) error {
	if status.Code(err) == codes.Unavailable { // which nil is not
		return limits.Explain(ctx, err, ErrNoReply)
	}
	return limits.Explain(ctx, err, nil)
}
