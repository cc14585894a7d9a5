package etcd

import "time"

// CleanUp sets how long clean-ups may take until reset.
func CleanUp(d time.Duration) (reset func()) {
	before := cleanUp
	cleanUp = d
	return func() { cleanUp = before }
}
