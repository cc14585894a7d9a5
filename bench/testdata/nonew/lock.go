// Package nonew has no New.
package nonew

// A Lock is one contender.
type Lock struct{}
