package main

import (
	"bytes"
	"errors"
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
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/locktest/broken"
	"example.com/zklock/internal/locktest/chinese"
	"example.com/zklock/internal/locktest/chinese/chinesetest"
)

// A text is a string in a source, with %s for what is put into it between two of its
// parts, and %s in front of what is added to a string.
type sentence struct{ place, words string }

// texts are the sentences in Go files: their strings with two words or more. The
// names of cases are left out, and what only a programmer reads: what panics.
func texts(t *testing.T, files ...string) (list []sentence) {
	t.Helper()
	fset := token.NewFileSet()
	constants := make(map[string]string)     // of the packages
	counted := make(map[*ast.ValueSpec]bool) // a constant counts where it is used
	var parsed []*ast.File
	for _, file := range files {
		f, err := parser.ParseFile(fset, file, nil, 0)
		require.NoError(t, err)
		parsed = append(parsed, f)
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if i >= len(spec.Values) {
						continue
					}
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						constants[name.Name], _ = strconv.Unquote(lit.Value)
						counted[spec] = true
					}
				}
			}
		}
	}
	var flat func(e ast.Expr) (string, bool)
	flat = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			if e.Kind == token.STRING {
				s, err := strconv.Unquote(e.Value)
				return s, err == nil
			}
		case *ast.Ident:
			if s, ok := constants[e.Name]; ok {
				return s, true
			}
		case *ast.ParenExpr:
			return flat(e.X)
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				x, isX := flat(e.X)
				y, isY := flat(e.Y)
				return x + y, isX || isY
			}
		}
		return "%s", false
	}
	for _, f := range parsed {
		add := func(n ast.Node, words string) {
			words = strings.TrimSpace(words)
			if strings.Contains(words, " ") && strings.ContainsFunc(chinese.Verb.ReplaceAllString(words, ""), unicode.IsLetter) {
				list = append(list, sentence{fset.Position(n.Pos()).String(), words})
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.ValueSpec:
				if counted[n] {
					return false
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Name" || key.Name == "unexplored") {
					return false
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" {
					return false
				}
			case *ast.AssignStmt:
				if n.Tok == token.ADD_ASSIGN {
					if s, ok := flat(n.Rhs[0]); ok {
						add(n, "%s"+s)
						return false
					}
				}
			case *ast.BinaryExpr, *ast.BasicLit, *ast.Ident:
				if s, ok := flat(n.(ast.Expr)); ok {
					add(n, s)
					return false
				}
			}
			return true
		})
	}
	return list
}

// sources are the Go files of a folder without its tests.
func sources(t *testing.T, dir string) (files []string) {
	t.Helper()
	all := must(filepath.Glob(filepath.Join(dir, "*.go")))
	for _, file := range all {
		if !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
	}
	require.NotEmpty(t, files)
	return files
}

// unspoken are strings of the command that no student reads as a sentence: files for
// programs, the lecturer's table, whose columns the page explains, what is compared
// with, and the word for another program.
var unspoken = []string{
	// Commands.
	"-lock docs/exercises/%s", "go test ./docs/exercises/%s\n%s", "go run ./docs/lab -lock %s -open -scene '%s'",
	// For programs.
	"-ldflags=-s -w", "%.1f s", "%d GiB", "%d MiB", "fatal error:", "exercises: limited:", "exercises: replay:", "Received unexpected error:", "module example.com/zklock",
	`\((\w+\.go:\d+( < )?)+\)`, "-lock %s", `(?m)^## (?:Hint|提示) .*\n`,
	// The beginning of a refusal, which is compared with; its whole has a twin.
	neverBegan, noEnd,
	"%d %ss", // of count: "%d folders" and "%d attempts" have a twin
}

// everything is the book as one table.
func everything() map[string]string {
	all := chinese.Messages.Table()
	maps.Copy(all, words)
	return all
}

func missing(list []sentence, book map[string]string) (none []string) {
	for _, s := range list {
		_, ok := book[s.words]
		if !ok && !slices.Contains(unspoken, s.words) {
			none = append(none, fmt.Sprintf("%s: %q", s.place, s.words))
		}
	}
	return none
}

