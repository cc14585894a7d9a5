// A story explains the scene of a lock in stops: instants of its film, each with a caption and with fields that say
// what the film shows there. An opening is such a story of two films beside each other. These tests play the films and
// compare: the fields, and the clients, numbers and events that the captions name.
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

// storyFilm returns the film of the scene that a lock's story explains.
func storyFilm(t *testing.T, l locks.Lock) *film.Film {
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
	guide := site.Read(t, "docs/reading-guide.md")
	for _, l := range locks.All() {
		if l.Story == nil {
			requireNoStoryNeeded(t, l)
			continue
		}
		f := storyFilm(t, l)
		require.True(t, len(l.Story.Stops) >= 6 && len(l.Story.Stops) <= 10, "%s: a story has six to ten stops", l.Name)
		before := time.Duration(-1)
		for i, s := range l.Story.Stops {
			where := fmt.Sprintf("%s, stop %d", l.Name, i+1)
			require.Greater(t, s.At, before, where)
			require.LessOrEqual(t, s.At, f.End, "%s: the film ends before it", where)
			before = s.At
			require.NotEmpty(t, s.Text.String(), where)
			require.NotEmpty(t, s.Text.In(i18n.Chinese), where)
			if s.Quote != "" {
				require.True(t, strings.Contains(guide, "`"+s.Quote+"`"), "%s: docs/reading-guide.md has no `%s`", where, s.Quote)
			}
			said := locks.Stop{States: s.States, Nodes: s.Nodes, Watchers: s.Watchers, Broken: s.Broken}
			require.Equal(t, shownAt(f, s.At), said, "%s (%s): expected is what the film shows, actual what the entry says", where, s.Text)
		}
		require.Equal(t, f.Packets, storyFilm(t, l).Packets, "%s: the same address has another film", l.Name)
		requireNoneCutOffAfterItsClose(t, l.Name, f)
	}
}

// requireNoneCutOffAfterItsClose fails if a film calls a client cut off that has closed its session itself.
func requireNoneCutOffAfterItsClose(t *testing.T, lock string, f *film.Film) {
	t.Helper()
	for _, m := range f.Marks {
		hasClosed := func(p film.Packet) bool {
			return p.Client == m.Who && p.Op == "closeSession" && p.Kind == "reply" && p.Sent <= m.At
		}
		if m.State == "cut off" {
			require.False(t, slices.ContainsFunc(f.Packets, hasClosed), "%s: %s has closed its session at %v", lock, m.Who, m.At)
		}
	}
}

// draftOfStory writes a story's stops without captions: one just after each instant at which the film shows a change.
func draftOfStory(f *film.Film) string {
	var stops strings.Builder
	last := ""
	for i, m := range f.Marks {
		if i+1 < len(f.Marks) && f.Marks[i+1].At == m.At {
			continue // more changes at this instant
		}
		s := shownAt(f, m.At)
		shown := fmt.Sprintf(`"states": %q, "nodes": %q, "watchers": %q, "broken": %t`, s.States, s.Nodes, s.Watchers, s.Broken)
		if shown != last {
			fmt.Fprintf(&stops, "{\"at\": \"%dms\", %s, \"en\": \"\", \"zh\": \"\"},\n", m.At.Milliseconds()+1, shown)
		}
		last = shown
	}
	return stops.String()
}

// requireNoStoryNeeded fails for a lock without a story if it is a step or a bug: each of these must have one. For a
// bug it prints a draft. A lock of the museum is a bug if there is no dash in its name, or else the cure of one.
func requireNoStoryNeeded(t *testing.T, l locks.Lock) {
	t.Helper()
	require.NotEqual(t, locks.Steps, l.Group, "%s has no story", l.Name)
	if isBug := l.Group == locks.Museum && !strings.Contains(l.Name, "-"); isBug {
		require.NotNil(t, scenes.Schedules()[l.Name].Choices, "%s has no schedule: go generate ./... first", l.Name)
		l.Story = &locks.Story{Scene: *l.Scene}
		f := storyFilm(t, l)
		require.Fail(t, l.Name+" has no story", "write six to ten stops into internal/bugs/scenes/texts/%s.json; "+
			"its film ends at %v, and shows:\n%s", l.Name, f.End, draftOfStory(f))
	}
}

