// Package steps shows the locks of the steps to the explorer.
package steps

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	naive "example.com/zklock/01-naive-ephemeral"
	herd "example.com/zklock/02-herd-effect"
	predecessor "example.com/zklock/03-sequential-predecessor"
	reentrant "example.com/zklock/04-reentrant"
	timeout "example.com/zklock/05-timeout"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/zklock"
)

// A Plain lock takes no ctx, as those of steps 1 to 3.
type Plain interface {
	Lock() error
	TryLock() (bool, error)
	Unlock() error
}

// FromPlain makes a plain lock a player.Lock.
func FromPlain(l Plain) player.Lock { return plainLock{l} }

type plainLock struct{ Plain }

func (p plainLock) Lock(context.Context) error            { return p.Plain.Lock() }
func (p plainLock) TryLock(context.Context) (bool, error) { return p.Plain.TryLock() }
func (p plainLock) Unlock(context.Context) error          { return p.Plain.Unlock() }

// These are the known faults of the steps; their pages describe them. The player reports player.Outlived by itself.
var (
	// LostReply is known of every lock but zklock.
	LostReply = player.Known{
		Name: "the reply to create is lost, and the node stays until the session ends",
		Match: func(v player.Violation, f player.Facts) bool {
			return f.OrphanCreate && (v.Kind == player.Hang || v.Kind == player.NodeLeft)
		},
	}
	lookThenDelete = player.Known{
		Name: "Unlock looks, the session ends, and Unlock deletes the node of the next holder",
		Match: func(v player.Violation, f player.Facts) bool {
			return v.Kind == player.ForeignDelete && f.Happened(player.Stall) > 0
		},
	}
	// Wrap is known of every lock that sorts the names of its nodes.
	Wrap = player.Known{
		Name:  "the numbers pass 2³¹-1, and then the names do not sort by number",
		Match: func(v player.Violation, f player.Facts) bool { return f.World.Sequence == math.MaxInt32 },
	}
	// handedOn is known of zklock. A Stop ends the session early, and an Unlock that hands the lock on asks no server.
	handedOn = player.Known{
		Name: "the session is ended before its time, and Unlock hands the lock on before the client has noticed",
		Match: func(v player.Violation, f player.Facts) bool {
			return v.Kind == player.HidesLoss && f.Happened(player.Stop) > 0
		},
	}
)

// OfPlain returns a kind of plain lock as a Subject. newLock makes a contender.
func OfPlain[L Plain](name string, newLock func(conn *zk.Conn, path string) L, notLocked error) player.Subject {
	return player.Subject{
		Name:  name,
		Alone: true, // each contender is a lock of its own
		Open: func(conn *zk.Conn, path string) func(string) player.Lock {
			return func(string) player.Lock { return FromPlain(newLock(conn, path)) }
		},
		NotLocked: func(err error) bool { return errors.Is(err, notLocked) },
	}
}

// Naive returns step 1 as a Subject.
func Naive() player.Subject {
	s := OfPlain("naive", naive.New, naive.ErrNotLocked)
	s.Requests = func(n int) int { return n*n + 2*n }     // as the comment of package naive derives it
	s.Events = func(n int) int { return n * (n - 1) / 2 } // each release wakes all that wait
	s.Known = []player.Known{LostReply, lookThenDelete}
	return s
}

// Herd returns step 2 as a Subject.
func Herd() player.Subject {
	s := OfPlain("herd", herd.New, herd.ErrNotLocked)
	s.Requests = func(n int) int { return n*n + n + 1 } // see package herd
	s.Events = func(n int) int { return n*n - n + 1 }
	s.Queue, s.Known = true, []player.Known{LostReply, Wrap}
	return s
}

// Predecessor returns step 3 as a Subject.
func Predecessor() player.Subject {
	s := OfPlain("predecessor", predecessor.New, predecessor.ErrNotLocked)
	s.Requests = func(n int) int { return 5*n - 2 } // see package predecessor
	s.Events = func(n int) int { return n - 1 }
	s.Queue, s.Known = true, []player.Known{LostReply, Wrap}
	return s
}

// Reentrant returns step 4 as a Subject. The contenders of a client share its Mutex; each is an owner.
func Reentrant() player.Subject {
	return player.Subject{
		Name:      "reentrant",
		Reentrant: true,
		Open: func(conn *zk.Conn, path string) func(string) player.Lock {
			m := reentrant.New(conn, path)
			owners := OfOneName(reentrant.NewOwner)
			return func(name string) player.Lock { return &owner{mutex: m, owner: owners(name)} }
		},
		NotLocked: func(err error) bool { return errors.Is(err, reentrant.ErrNotOwner) },
		Requests:  func(n int) int { return 5*n - 2 },
		Events:    func(n int) int { return n - 1 },
		Queue:     true,
		Known:     []player.Known{LostReply, Wrap},
	}
}

// OfOneName returns a function that makes one owner for each name.
func OfOneName[O any](newOwner func(name string) O) func(name string) O {
	owners := make(map[string]O)
	return func(name string) O {
		if _, ok := owners[name]; !ok {
			owners[name] = newOwner(name)
		}
		return owners[name]
	}
}

type owner struct {
	mutex *reentrant.Mutex
	owner *reentrant.Owner
}

