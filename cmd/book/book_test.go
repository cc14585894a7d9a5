// Tests of the book of this checkout, which is made once, and of books of small pages.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/diagram"
	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/film"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/nodetest"
	"example.com/zklock/internal/loopback"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

var bookOfTests *book

// theBook is the book of this checkout, which the first test that needs it makes.
func theBook(t *testing.T) *book {
	if bookOfTests == nil {
		bookOfTests = testenv.Must(newBook(t, "../.."))(t)
	}
	return bookOfTests
}

var (
	hrefOrSrc   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	idAttribute = regexp.MustCompile(` id="([^"]+)"`)
)

// TestNoLinkOfTheBookIsDead follows each link of each file. newBook checks only those that are in a page's source.
func TestNoLinkOfTheBookIsDead(t *testing.T) {
	b := theBook(t)
	ids := make(map[string]map[string]bool)
	for name, text := range b.files {
		if path.Ext(name) == ".html" {
			require.NotRegexp(t, `data-scene=""|(?m)^(<p>)?\| `, string(text), "a frame without a scene, or rows without the head of their table, in %s", name)
			ids[name] = make(map[string]bool)
			for _, m := range idAttribute.FindAllStringSubmatch(string(text), -1) {
				ids[name][html.UnescapeString(m[1])] = true
			}
		}
	}
	followed := 0
	for name := range ids {
		for _, m := range hrefOrSrc.FindAllStringSubmatch(string(b.files[name]), -1) {
			address := html.UnescapeString(m[1])
			if strings.Contains(address, "://") {
				continue
			}
			file, fragment, _ := strings.Cut(address, "#")
			fragment = testenv.Must(url.PathUnescape(fragment))(t)
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			followed++
			require.True(t, b.files[target] != nil, "%s links %s", name, address)
			require.True(t, fragment == "" || ids[target][fragment], "%s links %s: no such place", name, address)
		}
	}
	require.Greater(t, followed, 20_000)
}

func TestADeadLinkIsFound(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for _, step := range steps {
		write(step+"lock.go", "package a\n")
	}
	write("bench/main.go", "package main\n")
	write("docs/bugs.md", "# Bugs\n\n## Here\n\n## Here\n")
	write("README.md", "# A\n\n[a](docs/bugs.md#here-1) [b](#a) [c](bench/main.go#L1)\n")
	b := testenv.Must(newBook(t, root))(t)
	require.Contains(t, string(b.files["index.html"]), `href="bench/main.go.html#L1"`)
	write("README.md", "# A\n\n[a](nowhere.md) [b](docs/bugs.md#nowhere) [c](#nowhere) [d](bench/) [e](bench/main.go#L9) "+
		"[f](bench/main.go#x) ![g](no.svg)\n\n```scene Z9\n```\n\n```go bench/main.go Nothing\n```\n")
	_, err := newBook(t, root)
	require.EqualError(t, err, "links that lead nowhere:"+strings.Join([]string{
		"", "nowhere.md: no such file", "docs/bugs.md#nowhere: no such heading", "#nowhere: no such heading",
		"bench/: a folder without a README", "bench/main.go#L9: no such line", "bench/main.go#x: no such line",
		"no.svg: no such picture", "Z9: no such scene", "bench/main.go Nothing: no such function",
	}, "\nREADME.md: "))
	require.Empty(t, chinesetest.English(i18n.TextOf(err).In(i18n.Chinese)))
	write("README.md", "# A\n")
	write("docs/new.md", "# New\n")
	require.ErrorContains(t, testenv.Err(newBook(t, root)), "docs/new.md is in no chapter")
}

