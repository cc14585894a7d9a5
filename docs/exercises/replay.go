package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/zklock/docs/exercises/breaking"
	"example.com/zklock/internal/language"
)

// Exercise 12 asks for links of the lab. They are played by this very program in
// a process of its own, which begins with replayArg in the place of a command.
const replayArg = "replay"

// breakingSuite has the cases of exercise 12.
func breakingSuite() suite {
	var all, basic []language.Text
	for _, c := range breaking.Cases() {
		all = append(all, c.Name)
		if c.Basic {
			basic = append(basic, c.Name)
		}
	}
	return other("TestBreak", all, basic)
}

// gradeLinks judges the links of exercise 12.
func gradeLinks(ctx context.Context, g *grading) error {
	file, ok := g.files[breaking.File]
	if !ok {
		return refuse(
			"%s is not there: git checkout docs/exercises/%s/%s", "%s 不存在：git checkout docs/exercises/%s/%s", breaking.File, g.folder, breaking.File)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	answers, err := breaking.Read(text)
	if err != nil {
		return refusal{err}
	}
	played, why, err := playLinks(ctx, g.limits, replayArg, answers)
	if err != nil {
		return err
	}
	g.result.Why = why
	cases := make(map[string]breaking.Case)
	for _, c := range breaking.Cases() {
		cases[c.Name.En] = c
	}
	g.each(func(s suite, name string) bool {
		c := cases[name]
		p, ok := played[c.Number]
		if !ok && why.En == "" {
			p.Words = language.Say("there is no answer", "没有答案")
		} else if !ok {
			p.Words = language.Say("it was not played: %s", "没有播放：%s", why)
		}
		words := c.Words(p)
		if words.En == "" {
			return g.passes(name)
		}
		return g.fails(failure{Case: name, Group: s.groups[name], Words: words, Trace: breaking.Open(answers[c.Number])})
	})
	return nil
}

// A replayed answer is a line that the process writes.
type replayLine struct {
	Number int             `json:"number"`
	Played breaking.Result `json:"played"`
}

// playLinks plays answers in a cell, in processes of this program that begin
// with arg. A listing may end its process; then the
// answers after it are played in another. Why says why the cell was over before
// all were played.
func playLinks(ctx context.Context, l limits, arg string, answers map[int]string) (played map[int]breaking.Result, why language.Text, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, language.Text{}, err
	}
	c, err := newCell(ctx, l)
	if err != nil {
		return nil, language.Text{}, err
	}
	defer c.close()
	played = make(map[int]breaking.Result)
	for rest := maps.Clone(answers); len(rest) > 0; {
		question, err := json.Marshal(rest)
		if err != nil {
			return nil, language.Text{}, err
		}
		var out, said capped
		cmd := c.ofStudent(self, []string{arg})
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &out, &said
		cmd.WaitDelay = time.Second
		ended, err := c.run(cmd)
		if err != nil {
			return nil, language.Text{}, err
		}
		for line := range strings.Lines(out.String()) {
			var r replayLine
			if json.Unmarshal([]byte(line), &r) != nil {
				continue // of the testing package
			}
			if _, asked := rest[r.Number]; asked {
				played[r.Number] = r.Played
				delete(rest, r.Number)
			}
		}
		if why := c.over(); why.En != "" {
			return played, why, nil
		}
		if len(rest) > 0 { // it has ended at the first of them
			first := slices.Min(slices.Collect(maps.Keys(rest)))
			played[first] = breaking.Result{Words: language.Say(
				"the schedule ends the lab's engine (%s): choose another way to the goal", "这个调度让实验室的引擎中止了（%s）：请换一条路到达目标", ending(said.String(), ended))}
			delete(rest, first)
		}
	}
	return played, language.Text{}, nil
}

// ending says how a process has ended, in one line.
func ending(said string, err error) string {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return fmt.Sprint(err)
}

// replaying is the other side of playLinks. It returns only if there is nothing
// to do.
func replaying(args []string) {
	if len(args) != 1 || args[0] != replayArg {
		return
	}
	answers := make(map[int]string)
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		fmt.Fprintln(os.Stderr, "exercises: replay:", err)
		os.Exit(2)
	}
	play := func(t *testing.T) { // a schedule needs a test
		for _, n := range slices.Sorted(maps.Keys(answers)) {
			line, err := json.Marshal(replayLine{n, breaking.Play(t, n, answers[n])})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s\n", line)
		}
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: replayArg, F: play}}, nil, nil)
}
