// Each page X.md has a Chinese edition, X.zh-CN.md, with the same sections: each has the same level, links, code,
// shapes of diagrams and figures. Below each Chinese heading is a stamp, the hash of the English section that was
// translated. No test can check whether the sense is the same, or whether the translator has read the section before
// renewing the stamp.
//
// First in this file, a page is cut into sections, and a section into units. Then an edition compares the units of the
// two languages, and writes stamps and links. The tests come last.
package site_test

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

var stampPages = flag.String("edition.stamp", "", "write the stamps of these `pages`: paths from the root, with commas")

var (
	headingLine = regexp.MustCompile(`^(#{1,6}) (.*?)\s*$`)
	markLine    = regexp.MustCompile(`^<!-- (end of )?(.+) -->$`)
	stampLine   = regexp.MustCompile(`^<!-- en:(\w+) -->$`)
	itemLine    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s`)
	linkTarget  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	figure      = regexp.MustCompile(`[A-Za-z]*\pN+(?:[.,]\pN+)*`)
	// factToken finds code, a comment, a tag of HTML, a link, the mark ** and a figure. The order matters: what is in
	// code or in a comment is not a link, and what is in a link is not a figure.
	factToken = regexp.MustCompile("`[^`]+`|<!--.*?-->|</?\\w[^>]*>|" + `\]\([^()\s]+\)|\*\*|` + figure.String())
)

// englishPath returns the path of the English page of an edition; of an English page, its own.
func englishPath(page string) string { return strings.Replace(page, ".zh-CN.", ".", 1) }

func chinesePath(page string) string { return i18n.Chinese.Page(englishPath(page)) }

// A pageSection is a heading and the text below it, up to the next heading.
type pageSection struct {
	level int
	title string
	line  int      // of the heading, from 0
	body  []string // its lines, without the stamp
	own   []string // the lines of body that are not generated
	stamp string

	generated bool // the heading is generated, and everything below it
}

// generatedCells finds a row whose last cell is generated. Group 1 is what a translator writes before it:
// "| [`zklock`](…) | what it is |" before the users of a package, and "| [A](…), title |" before an article's bugs.
var generatedCells = regexp.MustCompile("(?m)^(\\| \\[(?:`[^|]*\\||[A-Z]\\])[^|]*\\|)[^\n]*")

// hash is the hash of what a translator reads: not of the line breaks, nor of what is generated. If the whole section
// is generated, it is "".
func (s pageSection) hash() string {
	if s.generated {
		return ""
	}
	own := strings.Join(s.own, "\n")
	text := strings.Join(strings.Fields(generatedCells.ReplaceAllString(s.title+"\n"+own, "$1")), " ")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:8] // enough to notice a change
}

// generatedLines are the numbers of the lines of a page between marks, and of the marks. The table of packages is not
// among them: a translator writes what a package is.
func generatedLines(page string) map[int]bool {
	lines := make(map[int]bool)
	begins := make(map[string]int) // the last line of each mark
	for i, line := range strings.Split(page, "\n") {
		m := markLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		ends, mark := m[1] != "", m[2]
		begin, begun := begins[mark]
		if !ends {
			begins[mark] = i
		} else if begun && mark != "packages" {
			for n := begin; n <= i; n++ {
				lines[n] = true
			}
		}
	}
	return lines
}

// sections returns the sections of a page and the anchors of their headings. Text before the first heading is in none.
func sections(page string) (all []pageSection, anchors []string) {
	fenced, generated := false, generatedLines(page)
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading := headingLine.FindStringSubmatch(line); heading != nil && !fenced {
			level, title := len(heading[1]), heading[2]
			all = append(all, pageSection{level: level, title: title, line: i, generated: generated[i]})
			anchors = append(anchors, scenes.Anchor(linkTarget.ReplaceAllString(title, ""), anchors...))
			continue
		}
		if len(all) == 0 {
			continue
		}

		section := &all[len(all)-1]
		if stamp := stampLine.FindStringSubmatch(line); stamp != nil && i == section.line+1 {
			section.stamp = stamp[1]
			continue
		}
		section.body = append(section.body, line)
		if !generated[i] {
			section.own = append(section.own, line)
		}
	}
	return all, anchors
}

