package counterexample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

const folder = "../../../docs/exercises/_11-break-this-lock"

func ourAnswers(t *testing.T) map[int]string {
	t.Helper()
	text := testenv.Must(os.ReadFile(filepath.Join(folder, ".solution", File)))(t)
	return testenv.Must(Read(text))(t)
}

// TestOurAnswersAreAccepted plays our answers. The exercise's page must say how many choices each of them has; a case
// with a limit, Most, refuses an answer with one choice more.
func TestOurAnswersAreAccepted(t *testing.T) {
	page := testenv.Must(os.ReadFile(filepath.Join(folder, "README.md")))(t)
	answers := ourAnswers(t)
	require.Len(t, answers, len(locks.Tasks))
	played := make(map[int]Result)
	for n, link := range answers {
		played[n] = Play(t, n, link)
		require.Equal(t, Result{Choices: ourChoices[n]}, played[n], "answer %d", n) // ourChoices is in judge.go
		require.Equal(t, link, Open(link))
		require.Regexp(t, fmt.Sprintf(`(?m)^\| %d \|.*\| %d \|$`, n, ourChoices[n]), string(page))
		require.Contains(t, string(page), "internal/bugs/listings/"+locks.Tasks[n-1].Source)
	}
	for _, c := range Cases() {
		accepts := func(r Result) bool { return c.Words(r).String() == "" } // Words says why a case fails
		result := played[c.Number]
		require.True(t, accepts(result))
		result.Choices++
		hasLimit := c.Most > 0
		require.Equal(t, !hasLimit, accepts(result), "one choice more")
	}
}

// TestAnAnswerNeedsAllOfItsChoices takes the choices off our answers, from the last one on: what is left is refused.
func TestAnAnswerNeedsAllOfItsChoices(t *testing.T) {
	for n, link := range ourAnswers(t) {
		for at := strings.LastIndexByte(link, ','); at >= 0; at = strings.LastIndexByte(link, ',') {
			link = link[:at]
			require.Contains(t, Play(t, n, link).Words.String(), "Go on until the lab says", "%s", link)
		}
	}
}

// TestFindAloneIsNotEnough has the lab search each task's world, with its faults or fewer: it stops at another harm.
func TestFindAloneIsNotEnough(t *testing.T) {
	for _, task := range locks.Tasks {
		w := task.Lock.World
		var found *player.Trace
		for w.Faults = 0; found == nil && w.Faults <= task.Lock.World.Faults; w.Faults++ {
			found = explore.Explore(t, w, explore.Search{Limit: 3000}).Found
		}
		require.NotNil(t, found, "listing %d: nothing is found", task.Number)
		t.Logf("listing %d: %v", task.Number, found.Violation)
		require.NotEqual(t, task.Harm, found.Violation.Kind, "listing %d: the search has found the answer: %v",
			task.Number, found)
	}
}

// TestNoPublishedSceneIsAnAnswer tries, for each task, the links of the lab's scenes; then, in the task's world, the
// choices of the scenes of its article.
func TestNoPublishedSceneIsAnAnswer(t *testing.T) {
	for _, task := range locks.Tasks {
		for _, s := range scenes.WithScene {
			l := testenv.Must(locks.Find(s.ID))(t)
			require.Contains(t, Play(t, task.Number, l.Open().String()).Words.String(), "the link is of the lock", "%s", s.ID)
			isOfArticle := strings.EqualFold(s.ID[:1], task.Source[:1]) // A1 and a_queue.go begin with the article's letter
			if !isOfArticle || len(l.Scene.Choices) == 0 {
				continue
			}
			a := task.Lock.Open()
			a.Choices = l.Scene.Choices
			require.NotEmpty(t, Play(t, task.Number, a.String()).Words.String(),
				"listing %d is solved by the choices of %s", task.Number, s.ID)
		}
	}
}

