package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
)

// count runs the program with the servers that the environment variables name.
func count(t *testing.T, args string) (stdout string, err error) {
	t.Helper()
	lang, out := i18n.English, new(bytes.Buffer)
	err = run(t.Context(), &lang, strings.Fields(args), out, new(bytes.Buffer))
	return out.String(), err
}

func TestEachLockCountsRightInOneTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.json")
	stdout, err := count(t, "-n 5,20 -json "+file)
	require.NoError(t, err)
	for _, n := range []string{"5", "20"} {
		for _, lock := range []string{"predecessor", "zklock", "sqlrow", "sqlversion", "sqlforupdate", "redis"} {
			require.Regexp(t, `(?m)^`+lock+` +`+n+` +`+n+` +[0-9.]+ ms +- +[0-9.]+ +[0-9.]+ `, stdout, "attempts and requests")
		}
		require.Regexp(t, `(?m)^sqlforupdate +`+n+` .* 1\.0 +4\.0 `, stdout, "a queue at the server: one attempt each")
	}
	require.NotContains(t, stdout, "etcd", "no server is named")
	require.Contains(t, stdout, "sqlrow: SQLite 3.")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "go run ./count -n 5,20 ")
}

func TestALabelTellsServersApart(t *testing.T) {
	stdout, err := count(t, "-n 5 -locks sqlrow -sql disk=sqlite:"+filepath.Join(t.TempDir(), "locks.db")+",embedded")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^sqlrow/disk +5 +5 `, stdout)
	require.Regexp(t, `(?m)^sqlrow/2 +5 +5 `, stdout)
}

func TestWhatIsWrongIsOneLineWithoutThePassword(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":                          "-n: \"0\" is not a number of goroutines",
		"-rounds 0":                     "-rounds: 0 is not at least 1",
		"-locks nosuch":                 "-locks: no lock is called \"nosuch\"",
		"-locks redis -redis a=x,a=y":   "-redis: a is named twice",
		"-locks redis -redis x:1,":      "-redis: it names no server",
		"-locks etcd":                   "-etcd: it names no server",
		"-locks sqlrow -sql nosuch":     "-sql: ",
		"-locks redis -redis 127.0.0.1": "-redis: ",
		"-locks sqlrow -sql postgres://u:se,cret@127.0.0.1:1/x": "a comma is written %2C",
		"-locks sqlrow -sql postgres://u:secret@127.0.0.1:1/x":  "-sql: postgres://u:xxxxx@127.0.0.1:1/x: ",
		"-locks redis -redis redis://:secret@127.0.0.1:1":       "-redis: redis at 127.0.0.1:1: ",
	} {
		stdout, err := count(t, args)
		require.ErrorContains(t, err, want, args)
		require.NotContains(t, err.Error(), "cret")
		require.NotContains(t, err.Error(), "\n")
		require.Empty(t, stdout)
	}
}
