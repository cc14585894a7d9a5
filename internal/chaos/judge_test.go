//go:build linux

package chaos_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// first checks the first problem that a judge finds; "" if it is to find none.
func first(t *testing.T, want string, judge func(problem func(format string, args ...any))) {
	problems := []string{""}
	judge(func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) })
	require.Equal(t, want != "", len(problems) > 1, "%q", problems)
	require.Contains(t, problems[min(1, len(problems)-1)], want)
}

// The checks of TestChaos find the faults in histories that are made up.
func TestTheChecksSeeWhatIsWrong(t *testing.T) {
	lease := func(token, call, begin, open, end int64) record {
		return record{Kind: "lease", Owner: fmt.Sprintf("contender %d", token), Token: token, Call: call, Begin: begin, Open: open, End: end}
	}
	good := []record{lease(1, 0, 10, 20, 30), lease(2, 5, 21, 40, 50), lease(5, 7, 45, 60, 60)}
	for _, c := range []struct {
		what   string
		leases []record
		want   string // of the first problem
	}{
		{"good", good, ""},
		{"no lease", nil, "shows nothing"},
		{"calm leases alone", []record{{Token: 1, Begin: 1, Open: 2, End: 3, Calm: true}}, "shows nothing"},
		{"the second is in while the first is valid", []record{good[0], lease(2, 5, 19, 40, 50)}, "at once"},
		{"the third is in while the first is valid", []record{lease(1, 0, 10, 50, 50), lease(2, 51, 52, 53, 54), lease(3, 5, 49, 60, 70)}, "at once"},
		{"the later one has the lower token", []record{lease(1, 50, 60, 70, 80), lease(2, 5, 10, 20, 30)}, "does not grow"},
		{"the later one has the lower token, and its session was ended from outside", []record{lease(1, 50, 60, 20, 80), lease(2, 5, 30, 40, 45)}, "does not grow"},
		{"one token for two", []record{good[0], lease(1, 30, 31, 32, 33)}, "one token"},
	} {
		t.Run(c.what, func(t *testing.T) {
			first(t, c.want, func(problem func(string, ...any)) { judgeLeases(c.leases, problem) })
		})
	}

	for _, c := range []struct {
		what   string
		expiry expiry
		excuse bool
	}{
		{"its node was made before the end", expiry{40, 60, 8}, true},
		{"it began after the end was answered", expiry{40, 41, 8}, true},
		{"its node was made after the end", expiry{40, 60, 7}, false},
		{"it was over before the end", expiry{91, 99, 8}, false},
		{"the end is not answered yet", expiry{40, math.MaxInt64, 0}, true},
		{"the answer was lost, and it began later", expiry{40, 49, 0}, false},
	} {
		t.Run("excuse: "+c.what, func(t *testing.T) {
			r := lease(7<<10|3, 10, 50, 80, 90)
			r.excuse([]*expiry{&c.expiry})
			require.EqualValues(t, map[bool]int{true: 40, false: 80}[c.excuse], r.Open)
			require.Equal(t, c.excuse, r.How != "")
		})
	}

	names := []string{"00000001-0000000000000007-A", "00000002-0000000000000007-B", "00000003-0000000000000009-C"}
	writes := []record{
		{Nonce: "A", How: "acknowledged"}, {Nonce: "B", How: "unknown"}, {Nonce: "C", How: "acknowledged"},
		{Nonce: "D", How: "refused"}, {Nonce: "E", How: "unknown"},
	}
	for _, c := range []struct {
		what   string
		count  int
		names  []string
		writes []record
		want   string
	}{
		{"good", 3, names, writes, ""},
		{"a lost count", 2, names, writes, "has counted 2"},
		{"a lost write", 3, names, append([]record{{Nonce: "F", How: "acknowledged"}}, writes...), "in the log: false"},
		{"a refused write that is there", 3, names, append([]record{{Nonce: "C", How: "refused"}}, writes...), "in the log: true"},
		{"a number twice", 3, []string{names[0], names[1], "00000002-0000000000000009-C"}, writes, "write 3 is"},
		{"a lower token later", 3, []string{names[0], names[1], "00000003-0000000000000006-C"}, writes, "has the token 6, after 7"},
	} {
		t.Run("register: "+c.what, func(t *testing.T) {
			first(t, c.want, func(problem func(string, ...any)) {
				judgeRegister(register{Count: c.count}, c.names, c.writes, problem)
			})
		})
	}
}
