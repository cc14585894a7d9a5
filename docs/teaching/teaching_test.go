package main

import (
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/zkserver"
)

var update = flag.Bool("update", false, "write what docs/teaching.md and docs/teaching.zh-CN.md take from the slides and from the shell")

const (
	lecturers = "../teaching.md"
	begin     = "<!-- written by go generate ./... -->\n"
	end       = "<!-- end of what is written -->\n"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// An edition has the expectations of a test for a language.
type edition struct {
	lang          language.Language
	head, program string // the head of the plan, and the heading above the shell
}

var editions = []edition{
	{language.English, "| minute | slide | ask | usual answer, and what to say to it |", "The lines that replace zkCli.sh"},
	{language.Chinese, "| 分钟 | 幻灯片 | 问 | 学生通常的回答，以及怎么接 |", "代替 zkCli.sh 的几行代码"},
}

// each runs a test in both languages.
func each(t *testing.T, test func(t *testing.T, e edition)) {
	for _, e := range editions {
		t.Run(string(e.lang), func(t *testing.T) { test(t, e) })
	}
}

func (e edition) builder() *builder { return &builder{lang: e.lang, from: ".", lab: "lab.html"} }

// plan is the lecture as a table.
func (e edition) plan(list []slide) string {
	var b strings.Builder
	b.WriteString(e.head + "\n|---:|---|---|---|\n")
	for _, s := range list {
		if s.Minute >= 0 {
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", s.Minute, s.title, s.ask, s.answer)
		}
	}
	return b.String()
}

// TestThePlanIsThatOfTheSlides: docs/teaching.md has the minutes, the questions and
// the answers of the slides, and the shell as it is.
func TestThePlanIsThatOfTheSlides(t *testing.T) {
	each(t, func(t *testing.T, e edition) {
		list, err := e.builder().slides()
		require.NoError(t, err)
		before := -1
		for _, s := range list[1:] {
			require.Greater(t, s.Minute, before, "the minutes of %q", s.Title)
			require.Less(t, s.Minute, 90)
			require.NotEmpty(t, s.ask, "%q asks nothing", s.Title)
			require.NotEmpty(t, s.answer, "%q has no answer", s.Title)
			before = s.Minute
		}
		file := e.lang.Page(lecturers)
		page := read(t, file)
		shell, err := e.builder().source("shell/main.go main")
		require.NoError(t, err)
		shell = "```go\n" + shell + "\n```\n"
		want := regexp.MustCompile(`(?s)`+regexp.QuoteMeta(begin)+`.*`+regexp.QuoteMeta(end)).ReplaceAllLiteralString(page, begin+e.plan(list)+end)
		want = regexp.MustCompile("(?s)(\n## "+regexp.QuoteMeta(e.program)+"\n.*?)```go\n.*?```\n").ReplaceAllStringFunc(want, func(part string) string {
			return part[:strings.Index(part, "```go\n")] + shell
		})
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			page = want
		}
		require.Contains(t, page, e.plan(list), "the plan is stale: go generate ./...")
		require.Contains(t, page, shell, "the shell is stale: go generate ./...")
	})
}

