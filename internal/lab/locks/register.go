package locks

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// Registers returns an Open that makes a register for each contender: its Lock writes, A with token 34, B with 35, and
// so on, and its Unlock reads. Once a write has been acknowledged, no read that begins later may return a lower token,
// and a write with a lower token fails with stale.
func Registers[R Register](open func(conn *zk.Conn, path string) R, stale error) Open {
	var highest *highestTokens
	return func(conn *zk.Conn, path string, _ time.Duration) func(string) player.Lock {
		return func(name string) player.Lock {
			if name == "A" { // the first contender of each schedule
				highest = new(highestTokens)
			}
			return &store{register: open(conn, path), token: 34 + int64(name[0]-'A'), stale: stale, highest: highest}
		}
	}
}

// highestTokens has the highest tokens of all writes of a schedule.
type highestTokens struct {
	mu               sync.Mutex
	begun, succeeded int64 // of the writes that have begun; of those that have returned nil
}

const noToken = 0

// note adds the token of a write that begins or has succeeded, or noToken, and returns the highest of each so far.
func (h *highestTokens) note(begins, succeeds int64) (begun, succeeded int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.succeeded = max(h.begun, begins), max(h.succeeded, succeeds)
	return h.begun, h.succeeded
}

// A store is a contender for a register, as a player.Lock.
type store struct {
	register Register
	token    int64
	writes   int
	stale    error
	refused  bool           // the last write was refused, as stale
	highest  *highestTokens // of all contenders
}

func (s *store) Lock(context.Context) error {
	_, before := s.highest.note(s.token, noToken) // before: the highest token that has succeeded
	s.writes++
	err := s.register.Write(s.token, fmt.Appendf(nil, "%d, %d", s.token, s.writes))
	s.refused = errors.Is(err, s.stale)
	begun, _ := s.highest.note(noToken, noToken) // begun: the highest token of a write that has begun
	switch {
	case s.refused && begun <= s.token:
		return wrongAnswer(player.Failure, "Write with token %d returns ErrStale, and no write with a higher token has begun", s.token)
	case s.refused:
		return nil
	case err == nil && before > s.token:
		return wrongAnswer(player.StaleWrite,
			"Write with token %d returns no error, though a write with token %d was acknowledged before it began: "+
				"an old token has written. Compare the tokens before each Set", s.token, before)
	case err == nil:
		s.highest.note(noToken, s.token)
	}
	return err
}

func (s *store) TryLock(context.Context) (bool, error) { return false, errors.ErrUnsupported }

func (s *store) Unlock(context.Context) error {
	_, before := s.highest.note(noToken, noToken) // before: the highest token that has succeeded
	token, value, err := s.register.Read()
	if err == nil && token > 0 && !strings.HasPrefix(string(value), fmt.Sprint(token, ",")) {
		return wrongAnswer(player.Failure,
			"Read returns token %d and the value %q, which another token has written: read both at once", token, value)
	}
	if err == nil && token < before {
		return wrongAnswer(player.StaleWrite,
			"Write with token %d has returned no error, and now Read returns token %d: an old token has written. Compare "+
				"the tokens again before each Set that is repeated, and return the error of one that is lost", before, token)
	}
	return err
}

// Does says what the store has done once Lock has returned nil.
func (s *store) Does() i18n.Text {
	if s.refused {
		return i18n.Textf("is refused: token %d is stale", s.token)
	}
	return i18n.Textf("has written, with token %d", s.token)
}

func wrongAnswer(kind player.Kind, format string, args ...any) error {
	return player.Broken{Kind: kind, Text: i18n.Textf(format, args...)}
}