var (
	// What the source of a page has that is not for its reader.
	notText = regexp.MustCompile(`(?s:<!--.*?-->)|<br/?>|<div class="page"></div>` +
		`|\]\([^()\s]*(?:\([^()]*\))?[^()\s]*\)` + // the address of a link: ](bugs.md#a1)
		`|(?m:^ *\d+\. )` + "|(?m:^ *```[^\n]*$)") // the number of an item, and a fence
	// What the source of a diagram has besides words. Of a sequence: "participant A as", "Note over A,B:", "A->>B:".
	grammar = regexp.MustCompile(`(?m)^ *(?:sequenceDiagram|flowchart \w+|participant \w+ as` +
		`|participant|Note over [\w,]+:|subgraph \w+|end$|else\b|\w+?(?:-->>|->>|--x|-x|-\))\w+:)`)
	// Of a flowchart: "a --> b & c", a box's name before its label, "a --" and "--> b" around an arrow's label.
	flowMark = regexp.MustCompile(`(?m)^ +\w+ --> [\w& ]+$|\b\w+(?:\(\[|\["?)|^ +\w+ (?:--|-\.)|-?-> \w+(?: & \w+)*$|\.-> \w+$`)
	fence    = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")
	altText  = regexp.MustCompile(`^<img .*?alt="([^"]*)"`)
	element  = regexp.MustCompile(`<[^>]*>`)
	word     = regexp.MustCompile(`\p{Han}|[\p{L}\p{N}]+`)
)

// TestNothingIsLost: a page of the book has each word and each Chinese character at least as often as its source.
func TestNothingIsLost(t *testing.T) {
	b := theBook(t)
	total := 0
	for src, p := range b.pages {
		text := fence.ReplaceAllStringFunc(string(p.source), func(diagram string) string { // its words alone
			return flowMark.ReplaceAllString(grammar.ReplaceAllString(fence.FindStringSubmatch(diagram)[1], ""), " ")
		})
		inSource, inBook := make(map[string]int), make(map[string]int) // how many times each word is there
		for _, w := range word.FindAllString(html.UnescapeString(notText.ReplaceAllString(text, " ")), -1) {
			inSource[w]++
			total++
		}
		shown := element.ReplaceAllStringFunc(p.body, func(e string) string {
			if strings.HasPrefix(e, "<i class=") || e == "</i>" { // in code, where it may be in a word
				return ""
			}
			if m := altText.FindStringSubmatch(e); m != nil {
				return m[1]
			}
			return " "
		})
		for _, w := range word.FindAllString(html.UnescapeString(shown), -1) {
			inBook[w]++
		}
		for w, n := range inSource {
			require.GreaterOrEqual(t, inBook[w], n, "%s: %q is missing in the book", src, w)
		}
	}
	require.Greater(t, total, 140_000)
}

// TestTheBookIsInTheOrderOfTheREADME: the pages that are linked in its section "Learn it" come in the same order.
func TestTheBookIsInTheOrderOfTheREADME(t *testing.T) {
	b := theBook(t)
	_, learn, ok := strings.Cut(string(b.pages["README.md"].source), "\n## Learn it\n")
	require.True(t, ok)
	learn, _, _ = strings.Cut(learn, "\n## ")
	place := make(map[string]int)
	for i, p := range b.order {
		place[p.src] = i
	}
	last, checked := 0, 0 // the place of the page before, and the number of pages
	for _, m := range regexp.MustCompile(`(?m)^(?:\| |- .*?)\[[^\]]*\]\(([^)#]+)\)`).FindAllStringSubmatch(learn, -1) {
		src := m[1]
		if strings.HasSuffix(src, "/") {
			src += "README.md"
		}
		require.Contains(t, place, src)
		require.Greater(t, place[src], last, "%s comes too early in the book: chapters in cmd/book/pages.go", src)
		last, checked = place[src], checked+1
	}
	require.GreaterOrEqual(t, checked, 10)
}

func TestTheSwitchStaysOnTheSection(t *testing.T) {
	b := theBook(t)
	for src, p := range b.pages {
		if p.twin != nil {
			require.Len(t, p.twin.heads, len(p.heads), "%s has as many headings as its other edition", src)
		}
	}
	require.Contains(t, b.pages["docs/bugs.md"].body, `data-twin="a7latch-`)
}

