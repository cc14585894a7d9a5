package museum

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const guide = "../../docs/reading-guide.md"

// The articles stand beside the repository where they are at hand: they are
// other people's texts and no part of it.
const articles = "../../../shared/articles/"

// An article has its text in a file. Its headings are the lines, or the parts
// of a line, that match.
type article struct{ letter, file, headings string }

var theArticles = []article{
	{"A", "003_3668de380dd77b76.txt",
		`(?m)^(?:[一二三四五]、.{1,20}|\d、[^,,。\n]{1,20}|初始化|加锁|等待锁释放|释放锁| *• *(?:创建锁|循环加锁))$`},
	{"B", "002_e0bacb35b93b913c.txt",
		`(?m)^(?:\d\.[^,。:\n]{2,25}|Curator的源码分析|[^。,,\n]{2,30}[??])$`},
	{"C", "000_48cdcaa761788333.txt", `(?m)^(?:\d\.[^。\n]{2,30}|说 明|实战:.{2,20})$`},
	{"D", "004_49478272bf7863c1.txt", `(?m)^[^。}\n]{5,50}:$|^- [^。\n]{2,20}$`},
	{"E", "001_3f1e7552ea5ecfb4.txt", `Zookeeper (?:的漫衍式锁|漫衍式锁实现道理|漫衍式锁实现示例) `},
}

// phrases returns the phrases of the guide by article, in their order.
func phrases(text string) map[string][]string {
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

// notInOrder returns the first of the phrases that is not in the article after
// the one before it, "" if all are. Blanks and new lines count as one blank.
func notInOrder(text string, phrases []string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, phrase := range phrases {
		_, rest, found := strings.Cut(text, phrase)
		if !found {
			return phrase
		}
		text = phrase[1:] + rest // the next one may overlap
	}
	return ""
}

// find returns the article's headings, as the table has them.
func (a article) find(text string) (all []string) {
	for _, heading := range regexp.MustCompile(a.headings).FindAllString(text, -1) {
		all = append(all, strings.Trim(heading, " •-"))
	}
	return all
}

func TestTheGuideHasEveryHeadingAndQuotesVerbatim(t *testing.T) {
	page, err := os.ReadFile(guide)
	require.NoError(t, err)
	quoted := phrases(string(page))
	_, table, found := strings.Cut(string(page), "## Every heading\n")
	require.True(t, found)
	rows := make(map[string][]string)
	for _, m := range regexp.MustCompile("(?m)^\\| ([A-E]) \\| `([^`]+)` \\| .*\\]\\([^)]+\\).* \\|$").FindAllStringSubmatch(table, -1) {
		rows[m[1]] = append(rows[m[1]], m[2])
	}
	require.Equal(t, len(theArticles), len(quoted), "articles with phrases")
	for _, a := range theArticles {
		require.NotEmpty(t, rows[a.letter], "article %s has no row with a link in the last table", a.letter)
	}

	t.Run("against the articles", func(t *testing.T) {
		if _, err := os.Stat(articles); err != nil {
			t.Skip("the articles are no part of the repository, and are not beside it in ../shared/articles")
		}
		for _, a := range theArticles {
			text, err := os.ReadFile(articles + a.file)
			require.NoError(t, err)
			require.Empty(t, notInOrder(string(text), quoted[a.letter]), "article %s does not have this phrase here", a.letter)
			require.Equal(t, a.find(string(text)), rows[a.letter], "the headings of article %s", a.letter)
		}
	})
	t.Run("and a phrase out of its place is found", func(t *testing.T) {
		require.Empty(t, notInOrder("one  two\nthree", []string{"one", "two three"}))
		require.Equal(t, "one", notInOrder("one two three", []string{"two", "one"}))
		require.Equal(t, "four", notInOrder("one two three", []string{"four"}))
	})
}