// TestEverySentenceOfTheCommandHasAChineseTwin: and its twin takes the same values.
func TestEverySentenceOfTheCommandHasAChineseTwin(t *testing.T) {
	var files []string
	for _, file := range sources(t, ".") {
		if filepath.Base(file) != "words.go" {
			files = append(files, file)
		}
	}
	list := texts(t, files...)
	require.Greater(t, len(list), 100, "the sentences are not found")
	require.Empty(t, missing(list, book.Table()), "write the twin of each into the table of words.go")
	for english, twin := range book.Table() {
		require.NoError(t, chinese.Check(english, twin))
		require.True(t, strings.ContainsFunc(twin, func(r rune) bool { return unicode.Is(unicode.Han, r) || strings.ContainsRune("，。：、", r) }) || english == twin || !strings.ContainsFunc(chinese.Verb.ReplaceAllString(twin, ""), unicode.IsLetter), "%q: its twin is not Chinese: %q", english, twin)
		require.NotRegexp(t, `\p{Han}[,;:?!]`, twin, "punctuation between Chinese words is full-width")
	}
}

// TestASentenceWithoutATwinIsFound plants sentences in a copy.
func TestASentenceWithoutATwinIsFound(t *testing.T) {
	find := func(code string) []string {
		file := filepath.Join(t.TempDir(), "x.go")
		require.NoError(t, os.WriteFile(file, []byte("package main\n\nconst some = \"a constant sentence\"\n\nfunc f(a *app, n int, s string) error {\n"+code+"\n}\n"), 0o644))
		return missing(texts(t, file), book.Table())
	}
	require.Empty(t, find(`a.print("\nIt has printed:\n"); return fmt.Errorf("there is no folder %s", s)`))
	for _, planted := range []string{
		`a.print("a new sentence of %d words\n", n)`, `return fmt.Errorf("%s is nowhere", s)`, `return refuse("%s: " + "this will not do", s)`,
		`a.print("It has printed\n")`, `s += " and it goes on"`, `a.print(some)`, `a.print("%s", word(s, "not yet begun"))`,
	} {
		require.Len(t, find(planted), 1, "%s", planted)
	}
	require.Error(t, chinese.Check("%s of %d", "第 %d 个"))
	require.Error(t, chinese.Check("%s of %d", "%d 和 %s"), "exchanged without numbers")
	require.NoError(t, chinese.Check("%s of %d", "%[2]d 的 %[1]s"))
	require.NoError(t, chinese.Check("it fails: %w", "失败：%v"))
}

// spoken matches what grades.html says, and what is text and does not go through Say.
var (
	spoken = regexp.MustCompile(`\.Say "([^"]+)"`)
	unsaid = regexp.MustCompile(`(?s)<style>.*?</style>|<code>go [^<{]*</code>|\{\{.*?\}\}|<[^>]*>`)
)

// TestEverySentenceOfTheGradesHasAChineseTwin: those of the page for a lecturer.
func TestEverySentenceOfTheGradesHasAChineseTwin(t *testing.T) {
	all := book.Table()
	found := spoken.FindAllStringSubmatch(pageText, -1)
	require.Greater(t, len(found), 30)
	for _, m := range found {
		if strings.ContainsFunc(chinese.Verb.ReplaceAllString(m[1], ""), unicode.IsLetter) {
			require.Contains(t, all, m[1], "write its twin into the table of words.go")
		}
	}
	letters := regexp.MustCompile(`\pL{2,}`)
	require.NotRegexp(t, letters, unsaid.ReplaceAllString(pageText, " "), "it goes through Say")
	require.Regexp(t, letters, unsaid.ReplaceAllString(pageText+"<p>and more", " "))
}

// TestThePagesSayWhatTheCommandSays: the titles of the exercises and of their stages.
func TestThePagesSayWhatTheCommandSays(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^# (?:Exercise|练习) \d+(?:: |：)(.*)$`)
	equal := 0
	for _, e := range exercises {
		en, zh := text(t, e.dir(rootOf(t)), "README.md"), text(t, e.dir(rootOf(t)), "README.zh-CN.md")
		if heading.FindStringSubmatch(en)[1] == e.title { // some headings are shorter
			require.Equal(t, words[e.title], heading.FindStringSubmatch(zh)[1])
			equal++
		}
		for i, s := range e.stages() {
			require.Contains(t, zh, fmt.Sprintf("\n| %d %s | %d 分钟 |", i+1, words[s.title], s.minutes), "%v", e)
		}
	}
	require.Greater(t, equal, 5)
}

// TestEveryCaseHasAGloss: a student who reads Chinese meets the names of the cases.
func TestEveryCaseHasAGloss(t *testing.T) {
	book := chinese.Messages.Table()
	var without []string
	for _, e := range exercises {
		for _, name := range e.names() {
			if !strings.HasPrefix(book[name], name+"（") {
				without = append(without, name)
			}
		}
	}
	require.Empty(t, without, "write the gloss of each into internal/locktest/chinese/cases.go")
}

