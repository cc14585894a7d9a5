package main

import (
	"bytes"
	"encoding/json"
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
	for _, e := range exercises[:4] {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, e.folder), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, e.folder, "lock.go"), []byte(text(t, root, e.answer)), 0o644))
		if e.number != 3 {
			// It sleeps, and does not spin: what counts is that init does not return.
			program := "package " + e.pkg + "\n\nimport \"time\"\n\nfunc init() { time.Sleep(time.Hour) }\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, e.folder, "init.go"), []byte(program), 0o644))
		}
	}
	file := filepath.Join(t.TempDir(), "all.json")
	var out bytes.Buffer
	// The limit is enough for a build on a busy machine.
	require.NoError(t, run(t.Context(), []string{"grade", dir, "-j", "1", "-exercise", "1,2,3,4", "-limit", "10m", "-json", file}, &out))
	t.Log(out.String())
	var all struct {
		Students []struct {
			Exercises []struct {
				Why    string
				Points int
				Full   bool
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text(t, file)), &all))
	r := all.Students[0].Exercises
	require.Len(t, r, 4)
	require.Contains(t, r[0].Why, neverBegan+" in 10s")
	for _, late := range []int{1, 3} {
		require.Contains(t, r[late].Why, neverBegan+" in 3s")
		require.Zero(t, r[late].Points)
	}
	require.True(t, r[2].Full, "an honest attempt of the same student")
}
