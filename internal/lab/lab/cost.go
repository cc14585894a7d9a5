package lab

import (
	"testing"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
)

// A Cost is what a run costs in which each contender locks once.
type Cost struct {
	Contenders int         `json:"contenders"`
	Requests   int         `json:"requests"`
	Events     int         `json:"events"`
	Broken     player.Kind `json:"broken,omitempty"` // the violation, if there is one: then the figures mean little
}

// CostOf plays a scene without its changes, and counts: it is compared with a formula, which is of
// a run without faults.
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

// A Curve has the most requests and events that a lock's formulas allow for 1 contender, for 2, and so on.
type Curve struct {
	Lock     string `json:"lock"`
	Requests []int  `json:"requests"`
	Events   []int  `json:"events"`
}

// Curves returns the curves of the locks that have formulas.
func Curves() (list []Curve) {
	for _, l := range locks.All() {
		subject := l.Subject(locks.Session)
		if l.Requests == "" || subject.Requests == nil || subject.Events == nil {
			continue
		}
		c := Curve{Lock: l.Name}
		for n := 1; n <= 100; n++ { // a film has no more contenders
			c.Requests, c.Events = append(c.Requests, subject.Requests(n)), append(c.Events, subject.Events(n))
		}
		list = append(list, c)
	}
	return list
}
