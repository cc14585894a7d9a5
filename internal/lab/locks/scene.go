package locks

import (
	"cmp"
	"time"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// Session is the session timeout in a film, if the latency is not high.
const Session = 4 * time.Second

// A Scene has all inputs of a film.
type Scene struct {
	Lock       string        `json:"lock"`
	Contenders int           `json:"contenders"`
	Shared     bool          `json:"shared,omitempty"`
	LatencyMs  float64       `json:"latency_ms,omitempty"` // 0: 20
	Measured   bool          `json:"measured,omitempty"`   // at the pace of film.Measured, whatever LatencyMs is
	Seed       uint64        `json:"seed"`
	Changes    []film.Change `json:"changes,omitempty"`
	// For a schedule that somebody chooses: what may go wrong, at most how many times, and the choices.
	Kinds   []player.Fault `json:"kinds,omitempty"`
	Faults  int            `json:"faults,omitempty"`
	Choices []string       `json:"choices,omitempty"`
	// Scripts are the calls of each contender, as in player.World.
	Scripts [][]player.Op `json:"scripts,omitempty"`
}

// World returns the scene as package film plays it: a world, and the pace of its packets.
func (s Scene) World() (player.World, film.Pace, error) {
	l, err := Find(s.Lock)
	if err != nil {
		return player.World{}, film.Pace{}, err
	}
	if !(s.LatencyMs >= 0 && s.LatencyMs <= 10_000) { // NaN is neither
		return player.World{}, film.Pace{}, i18n.Errorf("a latency of %v ms is not possible: from 1 to 10000", s.LatencyMs)
	}
	pace := film.Pace{Latency: time.Duration(cmp.Or(s.LatencyMs, 20) * float64(time.Millisecond))}
	if s.Measured {
		pace = film.Measured(s.Contenders)
	}
	pace.Seed, pace.Changes = s.Seed, s.Changes
	session := max(Session, 40*pace.Latency) // one that is shorter than the way of a few packets ends by itself
	w := player.World{Lock: l.Subject(session), Contenders: s.Contenders, Shared: s.Shared, Scripts: s.Scripts}
	return w, pace, nil
}