// TestThePagesGlossACaseAsTheGraderDoes: on the Chinese pages of the other locks and of the
// exercises.
func TestThePagesGlossACaseAsTheGraderDoes(t *testing.T) {
	root := rootOf(t)
	var pages []string
	for _, pattern := range []string{"docs/other-locks/*.zh-CN.md", "docs/exercises/*.zh-CN.md", "docs/exercises/_*/*.zh-CN.md"} {
		pages = append(pages, must(filepath.Glob(filepath.Join(root, pattern)))...)
	}
	found := 0
	for _, page := range pages {
		said := text(t, page)
		for _, e := range exercises {
			for _, name := range e.names() {
				for _, m := range regexp.MustCompile(regexp.QuoteMeta(name)+`（[^）]*）`).FindAllString(said, -1) {
					if m != name+"（同上）" {
						require.Equal(t, book.Text(name), m, page)
						found++
					}
				}
			}
		}
	}
	require.Greater(t, found, 5)
}

// A said test is one that keeps what testify says of it.
type saidTest struct{ words string }

func (s *saidTest) Errorf(format string, args ...any) { s.words += fmt.Sprintf(format, args...) }

// TestWhatTestifySaysHasAChineseTwin: it is shown below the grader's own words.
func TestWhatTestifySaysHasAChineseTwin(t *testing.T) {
	var s saidTest
	err, other := errors.New("one"), errors.New("other")
	for _, fails := range []bool{
		assert.Error(&s, nil), assert.ErrorIs(&s, nil, err), assert.ErrorIs(&s, other, err), assert.NotErrorIs(&s, err, err), assert.ErrorContains(&s, err, "x"),
		assert.Equal(&s, 1, 2), assert.EqualValues(&s, 1, 2), assert.NotEqual(&s, 1, 1), assert.True(&s, false), assert.False(&s, true), assert.Len(&s, []int{1}, 2),
		assert.Empty(&s, "x"), assert.NotEmpty(&s, ""), assert.Contains(&s, "x", "y"), assert.Subset(&s, []int{1}, []int{2}), assert.Greater(&s, 1, 2), assert.GreaterOrEqual(&s, 1, 2),
		assert.Less(&s, 2, 1), assert.LessOrEqual(&s, 2, 1), assert.Positive(&s, 0), assert.Zero(&s, 1), assert.NotZero(&s, 0), assert.Nil(&s, err), assert.NotNil(&s, nil),
		assert.ElementsMatch(&s, []int{1}, []int{2}),
	} {
		require.False(t, fails)
	}
	english := regexp.MustCompile(`[A-Za-z]+ [a-z]+`)
	lines := 0
	for line := range strings.Lines(s.words) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "Error:"))
		switch {
		case strings.HasPrefix(line, "Error Trace:"), strings.Contains(line, ".go:"), strings.HasPrefix(line, "([]"), strings.HasPrefix(line, "(int)"):
		case line != "":
			require.NotRegexp(t, english, book.Text("    "+line), "write its twin into internal/locktest/chinese")
			lines++
		}
	}
	require.Greater(t, lines, 30)
}

// TestWhatIsSaidOfALockIsSaidOfASchedule: exercise 11 says of a schedule that does not come
// to its end what the others say of a lock.
func TestWhatIsSaidOfALockIsSaidOfASchedule(t *testing.T) {
	all := book.Table()
	found := 0
	for _, s := range texts(t, sources(t, filepath.Join(rootOf(t), "internal", "locktest", "judge"))...) {
		of := strings.Replace(s.words, "the lock", "the schedule", 1)
		if twin, ok := all[s.words]; ok && of != s.words {
			require.Contains(t, all, of)
			require.NotContains(t, strings.Replace(twin, "锁", "调度", 1), "锁卡住")
			require.Contains(t, all[of], "调度")
			found++
		}
	}
	require.Greater(t, found, 8)
}

