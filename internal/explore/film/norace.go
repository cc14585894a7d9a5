//go:build !race

package film

// RaceDetector reports whether the program was built with -race. Then films have no
// variables.
const RaceDetector = false
