package zklock

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-zookeeper/zk"

	"example.com/zklock/zklock/internal/client"
)

// The causes of a loss. Where errors.Is finds ErrLost, in an error of Unlock or Do or in the cause of a
// ctx, it finds one of these, too, or zk.ErrClosing if the client was closed.
var (
	// ErrSessionExpired: a server has said that the session is over.
	ErrSessionExpired = errors.New("the session has expired")
	// ErrNodeDeleted: the node has gone, and the session lives as far as the client knows: somebody
	// has deleted the node by hand, or ends the session from outside.
	ErrNodeDeleted = errors.New("its node was deleted")
	// ErrNotProved: the servers have not proved in time that the session lives: they were silent or
	// too slow, or no server could be reached, or this process did not run.
	ErrNotProved = errors.New("no proof in time that its session lives")
	// ErrSessionRefused is ErrNotProved where a server closes each connection of the session: it has no
	// quorum, lags, or has lost its data. A client of zk.Connect does not know that.
	ErrSessionRefused = errors.New("a server refuses its session: it has no quorum, lags, or has lost its data")
)

// A Logger logs a message with keys and values, as a [log/slog.Logger] does.
type Logger interface{ Warn(msg string, args ...any) }

// WithLogger has a warning logged to logger for each lease that is lost: its path, owner, token and cause. It must not
// block: Shutdown waits for it. By default nothing is logged.
func WithLogger(logger Logger) Option {
	return func(s *settings) error {
		if v := reflect.ValueOf(logger); logger == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return errors.New("WithLogger: the logger is nil")
		}
		s.logger = logger
		return nil
	}
}

// lostBy returns the ErrLost of an entry with its cause. err says why the entry's node has gone. It is nil if the node
// may be there, but the time for which its session is proved is over. An err that is not named here is a cause itself.
func (m *Mutex) lostBy(e *entry, err error) error {
	report, refused := m.client.Trouble() // what is wrong with the servers, and whether they refuse the session
	switch {
	case errors.Is(err, zk.ErrSessionExpired) || m.client.SessionID() != e.node.Session:
		err = ErrSessionExpired
	case errors.Is(err, client.ErrGone):
		err = ErrNodeDeleted
	case err == nil && refused:
		err = fmt.Errorf("%w (%s)", ErrSessionRefused, report)
	case err == nil && report != "":
		err = fmt.Errorf("%w (%s)", ErrNotProved, report)
	case err == nil:
		err = ErrNotProved
	}
	return fmt.Errorf("%w: %s: %w", ErrLost, e.node.Path, err)
}

// loseLocked ends the hold of an owner, which is lost.
func (m *Mutex) loseLocked(t *turn, why error) {
	t.lose(why)
	m.stats.Lost++
	for cause, count := range map[error]*int64{
		ErrSessionExpired: &m.stats.LostExpired, ErrNodeDeleted: &m.stats.LostDeleted, ErrNotProved: &m.stats.LostNotProved,
		ErrSessionRefused: &m.stats.LostRefused, client.ErrClosed: &m.stats.LostClosed,
	} {
		if errors.Is(why, cause) {
			*count++
		}
	}
	if m.logger != nil {
		m.tasks.Spawn(func() {
			m.logger.Warn("zklock: the lock was lost", "path", m.path, "owner", t.owner.name, "token", t.token, "cause", why)
		})
	}
}
