package film_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/explore/steps"
	"example.com/zklock/internal/testenv"
)

// sourceOfRequest has for each request what is on the line of the source at which a contender waits for the reply.
var sourceOfRequest = map[string]*regexp.Regexp{
	"create": regexp.MustCompile(`[cC]reate`), "delete": regexp.MustCompile(`[dD]elete`),
	"exists": regexp.MustCompile(`[eE]xists`), "getData": regexp.MustCompile(`Get`),
	"getChildren2": regexp.MustCompile(`Children`), "sync": regexp.MustCompile(`Sync`),
}

// firstSent is the first request that a contender sends in a time; "" if it sends none.
func firstSent(f *film.Film, who string, from, until time.Duration) string {
	for _, p := range f.Packets {
		if p.Who == who && p.Kind == "request" && p.Sent >= from && p.Sent < until {
			return p.Op
		}
	}
	return ""
}

// While a request of a contender is on its way, or its reply, the contender is at
// the line that has sent it. One that has the lock is at no line of the lock.
func TestAFilmSaysWhereEachContenderIs(t *testing.T) {
	subjects := map[string]player.Subject{"naive": steps.Naive(), "herd": steps.Herd(), "predecessor": steps.Predecessor(),
		"reentrant": steps.Reentrant(), "timeout": steps.Timeout()}
	for name, subject := range subjects {
		f := testenv.Must(film.Paced(t, player.World{Lock: subject, Contenders: 4}, film.Pace{Seed: 3}))(t)
		sources := make(map[string][]string)
		checked, waits := 0, 0
		for i, w := range f.Where {
			if len(w.At) == 0 {
				continue
			}
			at := f.Places[w.At[0]]
			if sources[at.File] == nil {
				text := testenv.Must(os.ReadFile(filepath.Join("..", "..", "..", at.File)))(t)
				sources[at.File] = strings.Split(string(text), "\n")
			}
			line := sources[at.File][at.Line-1]
			until := f.End
			later := f.Where[i+1:]
			if next := slices.IndexFunc(later, func(l film.Where) bool { return l.Who == w.Who }); next >= 0 {
				until = later[next].From
			}
			require.NotEmpty(t, at.Func)
			sent := firstSent(f, w.Who, w.From, until)
			switch {
			case sourceOfRequest[sent] != nil:
				// Step 5 waits for a value from another goroutine, so that it can give up.
				if name != "timeout" || !strings.Contains(line, "select") {
					require.Regexp(t, sourceOfRequest[sent], line, "%s: %s sends %s", name, w.Who, sent)
				}
				checked++
			case sent == "":
				require.Regexp(t, `<-|select|Wait`, line, "%s: %s waits", name, w.Who)
				waits++
			}
		}

		require.GreaterOrEqual(t, checked, 8, name)
		require.True(t, waits > 0 || name == "timeout", name)
		for _, m := range f.Marks {
			if m.Kind == "state" && m.State == "holds" {
				var lines []int
				for _, w := range f.Where {
					if w.Who == m.Who && w.From <= m.At {
						lines = w.At
					}
				}
				require.Empty(t, lines, "%s: %s holds the lock", name, m.Who)
			}
		}
		crowd := testenv.Must(film.Paced(t, player.World{Lock: subject, Contenders: 13}, film.Pace{Seed: 3}))(t)
		require.Empty(t, crowd.Where, name)
	}
}
