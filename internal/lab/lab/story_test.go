package lab_test

import (
	"cmp"
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

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/site"
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
	type watch struct{ client, path, of string } // of: "node" or "children"
	watches := make(map[watch]bool)
	owners := make(map[string]string) // of the ephemeral nodes, by path
	for _, m := range f.Marks {
		if m.At > at {
			break
		}
		switch m.Kind {
		case "state":
			states[m.Who] = m.State
		case "node":
			isEphemeral := m.Owner != ""
			if isEphemeral && *m.Made {
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

// draft writes the stops of a story without captions: one just after each instant at which the film shows a change.
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

// wokenForNothing is the number of wake-ups after which, by an instant, the contender has asked whether it is its turn,
// has the answer, and waits again.
func wokenForNothing(f *film.Film, by time.Duration) (n int) {
	departure := func(who string, at time.Duration) string { return who + at.String() }
	requests := make(map[string]int)        // the request's ID, by its departure
	answered := make(map[int]time.Duration) // when the reply arrives, by the request's ID
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

const countColumns = "holds, had, done, wait, nodes, told, sent, the last by, at the door, for nothing, !: a violation"

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

// A caption may write a number as a word, which inDigits replaces. countPattern finds the numbers, and captures those
// that count something: the number of a step and a time are found without their group.
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

// clientsIn returns the clients that a text names, each once, without articles ("A waiter") and the names of bugs (A1).
func clientsIn(text string) []string {
	text = regexp.MustCompile(`(^|[.:] )A (waiter|watch|minute)\b|[A-Z]\d`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\p{Han}`).ReplaceAllString(text, " ") // a Chinese character may touch a name
	list := regexp.MustCompile(`\b[A-H]\b`).FindAllString(text, -1)
	slices.Sort(list)
	return slices.Compact(list)
}

// A claim reports whether a caption is right: whether a film shows at an instant what it says of a client or a
// number. Shown is the stop that the film has there.
type claim func(f *film.Film, shown locks.Stop, at time.Duration, clientOrNumber string) bool

// claims has, for each pattern of words in a caption, the claim that these words make. The pattern's groups are the
// clients or the number; each of them is checked by itself.
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
		return sent == howMany[how] || how == "hundred" && sent > 100 // "More than a hundred creates were …"
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
			en, zh := s.Text.String(), s.Text.In(i18n.Chinese)
			for _, client := range clientsIn(zh) {
				assert.Less(t, int(client[0]-'A'), len(strings.Fields(shown.States)), "%s, stop %d: %s", l.Name, i+1, zh)
			}
			assert.Equal(t, clientsIn(zh), clientsIn(en), "%s, stop %d: %s\n%s", l.Name, i+1, en, zh)
			compare(fmt.Sprintf("%s, stop %d", l.Name, i+1), f, shown, s.At, s.Text)
		}
		if hints := l.Level.Hints; hints != nil {
			a := l.Open()
			a.Choices = l.Level.Plays
			played := testenv.Must(lab.Films(t, a))(t)[0]
			compare(l.Name+", the last hint", played, shownAt(played, played.End), played.End, hints[len(hints)-1])
		}
		for _, text := range append(slices.Collect(maps.Values(l.Level.Else)), l.Level.Victory) {
			assert.Empty(t, clientsIn(text.String()+" "+text.In(i18n.Chinese)), "%s: %v names clients: a reader's may be others", l.Name, text)
		}
	}
	assert.Greater(t, compared, 90, "the patterns of claims no longer match the captions")
}

// TestAButtonThatIsNamedIsThere: what a caption or a note has between quotation marks is the name
// of a button of the page.
func TestAButtonThatIsNamedIsThere(t *testing.T) {
	b := testenv.Must(os.ReadFile("../page/strings.js"))(t)
	inQuotes, named := regexp.MustCompile(`“([^”]+)”`), 0
	for _, l := range locks.All() {
		texts := []locks.Text{l.Note}
		if l.Story != nil {
			for _, s := range l.Story.Stops {
				texts = append(texts, s.Text)
			}
		}
		for _, text := range texts {
			for _, button := range inQuotes.FindAllStringSubmatch(text.String()+text.In(i18n.Chinese), -1) {
				named++
				assert.Contains(t, string(b), `: "`+button[1]+`"`, "%s: %s", l.Name, text)
			}
		}
	}
	require.NotZero(t, named)
}

// marked reports whether a comment marks a line with a bug: [A3], or [A1, A3].
func marked(p film.Place, bug string) bool {
	source, err := os.ReadFile("../../../" + p.File)
	if err != nil {
		return false // a file of the client library
	}
	line := strings.Split(string(source), "\n")[p.Line-1]
	return regexp.MustCompile(`\[(\w+, )*` + bug + `[,\]]`).MatchString(line)
}

// contenderThatErrs returns the contender that errs when a film's lock breaks, and that instant. If two hold the lock
// or one starves, it is the one that got in; otherwise the one that the violation names, or the one that acted last.
func contenderThatErrs(f *film.Film) (erring string, breaks time.Duration) {
	lastActor, lastHolder := f.Clients[0].Contenders[0], ""
	for _, c := range f.Choices {
		name, what, _ := strings.Cut(c.Choice, ": ")
		if !strings.HasPrefix(name, "gap ") && what != "reconnect" {
			lastActor = name
		}
	}
	for _, m := range f.Marks {
		if m.Kind == "state" && m.State == "holds" {
			lastHolder = m.Who
		}
		if m.Kind == "violation" && m.Violation == f.Violation.Kind {
			if m.Violation == player.TwoHolders || m.Violation == player.Starves {
				return lastHolder, m.At
			}
			return cmp.Or(m.Who, lastActor), m.At
		}
	}
	return lastActor, 0
}

// sealedAt is the instant of the choice after which each continuation of a bug's schedule ends
// in the bug; -1: there is none.
func sealedAt(bug string, f *film.Film) time.Duration {
	fates := scenes.Fates()[bug] // for each number of choices, how many tries end in the bug
	sealed := len(fates)         // the fewest choices after which all tries do
	for sealed > 0 && fates[sealed-1] == scenes.FateTries {
		sealed--
	}
	if sealed == 0 || sealed > len(f.Choices) {
		return -1
	}
	return f.Choices[sealed-1].At
}

// stackAt returns the lines of the lock at which a contender is, or was last, at an instant; "" is any contender.
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

// The page marks the line of a bug, and points to the lines at which the contenders are. When the lock breaks, or
// when the choice is made after which it must, the contender that errs is at the marked line, or has just left it.
func TestTheContenderThatErrsIsAtTheMarkedLine(t *testing.T) {
	for _, l := range locks.All() {
		if l.Group != locks.Museum || strings.ContainsAny(l.Name, "-EZ") { // cures, bugs of the steps, and of zklock
			continue
		}
		f := filmOf(t, l)
		erring, breaks := contenderThatErrs(f)
		var seen []string // instants, each with the functions in which the contender was
		atMark := false
		for _, instant := range []time.Duration{breaks, sealedAt(l.Name, f)} {
			seen = append(seen, instant.String())
			for _, line := range stackAt(f, erring, instant) {
				assert.Regexp(t, `^\w+$`, line.Func, "%s: the name of a function alone", l.Name)
				seen = append(seen, line.Func)
				atMark = atMark || marked(line, l.Name)
			}
		}
		assert.True(t, atMark, "%s: %s errs at no line that is marked [%s]: mark one of %v", l.Name, erring, l.Name, seen)
	}
}
