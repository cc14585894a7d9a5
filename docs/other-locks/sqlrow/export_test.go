package sqlrow

import "time"

// CleanUp sets the time limit of clean-ups until reset.
func CleanUp(d time.Duration) (reset func()) {
	before := cleanUp
	cleanUp = d
	return func() { cleanUp = before }
}
