package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// A Register is the API of exercise 7.
type Register interface {
	// Write stores value, unless a higher token has been seen.
	Write(token int64, value []byte) error
	// Read returns the last value and its token; zero and nil before the first Write.
	Read() (token int64, value []byte, err error)
}

// Registers makes contenders that write to a register, A with token 34, B with 35, and so
// on: Lock writes, and Unlock reads. Once a write has been acknowledged, no read that
// begins later may return a lower token, and a write with a lower token fails with stale.
func Registers[R Register](open func(conn *zk.Conn, path string) R, stale error) Open {
	var all *acknowledged
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		return func(name string) player.Lock {
			if name == "A" { // it comes first, in each schedule
				all = new(acknowledged)
			}
			return &store{r: open(conn, path), token: 34 + int64(name[0]-'A'), stale: stale, all: all}
		}
	}
}

// acknowledged has the highest tokens of all writes of a schedule.
type acknowledged struct {
	mu             sync.Mutex
	highest, begun int64 // of the writes that have returned nil; and of all that have begun
}

// begins notes a write with a token, 0 for a read, and returns the highest token that is acknowledged.
func (a *acknowledged) begins(token int64) (highest int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = max(a.begun, token)
	return a.highest
}

// higherThan reports whether a write with a higher token has begun.
func (a *acknowledged) higherThan(token int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun > token
}

// succeeds notes that a write has returned nil.
func (a *acknowledged) succeeds(token int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.highest = max(a.highest, token)
}

type store struct {
	r       Register
	token   int64
	writes  int
	stale   error
	refused bool
	all     *acknowledged
}

func (s *store) Lock(context.Context) error {
	before := s.all.begins(s.token)
	s.writes++
	err := s.r.Write(s.token, fmt.Appendf(nil, "%d, %d", s.token, s.writes))
	s.refused = errors.Is(err, s.stale)
	switch {
	case s.refused && !s.all.higherThan(s.token):
		return wrongAnswer(player.Failure, "Write with token %d returns ErrStale, and no write with a higher token has begun", "用令牌 %d 调用 Write 返回 ErrStale，却没有更大的令牌开始写入", s.token)
	case s.refused:
		return nil
	case err == nil && before > s.token:
		return wrongAnswer(player.StaleWrite, "Write with token %d returns no error, though a write with token %d was acknowledged before it began: "+
			"an old token has written. Compare the tokens before each Set",
			"用令牌 %d 调用 Write 没有返回错误，而在它开始之前，令牌 %d 的写入已经得到确认：旧令牌写了进去。每次 Set 之前都要比较令牌", s.token, before)
	case err == nil:
		s.all.succeeds(s.token)
	}
	return err
}

func (s *store) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }

func (s *store) Unlock(context.Context) error {
	before := s.all.begins(0)
	token, _, err := s.r.Read()
	if err == nil && token < before {
		return wrongAnswer(player.StaleWrite, "Write with token %d has returned no error, and now Read returns token %d: an old token has written. "+
			"Compare the tokens again before each Set that is repeated",
			"令牌 %d 的 Write 没有返回错误，现在 Read 却返回令牌 %d：旧令牌写了进去。每次重发 Set 之前都要重新比较令牌", before, token)
	}
	return err
}

// Does says what the store has done once Lock has returned nil.
func (s *store) Does() i18n.Text {
	if s.refused {
		return i18n.Textf("is refused: token %d is stale", "被拒绝：令牌 %d 已过时", s.token)
	}
	return i18n.Textf("has written, with token %d", "已写入，令牌为 %d", s.token)
}

func wrongAnswer(kind player.Kind, en, zh string, args ...any) error {
	return player.Broken{Kind: kind, Text: i18n.Textf(en, zh, args...)}
}