// units cuts a section into the units that are compared, and returns their names and their texts by these names: the
// heading, each block of code with its fences, each cell of a table, each item of a list, and the rest as one unit.
func (s pageSection) units() (names []string, texts map[string]string) {
	texts = make(map[string]string)
	add := func(name, text string) {
		if _, ok := texts[name]; !ok {
			names = append(names, name)
		}
		texts[name] += text
	}

	add("the heading", s.title)
	var block []string
	blocks, rows, items := 0, 0, 0
	inItem := false
	for _, line := range s.body {
		switch {
		case block != nil || strings.HasPrefix(line, "```"): // in a block, or at its beginning
			block = append(block, line)
			if len(block) > 1 && line == "```" {
				blocks++
				add(fmt.Sprintf("block %d", blocks), strings.Join(block, "\n"))
				block = nil
			}
		case strings.HasPrefix(line, "|"):
			rows++
			for i, cell := range cellsOf(line) {
				add(fmt.Sprintf("row %d, cell %d", rows, i+1), cell)
			}
		case itemLine.MatchString(line):
			items++
			inItem = true
			_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			add(fmt.Sprintf("item %d", items), rest)
		case inItem && strings.HasPrefix(line, " "):
			add(fmt.Sprintf("item %d", items), " "+strings.TrimSpace(line))
		case line != "":
			inItem = false
			add("the text", " "+line)
		}
	}
	if block != nil {
		add("a block without an end", strings.Join(block, "\n"))
	}
	return names, texts
}

// cellsOf returns the cells of a row. A vertical bar in code has a backslash before it.
func cellsOf(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	all := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i := range all {
		all[i] = strings.ReplaceAll(strings.TrimSpace(all[i]), "\x00", `\|`)
	}
	return all
}

// diagramLabel finds the words in a line of a diagram, which a translator changes, in one of its groups.
var diagramLabel = regexp.MustCompile(`"([^"]*)"|\(\[(.*?)\]\)|\[([^\]"]+)\]` + // in a box: "words", ([words]), [words]
	`|-- ([^">].*?) -->|-\. ([^">].*?) \.->` + // at an arrow of a flowchart: -- words -->, -. words .->
	`| as (.*)$|^(?:loop|alt|else|opt|par|and) (.*)$` + // participant A as words, loop words
	`|^(?:\w+ ?-+[>)x]+ ?\w+|Note [\w ]+[\w,]+): ?(.*)$`) // A->>B: words, Note over A,B: words

// diagramShape returns a line of a diagram without its words, and then the figures that are in them.
func diagramShape(line string) string {
	line = strings.TrimSpace(line)
	var figures []string
	line = diagramLabel.ReplaceAllStringFunc(line, func(found string) string {
		for _, words := range diagramLabel.FindStringSubmatch(found)[1:] {
			if words != "" {
				figures = append(figures, figure.FindAllString(words, -1)...)
				found = strings.Replace(found, words, "…", 1)
				break
			}
		}
		return found
	})
	slices.Sort(figures)
	return strings.Join(append([]string{line}, figures...), " ")
}

// sameInPicture finds what is the same in both languages in a picture made of characters: lines,
// arrows, figures, and names with a mark in them, such as /locks and lock-…04.
var sameInPicture = regexp.MustCompile(`[─-╿▲▼→]|[\w…]*[/…-][\w/…-]*|` + figure.String())

// sameInTranscript finds what a person types in a block of console: a line after "$ ", or a command of
// Go, whose arguments end at two blanks or where Chinese begins.
var sameInTranscript = regexp.MustCompile(`^\$ .*|go (?:run|test) [^\s\p{Han}]+(?: [^\s\p{Han}]+)*`)

// A translatedKind is a kind of blocks whose words are translated line by line.
type translatedKind struct {
	name string                   // for messages
	same func(line string) string // what both languages of a line have in common
}

// translated are these kinds, by the word behind the fence of a block.
var translated = map[string]translatedKind{
	"mermaid": {"diagram", diagramShape},
	"console": {"transcript", func(line string) string { return strings.Join(sameInTranscript.FindAllString(line, -1), " ") }},
	"text":    {"picture", func(line string) string { return strings.Join(sameInPicture.FindAllString(line, -1), " ") }},
}

type edition struct{ tree fs.FS } // pages in both languages, by their paths from the root

func (e edition) read(page string) (string, bool) {
	text, err := fs.ReadFile(e.tree, page)
	return string(text), err == nil
}

