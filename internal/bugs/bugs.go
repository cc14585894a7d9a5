// Package bugs has what the exhibits of the bug museum share. An exhibit forces one bug of the articles' listings to
// happen, by an exact schedule in virtual time, and then plays the same schedule with our lock, where the bug must not
// happen. The exhibits are the tests named TestBug…. The exhibit of a bug on ZooKeeper plays its scene: see
// [Bug.ByItsScene]. Those of bugs on a database and on Redis are written by hand, beside the locks there: see
// [Bug.HappensOff].
//
// What crosses the wire in the run is drawn as the bug's sequence diagram in docs/bugs.md. The test fails if the page
// shows another diagram; go generate writes it. What else the pages say of a bug is in package scenes.
package bugs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// A Bug is one exhibit.
type Bug struct{ scenes.Bug }

// Example returns the exhibit of the bug with this ID.
func Example(id string) Bug { return Bug{scenes.Get(id)} }

// HappensOff is the exhibit of a bug of a lock that is not on ZooKeeper. It runs play in real time, which asserts at
// its end that the bug has happened, and draws what play has recorded. Server is the name of the server's lane.
func (b Bug) HappensOff(t *testing.T, server i18n.Text, play func(s *Script)) {
	t.Helper()
	s := &Script{T: t}
	play(s)
	b.requireInDocs(t, diagram.New(s.actors, server, s.steps))
	b.Print(t)
}

// Print prints one line about the bug in go test -v, if t has not failed.
func (b Bug) Print(t *testing.T) {
	if !t.Failed() && testing.Verbose() {
		fmt.Printf("%-4s%-29s%-62scured in %s\n", b.ID, b.Kinds[0], b.Title.String(), b.CuredIn().String())
	}
}

// ByItsScene is the exhibit of a bug on ZooKeeper. It plays the schedule that the explorer has found for the bug:
// with the article's lock it must end with the bug, and with the lock that cures the bug it must not. If the bug's
// story has a schedule of its own, that is played as well, and it is the one that is drawn.
func (b Bug) ByItsScene(t *testing.T) {
	t.Helper()
	testenv.Embedded(t, "the explorer brings its own server")
	saved := b.Trace()
	require.NotNil(t, saved, "%s has no schedule: go generate ./...", b.ID)
	type schedule struct {
		articles, ours player.World // differ in the lock alone
		choices        []string
	}
	schedules := []schedule{{b.World, b.Ours, saved.Choices}}
	if story := b.Play; story != nil {
		schedules = append(schedules, schedule{story.In(b.World), story.In(b.Ours), story.Choices})
	}
	t.Run("it happens to the article's lock", func(t *testing.T) {
		var last *player.Trace
		for _, s := range schedules {
			last, _ = explore.Play(t, s.articles, s.choices)
			require.True(t, b.Shows(last), "%v", last)
		}
		b.requireInDocs(t, diagram.Of(last))
	})
	t.Run("it does not happen to ours", func(t *testing.T) {
		for _, s := range schedules {
			tr := Follow(t, b.Only(s.ours), s.choices)
			require.Nil(t, tr.Violation, "%v", tr)
			require.False(t, b.Shows(tr), "%v", tr)
		}
	})
	b.Print(t)
}

// Follow plays another world's schedule: the next of its choices that is possible, or else the first action.
func Follow(t *testing.T, w player.World, schedule []string) *player.Trace {
	t.Helper()
	var made []string
	tr, possible := explore.Play(t, w, made)
	for len(possible) > 0 {
		next := possible[0]
		for i, choice := range schedule {
			if slices.Contains(possible, choice) {
				next, schedule = choice, schedule[i+1:]
				break
			}
		}
		made = append(made, next)
		tr, possible = explore.Play(t, w, made)
	}
	return tr
}

// howToSee says which command shows the bug, and which schedule is drawn below that text.
func (b Bug) howToSee() scenes.Text {
	id := strings.ToLower(b.ID)
	if n := b.NoScene; n != nil {
		run := fmt.Sprintf("`go test -C docs/other-locks -v -run Bug%s_ ./%s`", b.ID, n.Folder)
		link := fmt.Sprintf("[bugs_test.go](other-locks/%s/bugs_test.go)", n.Folder)
		return i18n.Both(fmt.Sprintf("%s shows it: %s;\nit has [no scene in the lab](scenes.md#%s)", run, link, id),
			fmt.Sprintf("重现：%s，代码在 %s。[实验室里没有它的场景](scenes.zh-CN.md#%s)。", run, link, id))
	}
	drawn := scenes.Text("with the schedule that is drawn here")
	if b.Play != nil {
		drawn = "and its story there has the schedule that is drawn here"
	}
	run := fmt.Sprintf("`go test -v -run BugByItsScene/%s$ ./internal/bugs/examples`", b.ID)
	link := fmt.Sprintf("[article_%s.go](../internal/bugs/scenes/article_%s.go)", id[:1], id[:1])
	play := fmt.Sprintf("`go run ./cmd/lab -open -scene %s`", b.ID)
	return i18n.Both(fmt.Sprintf("%s shows it: %s;\n%s plays it in [the lab](scenes.md#%s), %s", run, link, play, id, drawn.String()),
		fmt.Sprintf("重现：%s，代码在 %s。播放：%s，见[实验室](scenes.zh-CN.md#%s)，%s。", run, link, play, id, drawn.In(i18n.Chinese)))
}

// requireInDocs asserts that both editions of docs/bugs.md show this diagram for the bug.
func (b Bug) requireInDocs(t *testing.T, drawn *diagram.Sequence) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		mermaid := testenv.Must(drawn.Mermaid(lang))(t)
		site.Holds(t, lang.Page("docs/bugs.md"), b.ID, b.howToSee().In(lang)+"\n\n```mermaid\n"+mermaid+"```\n")
	}
}

// A Script records a run for HappensOff: one goroutine acts for all clients in turn, and says what each of them does.
type Script struct {
	*testing.T
	actors []string // the clients, in the order of their first acts
	steps  []diagram.Step
}

// Say records a client's request to the server, with the answer, in both languages.
func (s *Script) Say(actor, format string, args ...any) {
	s.addActor(actor)
	s.steps = append(s.steps, diagram.Request(actor, i18n.Textf(format, args...)))
}

// Note records a note over a client's lane, or over the server's, whose name is S.
func (s *Script) Note(actor, format string, args ...any) {
	s.addActor(actor)
	s.steps = append(s.steps, diagram.Note(i18n.Textf(format, args...), actor))
}

// TwoHolders records that both clients hold the lock. The caller has asserted it.
func (s *Script) TwoHolders(a, b string) {
	s.steps = append(s.steps, diagram.Note("two holders", a, b))
}

func (s *Script) addActor(actor string) {
	if actor != "S" && !slices.Contains(s.actors, actor) {
		s.actors = append(s.actors, actor)
	}
}
