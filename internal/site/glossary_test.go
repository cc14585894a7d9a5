// The glossary, docs/glossary.md, has the Chinese of each term. The Chinese pages and the Chinese texts in the sources
// use its words, and are set as a Chinese typesetter sets them. First in this file are the terms and the words to
// avoid, then the tests, and last the faults in the typesetting of a page, which edition_test.go looks for.
package site_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/site"
)

const glossary = "docs/glossary.md"

type glossaryTerm struct {
	en, zh string
	quoted map[string][]string // words of the articles, by letter
	avoid  []string            // words that the Chinese pages do not use for it
}

// terms returns the terms of the glossary: its rows of five cells that begin in lower case. The cells are the English
// term, the Chinese one, its meaning, the words of the articles, and the words to avoid.
func terms(page string) (all []glossaryTerm) {
	// A quotation is the words and the letters of their articles: `惊群效应` (A, B).
	quotation := regexp.MustCompile("`([^`]+)`[ (（]+([A-E](?:(?:, |、)[A-E])*)[)）]")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || !regexp.MustCompile(`^ [a-z]`).MatchString(cells[0]) {
			continue
		}
		term := glossaryTerm{en: strings.TrimSpace(cells[0]), zh: strings.TrimSpace(cells[1]),
			quoted: make(map[string][]string), avoid: firstGroups(cells[4], "`([^`]+)`")}
		for _, m := range quotation.FindAllStringSubmatch(cells[3], -1) {
			words, letters := m[1], m[2]
			for _, letter := range regexp.MustCompile(`[A-E]`).FindAllString(letters, -1) {
				term.quoted[letter] = append(term.quoted[letter], words)
			}
		}
		all = append(all, term)
	}
	return all
}

const fencingToken = "fencing token（隔离令牌）" // introduces tokens on a Chinese page, once

// neverAvoided matches code, and words that have a word to avoid in them: 监视器 is a monitor of Java, and 隔离级别 a level
// of isolation of transactions.
var neverAvoided = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`|监视器|隔离级别|" + fencingToken)

// avoidedWords returns the words of a Chinese text that the glossary says to avoid.
func avoidedWords(text string, terms []glossaryTerm) (found []string) {
	text = neverAvoided.ReplaceAllString(text, "")
	for _, term := range terms {
		for _, word := range term.avoid {
			if strings.Contains(text, word) {
				found = append(found, fmt.Sprintf("%s: the term for %s is %s", word, term.en, term.zh))
			}
		}
	}
	return found
}

var (
	literal       = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)                   // a string in a source
	han           = regexp.MustCompile(`\p{Han}+`)                              // Chinese characters
	articlesWords = regexp.MustCompile(`(?:Quote|"quote"): +"(?:[^"\\]|\\.)*"`) // a field with the articles' own words
	// halfWidth finds punctuation of half the width beside a Chinese character, 锁, or (锁, or a quotation mark away: 锁",.
	halfWidth = regexp.MustCompile(`\p{Han}(?:\\?["'])?[,.;:!?()]|[,;:!?()](?:\\?["'])?\p{Han}`)
	// everyday is not a row of the glossary. It has everyday words for a term (得到锁 for 拿到锁, to get the lock), and words
	// that the glossary has as the articles' own. A message is to read "得到锁: the term for these is 创建、…".
	everyday = glossaryTerm{en: "these", zh: "创建、拿到锁、释放锁、击鼓传花", avoid: []string{"建立节点", "建立自己", "已建立", "得到锁", "解锁", "伐鼓传花"}}
	// Errors of the articles' locks stay English.
	articlesErrors = []string{"listings: the lock call returned false", "failed to acquire lock within wait time"}
)

// faultsInStrings returns the Chinese strings of a source that have a word which the glossary avoids, or
// punctuation of half the width, or a sentence in English.
func faultsInStrings(source string, all []glossaryTerm) (list []string) {
	for _, text := range literal.FindAllString(articlesWords.ReplaceAllString(source, ""), -1) {
		if !han.MatchString(text) {
			continue
		}
		faults := slices.Concat(avoidedWords(text, append(all, everyday)), halfWidth.FindAllString(text, -1),
			chinesetest.English(strings.Trim(text, `"`), articlesErrors...))
		if len(faults) > 0 {
			list = append(list, faults[0]+" in "+text)
		}
	}
	return list
}

