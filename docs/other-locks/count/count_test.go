// Tests of the command count, on the databases inside the process.
package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/counter"
	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/testenv"
)

// count runs the program.
func count(t *testing.T, args string) (stdout string, err error) {
	t.Helper()
	out := new(bytes.Buffer)
	err = run(t.Context(), strings.Fields(args), out, new(bytes.Buffer))
	return out.String(), err
}

func TestEachLockCountsRightInOneTable(t *testing.T) {
	stdout := testenv.Must(count(t, "-n 5,20 -sql embedded,sqlite:"+filepath.Join(t.TempDir(), "locks.db")))(t)
	for _, n := range []string{"5", "20"} {
		for _, lock := range []string{
			"predecessor", "zklock", "redis", "sqlrow/embedded", "sqlversion/embedded", "sqlforupdate/embedded",
			"sqlrow/sqlite", "sqlversion/sqlite", "sqlforupdate/sqlite",
		} {
			require.Regexp(t, `(?m)^`+lock+` +`+n+` +`+n+` +[0-9.]+ ms +- +[0-9.]+ +[0-9.]+ `, stdout, "attempts and requests")
		}
		require.Regexp(t, `(?m)^sqlforupdate/embedded +`+n+` .* 1\.0 +4\.0 `, stdout, "a queue at the server: one attempt each")
	}
	require.NotContains(t, stdout, "etcd", "no server is named")
	require.Contains(t, stdout, "sqlrow/embedded: SQLite 3.")
}

func TestWhatIsWrongIsOneLineWithoutThePassword(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":          "-n: \"0\" is not a number of goroutines",
		"-locks nosuch": "-locks: no lock is called \"nosuch\"",
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

type polled chan struct{} // a lock whose waiter looks each 7 ms

func (p polled) Unlock(context.Context) error { <-p; return nil }
func (p polled) Lock(context.Context) error {
	for {
		select {
		case p <- struct{}{}:
			return nil
		default:
			time.Sleep(7 * time.Millisecond) // in the time of the bubble
		}
	}
}

// A contender that asks at the beginning of a turn of 20 ms looks 21 ms later again: 1 ms after Unlock. Without turns
// the contender that has just released the lock would get it at once.
func TestAHandOverLastsFromUnlockToTheLockOfTheOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r, lock := newRelay(20*time.Millisecond), make(polled, 1)
		race := &counter.Race{Contenders: []counter.Contender{lock, lock}, Times: handOvers/2 + 1, Step: r.step, Work: r.work}
		require.NoError(t, race.Run(t.Context(), new(report.Run)))
		require.Len(t, r.took, handOvers+2)
		require.Equal(t, time.Millisecond, median(r.took[2:]))
	})
}

func TestHandOversAreOneTable(t *testing.T) {
	stdout := testenv.Must(count(t, "-turn 1ms -locks predecessor,zklock,redis,sqlrow,sqlversion,sqlforupdate"))(t)
	for _, lock := range []string{"predecessor", "zklock", "redis", "sqlrow", "sqlforupdate"} {
		require.Regexp(t, `(?m)^`+lock+` +[0-9.]+[µm]s +[0-9.]+[µm]s +[0-9]+\.[0-9]$`, stdout)
	}
	require.NotRegexp(t, "(?m)^sqlversion .*s$", stdout, "nobody waits for it")
}
