package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

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

// TestTheNamesOfTheLabAreItsOwn: where the texts name a button or a goal of the lab, the
// Chinese ones have its Chinese name.
func TestTheNamesOfTheLabAreItsOwn(t *testing.T) {
	b := theBook(t)
	read := func(file string) string {
		all := testenv.Must(b.read(file))(t)
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
