package locktest

import (
	"strings"
	"testing"
)

// A Verdict is what became of a case.
type Verdict struct {
	Case    string
	Words   string // of its failure; "" if it has not failed
	Skipped string
	Printed string
}

// A Suite is what Run, RunOwners or RunLeases runs.
type Suite interface {
	grader(t *testing.T) (*grader, []string)
}

// Verdicts runs a suite as Run does, and returns what becomes of its cases in
// place of failing: of those that wanted, if not nil, is true of, up to the first
// that stop is true of. It returns nil in the process in which they ran.
func Verdicts(t *testing.T, s Suite, wanted func(name string) bool, stop func(Verdict) bool) (verdicts []Verdict) {
	g, names := s.grader(t)
	if g == nil {
		return nil
	}
	defer g.close()
	for _, name := range names {
		if wanted != nil && !wanted(name) {
			continue
		}
		v := g.ask(request{Case: name})
		verdict := Verdict{name, strings.Join(v.failures, "\n"), v.skipped, v.output}
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
		verdicts = append(verdicts, Verdict{r.Case, strings.Join(v.failures, "\n"), v.skipped, v.output})
		return v
	})
	return verdicts, stopped
}
