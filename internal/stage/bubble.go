package stage

import (
	"testing"
	"testing/synctest"
	"time"
)

// InBubble runs f in a test in virtual time. A lock that spins keeps virtual time from
// passing: unless another process watches over the test, it panics after a minute of real
// time.
func InBubble(t *testing.T, watched bool, f func(t *testing.T)) {
	t.Helper()
	if !watched {
		name := t.Name()
		watchdog := time.AfterFunc(time.Minute, func() {
			panic(name + ": busy for a minute of real time: the lock spins or polls")
		})
		defer watchdog.Stop()
	}
	synctest.Test(t, f)
}

// Until waits until ok is true, for Patience at most, and returns whether it is. It polls:
// in virtual time that is exact to one part in a hundred, and almost free. Between, if it
// is not nil, is called before each look.
func Until(between func(), ok func() bool) bool {
	for begin := time.Now(); ; time.Sleep(max(time.Millisecond, time.Since(begin)/100)) {
		if between != nil {
			between()
		}
		if ok() {
			return true
		}
		if time.Since(begin) > Patience {
			return false
		}
	}
}
