package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/i18n"
)

// An Exercise describes the locks that are written for one exercise, for the lab and the grader.
type Exercise struct {
	Folder     string // such as 03-predecessor
	Contenders int    // in the lab's scene, and the fewest in the grader's worlds
	Register   bool   // it is not a lock, but a register that compares tokens

	// What its locks are like, for Subject.
	queue    bool // the lock's path is the parent of a queue
	finds    bool // a create whose reply is lost leaves no node behind
	contexts bool // Lock takes a ctx
	timed    bool // the lock watches over its session by the clock
	owners   bool // the contenders of a client share what is opened, each as an owner
	permits  int
	together func(a, b string) bool // whether both may hold the lock at once
}

// Playable are the exercises whose locks the explorer can play.
var Playable = []Exercise{
	{Folder: "01-naive", Contenders: 2},
	{Folder: "02-herd", Contenders: 2, queue: true},
	{Folder: "03-predecessor", Contenders: 2, queue: true},
	{Folder: "04-reentrant", Contenders: 2, queue: true, owners: true},
	{Folder: "05-give-up", Contenders: 2, queue: true, contexts: true},
	{Folder: "06-find-again", Contenders: 2, queue: true, finds: true},
	{Folder: "07-fence", Contenders: 2, Register: true},
	{Folder: "08-semaphore", Contenders: 3, queue: true, permits: permits},
	{Folder: "09-read-write", Contenders: 2, queue: true, together: func(a, b string) bool { return isReader(a) && isReader(b) }},
	{Folder: "10-election", Contenders: 2, queue: true, timed: true, contexts: true},
}

// isReader reports whether a contender of exercise 9 is a reader: B, C, E, F, …
func isReader(name string) bool { return (name[0]-'A')%3 != 0 }

// Name is the name of the exercise's lock in the catalogue.
func (e Exercise) Name() string { return "exercise-" + e.Folder }

// An Open opens a lock for a client, with its session timeout. The result makes the contenders by their names.
type Open = func(conn *zk.Conn, path string, session time.Duration) func(name string) player.Lock

// Subject is a lock of the exercise for the explorer. NotLocked is what its Unlock returns if the lock is not held.
func (e Exercise) Subject(open Open, notLocked error, session time.Duration) player.Subject {
	s := player.Subject{
		Name: e.Name(), Queue: e.queue, Contexts: e.contexts, Timed: e.timed, Alone: !e.owners, Reentrant: e.owners,
		Permits: e.permits, Together: e.together, Session: session, Lenient: true,
		Open:      func(conn *zk.Conn, path string) func(string) player.Lock { return open(conn, path, session) },
		NotLocked: func(err error) bool { return errors.Is(err, notLocked) || errors.Is(err, errNotLeading) },
		// The grader has its own cases for Costly, which count requests, and for HidesLoss, if a lock can notify its holder.
		Ignore: []player.Kind{player.WatchLeft, player.Costly, player.HidesLoss},
	}
	if e.Register {
		s.Permits, s.NotLocked = 100, nil // more permits than contenders: it excludes none
		s.Ignore = append(s.Ignore, player.NodeMissing, player.NodeLeft)
	}
	if !e.finds {
		s.Known = []player.Known{steps.LostReply}
	}
	return s
}

// FindExercise returns the exercise of a folder, which may begin with _.
func FindExercise(folder string) (Exercise, error) {
	i := slices.IndexFunc(Playable, func(e Exercise) bool { return e.Folder == strings.TrimPrefix(folder, "_") })
	if i < 0 {
		return Exercise{}, i18n.Errorf("the explorer plays no lock of the exercise %s", folder)
	}
	return Playable[i], nil
}

// AddExercise adds a student's lock. The code that calls it is generated when the
// lab is built, because a folder that begins with _ is in no package pattern.
func AddExercise(folder string, title Text, open Open, notLocked error) {
	e, err := FindExercise(folder)
	if err != nil {
		panic(err) // the lab's command asks before it generates the call
	}
	Add(Lock{
		Name: e.Name(), Group: Exercises, Title: title,
		Note: i18n.Both("Your lock: docs/exercises/_"+folder+"/lock.go. Save it, and it runs here.",
			"你的锁：docs/exercises/_"+folder+"/lock.go。保存之后，这里就会运行它。"),
		Subject: func(session time.Duration) player.Subject { return e.Subject(open, notLocked, session) },
	})
}

// Alone returns an Open that makes a lock for each contender. Its Lock may take a ctx.
func Alone[L any](open func(conn *zk.Conn, path string) L) Open {
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		return func(string) player.Lock {
			switch l := any(open(conn, path)).(type) {
			case steps.Plain:
				return steps.FromPlain(l)
			case contextLock:
				return contextContender{l}
			default:
				panic(fmt.Sprintf("locks: %T has not the methods of a lock", l))
			}
		}
	}
}

type contextLock interface {
	Lock(ctx context.Context) error // ends with its ctx
	TryLock() (bool, error)
	Unlock() error
}

type contextContender struct{ contextLock }

func (c contextContender) TryLock(context.Context) (bool, error) { return c.contextLock.TryLock() }
func (c contextContender) Unlock(context.Context) error          { return c.contextLock.Unlock() }

