package lab_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/lab/lab"
	"example.com/zklock/docs/lab/locks"
	"example.com/zklock/docs/lab/nodetest"
	"example.com/zklock/internal/explore"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/locktest/chinese"
	"example.com/zklock/internal/locktest/chinese/chinesetest"
	"example.com/zklock/internal/when"
)

// The page shows in Chinese what the engine says in English: engine.go of
// internal/locktest/chinese has a line for each text. The texts are collected in two ways. The sources have all
// of them, including those of errors that nothing causes today; in runs they have
// their values, and go through the page's own functions.

// engineTexts are texts of the engine.
type engineTexts struct {
	texts, choices map[string]string // a text, and where it comes from
}

func (s engineTexts) text(text, from string) {
	if text != "" {
		s.texts[text] = from
	}
}

func (s engineTexts) violation(v *explore.Violation, from string) {
	if v != nil {
		s.text(v.What, from)
	}
}

func (s engineTexts) film(f *film.Film, from string) {
	s.violation(f.Violation, from)
	for _, m := range f.Marks {
		s.text(m.Text, from)
	}
}

func (s engineTexts) trace(tr *explore.Trace, from string) {
	s.violation(tr.Violation, from)
	for _, c := range tr.Choices {
		s.choices[c] = from
	}
	for _, name := range tr.Known {
		if !slices.Contains(append(explore.Kinds, explore.Outlived), explore.Kind(name)) { // the page has words for these
			s.text(name, from)
		}
	}
}

// untranslated asks the page's scripts what of it has no Chinese, or has English in it.
func (s engineTexts) untranslated(t *testing.T) (list []string) {
	t.Helper()
	table, err := json.Marshal(chinese.Engine.Table())
	require.NoError(t, err)
	all := nodetest.Ask[map[string]string](t, "../page", map[string]string{"sentences.js": "export const SENTENCES = " + string(table)},
		map[string]any{"texts": slices.Collect(maps.Keys(s.texts)), "choices": slices.Collect(maps.Keys(s.choices))}, `
		import { WORDS } from "./strings.js";
		import { inChinese, choiceInChinese } from "./chinese.js";
		const answer = {};
		for (const x of asked.texts) answer[x] = inChinese(x, WORDS.zh) ?? "";
		for (const x of asked.choices) answer[x] = choiceInChinese(x, WORDS.zh) ?? "";`)
	for _, text := range slices.Sorted(maps.Keys(all)) {
		if zh := all[text]; zh == "" || len(chinesetest.English(errorText.ReplaceAllString(zh, ""))) > 0 {
			list = append(list, fmt.Sprintf("%q of %s%s is %q", text, s.texts[text], s.choices[text], zh))
		} else if s.texts[text] != "" && !regexp.MustCompile(`\["|is not possible`).MatchString(text) { // there the page has more words
			assert.Equal(t, chinese.Engine.Text(text), zh, "the page translates otherwise than the book")
		}
	}
	return list
}

// errorText is that of a lock or of a library, which stays what it is.
var errorText = regexp.MustCompile(`(?:失败|错误|请求|返回|panic)：.*`)

