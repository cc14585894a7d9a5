// Package suites has the cases for the solutions of exercises 7 to 10, which are not locks of the steps: a register
// that checks tokens, a semaphore, a read/write lock and an election. Their cases run in a World of package locktest.
package suites

import (
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/stage"
)

// The groups and the traits of cases, for the tables of this package. A basic case is also asked of a first attempt. An
// exact one needs control of the server, a calm one sessions that live for long. In a bare one the parents are missing.
const (
	safety, liveness, faults, cost = stage.Safety, stage.Liveness, stage.Faults, stage.Cost
	basic, exact, calm, bare       = stage.OfBasic, stage.Exact, stage.Calm, stage.Bare
)

func row[W any](name i18n.Text, g stage.Group, run func(w W), traits ...stage.Trait) locktest.TestCase[W] {
	return locktest.TestCase[W]{Name: name, Group: g, Run: run, Traits: traits}
}
