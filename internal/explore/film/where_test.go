package film_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// sourceOfRequest matches, for each request, the line of the lock's source at which a contender waits for the reply.
var sourceOfRequest = map[string]*regexp.Regexp{
	"create": regexp.MustCompile(`[cC]reate`), "delete": regexp.MustCompile(`[dD]elete`),
	"exists": regexp.MustCompile(`[eE]xists`), "getData": regexp.MustCompile(`Get`),
	"getChildren2": regexp.MustCompile(`Children`), "sync": regexp.MustCompile(`Sync`),
}

// firstSent is the first request that a contender sends between two instants; "" if it sends none.
func firstSent(f *film.Film, who string, from, until time.Duration) string {
	for _, p := range f.Packets {
		if p.Who == who && p.Kind == "request" && p.Sent >= from && p.Sent < until {
			return p.Op
		}
	}
	return ""
}

// A Where says at which lines of the lock a contender is from an instant on: its field At has the innermost line, then
// those of its callers, as indices of Places. While a request of the contender or its reply is on its way, that line
// has sent the request; otherwise it waits for an event. A contender that has the lock is at no line of it.
func TestAFilmSaysWhereEachContenderIs(t *testing.T) {
	subjects := map[string]player.Subject{"naive": steps.Naive(), "herd": steps.Herd(), "predecessor": steps.Predecessor(),
		"reentrant": steps.Reentrant(), "timeout": steps.Timeout()}
	for name, subject := range subjects {
		selects := name == "timeout" // step 5 waits for a reply or an event in a select, so that it can give up
		f := testenv.Must(film.Paced(t, player.World{Lock: subject, Contenders: 4}, film.Pace{Seed: 3}))(t)
		sends, waits := 0, 0 // lines that wait for a reply, and lines that wait for an event
		for i, w := range f.Where {
			if len(w.At) == 0 {
				continue // the contender is in no call of the lock
			}
			innermost := f.Places[w.At[0]]
			line := strings.Split(site.Read(t, innermost.File), "\n")[innermost.Line-1]
			until := f.End // the contender is there until its next Where, if it has one
			later := f.Where[i+1:]
			if next := slices.IndexFunc(later, func(l film.Where) bool { return l.Who == w.Who }); next >= 0 {
				until = later[next].From
			}
			require.NotEmpty(t, innermost.Func)
			sent := firstSent(f, w.Who, w.From, until)
			switch {
			case sourceOfRequest[sent] != nil:
				if !selects || !strings.Contains(line, "select") {
					require.Regexp(t, sourceOfRequest[sent], line, "%s: %s sends %s", name, w.Who, sent)
				}
				sends++
			case sent == "":
				require.Regexp(t, `<-|select|Wait`, line, "%s: %s waits", name, w.Who)
				waits++
			}
		}

		require.GreaterOrEqual(t, sends, 8, name) // each of four contenders creates and deletes a node
		require.True(t, waits > 0 || selects, name)
		for _, m := range f.Marks {
			if m.Kind == "state" && m.State == "holds" {
				var lines []int // of the contender's last Where up to this instant
				for _, w := range f.Where {
					if w.Who == m.Who && w.From <= m.At {
						lines = w.At
					}
				}
				require.Empty(t, lines, "%s: %s holds the lock", name, m.Who)
			}
		}

		const crowd = 13 // one more than a film follows: mostFollowed in where.go
		f = testenv.Must(film.Paced(t, player.World{Lock: subject, Contenders: crowd}, film.Pace{Seed: 3}))(t)
		require.Empty(t, f.Where, name)
	}
}
