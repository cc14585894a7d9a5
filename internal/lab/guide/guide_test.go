// Tests that what the reader shows for a phrase of the guide is there: scenes, instants, code and comments.
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
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// filledRows are the rows of the guide with what they show, and without the guide's texts.
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
		require.NotEmpty(t, r.Nothing.String(), r.Phrase)
		require.NotEmpty(t, r.Nothing.In(i18n.Chinese), r.Phrase)
	}
	require.LessOrEqual(t, empty, 8)
	require.Len(t, nothingToSee, empty)
}

// stopsByQuote are the stops that quote each phrase, as in "A1 400ms": a scene and an instant.
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

func TestAQuotedPhraseOpensWhereItIsQuoted(t *testing.T) {
	stops, quoted := stopsByQuote(), 0
	for _, r := range filledRows(t) {
		if at := stops[r.Phrase]; r.Phrase != "" && at != nil {
			quoted++
			require.Contains(t, at, fmt.Sprint(r.moment.scene, " ", r.instant), r.Phrase)
		}
	}
	require.Greater(t, quoted, 33, "the stories quote fewer phrases than before")
}

// lastEvent returns when an event happened for the last time, up to an instant; negative: never. These are events:
//
//	A delete        a request of A arrives at the server
//	A delete reply  its reply arrives at A
//	A event         an event arrives at A
//	A delete sent   a request departs that has not arrived by the instant
//	A holds         a contender or its client changes: A cut off, A lost
func lastEvent(f *film.Film, event string, until time.Duration) time.Duration {
	last := time.Duration(-1)
	for _, p := range f.Packets {
		request := p.Client + " " + p.Op
		names := map[string]string{"request": request, "reply": request + " reply", "event": p.Client + " event"}
		name := names[p.Kind]
		if name == event && !p.Lost && p.Arrived <= until {
			last = max(last, p.Arrived)
		}
		if name+" sent" == event && p.Sent <= until && until <= p.Arrived {
			last = max(last, p.Sent)
		}
	}
	for _, m := range f.Marks {
		if m.At <= until && (m.Who+" "+m.State == event || m.Who+" "+m.Kind == event) {
			last = max(last, m.At)
		}
	}
	return last
}

// Beside the scene of a step are lines of this step, if there are lines of any.
func TestTheLinesBesideAStepsSceneAreItsOwn(t *testing.T) {
	lockFile := regexp.MustCompile(`0\d-[^/]+/lock\.go`)
	steps := map[string]string{"naive": step1, "herd": step2, "predecessor": step3, "reentrant": step4, "timeout": step5}
	for _, m := range moments {
		if shown := lockFile.FindAllString(fmt.Sprint(m.code), -1); steps[m.scene] != "" && shown != nil {
			assert.Contains(t, shown, steps[m.scene], "%s: the lines are not those that the scene runs", m.phrase)
		}
	}
}

// A moment (moments.go) is what the reader shows for a phrase: a scene, an instant, and an event. The instant is in the
// scene's film, and the event happens just before it.
func TestMoments(t *testing.T) {
	filmsOf := make(map[string][]*film.Film) // by the address without the instant
	for _, r := range filledRows(t) {
		if r.Scene == "" {
			continue
		}
		require.Contains(t, r.Scene, "&t=", r.Phrase)
		require.Positive(t, r.instant, r.Phrase)
		address, _, _ := strings.Cut(r.Scene, "&t=")
		films := filmsOf[address]
		if films == nil {
			films = testenv.Must(lab.Films(t, testenv.Must(locks.ParseAddress(r.Scene))(t, r.Scene)))(t, r.Scene)
			filmsOf[address] = films
		}
		for _, f := range films {
			require.LessOrEqual(t, r.instant, max(f.End, films[0].End), r.Phrase)
		}
		event := r.moment.event
		if r.moment.at == 0 || r.moment.scene == "herd beside chain" {
			require.Empty(t, event, "%s: the story's caption says what is to be seen", r.Phrase)
			continue
		}
		require.NotEmpty(t, event, r.Phrase)
		// The event is just before the instant: nothing else has happened since.
		slack := 30 * time.Millisecond // the longest trip of a packet; the mean is 20 ms
		switch {
		case strings.Contains(r.Scene, "mode=schedule"):
			slack = 400 * time.Millisecond // two actions of a schedule
		case strings.Contains(event, "connected"):
			slack = 10 * time.Millisecond // the shortest trip: what the client sends next has not arrived
		}
		happened := lastEvent(films[0], event, r.instant)
		assert.GreaterOrEqual(t, happened, time.Duration(0), "%s: no %s up to %v", r.Phrase, event, r.instant)
		assert.LessOrEqual(t, r.instant-happened, slack, "%s: %s happened at %v, and the instant is %v", r.Phrase, event, happened, r.instant)
	}
}

// Each comment of a step has its Chinese, and each name of ours beside an article's is in the code.
func TestCommentsAndNames(t *testing.T) {
	c, used := &checkout{root: "../../..", read: make(map[string]*source)}, make(map[string]bool)
	for _, file := range []string{step1, step2, step3, step4, step5} {
		s := testenv.Must(c.source(file))(t)
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
		ourFile, ourName := f[2], f[3]
		require.NoError(t, testenv.Err(c.excerpt(place{file: ourFile, name: ourName})), line)
	}
}
