//go:build !race

package testenv

// Raced is true if the program was built with the race detector: race.go has the other value.
const Raced = false