// TestTheEditionsHaveTheSameSlides: what their builder takes from the texts beside the
// words. The words are those of a page and its edition, which internal/house compares.
func TestTheEditionsHaveTheSameSlides(t *testing.T) {
	type shape struct {
		minute         int
		ask, body      bool
		scene, command string
		code           string
	}
	find := func(pattern string, body template.HTML) string {
		return strings.Join(regexp.MustCompile(pattern).FindAllString(string(body), -1), "\n")
	}
	shapes := func(b *builder) (all []shape) {
		list, err := b.slides()
		require.NoError(t, err)
		for _, s := range list {
			all = append(all, shape{s.Minute, s.ask != "", s.Body != "", find(`#lock=[^"]*?&amp;lang=`, s.Body), find(`<code>go run.*?</code>`, s.Body),
				find(`(?s)<code class="language-go">.*?</code>`, s.Body)})
		}
		return all
	}
	english := shapes(editions[0].builder())
	require.Equal(t, english, shapes(editions[1].builder()))
	text := read(t, "slides.zh-CN.md")
	for _, planted := range [][2]string{
		{"<!-- minute 5 -->", "<!-- minute 6 -->"},
		{"> **问** 两边", "> **问题** 两边"},
		{"```scene A4", "```scene A5"},
		{"lock.go TryLock", "lock.go Unlock"},
	} {
		require.Contains(t, text, planted[0])
		dir := copied(t, "slides.zh-CN.md", strings.Replace(text, planted[0], planted[1], 1))
		require.NotEqual(t, english, shapes(&builder{lang: language.Chinese, from: dir, lab: "lab.html"}), planted[1])
	}
}

// copied is a folder in a copy of the repository's folders that the slides name, with
// another text of a page.
func copied(t *testing.T, page, text string) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"01-naive-ephemeral/lock.go", "03-sequential-predecessor/lock.go", "04-reentrant/lock.go"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(read(t, "../../"+file)), 0o644))
	}
	dir := filepath.Join(root, "docs", "teaching")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, page), []byte(text), 0o644))
	return dir
}

// TestThePagesNeedNothingElse: no font, script or picture of another address, and the
// lab's page beside them alone, in the language of the slides.
func TestThePagesNeedNothingElse(t *testing.T) {
	each(t, func(t *testing.T, e edition) {
		dir := t.TempDir()
		require.NoError(t, run(io.Discard, e.lang, ".", dir, "lab.html"))
		for _, name := range []string{"slides.html", "handout.html"} {
			page := read(t, filepath.Join(dir, name))
			require.NotRegexp(t, `(?i)<(script|img|iframe|link)[^>]* (src|href)="(https?:)?//`, page, name)
			require.NotRegexp(t, `(?i)@import|url\(`, page, name)
			require.NotContains(t, page, "```", "%s has Markdown that is not HTML", name)
			require.NotRegexp(t, `\.zh-CN\.md|<!-- en:`, page, "%s has what its text has for its readers on the web", name)
			for _, m := range regexp.MustCompile(`data-src="([^"]+)"`).FindAllStringSubmatch(page, -1) {
				require.Regexp(t, `^lab\.html#lock=.*&amp;lang=`+string(e.lang)+`$`, m[1])
			}
		}
		require.Equal(t, 6, strings.Count(read(t, filepath.Join(dir, "slides.html")), "data-src="), "the scenes")
		require.NoError(t, run(io.Discard, e.lang, ".", dir, "../other/lab.html"))
		require.Contains(t, read(t, filepath.Join(dir, "slides.html")), `data-src="../other/lab.html#lock=D3`)
	})
}

var (
	// unread is what a reader does not read as a sentence: the style, the script, code
	// and the first row of the words, which has them in English.
	unread = regexp.MustCompile(`(?s)<(style|script|pre|code)\b.*?</(?:style|script|pre|code)>|<td>[a-z, -]+</td>|<[^>]*>`)
	pinned = regexp.MustCompile(`[a-z]{2,} [a-z]{2,} [a-z]{2,}`) // three English words in a row
)

