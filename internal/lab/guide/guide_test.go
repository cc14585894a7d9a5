package guide

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// filledRows are the rows without the guide's texts.
func filledRows(t *testing.T) (rows []Row) {
	t.Helper()
	for _, m := range moments {
		rows = append(rows, Row{Phrase: m.phrase})
	}
	require.NoError(t, Fill("../../..", rows))
	require.Greater(t, len(rows), 150)
	return rows
}

// At most eight phrases have nothing to see, and each of them says why.
func TestNearlyEachPhraseHasSomethingToSee(t *testing.T) {
	empty := 0
	for _, r := range filledRows(t) {
		if len(r.Code)+len(r.Listing)+len(r.Figures) > 0 || r.Scene != "" {
			require.Zero(t, r.Nothing, r.Phrase)
			continue
		}
		empty++
		require.NotEmpty(t, r.Nothing.En, r.Phrase)
		require.NotEmpty(t, r.Nothing.Zh, r.Phrase)
	}
	require.LessOrEqual(t, empty, 8)
	require.Len(t, nothingToSee, empty)
}

// stopsByQuote are the stops that quote each phrase: "A1 400ms".
func stopsByQuote() map[string][]string {
	all := make(map[string][]string)
	for _, l := range locks.All() {
		if l.Story != nil {
			for _, s := range l.Story.Stops {
				all[s.Quote] = append(all[s.Quote], fmt.Sprint(l.Name, " ", s.At))
			}
		}
	}
	for _, s := range locks.Openings[0].Stops {
		all[s.Quote] = append(all[s.Quote], fmt.Sprint("herd beside chain ", s.At))
	}
	return all
}

// A phrase that a story quotes opens at that stop.
func TestAQuotedPhraseOpensWhereItIsQuoted(t *testing.T) {
	stops, quoted := stopsByQuote(), 0
	for _, r := range filledRows(t) {
		if at := stops[r.Phrase]; r.Phrase != "" && at != nil {
			quoted++
			require.Contains(t, at, fmt.Sprint(r.moment.scene, " ", r.at), r.Phrase)
		}
	}
	require.Greater(t, quoted, 33)
}

// lastEvent returns when an event happened for the last time, up to an instant: the arrival of
// a request at the server, "A delete", of a reply, "A delete reply", or of an event,
// "A event"; the departure of a request that has not arrived, "A delete sent"; or the
// change of a contender or its client, "A holds", "A cut off", "A lost".
func lastEvent(f *film.Film, event string, at time.Duration) time.Duration {
	when := time.Duration(-1)
	for _, p := range f.Packets {
		names := map[string]string{"request": p.Client + " " + p.Op, "reply": p.Client + " " + p.Op + " reply", "event": p.Client + " event"}
		if names[p.Kind] == event && !p.Lost && p.Arrived <= at {
			when = max(when, p.Arrived)
		}
		if names[p.Kind]+" sent" == event && p.Sent <= at && at <= p.Arrived {
			when = max(when, p.Sent)
		}
	}
	for _, m := range f.Marks {
		if m.At <= at && (m.Who+" "+m.State == event || m.Who+" "+m.Kind == event) {
			when = max(when, m.At)
		}
	}
	return when
}

// Each scene has an instant, which is in the film, and just then happens what the moment
// says: in a film of real paces within one way of a packet, in a schedule before anything
// else arrives. Beside the scene of a step are lines of this step, if there are lines of any.
func TestMoments(t *testing.T) {
	films, step := make(map[string][]*film.Film), regexp.MustCompile(`0\d-[^/]+/lock\.go`)
	steps := map[string]string{"naive": step1, "herd": step2, "predecessor": step3, "reentrant": step4, "timeout": step5}
	for _, r := range filledRows(t) {
		if r.Scene == "" {
			continue
		}
		if shown := step.FindAllString(fmt.Sprint(r.moment.code), -1); steps[r.moment.scene] != "" && shown != nil {
			assert.Contains(t, shown, steps[r.moment.scene], "%s: the lines are not those that the scene runs", r.Phrase)
		}
		require.Contains(t, r.Scene, "&t=", r.Phrase)
		require.Positive(t, r.at, r.Phrase)
		key, _, _ := strings.Cut(r.Scene, "&t=")
		all, paced := films[key], !strings.Contains(r.Scene, "mode=schedule")
		if all == nil {
			all = testenv.Must(lab.Films(t, testenv.Must(locks.ParseAddress(r.Scene))(t, r.Scene)))(t, r.Scene)
			films[key] = all
		}
		event := r.moment.event
		for _, f := range all {
			require.LessOrEqual(t, r.at, max(f.End, all[0].End), r.Phrase)
		}
		if r.moment.at == 0 || r.moment.scene == "herd beside chain" {
			require.Empty(t, event, "%s: the story's caption says what is to be seen", r.Phrase)
			continue
		}
		require.NotEmpty(t, event, r.Phrase)
		slack := 30 * time.Millisecond // the longest way of a packet: one and a half of the 20 ms
		if !paced {
			slack = 400 * time.Millisecond // two actions
		} else if strings.Contains(r.moment.event, "connected") {
			slack = 10 * time.Millisecond
		}
		when := lastEvent(all[0], event, r.at)
		assert.GreaterOrEqual(t, when, time.Duration(0), "%s: no %s up to %v", r.Phrase, event, r.at)
		assert.LessOrEqual(t, r.at-when, slack, "%s: %s happened at %v, and the instant is %v", r.Phrase, event, when, r.at)
	}
}

// Each comment of a step has its Chinese, and each name of ours beside an article's is in the code.
func TestCommentsAndNames(t *testing.T) {
	r, used := &reader{root: "../../..", files: make(map[string]*source)}, make(map[string]bool)
	for _, file := range []string{step1, step2, step3, step4, step5} {
		s := testenv.Must(r.source(file))(t)
		for line, remark := range remarks(s.text) {
			assert.Regexp(t, `\p{Han}`, Comments(s.text)[line], "%s:%d: comments.zh-CN.txt has not: %s", file, line+1, remark)
			used[remark] = true
		}
	}
	for line := range strings.Lines(translations) {
		remark, _, _ := strings.Cut(line, "\t")
		assert.True(t, used[remark], "comments.zh-CN.txt has what no lock.go has: %s", remark)
	}
	for line := range strings.Lines(counterparts) {
		f := strings.Fields(line)
		require.NoError(t, testenv.Err(r.excerpt(placeIn(f[2], f[3]))), line)
	}
}
