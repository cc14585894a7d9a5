package main

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/locktest/runner"
)

// A failure is a case that an attempt fails.
type failure struct {
	Case    string         `json:"case"`
	Group   locktest.Group `json:"group"`
	Words   i18n.Text      `json:"words"`
	Printed string         `json:"printed,omitempty"`
	Trace   string         `json:"trace,omitempty"` // the schedule that fails, as an address in the lab, from the # on
	stuck   bool           // the lock spins or hangs, which harms nobody else
}

// unsafe reports whether the failure costs all points.
func (f failure) unsafe() bool {
	return f.Group == locktest.Safety && !f.stuck || locktest.Unsafe(f.Words.En)
}

// weight orders failures: two holders first, and what only costs last.
func (f failure) weight() int {
	switch {
	case locktest.Unsafe(f.Words.En):
		return 0
	case f.Group == locktest.Cost:
		return 2
	}
	return 1
}

// Heading is the group that a reader is told: of two holders it is safety, whatever the case
// asks.
func (f failure) Heading() i18n.Text {
	if f.unsafe() && (f.Group == locktest.Liveness || f.Group == locktest.Faults || f.Group == locktest.Cost) {
		return nameOf(locktest.Safety)
	}
	return nameOf(f.Group)
}

// A part of a result has the points of one group's cases.
type part struct {
	Group  locktest.Group `json:"group"`
	Points int            `json:"points"`
	Of     int            `json:"of"`
	Passed int            `json:"passed"`
	Cases  int            `json:"cases"`
}

// A result is the grade of an attempt.
type result struct {
	Exercise int       `json:"exercise"`
	Points   int       `json:"points"`
	Of       int       `json:"of"`
	Full     bool      `json:"full"`             // all cases pass
	Unsafe   bool      `json:"unsafe,omitempty"` // a failure costs all points
	Parts    []part    `json:"parts"`            // of the points, a group each
	Passed   int       `json:"passed"`
	Cases    int       `json:"cases"`
	Why      i18n.Text `json:"why,omitzero"`     // it was not graded, or not to the end
	Failed   []failure `json:"failed,omitempty"` // those of the stage that comes next first, and of these the most important one
	Took     float64   `json:"took_s"`
	Ungraded bool      `json:"ungraded,omitempty"` // the machine was too busy: no points are known
	// Passes are the cases that pass.
	Passes []string `json:"-"`
}

// inPoints are the points as text, "" if they are not known.
func (r *result) inPoints() string {
	if r.Ungraded {
		return ""
	}
	return strconv.Itoa(r.Points)
}

// ungraded is a result without a case.
func (e *exercise) ungraded(why i18n.Text) *result {
	return &result{Exercise: e.number, Of: e.points(), Cases: e.cases(), Why: why}
}

// keptOutput is the amount of a lock's output in a case that is kept, in bytes.
const keptOutput = 4 << 10

// A grading is an attempt on its way to a result.
type grading struct {
	*attempt
	limits    limits
	root      string
	result    *result
	onFailure func(failure) bool
}

// grade makes a result of an attempt. OnFailure, if it is not nil, is called with
// each failure as it comes; if it returns false, the rest is not run.
func grade(ctx context.Context, root string, a *attempt, l limits, onFailure func(failure) bool) (*result, error) {
	began := time.Now()
	g := &grading{attempt: a, limits: l, root: root, onFailure: onFailure, result: a.ungraded(i18n.Text{})}
	by := a.exercise.grade
	if by == nil {
		by = askTests
	}
	err := by(ctx, g)
	var refused refusal
	var busy tooBusy
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &busy):
		g.result = a.ungraded(i18n.TextOf(busy.error))
		g.result.Ungraded = true
	case errors.As(err, &refused):
		g.result.Why = i18n.TextOf(refused.error)
	case err != nil:
		return nil, err
	}
	if !g.result.Ungraded {
		g.result.judge(a)
	}
	g.result.Took = time.Since(began).Round(10 * time.Millisecond).Seconds()
	return g.result, nil
}

// each calls f for each case of an entry, in the order in which they are
// graded, with its suite: the basic cases of all suites, then the others. If f returns
// false, the rest is left out.
func (g *grading) each(f func(s suite, name string) bool) {
	for _, basic := range []bool{true, false} {
		for _, s := range g.tests {
			for _, name := range s.all {
				if slices.Contains(s.basic, name) == basic && !f(s, name) {
					return
				}
			}
		}
	}
}

