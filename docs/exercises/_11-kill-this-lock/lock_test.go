package kill

import (
	"testing"

	"example.com/zklock/docs/exercises/killing"
)

func TestSchedules(t *testing.T) {
	killing.Run(t, Schedules)
}
