package main

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"example.com/zklock/internal/i18n"
)

// A stage is a part of an exercise that takes 10 to 20 minutes, and the cases that pass when it is done. The last
// stage of an exercise has all cases that no other stage names.
type stage struct {
	Title   i18n.Text
	Minutes int
	Cases   []string
}

// stages.json has the stages. A name in its Cases may stand for several cases: it is that of a list, of a suite, or of
// a suite's basic cases, such as "TestOwners basic". A case after "not: " is removed from those before it.
//
//go:embed stages.json
var stagesText []byte

// staged is what stages.json has: lists by name, and stages by the number of the exercise.
var staged = sync.OnceValue(func() (all struct {
	Lists     map[string][]string
	Exercises map[int][]stage
}) {
	if err := json.Unmarshal(stagesText, &all); err != nil {
		panic("stages.json: " + err.Error())
	}
	return all
})

// expanded returns the cases that a name in stages.json stands for.
func (e *exercise) expanded(name string) (cases []string) {
	if list, ok := staged().Lists[name]; ok {
		for _, member := range list {
			cases = append(cases, e.expanded(member)...)
		}
		return cases
	}
	test, basic := strings.CutSuffix(name, " basic")
	for _, s := range e.tests {
		if s.test == test && basic {
			return s.basic
		} else if s.test == test {
			return s.all
		}
	}
	return []string{name}
}

// stages are the stages of an exercise. An exercise that is done in one piece has none.
func (e *exercise) stages() (list []stage) {
	var earlier []string // the cases of the stages before this one
	for _, s := range staged().Exercises[e.number] {
		var cases []string
		for _, name := range s.Cases {
			if removed, ok := strings.CutPrefix(name, "not: "); ok {
				cases = slices.DeleteFunc(cases, func(c string) bool { return c == removed })
			} else {
				cases = append(cases, e.expanded(name)...)
			}
		}
		if s.Cases == nil { // the last stage
			cases = slices.DeleteFunc(e.names(), func(c string) bool { return slices.Contains(earlier, c) })
		}
		earlier = append(earlier, cases...)
		list = append(list, stage{Title: s.Title, Minutes: s.Minutes, Cases: cases})
	}
	return list
}

// nextStage returns the first stage of an exercise that is not done, its number from 1 on,
// and how many of its cases pass. The number is 0 if there are no stages, or all are done.
func (r *result) nextStage(e *exercise) (number int, s stage, passed int) {
	for i, s := range e.stages() {
		failed := 0
		for _, f := range r.Failed {
			if slices.Contains(s.Cases, f.Case) {
				failed++
			}
		}
		if failed > 0 {
			return i + 1, s, len(s.Cases) - failed
		}
	}
	return 0, stage{}, 0
}

// stageLine says at which stage an attempt is; it is empty if the exercise has no stages, or all are done.
func (r *result) stageLine(e *exercise) i18n.Text {
	n, s, passed := r.nextStage(e)
	if n == 0 || r.Why.String() != "" {
		return ""
	}
	return i18n.Textf("Stage %d of %d, %s (%d minutes): %d of its %d cases pass.", n, len(e.stages()), s.Title, s.Minutes, passed, len(s.Cases))
}
