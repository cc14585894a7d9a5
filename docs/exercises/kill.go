package main

import (
	"context"

	"example.com/zklock/docs/exercises/killing"
	"example.com/zklock/internal/language"
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
	return g.inCell(ctx, func(of func(test string) *judge.Judge, over func() language.Text) {
		killing.Judge(of(s.test), s.all, func(o killing.Outcome) bool {
			why := over()
			switch {
			case why.En != "":
				o.Words = why
			case o.Killed.En != "":
				g.result.Notes = append(g.result.Notes, language.Say("%s\n    %s", "%s\n    %s", g.caseOf(o.Case), o.Killed))
			}
			if o.Words.En == "" {
				return g.passes(o.Case)
			}
			goOn := g.fails(failure{Case: o.Case, Group: s.groups[o.Case], Words: o.Words, Printed: o.Printed})
			return goOn && why.En == ""
		})
		g.result.Score = killing.Score(len(g.result.Notes))
	})
}
