package locktest

import (
	"testing"

	"example.com/zklock/internal/locktest/judge"
	"example.com/zklock/internal/locktest/leases"
)

type Verdict = judge.Verdict

// Verdicts runs a suite as Run does, and returns what becomes of its cases in
// place of failing: of those that wanted, if not nil, is true of, up to the first
// that stop is true of. It returns nil in the process in which they ran.
func Verdicts(t *testing.T, s Suite, wanted func(name string) bool, stop func(Verdict) bool) (verdicts []Verdict) {
	p := s.Plan()
	j := p.Judge(t)
	if j == nil {
		return nil
	}
	defer j.Close()
	for _, name := range p.Names {
		if wanted != nil && !wanted(name) {
			continue
		}
		verdicts = append(verdicts, j.Ask(name))
		if stop(verdicts[len(verdicts)-1]) {
			break
		}
	}
	return verdicts
}

// FaultVerdicts runs the fault series as RunFaults does, and returns what becomes
// of its cases in place of failing, and whether the series has stopped. It
// returns nil in the process in which they ran.
func FaultVerdicts(t *testing.T, s LeaseSubject) (verdicts []Verdict, stopped bool) {
	j := s.Faults(t)
	if j == nil {
		return nil, false
	}
	defer j.Close()
	_, stopped = leases.Series(0, func(name, about string) Verdict {
		v := j.AskAbout(name, about)
		verdicts = append(verdicts, v)
		return v
	})
	return verdicts, stopped
}