func TestTheGlossaryIsOneInBothLanguages(t *testing.T) {
	all := terms(site.Read(t, glossary))
	require.GreaterOrEqual(t, len(all), 60)
	require.Equal(t, all, terms(site.Read(t, i18n.Chinese.Page(glossary))),
		"both have the same terms, with the same words of the articles and the same words to avoid")
	seen := make(map[string]bool)
	for _, term := range all {
		require.NotEmpty(t, term.zh, term.en)
		require.False(t, seen[term.en], "%s is there twice", term.en)
		seen[term.en] = true
	}
}

func TestTheGlossaryQuotesTheArticles(t *testing.T) {
	texts := articleTexts(t)
	missing := func(page string) (words []string) {
		for letter, text := range texts {
			for _, term := range terms(page) {
				for _, word := range term.quoted[letter] {
					if !strings.Contains(strings.ToLower(text), word) {
						words = append(words, letter+" "+word)
					}
				}
			}
		}
		slices.Sort(words)
		return words
	}
	require.Empty(t, missing(site.Read(t, glossary)), "words that the article does not have")
	require.Equal(t, []string{"A 羊群效应", "B 惊群效应"},
		// Article A has 惊群效应, a startled herd, and article B 羊群效应, a flock of sheep.
		missing("| herd effect | 惊群效应 | all wake | `惊群效应` (A, B), `羊群效应`（A、B） | |"), "each is a word of the other article")
}

// hasChineseStrings reports whether the glossary holds for the strings of a source. Those of the guide and of also.js
// quote the articles. Those of internal-site.po are on pages, which are read as such.
func hasChineseStrings(file string) bool {
	quotesArticles := strings.HasPrefix(file, "internal/lab/guide/") || file == "cmd/book/page/also.js"
	isSource := slices.Contains([]string{".go", ".js", ".json", ".po"}, path.Ext(file)) && !strings.HasSuffix(file, "_test.go")
	return isSource && !quotesArticles && file != "internal/i18n/zh/internal-site.po"
}

func TestChineseFollowsTheGlossary(t *testing.T) {
	all := terms(site.Read(t, glossary))
	pages, words := 0, 0
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.Contains(file, ".zh-CN."):
			pages++
			text := site.Read(t, file)
			require.Empty(t, avoidedWords(text, all), file)
			if strings.Contains(text, "令牌") && path.Base(file) != "comments.zh-CN.txt" { // its lines are on five pages
				require.Equal(t, 1, strings.Count(text, fencingToken), "%s introduces tokens as %s, once", file, fencingToken)
			}
		case hasChineseStrings(file):
			text := site.Read(t, file)
			words += len(han.FindAllString(text, -1))
			require.Empty(t, faultsInStrings(text, all), file)
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, pages)
	require.Positive(t, words)
}

func TestAWordToAvoidIsFound(t *testing.T) {
	all := terms(site.Read(t, glossary))
	require.Equal(t, []string{"应答: the term for reply is 响应"}, avoidedWords("服务器的应答丢失了", all))
	require.Empty(t, avoidedWords("服务器的响应丢失了，`应答`是另一个词。对象监视器。"+fencingToken+"与隔离级别。\n```\n应答\n```\n", all))

	const right = `{"at": "1ms", "quote": "当前一个子节点被删除时,重新执行第四步", "en": "It waits.", "zh": "{0} 建立连接，并监听 /lock（父节点）。"}`
	require.Empty(t, faultsInStrings(right, all)) // a quotation may have half-width marks, and 建立连接 is not 建立节点
	for _, bad := range []string{
		"节点已删除,等待者醒来。", "父节点(队列)", "得到响应:{0}", `已读。\"它说\".结束`, // punctuation of half the width
		"它监视父节点。", "应答丢失", "隔离", "防护令牌", // not the glossary's words for watch, reply, fencing and fencing token
		"它请求建立节点。", "伐鼓传花", // everyday: to create a node, and an article's own slip for 击鼓传花
		"等待者 waits on a watch。", // a sentence in English
	} {
		require.Len(t, faultsInStrings(`["text", "`+bad+`"]`, all), 1, bad)
	}
}

