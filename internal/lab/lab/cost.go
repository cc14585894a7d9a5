package lab

import (
	"testing"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
)

// A Cost has the requests of a run of n contenders that lock once each.
type Cost struct {
	Contenders int         `json:"contenders"`
	Requests   int         `json:"requests"`
	Events     int         `json:"events"`
	Broken     player.Kind `json:"broken,omitempty"` // then the figures mean little
}

// CostOf plays a scene and counts. Its changes are left out: a formula is of a run in
// which nothing goes wrong.
func CostOf(t *testing.T, s locks.Scene) (*Cost, error) {
	s.Changes = nil
	f, err := Run(t, s)
	if err != nil {
		return nil, err
	}
	c := &Cost{Contenders: s.Contenders, Requests: f.Counters.Requests, Events: f.Counters.Events}
	if f.Violation != nil {
		c.Broken = f.Violation.Kind
	}
	return c, nil
}

// A Curve is the maximum that the formulas of a lock predict, for 1, 2 …
// contenders.
type Curve struct {
	Lock     string `json:"lock"`
	Requests []int  `json:"requests"`
	Events   []int  `json:"events"`
}

// mostContenders is how many contenders a film can have.
const mostContenders = 100

// Curves are those of the locks that have formulas.
func Curves() (list []Curve) {
	for _, l := range locks.All() {
		s := l.Subject(locks.Session)
		if l.Requests == "" || s.Requests == nil || s.Events == nil {
			continue
		}
		c := Curve{Lock: l.Name}
		for n := 1; n <= mostContenders; n++ {
			c.Requests, c.Events = append(c.Requests, s.Requests(n)), append(c.Events, s.Events(n))
		}
		list = append(list, c)
	}
	return list
}
