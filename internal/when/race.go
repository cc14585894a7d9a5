//go:build race

package when

// Raced reports whether the program was built with the race detector.
const Raced = true
