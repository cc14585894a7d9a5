package sqlrow

// These are the time limit of clean-ups, and how often a waiter sweeps.
var (
	CleanUp    = &cleanUp
	SweepEvery = &sweepEvery
)
