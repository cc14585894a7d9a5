// Package kill is exercise 11: schedules that distinguish a right lock from a wrong
// one.
package kill

import (
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/stage"
)

// Schedules are played one after the other, on each lock, each on a stage of
// its own.
var Schedules = []stage.Schedule{
	{Name: "a release lets the next one in", Play: release},
	{Name: "a holder dies", Play: holderDies},
}

// release passes on every lock of this exercise: it kills none. It shows what a
// schedule looks like.
func release(s *stage.Stage) {
	a, b := s.Client(), s.Client()
	a.Lock()  // fails unless a gets in
	b.Start() // calls Lock, and does not wait for its return
	b.Waits() // fails unless Lock has not returned
	err := a.Unlock()
	require.NoError(s, err)
	b.GetsIn()
	s.OnlyHolder(b)
}

func holderDies(s *stage.Stage) {
	s.Fatal("kill: not written yet: docs/exercises/_11-kill-this-lock/schedule.go")
}
