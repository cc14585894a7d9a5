package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/jute"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/zkserver"
)

// benchResults runs the benchmark and returns what it wrote with -json.
func benchResults(t *testing.T, args ...string) (rs []report.Run, stdout string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	status, stdout, stderr := bench(t, append(args, "-json", file)...)
	require.Zero(t, status, stderr)
	return written[[]report.Run](t, file), stdout
}

// written is what a file has as JSON.
func written[T any](t *testing.T, file string) (value T) {
	t.Helper()
	b := testenv.Must(os.ReadFile(file))(t)
	require.NoError(t, json.Unmarshal(b, &value), "%s", b)
	return value
}

// peersPassage is the table of the peers in docs/benchmark.md.
func peersPassage(t *testing.T, lang i18n.Language) string {
	rows := []string{"", i18n.Textf("| row | what it is |", "| 行 | 是什么 |").In(lang), "|---|---|"}
	for _, c := range peers {
		require.NotEmpty(t, c.What.Zh, "the entry of %s does not say what it is, in both languages", c.Name)
		rows = append(rows, "| "+c.Name+" | "+c.What.In(lang)+" |")
		if c.Name == "curator" { // it has a second row
			rows = append(rows, "| "+c.Name+" cold | "+whatColdIs.In(lang)+" |")
		}
	}
	return strings.Join(rows, "\n") + "\n"
}

// formulasPassage is that of the formulas there: the locks with the same formula,
// and those with a reason for which they have none.
func formulasPassage(t *testing.T, lang i18n.Language) string {
	names := make(map[string][]string)
	var order []string
	for _, c := range onZooKeeper() {
		f := c.Formula
		if f.Text == "" && f.From.En == "" {
			continue
		}
		require.NotEmpty(t, f.From.Zh, "the entry of %s: from says where the requests of its formula come from, in both languages", c.Name)
		key := cmp.Or(f.Text, i18n.Textf("no formula", "没有公式").In(lang)) + " | " + f.From.In(lang)
		if names[key] == nil {
			order = append(order, key)
		}
		names[key] = append(names[key], c.Name)
	}
	rows := []string{"", i18n.Textf("| | requests per acquisition | where they come from |", "| | 每次加锁的请求数 | 由什么组成 |").In(lang), "|---|---:|---|"}
	for _, key := range order {
		rows = append(rows, "| "+strings.Join(names[key], ", ")+" | "+key+" |")
	}
	return strings.Join(rows, "\n") + "\n"
}

// Alone neither needs to watch, whatever it did before.
func TestAloneTheMinimumIsTwoRequests(t *testing.T) {
	rs, _ := benchResults(t, "-n", "1", "-closed", "7", "-locks", "least,floor")
	for _, r := range rs {
		require.EqualValues(t, 2*7, r.Requests, r.Lock)
		require.Zero(t, r.WatchEvents, r.Lock)
	}
}

// The floor deletes in the order of the queue, each when the one before has
// been deleted, and none before all have been made.
func TestTheFloorKeepsItsOrder(t *testing.T) {
	srv, addr := listen(t)
	var deleted []string
	made := 0
	look := srv.Hold(func(r zkserver.Request) bool { // holds nothing: it looks at each request
		switch {
		case ofLock(r, jute.OpCreate):
			made++
		case ofLock(r, jute.OpDelete):
			require.Equal(t, 20, made)
			deleted = append(deleted, filepath.Base(r.Path))
		}
		return false
	})
	defer look.Release()
	status, _, stderr := benchWith(t.Context(), "-zk", addr, "-warmup", "0s", "-n", "20", "-locks", "floor", "-sessions", "4")
	require.Zero(t, status, stderr)
	require.Len(t, deleted, 20)
	require.IsIncreasing(t, deleted)
}

// If all are in the queue before the first one unlocks, the requests depend
// only on N.
func TestUnderContentionTheRequestsAreExactlyAsPredicted(t *testing.T) {
	const n = 12
	type prediction struct {
		kinds   map[string]int64 // nil: only the formula is held
		wakeUps int64            // as many as there are watches when all wait
	}
	all := map[string]prediction{
		"predecessor": {map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, n - 1},
		"timeout":     {map[string]int64{"create": n, "children": 2*n - 1, "get": 2*n - 1, "delete": n}, n - 1},
		"zk.Lock":     {map[string]int64{"create": n, "children": 2*n - 1, "get": n - 1, "delete": n}, n - 1},
		"least":       {map[string]int64{"create": n, "get": n - 1, "delete": n}, n - 1},
		"floor":       {map[string]int64{"create": n, "delete": n}, 0},
	}
	for _, c := range peers {
		if _, ok := all[c.Name]; !ok && c.Name != "curator" && c.Formula.Requests != nil {
			all[c.Name] = prediction{wakeUps: n - 1}
		}
	}
	for name, want := range all {
		// The session timeout is two ticks: no lease is proved while the machine is stopped.
		srv, addr := listen(t, zkserver.WithTick(time.Minute))
		// Others can go on while a delete is held: each has a connection.
		first := srv.Hold(func(r zkserver.Request) bool { return ofLock(r, jute.OpDelete) })
		watches := make(chan int, 1)
		go func() {
			defer first.Release()
			set, end := 0, time.Now().Add(30*time.Second) // the clients give up after 80 s
			for set < int(want.wakeUps) && time.Now().Before(end) {
				time.Sleep(time.Millisecond) // a poll: the server does not report a watch that is set
				set = len(srv.Watches())
			}
			watches <- set
		}()
		rs, _ := benchResults(t, "-zk", addr, "-warmup", "0s", "-n", strconv.Itoa(n), "-sessions", strconv.Itoa(n), "-locks", name)
		require.GreaterOrEqual(t, <-watches, int(want.wakeUps), "%s: watches while %d wait. "+
			"A lock that polls has no formula; one with fewer watches needs a line in the table above", name, n-1)
		require.EqualValues(t, rs[0].Predicted, rs[0].Requests, "%s: the formula of its entry, and %v", name, rs[0].Kinds)
		if want.kinds == nil {
			continue
		}
		require.Equal(t, want.kinds, rs[0].Kinds, name)
		require.Equal(t, want.wakeUps, rs[0].WakeUps, name)
		require.Equal(t, want.wakeUps, rs[0].WatchEvents, name)
	}
}
