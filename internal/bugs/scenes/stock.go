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

// A stock is protected by the lock of E1 and E2: a number in the znode above
// the lock's own. Each holder reads it when it gets the lock, and writes it,
// with one added, when it unlocks. A holder that was paused in between writes
// a result that it has computed from an old number.
type stock struct {
	fenced bool                                   // it refuses a token that is lower than one it has seen
	guard  func(l *zklock.Lease) listings.Guarded // a holder's; nil: holders write without one
	gap    func(name string)

	mu      sync.Mutex
	added   int // how many holders have written their number, and have called Unlock
	highest int // of these numbers
}

// lostAddition is what a person who plays the scheduler is to reach.
var lostAddition = Text{En: "Let two holders add one each to /stock, and make one addition get lost.", Zh: "让两个持有者各给 /stock 加一，却丢失其中一次。"}

var errStale = errors.New("scenes: the stock has seen a higher token")

// under lets the holders of a lock add one to the stock each.
func (s *stock) under(lock player.Subject) player.Subject {
	lock.Path = "/stock/lock"
	lock.Requests, lock.Events = nil, nil // the stock's come on top
	lock.Check = s.lost
	lock.Begin = func(gap func(name string)) (end func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gap = gap
		s.added, s.highest = 0, 0
		return func() {}
	}
	return lock.Wrapped(func(l player.Lock, conn *zk.Conn, at, name string) player.Lock {
		a := adder{s: s, conn: conn, stock: path.Dir(at), l: l, late: s.guard != nil && name == "A"}
		if leased, ok := l.(player.Leased); ok {
			return &adderWithToken{a, leased}
		}
		return &a
	})
}

// add notes that a holder has written a number.
func (s *stock) add(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added++
	s.highest = max(s.highest, number)
}

// lost reports whether an addition is lost: then there are more of them than the
// highest number says.
func (s *stock) lost() (v player.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.highest < s.added {
		v.Kind, v.What = player.LostAddition, i18n.Textf(
			"%d holders have added one each, but the highest number that was written to /stock is %d: one addition is lost",
			"%d 个持有者各加了一，写入 /stock 的最大数却是 %d：少加了一次", s.added, s.highest)
	}
	return v
}

// read returns the number. A fenced stock keeps the reader's token, so that it
// refuses all holders before this one from now on.
func (s *stock) read(conn *zk.Conn, at string, token int64) (int, error) {
	if s.fenced {
		return updateFenced(conn, at, token, func(number int) int { return number })
	}
	number, _, _, err := readStock(conn, at)
	return number, err
}

// write writes the number.
func (s *stock) write(conn *zk.Conn, at string, token int64, number int) error {
	if s.fenced {
		_, err := updateFenced(conn, at, token, func(int) int { return number })
		return err
	}
	return writeStock(conn, at, number, token, -1)
}

// updateFenced stores a token, and the number that follows from the one that is there. It refuses a token lower
// than one that the stock has seen, and nothing comes between its look and its write.
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

// readStock returns the stored numbers: 0 and 0 at first.
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

// adder is a contender that adds one to the stock while it holds the lock.
type adder struct {
	s     *stock
	conn  *zk.Conn
	stock string // its path
	l     player.Lock
	late  bool // a goroutine writes, and Unlock does not wait for it

	guard  listings.Guarded // nil: there is none
	holds  bool
	read   bool
	number int // that it has read
}

func (a *adder) token() int64 {
	if leased, ok := a.l.(player.Leased); ok {
		return leased.Token()
	}
	return 0
}

// Lock returns the lock's error, or that of the first read.
func (a *adder) Lock(ctx context.Context) error {
	if err := a.l.Lock(ctx); err != nil {
		return err
	}
	err := a.begin()
	number := 0
	if err == nil {
		number, err = a.s.read(a.conn, a.stock, a.token())
	}
	if err != nil {
		return errors.Join(err, a.l.Unlock(ctx))
	}
	a.holds, a.read, a.number = true, true, number
	return nil
}

func (a *adder) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }

// Unlock writes once; if that fails, nothing was added.
func (a *adder) Unlock(ctx context.Context) error {
	if !a.holds {
		return a.l.Unlock(ctx)
	}
	a.holds = false
	guard, number, token := a.guard, a.number+1, a.token()
	write := func() bool {
		if guard != nil {
			return guard.Set(a.stock, fmt.Append(nil, number, " ", token)) == nil
		}
		return a.s.write(a.conn, a.stock, token, number) == nil
	}
	wrote := false
	if !a.late {
		wrote = write()
	} else {
		go func() {
			if a.s.gap("A's write"); write() {
				a.s.add(number)
			}
		}()
	}
	if guard != nil {
		guard.End()
	}
	err := a.l.Unlock(ctx)
	if wrote {
		a.s.add(number)
	}
	return err
}

// begin begins the holder's guard.
func (a *adder) begin() error {
	if a.s.guard == nil {
		return nil
	}
	lease := a.l.(interface{ Lease() *zklock.Lease }).Lease()
	a.guard = a.s.guard(lease)
	return a.guard.Begin(a.conn, lease.Node(), lease.Token())
}

// Variables are the lock's, and the number that the contender has read.
func (a *adder) Variables() []film.Variable {
	list := film.Variables(a.l)
	if a.read {
		list = append(list, film.Variable{Name: "number", Value: strconv.Itoa(a.number)})
	}
	return list
}

// adderWithToken is such a contender whose lock has a lease.
type adderWithToken struct {
	adder
	player.Leased
}