// wokenForNothing counts the wake-ups for nothing up to an instant. The contender asks at once whether it is its turn,
// asks on at the instant of each answer, and waits again after the last one.
func wokenForNothing(f *film.Film, by time.Duration) (count int) {
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
		asksAt := m.At
		request := requests[departure(m.Who, asksAt)]
		for request != 0 && answered[request] != 0 { // up to a request that has no answer, or the last answer
			asksAt = answered[request]
			request = requests[departure(m.Who, asksAt)]
		}
		hasAllAnswers := request == 0 && asksAt <= by
		if hasAllAnswers && stateOf(shownAt(f, asksAt), m.Who) == "waits" {
			count++
		}
	}
	return count
}

const countColumns = "holds, had, done, wait, nodes, told, sent, the last by, at the door, for nothing, !: a violation"

// countsAt has what the captions of an opening count: the holders; how many contenders have had the lock, are done,
// wait, have nodes and have received an event; how many requests were sent, and by which contender last; how many of
// them wait at the server, and how many wake-ups were for nothing.
func countsAt(f *film.Film, at time.Duration) string {
	shown := shownAt(f, at)
	had, told := make(map[string]bool), make(map[string]bool) // the contenders, and the clients
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
	done, waits := strings.Count(shown.States, "done"), strings.Count(shown.States, "waits")
	nodes := len(strings.Fields(shown.Nodes))
	return fmt.Sprintf("%s %d %d %d %d %d %d %s %d %d%s", cmp.Or(holders, "-"), len(had), done, waits, nodes, len(told),
		requests, cmp.Or(lastSender, "-"), atDoor, wokenForNothing(f, at), broken) // the columns of countColumns
}

// A caption may write a number as a word, which inDigits replaces. countPattern finds the numbers, and captures those
// that count something: the number of a step and a time are found without their group.
var (
	inDigits = strings.NewReplacer("Twenty", "20", "twenty", "20", "Ten ", "10 ", "Seven", "7", "twelve", "12",
		"Sixteen", "16", "sixteen", "16",
		"二十", "20", "十二", "12", "十六", "16", "十个", "10 ", "七个在", "7 ")
	countPattern = regexp.MustCompile(`[Ss]tep \d|第 \d 步|\d+ ms|\b(\d+)\b`)
)

// numbersIn returns the numbers of a caption that count something, each once.
func numbersIn(caption string) []string {
	numbers := make(map[string]bool)
	for _, found := range countPattern.FindAllStringSubmatch(inDigits.Replace(caption), -1) {
		numbers[found[1]] = true
	}
	delete(numbers, "") // that of a step, or a time
	return slices.Sorted(maps.Keys(numbers))
}

