package lab_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
)

// wasted is how many contenders had woken for nothing by an instant: before they held
// the lock they woke again.
func wasted(f *film.Film, by time.Duration) (n int) {
	woken := make(map[string]bool)
	for _, m := range f.Marks {
		switch {
		case m.At > by:
			return n
		case m.Kind == "wakeup":
			if woken[m.Who] {
				n++
			}
			woken[m.Who] = true
		case m.Kind == "state" && m.State == "holds":
			woken[m.Who] = false
		}
	}
	return n
}

// sums are what the captions of an opening count: the holders; how many contenders have had the
// lock, are done, wait, have nodes and have been told; what has been sent, and by which contender last; how
// many packets stand in the line at the server, and how many wake-ups were for nothing.
func sums(f *film.Film, at time.Duration) string {
	is := seen(f, at)
	had, told := make(map[string]bool), make(map[string]bool)
	requests, door, last := 0, 0, ""
	for _, m := range f.Marks {
		if m.At <= at && m.Kind == "state" && m.State == "holds" {
			had[m.Who] = true
		}
	}
	for _, p := range f.Packets {
		switch {
		case p.Sent > at:
		case p.Kind == "event":
			told[p.Client] = true
		case p.Kind == "request":
			requests, last = requests+1, p.Who
			if p.Queued != 0 && p.Queued <= at && p.Arrived > at {
				door++
			}
		}
	}
	holds, broken := "", ""
	for i, state := range strings.Fields(is.States) {
		if state == "holds" {
			holds += string(rune('A' + i))
		}
	}
	if is.Broken {
		broken = " !"
	}
	return fmt.Sprint(cmp.Or(holds, "-"), " ", len(had), strings.Count(is.States, "done"), strings.Count(is.States, "waits"),
		len(strings.Fields(is.Nodes)), len(told), requests, " ", cmp.Or(last, "-"), " ", door, wasted(f, at), broken)
}

// openingSums are those of each stop: of the left film, and of the right one. The columns: holds,
// had, done, wait, nodes, told, sent, the last by, at the door, for nothing, and ! for a violation.
const openingSums = `
- 0 0 20 3 0 21 A 14 0          | - 0 0 20 3 0 21 A 14 0
A 1 0 19 20 0 40 T 0 0          | A 1 0 19 20 0 59 T 0 0
- 1 0 19 19 20 41 A 0 0         | - 1 1 19 19 1 61 B 0 0
- 1 1 19 19 20 60 C 13 0        | - 2 1 18 19 1 62 B 0 0
- 13 12 7 7 20 216 T 0 144      | - 20 20 0 0 19 98 T 0 0
- 20 20 0 0 20 250 T 0 171      | - 20 20 0 0 19 98 T 0 0
- 0 0 1 0 0 1 A 0 0             | - 0 0 1 0 0 1 A 0 0
A 1 0 2 3 0 7 B 0 0             | A 1 0 2 3 0 6 B 0 0
A 1 0 2 4 0 11 A 0 0            | A 1 0 2 3 0 8 C 0 0
A 1 0 2 4 0 11 A 0 0            | A 1 0 2 3 0 8 C 0 0
A 1 0 2 4 0 11 A 0 0 !          | - 1 1 2 2 1 10 B 0 0
A 1 0 2 4 0 11 A 0 0 !          | - 3 2 0 0 2 13 C 0 0
A 1 0 2 3 0 8 C 0 0             | A 1 0 2 3 0 9 C 0 0
A 1 0 2 3 0 8 C 0 0             | A 1 1 1 3 0 10 B 0 0
A 1 0 2 3 0 8 C 0 0             | A 1 1 1 2 1 12 C 0 0
A 1 0 2 2 1 8 C 0 0             | A 1 1 1 1 2 12 C 0 0
AB 2 0 1 2 1 9 B 0 0 !          | A 1 1 1 1 2 14 C 0 1
B 2 0 1 2 1 9 B 0 0 !           | C 2 2 0 1 2 14 C 0 1
- 3 2 0 0 2 13 A 0 0 !          | - 2 3 0 0 2 15 C 0 1
- 0 0 16 3 0 17 A 10 0          | - 0 0 16 1 0 2 - 0 0
A 1 0 15 16 0 48 P 0 0          | A 1 0 15 1 0 2 - 0 0
- 1 1 15 15 1 51 B 0 0          | H 8 7 8 1 0 2 - 0 0
- 3 2 13 14 1 55 C 0 0          | - 16 16 0 0 0 3 - 0 0
- 16 15 0 0 1 94 P 0 0          | - 16 16 0 0 0 3 - 0 0
A 1 0 5 6 0 17 F 0 0            | A 1 0 5 6 0 27 F 7 0
- 2 1 4 4 2 20 B 0 0            | C 3 1 3 4 4 29 B 0 1
- 2 2 4 4 2 21 C 0 0            | - 3 2 3 3 4 31 C 0 1
E 5 4 1 2 4 25 E 0 0            | - 6 6 0 0 6 36 F 0 4
`

// The captions of the openings say what their films show: at each stop, of both.
func TestEachOpeningIsTrue(t *testing.T) {
	shown := strings.Split(strings.TrimSpace(openingSums), "\n")
	for k, o := range locks.Openings {
		films, err := lab.Films(t, o.Address)
		require.NoError(t, err)
		if k == 0 {
			require.Greater(t, films[0].End, films[1].End+films[1].End/4, "the herd is later")
		}
		for i, s := range o.Stops {
			require.LessOrEqual(t, s.At, max(films[0].End, films[1].End))
			require.True(t, i == 0 || s.At > o.Stops[i-1].At)
			require.True(t, s.Text.En != "" && s.Text.Zh != "")
			require.NotEmpty(t, shown, "opening %d, stop %d: openingSums has no line", k+1, i+1)
			require.Equal(t, shown[0], fmt.Sprintf("%-32s| %s", sums(films[0], s.At), sums(films[1], s.At)), "opening %d, stop %d: %s", k+1, i+1, s.Text.En)
			shown = shown[1:]
		}
	}
	require.Empty(t, shown)
}
