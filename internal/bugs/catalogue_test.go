package bugs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
)

const catalogue = "../../docs/bugs.md"

// An edition is the catalogue in a language.
type edition struct {
	file         string
	lang         i18n.Language
	colon, comma string
	step         string // how the heading of a step begins; that of zklock begins with its name
}

var (
	english = edition{catalogue, i18n.English, ":", ", ", "## Step "}
	chinese = edition{"../../docs/bugs.zh-CN.md", i18n.Chinese, "：", "、", "## 第 "}
)

var effectsZh = map[scenes.Effect]string{
	scenes.Hang: "永远等待", scenes.TwoHolders: "两个持有者", scenes.Leak: "残留", scenes.Starvation: "饥饿", scenes.Crash: "崩溃",
}

var articleRow = regexp.MustCompile(`(?m)^(\| \[([A-Z])\]\(.*? \| )(.*) \|$`)

// written is the page with what the bugs' entries in package scenes say: the
// headings, the rows of the table, the links by article, and those in the text.
func (e edition) written(t *testing.T, page string) string {
	var rows strings.Builder
	for _, b := range scenes.Bugs {
		heading := b.Heading().In(e.lang)
		line := regexp.MustCompile(`(?m)^### ` + b.ID + e.colon + `.*$`)
		require.Len(t, line.FindAllString(page, -1), 1, "entries of %s in %s: write one with the heading ### %[1]s%[3]s below that of its step", b.ID,
			e.file, e.colon)
		page = line.ReplaceAllLiteralString(page, "### "+heading)
		link := "](#" + scenes.Anchor(heading) + ")"
		page = regexp.MustCompile(`\]\(#`+strings.ToLower(b.ID)+`[^\d)][^)]*\)`).ReplaceAllLiteralString(page, link)
		effect := scenes.Text{En: string(b.Effect), Zh: effectsZh[b.Effect]}.In(e.lang)
		fmt.Fprintf(&rows, "| [%s%s | %s | %s | %s |\n", heading, link, b.Article(), effect, b.CuredIn().In(e.lang))
	}
	table := regexp.MustCompile(`(?m)(?:^\| \[\w+` + e.colon + `.*\n)+`)
	require.Len(t, table.FindAllString(page, -1), 1, "tables of bugs in %s; its rows begin with | [A1%s", e.file, e.colon)
	page = table.ReplaceAllLiteralString(page, rows.String())

	// By article, the English page has the order: that in which the article comes to its bugs.
	orders := make(map[string][]string)
	for _, m := range articleRow.FindAllStringSubmatch(read(t, catalogue), -1) {
		orders[m[2]] = matches(m[3], `\[([A-Z]\d+)\]`)
	}
	for _, b := range scenes.Bugs {
		ids := orders[b.Article()]
		require.NotNil(t, ids, "%s has no row of article %s in its table of the articles", catalogue, b.Article())
		if !slices.Contains(ids, b.ID) {
			orders[b.Article()] = append(ids, b.ID)
		}
	}
	page = articleRow.ReplaceAllStringFunc(page, func(line string) string {
		m := articleRow.FindStringSubmatch(line)
		var links []string
		for _, id := range orders[m[2]] {
			links = append(links, "["+id+"](#"+scenes.Anchor(scenes.Get(id).Heading().In(e.lang))+")")
		}
		return m[1] + strings.Join(links, e.comma) + " |"
	})
	return page
}

// order is that of the steps and the bugs on the page.
func (e edition) order(page string) []string {
	return matches(page, `(?m)^(?:### |`+e.step+`|## )(zklock|\w\d*)\b`)
}

// ordered is the order of package scenes.
func ordered() (list []string) {
	step := ""
	for _, b := range scenes.Bugs {
		if b.Step != step {
			list = append(list, strings.TrimPrefix(strings.Split(b.Step, "-")[0], "0"))
		}
		step = b.Step
		list = append(list, b.ID)
	}
	return list
}

// The diagram of each entry is checked by the bug's exhibit.
func TestTheCatalogueHasWhatTheBugsSay(t *testing.T) {
	for _, e := range []edition{english, chinese} {
		page := read(t, e.file)
		want := e.written(t, page)
		require.Equal(t, ordered(), e.order(page), "%s has each bug below the step of its entry in internal/bugs/scenes, by article and number", e.file)
		if *update {
			require.NoError(t, os.WriteFile(e.file, []byte(want), 0o644))
			continue
		}
		there := strings.Split(page, "\n") // as many lines: written changes some
		for i, line := range strings.Split(want, "\n") {
			require.Equal(t, line, there[min(i, len(there)-1)], "%s is stale: go generate ./...", e.file)
		}
		require.Len(t, page, len(want), "%s is stale: go generate ./...", e.file)
	}
	page := read(t, catalogue)
	t.Run("and what is not so is found", func(t *testing.T) {
		for _, change := range [][2]string{
			{"### D1: a watch", "### D1: the watch"}, {"| D | hang | step 3 |", "| D | hang | step 4 |"}, {"](#d10-", "](#d10-not-"}, {"[D5](#", "[D6](#"},
		} {
			changed := strings.Replace(page, change[0], change[1], 1)
			require.NotEqual(t, page, changed)
			require.NotEqual(t, changed, english.written(t, changed), change)
		}
		require.NotEqual(t, ordered(), english.order(strings.Replace(page, "### D1:", "### D13:", 1)))
		require.NotEqual(t, ordered(), english.order(strings.Replace(page, "\n## Step 4", "\n## Then 4", 1)))
	})
}

func TestEachBugHasOneDiagramAndSomethingThatShowsIt(t *testing.T) {
	page := read(t, catalogue)
	all := matches(page, `(?m)^### (\w+):`)
	require.Equal(t, all, matches(page, `(?m)^<!-- (\w+) -->$`),
		"each entry of docs/bugs.md needs a line <!-- A1 --> with its ID: go generate ./... draws the diagram below it")
	for _, id := range all {
		_, scene := scenes.Find(id)
		require.True(t, scene || elsewhere[id] != "", "%s needs a scene, or a test in docs/other-locks", id)
	}
	before, drawn, after, ok := cutDiagram("### A1\n\n<!-- A1 -->\n\nIt hangs.\n\n### A2\n\n```mermaid\n```\n", "A1")
	require.True(t, ok)
	require.Equal(t, []string{"### A1\n\n", "<!-- A1 -->\n", "\nIt hangs.\n\n### A2\n\n```mermaid\n```\n"}, []string{before, drawn, after})
}

// matches are what the group of a pattern finds: IDs.
func matches(text, pattern string) (ids []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// Each cure names a function and a file; the file has that function. So it is
// with the reading guide, and with the page on how the server works.
func TestThePagesNameFunctionsThatExist(t *testing.T) {
	for page, atLeast := range map[string]int{catalogue: 31, "../../docs/reading-guide.md": 50, "../../zkserver/README.md": 15} {
		flat := strings.ReplaceAll(read(t, page), "\n", " ")
		named := regexp.MustCompile("`(\\w+)` in \\[[\\w.]+\\]\\(([^)]+)\\)").FindAllStringSubmatch(flat, -1)
		require.GreaterOrEqual(t, len(named), atLeast, "functions that %s names", page)
		for _, f := range named {
			require.Regexp(t, `(?m)^(func (\(.*\) )?`+f[1]+`\(|\t`+f[1]+` = )`, read(t, filepath.Join(filepath.Dir(page), f[2])), "%s in %s", f[1], f[2])
		}
	}
}
