//go:build browser

package browser

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// The files are templates of cases; the actions between braces call the functions in values. This is a case:
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

// A row says what a reader does and what the page then shows.
type row struct {
	do   string // pairs of a verb (see verbs) and its argument, separated by " | ": "click #rest | go s.end"
	look string // a JavaScript expression, which may call the functions of testdata/see.js; "": nothing is looked at
	want any    // the value of look: nil stands for true; has, lacks and match compare a text
}

type (
	list  = []any
	has   []string // the text contains each
	lacks []string // the text contains none
	match string   // the text matches the regular expression
)

// A pageCase is one case of a file in testdata. It has a tab of its own, in which its rows are played.
type pageCase struct {
	name   string // what the page must do
	at     string // the address that is opened
	window string // its size, such as 1440x900: see windowSize
	rows   []row
}

func TestPages(t *testing.T) {
	for _, c := range allCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.open(t).play(c.rows...)
		})
	}
}

// open opens the address of a case in a new tab. #… is the address of a scene in the lab's page. book/… is a page of
// the book, opened as a file, and served/… is the same page from a web server.
func (c pageCase) open(t *testing.T) *tab {
	t.Helper()
	width, height := windowSize(t, c.window)
	place, page, ofBook := strings.Cut(c.at, "/")
	if !ofBook || strings.HasPrefix(c.at, "#") {
		return openAt(t, "file://"+labFile+c.at, width, height)
	}
	dir := testenv.Must(writtenBook())(t)
	at := "file://" + dir
	if place == "served" {
		server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
		t.Cleanup(server.Close)
		at = server.URL
	}
	return openAt(t, at+"/"+page, width, height, noLab)
}

// windowSize reads the size of a window, such as 1440x900. Without one, a window has 1200x900 pixels.
func windowSize(t require.TestingT, window string) (width, height int64) {
	_, err := fmt.Sscanf(cmp.Or(window, "1200x900"), "%dx%d", &width, &height)
	require.NoError(t, err, "the window %q", window)
	return width, height
}

const phoneWidth, phoneHeight, deskWidth, deskHeight = 390, 844, 1440, 900 // windows, in pixels

// seeScript defines see, the object with the functions that the expressions of rows may call.
//
//go:embed testdata/see.js
var seeScript string

// play carries out the verbs of each row in turn, and then compares what the page shows with what the row wants.
func (p *tab) play(rows ...row) {
	p.Helper()
	for i, r := range rows {
		name := fmt.Sprintf("row %d of %d: %s → %s", i+1, len(rows), r.do, r.look)
		for pair := range strings.SplitSeq(r.do, " | ") {
			if verb, arg, _ := strings.Cut(pair, " "); verb != "" {
				action := verbs[verb]
				require.NotNil(p, action, "no verb %q: %s", verb, name)
				require.NoError(p, action(p, arg), "%s, %s", pair, name)
			}
		}
		if r.look != "" {
			p.look(r, name)
		}
	}
}

func (p *tab) look(r row, name string) {
	p.Helper()
	switch want := r.want.(type) {
	case nil:
		require.Equal(p, true, js[any](p, r.look), name)
	case has:
		for _, words := range want {
			require.Contains(p, js[string](p, r.look), words, name)
		}
	case lacks:
		for _, words := range want {
			require.NotContains(p, js[string](p, r.look), words, name)
		}
	case match:
		require.Regexp(p, string(want), js[string](p, r.look), name)
	default:
		b := testenv.Must(json.Marshal(want))(p)
		var plain any
		require.NoError(p, json.Unmarshal(b, &plain))
		require.Equal(p, plain, js[any](p, r.look), name)
	}
}

// verbs are the actions of a row, each of which takes the rest of its pair as the argument.
var verbs = map[string]func(p *tab, arg string) error{
	"open":  func(p *tab, address string) error { return p.run("lab.open(" + quoted(address) + ")") },
	"tab":   openTab,
	"click": func(p *tab, selector string) error { return p.run("one(" + quoted(selector) + ").click()") },
	"run":   (*tab).run,
	"go":    func(p *tab, instant string) error { return p.evaluate("lab.goto(" + instant + ")") }, // in nanoseconds
	"wait":  (*tab).waits,
	"set": func(p *tab, field string) error { // as a person fills in a field: "set n 7"
		id, value, _ := strings.Cut(field, " ")
		return p.run(fmt.Sprintf("(e => { e.value = %s; e.dispatchEvent(new Event('change', {bubbles: true})); "+
			"})(one('#%s'))", quoted(value), id))
	},
	"keep": func(p *tab, what string) error { // a name and an expression, whose value later rows can use by the name
		name, expression, _ := strings.Cut(what, " ")
		return p.evaluate(fmt.Sprintf("Promise.resolve((%s)).then(v => { see.kept[%s] = v; })", expression, quoted(name)))
	},
	"key": func(p *tab, key string) error { // a key's name, a letter, or = and an expression for the text to type
		keys := map[string]string{"Right": kb.ArrowRight, "Left": kb.ArrowLeft, "Enter": kb.Enter, "Backspace": kb.Backspace, "Space": " "}
		if expression, ok := strings.CutPrefix(key, "="); ok {
			v, err := p.value(expression)
			if err != nil {
				return err
			}
			key = fmt.Sprint(v)
		}
		return p.perform(chromedp.KeyEvent(cmp.Or(keys[key], key)))
	},
	"file":   func(p *tab, text string) error { return p.upload(text) },
	"window": func(p *tab, window string) error { return p.perform(chromedp.EmulateViewport(windowSize(p, window))) },
	"theme":  theme,
	"shot":   shot,
	"tabs":   tabs,
}

