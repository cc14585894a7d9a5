package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
)

// TestStagesAreTheExercise asserts that each case belongs to one stage, and that the README has all stages.
func TestStagesAreTheExercise(t *testing.T) {
	root := rootOf(t)
	for number := range staged().Exercises {
		e := exercises[number-1]
		require.Equal(t, number, e.number)
		var staged []string
		for _, s := range e.stages() {
			require.NotEmpty(t, s.Cases)
			require.True(t, 10 <= s.Minutes && s.Minutes <= 20, "a stage is short")
			staged = append(staged, s.Cases...)
		}
		require.ElementsMatch(t, e.names(), staged, "%v: each case is in one of its stages in cmd/exercises/stages.json", e)

		readme := fileText(t, e.dir(root), "README.md")
		var tasks []string // what is to be written in each stage
		for _, m := range regexp.MustCompile(`(?m)^\| \d [^|]+ \| \d+ min \| ([^|]+) \|$`).FindAllStringSubmatch(readme, -1) {
			tasks = append(tasks, m[1])
		}
		require.Len(t, tasks, len(e.stages()), "%s: a row for each stage", e.folder)
		table := "| stage | time | write |\n|---|---:|---|\n"
		for i, s := range e.stages() {
			table += fmt.Sprintf("| %d %s | %d min | %s |\n", i+1, s.Title, s.Minutes, tasks[i])
		}
		require.Contains(t, readme, table, "%s: the table of the stages is stale", e.folder)
	}
}

// TestTheFirstMessageIsOfTheStageThatComesNext: that is the first stage that has a failure. Failures of a later stage
// come after it, also two holders. Within a stage, two holders come first.
func TestTheFirstMessageIsOfTheStageThatComesNext(t *testing.T) {
	for number := range staged().Exercises {
		e := exercises[number-1]
		fails := func(stage, n int, words string) failure { // case n of the stage, both from 0
			name := e.stages()[stage].Cases[n]
			for _, s := range e.tests {
				if group := s.groups[name]; group != "" {
					return failure{Case: name, Group: group, Words: i18n.Same(words)}
				}
			}
			t.Fatal(name)
			return failure{}
		}
		r := &result{Failed: []failure{fails(2, 0, "two holders"), fails(1, 0, "polls"), fails(1, 1, "two holders"), fails(1, 2, "hangs")}}
		r.judge(&attempt{exercise: e})
		require.True(t, r.Unsafe, "two holders cost all points, whatever comes first")
		n, s, passed := r.nextStage(e)
		require.Equal(t, 2, n, "the first stage that has a failure")
		require.Equal(t, len(s.Cases)-3, passed)
		require.Regexp(t, `^Stage 2 of 3, .* \(\d+ minutes\): \d+ of its \d+ cases pass\.$`, r.stageLine(e))
		require.Empty(t, (&result{}).stageLine(e), "all stages are done")
		require.Empty(t, r.stageLine(exercises[10]), "an exercise without stages")

		var order []string
		for _, f := range r.Failed {
			order = append(order, f.Case)
		}
		require.Equal(t, []string{s.Cases[1], s.Cases[0], s.Cases[2], e.stages()[2].Cases[0]}, order)
	}
}

// TestTwoHoldersAreHeadedSafety asserts that two holders are headed "safety", whatever group the case belongs to.
func TestTwoHoldersAreHeadedSafety(t *testing.T) {
	for _, group := range []locktest.Group{locktest.Safety, locktest.Liveness, locktest.Faults, locktest.Cost} {
		require.Equal(t, "safety", failure{Group: group, Words: i18n.Same("A and B: two holders")}.Heading().String())
		require.Equal(t, string(group), failure{Group: group, Words: i18n.Same("A hangs")}.Heading().String())
	}
	require.Equal(t, "basic", failure{Group: basicGroup, Words: i18n.Same("two holders, says a student's schedule")}.Heading().String())
}

// TestEachStageCanBeDone grades a lock of each stage as a student has it when the stage is done. The cases of the stage
// pass, and of the stages before it. Some of the next stage fail, and the first message is one of these.
func TestEachStageCanBeDone(t *testing.T) {
	takesMinutes(t)
	files := testenv.Must(filepath.Glob("testdata/stages/*.go.txt"))(t)
	for number := range staged().Exercises {
		require.Contains(t, files, fmt.Sprintf("testdata/stages/%d-1.go.txt", number))
	}
	for file, a := range attemptsIn(t, files) {
		name := strings.TrimSuffix(filepath.Base(file), ".go.txt")
		e, done := a.exercise, int(name[len(name)-1]-'0') // the file 3-2.go.txt has stage 2 of exercise 3 done
		// To play what fails takes long: of the next stage only a few schedules are played, and no later stage.
		few := sample(e, withoutBasics).names()
		a.exercise = withCases(e, func(s suite, name string) bool {
			isDone := slices.ContainsFunc(e.stages()[:done], func(st stage) bool { return slices.Contains(st.Cases, name) })
			isNext := slices.Contains(e.stages()[done].Cases, name)
			return isDone || isNext && (s.test != "TestSchedules" || slices.Contains(few, name))
		})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gradeOf(t, a, generous, nil)
			require.Empty(t, r.Why)
			n, s, _ := r.nextStage(e)
			require.Equal(t, done+1, n, "the stage that comes next: %v", r.Failed)
			require.Contains(t, s.Cases, r.Failed[0].Case, "the first message is of that stage")
		})
	}
}
