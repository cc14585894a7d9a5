package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/locktest"
)

// TestStagesAreTheExercise: each case belongs to one stage, and the README says
// which stages there are.
func TestStagesAreTheExercise(t *testing.T) {
	root := rootOf(t)
	for number := range staged {
		e := exercises[number-1]
		require.Equal(t, number, e.number)
		all, of := e.names(), []string(nil)
		for _, s := range e.stages() {
			require.NotEmpty(t, s.cases)
			require.True(t, 10 <= s.minutes && s.minutes <= 20, "a stage is short")
			of = append(of, s.cases...)
		}
		slices.Sort(all)
		slices.Sort(of)
		require.Equal(t, all, of, "%v", e)

		readme := text(t, e.dir(root), "README.md")
		var write []string
		for _, m := range regexp.MustCompile(`(?m)^\| \d [^|]+ \| \d+ min \| ([^|]+) \|$`).FindAllStringSubmatch(readme, -1) {
			write = append(write, m[1])
		}
		require.Len(t, write, len(e.stages()), "%s: a row for each stage", e.folder)
		require.Contains(t, readme, stageTable(e, write), "%s: the table of the stages is stale", e.folder)
	}
}

func stageTable(e *exercise, write []string) string {
	var b strings.Builder
	b.WriteString("| stage | time | write |\n|---|---:|---|\n")
	for i, s := range e.stages() {
		fmt.Fprintf(&b, "| %d %s | %d min | %s |\n", i+1, s.title, s.minutes, write[i])
	}
	return b.String()
}

func TestTheStageOfAnAttempt(t *testing.T) {
	e := exercises[1]
	second := e.stages()[1].cases
	r := &result{Failed: []failure{{Case: second[0]}, {Case: e.stages()[2].cases[0]}}}
	n, _, passed := r.at(e)
	require.Equal(t, 2, n)
	require.Equal(t, len(second)-1, passed)
	require.Regexp(t, `^Stage 2 of 3, Lock waits for its turn \(20 minutes\): \d+ of its \d+ cases pass\.$`, r.stageLine(e))
	require.Empty(t, (&result{}).stageLine(e), "all stages are done")
	require.Empty(t, r.stageLine(exercises[6]), "an exercise without stages")
}

// TestTheFirstMessageIsOfTheStageThatComesNext: two holders of a later stage do not come before
// it, and come first in their own.
func TestTheFirstMessageIsOfTheStageThatComesNext(t *testing.T) {
	for number := range staged {
		e := exercises[number-1]
		fails := func(stage, i int, words string) failure {
			name := e.stages()[stage].cases[i]
			for _, s := range e.tests {
				if group := s.groups[name]; group != "" {
					return failure{Case: name, Group: group, Words: language.Same(words)}
				}
			}
			t.Fatal(name)
			return failure{}
		}
		r := &result{Failed: []failure{fails(2, 0, "two holders"), fails(1, 0, "polls"), fails(1, 1, "two holders"), fails(1, 2, "hangs")}}
		r.judge(&attempt{exercise: e})
		require.True(t, r.Unsafe, "two holders cost all points, whatever comes first")
		n, s, _ := r.at(e)
		require.Equal(t, 2, n)
		var order []string
		for _, f := range r.Failed {
			order = append(order, f.Case)
		}
		require.Equal(t, []string{s.cases[1], s.cases[0], s.cases[2], e.stages()[2].cases[0]}, order)
	}
}

// TestTwoHoldersAreHeadedSafety: whatever the case asks that shows them.
func TestTwoHoldersAreHeadedSafety(t *testing.T) {
	for _, group := range []locktest.Group{locktest.Safety, locktest.Liveness, locktest.Faults, locktest.Cost} {
		require.Equal(t, "safety", failure{Group: group, Words: language.Same("A and B: two holders")}.Heading().En)
		require.Equal(t, string(group), failure{Group: group, Words: language.Same("A hangs")}.Heading().En)
	}
	require.Equal(t, "basic", failure{Group: basicGroup, Words: language.Same("two holders, says a student's schedule")}.Heading().En)
}

// TestEachStageCanBeDone grades a lock of each stage as a student has it when the
// stage is done: its cases pass and those of the stages before, and some of the next
// stage fail, of which the first message is.
func TestEachStageCanBeDone(t *testing.T) {
	heavy(t)
	for _, file := range must(filepath.Glob("testdata/stages/*.go.txt")) {
		name := strings.TrimSuffix(filepath.Base(file), ".go.txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := exercises[int(name[0]-'1')]
			done := int(name[2] - '0')
			a := written(t, e, text(t, file))
			// What comes after the next stage fails, too, at length.
			a.exercise = only(e, func(_ suite, name string) bool {
				return slices.ContainsFunc(e.stages()[:done+1], func(s stage) bool { return slices.Contains(s.cases, name) })
			})
			r := graded(t, a, generous, nil)
			require.Empty(t, r.Why)
			n, s, _ := r.at(e)
			if n != done+1 {
				for _, f := range r.Failed {
					if slices.Contains(s.cases, f.Case) {
						t.Logf("fails: %s: %s", f.Case, firstLines(f.Words.En, 2))
					}
				}
			}
			require.Equal(t, done+1, n, "the stage that comes next")
			require.Contains(t, s.cases, r.Failed[0].Case, "the first message is of that stage")
		})
	}
}
