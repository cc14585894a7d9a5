package sqlforupdate

import "time"

// SetLimit sets how long one attempt waits.
func SetLimit(l *Lock, limit time.Duration) { l.limit = limit }
