package build

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/guide"
	"example.com/zklock/internal/lab/locks"
)

// sourceFiles are the files in which a contender can be: the steps, the complete
// lock, the articles' listings, the locks with one line wrong, and a student's.
var sourceFiles = []string{"0*/*.go", "zklock/*.go", "internal/bugs/listings/*.go", "internal/locktest/broken/*.go", "docs/exercises/_*/*.go"}

// texts returns the script with what the page quotes: the sources by their paths, the Chinese of their
// comments, the openings, the names of the violations, and what docs/bugs.md says of each bug, in both languages.
func (b *Builder) texts() ([]byte, error) {
	sources, err := b.sources()
	if err != nil {
		return nil, err
	}
	opening, err := b.opening()
	if err != nil {
		return nil, err
	}
	bugs := make(map[i18n.Language]map[string]bugText)
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		catalogue, err := os.ReadFile(filepath.Join(b.Root, filepath.FromSlash(lang.Page("docs/bugs.md"))))
		if err != nil {
			return nil, err
		}
		bugs[lang] = bugTexts(string(catalogue))
	}
	violations := make(map[player.Kind]i18n.Text)
	for _, kind := range slices.Concat(player.Kinds, []player.Kind{player.Outlived}) {
		violations[kind] = kind.Text()
	}

	var out strings.Builder
	out.WriteString("// Written by internal/lab/build/texts.go.\nexport const SOURCES = {\n")
	literal := strings.NewReplacer(`\`, `\\`, "`", "\\`", "${", "\\${")
	comments := make(map[string]map[int]string) // in Chinese, by the lines that they follow
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(&out, "%q: `%s`,\n", name, literal.Replace(sources[name])) // shorter than JSON
		if notes := guide.Comments(sources[name]); len(notes) > 0 {
			comments[name] = notes
		}
	}
	fmt.Fprintf(&out, "};\nexport const OPENINGS = %s;\n", opening)
	for _, constant := range []struct {
		name  string
		value any
	}{{"VIOLATIONS", violations}, {"NOTES", comments}, {"BUGS", bugs}} {
		text, _ := json.Marshal(constant.value) // texts; and JSON is JavaScript
		fmt.Fprintf(&out, "export const %s = %s;\n", constant.name, text)
	}
	return []byte(out.String()), nil
}

// sources returns the texts of sourceFiles by path from the root, with a student's folder in the exercise's place.
func (b *Builder) sources() (map[string]string, error) {
	readFrom := make(map[string]string) // the file that is read in the place of each; "": the student has none
	for _, pattern := range sourceFiles {
		files, _ := filepath.Glob(filepath.Join(b.Root, filepath.FromSlash(pattern))) // the patterns are well formed
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "doc.go") {
				readFrom[file] = file
			}
		}
	}
	if b.Own != nil {
		replace, err := b.Own.replace(b.Root)
		if err != nil {
			return nil, err
		}
		maps.Copy(readFrom, replace)
	}

	sources := make(map[string]string)
	for file, from := range readFrom {
		if from == "" {
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		rel, _ := filepath.Rel(b.Root, file) // it is below the root
		sources[filepath.ToSlash(rel)] = string(text)
	}
	return sources, nil
}

// A bugText is what docs/bugs.md says of a bug. Its paragraphs are HTML.
type bugText struct {
	Title string   `json:"title"`
	Text  []string `json:"text"`
}

var (
	bugHeading = regexp.MustCompile(`(?m)^### ([A-EZ]\d+)(?:: |：)(.+)$`)
	stampLine  = regexp.MustCompile(`(?m)^<!-- en:\w+ -->\n`) // of a Chinese section
	markSpace  = regexp.MustCompile(`([，。：；、）”]\**) `)        // a space behind a Chinese mark
	lineEnd    = regexp.MustCompile(`(\p{Han}|[，。：；、（）“”])\n|\n(\p{Han}|[，。：；、（）“”])`)
	linkMark   = regexp.MustCompile(`\[([^\]]+)\]\([^)\s]+\)`)
	codeMark   = regexp.MustCompile("`([^`]+)`")
	boldMark   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// bugTexts reads the catalogue of bugs. Of each it takes the first paragraph, which quotes the article, and those
// that begin in bold: what goes wrong, and the cure.
func bugTexts(catalogue string) map[string]bugText {
	all := make(map[string]bugText)
	headings := bugHeading.FindAllStringSubmatchIndex(catalogue, -1)
	for i, h := range headings { // h has the ends of the heading, of its ID and of its title
		id, title, end := catalogue[h[2]:h[3]], catalogue[h[4]:h[5]], len(catalogue)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		section := stampLine.ReplaceAllString(catalogue[h[1]:end], "")
		bug := bugText{Title: title}
		for n, p := range strings.Split(strings.TrimSpace(section), "\n\n") {
			if n == 0 || strings.HasPrefix(p, "**") {
				bug.Text = append(bug.Text, inlineHTML(oneLine(p)))
			}
		}
		all[id] = bug
	}
	return all
}

// oneLine joins the lines of a paragraph with spaces, and beside Chinese without one: "一行\n和 two\nwords" becomes
// "一行和 two words". A space behind a Chinese mark such as 。, which Markdown may need, is removed.
func oneLine(p string) string {
	return markSpace.ReplaceAllString(strings.ReplaceAll(lineEnd.ReplaceAllString(p, "$1$2"), "\n", " "), "$1")
}

// inlineHTML writes a line of Markdown as HTML: code, bold, and the text of links.
func inlineHTML(md string) string {
	md = linkMark.ReplaceAllString(html.EscapeString(md), "$1")
	return boldMark.ReplaceAllString(codeMark.ReplaceAllString(md, "<code>$1</code>"), "<b>$1</b>")
}

// MeasuredTimes returns the times in docs/figures for locks with 1000 contenders on a real server, in nanoseconds.
func MeasuredTimes(root string, names ...string) (times []int64, err error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "figures", "real-1000.json"))
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Lock    string `json:"lock"`
		Elapsed int64  `json:"elapsed_ns"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	elapsed := make(map[string]int64)
	for _, r := range rows {
		elapsed[r.Lock] = r.Elapsed
	}
	for _, name := range names {
		if elapsed[name] == 0 {
			return nil, i18n.Errorf("docs/figures/real-1000.json has no %s", name)
		}
		times = append(times, elapsed[name])
	}
	return times, nil
}

// opening returns the page's openings as JSON, with the measured times of the first one's locks.
func (b *Builder) opening() ([]byte, error) {
	times, err := MeasuredTimes(b.Root, locks.Opening.Locks...)
	if err != nil {
		return nil, err
	}
	type scene struct {
		Address string `json:"address"`
		locks.OpeningScene
	}
	var list []scene
	for _, o := range locks.Openings {
		list = append(list, scene{o.Address.String(), o})
	}
	return json.Marshal(map[string]any{"scenes": list, "times": times})
}