// TestWhatTheEngineSaysHasChinese plays every lock of the catalogue: its own
// scene from its start and with its schedule, every kind of change, and schedules that
// are drawn, with all that may go wrong. The broken locks share the changes and the
// schedules out among them; at a landing each plays all.
func TestWhatTheEngineSaysHasChinese(t *testing.T) {
	nodetest.Need(t)
	all := engineTexts{make(map[string]string), make(map[string]string)}
	for n, l := range locks.All() {
		from := l.Name
		first, step := 0, 1
		if l.Group == locks.Broken && !when.AtLanding() {
			first, step = n%len(film.PaceFaults), len(film.PaceFaults)
		}
		for _, k := range l.Subject(locks.Session).Known {
			all.text(k.Name, from)
		}
		if strings.HasPrefix(l.Name, "broken-polls") {
			continue // what asks without end takes long, and says nothing else
		}
		a := l.Open()
		for _, n := range slices.Compact([]int{0, len(a.Choices)}) {
			p, err := lab.Play(t, playable(a), a.Choices[:n])
			require.NoError(t, err, from)
			all.film(p.Film, from)
			all.trace(p.Trace, from)
			for _, e := range p.Enabled {
				all.choices[e.Choice] = from
			}
		}
		if l.World.Name != "" {
			// In other worlds than its own a listing may panic in a goroutine of
			// its own, which would end this process.
			continue
		}
		for i := first; i < len(film.PaceFaults); i += step {
			do := film.PaceFaults[i]
			at := time.Duration(20+90*(i%4)) * time.Millisecond
			f, err := lab.Run(t, locks.Scene{Lock: l.Name, Contenders: 3, Seed: 1, Changes: []film.Change{
				{At: at, Who: "A", Do: do}, {At: at + time.Millisecond, Who: "A", Do: film.RunsOn}, {At: at + 2*time.Millisecond, Who: "A", Do: do}}})
			if err != nil {
				all.text(err.Error(), from)
				continue
			}
			all.film(f, from)
		}
		w := l.In(explore.World{Contenders: 2, Kinds: slices.Concat(explore.AllFaults, []explore.Fault{explore.Pause, explore.Remake}), Faults: 2})
		for seed := first; seed < draws; seed += step {
			tr := explore.Draw(t, w, uint64(seed))
			all.trace(tr, from)
			if f, err := film.Of(t, tr); err == nil {
				all.film(f, from)
			}
		}
	}
	for _, message := range slices.Sorted(maps.Keys(notPossible)) {
		_, err := ask[any](t, message)
		require.Error(t, err)
		all.text(err.Error(), message)
	}
	tr := explore.Draw(t, explore.World{Name: "naive", Lock: mustFind(t, "naive").Subject(explore.SessionTimeout), Contenders: 2}, 1)
	for what, log := range map[string][]explore.Entry{
		"a line that differs": append([]explore.Entry{{Who: "A", Kind: "note"}}, tr.Log[1:]...),
		"a line too few":      tr.Log[:len(tr.Log)-1],
		"a line too many":     append(slices.Clone(tr.Log), tr.Log[0]),
	} {
		other := *tr
		other.Log = log
		_, err := lab.Replay(t, &other)
		require.ErrorContains(t, err, "does not repeat", what)
		all.text(err.Error(), what)
	}
	for _, want := range []string{"hold the lock at once", "have added one each", "gets no more requests through", "is not possible: it is not stopped",
		" pass", "calls of Lock are on the stacks"} {
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(all.texts)), func(s string) bool { return strings.Contains(s, want) }),
			"nothing has said %q: do the runs still show what they did?", want)
	}
	t.Logf("%d texts and %d choices", len(all.texts), len(all.choices))
	require.Empty(t, all.untranslated(t), "texts of the engine without a line in internal/locktest/chinese/engine.go")
}

// draws is how many schedules of each lock are drawn. They need not reach every
// text: TestWhatTheSourcesSayHasChinese finds all.
const draws = 12

// playable is the world of an address, with at most as many contenders as
// somebody who plays the scheduler may have.
func playable(a locks.Address) explore.World {
	w := a.World()
	w.Contenders = min(w.Contenders, 6)
	return w
}

