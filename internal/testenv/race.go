//go:build race

package testenv

// Raced reports whether the program was built with the race detector.
const Raced = true