func (p *tab) upload(text string) error {
	file := filepath.Join(p.TempDir(), "file.json")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	return p.perform(chromedp.SetUploadFiles("#file", []string{file}))
}

// openTab opens another tab, at an address or at the value of an expression. The rows that follow are played in it: p
// takes over its context, and the values that the verb keep has stored.
func openTab(p *tab, address string) error {
	if !strings.HasPrefix(address, "#") {
		v, err := p.value(address)
		if err != nil {
			return err
		}
		address = fmt.Sprint(v)
	}
	kept := js[json.RawMessage](p, "see.kept")
	p.ctx = openAt(p.T, "file://"+labFile+address, p.width, p.height).ctx
	return p.run("see.kept = " + string(kept))
}

// theme sets the reader's preference for a light or a dark page, and for less motion.
func theme(p *tab, name string) error {
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	return p.perform(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		return testenv.Err(cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
	}))
}

// perform carries out an action of the browser, and waits until the engine has answered all requests of the page.
func (p *tab) perform(action chromedp.Action[chromedp.Void]) error {
	if err := chromedp.Do(p.ctx, action); err != nil {
		return err
	}
	return p.run("null")
}

// run evaluates an expression for its effect, and waits as perform does.
func (p *tab) run(expression string) error {
	return p.evaluate("Promise.resolve((" + expression + ")).then(() => lab.settled())")
}

// evaluate evaluates an expression for its effect, and waits for nothing but its promise.
func (p *tab) evaluate(expression string) error {
	return testenv.Err(p.value("Promise.resolve((" + expression + ")).then(() => null)"))
}

// value returns the value of an expression. If that is a promise, it waits for the promise's value.
func (p *tab) value(expression string) (any, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[any](seeing(expression), chromedp.EvalAwaitPromise))
}

// waits waits until an expression is true. It polls by the clock, because a tab that shows nothing new has no frames,
// and begins again from time to time, because a poll in a document that the tab has left never ends.
func (p *tab) waits(expression string) error {
	for {
		ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](seeing("!!("+expression+")"),
			chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(5*time.Millisecond)))
		again := ctx.Err() != nil && p.ctx.Err() == nil
		cancel()
		if again {
			continue
		}
		if err != nil {
			return fmt.Errorf("never true: %w", err)
		}
		return nil
	}
}

// js evaluates an expression in the page, and waits for it if it is a promise.
func js[T any](p *tab, expression string) T {
	p.Helper()
	action := chromedp.Evaluate[T](seeing(expression), chromedp.EvalAwaitPromise)
	return testenv.Must(chromedp.Run(p.ctx, action))(p, expression)
}

// seeing returns an expression in which the functions of see.js and the kept values have their short names.
func seeing(expression string) string {
	return "(() => { with (see) with (see.kept) return (" + expression + "); })()"
}

// quoted returns a value in JSON, which is also its JavaScript literal.
func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v)
	return strings.TrimSpace(b.String())
}

// scene returns the address of a lock's own scene, with more parameters such as "&t=1s" behind it.
func scene(lock string, more ...string) string {
	return addressOf(lock).String() + strings.Join(more, "")
}

func addressOf(lock string) locks.Address {
	l, err := locks.Find(lock)
	if err != nil {
		panic(err)
	}
	return l.Open()
}

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
	look, want, hasWant := strings.Cut(line, " → ")
	r.look = look
	if !hasWant {
		return r
	}
	word, rest, _ := strings.Cut(want, " ")
	var texts []string
	switch word {
	case "has", "lacks":
		require.NoError(t, json.Unmarshal([]byte("["+rest+"]"), &texts), line)
		r.want = has(texts)
		if word == "lacks" {
			r.want = lacks(texts)
		}
	case "match":
		r.want = match(rest)
	default:
		require.NoError(t, json.Unmarshal([]byte(want), &r.want), line)
	}
	return r
}