// TestWhatIsNotAnAnswer tries links that the lab has not written, or not for this.
func TestWhatIsNotAnAnswer(t *testing.T) {
	good := ourAnswers(t)[4] // of break-4, with n=3, kinds=expire and faults=1
	for name, test := range map[string]struct{ link, says string }{
		"nothing":              {"", "answer 4 is not written yet: open the listing with go run ./cmd/lab -open -scene break-4"},
		"no link":              {"yes", `"yes" is not a link of the lab`},
		"two links":            {good + " " + good, "paste one link"},
		"two locks":            {strings.Replace(good, "break-4", "break-4,break-5", 1), "two locks beside each other"},
		"no such lock":         {strings.Replace(good, "break-4", "break-44", 1), `there is no lock "break-44"`},
		"the lock twice":       {good + "&lock=break-4", "once which lock"},
		"another lock":         {strings.Replace(good, "break-4", "predecessor", 1), `the lock "predecessor", and answer 4 is about "break-4"`},
		"a billion contenders": {strings.Replace(good, "n=3", "n=1000000000", 1), "not a number from 1 to 100"},
		"a hundred contenders": {strings.Replace(good, "n=3", "n=100", 1), "100 contenders, and answer 4 has 3"},
		"one session":          {strings.Replace(good, "n=3", "n=3&shared=1", 1), "3 contenders in one session"},
		"an unknown field":     {good + "&points=18", `"points", which the lab does not write`},
		"another fault": {strings.Replace(good, "kinds=expire", "kinds=lose-reply", 1),
			`a world with 1 fault ("lose reply"), and answer 4 of one with 1 fault ("expire")`},
		"no faults":            {strings.Replace(good, "faults=1", "faults=0", 1), "a world with no fault"},
		"packets wait":         {good + "&packets=1", "replies and events wait, too"},
		"a search":             {strings.Replace(good, "mode=schedule", "mode=find", 1), "opens the search"},
		"an interference":      {good + "&do=1s.A.expire", "by the clock"},
		"no choices":           {good[:strings.Index(good, "&choices")], "nothing is broken"},
		"an impossible choice": {good + ",D:+request", "cannot be played: the schedule ends after 7 of 8 choices"},
		"an unknown choice": {strings.Replace(good, "C:+expire", "C:+explode", 1),
			`cannot be played: choice 6 is "C: explode", but these are possible`},
		"broken quoting":     {good + ",%zz", "cannot be read"},
		"a hundred thousand": {good + strings.Repeat(",A:+request", 100_000), "more than any of the lab"},
		"a thousand choices": {good + strings.Repeat(",A:+stop", 1000), "1007 choices, and no schedule"},
		"no UTF-8":           {good + ",\xff\xfe", "cannot be played"},
	} {
		t.Run(name, func(t *testing.T) {
			words := Play(t, 4, test.link).Words.String()
			require.Contains(t, words, test.says)
			require.NotContains(t, words, "\n", "a message is one line")
			require.Less(t, len(words), 1000, "bytes: what a student has written is shortened in a message")
			require.Regexp(t, `^(#lock=|$)`, Open(test.link), "what the lab is opened with")
		})
	}
	// Additions of the page to a link do no harm, and neither does its address.
	for _, link := range []string{"http://127.0.0.1:36791/" + good + "&t=2400ms&lang=zh",
		"file:///tmp/lab.html" + good} {
		require.Empty(t, Play(t, 4, link).Words.String())
		require.Equal(t, good, Open(link))
	}
}

func TestTheFileIsRead(t *testing.T) {
	for text, says := range map[string]string{
		"1:\n1: x":                         "line 2: there is an answer 1 already",
		"#lock=break-1":                    `line 1: "#lock=break-1" is not an answer: write the number of the listing, from 1 to 6`,
		"# one\n\nhttp://host/#lock":       `line 3: "http://host/#lock" is not an answer`,
		"7: #lock":                         "line 1: ",
		"\x00\x01":                         `"\x00\x01" is not an answer`,
		strings.Repeat("{", maxLink) + ":": "…",
	} {
		_, err := Read([]byte(text))
		require.ErrorContains(t, err, says)
		require.Less(t, len(err.Error()), 400, "bytes: a long line is shortened")
		require.NotContains(t, err.Error(), "\n")
	}
	answers := testenv.Must(Read([]byte("\ufeff# two\r\n\r\n 2 : #lock=x \r\n#\r\n1:\r\n")))(t)
	require.Equal(t, map[int]string{1: "", 2: "#lock=x"}, answers)
}
