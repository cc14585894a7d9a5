package locktest

import (
	"testing"

	"example.com/zklock/internal/locktest/runner"
)

type Verdict = runner.Verdict

// Verdicts runs a suite as Run does, but returns how its cases end in place of failing: up to the first for which stop
// is true, or all if stop is nil. A test calls Verdicts or VerdictOf once: the process of the cases ends in that call.
func Verdicts(t *testing.T, s Suite, stop func(Verdict) bool) (verdicts []Verdict) {
	p := s.Plan()
	j := p.Judge(t)
	defer j.Close()
	for _, name := range p.Names {
		v := j.Ask(name)
		verdicts = append(verdicts, v)
		if stop != nil && stop(v) {
			break
		}
	}
	return verdicts
}

func VerdictOf(t *testing.T, s Suite, name string) Verdict {
	j := s.Plan().Judge(t)
	defer j.Close()
	return j.Ask(name)
}
