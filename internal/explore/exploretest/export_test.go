//go:build !js

package exploretest

// ReportAlways has a process report after each schedule how far it has got.
func ReportAlways() { reportEvery = 0 }

// PlayAgain is playAgain.
var PlayAgain = playAgain
