package lab_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// filmOf is the film of a lock's story.
func filmOf(t *testing.T, l locks.Lock) *film.Film {
	t.Helper()
	require.NotNil(t, l.Story, "%s has no story: TestEachStoryIsTrue says of what it is made", l.Name)
	films := testenv.Must(lab.Films(t, l.Tell()))(t)
	return films[0]
}

// shownAt is what a film shows at an instant.
func shownAt(f *film.Film, at time.Duration) locks.Stop {
	var s locks.Stop
	states := make(map[string]string)
	for _, c := range f.Clients {
		for _, name := range c.Contenders {
			states[name] = "outside"
		}
	}
	owners, watchers := make(map[string]string), make(map[string]bool)
	for _, m := range f.Marks {
		if m.At > at {
			break
		}
		switch m.Kind {
		case "state":
			states[m.Who] = m.State
		case "node":
			if m.Owner != "" && *m.Made {
				owners[m.Path] = m.Owner
			} else {
				delete(owners, m.Path)
			}
		case "watch":
			watchers[m.Client+" "+m.Path+m.Of] = *m.Set
		case "violation":
			s.Broken = true
		}
	}
	var names, clients, in []string
	for _, name := range slices.Sorted(maps.Keys(states)) {
		in = append(in, states[name])
	}
	for _, p := range slices.Sorted(maps.Keys(owners)) {
		names = append(names, owners[p])
	}
	for key, set := range watchers {
		if set {
			clients = append(clients, key[:1])
		}
	}
	slices.Sort(clients)
	s.States, s.Nodes, s.Watchers = strings.Join(in, " "), strings.Join(names, " "), strings.Join(clients, " ")
	return s
}

// draft is what a film shows, after each instant at which that changes: the stops of a
// story without their captions.
func draft(f *film.Film) string {
	var b strings.Builder
	last := ""
	for i, m := range f.Marks {
		if i+1 < len(f.Marks) && f.Marks[i+1].At == m.At {
			continue
		}
		s := shownAt(f, m.At)
		shown := fmt.Sprintf(`"states": %q, "nodes": %q, "watchers": %q, "broken": %t`, s.States, s.Nodes, s.Watchers, s.Broken)
		if shown != last {
			fmt.Fprintf(&b, "{\"at\": \"%dms\", %s, \"en\": \"\", \"zh\": \"\"},\n", m.At.Milliseconds()+1, shown)
		}
		last = shown
	}
	return b.String()
}

// The claims of a caption are what the film shows at its instant.
func TestEachStoryIsTrue(t *testing.T) {
	guide := testenv.Must(os.ReadFile("../../../docs/reading-guide.md"))(t)
	for _, l := range locks.All() {
		if l.Story == nil {
			require.NotEqual(t, locks.Steps, l.Group, "%s has no story", l.Name)
			if l.Group == locks.Museum && !strings.Contains(l.Name, "-") {
				l.Story = &locks.Story{Scene: *l.Scene}
				require.NotNil(t, scenes.Schedules()[l.Name].Choices, "%s has no schedule: go generate ./... first", l.Name)
				f := filmOf(t, l)
				require.Fail(t, l.Name+" has no story", "write six to ten stops into internal/bugs/scenes/texts/%s.json; its film ends at %v, and shows:\n%s",
					l.Name, f.End, draft(f))
			}
			continue
		}
		f := filmOf(t, l)
		require.True(t, len(l.Story.Stops) >= 6 && len(l.Story.Stops) <= 10, "%s has %d stops, and a story has six to ten", l.Name, len(l.Story.Stops))
		before := time.Duration(-1)
		for i, s := range l.Story.Stops {
			require.Greater(t, s.At, before, "%s, stop %d", l.Name, i+1)
			require.LessOrEqual(t, s.At, f.End, "%s, stop %d: the film ends before it", l.Name, i+1)
			before = s.At
			require.NotEmpty(t, s.Text.En)
			require.NotEmpty(t, s.Text.Zh)
			if s.Quote != "" {
				require.True(t, strings.Contains(string(guide), "`"+s.Quote+"`"), "%s, stop %d: docs/reading-guide.md has no `%s`", l.Name, i+1, s.Quote)
			}
			is := shownAt(f, s.At)
			for _, field := range []struct {
				name        string
				says, shows any
			}{{"States", s.States, is.States}, {"Nodes", s.Nodes, is.Nodes}, {"Watchers", s.Watchers, is.Watchers}, {"Broken", s.Broken, is.Broken}} {
				require.Equal(t, field.shows, field.says, "%s, stop %d (%s), %s: expected is what the film shows, actual what the entry says", l.Name, i+1, s.Text.En,
					field.name)
			}
		}
	}
}
