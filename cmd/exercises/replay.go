package main

import (
	"bytes"
	"cmp"
	"context"
	"os"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
)

// Exercise 11, break this lock, asks for answers and not for a lock. Package counterexample judges them.

// breakingSuite is the suite of exercise 11: gradeLinks has its cases judged.
func breakingSuite() suite {
	s := suite{test: "TestBreak", groups: make(map[string]locktest.Group), zh: make(map[string]string)}
	for _, c := range counterexample.Cases() {
		name := c.Name.String()
		s.all = append(s.all, name)
		s.groups[name], s.zh[name] = fullGroup, c.Name.In(i18n.Chinese)
		if c.Basic {
			s.basic = append(s.basic, name)
			s.groups[name] = basicGroup
		}
	}
	return s
}

// gradeLinks judges the answers of an attempt, which are links of the lab.
func gradeLinks(ctx context.Context, g *grading) error {
	file, ok := g.files[counterexample.File]
	if !ok {
		return refuse("%s is not there: git checkout docs/exercises/%s/%s", counterexample.File, g.folder, counterexample.File)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	answers, err := counterexample.Read(text)
	if err != nil {
		return refusal{err}
	}
	played, why, err := playLinks(ctx, g.limits, counterexample.ReplayArg, answers)
	if err != nil {
		return err
	}
	g.result.Why = why

	cases := make(map[string]counterexample.Case)
	for _, c := range counterexample.Cases() {
		cases[c.Name.String()] = c
	}
	g.each(func(s suite, name string) (goOn bool) {
		c := cases[name]
		result, wasPlayed := played[c.Number]
		switch cannotPlay := why.String() != ""; {
		case !wasPlayed && cannotPlay:
			result.Words = i18n.Textf("it was not played: %s", why)
		case !wasPlayed:
			result.Words = "there is no answer"
		}
		words := c.Words(result)
		if isRight := words.String() == ""; isRight {
			return g.passes(name)
		}
		return g.fails(failure{Case: name, Group: s.groups[name], Words: words,
			Trace: counterexample.Open(answers[c.Number])})
	})
	return nil
}

// playLinks plays answers in a cell, in processes of this program started with arg. Why is empty if all were played.
func playLinks(ctx context.Context, l limits, arg string, answers map[int]string) (
	played map[int]counterexample.Result, why i18n.Text, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	c, err := newCell(ctx, l)
	if err != nil {
		return nil, "", err
	}
	defer c.close()
	playInCell := func(question []byte) (counterexample.Process, error) {
		var out, said capped
		cmd := c.ofStudent(self, []string{arg})
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &out, &said
		ended, err := c.run(cmd)
		return counterexample.Process{Out: out.String(), Said: said.String(), Ended: ended, CannotGoOn: c.over().Text}, err
	}
	played, why, err = counterexample.Replay(answers, playInCell)
	return played, why, cmp.Or(err, c.tooBusy())
}
