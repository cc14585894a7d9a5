// What is generated of docs/bugs.md, the catalogue of the articles' bugs, for written_test.go; and tests of the page.
package site_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
)

const catalogue = "docs/bugs.md"

var (
	// articleRow is a row of the table by article. Its groups are what comes before the bugs, the article, and the bugs.
	articleRow = regexp.MustCompile(`(?m)^(\| \[([A-Z])\]\(.*? \| )(.*) \|$`)
	// headings find a step's number, zklock, or a bug's ID: "## Step 2: …", "## zklock", "### A1: …" and the Chinese ones.
	headings = map[i18n.Language]string{i18n.English: `(?m)^(?:### |## Step |## )(zklock|\w\d*)\b`, i18n.Chinese: `(?m)^(?:### |## 第 |## )(zklock|\w\d*)\b`}
)

// bugsTable is the table at the beginning of the catalogue: a row for each bug.
func bugsTable(_ *testing.T, lang i18n.Language) string {
	rows := i18n.Text("| bug | article | kind | cured in |").In(lang) + "\n|---|---|---|---|\n"
	for _, b := range scenes.Bugs {
		heading, kind, cure := b.Heading().In(lang), b.Kinds[0].Text().In(lang), b.CuredIn().In(lang)
		rows += fmt.Sprintf("| [%s](#%s) | %s | %s | %s |\n", heading, scenes.Anchor(heading), b.Article(), kind, cure)
	}
	return rows
}

// bugsOf makes the table of a step's README. A row has links to the bug's entry in the catalogue and to its scene.
func bugsOf(step string) func(*testing.T, i18n.Language) string {
	return func(_ *testing.T, lang i18n.Language) string {
		rows := i18n.Text("| bug | what goes wrong | play it |").In(lang) + "\n|---|---|---|\n"
		for _, b := range scenes.Bugs {
			curedHere := b.ID == "A6" && step == "02-herd-effect" // step 1 has it, and step 2 cures it
			if b.Step != step && !curedHere {
				continue
			}
			anchor, scene := scenes.Anchor(b.Heading().In(lang)), i18n.Text("no scene")
			if _, ok := scenes.Find(b.ID); ok {
				scene = i18n.Textf("scene %s", b.ID)
			}
			rows += fmt.Sprintf("| [%s](../%s#%s) | %s | [%s](../%s#%s) |\n", b.ID, lang.Page(catalogue), anchor,
				b.Title.In(lang), scene.In(lang), lang.Page("docs/scenes.md"), strings.ToLower(b.ID))
		}
		return rows
	}
}

// renamedBugs returns the catalogue with the titles that the bugs have in package scenes: in the headings, and in the
// links of the text and of the table by article.
func renamedBugs(t *testing.T, lang i18n.Language, page string) string {
	colon := i18n.Both(":", "：").In(lang)
	for _, b := range scenes.Bugs {
		heading := b.Heading().In(lang)
		line := regexp.MustCompile(`(?m)^### ` + b.ID + colon + `.*$`)
		require.Len(t, line.FindAllString(page, -1), 1,
			"entries of %s in %s: write one with the heading ### %[1]s%[3]s below its step", b.ID, lang.Page(catalogue), colon)
		page = line.ReplaceAllLiteralString(page, "### "+heading)
		link := regexp.MustCompile(`\]\(#` + strings.ToLower(b.ID) + `[^\d)][^)]*\)`) // if b is A1, not a link to A10
		page = link.ReplaceAllLiteralString(page, "](#"+scenes.Anchor(heading)+")")
	}

	// In the table by article, the bugs are in the order of the English page, which is that of the article.
	idsOf := make(map[string][]string) // by article
	for _, m := range articleRow.FindAllStringSubmatch(site.Read(t, catalogue), -1) {
		article, links := m[2], m[3]
		idsOf[article] = firstGroups(links, `\[([A-Z]\d+)\]`)
	}
	for _, b := range scenes.Bugs {
		ids := idsOf[b.Article()]
		require.NotNil(t, ids, "%s has no row of article %s in its table of the articles", catalogue, b.Article())
		if !slices.Contains(ids, b.ID) {
			idsOf[b.Article()] = append(ids, b.ID)
		}
	}
	return articleRow.ReplaceAllStringFunc(page, func(line string) string {
		m := articleRow.FindStringSubmatch(line)
		before, article := m[1], m[2]
		var links []string
		for _, id := range idsOf[article] {
			links = append(links, "["+id+"](#"+scenes.Anchor(scenes.Get(id).Heading().In(lang))+")")
		}
		return before + strings.Join(links, i18n.Both(", ", "、").In(lang)) + " |"
	})
}

// idsInOrder are the numbers of the steps, each followed by the IDs of its bugs, in the order of package scenes.
func idsInOrder() (list []string) {
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

func TestTheCatalogueHasEachBugBelowItsStep(t *testing.T) {
	for lang, pattern := range headings {
		page := site.Read(t, lang.Page(catalogue))
		require.Equal(t, idsInOrder(), firstGroups(page, pattern),
			"%s has each bug below the step of its entry in internal/bugs/scenes, by article and number", lang.Page(catalogue))
		require.Equal(t, firstGroups(page, `(?m)^### (\w+)(?::|：)`), firstGroups(page, `(?m)^<!-- ([A-Z]\d+) -->$`),
			"%s: each entry has one place for its diagram: <!-- A1 --> to <!-- end of A1 --> with its ID", lang.Page(catalogue))
	}

	// A title, a link or a row that somebody has changed is found, and so is a bug or a step at another place.
	page := site.Read(t, catalogue)
	for old, replacement := range map[string]string{"### D1: a watch": "### D1: the watch", "](#d10-": "](#d10-not-", "[D5](#": "[D6](#"} {
		changed := strings.Replace(page, old, replacement, 1)
		require.NotEqual(t, page, changed)
		require.NotEqual(t, changed, renamedBugs(t, i18n.English, changed), old)
	}
	for old, replacement := range map[string]string{"### D1:": "### D13:", "\n## Step 4": "\n## Then 4"} {
		require.NotEqual(t, idsInOrder(), firstGroups(strings.Replace(page, old, replacement, 1), headings[i18n.English]))
	}
}

// firstGroups returns what the first group of a pattern finds.
func firstGroups(text, pattern string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// Where the catalogue, the reading guide, the map, or the page on how the server works names a function in a file,
// the file has that function.
func TestThePagesNameFunctionsThatExist(t *testing.T) {
	for page, atLeast := range map[string]int{catalogue: 31, guidePage: 50, "zkserver/README.md": 15, architecture: 6} {
		flat := strings.ReplaceAll(site.Read(t, page), "\n", " ")
		named := regexp.MustCompile("`(\\w+)` in \\[[\\w.]+\\]\\(([^)]+)\\)").FindAllStringSubmatch(flat, -1)
		require.GreaterOrEqual(t, len(named), atLeast, "functions that %s names", page)
		for _, f := range named {
			require.Regexp(t, `(?m)^(func (\(.*\) )?`+f[1]+`\(|\t`+f[1]+` = )`,
				site.Read(t, filepath.Join(filepath.Dir(page), f[2])), "%s in %s", f[1], f[2])
		}
	}
}