// A Mutex is a lock that a client's contenders share, each as an owner.
type Mutex[O any] interface {
	Lock(owner O) error
	TryLock(owner O) (bool, error)
	Unlock(owner O) error
}

// Owned returns an Open that makes a Mutex for each client, and an owner for each contender.
func Owned[M Mutex[O], O any](open func(conn *zk.Conn, path string) M, newOwner func(name string) O) Open {
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		m, owners := open(conn, path), steps.OfOneName(newOwner)
		return func(name string) player.Lock {
			owner := owners(name)
			return contender{
				lock:    func() error { return m.Lock(owner) },
				tryLock: func() (bool, error) { return m.TryLock(owner) },
				unlock:  func() error { return m.Unlock(owner) },
			}
		}
	}
}

// A contender is a player.Lock with the functions that an exercise's lock has for its methods.
type contender struct {
	lock    func() error
	tryLock func() (bool, error)
	unlock  func() error
}

func (c contender) Lock(context.Context) error            { return c.lock() }
func (c contender) TryLock(context.Context) (bool, error) { return c.tryLock() }
func (c contender) Unlock(context.Context) error          { return c.unlock() }

// A Semaphore is the API of exercise 8.
type Semaphore interface {
	Acquire() error
	TryAcquire() (bool, error)
	Release() error
}

const permits = 2 // of each semaphore that the explorer plays

// Permits returns an Open that makes a semaphore for each contender.
func Permits[S Semaphore](open func(conn *zk.Conn, path string, permits int) S) Open {
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		return func(string) player.Lock {
			s := open(conn, path, permits)
			return contender{lock: s.Acquire, tryLock: s.TryAcquire, unlock: s.Release}
		}
	}
}

// A ReadWrite lock is the API of exercise 9.
type ReadWrite interface {
	RLock() error
	RUnlock() error
	Lock() error
	Unlock() error
}

// ReadersAndWriters returns an Open that makes a read/write lock for each contender: A writes, B and C read, D
// writes, and so on.
func ReadersAndWriters[L ReadWrite](open func(conn *zk.Conn, path string) L) Open {
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		return func(name string) player.Lock {
			l := open(conn, path)
			if isReader(name) {
				return contender{lock: l.RLock, tryLock: neverTries, unlock: l.RUnlock}
			}
			return contender{lock: l.Lock, tryLock: neverTries, unlock: l.Unlock}
		}
	}
}

func neverTries() (bool, error) { return false, errors.ErrUnsupported }

// A Candidate is the API of exercise 10 to become the leader.
type Candidate interface {
	Lead(ctx context.Context, lead func(ctx context.Context, term int64) error) error
}

// Candidates returns an Open that makes an election for each contender. The leader is the holder: its Unlock resigns,
// its Lost is closed when the ctx of lead ends, and its token is the term.
func Candidates[C Candidate](open func(conn *zk.Conn, path string, timeout time.Duration) C) Open {
	return func(conn *zk.Conn, path string, session time.Duration) func(string) player.Lock {
		return func(string) player.Lock { return &candidate{election: open(conn, path, session)} }
	}
}

type candidate struct {
	election Candidate
	term     int64
	lost     <-chan struct{}
	resign   chan struct{} // nil: it does not lead
	result   chan error    // of Lead
}

var (
	errNotLeading = i18n.Errorf("does not lead")
	errNeverLed   = player.Broken{Kind: player.Failure, Text: "Lead has returned nil, and has not called its function"}
)

// errLeadsLate is what Lead does wrong if it calls lead after the end of its ctx.
var errLeadsLate = player.Broken{Kind: player.Failure, Text: "lead is called although the ctx of Lead has ended: " +
	"look at ctx once more after the last request"}

// Lock waits until the candidate leads. The ctx of Lead ends with the caller's, but no longer once lead is called: the
// caller's ctx ends when Lock has returned, and the leadership goes on.
func (c *candidate) Lock(callerCtx context.Context) error {
	began, resign, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	leadCtx, end := context.WithCancel(context.Background())
	detach := context.AfterFunc(callerCtx, end) // until detach is called, the caller's ctx ends Lead's
	var calledLate atomic.Bool
	go func() {
		defer end()
		result <- c.election.Lead(leadCtx, func(ctx context.Context, term int64) error {
			if stillWaits := detach(); !stillWaits { // the caller's ctx has ended
				calledLate.Store(true)
				return leadCtx.Err()
			}
			c.term, c.lost = term, ctx.Done()
			close(began)
			select {
			case <-resign:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	select {
	case <-began:
		c.resign, c.result = resign, result
		return nil
	case err := <-result:
		if calledLate.Load() {
			return errLeadsLate
		}
		if err == nil {
			return errNeverLed
		}
		return err
	}
}

func (c *candidate) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }

func (c *candidate) Unlock(context.Context) error {
	if c.resign == nil {
		return errNotLeading
	}
	close(c.resign)
	c.resign = nil
	return <-c.result
}

func (c *candidate) Token() int64          { return c.term }
func (c *candidate) Lost() <-chan struct{} { return c.lost }