// leadsTo returns where a link of a page leads, the same for both editions: the English page's path and the heading's
// number. If a Chinese page links to an English one that has a Chinese edition, better links to that, otherwise "".
func (e edition) leadsTo(page, link string) (target, better, fault string) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, "", ""
	}
	to, anchor, hasAnchor := strings.Cut(link, "#")
	file := path.Join(path.Dir(page), to)
	if to == "" {
		file = page
	} else if info, err := fs.Stat(e.tree, file); err != nil {
		return link, "", "no such file"
	} else if info.IsDir() {
		if _, ok := e.read(file + "/README.md"); ok {
			file += "/README.md"
		}
	}

	target = englishPath(file)
	number := -1
	if hasAnchor {
		text, _ := e.read(file)
		_, anchors := sections(text)
		if number = slices.Index(anchors, anchor); number < 0 {
			return link, "", "no such heading"
		}
		target += fmt.Sprintf(", heading %d", number+1)
	}

	chineseToEnglish := page == chinesePath(page) && file == englishPath(file)
	if twin, ok := e.read(chinesePath(file)); ok && chineseToEnglish && path.Ext(file) != ".txt" {
		rel, _ := filepath.Rel(path.Dir(page), chinesePath(file)) // both are from the root
		better = filepath.ToSlash(rel)
		if hasAnchor {
			if _, anchors := sections(twin); number < len(anchors) {
				better += "#" + anchors[number]
			}
		}
	}
	return target, better, ""
}

// factsOf returns what a unit has that must be the same in both languages, with the number of times.
func (e edition) factsOf(page, unit string) (all map[string]int, faults []string) {
	all = make(map[string]int)
	for _, token := range factToken.FindAllString(unit, -1) {
		switch {
		case token[0] == '`' || token[0] == '<':
			all[token]++
		case token[0] == ']':
			target, better, fault := e.leadsTo(page, token[2:len(token)-1])
			all["a link to "+target]++
			if fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %s", token[1:], fault))
			}
			if better != "" {
				faults = append(faults, fmt.Sprintf("%s leads to an English page: the Chinese one is (%s)", token[1:], better))
			}
		case token == "**":
			all["the mark **"]++
		default:
			all["figure "+token]++
		}
	}
	return all, faults
}

// unitFaults compares a unit of a Chinese page with the English one.
func (e edition) unitFaults(page, en, zh string) []string {
	fence, _, _ := strings.Cut(en, "\n")
	sameFence := strings.HasPrefix(zh, fence+"\n")
	kind, isTranslated := translated[strings.TrimPrefix(fence, "```")]
	switch {
	case sameFence && isTranslated:
		return blockFaults(kind, en, zh)
	case sameFence && strings.HasPrefix(fence, "```scene "): // its text is a caption
		caption := func(block string) string { return strings.TrimSuffix(strings.TrimPrefix(block, fence+"\n"), "```") }
		return e.factFaults(page, caption(en), caption(zh))
	case !strings.HasPrefix(en, "```") && !strings.HasPrefix(zh, "```"):
		return e.factFaults(page, en, zh)
	case en != zh:
		return []string{"the code differs from that of the English page"}
	default:
		return nil
	}
}

func blockFaults(kind translatedKind, en, zh string) (faults []string) {
	enLines, zhLines := strings.Split(en, "\n"), strings.Split(zh, "\n")
	if len(enLines) != len(zhLines) {
		return []string{fmt.Sprintf("the %s has %d lines, and %d in English", kind.name, len(zhLines), len(enLines))}
	}
	for i := range enLines {
		if kind.same(enLines[i]) != kind.same(zhLines[i]) {
			faults = append(faults, fmt.Sprintf("line %d of the %s is %q, and in English %q", i+1, kind.name,
				strings.TrimSpace(zhLines[i]), strings.TrimSpace(enLines[i])))
		}
	}
	return faults
}

func (e edition) factFaults(page, en, zh string) []string {
	want, _ := e.factsOf(page, en) // the links of English pages are checked by the book
	got, faults := e.factsOf(chinesePath(page), zh)
	for fact := range want {
		got[fact] += 0 // so that the loop below comes to a fact that is missing
	}
	for fact, n := range got {
		if n != want[fact] {
			faults = append(faults, fmt.Sprintf("%s is there %d times, and %d times in English", fact, n, want[fact]))
		}
	}
	slices.Sort(faults)
	return faults
}

