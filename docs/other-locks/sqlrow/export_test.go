package sqlrow

import "time"

// CleanUp sets the time limit of clean-ups until reset.
func CleanUp(d time.Duration) (reset func()) {
	before := cleanUp
	cleanUp = d
	return func() { cleanUp = before }
}

// SweepEvery sets how often a waiter sweeps until reset.
func SweepEvery(d time.Duration) (reset func()) {
	before := sweepEvery
	sweepEvery = d
	return func() { sweepEvery = before }
}
