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
	return testenv.Must(lab.Films(t, l.Tell()))(t)[0]
}

// shownAt is what a film shows at an instant, as a stop says it.
func shownAt(f *film.Film, at time.Duration) (shown locks.Stop) {
	states := make(map[string]string)
	for _, c := range f.Clients {
		for _, name := range c.Contenders {
			states[name] = "outside"
		}
	}
	owners, watchers := make(map[string]string), make(map[string]bool) // by path; and by client and watched path
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
			shown.Broken = true
		}
	}

	var inOrder, nodes, watching []string
	for _, name := range slices.Sorted(maps.Keys(states)) {
		inOrder = append(inOrder, states[name])
	}
	for _, path := range slices.Sorted(maps.Keys(owners)) {
		nodes = append(nodes, owners[path])
	}
	for key, set := range watchers {
		if set {
			watching = append(watching, key[:1])
		}
	}
	slices.Sort(watching)
	shown.States, shown.Nodes = strings.Join(inOrder, " "), strings.Join(nodes, " ")
	shown.Watchers = strings.Join(watching, " ")
	return shown
}

// stateOf is the state of a contender, of which the client has no other, at a stop.
func stateOf(s locks.Stop, contender string) string {
	return strings.Fields(s.States)[contender[0]-'A']
}

// stackAt returns the lines of the lock's source at which a contender is at an instant, or was when it was in the lock
// last; "" is any contender.
func stackAt(f *film.Film, contender string, at time.Duration) (stack []film.Place) {
	for _, w := range f.Where {
		if (contender == "" || w.Who == contender) && w.From <= at && len(w.At) > 0 {
			stack = nil
			for _, i := range w.At {
				stack = append(stack, f.Places[i])
			}
		}
	}
	return stack
}

// draft writes the stops of a story without their captions: one after each instant at which
// the film shows something new.
func draft(f *film.Film) string {
	var b strings.Builder
	last := ""
	for i, m := range f.Marks {
		if i+1 < len(f.Marks) && f.Marks[i+1].At == m.At {
			continue // more changes at this instant
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

// requireNoStory fails if a lock without a story is a step, or a bug: for a bug it prints a draft.
func requireNoStory(t *testing.T, l locks.Lock) {
	t.Helper()
	require.NotEqual(t, locks.Steps, l.Group, "%s has no story", l.Name)
	if l.Group == locks.Museum && !strings.Contains(l.Name, "-") {
		require.NotNil(t, scenes.Schedules()[l.Name].Choices, "%s has no schedule: go generate ./... first", l.Name)
		l.Story = &locks.Story{Scene: *l.Scene}
		f := filmOf(t, l)
		require.Fail(t, l.Name+" has no story", "write six to ten stops into internal/bugs/scenes/texts/%s.json; "+
			"its film ends at %v, and shows:\n%s", l.Name, f.End, draft(f))
	}
}

// What the fields of a stop say is what the film shows at its instant.
func TestEachStoryIsTrue(t *testing.T) {
	guide := testenv.Must(os.ReadFile("../../../docs/reading-guide.md"))(t)
	for _, l := range locks.All() {
		if l.Story == nil {
			requireNoStory(t, l)
			continue
		}
		f := filmOf(t, l)
		require.True(t, len(l.Story.Stops) >= 6 && len(l.Story.Stops) <= 10, "%s: a story has six to ten stops", l.Name)
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
			shown := shownAt(f, s.At)
			for _, field := range []struct {
				name        string
				says, shows any
			}{{"States", s.States, shown.States}, {"Nodes", s.Nodes, shown.Nodes},
				{"Watchers", s.Watchers, shown.Watchers}, {"Broken", s.Broken, shown.Broken}} {
				require.Equal(t, field.shows, field.says, "%s, stop %d (%s), %s: expected is what the film shows, "+
					"actual what the entry says", l.Name, i+1, s.Text.En, field.name)
			}
		}
	}
}