// passes notes that a case has passed.
func (g *grading) passes(name string) bool {
	g.result.Passed++
	g.result.Passes = append(g.result.Passes, name)
	return true
}

// fails notes that a case has failed. It returns false if the rest need not be
// graded.
func (g *grading) fails(f failure) bool {
	f.Words = i18n.Text{En: forStudents(f.Words.En), Zh: forStudents(f.Words.Zh)}
	f.Printed = f.Printed[:min(len(f.Printed), keptOutput)]
	g.result.Failed = append(g.result.Failed, f)
	return g.onFailure == nil || g.onFailure(f)
}

// askTests compiles an attempt with our tests, and has their cases run in a cell.
func askTests(ctx context.Context, g *grading) error {
	if _, err := archivesOf(ctx, g.root, false); err != nil { // before the cell, whose time is the attempt's
		return err
	}
	build, err := newCell(ctx, g.limits)
	if err != nil {
		return err
	}
	defer build.close()
	built := g.built
	if built == nil {
		built = func() (string, error) { return build.build(ctx, g.root, g.attempt) }
	}
	binary, err := built()
	if err != nil {
		return err
	}
	if err := g.begins(ctx, binary); err != nil {
		return err
	}
	runs, err := newCell(ctx, g.limits) // one for the build, one for the cases: each has its whole time
	if err != nil {
		return err
	}
	defer runs.close()
	judges := make(map[string]*runner.Judge)
	g.each(func(s suite, name string) bool {
		if judges[s.test] == nil {
			judges[s.test] = runner.Remote(s.test+g.id, runs.launcher(binary))
		}
		v := judges[s.test].Ask(name)
		why := runs.over() // then a case that has failed has not been judged, and nothing can be asked any more
		if runs.tooBusy() != nil {
			return false
		}
		switch {
		case why.En != "":
			v.Words = why.Text
		case !v.Failed() && v.Skipped == "":
			return g.passes(name)
		}
		goOn := g.fails(failure{Case: name, Group: s.groups[name], Words: cmp.Or(v.Words, i18n.Same(v.Skipped)),
			Printed: v.Printed, Trace: v.Trace, stuck: v.Stuck})
		return goOn && why.En == ""
	})
	g.result.Why = runs.over().Text
	for _, j := range judges {
		j.Close()
	}
	return runs.tooBusy()
}

// places are those in the grader at which a case has failed.
var places = regexp.MustCompile(` \((\w+\.go:\d+( < )?)+\)`)

// forStudents removes from the words of a failure all that means nothing to a
// student.
func forStudents(words string) string {
	var lines []string
	for line := range strings.Lines(places.ReplaceAllString(words, "")) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "Received unexpected error:" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// judge turns cases into points, and puts the failure first that is the student's next task:
// of the first stage that is not done the most important one.
func (r *result) judge(a *attempt) {
	_, next, _ := r.at(a.exercise)
	later := func(f failure) int {
		if next.Minutes == 0 || slices.Contains(next.Cases, f.Case) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(r.Failed, func(a, b failure) int { return cmp.Or(later(a)-later(b), a.weight()-b.weight()) })
	r.Unsafe = slices.ContainsFunc(r.Failed, failure.unsafe)
	r.Full, r.Points, r.Parts = true, 0, nil
	for _, sh := range a.shares {
		p := part{Group: sh.group, Of: sh.points}
		for _, s := range a.tests {
			for _, name := range s.all {
				if s.groups[name] != sh.group {
					continue
				}
				p.Cases++
				if slices.Contains(r.Passes, name) {
					p.Passed++
				}
			}
		}
		r.Full = r.Full && p.Passed == p.Cases
		if p.Passed == p.Cases && !r.Unsafe {
			p.Points = sh.points
		}
		r.Points += p.Points
		r.Parts = append(r.Parts, p)
	}
}

// launcher starts the test binary inside of the cell.
func (c *cell) launcher(binary string) runner.Launcher {
	return runner.Launcher{
		Command: func(args, env []string) (*exec.Cmd, error) {
			return c.ofStudent(binary, args, env...), nil
		},
		Started: func(cmd *exec.Cmd) { c.started(cmd.Process.Pid) },
		Kill:    func(cmd *exec.Cmd) { c.done(cmd.Process.Pid) },
	}
}