// foreign are the parts of a page that are not in its language, and the title of a
// frame among them.
func foreign(page string, lang language.Language) []string {
	for _, m := range regexp.MustCompile(`<iframe title="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		page += "<p>" + m[1] + "</p>"
	}
	text := unread.ReplaceAllString(page, "\n")
	if lang == language.Chinese {
		return pinned.FindAllString(text, -1)
	}
	return regexp.MustCompile(`\p{Han}+`).FindAllString(regexp.MustCompile(`<td>[\p{Han}, ]+</td>`).ReplaceAllString(page, ""), -1)
}

// TestThePagesAreInTheirLanguage: nothing of the other is left in them.
func TestThePagesAreInTheirLanguage(t *testing.T) {
	each(t, func(t *testing.T, e edition) {
		dir := t.TempDir()
		require.NoError(t, run(io.Discard, e.lang, ".", dir, "lab.html"))
		for _, name := range []string{"slides.html", "handout.html"} {
			page := read(t, filepath.Join(dir, name))
			require.Empty(t, foreign(page, e.lang), name)
			require.Contains(t, page, `<html lang="`+map[language.Language]string{language.English: "en", language.Chinese: "zh-CN"}[e.lang]+`">`)
			title, _, _ := strings.Cut(strings.SplitAfter(page, "<title>")[1], "</title>")
			require.Contains(t, page, "<h1>"+title+"</h1>")
		}
		// A sentence of the other language is found.
		other := editions[0].lang
		if e.lang == other {
			other = editions[1].lang
		}
		require.NoError(t, run(io.Discard, other, ".", dir, "lab.html"))
		for _, name := range []string{"slides.html", "handout.html"} {
			require.NotEmpty(t, foreign(read(t, filepath.Join(dir, name)), e.lang), name)
		}
	})
	require.NotEmpty(t, foreign(`<iframe title="a scene of the lab">`, language.Chinese))
}

// TestTheLanguageIsThatOfTheReader: of the pages and of what the command says.
func TestTheLanguageIsThatOfTheReader(t *testing.T) {
	for _, c := range []struct {
		lcAll, lang string
		args        []string
		says, title string
	}{
		{"", "zh_CN.UTF-8", nil, "已写入 ", "<title>ZooKeeper 分布式锁<"},
		{"", "", nil, "wrote ", "<title>Distributed locks on ZooKeeper<"},
		{"C", "zh_CN.UTF-8", nil, "wrote ", "<title>Distributed locks on ZooKeeper<"},
		{"zh_CN.UTF-8", "zh_CN.UTF-8", []string{"-lang", "en"}, "wrote ", "<title>Distributed locks on ZooKeeper<"},
		{"C", "C", []string{"-lang", "zh-CN"}, "已写入 ", "<title>ZooKeeper 分布式锁<"},
	} {
		dir := t.TempDir()
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		var said strings.Builder
		require.NoError(t, command(&said, append(c.args, "-from", ".", "-out", dir)))
		out := said.String()
		require.Equal(t, 2, strings.Count(out, c.says), "%v: %s", c, out)
		require.Equal(t, c.says == "wrote ", !regexp.MustCompile(`\p{Han}`).MatchString(out), "%v: %s", c, out)
		require.Contains(t, out, "go run ./docs/lab -out "+filepath.Join(dir, "lab.html"))
		require.Contains(t, read(t, filepath.Join(dir, "slides.html")), c.title)
	}
	for _, w := range []words{inLanguage[language.English], inLanguage[language.Chinese]} {
		require.NotContains(t, []string{w.Lang, w.wrote, w.needsLab, w.frame}, "")
	}
}

// TestTheNamesOfTheLabAreItsOwn: where the texts name a button or a goal of the lab, the
// Chinese ones have its Chinese name.
func TestTheNamesOfTheLabAreItsOwn(t *testing.T) {
	strs := read(t, "../lab/page/strings.js")
	half := strings.Index(strs, "\n  zh: {")
	require.Positive(t, half)
	values := regexp.MustCompile(`"?([\w. ]+?)"?: "((?:[^"\\]|\\.)*)"`)
	table := func(text string) map[string]string {
		all := make(map[string]string)
		for _, m := range values.FindAllStringSubmatch(text, -1) {
			all[m[1]] = m[2]
		}
		return all
	}
	en, zh := table(strs[:half]), table(strs[half:])
	named := regexp.MustCompile(`\*([A-Z][^*]+)\*|“([^”]+)”`)
	wrong := func(english, chinese string) (list []string, found int) {
		for _, m := range named.FindAllStringSubmatch(strings.Join(strings.Fields(english), " "), -1) {
			name := m[1] + m[2]
			for key, value := range en {
				if value == name {
					found++
					if !strings.Contains(chinese, "*"+zh[key]+"*") && !strings.Contains(chinese, "“"+zh[key]+"”") {
						list = append(list, name+" is "+zh[key])
					}
				}
			}
		}
		return list, found
	}
	sum := 0
	for _, page := range []string{"slides.md", lecturers} {
		list, found := wrong(read(t, page), read(t, language.Chinese.Page(page)))
		require.Empty(t, list, page)
		sum += found
	}
	require.GreaterOrEqual(t, sum, 5, "the names are not found")
	list, _ := wrong("Press *From the start*.", "点*从开头开始*。")
	require.Equal(t, []string{"From the start is 从头开始"}, list)
}

