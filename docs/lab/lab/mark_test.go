package lab_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/internal/explore/film"
)

// marked reports whether a line of a listing is marked with a bug: [A3], or [A1, A3].
func marked(t *testing.T, p film.Place, bug string) bool {
	source, err := os.ReadFile("../../../" + p.File)
	if err != nil {
		return false // the client's
	}
	line := strings.Split(string(source), "\n")[p.Line-1]
	return regexp.MustCompile(`\[(\w+, )*` + bug + `[,\]]`).MatchString(line)
}

// between are the bugs whose line runs between two waits: no film has a contender there.
var between = strings.Fields("A2 A4 A5 A6 A7 A8 A9 A11 B1 C2 D3 D5 D6 D7 D9 D10 D11 D12")

// The page marks the line of a bug, and points to the lines at which the contenders are.
// If a contender can be seen at the marked line, it is there before the lock breaks.
func TestAContenderIsAtTheMarkedLineBeforeTheLockBreaks(t *testing.T) {
	var unseen []string
	for _, l := range locks.All() {
		if l.Group != locks.Museum || strings.Contains(l.Name, "-") || strings.HasPrefix(l.Name, "E") { // E1 and E2 are steps
			continue
		}
		f := filmOf(t, l)
		end := f.End
		for _, m := range f.Marks {
			if m.Kind == "violation" {
				end = min(end, m.At)
			}
		}
		if !slices.ContainsFunc(f.Where, func(w film.Where) bool {
			return w.From <= end && slices.ContainsFunc(w.At, func(i int) bool { return marked(t, f.Places[i], l.Name) })
		}) {
			unseen = append(unseen, l.Name)
		}
	}
	require.Empty(t, slices.DeleteFunc(unseen, func(id string) bool { return slices.Contains(between, id) }))
}