// TestWhatTheSourcesSayHasChinese reads the texts from the sources of the engine
// and of the page.
func TestWhatTheSourcesSayHasChinese(t *testing.T) {
	lines := sentences(t)
	used := make(map[string]bool)
	check := func(template, from string) {
		if !regexp.MustCompile(`\pL`).MatchString(strings.ReplaceAll(template, hole, "")) {
			return // nothing to translate
		}
		var parts []string
		for _, p := range strings.Split(template, hole) {
			parts = append(parts, regexp.QuoteMeta(p))
		}
		pattern := regexp.MustCompile(`^(?s:` + strings.Join(parts, ".*") + `)$`)
		found := false
		for _, en := range lines {
			if pattern.MatchString(en) {
				found, used[en] = true, true
			}
		}
		assert.True(t, found, "%s says %q, and internal/locktest/chinese/engine.go has no line for it", from, strings.ReplaceAll(template, hole, "{}"))
	}
	root := filepath.Join("..", "..", "..")
	found := 0
	for _, dir := range []string{"internal/explore", "internal/explore/player", "internal/explore/film", "internal/explore/steps",
		"internal/museum/scenes", "docs/lab/lab", "docs/lab/locks", "docs/lab/engine"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, dir)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && notInThePage[dir+"/"+filepath.Base(file)] == "" {
				for _, text := range textsOf(t, file) {
					if strings.HasPrefix(text, filepath.Base(dir)+": ") {
						continue // an error of a lock, which has its package's prefix, stays what it is
					}
					found++
					check(text, file)
				}
			}
		}
	}
	require.Greater(t, found, 80, "this test finds no texts")
	// A kind of violation is before its text, and alone on the page.
	words, err := os.ReadFile(filepath.Join("..", "page", "strings.js"))
	require.NoError(t, err)
	_, zh, _ := strings.Cut(string(words), "\n  zh: {\n")
	kinds := slices.Concat(explore.Kinds, []explore.Kind{explore.Outlived})
	require.Len(t, regexp.MustCompile(`"violation\.[^"]+":`).FindAllString(zh, -1), len(kinds))
	for _, kind := range kinds {
		check(string(kind)+": "+hole, "the explorer")
		name := strings.TrimSuffix(chinese.Engine.Text(string(kind)+": x"), "：x")
		assert.Contains(t, zh, fmt.Sprintf("%q: %q", "violation."+string(kind), name), "docs/lab/page/strings.js has another word for it")
	}
	scripts, err := filepath.Glob(filepath.Join("..", "page", "*.js"))
	require.NoError(t, err)
	errors := 0
	for _, file := range scripts {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`new Error\((.*)\)`).FindAllStringSubmatch(string(b), -1) {
			template := ""
			for _, literal := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(m[1], -1) {
				text, err := strconv.Unquote(literal)
				require.NoError(t, err)
				template += hole + text
			}
			if m[1] != `"stopped"` { // what a reader stops is not an error
				check(strings.TrimPrefix(template, hole)+hole, file)
				errors++
			}
		}
	}
	require.Greater(t, errors, 8, "this test finds no errors of the page")
	for _, en := range lines {
		assert.True(t, used[en], "nothing says %q any more, which is in internal/locktest/chinese/engine.go", en)
	}
}

// notInThePage are files whose texts no reader of the page sees.
var notInThePage = map[string]string{
	"internal/explore/player/trace.go": "its errors are of files that Go reads",
	"internal/explore/parts.go":        "a search in several processes",
	"docs/lab/locks/link.go":           "the page reads addresses with link.js",
	"docs/lab/locks/task.go":           "titles, which are in both languages",
}

// hole is in a template where something is filled in.
const hole = "\x00"

var verb = regexp.MustCompile(`%[+#]?[a-z]`)

// textsOf finds the texts of a file: formats and errors, what a Violation says,
// notes, and the names of what is Known. A text that a panic says ends the engine
// and is for us.
func textsOf(t *testing.T, file string) (list []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "String" {
			continue // for logs and terminals
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := nameOf(n.Fun)
				switch {
				case name == "panic":
					return false
				case name == "Sprintf" || name == "Errorf":
					list = append(list, templates(n, decl)...)
				case name == "New" && nameOf(n.Fun.(*ast.SelectorExpr).X) == "errors", name == "impossible":
					list = append(list, templates(n.Args[0], decl)...)
				case strings.EqualFold(name, "note") && len(n.Args) >= 2:
					list = append(list, templates(n.Args[1], decl)...)
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					kv, ok := e.(*ast.KeyValueExpr)
					if ok && (nameOf(n.Type) == "Violation" && nameOf(kv.Key) == "What" || nameOf(n.Type) == "Known" && nameOf(kv.Key) == "Name") {
						list = append(list, templates(kv.Value, decl)...)
					}
				}
			}
			return true
		})
	}
	return slices.DeleteFunc(list, func(s string) bool {
		return s == "error "+hole // a code of the server, which stays what it is
	})
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// templates are the texts that an expression may be, with holes. A variable may
// be each text that its function gives it.
func templates(e ast.Expr, in ast.Node) (list []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
	case *ast.BinaryExpr:
		for _, x := range templates(e.X, in) {
			for _, y := range templates(e.Y, in) {
				list = append(list, x+y)
			}
		}
		return list
	case *ast.CallExpr:
		if name := nameOf(e.Fun); name == "Sprintf" || name == "Errorf" {
			for _, format := range templates(e.Args[0], in) {
				list = append(list, verb.ReplaceAllString(format, hole))
			}
			return list
		}
	case *ast.Ident:
		ast.Inspect(in, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
				for i := range a.Lhs {
					if nameOf(a.Lhs[i]) == e.Name {
						list = append(list, templates(a.Rhs[i], &ast.BlockStmt{})...)
					}
				}
			}
			return true
		})
		if len(list) > 0 {
			return list
		}
	}
	return []string{hole}
}

