package locktest

import (
	"testing"

	"example.com/zklock/internal/locktest/runner"
)

type Verdict = runner.Verdict

// Verdicts runs a suite as Run does, and returns what becomes of its cases in place of failing, up
// to the first that stop, if not nil, is true of. It returns nil in the process in which they ran.
func Verdicts(t *testing.T, s Suite, stop func(Verdict) bool) (verdicts []Verdict) {
	p := s.Plan()
	j := p.Judge(t)
	if j == nil {
		return nil
	}
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

// VerdictOf runs one case of a suite. Judged is false in the process in which it ran.
func VerdictOf(t *testing.T, s Suite, name string) (v Verdict, judged bool) {
	j := s.Plan().Judge(t)
	if j == nil {
		return v, false
	}
	defer j.Close()
	return j.Ask(name), true
}