func (e edition) faults(page string) (all []string) {
	enText, hasEn := e.read(page)
	zhText, hasZh := e.read(chinesePath(page))
	if !hasEn || !hasZh {
		return []string{"a page is in both languages: CONTRIBUTING.md says how an edition begins"}
	}
	// The first line of each page switches to the other language.
	enSwitch := "English | [简体中文](" + path.Base(chinesePath(page)) + ")"
	zhSwitch := "[English](" + path.Base(page) + ") | 简体中文"
	for _, p := range []struct{ in, text, top string }{{"English", enText, enSwitch}, {"Chinese", zhText, zhSwitch}} {
		if !strings.HasPrefix(p.text, p.top+"\n\n# ") {
			all = append(all, fmt.Sprintf("the %s page must begin with the line %s, an empty one and its heading", p.in, p.top))
		}
	}
	all = append(all, typesettingFaults(enText, zhText)...)

	enSections, _ := sections(enText)
	zhSections, _ := sections(zhText)
	if len(enSections) != len(zhSections) {
		return append(all, fmt.Sprintf("there are %d headings, and %d in English", len(zhSections), len(enSections)))
	}
	for i, zh := range zhSections {
		for _, fault := range e.sectionFaults(page, enSections[i], zh) {
			all = append(all, fmt.Sprintf("line %d, %s: %s", zh.line+1, zh.title, fault))
		}
	}
	return all
}

// sectionFaults compares a section of a Chinese page with the English one.
func (e edition) sectionFaults(page string, en, zh pageSection) (all []string) {
	say := func(fault string, args ...any) { all = append(all, fmt.Sprintf(fault, args...)) }
	if en.level != zh.level {
		say("the heading has level %d, and %d in English", zh.level, en.level)
	}
	switch zh.stamp {
	case en.hash():
	case "":
		say("the stamp is missing: go generate ./...")
	default:
		say("the English section has changed since it was translated: translate it again, then "+
			"go test ./internal/site -run Edition -edition.stamp %s", chinesePath(page))
	}

	enNames, enUnits := en.units()
	zhNames, zhUnits := zh.units()
	for _, name := range enNames {
		zhUnit, ok := zhUnits[name]
		if !ok {
			say("%s is missing; in English it is %.60q", name, strings.TrimSpace(enUnits[name]))
			continue
		}
		for _, fault := range e.unitFaults(page, enUnits[name], zhUnit) {
			say("%s: %s", name, fault)
		}
	}
	for _, name := range zhNames {
		if _, ok := enUnits[name]; !ok {
			say("%s is not in the English section: %.60q", name, strings.TrimSpace(zhUnits[name]))
		}
	}
	return all
}

// stamped returns a Chinese page to which the missing stamps are added. With renew, the stamps that are there are also
// replaced by those of the English sections as they are now.
func (e edition) stamped(page string, renew bool) (string, error) {
	enText, _ := e.read(englishPath(page))
	zhText, ok := e.read(page)
	if !ok || page == englishPath(page) {
		return "", fmt.Errorf("%s is not a Chinese page", page)
	}
	enSections, _ := sections(enText)
	zhSections, _ := sections(zhText)
	if len(enSections) != len(zhSections) {
		return "", fmt.Errorf("%s has %d headings, and the English page has %d", page, len(zhSections), len(enSections))
	}
	lines := strings.Split(zhText, "\n")
	for i, zh := range slices.Backward(zhSections) { // so that the numbers of the lines above stay
		if zh.stamp == "" && enSections[i].hash() != "" {
			lines = slices.Insert(lines, zh.line+1, "")
		} else if zh.stamp == "" || !renew {
			continue
		}
		lines[zh.line+1] = "<!-- en:" + enSections[i].hash() + " -->"
	}
	return strings.Join(lines, "\n"), nil
}

// pages are the paths of the Chinese editions of all pages, also of those that have none yet.
func (e edition) pages() (all []string, err error) {
	err = fs.WalkDir(e.tree, ".", func(file string, d fs.DirEntry, err error) error {
		isHidden := file != "." && strings.HasPrefix(path.Base(file), ".")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (isHidden || d.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(file) == ".md":
			all = append(all, chinesePath(file))
		}
		return nil
	})
	return slices.Compact(slices.Sorted(slices.Values(all))), err
}

// TestEditionSaysWhatTheEnglishPageSays compares each Chinese page. With -update it writes missing stamps, and
// with -edition.stamp all stamps of some pages.
func TestEditionSaysWhatTheEnglishPageSays(t *testing.T) {
	e := edition{os.DirFS(root)}
	pages := testenv.Must(e.pages())(t)
	pagesToStamp := strings.FieldsFunc(*stampPages, func(r rune) bool { return r == ',' })
	require.Subset(t, pages, pagesToStamp)
	for _, page := range pages {
		renew := slices.Contains(pagesToStamp, page)
		if text, err := e.stamped(page, renew); err == nil && (renew || site.Updates()) { // an error is a fault below
			require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(text), 0o644))
		}
	}

	for _, page := range pages {
		t.Run(page, func(t *testing.T) { require.Empty(t, strings.Join(e.faults(englishPath(page)), "\n")) })
	}
}

