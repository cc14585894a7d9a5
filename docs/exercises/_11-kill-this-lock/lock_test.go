package kill

import (
	"testing"

	"example.com/zklock/internal/locktest/killing"
)

func TestSchedules(t *testing.T) {
	killing.Run(t, Schedules)
}
