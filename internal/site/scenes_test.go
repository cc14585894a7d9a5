// The list of scenes in docs/scenes.md, the pictures of scenes on the pages, and what is generated of docs/bugs.md, the
// catalogue of the articles' bugs, for written_test.go; and tests of that page.
package site_test

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/lab"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/lab/picture"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// A sceneList is the list of docs/scenes.md in one language, as far as it is written.
type sceneList struct {
	*testing.T
	strings.Builder
	lang               i18n.Language
	colon, stop, space string // as the language has them
}

// scenesPage is the list of docs/scenes.md: each scene of the lab with its command, its address, and how it ends.
func scenesPage(t *testing.T, lang i18n.Language) string {
	l := &sceneList{T: t, lang: lang, colon: i18n.Both(": ", "：").In(lang), stop: i18n.Both(".", "。").In(lang),
		space: i18n.Both(" ", "").In(lang)}
	for _, section := range []struct {
		title i18n.Text
		add   func()
	}{{"The steps", l.addSteps}, {"The articles' bugs", l.addBugs}, {"Exercise 11", l.addTasks},
		{"Bugs without a scene", l.addBugsWithoutScene}} {
		fmt.Fprintf(l, "\n## %s\n", section.title.In(lang))
		section.add()
	}
	return l.String()
}

// add adds a scene: its heading, what it shows, the flag of the lab's command that opens it, and its address.
func (l *sceneList) add(heading, text, flag, address string) {
	fmt.Fprintf(l, "\n### %s\n\n%s\n\n`go run ./cmd/lab -open%s`\n\n```\n%s\n```\n", heading, text, flag, address)
}

func (l *sceneList) addOf(name, text string) {
	lock := testenv.Must(locks.Find(name))(l.T)
	l.add(name, text, " -scene "+name, lock.Open().String())
}

func (l *sceneList) addSteps() {
	l.add(i18n.Text("The opening scene").In(l.lang), i18n.Text(
		"Step 2 beside step 3: the herd and the chain, with the times of [a measured "+
			"server](benchmark.md#where-the-labs-server-has-its-times-from).").In(l.lang),
		"", locks.Opening.String())
	for _, o := range locks.Openings[1:] {
		beside := i18n.Textf("“%s” beside “%s”. The opening leads to it.", o.Titles[0].In(l.lang), o.Titles[1].In(l.lang))
		name := strings.TrimSuffix(o.Name.In(l.lang), " ›") // of the button that leads to it, which shows an arrow
		l.add(name, beside.In(l.lang), " -scene '"+o.String()+"'", o.String())
	}
	for _, lock := range locks.All() {
		if lock.Group == locks.Steps {
			l.addOf(lock.Name, strings.TrimSuffix(lock.Title.In(l.lang), l.stop)+l.stop)
		}
	}
}

// bugLink is a link to a bug in docs/bugs.md, and its title: "[A1](bugs.md#a1-…): the title. ".
func (l *sceneList) bugLink(bug scenes.Bug) string {
	return fmt.Sprintf("[%s](%s#%s)%s%s%s%s", bug.ID, l.lang.Page("bugs.md"), scenes.Anchor(bug.Heading().In(l.lang)),
		l.colon, bug.Title.In(l.lang), l.stop, l.space)
}

func (l *sceneList) addBugs() {
	schedules := scenes.Schedules()
	for _, bug := range scenes.WithScene {
		text := l.bugLink(bug)
		if bug.Substitute.String() != "" {
			text += bug.Substitute.In(l.lang) + l.space
		}
		l.addOf(bug.ID, text+i18n.Textf("It ends with: *%s*.", schedules[bug.ID].Violation).In(l.lang))
	}
}

func (l *sceneList) addTasks() {
	l.WriteString("\n" + i18n.Text(
		"Here the listing is at its beginning, and the schedule is [the "+
			"exercise](exercises/_11-break-this-lock/README.md).").In(l.lang) + "\n")
	for _, task := range locks.Tasks {
		_, what, _ := strings.Cut(task.Lock.Title.In(l.lang), l.colon)
		l.addOf(task.Lock.Name, capital(what)+i18n.Textf(", `internal/bugs/listings/%s`. %s", task.Source, task.Lock.Goal.Text).In(l.lang))
	}
}

