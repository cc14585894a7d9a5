package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// script writes a shell script that takes the place of an attempt's program.
func script(t *testing.T, program string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program of the attempt is a shell script here, which Windows does not run")
	}
	file := filepath.Join(t.TempDir(), "attempt.test")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+program+"\n"), 0o755))
	return file
}

const (
	sleeps = "exec sleep 1000"
	// beginsAndSleeps answers -test.list, so its init functions have run; then it sleeps.
	beginsAndSleeps = `case "$1" in -test.list*) exit 0;; esac; ` + sleeps
)

// short has a ceiling that is reached while the attempt sleeps, as if the machine gave it no processor time.
var short = limits{time: time.Hour, memory: 1 << 30, ceiling: time.Second}

// TestABusyMachineGradesNothing has the ceiling reached while an attempt is built, begins, runs, or plays links.
func TestABusyMachineGradesNothing(t *testing.T) {
	t.Parallel()
	for doing, program := range map[string]string{"begins": sleeps, "runs": beginsAndSleeps} {
		t.Run(doing, func(t *testing.T) {
			t.Parallel()
			a := writeAttempt(t, exercises[0], "package naive\n")
			file := script(t, program)
			a.built = func() (string, error) { return file, nil }
			r := testenv.Must(grade(t.Context(), rootOf(t), a, short, nil))(t)
			require.True(t, r.Ungraded)
			require.Empty(t, r.Parts)
			require.Empty(t, r.Failed)
			require.Contains(t, r.Why.String(), "nothing was graded: the machine is too busy. In 1s ")
			require.Contains(t, r.Why.String(), "with -limit 200ms") // twice the ceiling of 1 s, / 10 (busyFactor)
			require.Contains(t, r.Why.In(i18n.Chinese), "-limit 200ms")
			require.Empty(t, leftEnglish(r.Why.In(i18n.Chinese)))
		})
	}
	t.Run("is compiled", func(t *testing.T) {
		t.Parallel()
		c := testenv.Must(newCell(t.Context(), short))(t)
		defer c.close()
		a := writeAttempt(t, exercises[0], "package naive\n")
		compiler := c.command(script(t, sleeps), nil, nil)
		require.ErrorAs(t, c.call(compiler, rootOf(t), a), new(tooBusy))
	})
	t.Run("plays links", func(t *testing.T) {
		t.Parallel()
		_, _, err := playLinks(t.Context(), short, dyingArg, map[int]string{5: "sleeps"}) // in replayDying, replay_test.go
		require.ErrorAs(t, err, new(tooBusy))
	})
}

// TestWhatWasNotGradedHasNoPoints asserts that no output says 0 for an attempt that was not graded.
func TestWhatWasNotGradedHasNoPoints(t *testing.T) {
	allPass := judged(exercises[0], noGroup, "") // has all 10 points of the exercise
	busy := exercises[1].ungraded(i18n.Textf("nothing was graded: %s", "x"))
	busy.Ungraded = true
	rows := []row{
		{Student: "anna", exercise: exercises[0], result: allPass},
		{Student: "anna", exercise: exercises[1], result: busy},
		{Student: "bob", exercise: exercises[0], result: allPass},
	}
	g := gradesOf(rows, exercises[:2])
	var out bytes.Buffer
	(&app{out: &out}).printTable(g)
	require.Regexp(t, `(?m)^anna +02-herd +0\.0 s +nothing was graded: x$`, out.String())
	require.Regexp(t, `(?m)^anna +an exercise was not graded$`, out.String())
	require.Regexp(t, `(?m)^bob +10 of 20$`, out.String())

	out.Reset()
	require.NoError(t, writeCSV(&out, g))
	lines := testenv.Must(csv.NewReader(&out).ReadAll())(t)
	cell := func(line []string, column string) string { return line[slices.Index(lines[0], column)] }
	graded, ungraded := lines[1], lines[2] // both of anna
	for _, column := range []string{"points", "student_points", "safety", "full", "passed"} {
		require.Empty(t, cell(ungraded, column), column)
	}
	require.Equal(t, "nothing was graded: x", cell(ungraded, "why"))
	require.Empty(t, cell(graded, "student_points"), "the sum is not known")
	require.Equal(t, "10", cell(graded, "points"))

	out.Reset()
	require.NoError(t, writeJSON(&out, g))
	require.Regexp(t, `(?s)"student": "anna",\s+"points": null,.*"points": 10,`+
		`.*"points": null,.*"why": "nothing was graded: x".*"student": "bob",\s+"points": 10,`, out.String())
}

// TestProcessorTimeIsLimited: the time of all processes of the cell, also of those that have ended, not the clock's.
func TestProcessorTimeIsLimited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs what watches a group of processes: Linux")
	}
	t.Parallel()
	for name, program := range map[string]string{
		"spins":             "while :; do :; done",
		"has others spin":   "while :; do :; done & wait",
		"starts many":       "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done",
		"spins, and sleeps": "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testenv.Must(newCell(t.Context(), limits{time: 100 * time.Millisecond, memory: 1 << 30, ceiling: time.Hour}))(t)
			defer c.close()
			cmd := c.command(script(t, program), nil, os.Environ())
			_ = testenv.Must(c.run(cmd))(t)
			require.True(t, c.over().endless)
			require.Contains(t, c.over().String(), "in 100ms of processor time")
		})
	}
}

// TestNothingIsLeftBehind: a closed cell leaves no process and no folder, not even a process that has left its group.
func TestNothingIsLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs what finds processes by their environment: Linux")
	}
	t.Parallel()
	c := testenv.Must(newCell(t.Context(), generous))(t)
	cmd := c.ofStudent("setsid", []string{"sleep", "1000"})
	require.NoError(t, cmd.Err)
	require.NoError(t, cmd.Start())
	c.started(cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.close()
	<-ended // it was killed: a sleep of 1000 s
	require.NoDirExists(t, c.dir)
}