func TestTheSearchFinds(t *testing.T) {
	b := theBook(t)
	type answer struct { // of testdata/search.js
		Term        string
		Hits, Names int
		Other       bool
		First       []string // titles
		Cut         []string // excerpts that are not a sentence or a cell, lack the query, or are hints
	}
	for _, c := range []struct {
		lang     i18n.Language
		query    string
		term     string // of the glossary, which is shown; "": none
		first    string // what is in the title of one of the first three hits
		atLeast  int    // the number of hits
		hasNames bool   // there are hits in the code, too
		isOther  bool   // the hits are in the other language
	}{
		{lang: i18n.English, query: "羊群效应", term: "herd effect", atLeast: 5},
		{lang: i18n.Chinese, query: "羊群效应", term: "herd effect", first: "A，三", atLeast: 5},
		{lang: i18n.English, query: "fencing token", term: "fencing token", atLeast: 10},
		{lang: i18n.English, query: "GetW", atLeast: 10, hasNames: true},
		{lang: i18n.English, query: "two holders", term: "two holders", first: "D3", atLeast: 20},
		{lang: i18n.Chinese, query: "lease", term: "lease", atLeast: 5, hasNames: true},
		{lang: i18n.English, query: "会话过期", atLeast: 1, isOther: true},
		{lang: i18n.English, query: "TryLock", atLeast: 10, hasNames: true},
		{lang: i18n.English, query: "herd", term: "herd effect", first: "Step 2: ", atLeast: 10, hasNames: true},
		{lang: i18n.English, query: "lease", term: "lease", first: "Step 5: a lease that ends", atLeast: 10, hasNames: true},
		{lang: i18n.Chinese, query: "惊群", term: "herd effect", first: "第 1 步", atLeast: 10},
	} {
		scripts := make(map[string]string)
		for _, name := range []string{"search.js", "glossary.js", "names.js", "texts.en.js", "texts.zh-CN.js"} {
			scripts[name] = string(b.files[name])
		}
		found := nodetest.Ask[answer](t, "page", scripts, [2]string{c.query, langTag(c.lang)}, site.Read(t, "cmd/book/testdata/search.js"))
		what := fmt.Sprintf("%s in %s: %+v", c.query, c.lang, found)
		require.GreaterOrEqual(t, found.Hits, c.atLeast, what)
		require.Equal(t, c.term, found.Term, what)
		require.Contains(t, strings.Join(found.First, "\n"), c.first, what)
		require.Equal(t, c.isOther, found.Other, what)
		require.Empty(t, found.Cut, what)
		require.Equal(t, c.hasNames, found.Names > 0, what)
	}
}

func TestTheBookIsAFolderOfItsOwn(t *testing.T) {
	b := theBook(t)
	dir := filepath.Join(t.TempDir(), "book")
	require.NoError(t, checkFolder(dir))
	require.Less(t, testenv.Must(b.writeTo(dir))(t), 15_000_000, "bytes")
	require.NoError(t, checkFolder(dir), "an older book is replaced")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.html"), nil, 0o644))
	_ = testenv.Must(b.writeTo(dir))(t)
	require.NoFileExists(t, filepath.Join(dir, "old.html"))
	require.FileExists(t, filepath.Join(dir, "docs", "bugs.zh-CN.html"))
}

