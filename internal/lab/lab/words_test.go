package lab_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
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

// clientsIn returns the clients that a text names. In English "A" is also an article; in Chinese a character may touch a letter.
func clientsIn(text string) []string {
	text = regexp.MustCompile(`(^|[.:] )A (waiter|watch|minute)\b|[A-Z]\d`).ReplaceAllString(text, "")
	list := regexp.MustCompile(`\b[A-H]\b`).FindAllString(regexp.MustCompile(`\p{Han}`).ReplaceAllString(text, " "), -1)
	slices.Sort(list)
	return slices.Compact(list)
}

// A claim reports whether a caption is right: whether a film shows at an instant what it says of a client or a
// number. Shown is the stop that the film has there.
type claim func(f *film.Film, shown locks.Stop, at time.Duration, clientOrNumber string) bool

// claims are the claims of captions by the patterns of their words, whose groups are the clients or the number.
var claims = map[string]claim{
	`\b([A-T])(?: and ([A-T]))? (?:holds?|has) the lock|\b([A-T]) holds,|\b([A-T])(?: 和 ([A-T]))? (?:仍然|同时)?(?:持有锁|拿到了锁)`: inState("holds"),
	`\b([A-T]) (?:unlocks|has unlocked)\b`:                                   inState("unlocks done"),
	`\b([A-T])'s session (?:has e|expires|is over)|\b([A-T]) 的会话(?:已经|已)?过期`: hadFault("expire", "stop"),
	`\b([A-T]) is stopped`:          hadFault("stop"),
	`\b([A-T])'s connection breaks`: hadFault("cut", "lose request", "lose reply"),

	`\b([A-T])'s (?:second )?create is on its way`:                              onItsWay("create"),
	`\b([A-T]) unlocks[:,] (?:its|the) request to delete`:                       onItsWay("delete"),
	`\b([A-T]) unlocks[:,] (?:its|the) request to end|\b([A-T]) .* closing its`: onItsWay("closeSession"),
	`\b([A-T]) (?:watches|has set a watch|waits with its watch)|\b([A-T])'s watch is set`: func(_ *film.Film, shown locks.Stop, _ time.Duration, who string) bool {
		return strings.Contains(shown.Watchers, who)
	},
	`\b([A-T]) (?:is awake|has woken|is woken)`: func(f *film.Film, _ locks.Stop, at time.Duration, who string) bool {
		return slices.ContainsFunc(f.Marks, func(m film.Mark) bool { return m.At <= at && m.Kind == "wakeup" && m.Who == who })
	},
	`\b(second|third|hundred) creates? (?:is|were)`: func(f *film.Film, _ locks.Stop, at time.Duration, how string) bool {
		other := func(p film.Packet) bool { return p.Kind != "request" || p.Op != "create" || p.Sent > at }
		sent := len(slices.DeleteFunc(slices.Clone(f.Packets), other))
		return sent == howMany[how] || how == "hundred" && sent > 100
	},
	`\b(two|three) calls (?:of lock\(\) )?are on the stack`: func(f *film.Film, _ locks.Stop, at time.Duration, how string) bool {
		return howMany[how] == len(slices.DeleteFunc(stackAt(f, "", at), func(line film.Place) bool { return line.Func != "Lock" }))
	},
}

// notYet matches what a text does not claim: what a reader is to bring about, and the client after "until".
var notYet = regexp.MustCompile(`(?:Let|让)[^.。]*[.。]|until \w+`)

var howMany = map[string]int{"second": 2, "two": 2, "third": 3, "three": 3}

// stateOf returns the state of a contender at a stop. The states are in the order of the contenders, A, B, C and so on.
func stateOf(s locks.Stop, contender string) string {
	return strings.Fields(s.States)[contender[0]-'A']
}

func inState(states string) claim {
	return func(_ *film.Film, shown locks.Stop, _ time.Duration, who string) bool {
		return slices.Contains(strings.Fields(states), stateOf(shown, who))
	}
}

