package site_test

import (
	"encoding/xml"
	"fmt"
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

// scenesPage is the list of docs/scenes.md: each scene of the lab with its command, its address, and how it ends.
func scenesPage(t *testing.T, lang i18n.Language) string {
	var b strings.Builder
	colon, stop := i18n.Both(": ", "：").In(lang), i18n.Both(".", "。").In(lang)
	space := i18n.Both(" ", "").In(lang)
	section := func(title i18n.Text) { fmt.Fprintf(&b, "\n## %s\n", title.In(lang)) }
	entry := func(heading, text, command, address string) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n`go run ./cmd/lab -open%s`\n\n```\n%s\n```\n", heading, text, command, address)
	}
	scene := func(name, text string) {
		l := testenv.Must(locks.Find(name))(t)
		entry(name, text, " -scene "+name, l.Open().String())
	}
	link := func(bug scenes.Bug) string { // to the bug in the catalogue, and its title
		return fmt.Sprintf("[%s](%s#%s)%s%s%s%s", bug.ID, lang.Page("bugs.md"), scenes.Anchor(bug.Heading().In(lang)),
			colon, bug.Title.In(lang), stop, space)
	}

	section("The steps")
	entry(i18n.Text("The opening scene").In(lang), i18n.Text(
		"Step 2 beside step 3: the herd and the chain, with the times of [a measured "+
			"server](benchmark.md#where-the-labs-server-has-its-times-from).").In(lang),
		"", locks.Opening.String())
	for _, o := range locks.Openings[1:] {
		beside := i18n.Textf("“%s” beside “%s”. The opening leads to it.", o.Titles[0].In(lang), o.Titles[1].In(lang))
		entry(strings.TrimSuffix(o.Name.In(lang), " ›"), beside.In(lang), " -scene '"+o.String()+"'", o.String())
	}
	for _, l := range locks.All() {
		if l.Group == locks.Steps {
			scene(l.Name, strings.TrimSuffix(l.Title.In(lang), stop)+stop)
		}
	}

	section("The articles' bugs")
	schedules := scenes.Schedules()
	for _, s := range scenes.WithScene {
		text := link(s)
		if s.Substitute.String() != "" {
			text += s.Substitute.In(lang) + space
		}
		scene(s.ID, text+i18n.Textf("It ends with: *%s*.", schedules[s.ID].Violation).In(lang))
	}

	section("Exercise 11")
	b.WriteString("\n" + i18n.Text(
		"Here the listing is at its beginning, and the schedule is [the "+
			"exercise](exercises/_11-break-this-lock/README.md).").In(lang) + "\n")
	for _, task := range locks.Tasks {
		l := task.Lock
		_, what, _ := strings.Cut(l.Title.In(lang), colon)
		scene(l.Name, capital(what)+i18n.Textf(", `internal/bugs/listings/%s`. %s", task.Source, l.Goal.Text).In(lang))
	}

	section("Bugs without a scene")
	for _, bug := range scenes.Bugs {
		n := bug.NoScene
		if n == nil {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s%s%s%s", bug.ID, link(bug),
			i18n.Text("There is no scene: ").In(lang), n.Why.In(lang), stop)
		if n.Near != "" {
			b.WriteString(space + i18n.Textf("Scene [%s](#%s) shows the same mistake on ZooKeeper.",
				n.Near, strings.ToLower(n.Near)).In(lang))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// capital begins a text with a capital letter, if its script has them.
func capital(text string) string {
	letters := []rune(text)
	letters[0] = unicode.ToUpper(letters[0])
	return string(letters)
}

// A picturePlace is a picture and the page that shows it.
type picturePlace struct {
	file, lock, page string
	alt              i18n.Text
}

// pictures are the pages' pictures. Each shows the scene of a lock, or if that is "", the opening. On the page it is a
// link to the scene, with the text alt for a reader who does not see it.
var pictures = []picturePlace{
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

// pictured makes a picture of the films of a lock's scene, or if the lock is "", of the opening's.
func pictured(lock string, alt i18n.Text) func(*testing.T, i18n.Language) string {
	return func(t *testing.T, lang i18n.Language) string {
		a := locks.Opening
		a.Contenders = 6 // which a reader can follow
		if lock != "" {
			l := testenv.Must(locks.Find(lock))(t)
			a = l.Open()
		}
		films := testenv.Must(lab.Films(t, a))(t)
		var panels []picture.Panel
		for i, name := range a.Locks {
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
		page, folder := site.Read(t, p.page), "docs/"
		if strings.Contains(p.page, "/") {
			folder = "../docs/"
		}
		link := "[![" + p.alt.String() + "](" + folder + p.file + ")](" + folder + "scenes.md#" + anchor + ")"
		require.Contains(t, page, link, "%s does not show its picture as a link to its scene", p.page)
		require.Contains(t, page, "`"+command+"`", "%s does not say how to open its scene", p.page)
	}
}