// TestTheCommandsErrorsAreInBothLanguages: each is one line, and comes before the book is made.
func TestTheCommandsErrorsAreInBothLanguages(t *testing.T) {
	dir := t.TempDir()
	thesis, dangling := filepath.Join(dir, "thesis.txt"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(thesis, nil, 0o644))
	require.NoError(t, os.Symlink("nowhere", dangling))
	taken := testenv.Must(loopback.Listen("127.0.0.1:0"))(t)
	defer taken.Close()
	help, zh := new(strings.Builder), i18n.Chinese
	require.NoError(t, run(t.Context(), t, []string{"-help"}, help, help, &zh))
	require.Empty(t, chinesetest.Flags(help.String()))
	require.Contains(t, help.String(), "\n  -out 文件夹\n")
	for args, part := range map[string]i18n.Text{
		"x":                              "not understood",
		"-x":                             "not defined: -x",
		"-lang fr":                       "give en or zh",
		"-out " + dir:                    "is not a book",
		"-out " + dangling:               "cannot be written",
		"-out " + thesis + "/book":       "cannot be written",
		"-addr 0.0.0.0:0":                "not on loopback",
		"-addr :0":                       "not on loopback",
		"-addr example.com:0":            "not on loopback",
		"-addr nonsense":                 "not an address",
		"-addr " + taken.Addr().String(): "is taken",
	} {
		lang, said := i18n.English, new(strings.Builder)
		err := run(t.Context(), t, append([]string{"-lang", "zh"}, strings.Fields(args)...), said, said, &lang)
		require.ErrorContains(t, err, part.String(), args)
		argumentsAreRight := part == "cannot be written" || part == "is taken" // the machine does not allow it
		require.Equal(t, !argumentsAreRight, i18n.Status(err) == 2, args)
		text := i18n.TextOf(err)
		require.Contains(t, text.In(i18n.Chinese), part.In(i18n.Chinese), args)
		require.Empty(t, chinesetest.English(text.In(i18n.Chinese), "not a directory", "missing port in address"), args)
		require.NotContains(t, text.String()+text.In(i18n.Chinese), "\n")
		require.Equal(t, i18n.Chinese, lang)
		require.Empty(t, said.String(), "the error says it all")
	}
	require.FileExists(t, thesis)
}

func TestTheServedBookIsStrict(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = theBook(t).handler(server.Listener.Addr().String())
	server.Start()
	defer server.Close()
	for file, want := range map[string]int{"/": 200, "/docs/bugs.zh-CN.html": 200, "/02-herd-effect/": 200, "/book.js": 200, "/none": 404, "/../go.mod": 404} {
		resp := testenv.Must(http.Get(server.URL + file))(t)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, file)
		rules := resp.Header.Get("Content-Security-Policy")
		if want == 200 {
			require.Contains(t, rules, "default-src 'none'; script-src 'self' file:;")
			require.NotContains(t, rules, "unsafe")
		}
	}
}

// TestAFunctionIsWhereAPageSaysItIs: a link behind a function's name leads to its line, and beside the line
// are links to the sections that name it.
func TestAFunctionIsWhereAPageSaysItIs(t *testing.T) {
	b := theBook(t)

	l := b.listingOf("01-naive-ephemeral/lock.go")
	line := l.lines["TryLock"]
	require.Contains(t, strings.Split(l.text, "\n")[line-1], "TryLock(")
	require.Contains(t, b.pages["docs/bugs.md"].body, fmt.Sprintf("01-naive-ephemeral/lock.go.html#L%d", line))

	step3 := "03-sequential-predecessor/lock.go"
	enqueue := fmt.Sprintf("%s.html#L%d", step3, b.listingOf(step3).lines["enqueue"])
	require.Contains(t, b.pages["docs/reading-guide.md"].body, enqueue)
	require.Contains(t, b.pages["docs/reading-guide.zh-CN.md"].body, enqueue, "there the name is behind the link")

	by := `(?m)^<a id="L` + fmt.Sprint(line) + `".*<a class="by" lang="en" href="../docs/bugs\.html#a1-[^"]*" title="The bug museum">A1</a> ` +
		`<a class="by" lang="zh-CN" href="../docs/bugs\.zh-CN\.html#a1[^"]*" title="[^"]*">A1</a>`
	require.Regexp(t, by, string(b.files["01-naive-ephemeral/lock.go.html"]))
}

func TestACommentHasItsChineseBelowIt(t *testing.T) {
	for _, file := range []string{"01-naive-ephemeral/lock.go.html", "01-naive-ephemeral/index.zh-CN.html", "01-naive-ephemeral/next.html"} {
		require.Contains(t, string(theBook(t).files[file]),
			"faster</i><span class=\"note\" lang=\"zh-CN\">\n\t\t\t<b>别的竞争者抢先创建了</b></span>")
	}
	require.Contains(t, string(theBook(t).files["rows.js"]), `"theirs":["checkLocked()"],"zh":{"1":"predecessor 返回`)
}

