package lab_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// wokenForNothing is the number of wake-ups after which, by an instant, the contender has asked whether it is its turn,
// has the answer, and waits again.
func wokenForNothing(f *film.Film, by time.Duration) (n int) {
	departure := func(who string, at time.Duration) string { return who + at.String() }
	requests, answered := make(map[string]int), make(map[int]time.Duration) // IDs of requests; and when each has its reply
	for _, p := range f.Packets {
		switch {
		case p.Kind == "request":
			requests[departure(p.Who, p.Sent)] = p.ID
		case p.Kind == "reply" && !p.Lost && !p.Pending:
			answered[p.Of] = p.Arrived
		}
	}
	for _, m := range f.Marks {
		if m.Kind != "wakeup" {
			continue
		}
		at := m.At
		id := requests[departure(m.Who, at)]
		for id != 0 && answered[id] != 0 { // its next question departs when it has the answer
			at = answered[id]
			id = requests[departure(m.Who, at)]
		}
		if id == 0 && at <= by && stateOf(shownAt(f, at), m.Who) == "waits" {
			n++
		}
	}
	return n
}

// countColumns are the columns of countsAt.
const countColumns = "holds, had, done, wait, nodes, told, sent, the last by, at the door, for nothing, ! for a violation"

// countsAt has what the captions of an opening count: the holders; how many contenders have had the
// lock, are done, wait, have nodes and have received an event; how many requests were sent, and by which contender
// last; how many of them wait at the server, and how many wake-ups were for nothing.
func countsAt(f *film.Film, at time.Duration) string {
	shown := shownAt(f, at)
	had, told := make(map[string]bool), make(map[string]bool)
	for _, m := range f.Marks {
		if m.At <= at && m.Kind == "state" && m.State == "holds" {
			had[m.Who] = true
		}
	}
	requests, atDoor, lastSender := 0, 0, ""
	for _, p := range f.Packets {
		switch {
		case p.Sent > at:
		case p.Kind == "event":
			told[p.Client] = true
		case p.Kind == "request":
			requests, lastSender = requests+1, p.Who
			if p.Queued != 0 && p.Queued <= at && p.Arrived > at {
				atDoor++
			}
		}
	}
	holders, broken := "", ""
	for i, state := range strings.Fields(shown.States) {
		if state == "holds" {
			holders += string(rune('A' + i))
		}
	}
	if shown.Broken {
		broken = " !"
	}
	return fmt.Sprintf("%s %d %d %d %d %d %d %s %d %d%s", cmp.Or(holders, "-"), len(had),
		strings.Count(shown.States, "done"), strings.Count(shown.States, "waits"), len(strings.Fields(shown.Nodes)),
		len(told), requests, cmp.Or(lastSender, "-"), atDoor, wokenForNothing(f, at), broken)
}

// The numbers of a caption: countPattern has a group for those that count something, and none for steps and times.
var (
	inDigits = strings.NewReplacer("Twenty", "20", "twenty", "20", "Ten ", "10 ", "Seven", "7", "twelve", "12",
		"Sixteen", "16", "sixteen", "16",
		"二十", "20", "十二", "12", "十六", "16", "十个", "10 ", "七个在", "7 ")
	countPattern = regexp.MustCompile(`[Ss]tep \d|第 \d 步|\d+ ms|\b(\d+)\b`)
)

// Each number in a caption of the openings is one that a film shows then, and both languages have the same numbers.
func TestEachOpeningIsTrue(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(countColumns + " | of the right film\n")
	for k, o := range locks.Openings {
		films := testenv.Must(lab.Films(t, o.Address))(t)
		for i, s := range o.Stops {
			require.LessOrEqual(t, s.At, max(films[0].End, films[1].End))
			require.True(t, i == 0 || s.At > o.Stops[i-1].At)
			row := fmt.Sprintf("%-32s| %s", countsAt(films[0], s.At), countsAt(films[1], s.At))
			rows.WriteString(row + "\n")
			numbers := [2]map[string]bool{{}, {}} // of the caption in each language
			for lang, text := range []string{s.Text.String(), s.Text.In(i18n.Chinese)} {
				for _, found := range countPattern.FindAllStringSubmatch(inDigits.Replace(text), -1) {
					if n := found[1]; n != "" {
						numbers[lang][n] = true
						require.Contains(t, strings.Fields(row), n, "opening %d, stop %d: %s of %s", k+1, i+1, n, text)
					}
				}
			}
			require.Equal(t, numbers[0], numbers[1], "opening %d, stop %d: %v", k+1, i+1, s.Text)
		}
	}
	site.Holds(t, "internal/lab/lab/testdata/openings.txt", "", rows.String())
}
