package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// The command prepare compiles what a class runs: PATH has a script named go, which records how it is called.
func TestPrepareCompilesWhatAClassRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	root, dir := rootOf(t), t.TempDir()
	calls := filepath.Join(dir, "calls")
	fakeGo := func(then string) { // records the call, and then runs a line of shell
		program := "#!/bin/sh\necho \"$PWD $GOOS $*\" >>" + calls + "\n" + then + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(program), 0o755))
	}
	t.Setenv("PATH", dir)
	fakeGo("exit 0")
	said := testenv.Must(called(t, "prepare"))(t)
	require.Regexp(t, `^1 of 4: compiling the commands, .*\n2 of 4: .*\n3 of 4: .*\n4 of 4: .*\nReady, in \d+s\.\n$`, said)
	lines := strings.Split(strings.TrimSpace(fileText(t, calls)), "\n")
	require.Len(t, lines, len(preparations()))
	require.Contains(t, lines[len(lines)-1], root+" js build -o "+os.DevNull+" ./internal/lab/engine", "nothing is written into the clone")
	for _, c := range preparations() { // each folder that is compiled has Go files
		for _, arg := range c.args {
			if strings.HasPrefix(arg, "./") {
				require.NotEmpty(t, testenv.Must(filepath.Glob(filepath.Join(root, arg, "*.go")))(t), "%s has nothing to compile", arg)
			}
		}
	}

	fakeGo("echo no network; exit 1")
	_, err := called(t, "prepare", "-lang", "zh")
	require.ErrorContains(t, err, "go build ./cmd/exercises ")
	require.ErrorContains(t, err, "no network")
}
