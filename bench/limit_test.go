package main

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/zklock/bench/internal/report"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// slow is a lock that no contender gets, but each goes on asking for it.
var slow = contestant{name: "slow", open: onZoo(each(func(conn *zk.Conn, path string) locker {
	return fake{lock: func() error {
		for {
			if _, _, err := conn.Exists("/"); err != nil {
				return err
			}
			asked.Add(1)
		}
	}}
}))}

// asked is how many answers such locks have had.
var asked atomic.Int64

const (
	limit = 3 * time.Second
	many  = 100 // answers, more than there are requests on the way
)

// limitAfter lets each half of a limit last until n has grown by so much, in
// place of half its time.
func limitAfter(t *testing.T, n *atomic.Int64, grows int64) {
	usual := sleep
	set(t, &sleep, func(ctx context.Context, _ time.Duration) bool {
		for until := n.Load() + grows; n.Load() < until; {
			if !usual(ctx, time.Millisecond) {
				return false
			}
		}
		return ctx.Err() == nil
	})
}

func TestARunThatTakesTooLongIsStoppedAndOthersGoOn(t *testing.T) {
	compete(t, contestants[2], slow)
	untried(t)
	limitAfter(t, &asked, many)
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := bench(t, "-n", "4,2,8", "-rounds", "2", "-limit", limit.String(), "-json", file, "-warmup", "0s")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^slow +4 +stopped after 3s, at 0 of 4 `, stdout)
	require.Regexp(t, `(?m)^slow +2 +stopped after 3s, at 0 of 2 `, stdout, "with fewer contenders it might have gone well")
	require.Regexp(t, `(?m)^slow +8 +skipped: stopped after 3s with 2 `, stdout)

	for _, n := range []string{"4", "2", "8"} {
		require.Regexp(t, `(?m)^predecessor +`+n+` +`+n+` `, stdout)
	}

	rs := written[[]report.Run](t, file)
	rs = slices.DeleteFunc(rs, func(r report.Run) bool { return r.Lock != "slow" })
	require.Len(t, rs, 3, "a second round would be stopped as well")
	for i, want := range []string{report.StatusStopped, report.StatusStopped, report.StatusSkipped} {
		require.Equal(t, want, rs[i].Status)
		require.NotEmpty(t, rs[i].Error)
	}
}
