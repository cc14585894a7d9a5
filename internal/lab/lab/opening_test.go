package lab_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// wokenForNothing is how many contenders that were woken had read by an instant that it was not their turn:
// the last of their requests was answered, and they waited.
func wokenForNothing(f *film.Film, by time.Duration) (n int) {
	asked, answers := make(map[string]int), make(map[int]time.Duration)
	for _, p := range f.Packets {
		switch {
		case p.Kind == "request":
			asked[p.Who+p.Sent.String()] = p.ID
		case p.Kind == "reply" && !p.Lost && !p.Pending:
			answers[p.Of] = p.Arrived
		}
	}
	for _, m := range f.Marks {
		at, goesOn := m.At, m.Kind == "wakeup"
		for id := asked[m.Who+at.String()]; goesOn && id != 0; id = asked[m.Who+at.String()] {
			at, goesOn = answers[id], answers[id] != 0
		}
		if goesOn && at <= by && strings.Fields(shownAt(f, at).States)[m.Who[0]-'A'] == "waits" {
			n++
		}
	}
	return n
}

// countsAt are what the captions of an opening count: the holders; how many contenders have had the
// lock, are done, wait, have nodes and have been told; what has been sent, and by which contender last; how
// many packets stand in the line at the server, and how many wake-ups were for nothing.
func countsAt(f *film.Film, at time.Duration) string {
	is := shownAt(f, at)
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
		len(strings.Fields(is.Nodes)), len(told), requests, " ", cmp.Or(last, "-"), " ", door, wokenForNothing(f, at), broken)
}

// What a caption counts, apart from steps and times.
var (
	inDigits = strings.NewReplacer("Twenty", "20", "twenty", "20", "Ten ", "10 ", "Seven", "7", "twelve", "12", "Sixteen", "16", "sixteen", "16",
		"二十", "20", "十二", "12", "十六", "16", "十个", "10 ", "七个在", "7 ")
	countPattern = regexp.MustCompile(`[Ss]tep \d|第 \d 步|\d+ ms|\b(\d+)\b`)
)

// The captions of the openings say what their films show: at each stop, of both.
func TestEachOpeningIsTrue(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("holds, had, done, wait, nodes, told, sent, the last by, at the door, for nothing, ! for a violation | of the right film\n")
	for k, o := range locks.Openings {
		films := testenv.Must(lab.Films(t, o.Address))(t)
		for i, s := range o.Stops {
			require.LessOrEqual(t, s.At, max(films[0].End, films[1].End))
			require.True(t, i == 0 || s.At > o.Stops[i-1].At)
			row := fmt.Sprintf("%-32s| %s", countsAt(films[0], s.At), countsAt(films[1], s.At))
			rows.WriteString(row + "\n")
			in := [2]map[string]bool{{}, {}} // what the caption counts in each language
			for lang, text := range []string{s.Text.En, s.Text.Zh} {
				for _, n := range countPattern.FindAllStringSubmatch(inDigits.Replace(text), -1) {
					in[lang][n[1]] = true
					require.True(t, n[1] == "" || slices.Contains(strings.Fields(row), n[1]), "opening %d, stop %d: %s of %s", k+1, i+1, n[1], text)
				}
			}
			delete(in[0], "")
			delete(in[1], "")
			require.Equal(t, in[0], in[1], "opening %d, stop %d: %v", k+1, i+1, s.Text)
		}
	}
	site.Holds(t, "internal/lab/lab/testdata/openings.txt", "", rows.String())
}
