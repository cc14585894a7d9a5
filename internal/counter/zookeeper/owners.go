package zookeeper

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

// PerSession returns a Kind in which the contenders of a session share what open has returned for it: it makes them.
func PerSession(open func(conn *zk.Conn, path string, session time.Duration) func() Locker) Kind {
	return Kind{Begin: func(r Run) Maker {
		makers := make(map[*zk.Conn]func() Locker)
		return func(conn *zk.Conn, path string) Locker {
			if makers[conn] == nil {
				makers[conn] = open(conn, path, r.SessionTimeout(conn))
			}
			return makers[conn]()
		}
	}}
}

// Zklock returns the kind of the complete lock: all contenders of a session share one Mutex, and each has its owner.
func Zklock(options ...zklock.Option) Kind {
	return PerSession(func(conn *zk.Conn, path string, session time.Duration) func() Locker {
		m, err := zklock.New(conn, path, append([]zklock.Option{zklock.WithSessionTimeout(session)}, options...)...)
		return func() Locker { return &owner{mutex: m, newErr: err, owner: zklock.NewOwner("bench")} }
	})
}

type owner struct {
	mutex  *zklock.Mutex
	newErr error // of zklock.New
	owner  *zklock.Owner
	lease  *zklock.Lease
}

func (o *owner) Lock() error { return o.LockContext(context.Background()) }

func (o *owner) LockContext(ctx context.Context) (err error) {
	if o.newErr != nil {
		return i18n.Errorf("New: %w", o.newErr)
	}
	o.lease, err = o.mutex.Lock(ctx, o.owner)
	return err
}

func (o *owner) Unlock() error {
	if bubble.IsClosed(o.lease.Lost()) {
		return i18n.Errorf("%w before its Unlock", zklock.ErrLost)
	}
	return o.lease.Unlock(context.Background())
}

// Shutdown returns when the Mutex has no work under way in the background.
func (o *owner) Shutdown(ctx context.Context) error {
	if o.newErr != nil {
		return nil
	}
	return o.mutex.Shutdown(ctx)
}