// TestADiagramIsThatOfItsFilm: each diagram with a scene is drawn of the run whose film plays below it, and each of
// its arrows is a packet of the film.
func TestADiagramIsThatOfItsFilm(t *testing.T) {
	b := theBook(t)
	require.Empty(t, b.mismatched, "pages with a diagram below a scene that shows another run")
	require.Equal(t, len(scenes.WithScene), strings.Count(b.pages["docs/bugs.md"].body, `class="diagram" data-scene=`))
	for _, lock := range locks.Opening.Locks {
		require.Contains(t, string(b.files["films.js"]), `"lock\":\"`+lock)
	}
	for _, scene := range scenes.WithScene {
		l := testenv.Must(locks.Find(scene.ID))(t)
		play := testenv.Must(b.storedPlay(l.Open().String()))(t)
		s := diagram.Of(play.Trace)
		setInstants(s, play.Film)
		for _, step := range s.Steps {
			isArrow := func(p film.Packet) bool {
				label := cmp.Or(strings.TrimSuffix(p.Op, "2"), "event") // getChildren of getChildren2; an event has no Op
				return step.Timed && !p.Lost && p.Arrived == step.At && p.Client == step.Packet.Client &&
					p.Kind == step.Packet.Kind && strings.HasPrefix(step.Text.String(), label)
			}
			require.True(t, !step.Arrow() || slices.ContainsFunc(play.Film.Packets, isArrow), "%s: %v", scene.ID, step)
		}
	}
}

func TestAnExercisesLockHasTheTitleOfItsPage(t *testing.T) {
	titles := string(theBook(t).answers[`{"do":"locks"}`])
	require.Contains(t, titles, `"title":{"en":"Exercise 1: one ephemeral node","zh":"练习 1：一个临时节点"}`)
	require.Equal(t, len(locks.Playable), len(regexp.MustCompile(`"zh":"练习 \d+：`).FindAllString(titles, -1)))
}

func TestTwoStepsSideBySide(t *testing.T) {
	of := func(text string) *listing { return &listing{file: "a.txt", text: text} }
	var all []string
	for _, r := range differ(of("a\nb\nc\nd\n"), of("a\nc\nx\nd\n")) {
		all = append(all, fmt.Sprint(r.LeftLine, r.Left, " ", r.RightLine, r.Right, " ", r.Changed()))
	}
	require.Equal(t, []string{"1a 1a false", "2b 0 true", "3c 2c false", "0 3x true", "4d 4d false"}, all)
}

// TestTheMapSaysWhatIsAProgram: docs/architecture.md names the folders of docs that have Go in them, and no other.
func TestTheMapSaysWhatIsAProgram(t *testing.T) {
	b := theBook(t)
	_, sentence, _ := strings.Cut(string(b.pages["docs/architecture.md"].source), "In `docs/`, ")
	sentence, _, _ = strings.Cut(sentence, "programs")
	for _, folder := range testenv.Must(os.ReadDir(filepath.Join(b.root, "docs")))(t) {
		hasGo := false
		for _, deep := range []string{"*.go", "*/*.go", "*/*/*.go"} {
			found := testenv.Must(filepath.Glob(filepath.Join(b.root, "docs", folder.Name(), deep)))(t)
			hasGo = hasGo || found != nil
		}
		require.Equal(t, hasGo, strings.Contains(sentence, "`"+folder.Name()+"`"), folder.Name())
	}
}

var (
	// blockEnd is between two pieces of text.
	blockEnd = regexp.MustCompile(`</?(?:p|li|td|th|tr|table|h\d|div|ul|ol|details|summary|br|figcaption|button|label|option)\b[^>]*>`)
	// staysEnglish is code, a picture, the name of a case in italics, a quotation, or a name before its translation.
	staysEnglish = regexp.MustCompile(`(?s)<(?:pre|code|svg|script|style|head|title)\b.*?</(?:pre|code|svg|script|style|head|title)>|<em>[^<\p{Han}]*</em>|` +
		`“[^”\p{Han}]*”|[A-Za-z][\w ',.-]*（`)
	// englishNames are those of exercises and rows, what the articles' code says, and a line of it.
	englishNames = []string{"break this lock", "predecessor, reentrant, zk.Lock, curator", "the lock call returned false",
		"failed to acquire lock within wait time", "throw new runtimeexception(", "private static final string", "then return redis.call('del', KEYS"}
)

