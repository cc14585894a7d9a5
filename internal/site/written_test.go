// What is generated of the pages, and the tests that compare it with them or write it.
package site_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/guide"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

// A pageFact is what is written at a mark of a page and of its Chinese edition, or if the mark is "", a whole file.
type pageFact struct {
	page, mark string
	text       func(t *testing.T, lang i18n.Language) string
}

// facts are what this package writes, in the order in which they depend on each other.
func facts() []pageFact {
	all := []pageFact{
		{architecture, "packages", packagesTable},
		{architecture, "weights", priceList},
		{catalogue, "", func(t *testing.T, lang i18n.Language) string {
			return renamedBugs(t, lang, site.Read(t, lang.Page(catalogue)))
		}},
		{catalogue, "bugs", bugsTable},
		{"docs/scenes.md", "scenes", scenesPage},
		{"docs/teaching.md", "plan", slidesPlan},
		{"docs/teaching.md", "shell", shellBlock},
		{"docs/production.md", "leader", func(t *testing.T, _ i18n.Language) string {
			return "```go\n" + site.Read(t, "docs/production/leader/main.go") + "```\n"
		}},
	}
	for _, step := range strings.Fields(wings[0].folders + " zklock") {
		all = append(all, pageFact{step + "/README.md", "bugs", bugsOf(step)})
	}
	for _, p := range pictures {
		all = append(all, pageFact{"docs/" + p.file, "", drawScene(p.lock, p.alt)})
	}
	return all
}

func TestEachFactIsOnItsPage(t *testing.T) {
	for _, fact := range facts() {
		t.Run(path.Join(fact.page, fact.mark), func(t *testing.T) {
			site.HoldsBoth(t, fact.page, fact.mark, i18n.Both(fact.text(t, i18n.English), fact.text(t, i18n.Chinese)))
		})
	}
}

// A generator is the tests of a package that write something, as a pattern for go test -run.
type generator struct{ module, pkg, tests string }

// generators write all that is generated, in the order in which they depend on each other. Those of other packages
// write what cannot be imported here: what a program prints, and what is drawn of a schedule that a test plays. A
// package is there several times if it embeds what it writes first.
var generators = []generator{
	{".", "internal/bugs/scenes", "EachSchedule"},    // schedules.json
	{".", "internal/bugs/scenes", "TheFates"},        // fates.json
	{".", "internal/bugs/scenes", "TheOrder"},        // levels.txt
	{".", "internal/bugs/examples", "BugByItsScene"}, // the diagrams of docs/bugs.md
	{"docs/other-locks", "sqlrow", "Bug"},            // those of bugs in a database
	{"docs/other-locks", "redis", "Bug"},             // those of bugs in Redis
	{".", "internal/lab/lab", "EachOpening"},         // what the films of the openings show
	{".", "cmd/exercises", "Stub"},                   // what stubs look like before a student edits them
	{".", "cmd/primers", "ThePages"},                 // what the primers print
	{".", "bench", "TheDocsSay"},                     // figures of the benchmark
	{".", "zklock", "Production"},                    // session timeouts
	{".", "zkserver/clients", "Pairs"},               // locks that share a path
	{".", "internal/site", "EachFact|NoWing"},        // the facts above
	{".", "internal/site", "Edition"},                // stamps of Chinese pages
}

// TestGoGenerateWritesAll: each package whose tests write something is in the list. With -update it runs the list.
func TestGoGenerateWritesAll(t *testing.T) {
	directive := regexp.MustCompile(`(?m)^//go:generate `)
	writing := regexp.MustCompile(`\b(?:site\.Holds|HappensOff\(|\.ByItsScene)`) // the last two call Holds
	directives := 0
	for _, module := range []string{".", "docs/other-locks"} {
		for _, p := range goList(t, filepath.Join(root, module), "-find", "./...") {
			name := strings.TrimPrefix(p.name(), module+"/")
			isListed := slices.ContainsFunc(generators, func(g generator) bool { return g.module == module && g.pkg == name })

			for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
				text := testenv.Must(os.ReadFile(filepath.Join(p.Dir, file)))(t)
				directives += len(directive.FindAll(text, -1))
				writes := writing.Match(text) && strings.HasSuffix(file, "_test.go")
				require.True(t, isListed || !writes,
					"go generate does not run the tests of %s in %s: add them to the list above", name, module)
			}
		}
	}
	require.Equal(t, 1, directives, "lines of go generate: that of this package runs all")

	if !site.Updates() {
		return
	}
	for _, g := range generators {
		cmd := exec.Command("go", "test", "-count=1", "./"+g.pkg, "-run", g.tests, "-update")
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(root, g.module), os.Stdout, os.Stderr
		require.NoError(t, cmd.Run(), "%v", cmd.Args)
	}
}

// shellBlock is a block of code with the function main of the program for a class.
func shellBlock(t *testing.T, _ i18n.Language) string {
	const file = "cmd/shell/main.go"
	for _, p := range testenv.Must(guide.Declared(file, site.Read(t, file)))(t) {
		if p.Name == "main" {
			return "```go\n" + regexp.MustCompile(`^(?://.*\n)+`).ReplaceAllString(p.Text, "") + "\n```\n"
		}
	}
	t.Fatalf("%s has no function main", file)
	return ""
}

// slidePattern has as its groups the minute, ", short" or "", the heading, the question and the answer.
var slidePattern = regexp.MustCompile(`(?s)^<!-- minute (\d+)(, short)? -->\n## ([^\n]+)\n.*\n> \*\*(?:Ask|问)\*\* (.+)\n>\n> \*\*(?:Answer|答)\*\* (.+)`)

// slidesPlan is the table of the slides, with the minute, the question and the answer of each. The slides whose comment
// has the word short make a shorter lecture.
func slidesPlan(t *testing.T, lang i18n.Language) string {
	const lecture, shortLecture = 90, 45 // minutes
	rows := i18n.Text("| minute | of 45 | slide | ask | usual answer, and what to say to it |\n").In(lang) + "|---:|---:|---|---|---|\n"
	before, inShort := -1, false // of the slide before: its minute, and whether the short lecture has it
	short := 0                   // the minute that the short lecture has come to
	for _, text := range strings.Split(site.Read(t, lang.Page("docs/teaching/slides.md")), "\n---\n")[1:] {
		m := slidePattern.FindStringSubmatch(text)
		require.NotNil(t, m, "a slide has a minute, a heading, a question and an answer: %s", text)
		heading, question, answer := m[3], m[4], strings.TrimSpace(m[5])
		minute, _ := strconv.Atoi(m[1])
		require.True(t, before < minute && minute < lecture, "the minutes of %q", heading)
		if inShort { // the time from the slide before to this one
			short += minute - before
		}
		before, inShort = minute, m[2] != ""
		minuteInShort := ""
		if inShort {
			minuteInShort = strconv.Itoa(short)
		}
		onOneLine := strings.NewReplacer("\n> ", " ")
		rows += "| " + onOneLine.Replace(strings.Join([]string{m[1], minuteInShort, heading, question, answer}, " | ")) + " |\n"
	}
	require.LessOrEqual(t, short, shortLecture)
	return rows
}
