package lab_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// valueOf computes a formula such as N²+2N or n(n−1)/2.
func valueOf(t *testing.T, formula string, n int) int {
	t.Helper()
	formula = strings.NewReplacer(" ", "", "−", "-", "N", "n").Replace(formula)
	if formula == "n(n-1)/2" { // the only one that is not a sum
		return n * (n - 1) / 2
	}
	sum, read := 0, ""
	for _, m := range regexp.MustCompile(`([+-]?)(\d+|n)(n?)(²?)`).FindAllStringSubmatch(formula, -1) {
		sign, factor, timesN, square := m[1], m[2], m[3], m[4]
		part, err := strconv.Atoi(factor)
		if err != nil { // the factor is n
			part = n
		}
		if timesN != "" {
			part *= n
		}
		if square != "" {
			part *= n
		}
		if sign == "-" {
			part = -part
		}
		sum, read = sum+part, read+m[0]
	}
	require.Equal(t, formula, read, "it is not a formula")
	return sum
}

// The curves of the chart are the formulas of the catalogue and of the steps' own comments, and no run sends more.
func TestTheCurvesAreTheStepsFormulas(t *testing.T) {
	docs := map[string]string{"naive": "01-naive-ephemeral", "herd": "02-herd-effect",
		"predecessor": "03-sequential-predecessor", "reentrant": "04-reentrant", "timeout": "05-timeout"}
	stated := regexp.MustCompile(`(?s)each lock once send ([^ ]+)\s+requests`)
	for _, c := range lab.Curves() {
		l := testenv.Must(locks.Find(c.Lock))(t)
		require.Len(t, c.Requests, 100)
		for n := 1; n <= 100; n++ {
			require.Equal(t, valueOf(t, l.Requests, n), c.Requests[n-1], "%s: %s", c.Lock, l.Requests)
			require.Equal(t, valueOf(t, l.Events, n), c.Events[n-1], "%s: %s", c.Lock, l.Events)
		}
		if dir, ok := docs[c.Lock]; ok {
			delete(docs, c.Lock)
			text := testenv.Must(os.ReadFile("../../../" + dir + "/lock.go"))(t)
			text = []byte(strings.ReplaceAll(string(text), "\n// ", " "))
			m := stated.FindSubmatch(text)
			require.NotNil(t, m, c.Lock)
			require.Equal(t, c.Requests[99], valueOf(t, string(m[1]), 100), "%s: its package's doc says %s", c.Lock, m[1])
		}
		for _, n := range []int{2, 7, 20} {
			cost := testenv.Must(lab.CostOf(t, locks.Scene{Lock: c.Lock, Contenders: n, LatencyMs: 20, Seed: 1}))(t)
			require.Empty(t, cost.Broken)
			require.LessOrEqual(t, cost.Requests, c.Requests[n-1], "%s, %d contenders", c.Lock, n)
			require.LessOrEqual(t, cost.Events, c.Events[n-1], "%s, %d contenders", c.Lock, n)
		}
	}
	require.Empty(t, docs, "locks without a curve")
}
