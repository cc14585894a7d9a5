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

type failure struct {
	Case    string         `json:"case"`
	Group   locktest.Group `json:"group"`
	Words   i18n.Text      `json:"words"`
	Printed string         `json:"printed,omitempty"`
	Trace   string         `json:"trace,omitempty"` // the schedule that fails: its address in the lab, from the # on
	stuck   bool           // the lock spins or hangs, so it lets nobody in
}

// unsafe reports whether the failure costs all points.
func (f failure) unsafe() bool {
	failsSafety := f.Group == locktest.Safety && !f.stuck
	return failsSafety || locktest.Unsafe(f.Words.String())
}

// weight orders failures: two holders first, and needless requests last.
func (f failure) weight() int {
	switch {
	case locktest.Unsafe(f.Words.String()):
		return 0
	case f.Group == locktest.Cost:
		return 2
	}
	return 1
}

// Heading is the name of the group that a reader sees. For two holders it is safety, whichever group the case is of.
// The groups of an exercise without a lock stay as they are.
func (f failure) Heading() i18n.Text {
	ofLock := f.Group != basicGroup && f.Group != fullGroup
	if f.unsafe() && ofLock {
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

type result struct {
	Exercise int       `json:"exercise"`
	Points   int       `json:"points"`
	Of       int       `json:"of"`
	Full     bool      `json:"full"`             // all cases pass
	Unsafe   bool      `json:"unsafe,omitempty"` // a failure costs all points
	Parts    []part    `json:"parts"`
	Passed   int       `json:"passed"` // cases
	Cases    int       `json:"cases"`
	Why      i18n.Text `json:"why,omitzero"`     // why it was not graded, or not to the end; else empty
	Failed   []failure `json:"failed,omitempty"` // first those of the next stage; among these, the most important first
	Took     float64   `json:"took_s"`
	Ungraded bool      `json:"ungraded,omitempty"` // the machine was too busy: no points are known
	Passes   []string  `json:"-"`                  // the names of the cases that pass
}

// pointsText is a number of points, "" if it is not known because an attempt was not graded.
func pointsText(points int, ungraded bool) string {
	if ungraded {
		return ""
	}
	return strconv.Itoa(points)
}

// ungraded is a result for which no case was asked; why may be empty.
func (e *exercise) ungraded(why i18n.Text) *result {
	return &result{Exercise: e.number, Of: e.points(), Cases: len(e.names()), Why: why}
}

// keptOutput is how much of a lock's output in a case is kept, in bytes.
const keptOutput = 4 << 10

// A grading is an attempt that is being graded.
type grading struct {
	*attempt
	limits    limits
	root      string             // of the repository
	result    *result            // so far
	onFailure func(failure) bool // of grade
}

// grade grades an attempt. It calls onFailure, unless that is nil, with each failure, and stops if that returns false.
func grade(ctx context.Context, root string, a *attempt, l limits, onFailure func(failure) bool) (*result, error) {
	began := time.Now()
	g := &grading{attempt: a, limits: l, root: root, onFailure: onFailure, result: a.ungraded("")}
	askCases := askTests
	if a.exercise.grade != nil {
		askCases = a.exercise.grade
	}
	err := askCases(ctx, g)

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

// each calls f for each case of the exercise in the order in which they are graded: the basic
// cases of all suites, then the others. If f returns false, the rest is left out.
func (g *grading) each(f func(s suite, name string) bool) {
	for _, basicTurn := range []bool{true, false} {
		for _, s := range g.tests {
			for _, name := range s.all {
				hasTurn := slices.Contains(s.basic, name) == basicTurn
				if hasTurn && !f(s, name) {
					return
				}
			}
		}
	}
}

// passes records that a case has passed. It returns true: the rest is to be graded.
func (g *grading) passes(name string) (goOn bool) {
	g.result.Passed++
	g.result.Passes = append(g.result.Passes, name)
	return true
}

// fails records that a case has failed. It returns false if the rest need not be graded.
func (g *grading) fails(f failure) (goOn bool) {
	f.Words = i18n.Both(forStudents(f.Words.String()), forStudents(f.Words.In(i18n.Chinese)))
	f.Printed = f.Printed[:min(len(f.Printed), keptOutput)]
	g.result.Failed = append(g.result.Failed, f)
	return g.onFailure == nil || g.onFailure(f)
}

// askTests compiles an attempt with our tests, and has their cases run in a cell.
func askTests(ctx context.Context, g *grading) error {
	// This comes before the cell, because the time of a cell counts as the attempt's.
	if _, err := archivesOf(ctx, g.root, local); err != nil {
		return err
	}
	buildCell, err := newCell(ctx, g.limits) // the cases have another one: to build and to run may each take the full time
	if err != nil {
		return err
	}
	defer buildCell.close()
	build := g.built // set where many attempts are one program
	if build == nil {
		build = func() (string, error) { return buildCell.build(ctx, g.root, g.attempt) }
	}
	binary, err := build()
	if err != nil {
		return err
	}
	if err := g.begins(ctx, binary); err != nil {
		return err
	}

	c, err := newCell(ctx, g.limits)
	if err != nil {
		return err
	}
	defer c.close()
	judges := make(map[string]*runner.Judge)
	g.each(func(s suite, name string) bool {
		if judges[s.test] == nil {
			judges[s.test] = runner.Remote(s.test+g.id, c.launcher(binary))
		}
		verdict := judges[s.test].Ask(name)
		if c.tooBusy() != nil {
			return false
		}

		words := cmp.Or(verdict.Words, i18n.Same(verdict.Skipped)) // a case that is skipped fails, too
		limitWords := c.over().Text
		isOver := limitWords.String() != "" // then the case was not judged, and no other can be asked
		switch {
		case isOver:
			words = limitWords
		case words.String() == "":
			return g.passes(name)
		}
		goOn := g.fails(failure{Case: name, Group: s.groups[name], Words: words,
			Printed: verdict.Printed, Trace: verdict.Trace, stuck: verdict.Stuck})
		return goOn && !isOver
	})
	g.result.Why = c.over().Text
	for _, j := range judges {
		j.Close()
	}
	return c.tooBusy()
}

// beginning is the processor time in which the process of an attempt must start and run its init functions. It is also
// the longest time of the clock for which the process may wait without running.
const beginning = 10 * time.Second

// begins refuses an attempt whose init functions do not come to an end.
func (g *grading) begins(ctx context.Context, binary string) error {
	l := g.limits
	l.ceiling = l.clock() // that of the whole attempt, before its time is cut
	l.time = min(cmp.Or(l.begin, beginning), l.time)
	l.waiting = l.time // an init that waits all this time waits for nothing: no other process could wake it
	c, err := newCell(ctx, l)
	if err != nil {
		return err
	}
	defer c.close()
	// This runs each init, and no test. If an init fails, the cases have the better message.
	if _, err := c.run(c.ofStudent(binary, []string{"-test.list=^$"})); err != nil {
		return err
	}
	if c.over().endless {
		return refuse("it does not begin: an init has not come to an end in %v", l.time)
	}
	return c.tooBusy()
}

// places matches the lines of the grader at which a case has failed, such as " (cases.go:12 < runner.go:34)".
var places = regexp.MustCompile(` \((\w+\.go:\d+( < )?)+\)`)

// forStudents removes from the words of a failure all that means nothing to a student.
func forStudents(words string) string {
	var lines []string
	for line := range strings.Lines(places.ReplaceAllString(words, "")) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) != "Received unexpected error:" { // testify's heading of an error
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// judge turns cases into points, and puts the failure first that is the student's next task: the
// most important one of the first stage that is not done.
func (r *result) judge(a *attempt) {
	number, next, _ := r.nextStage(a.exercise)
	isLater := func(f failure) int { // 1 if the case is of a stage after the next one, else 0
		if number > 0 && !slices.Contains(next.Cases, f.Case) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(r.Failed, func(a, b failure) int {
		return cmp.Or(isLater(a)-isLater(b), a.weight()-b.weight())
	})
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

func (c *cell) launcher(binary string) runner.Launcher {
	return runner.Launcher{
		Command: func(args, env []string) (*exec.Cmd, error) { return c.ofStudent(binary, args, env...), nil },
		Started: func(cmd *exec.Cmd) { c.started(cmd.Process.Pid) },
		Kill:    func(cmd *exec.Cmd) { c.done(cmd.Process.Pid) },
	}
}