// Each number in a caption of the openings is one that a film shows then, and both languages have the same numbers.
func TestEachOpeningIsTrue(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(countColumns + " | of the right film\n")
	for number, o := range locks.Openings {
		films := testenv.Must(lab.Films(t, o.Address))(t)
		left, right := films[0], films[1]
		for i, s := range o.Stops {
			where := fmt.Sprintf("opening %d, stop %d", number+1, i+1)
			require.LessOrEqual(t, s.At, max(left.End, right.End), where)
			require.True(t, i == 0 || s.At > o.Stops[i-1].At, where)
			row := fmt.Sprintf("%-32s| %s", countsAt(left, s.At), countsAt(right, s.At))
			rows.WriteString(row + "\n")
			english, chinese := numbersIn(s.Text.String()), numbersIn(s.Text.In(i18n.Chinese))
			require.Subset(t, strings.Fields(row), english, "%s: the films do not show these numbers of %s", where, s.Text)
			require.Equal(t, english, chinese, "%s: %s", where, s.Text)
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

// A moment is an instant of a film, and what the film shows then.
type moment struct {
	*film.Film
	at    time.Duration
	shown locks.Stop
}

// A claim reports whether a caption is right: whether a film shows at a moment what it says of a client or a number.
type claim func(m moment, clientOrNumber string) bool

// claims has, for each pattern of words in a caption, the claim that these words make: "A and B hold the lock". The
// pattern's groups are the clients, which are A to T, or a number; each of them is checked by itself.
var claims = map[string]claim{
	`\b([A-T])(?: and ([A-T]))? (?:holds?|has) the lock|\b([A-T]) holds,|\b([A-T])(?: 和 ([A-T]))? (?:仍然|同时)?(?:持有锁|拿到了锁)`: inState("holds"),
	`\b([A-T]) (?:unlocks|has unlocked)\b`:                                   inState("unlocks done"),
	`\b([A-T])'s session (?:has e|expires|is over)|\b([A-T]) 的会话(?:已经|已)?过期`: hadFault("expire", "stop"),
	`\b([A-T]) is stopped`:          hadFault("stop"),
	`\b([A-T])'s connection breaks`: hadFault("cut", "lose request", "lose reply"),

	`\b([A-T])'s (?:second )?create is on its way`:                              onItsWay("create"),
	`\b([A-T]) unlocks[:,] (?:its|the) request to delete`:                       onItsWay("delete"),
	`\b([A-T]) unlocks[:,] (?:its|the) request to end|\b([A-T]) .* closing its`: onItsWay("closeSession"),
	`\b([A-T]) (?:watches|has set a watch|waits with its watch)|\b([A-T])'s watch is set`: func(m moment, client string) bool {
		return strings.Contains(m.shown.Watchers, client)
	},
	`\b([A-T]) (?:is awake|has woken|is woken)|the call wakes (none)`: func(m moment, woken string) bool {
		return slices.ContainsFunc(m.Marks, func(k film.Mark) bool {
			return k.Kind == "wakeup" && k.At <= m.at && (woken == k.Who || woken == "none")
		}) == (woken != "none")
	},
	`\b(second|third|hundred) creates? (?:is|were)`: func(m moment, number string) bool {
		creates := 0
		for _, p := range m.Packets {
			if p.Kind == "request" && p.Op == "create" && p.Sent <= m.at {
				creates++
			}
		}
		return creates == howMany[number] || number == "hundred" && creates > 100 // "More than a hundred creates were …"
	},
	`\b(two|three) calls (?:of lock\(\) )?are on the stack`: func(m moment, number string) bool {
		isNotLock := func(line film.Place) bool { return line.Func != "Lock" }
		return howMany[number] == len(slices.DeleteFunc(stackAt(m.Film, "", m.at), isNotLock))
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
	return func(m moment, client string) bool {
		return slices.Contains(strings.Fields(states), stateOf(m.shown, client))
	}
}

func onItsWay(op string) claim {
	return func(m moment, client string) bool {
		return slices.ContainsFunc(m.Packets, func(p film.Packet) bool {
			isUnderWay := p.Sent <= m.at && (p.Arrived > m.at || p.Pending)
			return isUnderWay && p.Kind == "request" && p.Op == op && p.Client == client
		})
	}
}

func hadFault(faults ...string) claim {
	return func(m moment, client string) bool {
		return slices.ContainsFunc(m.Choices, func(c film.Choice) bool {
			who, what, _ := strings.Cut(c.Choice, ": ")
			return c.At <= m.at && who == client && slices.Contains(faults, what)
		})
	}
}

// assertClaims checks what a text claims of a moment, and returns the number of its claims.
func assertClaims(t *testing.T, where string, text locks.Text, m moment) (count int) {
	t.Helper()
	said := notYet.ReplaceAllString(text.String()+text.In(i18n.Chinese), "")
	for words, isTrue := range claims {
		for _, found := range regexp.MustCompile(words).FindAllStringSubmatch(said, -1) {
			for _, clientOrNumber := range strings.Fields(strings.Join(found[1:], " ")) {
				count++
				assert.True(t, isTrue(m, clientOrNumber), "%s: %q of %s", where, found[0], said)
			}
		}
	}
	return count
}

// A caption names the same clients in both languages, which are clients of its film. What it claims of them is true
// at its stop, and what the last hint of a level claims is true when its choices have been played.
func TestACaptionSaysWhatTheFilmShows(t *testing.T) {
	checked := 0
	for _, l := range levelsWithStory() {
		f := storyFilm(t, l)
		for i, s := range l.Story.Stops {
			where := fmt.Sprintf("%s, stop %d", l.Name, i+1)
			m := moment{f, s.At, shownAt(f, s.At)}
			named := clientsIn(s.Text.String())
			assert.Equal(t, named, clientsIn(s.Text.In(i18n.Chinese)), "%s: both languages of %s", where, s.Text)
			for _, client := range named {
				assert.Less(t, int(client[0]-'A'), len(strings.Fields(m.shown.States)), "%s: no client %s", where, client)
			}
			checked += assertClaims(t, where, s.Text, m)
		}
		if hints := l.Level.Hints; hints != nil {
			a := l.Open()
			a.Choices = l.Level.Plays
			played := testenv.Must(lab.Films(t, a))(t)[0]
			atEnd := moment{played, played.End, shownAt(played, played.End)}
			checked += assertClaims(t, l.Name+", the last hint", hints[len(hints)-1], atEnd)
		}
	}
	assert.Greater(t, checked, 90, "the patterns of claims no longer match the captions")
}

// The label of a level is the violation with which its film ends. What a level says once a reader has ended it names no
// client, because in the reader's schedule another one may have that part.
func TestALevelIsLabelledAndEndsWithoutNames(t *testing.T) {
	for _, l := range levelsWithStory() {
		assert.Equal(t, l.Goal.Kind, storyFilm(t, l).Violation.Kind, l.Name)
		for _, text := range append(slices.Collect(maps.Values(l.Level.Else)), l.Level.Victory) {
			assert.Empty(t, clientsIn(text.String()+" "+text.In(i18n.Chinese)), "%s: %v names clients: a reader's may be others", l.Name, text)
		}
	}
}

// levelsWithStory are the locks that are levels of the game, and whose scene has a story.
func levelsWithStory() []locks.Lock {
	return slices.DeleteFunc(locks.All(), func(l locks.Lock) bool { return l.Story == nil || l.Goal == nil })
}

// TestAButtonThatIsNamedIsThere: what a caption or a note has between quotation marks is the name
// of a button of the page.
func TestAButtonThatIsNamedIsThere(t *testing.T) {
	pageStrings := site.Read(t, "internal/lab/page/strings.js")
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
				assert.Contains(t, pageStrings, `: "`+button[1]+`"`, "%s: %s", l.Name, text)
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
// or one starves, it is the last that got the lock; otherwise the one that the violation names, or else the last actor.
func contenderThatErrs(f *film.Film) (erring string, breaks time.Duration) {
	lastActor, lastHolder := f.Clients[0].Contenders[0], ""
	for _, c := range f.Choices {
		name, what, _ := strings.Cut(c.Choice, ": ")
		if !strings.HasPrefix(name, "gap ") && what != "reconnect" { // neither is the act of a contender
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
	sealed := len(fates)         // becomes the fewest choices after which all tries do
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
		isOurs := strings.ContainsAny(l.Name, "-EZ") // cures have a dash in their names; E and Z are ours
		if l.Group != locks.Museum || isOurs {
			continue
		}
		f := storyFilm(t, l)
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