func onItsWay(op string) claim {
	return func(f *film.Film, _ locks.Stop, at time.Duration, who string) bool {
		return slices.ContainsFunc(f.Packets, func(p film.Packet) bool {
			return p.Kind == "request" && p.Op == op && p.Client == who && p.Sent <= at && (p.Arrived > at || p.Pending)
		})
	}
}

func hadFault(faults ...string) claim {
	return func(f *film.Film, _ locks.Stop, at time.Duration, who string) bool {
		return slices.ContainsFunc(f.Choices, func(c film.Choice) bool {
			name, what, _ := strings.Cut(c.Choice, ": ")
			return c.At <= at && name == who && slices.Contains(faults, what)
		})
	}
}

// The words around a scene agree with it. A caption names the same clients in both languages, which are clients of
// its film, and what it claims of them is true at its instant. A lesson names no client, because in a reader's
// schedule another one may have that part. The label of a level is the violation with which the film ends. The last
// hint of a level is true of what it plays.
func TestWhatIsSaidOfASceneIsWhatItShows(t *testing.T) {
	compared := 0
	compare := func(where string, f *film.Film, shown locks.Stop, at time.Duration, text locks.Text) {
		said := notYet.ReplaceAllString(text.String()+text.In(i18n.Chinese), "")
		for words, isTrue := range claims {
			for _, m := range regexp.MustCompile(words).FindAllStringSubmatch(said, -1) {
				for _, what := range strings.Fields(strings.Join(m[1:], " ")) {
					compared++
					assert.True(t, isTrue(f, shown, at, what), "%s: %q of %s", where, m[0], said)
				}
			}
		}
	}
	for _, l := range locks.All() {
		if l.Story == nil || l.Goal == nil {
			continue
		}
		f := filmOf(t, l)
		assert.Equal(t, l.Goal.Kind, f.Violation.Kind, "%s: the label of the level", l.Name)
		for i, s := range l.Story.Stops {
			shown := shownAt(f, s.At)
			for _, who := range clientsIn(s.Text.In(i18n.Chinese)) {
				assert.Less(t, int(who[0]-'A'), len(strings.Fields(shown.States)), "%s, stop %d: %s", l.Name, i+1, s.Text.In(i18n.Chinese))
			}
			assert.Equal(t, clientsIn(s.Text.In(i18n.Chinese)), clientsIn(s.Text.String()), "%s, stop %d: %s\n%s", l.Name, i+1,
				s.Text.String(), s.Text.In(i18n.Chinese))
			compare(fmt.Sprintf("%s, stop %d", l.Name, i+1), f, shown, s.At, s.Text)
		}
		if hints := l.Level.Hints; hints != nil {
			a := l.Open()
			a.Choices = l.Level.Plays
			played := testenv.Must(lab.Films(t, a))(t)[0]
			compare(l.Name+", the last hint", played, shownAt(played, played.End), played.End, hints[len(hints)-1])
		}
		for _, text := range append(slices.Collect(maps.Values(l.Level.Else)), l.Level.Victory) {
			assert.Empty(t, clientsIn(text.String()+" "+text.In(i18n.Chinese)),
				"%s: %v names clients: a reader's may be others", l.Name, text)
		}
	}
	assert.Greater(t, compared, 90)
}

// TestAButtonThatIsNamedIsThere: what a caption or a note has between quotation marks is the name
// of a button of the page.
func TestAButtonThatIsNamedIsThere(t *testing.T) {
	b := testenv.Must(os.ReadFile("../page/strings.js"))(t)
	named := 0
	for _, l := range locks.All() {
		texts := []locks.Text{l.Note}
		if l.Story != nil {
			for _, s := range l.Story.Stops {
				texts = append(texts, s.Text)
			}
		}
		for _, text := range texts {
			for _, button := range regexp.MustCompile(`“([^”]+)”`).FindAllStringSubmatch(text.String()+text.In(i18n.Chinese), -1) {
				named++
				assert.Contains(t, string(b), `: "`+button[1]+`"`, "%s: %s", l.Name, text)
			}
		}
	}
	require.NotZero(t, named)
}
