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
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// filmOf returns the film of the scene that a lock's story explains.
func filmOf(t *testing.T, l locks.Lock) *film.Film {
	t.Helper()
	require.NotNil(t, l.Story, "%s has no story: TestEachStoryIsTrue prints a draft of one", l.Name)
	return testenv.Must(lab.Films(t, l.Tell()))(t)[0]
}

// shownAt returns a stop with what a film shows at an instant: the contenders' states and the owners of the nodes and
// of the watches, each a list of words, and whether there has been a violation.
func shownAt(f *film.Film, at time.Duration) (shown locks.Stop) {
	states := make(map[string]string)
	for _, c := range f.Clients {
		for _, name := range c.Contenders {
			states[name] = "outside"
		}
	}
	type watch struct{ client, path, of string }                     // of the node or of its children
	owners, watches := make(map[string]string), make(map[watch]bool) // owners by the paths of the nodes
	for _, m := range f.Marks {
		if m.At > at {
			break
		}
		switch m.Kind {
		case "state":
			states[m.Who] = m.State
		case "node":
			if isEphemeral := m.Owner != ""; isEphemeral && *m.Made {
				owners[m.Path] = m.Owner
			} else {
				delete(owners, m.Path)
			}
		case "watch":
			watches[watch{client: m.Client, path: m.Path, of: m.Of}] = *m.Set
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
	for w, isSet := range watches {
		if isSet {
			watching = append(watching, w.client)
		}
	}
	slices.Sort(watching)
	shown.States, shown.Nodes = strings.Join(inOrder, " "), strings.Join(nodes, " ")
	shown.Watchers = strings.Join(watching, " ")
	return shown
}

// TestEachStoryIsTrue compares the fields of each stop with what the film shows at the stop's instant.
func TestEachStoryIsTrue(t *testing.T) {
	guide := testenv.Must(os.ReadFile("../../../docs/reading-guide.md"))(t)
	for _, l := range locks.All() {
		if l.Story == nil {
			requireStoryNotDue(t, l)
			continue
		}
		f := filmOf(t, l)
		require.True(t, len(l.Story.Stops) >= 6 && len(l.Story.Stops) <= 10, "%s: a story has six to ten stops", l.Name)
		before := time.Duration(-1)
		for i, s := range l.Story.Stops {
			require.Greater(t, s.At, before, "%s, stop %d", l.Name, i+1)
			require.LessOrEqual(t, s.At, f.End, "%s, stop %d: the film ends before it", l.Name, i+1)
			before = s.At
			require.NotEmpty(t, s.Text.String())
			require.NotEmpty(t, s.Text.In(i18n.Chinese))
			if s.Quote != "" {
				require.True(t, strings.Contains(string(guide), "`"+s.Quote+"`"),
					"%s, stop %d: docs/reading-guide.md has no `%s`", l.Name, i+1, s.Quote)
			}
			shown := shownAt(f, s.At)
			said := locks.Stop{States: s.States, Nodes: s.Nodes, Watchers: s.Watchers, Broken: s.Broken}
			require.Equal(t, shown, said, "%s, stop %d (%s): expected is what the film shows, actual what the entry says",
				l.Name, i+1, s.Text.String())
		}
		require.Equal(t, f.Packets, filmOf(t, l).Packets, "%s: the same address has another film", l.Name)
		for _, m := range f.Marks {
			isClose := func(p film.Packet) bool {
				return p.Op == "closeSession" && p.Client == m.Who && p.Kind == "reply" && p.Sent <= m.At
			}
			require.False(t, m.State == "cut off" && slices.ContainsFunc(f.Packets, isClose), "%s: %s has closed its session at %v", l.Name, m.Who, m.At)
		}
	}
}

// draft writes the stops of a story without their captions: one just after each instant at which the film shows
// something new.
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

// requireStoryNotDue fails if a lock without a story must have one: each step and each bug must. For a bug, which is
// a lock of the museum without a dash in its name, it prints a draft of the story.
func requireStoryNotDue(t *testing.T, l locks.Lock) {
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