func (l *sceneList) addBugsWithoutScene() {
	for _, bug := range scenes.Bugs {
		n := bug.NoScene
		if n == nil {
			continue
		}
		fmt.Fprintf(l, "\n### %s\n\n%s%s%s%s", bug.ID, l.bugLink(bug),
			i18n.Text("There is no scene: ").In(l.lang), n.Why.In(l.lang), l.stop)
		if n.Near != "" {
			l.WriteString(l.space + i18n.Textf("Scene [%s](#%s) shows the same mistake on ZooKeeper.",
				n.Near, strings.ToLower(n.Near)).In(l.lang))
		}
		l.WriteString("\n")
	}
}

// capital begins a text with a capital letter, if its script has them.
func capital(text string) string {
	letters := []rune(text)
	letters[0] = unicode.ToUpper(letters[0])
	return string(letters)
}

// pictures are pictures of films in docs, each of the scene of a lock or, if that is "", of the opening. The page shows
// the picture as a link to the scene, with the text alt for a reader who does not see it.
var pictures = []struct {
	file, lock, page string
	alt              i18n.Text
}{
	{"herd-and-chain.svg", "", "README.md", "Six clients take a lock in turn. In the herd every release wakes all " +
		"that wait; in the chain it wakes one."},
	{"step-1.svg", "naive", "01-naive-ephemeral/README.md", "Six clients and one node: each release wakes all that " +
		"wait, and each of them sends a create."},
	{"step-2.svg", "herd", "02-herd-effect/README.md", "Six clients in a queue whose parent all watch: each change " +
		"wakes all that wait."},
	{"step-3.svg", "predecessor", "03-sequential-predecessor/README.md", "Six clients in a queue in which each " +
		"watches the node before its own: each release wakes one."},
	{"step-4.svg", "reentrant", "04-reentrant/README.md", "Six clients with the lock of step 4: as in step 3, each " +
		"release wakes one."},
	{"step-5.svg", "timeout", "05-timeout/README.md", "Six clients with the lock of step 5: as in step 3, each " +
		"release wakes one, which reads its own node before it takes the lock."},
	{"zklock.svg", "zklock", "zklock/README.md", "Six clients with the complete lock: the next one holds it once the " +
		"event arrives, and asks nothing more."},
}

// drawScene makes the picture of a lock's scene or, if the lock is "", of the opening: a panel for each film.
func drawScene(lock string, alt i18n.Text) func(*testing.T, i18n.Language) string {
	return func(t *testing.T, lang i18n.Language) string {
		address := locks.Opening
		if lock != "" {
			address = testenv.Must(locks.Find(lock))(t).Open()
		} else {
			address.Contenders = 6 // which a reader can follow
		}
		films := testenv.Must(lab.Films(t, address))(t)
		var panels []picture.Panel
		for i, name := range address.Locks {
			l := testenv.Must(locks.Find(name))(t)
			require.Nil(t, films[i].Violation)
			panels = append(panels, picture.Panel{Title: l.Title.In(lang), Film: films[i]})
		}
		svg := picture.Draw(lang, alt.In(lang), panels...)
		require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})), "it is not well formed")
		return svg
	}
}

// TestEachPictureIsALinkToItsScene: its page shows it so, and says how to open the scene.
func TestEachPictureIsALinkToItsScene(t *testing.T) {
	for _, p := range pictures {
		anchor, command := "the-opening-scene", "go run ./cmd/lab -open"
		if p.lock != "" {
			anchor, command = p.lock, command+" -scene "+p.lock
		}
		page, docs := site.Read(t, p.page), "docs/" // as the page sees that folder
		if strings.Contains(p.page, "/") {
			docs = "../docs/"
		}
		link := fmt.Sprintf("[![%s](%s)](%sscenes.md#%s)", p.alt, docs+p.file, docs, anchor)
		require.Contains(t, page, link, "%s does not show its picture as a link to its scene", p.page)
		require.Contains(t, page, "`"+command+"`", "%s does not say how to open its scene", p.page)
	}
}

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
