package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/steps"
)

// An Exercise is what the lab knows of a student's lock. The code that adds
// the exercises to the catalogue is generated when the lab is built, because
// a folder that begins with _ is in no package pattern.
type Exercise struct {
	Folder string // such as 01-naive
	Title  Text
	Queue  bool // the lock's path is the parent of a queue
	// NotLocked is what Unlock returns if the lock is not held; nil: it has no
	// such error.
	NotLocked error
	Contexts  bool // Lock takes a ctx
	Together  bool // the contenders of a client share what Open makes
	Open      func(conn *zk.Conn, path string) func(name string) explore.Lock
}

// AddExercises adds students' locks.
func AddExercises(list ...Exercise) {
	for _, e := range list {
		Add(Lock{
			Name: "exercise-" + e.Folder, Group: Exercises, Title: e.Title,
			Note: Text{
				"Your lock: docs/exercises/_" + e.Folder + "/lock.go. Save it, and it runs here.",
				"你写的锁：docs/exercises/_" + e.Folder + "/lock.go。保存后就在这里运行。",
			},
			Subject: func(session time.Duration) explore.Subject {
				s := explore.Subject{Name: "exercise-" + e.Folder, Queue: e.Queue, Contexts: e.Contexts, Alone: !e.Together, Session: session, Open: e.Open}
				if e.NotLocked != nil {
					s.NotLocked = func(err error) bool { return errors.Is(err, e.NotLocked) }
				}
				return s
			},
		})
	}
}

// Alone makes the contenders of a lock that each of them has for itself. Its
// Lock may take a ctx.
func Alone[L any](open func(conn *zk.Conn, path string) L) func(conn *zk.Conn, path string) func(string) explore.Lock {
	return func(conn *zk.Conn, path string) func(string) explore.Lock {
		return func(string) explore.Lock {
			switch l := any(open(conn, path)).(type) {
			case steps.Plain:
				return steps.FromPlain(l)
			case patient:
				return givesUp{l}
			default:
				panic(fmt.Sprintf("locks: %T has not the methods of a lock", l))
			}
		}
	}
}

// A patient lock's Lock ends with its ctx.
type patient interface {
	Lock(ctx context.Context) error
	TryLock() (bool, error)
	Unlock() error
}

type givesUp struct{ patient }

func (g givesUp) TryLock(context.Context) (bool, error) { return g.patient.TryLock() }
func (g givesUp) Unlock(context.Context) error          { return g.patient.Unlock() }

// A Mutex is a lock that a client's contenders share, each as an owner.
type Mutex[O any] interface {
	Lock(owner O) error
	TryLock(owner O) (bool, error)
	Unlock(owner O) error
}

// Owned makes the contenders of such a lock.
func Owned[M Mutex[O], O any](open func(conn *zk.Conn, path string) M, newOwner func(name string) O) func(conn *zk.Conn, path string) func(string) explore.Lock {
	return func(conn *zk.Conn, path string) func(string) explore.Lock {
		m := open(conn, path)
		return func(name string) explore.Lock { return owned[M, O]{m, newOwner(name)} }
	}
}

type owned[M Mutex[O], O any] struct {
	m M
	o O
}

func (o owned[M, O]) Lock(context.Context) error            { return o.m.Lock(o.o) }
func (o owned[M, O]) TryLock(context.Context) (bool, error) { return o.m.TryLock(o.o) }
func (o owned[M, O]) Unlock(context.Context) error          { return o.m.Unlock(o.o) }
