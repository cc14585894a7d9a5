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

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
)

const glossary = "docs/glossary.md"

// A term is a row of the glossary.
type term struct {
	en, zh string
	quoted map[string][]string // words of the articles, by letter
	not    []string            // words that the Chinese pages avoid
}

func terms(page string) (all []term) {
	code := regexp.MustCompile("`([^`]+)`")
	quotation := regexp.MustCompile("`([^`]+)`[ (（]+([A-E](?:(?:, |、)[A-E])*)[)）]")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || !regexp.MustCompile(`^ [a-z]`).MatchString(cells[0]) {
			continue
		}
		t := term{en: strings.TrimSpace(cells[0]), zh: strings.TrimSpace(cells[1]), quoted: make(map[string][]string)}
		for _, m := range quotation.FindAllStringSubmatch(cells[3], -1) {
			for _, letter := range regexp.MustCompile(`[A-E]`).FindAllString(m[2], -1) {
				t.quoted[letter] = append(t.quoted[letter], m[1])
			}
		}
		for _, m := range code.FindAllStringSubmatch(cells[4], -1) {
			t.not = append(t.not, m[1])
		}
		all = append(all, t)
	}
	return all
}

// fencingToken is how a Chinese page that has tokens names them, once.
const fencingToken = "fencing token（隔离令牌）"

// avoided returns the words of a Chinese page that the glossary says to avoid. Code
// and quotations of code are left out. A monitor of Java is 监视器, and the isolation of
// transactions has levels.
func avoided(text string, all []term) (found []string) {
	text = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`|监视器|隔离级别|"+fencingToken).ReplaceAllString(text, "")
	for _, term := range all {
		for _, word := range term.not {
			if strings.Contains(text, word) {
				found = append(found, fmt.Sprintf("%s: the term for %s is %s", word, term.en, term.zh))
			}
		}
	}
	return found
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
	if _, err := os.Stat(root + "/" + articles); err != nil {
		t.Skip("the articles are not part of the repository, and are not beside it in ../shared/articles")
	}
	all := terms(site.Read(t, glossary))
	missing := func(all []term) (words []string) {
		for letter, file := range theArticles {
			text := site.Read(t, articles+file)
			for _, term := range all {
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
	require.Empty(t, missing(all), "words that the article does not have")
	require.Equal(t, []string{"A 羊群效应", "B 惊群效应"}, missing(terms("| herd effect | 惊群效应 | all wake | `惊群效应` (A, B), `羊群效应`（A、B） | |")))
}

func TestTheChinesePagesUseTheTermsOfTheGlossary(t *testing.T) {
	all := terms(site.Read(t, glossary))
	pages := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(file, ".zh-CN.") {
			return err
		}
		pages++
		text := site.Read(t, file)
		require.Empty(t, avoided(text, all), file)
		if strings.Contains(text, "令牌") && path.Base(file) != "comments.zh-CN.txt" { // whose lines are on the pages of five steps
			require.Equal(t, 1, strings.Count(text, fencingToken), "%s has tokens: it introduces them as %s, once", file, fencingToken)
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, pages)
	t.Run("and another word is found", func(t *testing.T) {
		require.Equal(t, []string{"应答: the term for reply is 响应"}, avoided("服务器的应答丢失了", all))
		require.Empty(t, avoided("服务器的响应丢失了，`应答`是另一个词。对象监视器。"+fencingToken+"与隔离级别。\n```\n应答\n```\n", all))
	})
}

// The handout has a few of the terms, in the glossary's words, and so has its Chinese
// edition, where they come first.
func TestTheHandoutHasTheTermsOfTheGlossary(t *testing.T) {
	handout := site.Read(t, "docs/teaching/handout.md")
	handoutZh := site.Read(t, "docs/teaching/handout.zh-CN.md")
	row := regexp.MustCompile(`(?m)^\| \*\*([^|]+)\*\* \| ([^|]+) \|`)
	han := regexp.MustCompile(`\p{Han}+`)
	known := make(map[string]bool)
	for _, term := range terms(site.Read(t, glossary)) {
		for _, word := range han.FindAllString(term.zh, -1) {
			known[word] = true
		}
	}
	unknown := func(handout string) (words []string) {
		for _, m := range row.FindAllStringSubmatch(handout, -1) {
			for _, word := range han.FindAllString(m[1]+" "+m[2], -1) {
				if !known[word] {
					words = append(words, word)
				}
			}
		}
		return words
	}
	require.Empty(t, unknown(handout), "words of the handout that are not in the glossary")
	require.Empty(t, unknown(handoutZh), "words of the Chinese handout that are not in the glossary")
	require.Contains(t, handout, "| **watch** | 监听 |")
	require.Contains(t, handoutZh, "| **监听** | watch |")
	require.Equal(t, []string{"防护令牌"}, unknown("| **防护令牌** | fencing token | 一个数 |\n| **监听** | watch | 一个事件 |\n"))
	require.Equal(t, []string{"防护令牌"}, unknown("| **fencing token** | 防护令牌 | a number |\n| **watch** | 监听 | one event |\n"))
}