// TestWhatDoesNotExistIsAnError: a slide must not lose its code or its scene when the
// repository changes.
func TestWhatDoesNotExistIsAnError(t *testing.T) {
	for md, says := range map[string]string{
		"```go ../../01-naive-ephemeral/lock.go Nothing\n```\n": "no function Nothing",
		"```go ../../nowhere.go Lock\n```\n":                    "nowhere.go",
		"```go shell/main.go\n```\n":                            "want a file and a function",
		"```scene Z9\nx\n```\n":                                 "Z9",
		"```scene #lock=nothing\nx\n```\n":                      "nothing",
		"![a](nowhere.svg)\n":                                   "nowhere.svg",
	} {
		_, err := editions[0].builder().render(md)
		require.ErrorContains(t, err, says, "%s", md)
	}
	each(t, func(t *testing.T, e edition) {
		dir, slides, handout := t.TempDir(), e.lang.Page("slides.md"), e.lang.Page("handout.md")
		write := func(name, text string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		require.ErrorContains(t, run(io.Discard, e.lang, dir, dir, "lab.html"), slides)
		write(slides, "# One\n\n---\nno heading\n")
		require.ErrorContains(t, run(io.Discard, e.lang, dir, dir, "lab.html"), "slide 2 has no heading")
		write(slides, "# One\n")
		require.ErrorContains(t, run(io.Discard, e.lang, dir, dir, "lab.html"), handout)
		write(handout, "no heading\n")
		require.ErrorContains(t, run(io.Discard, e.lang, dir, dir, "lab.html"), handout+": no heading")
	})
}

// TestTheShell plays a session in it, beside another client.
func TestTheShell(t *testing.T) {
	server := zkserver.Run(t)
	address := server.Addr()
	binary := filepath.Join(t.TempDir(), "shell.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./shell").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary, address)
	cmd.Stdin = strings.NewReader("create /a\ncreate /a\nnumber /b-\nls /\nget /a\ndelete /nothing\nls\nwatch /a\ndelete /a\nwatch /a\nnonsense\nhelp\n")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err = cmd.Output()
	require.NoError(t, err)
	text := "\n" + string(out)
	for _, line := range []string{"/a", "zk: node already exists", "/b-0000000001", "zk: node does not exist", "zk: invalid path", "watching", "deleted"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	require.Regexp(t, `(?m)^\[.*\bb-0000000001\b.*\]$`, text, "the list")
	require.Regexp(t, `(?m)^&\{Czxid:\d+ .* Version:0 .* EphemeralOwner:[1-9]`, text, "the fields have names")
	require.Equal(t, 1, strings.Count(text, "\ndeleted\n"), "a refused delete says only that")
	require.Equal(t, 2, strings.Count(text, "\nnumber /a-   makes"), "an unknown word lists the words, and so does help")
	require.Contains(t, text, "EventNodeDeleted", "the event of the watch")
	require.Empty(t, server.Sessions(), "its session has ended with it")
}
