package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// neverHad is a lock that nobody gets.
var neverHad = contestant{name: "stuck", new: func(conn *zk.Conn, path string) locker { return failing{conn, path, false} }}

func TestARunThatTakesTooLongIsStopped(t *testing.T) {
	compete(t, contestants[2], neverHad)
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := bench(t, "-n", "10,5,20", "-rounds", "2", "-limit", "100ms", "-json", file, "-warmup", "0s", "-locks", "stuck")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^stuck +10 +stopped after 100ms, at 0 of 10 `, stdout)
	require.Regexp(t, `(?m)^stuck +5 +stopped after 100ms, at 0 of 5 `, stdout, "with fewer it might have gone well")
	require.Regexp(t, `(?m)^stuck +20 +skipped: stopped after 100ms with 5 `, stdout)

	var rs []result
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &rs))
	require.Len(t, rs, 3, "a second round would be stopped as well")
	for i, want := range []string{statusStopped, statusStopped, statusSkipped} {
		require.Equal(t, want, rs[i].Status)
		require.NotEmpty(t, rs[i].Error)
	}
}

func TestOthersGoOnWhenOneIsStopped(t *testing.T) {
	compete(t, neverHad, contestants[2])
	status, stdout, stderr := bench(t, "-n", "5,10", "-limit", "1s", "-warmup", "0s")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^predecessor +5 +5 `, stdout)
	require.Regexp(t, `(?m)^predecessor +10 +10 `, stdout)
}