// notSaid are strings of the graders that no student reads as a sentence.
var notSaid = []string{
	// Parts of the names of cases, which have their gloss as a whole.
	"%d random schedules of %d contenders", "%d random schedules of %d contenders in one session",
	"%d random schedules of %d contenders in one session that lock three times, and at some moment it ends",
	"%d random schedules of two goroutines of one owner, and another owner", "%s, and a number has one digit more than the one before",
	"%s, and at some moment %s", "%s, and at some moment a day passes", "%s, and at some moment one of these faults", "%s, one of which only tries",
	"a connection breaks", "a ctx ends", "a reply is lost", "a request is lost", "a session ends",
	// Parts of sentences that have their twins as a whole, for one and for several.
	"%s of %v does not return", // "%s does not return" has a twin, and so has "Unlock of %s"
	"; the recipe names the nodes read- and write-, so that programs of different authors share a lock", "deletes a node", "%d fault%s (%s)",
	", at %s", ", in %s", "in %s", // a place in the code, which comes after the sentence
	// Notes in the diagram of a schedule.
	"the first attempt to connect is refused", "lock fails", "holds the lock", "waits forever", "two holders",
	"the session of %v has expired, and its nodes are deleted", "is cut off", "is back", "is slow to arrive", "is carried out, the reply is slow",
	"is carried out, the reply is lost with the connection", "%v of %v %s", "created by %s",
	// Names of calls, data, and what Go, testify or the processes say to each other.
	"Acquire, Release", "Lock, Unlock", "by a", "by a, late", "by b", "go run ./docs/lab -open -scene %s",
	"Error Trace", "Error Trace:", "LOCKTEST_WORKER=%s %s", "locktest-report %s", "locktest-report  %s", "WARNING: DATA RACE", "created by", "synctest bubble",
	"all goroutines in bubble are blocked", "main bubble goroutine has exited",
	// For the authors: a flag, and what is wrong with a mutant.
	"run the cases in this process, for a debugger: a lock that hangs or panics ends the test", "the place that mutant %d changes is %d times in step 3, not once:\n%s",
}

func isBug(s string) bool {
	return slices.ContainsFunc(broken.Bugs, func(b broken.Bug) bool { return b.Name == s })
}

// isCode says of a string that it is a piece of a program, as the mutants are.
func isCode(s string) bool {
	return strings.Contains(s, ":= ") || strings.Contains(s, " = ") || strings.Contains(s, "return l.") || strings.Contains(s, "if ") && strings.Contains(s, "{") ||
		strings.HasPrefix(s, "l.conn.") || strings.HasPrefix(s, "|| errors.") || strings.HasPrefix(s, "```")
}

// TestEverySentenceOfTheGradersHasAChineseTwin: those that a student of an exercise
// can meet. The cases of zklock alone are not among them.
func TestEverySentenceOfTheGradersHasAChineseTwin(t *testing.T) {
	root := rootOf(t)
	var files []string
	for _, name := range []string{"cases", "contexts", "cost_cases", "fault_cases", "lostreplies", "owners_cases", "processes", "queue_cases", "world"} {
		files = append(files, filepath.Join(root, "internal", "locktest", name+".go"))
	}
	files = append(files, sources(t, filepath.Join(root, "internal", "locktest", "judge"))...)
	files = append(files, filepath.Join(root, "internal", "locktest", "stage", "stage.go"))
	files = append(files, sources(t, filepath.Join(root, "docs", "exercises", "suites"))...)
	files = append(files, filepath.Join(root, "docs", "exercises", "killing", "killing.go"), filepath.Join(root, "internal", "museum", "stage.go"))
	files = append(files, sources(t, filepath.Join(root, "docs", "exercises", "breaking"))...)
	list := texts(t, files...)
	require.Greater(t, len(list), 900, "the sentences are not found")
	list = slices.DeleteFunc(list, func(s sentence) bool {
		return slices.Contains(notSaid, s.words) || isBug(s.words) || isCode(s.words)
	})
	require.Empty(t, missing(list, book.Table()), "write the twin of each into internal/locktest/chinese")
}

