package main

import (
	"context"
	"fmt"

	"example.com/zklock/docs/exercises/killing"
	"example.com/zklock/internal/locktest/judge"
)

// schedules is the suite of exercise 11.
func schedules() suite {
	all, basic := killing.Cases()
	return other("TestSchedules", all, basic)
}

// playSchedules has the schedules of an attempt played on the right locks and on
// the mutants.
func playSchedules(ctx context.Context, g *grading) error {
	s := g.tests[0]
	return g.inCell(ctx, func(of func(test string) *judge.Judge, over func() string) {
		killing.Judge(of(s.test), s.all, func(o killing.Outcome) bool {
			why := over()
			switch {
			case why != "":
				o.Words = why
			case o.Killed != "":
				g.result.Notes = append(g.result.Notes, o.Case+"\n    "+o.Killed)
			}
			if o.Words == "" {
				return g.passes(o.Case)
			}
			goOn := g.fails(failure{Case: o.Case, Group: s.groups[o.Case], Words: o.Words, Printed: o.Printed})
			return goOn && why == ""
		})
		g.result.Score = fmt.Sprintf("%d of %d mutants are dead", len(g.result.Notes), killing.Count)
	})
}
