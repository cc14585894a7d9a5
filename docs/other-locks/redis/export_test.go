package redis

import "time"

// Renew sets the interval at which the watchdog of a lock renews.
func Renew(l *Lock, every time.Duration) { l.renewEvery = every }

// CleanUp is the time limit of clean-ups.
var CleanUp = &cleanUp
