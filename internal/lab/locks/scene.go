package locks

import (
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
	Measured   bool          `json:"measured,omitempty"`   // at the pace of a measured server, film.Measured; without LatencyMs
	Seed       uint64        `json:"seed"`
	Changes    []film.Change `json:"changes,omitempty"`
	// Of somebody who plays the scheduler: what may go wrong, and how many times, and
	// the choices.
	Kinds   []player.Fault `json:"kinds,omitempty"`
	Faults  int            `json:"faults,omitempty"`
	Choices []string       `json:"choices,omitempty"`
	// Scripts are the calls of each contender, as in player.World.
	Scripts [][]player.Op `json:"scripts,omitempty"`
}

// World returns the scene as the explorer plays it.
func (s Scene) World() (player.World, film.Pace, error) {
	l, err := Find(s.Lock)
	if err != nil {
		return player.World{}, film.Pace{}, err
	}
	if !(s.LatencyMs >= 0 && s.LatencyMs <= 10_000) {
		return player.World{}, film.Pace{}, i18n.Errorf("a latency of %v ms is not possible: from 1 to 10000", "延迟不能是 %v ms：应为 1 到 10000", s.LatencyMs)
	}
	if s.LatencyMs == 0 {
		s.LatencyMs = 20
	}
	p := film.Pace{Latency: time.Duration(s.LatencyMs * float64(time.Millisecond)), Seed: s.Seed, Changes: s.Changes}
	if s.Measured {
		p = film.Measured(s.Contenders)
		p.Seed, p.Changes = s.Seed, s.Changes
	}
	// A session that is shorter than some packets' ways ends by itself.
	w := player.World{Lock: l.Subject(max(Session, 40*p.Latency)), Contenders: s.Contenders, Shared: s.Shared, Scripts: s.Scripts}
	return w, p, nil
}
