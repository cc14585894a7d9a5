package database

import "time"

// ConnectTimeout sets how long a server may take to answer at first until reset.
func ConnectTimeout(d time.Duration) (reset func()) {
	before := connectTimeout
	connectTimeout = d
	return func() { connectTimeout = before }
}
