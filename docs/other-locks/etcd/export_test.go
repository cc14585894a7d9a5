package etcd

import "time"

// CleanUp sets the time limit of clean-ups until reset.
func CleanUp(d time.Duration) (reset func()) {
	before := cleanUp
	cleanUp = d
	return func() { cleanUp = before }
}

// ConnectTimeout sets how long a server may take to answer at first until reset.
func ConnectTimeout(d time.Duration) (reset func()) {
	before := connectTimeout
	connectTimeout = d
	return func() { connectTimeout = before }
}
