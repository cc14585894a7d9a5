//go:build browser

package browser

import (
	"embed"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// The files are templates of cases; the actions between braces have the functions of values. This is a case:
//
//	== what the page must do
//	at ADDRESS in 1440x900        the address as open of a case reads it, and the window
//	VERB ARGUMENT | VERB ARGUMENT what a reader does: the map verbs has the verbs
//		EXPRESSION                    what must be true then
//		EXPRESSION → JSON             the value that it must have; or has TEXTS, lacks TEXTS, or match REGEXP
//			a line that continues the one above
//
//go:embed testdata/*.txt
var scriptFiles embed.FS

// values are the functions of the templates.
var values = template.FuncMap{
	"scene": scene,
	"json":  quoted,
	"bugs":  func() []scenes.Bug { return everyThird(scenes.WithScene) },
	"bug":   scenes.Get,
	"level": func(lock string) scenes.Level { return scenes.Get(lock).Level },
	"told": func() []locks.Lock { // those that have a story
		return everyThird(slices.DeleteFunc(locks.All(), func(l locks.Lock) bool { return l.Story == nil }))
	},
	"language": func(i int) i18n.Language { return []i18n.Language{i18n.English, i18n.Chinese}[i%2] },
	"holders": func(states string) []string {
		holders := []string{}
		for i, state := range strings.Fields(states) {
			if state == "holds" {
				holders = append(holders, string(rune('A'+i)))
			}
		}
		return holders
	},
	"faces": func() []string { return faces },
	"faults": func() []player.Fault { // step 3's Lock takes no ctx
		all := append(slices.Clone(player.AllFaults), player.Pause, player.Day, player.Refuse, player.Remake)
		slices.Sort(all)
		return slices.DeleteFunc(all, func(f player.Fault) bool { return f == player.EndContext })
	},
	"openings": func() []locks.OpeningScene { return locks.Openings },
	"measured": measuredTime,
	"fates":    func(lock string) []int { return scenes.Fates()[lock] },
	"choices":  func(lock string) []string { return addressOf(lock).Choices },
	// without is a lock's own scene, with faults and without its last choice.
	"without": func(lock string, faults int) string {
		a := addressOf(lock)
		a.Faults, a.Choices = faults, a.Choices[:len(a.Choices)-1]
		return a.String()
	},
	"levels": func() int { return len(scenes.WithScene) + len(locks.Tasks) + 2 }, // two cannot be won
	"phrases": func() (phrases []string, err error) { // those of the guide, in its order
		text, err := os.ReadFile("../../../docs/reading-guide.md")
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
			phrases = append(phrases, m[1])
		}
		return phrases, err
	},
	"kind": func(name string) player.Kind { return player.Kind(name) },
	"list": func(all ...string) []string { return all },
	"add":  func(a, b int) int { return a + b },
}

// everyThird is all at length, and every third of a list at a landing: other tests play each scene without a page.
func everyThird[T any](all []T) (kept []T) {
	for i, one := range all {
		if testenv.AtLength() || i%3 == 0 {
			kept = append(kept, one)
		}
	}
	return kept
}

// allCases reads the cases in the files.
func allCases(t *testing.T) (all []pageCase) {
	files := testenv.Must(template.New("").Funcs(values).ParseFS(scriptFiles, "testdata/*.txt"))(t)
	for _, file := range files.Templates() {
		if !strings.HasSuffix(file.Name(), ".txt") {
			continue // a template that the files use
		}
		var text strings.Builder
		require.NoError(t, file.Execute(&text, nil))
		for _, c := range strings.Split("\n"+text.String(), "\n== ")[1:] {
			all = append(all, parseCase(t, c))
		}
	}
	require.Greater(t, len(all), 50)
	return all
}

// parseCase reads a case.
func parseCase(t *testing.T, text string) (c pageCase) {
	const continued = "\x00" // in the place of the end of a line that goes on below
	c.name, text, _ = strings.Cut(strings.ReplaceAll(text, "\n\t\t", continued), "\n")
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), continued, "\n")
		if where, ok := strings.CutPrefix(line, "at "); ok {
			c.at, c.window, _ = strings.Cut(where, " in ")
		} else if look, ok := strings.CutPrefix(line, "\t"); ok {
			c.rows = append(c.rows, parseLook(t, look))
		} else if line != "" && !strings.HasPrefix(line, "// ") {
			c.rows = append(c.rows, row{do: line})
		}
	}
	return c
}

// parseLook reads what a reader looks at, and what must be there.
func parseLook(t *testing.T, line string) (r row) {
	var want string
	var ok bool
	if r.look, want, ok = strings.Cut(line, " → "); !ok {
		return r
	}
	word, rest, _ := strings.Cut(want, " ")
	var texts []string
	switch word {
	case "has", "lacks":
		require.NoError(t, json.Unmarshal([]byte("["+rest+"]"), &texts), line)
		if r.want = has(texts); word == "lacks" {
			r.want = lacks(texts)
		}
	case "match":
		r.want = match(rest)
	default:
		require.NoError(t, json.Unmarshal([]byte(want), &r.want), line)
	}
	return r
}