// TestTheLanguageFollowsTheReader: the flag, else LC_ALL, else LANG, else English.
func TestTheLanguageFollowsTheReader(t *testing.T) {
	t.Setenv("EXERCISES_CACHE", t.TempDir())
	said := func(lcAll, lang string, args ...string) string {
		t.Setenv("LC_ALL", lcAll)
		t.Setenv("LANG", lang)
		out, err := called(t, args...)
		if err != nil {
			out += err.Error()
		}
		return out
	}
	require.Contains(t, said("", "zh_CN.UTF-8", "hint", "1"), "提示 1（共 3 条）\n\n")
	require.Contains(t, said("zh_CN.UTF-8", "C", "hint", "1"), "提示 2（共 3 条）")
	for _, english := range []string{said("", "", "hint", "1"), said("en_US.UTF-8", "zh_CN.UTF-8", "hint", "1"), said("", "zh_CN.UTF-8", "hint", "1", "-lang", "en")} {
		require.Contains(t, english, "Hint 1 of 3\n\nOnly one")
		require.NotRegexp(t, `\p{Han}`, english)
	}
	require.Contains(t, said("", "", "hint", "-lang=zh", "1"), "提示 1（共 3 条）")
	require.Contains(t, said("", "", "hint", "-lang=fr", "1"), "give en or zh")

	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "练习 1：一个临时节点\n\n**目标。**")
	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "docs/exercises/_01-naive/README.zh-CN.md")
	for _, args := range [][]string{{"help"}, {"nothing"}, {"hint"}, {"hint", "99"}, {"hint", "1", "2"}, {"watch", "-x"}, {"grade"}, {"grade", "-j", "0", "x"}, {"show", "7"}, {"next"}} {
		require.Empty(t, chinesetest.English(said("", "zh_CN.UTF-8", args...)), "%v", args)
	}
}

// TestAResultSpeaksChinese: the first lines that a student sees. The results are
// those of a stub, so that nothing need be built here.
func TestAResultSpeaksChinese(t *testing.T) {
	var out bytes.Buffer
	a := &app{root: rootOf(t), out: &out, language: "zh"}
	e := exercises[2]
	at := &attempt{exercise: e, dir: e.dir(a.root)}
	r := &result{Exercise: 3, Of: 15, Cases: e.cases(), Unsafe: true, Parts: []part{{Group: "safety", Of: 5}, {Group: "cost", Of: 2}}, Failed: []failure{{
		Case: "the holder has a node and it is ephemeral", Group: "liveness", Words: "Lock of the holder fails\n    predecessor: not written yet", Printed: "the waiter waits on a watch",
	}}}
	a.failed(e, at, r)
	require.Equal(t, "\n没有通过（活性）：the holder has a node and it is ephemeral（持有者有节点，而且是临时节点）\n    持有者的 Lock 失败\n        predecessor：尚未编写\n\n它打印了：\n    the waiter waits on a watch\n", out.String(), "what a lock prints is its own")
}

// TestFinishedMessagesSpeakChinese: messages as the wrong attempts of testdata get
// them, with names, requests and other messages put into them.
func TestFinishedMessagesSpeakChinese(t *testing.T) {
	for _, message := range []string{
		"Lock of the holder fails\n    naive: not written yet",
		"the waiter polls: it has sent 1202 requests in 1m0s while it had to wait, and has set no watch; set a watch and sleep until its event comes",
		"never happens: the waiter's read is held back, or it waits:\n    the nodes that are there: lock\n    no contender has a watch: nothing will wake one that waits",
		"the lock was let go while the waiter was about to wait (its read number 2 came after the release), and Lock fails",
		"contender 3 gets in before contender 1, which came earlier: the contender whose node has the smallest number is the next",
		"its request 3, getData, is lost with its connection, Lock has failed, and it leaves its node behind: it blocks every contender that comes later; delete the node before you return an error",
		"the ctx of the waiter in the middle has ended, and Lock returns an error that does not wrap ctx.Err(): the caller cannot find out why (fmt.Errorf with %w)\n    Target error should be in err chain:\n    expected: \"context canceled\"",
		"the reply to create was lost with the connection, and Lock returns the error; the node may be there although create has failed: give each node an id of its own, in its data, and after zk.ErrConnectionClosed look for the node that has it",
		"Write with token 33 returns no error, and must return ErrStale: token 34 has been seen: an old token has written",
		"a reader has got the lock while another contender holds it: two holders; it must wait: a writer holds the lock; the queue goes by the number at the end of the name, and not by the name: read-0000000001 sorts before write-0000000000 and comes after it",
		"a candidate that has resigned writes, and Write returns no error: an old token has written, and the next leader's data may be overwritten",
		"the lock hangs: it waits for a mutex that another goroutine keeps, which waits itself; let go of a mutex before you wait for the lock or for a reply. It is in _04-reentrant.(*Mutex).Lock. Under way: Lock",
		"it has not come to an end in 1m0s", "lock.go:3:8 imports os, which a lock does not need; it may import github.com/go-zookeeper/zk, and the packages of the standard library that README.md lists",
	} {
		require.Empty(t, chinesetest.English(book.Text(message)), "%s", message)
	}
	require.NotEmpty(t, chinesetest.English(book.Text("a sentence that is in no book")))
}
