package sqlforupdate

import "time"

// SetLimit sets the time that one attempt waits.
func SetLimit(l *Lock, limit time.Duration) { l.limit = limit }
