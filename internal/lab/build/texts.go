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

// texts makes the script that holds what the page quotes: the sources by their
// paths, the Chinese of their comments, and of each bug in docs/bugs.md what goes wrong and
// the cure, in both languages.
func (b *Builder) texts() ([]byte, error) {
	from := make(map[string]string) // the file that is read for each; "": none is
	for _, pattern := range sourceFiles {
		files, err := filepath.Glob(filepath.Join(b.Root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "doc.go") {
				from[file] = file
			}
		}
	}
	if b.Own != nil {
		replace, err := b.Own.replace(b.Root)
		if err != nil {
			return nil, err
		}
		maps.Copy(from, replace)
	}
	sources, notes := make(map[string]string), make(map[string]map[int]string)
	for file, read := range from {
		if read == "" {
			continue
		}
		text, err := os.ReadFile(read)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(b.Root, file)
		if err != nil {
			return nil, err
		}
		rel = filepath.ToSlash(rel)
		sources[rel] = string(text)
		if below := guide.Comments(sources[rel]); len(below) > 0 {
			notes[rel] = below
		}
	}
	bugs := make(map[i18n.Language]map[string]bugText)
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		catalogue, err := os.ReadFile(filepath.Join(b.Root, filepath.FromSlash(lang.Page("docs/bugs.md"))))
		if err != nil {
			return nil, err
		}
		bugs[lang] = bugTexts(string(catalogue))
	}
	var out strings.Builder
	out.WriteString("// Written by internal/lab/build/texts.go.\nexport const SOURCES = {\n")
	literal := strings.NewReplacer(`\`, `\\`, "`", "\\`", "${", "\\${")
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(&out, "%q: `%s`,\n", name, literal.Replace(sources[name])) // shorter than JSON
	}
	out.WriteString("};\n")
	opening, err := b.opening()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "export const OPENINGS = %s;\n", opening)
	kinds := make(map[player.Kind]i18n.Text)
	for _, kind := range slices.Concat(player.Kinds, []player.Kind{player.Outlived}) {
		kinds[kind] = kind.Text()
	}
	violations, _ := json.Marshal(kinds) // texts; and JSON is JavaScript
	below, _ := json.Marshal(notes)
	text, _ := json.Marshal(bugs)
	fmt.Fprintf(&out, "export const VIOLATIONS = %s;\nexport const NOTES = %s;\nexport const BUGS = %s;\n", violations, below, text)
	return []byte(out.String()), nil
}

// A bugText is the text of docs/bugs.md on a bug, in HTML.
type bugText struct {
	Title string   `json:"title"`
	Text  []string `json:"text"` // paragraphs
}

var (
	bugHeading = regexp.MustCompile(`(?m)^### ([A-E]\d+)(?:: |：)(.+)$`)
	stampLine  = regexp.MustCompile(`(?m)^<!-- en:\w+ -->\n`) // of a Chinese section
	markSpace  = regexp.MustCompile(`([，。：；、）”]\**) `)
	lineEnd    = regexp.MustCompile(`(\p{Han}|[，。：；、（）“”])\n|\n(\p{Han}|[，。：；、（）“”])`)
	linkMark   = regexp.MustCompile(`\[([^\]]+)\]\([^)\s]+\)`)
	codeMark   = regexp.MustCompile("`([^`]+)`")
	boldMark   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// bugTexts reads the catalogue of bugs. Of each it takes the words of the
// article and the paragraphs that begin in bold.
func bugTexts(catalogue string) map[string]bugText {
	all := make(map[string]bugText)
	heads := bugHeading.FindAllStringSubmatchIndex(catalogue, -1)
	for i, h := range heads {
		end := len(catalogue)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		section := stampLine.ReplaceAllString(catalogue[h[1]:end], "")
		bug := bugText{Title: catalogue[h[4]:h[5]]}
		for n, p := range strings.Split(strings.TrimSpace(section), "\n\n") {
			if n == 0 || strings.HasPrefix(p, "**") {
				bug.Text = append(bug.Text, inlineHTML(oneLine(p)))
			}
		}
		all[catalogue[h[2]:h[3]]] = bug
	}
	return all
}

// oneLine joins the lines of a paragraph. Chinese has no space there, and none behind a
// mark such as 。, where Markdown may need one.
func oneLine(p string) string {
	return markSpace.ReplaceAllString(strings.ReplaceAll(lineEnd.ReplaceAllString(p, "$1$2"), "\n", " "), "$1")
}

// inlineHTML writes a line of Markdown as HTML: code, bold, and the text of links.
func inlineHTML(md string) string {
	md = linkMark.ReplaceAllString(html.EscapeString(md), "$1")
	return boldMark.ReplaceAllString(codeMark.ReplaceAllString(md, "<code>$1</code>"), "<b>$1</b>")
}

// MeasuredTimes are those that docs/figures of a checkout has for locks with 1000 contenders on a real
// server, in nanoseconds.
func MeasuredTimes(root string, names ...string) ([]int64, error) {
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
	times := make([]int64, len(names))
	for i, name := range names {
		for _, r := range rows {
			if r.Lock == name {
				times[i] = r.Elapsed
			}
		}
		if times[i] == 0 {
			return nil, i18n.Errorf("docs/figures/real-1000.json has no %s", "docs/figures/real-1000.json 里没有 %s", name)
		}
	}
	return times, nil
}

// opening has the page's openings as JSON, and the measured times of the first one's locks.
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
