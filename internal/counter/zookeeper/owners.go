package zookeeper

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

// PerSession is a lock that has one value for each session,
// for which open returns a maker of contenders.
func PerSession(open func(conn *zk.Conn, path string, session time.Duration) func() Locker) Kind {
	return Kind{true, func(r Run) Maker {
		makers := make(map[*zk.Conn]func() Locker)
		return func(conn *zk.Conn, path string) Locker {
			if makers[conn] == nil {
				makers[conn] = open(conn, path, r.SessionTimeout(conn))
			}
			return makers[conn]()
		}
	}}
}

// Owned is a lock with the API of step 4. All contenders of a
// session share one mutex, and each has an owner of its own.
func Owned[O any, M interface {
	Lock(O) error
	Unlock(O) error
}](open func(*zk.Conn, string) M, newOwner func(string) O) Kind {
	return PerSession(func(conn *zk.Conn, path string, _ time.Duration) func() Locker {
		m := open(conn, path)
		return func() Locker {
			owner := newOwner("bench")
			return &adaptedLock{
				lock:   func(context.Context) error { return m.Lock(owner) },
				unlock: func() error { return m.Unlock(owner) },
				mutex:  m,
			}
		}
	})
}

// Leased is the same for the API of the complete lock.
func Leased[O any, L interface{ Unlock(context.Context) error }, M interface {
	Lock(context.Context, O) (L, error)
}](open func(*zk.Conn, string, time.Duration) (M, error), newOwner func(string) O) Kind {
	return PerSession(func(conn *zk.Conn, path string, session time.Duration) func() Locker {
		m, err := open(conn, path, session)
		return func() Locker {
			if err != nil {
				return &adaptedLock{lock: func(context.Context) error { return i18n.Errorf("New: %w", "New：%v", err) }}
			}
			owner := newOwner("bench")
			var lease L
			return &cancellableLock{adaptedLock{
				lock: func(ctx context.Context) (err error) {
					lease, err = m.Lock(ctx, owner)
					return err
				},
				unlock: func() error {
					if l, ok := any(lease).(interface{ Lost() <-chan struct{} }); ok {
						select {
						case <-l.Lost():
							return i18n.Errorf("%w before its Unlock", "%v，在 Unlock 之前", zklock.ErrLost)
						default:
						}
					}
					return lease.Unlock(context.Background())
				},
				mutex: m,
			}}
		}
	})
}

// Ownerless is the same for the API of step 5, in which each hold is a contender
// of its own.
func Ownerless[L interface{ Unlock(context.Context) error }, M interface {
	Lock(context.Context) (L, error)
}](open func(*zk.Conn, string, time.Duration) M) Kind {
	return Leased(func(conn *zk.Conn, path string, session time.Duration) (withoutOwner[L, M], error) {
		return withoutOwner[L, M]{open(conn, path, session)}, nil
	}, func(string) struct{} { return struct{}{} })
}

type withoutOwner[L any, M interface {
	Lock(context.Context) (L, error)
}] struct{ lock M }

func (w withoutOwner[L, M]) Lock(ctx context.Context, _ struct{}) (L, error) { return w.lock.Lock(ctx) }

// adaptedLock makes a Locker of a lock with another API.
type adaptedLock struct {
	lock   func(context.Context) error
	unlock func() error
	mutex  any // shared by the contenders of a session
}

func (a *adaptedLock) Lock() error   { return a.lock(context.Background()) }
func (a *adaptedLock) Unlock() error { return a.unlock() }

// Shutdown returns when the mutex has no work under way in the background.
func (a *adaptedLock) Shutdown(ctx context.Context) error {
	if m, ok := a.mutex.(shutdowner); ok {
		return m.Shutdown(ctx)
	}
	return nil
}

// cancellableLock is an adapted lock whose Lock returns when a context ends.
type cancellableLock struct{ adaptedLock }

func (g *cancellableLock) LockContext(ctx context.Context) error { return g.lock(ctx) }