// sentences are the English halves of the engine's book, whose other halves are checked
// on the way.
func sentences(t *testing.T) (en []string) {
	t.Helper()
	english := regexp.MustCompile(`[a-z]{2,} [a-z]{2,}`)
	for text, twin := range chinese.Engine.Table() {
		require.Regexp(t, `[\p{Han}：]`, twin)
		require.NotRegexp(t, english, chinese.Verb.ReplaceAllString(twin, ""), "English in the Chinese")
		en = append(en, text)
	}
	return en
}

var (
	literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	han     = regexp.MustCompile(`\p{Han}`)
	quoted  = regexp.MustCompile(`Quote: +"(?:[^"\\]|\\.)*"`) // the articles' own words
	narrow  = regexp.MustCompile(`\p{Han}[,;:!?()]|[,;:!?()]\p{Han}`)
	// The last cell of the glossary's rows has the words that the project does not use.
	avoided = regexp.MustCompile(`(?m)^\|.*\| ([^|]*) \|$`)
	// These the glossary has as words of the articles, or they are everyday words that
	// the lab had for a term: 创建, 拿到锁, 释放锁, 击鼓传花.
	old = []string{"建立节点", "建立自己", "已建立", "得到锁", "解锁", "没有了", "伐鼓传花"}
)

// avoid returns the words that the lab does not use.
func avoid(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../glossary.zh-CN.md")
	require.NoError(t, err)
	words := slices.Clone(old)
	for _, row := range avoided.FindAllStringSubmatch(string(b), -1) {
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			words = append(words, word[1])
		}
	}
	require.Greater(t, len(words), len(old)+10, "words in the glossary")
	return words
}

// offends returns the Chinese strings of a source that have one of the words, or
// punctuation of half the width.
func offends(source string, words []string) (list []string) {
	for _, text := range literal.FindAllString(quoted.ReplaceAllString(source, ""), -1) {
		if !han.MatchString(text) {
			continue
		}
		bad := narrow.FindString(text)
		if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(text, w) }); i >= 0 {
			bad = words[i]
		}
		if bad != "" {
			list = append(list, bad+" in "+text)
		}
	}
	return list
}

// TestTheLabsChineseFollowsTheGlossary: the same words on the page, in the captions and in
// the pages of the Chinese edition, and full-width punctuation.
func TestTheLabsChineseFollowsTheGlossary(t *testing.T) {
	words := avoid(t)
	require.Empty(t, offends(`{At: ms, Quote: "当前一个子节点被删除时,重新执行第四步", Text: Text{"It waits.", "{0} 建立连接，并监听 /lock（父节点）。"}}`, words))
	for _, bad := range []string{"节点已删除,等待者醒来。", "父节点(队列)", "得到应答:{0}", "它请求建立节点。", "它监视父节点。", "响应丢失", "防护令牌", "伐鼓传花"} {
		require.Len(t, offends(`["text", "`+bad+`"]`, words), 1, bad)
	}

	var sources []string
	for _, pattern := range []string{"../page/*.js", "../locks/*.go", "../../../internal/museum/scenes/*.go", "../../../internal/locktest/chinese/engine.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		sources = append(sources, files...)
	}
	found := 0
	for _, file := range sources {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		found += len(han.FindAllString(string(b), -1))
		assert.Empty(t, offends(string(b), words), "%s: docs/glossary.zh-CN.md has the words to use", file)
	}
	require.NotZero(t, found)
}

// TestAButtonThatIsNamedIsThere: a caption or a note names a button of the page between
// quotation marks.
func TestAButtonThatIsNamedIsThere(t *testing.T) {
	b, err := os.ReadFile("../page/strings.js")
	require.NoError(t, err)
	named := 0
	for _, l := range locks.All() {
		texts := []locks.Text{l.Note}
		if l.Story != nil {
			for _, s := range l.Story.Stops {
				texts = append(texts, s.Text)
			}
		}
		for _, text := range texts {
			for _, button := range regexp.MustCompile(`“([^”]+)”`).FindAllStringSubmatch(text.En+text.Zh, -1) {
				named++
				assert.Contains(t, string(b), `: "`+button[1]+`"`, "%s: %s", l.Name, text)
			}
		}
	}
	require.NotZero(t, named)
}
