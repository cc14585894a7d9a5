//go:build !js

package exploretest

// TellAlways lets a process tell after each schedule how far it has got.
func TellAlways() { tellEvery = 0 }

// Again is again.
var Again = again