const smallEn, smallZh = "docs/x.md", "docs/x.zh-CN.md" // the page that is compared, in both languages

// smallEdition has the pages of testdata/edition.txt, which are each below a line with their path: an English page and
// its Chinese edition, with links to two other pairs.
func smallEdition(t *testing.T) edition {
	t.Helper()
	text := string(testenv.Must(os.ReadFile("testdata/edition.txt"))(t))
	e := edition{make(fstest.MapFS)}
	for file := range strings.SplitSeq(strings.TrimPrefix(text, "-- "), "\n-- ") {
		name, page, _ := strings.Cut(file, " --\n")
		e.write(name, strings.TrimSuffix(page, "\n")+"\n")
	}
	for _, page := range []string{smallZh, "y/README.zh-CN.md"} {
		e.write(page, testenv.Must(e.stamped(page, true))(t))
	}
	return e
}

func (e edition) write(page, text string) {
	e.tree.(fstest.MapFS)[page] = &fstest.MapFile{Data: []byte(text)}
}

// TestEditionFindsWhatIsPlanted plants a fault in a small page, or an edit that is not a fault. A row of planted.txt
// has four cells: a name that begins with the language of the page, the text to replace, the text in its place, and a
// part of the fault to find, if there is one. ⏎ is a new line.
func TestEditionFindsWhatIsPlanted(t *testing.T) {
	for row := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/planted.txt"))(t))) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSuffix(row, "\n"), "⏎", "\n")+"\t\t\t", "\t")
		name, old, planted, want := cells[0], cells[1], cells[2], cells[3]
		language, _, _ := strings.Cut(name, ": ")
		page := cmp.Or(map[string]string{"English": smallEn, "Chinese": smallZh}[language], "y/README.md")
		t.Run(name, func(t *testing.T) {
			e := smallEdition(t)
			text, _ := e.read(page)
			require.Contains(t, text, old)
			e.write(page, strings.Replace(text, old, planted, 1))
			found := e.faults(smallEn)
			if want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, strings.Join(found, "\n"), want)
		})
	}
}

// TestAStampIsOfWhatATranslatorReads: a change of what is generated in both languages changes no stamp.
func TestAStampIsOfWhatATranslatorReads(t *testing.T) {
	page := string(testenv.Must(os.ReadFile("testdata/stamped.txt"))(t))
	hashWith := func(old, replacement string) string { // of the first section, with a word replaced
		all, _ := sections(strings.ReplaceAll(page, old, replacement))
		require.Empty(t, all[1].hash()+all[2].hash(), "the other two sections are generated")
		return all[0].hash()
	}
	unchanged := hashWith("", "")
	require.Equal(t, unchanged, hashWith("old", "new"), "old is only in what is generated")
	for _, read := range []string{"Bugs", "word", ", one", "what it is", "The end"} {
		require.NotEqual(t, unchanged, hashWith(read, "else"), read)
	}
}

func TestANewStampHidesNoOtherFault(t *testing.T) {
	e := smallEdition(t)
	english, _ := e.read(smallEn)
	before, _ := e.read(smallZh)
	require.Equal(t, before, testenv.Must(e.stamped(smallZh, true))(t), "no section has changed")

	e.write(smallEn, strings.Replace(english, "2 requests", "two requests", 1))
	after := testenv.Must(e.stamped(smallZh, true))(t)
	require.NotEqual(t, before, after)
	e.write(smallZh, after)
	require.Equal(t, after, testenv.Must(e.stamped(smallZh, false))(t), "no stamp is missing")
	require.Equal(t, []string{"line 3, 页面: the text: figure 2 is there 1 times, and 0 times in English"}, e.faults(smallEn))
}

func TestAPageThatCannotBeStampedIsAnError(t *testing.T) {
	e := smallEdition(t)
	require.ErrorContains(t, testenv.Err(e.stamped(smallEn, true)), "is not a Chinese page")
	right, _ := e.read(smallZh)
	e.write(smallZh, strings.Replace(right, "## 两步\n", "", 1))
	require.ErrorContains(t, testenv.Err(e.stamped(smallZh, true)), "has 1 headings, and the English page has 2")
}
