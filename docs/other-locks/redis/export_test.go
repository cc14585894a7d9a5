package redis

import "time"

// Renew sets how often the watchdog of a lock renews.
func Renew(l *Lock, every time.Duration) { l.renewEvery = every }

// CleanUp sets how long clean-ups may take until reset.
func CleanUp(d time.Duration) (reset func()) {
	before := cleanUp
	cleanUp = d
	return func() { cleanUp = before }
}
