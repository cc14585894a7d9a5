//go:build race

package bugs_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum"
	"example.com/zklock/internal/museum/java"
	"example.com/zklock/internal/museum/listings"
)

// A7. Article A's field countDownLatch is not volatile either. In a process in which
// it is as plain as that, the race detector reports the two lines that use it:
// nothing orders the event that A's Unlock causes and the line that makes the latch.
// Everywhere else the field is ordered, and the detector must report nothing.
func TestBugA7_TheLatchIsADataRace(t *testing.T) {
	if os.Getenv(java.PlainFields) != "" {
		museum.Play(t, listings.NewZkClientLock, func(s *museum.Stage) {
			a, b := s.Client(), s.Client()
			withParent(s, a)
			a.Lock()
			gap := s.HoldGap("A7", 1)
			b.Start()
			gap.Reached()
			go a.Contender().Unlock() // at the same time as B goes on
			gap.Release()
		})
		return
	}
	museum.NeedsEmbedded(t)
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), java.PlainFields+"=1")
	report, err := again.CombinedOutput()
	require.Error(t, err)
	t.Logf("%s", report)
	require.Contains(t, string(report), "WARNING: DATA RACE")
	require.Regexp(t, `waitForRelease\(\)\n\s+\S+/a_queue\.go:\d+`, string(report), "the line that makes the latch")
	require.Regexp(t, `waitForRelease\.func1\(\)\n\s+\S+/a_queue\.go:\d+`, string(report), "the line that looks for it")
}
