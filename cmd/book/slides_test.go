package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
)

var update = flag.Bool("update", false, "write what docs/teaching.md and docs/teaching.zh-CN.md take from the slides and from the shell")

var (
	slideEnd  = regexp.MustCompile(`\n---\n`)
	slideMark = regexp.MustCompile(`(?s)<!-- minute (\d+) -->\n## ([^\n]+)\n.*\n> \*\*(?:Ask|问)\*\* (.+)\n>\n> \*\*(?:Answer|答)\*\* (.+)`)
	written   = regexp.MustCompile(`(?s)(<!-- written by go generate ./... -->\n).*(<!-- end of what is written -->\n)`)
	program   = regexp.MustCompile("(?s)(\n## (?:The lines that replace zkCli.sh|代替 zkCli.sh 的几行代码)\n.*?```go\n).*?(```\n)")
)

// TestThePlanIsThatOfTheSlides: docs/teaching.md has the minutes, the questions and the answers of
// the slides, and the shell as it is.
func TestThePlanIsThatOfTheSlides(t *testing.T) {
	b := theBook(t)
	for lang, head := range map[i18n.Language]string{i18n.English: "| minute | slide | ask | usual answer, and what to say to it |",
		i18n.Chinese: "| 分钟 | 幻灯片 | 问 | 学生通常的回答，以及怎么接 |"} {
		deck, before := b.pages[lang.Page("docs/teaching/slides.md")], -1
		plan := head + "\n|---:|---|---|---|\n"
		shown := slides(deck.body)
		for i, part := range slideEnd.Split(string(deck.source), -1) {
			require.NotEmpty(t, shown[i].Head, "slide %d", i+1)
			if i == 0 {
				continue
			}
			m := slideMark.FindStringSubmatch(regexp.MustCompile(`<!-- en:\w+ -->\n`).ReplaceAllString(part, ""))
			require.NotNil(t, m, "a slide has a minute, a heading, a question and an answer: %s", part)
			require.NotEmpty(t, shown[i].Talk, m[2])
			minute := 0
			fmt.Sscan(m[1], &minute)
			require.Greater(t, minute, before, "the minutes of %q", m[2])
			require.Less(t, minute, 90)
			before = minute
			plan += fmt.Sprintf("| %d | %s | %s | %s |\n", minute, m[2], strings.ReplaceAll(m[3], "\n> ", " "), strings.ReplaceAll(strings.TrimSpace(m[4]), "\n> ", " "))
		}
		file := lang.Page("docs/teaching.md")
		text, err := b.read(file)
		require.NoError(t, err)
		shell := b.list("cmd/shell/main.go").code["main"] + "\n"
		want := written.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(plan, "$", "$$")+"$2")
		want = program.ReplaceAllString(want, "${1}"+strings.ReplaceAll(shell, "$", "$$")+"$2")
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(b.root, file), []byte(want), 0o644))
			text = []byte(want)
		}
		require.Equal(t, want, string(text), "stale: go generate ./...")
		require.Contains(t, want, plan)
		require.Contains(t, want, shell)
	}
}

// TestTheDeckIsThatOfTheSlides: both editions show the same code and scenes, and nothing of Markdown.
func TestTheDeckIsThatOfTheSlides(t *testing.T) {
	b := theBook(t)
	shown := regexp.MustCompile(`(?s)<section class="[^"]*">|data-scene="[^"]*"|<pre class="code">.*?</pre>`)
	en, zh := string(b.files["docs/teaching/deck.html"]), string(b.files["docs/teaching/deck.zh-CN.html"])
	require.Equal(t, shown.FindAllString(en, -1), shown.FindAllString(zh, -1))
	require.Equal(t, 6, strings.Count(en, `<figure class="scene"`))
	require.Contains(t, en, "<h1><code>get</code> or <code>exists</code></h1>")
	require.Regexp(t, `<pre class="code"><i class=k>func</i> \(l \*Lock\) TryLock\(`, en)
	for _, text := range []string{en, zh} {
		require.NotRegexp(t, "```|<!-- |<hr|<blockquote", text)
		for s := range strings.SplitSeq(text, "<section ") {
			require.LessOrEqual(t, strings.Count(s, `class="ask"`), 1)
		}
	}
}

// TestTheNamesOfTheLabAreItsOwn: where the texts name a button or a goal of the lab, the
// Chinese ones have its Chinese name.
func TestTheNamesOfTheLabAreItsOwn(t *testing.T) {
	b := theBook(t)
	read := func(file string) string {
		all, err := b.read(file)
		require.NoError(t, err)
		return strings.Join(strings.Fields(string(all)), " ")
	}
	en, zh, ok := strings.Cut(read("internal/lab/page/strings.js"), " zh: {")
	require.True(t, ok)
	values, chinese, found := regexp.MustCompile(`"?([\w. ]+?)"?: "((?:[^"\\]|\\.)*)"`), make(map[string]string), 0
	for _, m := range values.FindAllStringSubmatch(zh, -1) {
		chinese[m[1]] = m[2]
	}
	for _, page := range []string{"docs/teaching/slides.md", "docs/teaching.md"} {
		english, translated := read(page), read(i18n.Chinese.Page(page))
		for _, m := range values.FindAllStringSubmatch(en, -1) {
			if name := chinese[m[1]]; m[2][0] >= 'A' && m[2][0] <= 'Z' && (strings.Contains(english, "*"+m[2]+"*") || strings.Contains(english, "“"+m[2]+"”")) {
				require.True(t, strings.Contains(translated, "*"+name+"*") || strings.Contains(translated, "“"+name+"”"), "%s: %s is %s", page, m[2], name)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 5, "the names are not found")
}