// The handout has a few of the terms in the glossary's words. In its Chinese edition, the Chinese words come first.
func TestTheHandoutHasTheTermsOfTheGlossary(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| \*\*([^|]+)\*\* \| ([^|]+) \|`)
	known := make(map[string]bool)
	for _, term := range terms(site.Read(t, glossary)) {
		for _, word := range han.FindAllString(term.zh, -1) {
			known[word] = true
		}
	}
	unknown := func(handout string) (words []string) {
		for _, cells := range row.FindAllStringSubmatch(handout, -1) {
			for _, word := range han.FindAllString(cells[1]+" "+cells[2], -1) {
				if !known[word] {
					words = append(words, word)
				}
			}
		}
		return words
	}

	for page, row := range map[string]string{"handout.md": "| **watch** | 监听 |", "handout.zh-CN.md": "| **监听** | watch |"} {
		handout := site.Read(t, "docs/teaching/"+page)
		require.Empty(t, unknown(handout), "words of %s that are not in the glossary", page)
		require.Contains(t, handout, row)
	}
	require.Equal(t, []string{"防护令牌"}, unknown("| **防护令牌** | fencing token | 一个数 |\n| **监听** | watch | 一个事件 |\n"))
	require.Equal(t, []string{"防护令牌"}, unknown("| **fencing token** | 防护令牌 | a number |\n| **watch** | 监听 | one event |\n"))
}

const (
	someCode  = "\ue000" // stands for a piece of code in a line; no page has this character
	upToBlank = `[^\s，。、；：？！（）“”《》|]*`
)

var (
	anyFence = regexp.MustCompile("(?ms)^```.*?^```$")                                       // a block of code
	markup   = regexp.MustCompile("<!--.*?-->|</?\\w[^>]*>|\\]\\([^()\\s]+\\)|\\*\\*|!?\\[") // tags, links, and **
	inCode   = regexp.MustCompile("`[^`\n]+`")                                               // code in a line
	// wronglySet finds what a Chinese typesetter would not set: punctuation of half the width (锁,) or no blank between a
	// Chinese character and another letter (锁lock). A match reaches up to the next blank or Chinese punctuation on both
	// sides (upToBlank). If the English page has the same text, the Chinese page quotes it: no fault.
	wronglySet = regexp.MustCompile(upToBlank + `(?:\p{Han}[,;:?!()]|[,;:?!()]\p{Han}|\p{Han}\.(?:\s|$)` +
		`|\p{Han}[\w` + someCode + `]|[\w` + someCode + `]\p{Han})` + upToBlank)
	rendered = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	htmlCode = regexp.MustCompile(`(?s)<code.*?</code>`)
)

// withoutMarkup returns a page without markup and blocks of code. A piece of code in a line becomes someCode.
func withoutMarkup(page string) string {
	page = inCode.ReplaceAllString(anyFence.ReplaceAllString(page, ""), someCode)
	return markup.ReplaceAllString(page, "")
}

// typesettingFaults returns the faults in the typesetting of a Chinese page.
func typesettingFaults(en, zh string) (faults []string) {
	quoted := withoutMarkup(en)
	emptyBlocks := anyFence.ReplaceAllStringFunc(zh, func(block string) string {
		return strings.Repeat("\n", strings.Count(block, "\n")) // the lines below keep their numbers
	})
	for i, line := range strings.Split(withoutMarkup(emptyBlocks), "\n") {
		for _, run := range wronglySet.FindAllString(line, -1) {
			if !strings.Contains(quoted, run) {
				faults = append(faults, fmt.Sprintf("line %d: %s: Chinese punctuation is full-width, and a blank is between "+
					"Chinese words and others", i+1, strings.ReplaceAll(run, someCode, "`…`")))
			}
		}
	}

	var page strings.Builder
	if err := rendered.Convert([]byte(zh), &page); err != nil {
		return append(faults, err.Error())
	}
	if before, _, ok := strings.Cut(htmlCode.ReplaceAllString(page.String(), ""), "**"); ok {
		before = before[max(0, len(before)-60):] // enough to find the place
		faults = append(faults, fmt.Sprintf("the marks ** after %q do not make words bold: between a punctuation mark "+
			"inside of them and a letter outside must be a blank", strings.ToValidUTF8(before, "")))
	}
	return faults
}
