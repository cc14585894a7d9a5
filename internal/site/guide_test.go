// Tests of the pages that quote the articles: the reading guide, and docs/claims.md.
package site_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
)

const guidePage = "docs/reading-guide.md"

// The articles are other people's texts, and not part of the repository. They may be in a folder beside it.
const articlesFolder = "../shared/articles/"

// theArticles are the files of the texts, by letter.
var theArticles = map[string]string{
	"A": "003_3668de380dd77b76.txt",
	"B": "002_e0bacb35b93b913c.txt",
	"C": "000_48cdcaa761788333.txt",
	"D": "004_49478272bf7863c1.txt",
	"E": "001_3f1e7552ea5ecfb4.txt",
}

// articleTexts are the texts by letter. It skips a test if they are not there.
func articleTexts(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Stat(root + "/" + articlesFolder); err != nil {
		t.Skip("the articles are not part of the repository, and are not beside it in ../shared/articles")
	}
	texts := make(map[string]string)
	for letter, file := range theArticles {
		texts[letter] = site.Read(t, articlesFolder+file)
	}
	return texts
}

// phrasesOf returns the phrases of the guide by article, in their order.
func phrasesOf(text string) map[string][]string {
	all := make(map[string][]string)
	letter := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			letter, _ = strings.CutPrefix(strings.TrimSpace(line), "## Article ")
		}
		if m := regexp.MustCompile("^\\| `([^`]+)` \\| .+\\|\n$").FindStringSubmatch(line); m != nil {
			all[letter] = append(all[letter], m[1])
		}
	}
	return all
}

// notInOrder returns the first phrase that is not in the text behind the phrase before it; "": all
// are in order. Any blanks and new lines are the same as one blank.
func notInOrder(text string, phrases []string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, phrase := range phrases {
		_, rest, found := strings.Cut(text, phrase)
		if !found {
			return phrase
		}
		text = phrase[1:] + rest // on from its second byte: the next phrase may overlap this one
	}
	return ""
}

// requireQuotes asserts that a page quotes atLeast phrases of each article, and if the texts are here, in their order.
func requireQuotes(t *testing.T, page string, atLeast int) {
	quoted := phrasesOf(site.Read(t, page))
	require.Equal(t, len(theArticles), len(quoted), "articles with phrases")
	for letter := range theArticles {
		require.GreaterOrEqual(t, len(quoted[letter]), atLeast, "phrases of article %s", letter)
	}
	t.Run("against the articles", func(t *testing.T) {
		for letter, text := range articleTexts(t) {
			require.Empty(t, notInOrder(text, quoted[letter]), "article %s does not have this phrase here", letter)
		}
	})
}

func TestTheGuideQuotesVerbatim(t *testing.T) {
	requireQuotes(t, guidePage, 8)
	t.Run("and a phrase out of its place is found", func(t *testing.T) {
		require.Empty(t, notInOrder("one  two\nthree", []string{"one", "two three"}))
		require.Equal(t, "one", notInOrder("one two three", []string{"two", "one"}))
		require.Equal(t, "four", notInOrder("one two three", []string{"four"}))
	})
}

// firstOtherVerdict returns the first claim whose verdict on the Chinese page is another one or missing; "": none.
func firstOtherVerdict(page, chinese string) string {
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\|")
	verdicts := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(chinese, -1) {
		verdicts[m[1]] = map[string]string{"错误": "false", "部分正确": "half true"}[m[2]]
	}
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		if verdicts[m[1]] != m[2] {
			return m[1]
		}
	}
	return ""
}

// firstUnshown returns the first claim without a verdict or something that shows it, and what it lacks; "": none.
func firstUnshown(t *testing.T, page string) string {
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$").FindAllStringSubmatch(page, -1) {
		claim, verdict, shown := m[1], m[2], m[4]
		if verdict != "false" && verdict != "half true" {
			return claim + ": no verdict"
		}
		test := regexp.MustCompile("^`(Test\\w+)` in \\[[\\w.]+\\]\\(([^)]+)\\)$").FindStringSubmatch(shown)
		switch {
		case test != nil:
			if !strings.Contains(site.Read(t, "docs/"+test[2]), "func "+test[1]+"(") {
				return claim + ": " + test[1] + " is not in " + test[2]
			}
		case !regexp.MustCompile(`^\[scene \w+\]\(scenes\.md#\w+\)$`).MatchString(shown):
			return claim + ": nothing shows it"
		}
	}
	return ""
}

// Each claim has a verdict, and a test in the file that its row names, or a scene of the lab.
func TestEveryClaimHasAVerdictAndSomethingThatShowsIt(t *testing.T) {
	const claims = "docs/claims.md"
	requireQuotes(t, claims, 4)
	text := site.Read(t, claims)
	require.Empty(t, firstUnshown(t, text))
	require.Empty(t, firstOtherVerdict(text, site.Read(t, i18n.Chinese.Page(claims))), "the Chinese page differs")
	require.Equal(t, "x", firstOtherVerdict("| `x` | false | why | shown |\n", "| `x` | 部分正确 | 因为 | 证明 |\n"))
	require.Equal(t, "x", firstOtherVerdict("| `x` | false | why | shown |\n", "| `y` | 错误 | 因为 | 证明 |\n"))
	t.Run("and one without is found", func(t *testing.T) {
		for row, fault := range map[string]string{
			"| `x` | wrong | why | `TestLock` in [lock_test.go](../05-timeout/lock_test.go) |\n":     "x: no verdict",
			"| `x` | false | why | `TestNothing` in [lock_test.go](../05-timeout/lock_test.go) |\n":  "x: TestNothing is not in ../05-timeout/lock_test.go",
			"| `x` | false | why | it is known |\n":                                                  "x: nothing shows it",
			"| `x` | half true | why | [scene A1](scenes.md#a1) |\n":                                 "",
			"| `x` | half true | why | `TestLock` in [lock_test.go](../05-timeout/lock_test.go) |\n": "",
		} {
			require.Equal(t, fault, firstUnshown(t, row))
		}
	})
}