func englishIn(body string) (left []string) {
	for _, block := range blockEnd.Split(staysEnglish.ReplaceAllString(body, "…"), -1) {
		text := html.UnescapeString(element.ReplaceAllString(block, ""))
		left = append(left, chinesetest.English(strings.Join(strings.Fields(text), " "), englishNames...)...)
	}
	return left
}

// TestTheChineseBookHasNoSentenceInEnglish reads all Chinese pages but two, which have their terms in both languages.
func TestTheChineseBookHasNoSentenceInEnglish(t *testing.T) {
	read, left := 0, make(map[string][]string)
	for name, text := range theBook(t).files {
		if strings.HasSuffix(name, ".zh-CN.html") && !strings.Contains(name, "glossary") && !strings.Contains(name, "handout") {
			read++
			left[name] = englishIn(string(text))
			require.NotRegexp(t, `[，。、：；？！]\n\p{Han}`, string(text), name)
		}
	}
	require.NotRegexp(t, `\p{Han}[，。、：；？！] \p{Han}`, string(theBook(t).files["texts.zh-CN.js"]))
	maps.DeleteFunc(left, func(_ string, found []string) bool { return len(found) == 0 })
	require.Empty(t, left)
	require.Greater(t, read, 50)
	require.Equal(t, []string{"it wakes a waiter"},
		englishIn("<p>等待者：<em>a case of it</em>（用例），<code>it does not count</code>。</p><p>A 释放后 it wakes a waiter</p>"))
}

// TestTheDeckIsThatOfTheSlides: both editions show the same code and scenes, and nothing of Markdown.
func TestTheDeckIsThatOfTheSlides(t *testing.T) {
	b := theBook(t)
	shown := regexp.MustCompile(`(?s)<section class="[^"]*">|data-scene="[^"]*"|<pre class="code">.*?</pre>`)
	en, zh := string(b.files["docs/teaching/deck.html"]), string(b.files["docs/teaching/deck.zh-CN.html"])
	require.Equal(t, shown.FindAllString(en, -1), shown.FindAllString(zh, -1))
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		for i, s := range slides(b.pages[lang.Page("docs/teaching/slides.md")].body) {
			require.NotEmpty(t, s.Head, "slide %d", i+1)
			require.True(t, i == 0 || s.Talk != "", "slide %d", i+1)
		}
	}
	require.Equal(t, 7, strings.Count(en, `<figure class="scene"`))
	require.Contains(t, en, "<h1><code>get</code> or <code>exists</code></h1>")
	require.Regexp(t, `<pre class="code"><i class=k>func</i> \(l \*Lock\) TryLock\(`, en)
	for _, text := range []string{en, zh} {
		require.NotRegexp(t, "```|<!-- |<hr|<blockquote", text)
		for s := range strings.SplitSeq(text, "<section ") {
			require.LessOrEqual(t, strings.Count(s, `class="ask"`), 1)
		}
	}
}

