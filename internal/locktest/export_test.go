package locktest

import (
	"strings"
	"testing"
)

// Verdicts runs a suite as Run does, and returns what becomes of its cases in
// place of failing: of those that wanted, if not nil, is true of, up to the first
// that stop is true of. It returns nil in the process in which they ran.
func Verdicts(t *testing.T, s Suite, wanted func(name string) bool, stop func(Verdict) bool) (verdicts []Verdict) {
	g, names := graderOf(t, s)
	if g == nil {
		return nil
	}
	defer g.close()
	for _, name := range names {
		if wanted != nil && !wanted(name) {
			continue
		}
		v := g.ask(request{Case: name})
		verdict := Verdict{Case: name, Words: strings.Join(v.failures, "\n"), Skipped: v.skipped, Printed: v.output}
		verdicts = append(verdicts, verdict)
		if stop(verdict) {
			break
		}
	}
	return verdicts
}

// FaultVerdicts runs the fault series as RunFaults does, and returns what becomes
// of its cases in place of failing, and whether the series has stopped. It
// returns nil in the process in which they ran.
func FaultVerdicts(t *testing.T, s LeaseSubject) (verdicts []Verdict, stopped bool) {
	g := s.faults(t)
	if g == nil {
		return nil, false
	}
	defer g.close()
	_, stopped = faultSeries(false, func(r request) verdict {
		v := g.ask(r)
		verdicts = append(verdicts, Verdict{Case: r.Case, Words: strings.Join(v.failures, "\n"), Skipped: v.skipped, Printed: v.output})
		return v
	})
	return verdicts, stopped
}
