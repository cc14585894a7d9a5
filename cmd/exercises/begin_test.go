package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnInitThatNeverEndsCostsOneLimit: not one for each exercise, and the student's
// other exercises are graded as ever.
func TestAnInitThatNeverEndsCostsOneLimit(t *testing.T) {
	heavy(t)
	root, dir := rootOf(t), t.TempDir()
	a, l := &app{root: root}, generous
	l.begin = 0
	c := &class{asked: exercises[:4], limits: l}
	graded := func(e *exercise, more string) row {
		folder := filepath.Join(dir, e.folder)
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "lock.go"), []byte(text(t, root, e.answer)), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "more.go"), []byte("package "+e.pkg+"\n"+more), 0o644))
		return a.gradeOne(t.Context(), "anna", folder, c)
	}
	// It sleeps, and does not spin: what counts is that init does not return.
	const hangs = "\nimport \"time\"\n\nfunc init() { time.Sleep(time.Hour) }\n"
	require.Contains(t, graded(exercises[0], hangs).Why.En, notBegun+" in 10s")
	for _, e := range []*exercise{exercises[1], exercises[3]} {
		r := graded(e, hangs)
		require.Contains(t, r.Why.En, notBegun+" in 3s")
		require.Zero(t, r.Points)
	}
	r := graded(exercises[2], "")
	require.True(t, r.Full, "an honest attempt of the same student: %s", r.Why.En)
}