// TestTheNamesOfTheLabAreItsOwn: where the pages for teachers name a button or a goal of the lab, their
// Chinese editions have its Chinese name.
func TestTheNamesOfTheLabAreItsOwn(t *testing.T) {
	b := theBook(t)
	read := func(file string) string {
		return strings.Join(strings.Fields(string(testenv.Must(b.read(file))(t))), " ")
	}
	names := func(page, name string) bool {
		return strings.Contains(page, "*"+name+"*") || strings.Contains(page, "“"+name+"”")
	}
	en, zh, ok := strings.Cut(read("internal/lab/page/strings.js"), " zh: {")
	require.True(t, ok)
	values := regexp.MustCompile(`"?([\w. ]+?)"?: "((?:[^"\\]|\\.)*)"`) // a key and its text
	chinese, found := make(map[string]string), 0
	for _, m := range values.FindAllStringSubmatch(zh, -1) {
		chinese[m[1]] = m[2]
	}
	for _, src := range []string{"docs/teaching/slides.md", "docs/teaching.md"} {
		english, translated := read(src), read(i18n.Chinese.Page(src))
		for _, m := range values.FindAllStringSubmatch(en, -1) {
			name, nameZh := m[2], chinese[m[1]]
			if name[0] >= 'A' && name[0] <= 'Z' && names(english, name) {
				require.True(t, names(translated, nameZh), "%s: %s is %s", src, name, nameZh)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 5, "the names are not found")
}

var articles = flag.String("articles", "", "write page/places.js from the articles' texts, the files of this `folder`")

// askReader asks the scripts of the reader. The script of the question may import rows.js, the rows of the guide.
func askReader(t *testing.T, asked any, script string) (answer []string) {
	t.Helper()
	rows := map[string]string{"rows.js": string(theBook(t).files["rows.js"])}
	return nodetest.Ask[[]string](t, "page", rows, asked, script)
}

// TestAPhraseOfAnArticleIsFound: the reader finds the row of each phrase of the guide, also while another
// article is open, and for a sentence that no row quotes the row beside it.
func TestAPhraseOfAnArticleIsFound(t *testing.T) {
	if *articles != "" {
		folder := testenv.Must(filepath.Abs(*articles))(t)
		places := askReader(t, folder, site.Read(t, "cmd/book/testdata/places.js"))
		text := "// What phrases.js knows of the articles: marksOf their texts. It is written by\n// " +
			"go test ./cmd/book -run APhrase -articles DIR\nglobalThis.PLACES = " + places[0] + ";\n"
		require.NoError(t, os.WriteFile("page/places.js", []byte(text), 0o644))
	}
	const scripts = `import "./rows.js"; import "./places.js"; import "./also.js"; await import("./phrases.js");`
	var questions [][2]string // a text, and the letter of the article that is open
	var rows []string         // for each question, the name of the row to find
	ask := func(text, open, row string) {
		questions, rows = append(questions, [2]string{text, open}), append(rows, row)
	}
	for _, r := range theBook(t).rows {
		if r.Heading == 0 {
			ask(r.Phrase, r.Name[:1], r.Name)
			ask(r.Phrase, "D", r.Name)
		}
	}
	for _, c := range []struct{ sentence, row string }{
		{"我们上面写的两个锁实现,并不能用于生产环境中", "A/44"}, {"string lastnode = firstnode;", "D/16"}, {"即再次检查当前节点是否为所有子节点中最小的", "D/23"}, {"  11.    lock();", "A/35"},
		{"设定一个超时时间,如果超过了这个时间仍未收到通知", "D/28"}, {"应该每隔一段时间检查一下当前的线程状态", "D/40"}, {"然后争先抢后的尝试加锁", "A/25"}, {"if (stat==null){", "D/13"},
		{"select resource, version from optimistic_lock", "B/17"}, {"Zookeeper 漫衍式锁实现示例", "E/17"}, {"3.悲观锁", "B/22"}, {"返回锁的节点名称", "A/63"}, {"  13.    //解锁", "A/77"},
	} {
		ask(c.sentence, c.row[:1], c.row)
	}
	require.Equal(t, rows, askReader(t, questions, scripts+`
		const answer = asked.map(([text, open]) => nearest(text, open)[0]?.name || "nothing for " + text);`))
	require.Empty(t, askReader(t, nil, scripts+` const row = phrase => GUIDE.find(r => r.phrase === phrase);
		const answer = Object.entries(ALSO).flatMap(([phrase, all]) => all.filter(text => nearest(text, row(phrase)?.name[0])[0] !== row(phrase)));`),
		"also.js: texts of which the nearest row is another one")
}
