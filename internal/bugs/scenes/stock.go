package scenes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/bugs/listings"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/zklock"
)

// A stock is a number that a lock protects, in the znode above the lock's own. Each holder reads it when it gets the
// lock, and writes it, with one added, when it unlocks. One that was paused in between has computed from an old number.
type stock struct {
	fenced bool                                   // it refuses a token that is lower than one it has seen
	guard  func(l *zklock.Lease) listings.Guarded // makes a holder's guard, which refuses late writes; nil: there is none
	gap    func(name string)                      // waits until the explorer lets the caller go on

	mu      sync.Mutex // guards what follows
	written int        // how many holders have written their number, and have called Unlock
	highest int        // of these numbers
}

var errStale = errors.New("scenes: the stock has seen a higher token")

// protectedBy returns the subject's lock as one that protects the stock: each holder adds one to it.
func (s *stock) protectedBy(subject player.Subject) player.Subject {
	subject.Path = "/stock/lock"
	subject.Requests, subject.Events = nil, nil // not predicted: the requests for the stock come on top
	subject.Check = s.lost
	subject.Begin = func(gap func(name string)) (end func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gap = gap
		s.written, s.highest = 0, 0
		return func() {}
	}
	return subject.Wrapped(func(l player.Lock, conn *zk.Conn, at, name string) player.Lock {
		a := adder{stock: s, conn: conn, path: path.Dir(at), lock: l, writesLate: s.guard != nil && name == "A"}
		if leased, ok := l.(player.Leased); ok {
			return &adderWithToken{adder: a, Leased: leased}
		}
		return &a
	})
}

func (s *stock) wrote(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	s.highest = max(s.highest, number)
}

// lost returns a violation if an addition is lost: more holders have added one than the highest number says.
func (s *stock) lost() (v player.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.highest < s.written {
		v.Kind, v.What = player.LostAddition, i18n.Textf(
			"%d holders have added one each, but the highest number that was written to /stock is %d", s.written, s.highest)
	}
	return v
}

// read returns the number. A fenced stock keeps the reader's token, and refuses all holders before it from now on.
func (s *stock) read(conn *zk.Conn, at string, token int64) (int, error) {
	if s.fenced {
		return updateFenced(conn, at, token, func(number int) int { return number })
	}
	number, _, _, err := readStock(conn, at)
	return number, err
}

func (s *stock) write(conn *zk.Conn, at string, token int64, number int) error {
	if s.fenced {
		_, err := updateFenced(conn, at, token, func(int) int { return number })
		return err
	}
	return writeStock(conn, at, number, token, -1)
}

// updateFenced stores a token, unless the stock has seen a higher one, and the number that next makes of the old one.
func updateFenced(conn *zk.Conn, at string, token int64, next func(number int) int) (int, error) {
	for {
		number, seen, version, err := readStock(conn, at)
		switch {
		case err != nil:
			return 0, err
		case token < seen:
			return 0, errStale
		}
		number = next(number)
		if err := writeStock(conn, at, number, token, version); !errors.Is(err, zk.ErrBadVersion) {
			return number, err
		}
	}
}

// readStock returns the number and the token that are stored: 0 and 0 at first.
func readStock(conn *zk.Conn, at string) (number int, token int64, version int32, err error) {
	data, stat, err := conn.Get(at)
	if err != nil {
		return 0, 0, 0, err
	}
	if len(data) > 0 {
		_, err = fmt.Sscan(string(data), &number, &token)
	}
	return number, token, stat.Version, err
}

func writeStock(conn *zk.Conn, at string, number int, token int64, version int32) error {
	_, err := conn.Set(at, []byte(fmt.Sprint(number, " ", token)), version)
	return err
}

// An adder is a contender that adds one to the stock while it holds the lock.
type adder struct {
	stock      *stock
	conn       *zk.Conn
	path       string // of the stock
	lock       player.Lock
	writesLate bool // as A does in Z1 and Z2: Unlock has a goroutine write, and does not wait for it

	guard  listings.Guarded // of this hold; nil: there is none
	holds  bool
	read   bool // at least once
	number int  // that it has read
}

// token is the fencing token of this hold, 0 if the lock has none.
func (a *adder) token() int64 {
	if leased, ok := a.lock.(player.Leased); ok {
		return leased.Token()
	}
	return 0
}

// Lock returns the lock's error, or that of the first read.
func (a *adder) Lock(ctx context.Context) error {
	if err := a.lock.Lock(ctx); err != nil {
		return err
	}
	number, err := 0, a.beginGuard()
	if err == nil {
		number, err = a.stock.read(a.conn, a.path, a.token())
	}
	if err != nil {
		return errors.Join(err, a.lock.Unlock(ctx))
	}
	a.holds, a.read, a.number = true, true, number
	return nil
}

func (a *adder) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }

// Unlock writes once; if that fails, nothing was added.
func (a *adder) Unlock(ctx context.Context) error {
	if !a.holds {
		return a.lock.Unlock(ctx)
	}
	a.holds = false
	guard, number, token := a.guard, a.number+1, a.token()
	write := func() bool {
		if guard != nil {
			return guard.Set(a.path, fmt.Append(nil, number, " ", token)) == nil
		}
		return a.stock.write(a.conn, a.path, token, number) == nil
	}

	wrote := !a.writesLate && write()
	if a.writesLate {
		go func() {
			a.stock.gap("A's write")
			if write() {
				a.stock.wrote(number)
			}
		}()
	}
	if guard != nil {
		guard.End()
	}
	err := a.lock.Unlock(ctx)
	if wrote {
		a.stock.wrote(number)
	}
	return err
}

// beginGuard makes the guard of this hold, if holders have one.
func (a *adder) beginGuard() error {
	if a.stock.guard == nil {
		return nil
	}
	lease := a.lock.(interface{ Lease() *zklock.Lease }).Lease()
	a.guard = a.stock.guard(lease)
	return a.guard.Begin(a.conn, lease.Node(), lease.Token())
}

// Variables are the lock's, and the number that the contender has read.
func (a *adder) Variables() []film.Variable {
	list := film.Variables(a.lock)
	if a.read {
		list = append(list, film.Variable{Name: "number", Value: strconv.Itoa(a.number)})
	}
	return list
}

// An adderWithToken is an adder whose lock has leases. The player sees its Token and its Lost.
type adderWithToken struct {
	adder
	player.Leased
}