func (o *owner) Lock(context.Context) error            { return o.mutex.Lock(o.owner) }
func (o *owner) TryLock(context.Context) (bool, error) { return o.mutex.TryLock(o.owner) }
func (o *owner) Unlock(context.Context) error          { return o.mutex.Unlock(o.owner) }

// Variables is how many times the owner holds the lock.
func (o *owner) Variables() []film.Variable { return holdsVariable(o.mutex.Holds(o.owner)) }

func holdsVariable(n int) []film.Variable {
	if n == 0 {
		return nil
	}
	return []film.Variable{{Name: "holds", Value: strconv.Itoa(n)}}
}

// Timeout returns step 5 as a Subject.
func Timeout() player.Subject { return TimeoutIn(player.SessionTimeout) }

// TimeoutIn is Timeout with another session timeout.
func TimeoutIn(session time.Duration) player.Subject {
	return player.Subject{
		Name:  "timeout",
		Alone: true,
		Open: func(conn *zk.Conn, path string) func(string) player.Lock {
			l := timeout.New(conn, path, session)
			return func(string) player.Lock { return &contender{lock: l} }
		},
		NotLocked: func(err error) bool { return errors.Is(err, timeout.ErrLost) || errors.Is(err, errNoLease) },
		Requests:  func(n int) int { return 6*n - 2 },
		Events:    func(n int) int { return n - 1 },
		Queue:     true,
		Timed:     true,
		Contexts:  true,
		Session:   session,
		Known:     []player.Known{LostReply, Wrap},
	}
}

type contender struct {
	lock  *timeout.Lock
	lease *timeout.Lease // the one to unlock; nil: none
}

func (c *contender) Lock(ctx context.Context) (err error) {
	c.lease, err = c.lock.Lock(ctx)
	return err
}

func (c *contender) TryLock(ctx context.Context) (bool, error) {
	lease, err := c.lock.TryLock(ctx)
	if errors.Is(err, timeout.ErrHeld) {
		return false, nil
	}
	c.lease = lease
	return err == nil, err
}

func (c *contender) Unlock(ctx context.Context) error {
	if c.lease == nil {
		return errNoLease
	}
	err := c.lease.Unlock(ctx)
	if err == nil || errors.Is(err, timeout.ErrLost) {
		c.lease = nil
	}
	return err
}

func (c *contender) Token() int64          { return c.lease.Token() }
func (c *contender) Lost() <-chan struct{} { return c.lease.Lost() }

// Zklock returns the complete lock as a Subject. The contenders of a client share its Mutex; each is an owner.
func Zklock() player.Subject { return ZklockIn(player.SessionTimeout) }

// ZklockIn is Zklock with another session timeout.
func ZklockIn(session time.Duration) player.Subject { return ZklockWith(session) }

// ZklockWith is ZklockIn with options of the lock.
func ZklockWith(session time.Duration, options ...zklock.Option) player.Subject {
	return player.Subject{
		Name:      "zklock",
		Reentrant: true,
		Open: func(conn *zk.Conn, path string) func(string) player.Lock {
			m, err := zklock.New(conn, path, append(options, zklock.WithSessionTimeout(session))...)
			if err != nil {
				panic(err) // the path is a constant
			}
			owners := OfOneName(zklock.NewOwner)
			return func(name string) player.Lock { return &leaseLock{mutex: m, owner: owners(name)} }
		},
		NotLocked: func(err error) bool { return errors.Is(err, zklock.ErrLost) || errors.Is(err, errNoLease) },
		Queue:     true,
		Requeues:  true,
		Timed:     true,
		Contexts:  true,
		Session:   session,
		Known:     []player.Known{handedOn},
	}
}

var errNoLease = errors.New("steps: there is no lease")

type leaseLock struct {
	mutex  *zklock.Mutex
	owner  *zklock.Owner
	leases []*zklock.Lease // those to unlock, from the end
}

// add keeps the lease of a Lock or TryLock that has succeeded.
func (l *leaseLock) add(lease *zklock.Lease, err error) error {
	if err == nil {
		l.leases = append(l.leases, lease)
	}
	return err
}

// Lease is the last one.
func (l *leaseLock) Lease() *zklock.Lease { return l.leases[len(l.leases)-1] }

func (l *leaseLock) Lock(ctx context.Context) error { return l.add(l.mutex.Lock(ctx, l.owner)) }

func (l *leaseLock) TryLock(ctx context.Context) (bool, error) {
	err := l.add(l.mutex.TryLock(ctx, l.owner))
	if errors.Is(err, zklock.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

func (l *leaseLock) Unlock(ctx context.Context) error {
	if len(l.leases) == 0 {
		return errNoLease
	}
	err := l.Lease().Unlock(ctx)
	if err == nil || errors.Is(err, zklock.ErrLost) {
		l.leases = l.leases[:len(l.leases)-1]
	}
	return err
}

// Variables are those of the last lease, and how many there are.
func (l *leaseLock) Variables() []film.Variable {
	if len(l.leases) == 0 {
		return nil
	}
	return append(holdsVariable(len(l.leases)), film.Variable{Name: "node", Value: l.Lease().Node()},
		film.Variable{Name: "token", Value: strconv.FormatInt(l.Lease().Token(), 10)})
}

func (l *leaseLock) Token() int64          { return l.Lease().Token() }
func (l *leaseLock) Lost() <-chan struct{} { return l.Lease().Lost() }
