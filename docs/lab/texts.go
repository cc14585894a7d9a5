package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sourceFiles are the files in which a contender can be: the steps, the complete
// lock, the articles' listings, the locks with one line wrong, and a student's.
var sourceFiles = []string{"0*/*.go", "zklock/*.go", "internal/museum/listings/*.go", "internal/locktest/broken/*.go", "docs/exercises/_*/*.go"}

// texts makes the script that holds what the page quotes: the sources by their
// paths, and of each bug in docs/bugs.md what goes wrong and the cure.
func (b *builder) texts() ([]byte, error) {
	sources := make(map[string]string)
	for _, pattern := range sourceFiles {
		files, err := filepath.Glob(filepath.Join(b.root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "doc.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(b.root, file)
			if err != nil {
				return nil, err
			}
			sources[filepath.ToSlash(rel)] = string(text)
		}
	}
	if b.own != nil {
		replace, err := b.own.replace(b.root)
		if err != nil {
			return nil, err
		}
		for file, with := range replace {
			rel, err := filepath.Rel(b.root, file)
			if err != nil {
				return nil, err
			}
			delete(sources, filepath.ToSlash(rel))
			if with == "" {
				continue
			}
			text, err := os.ReadFile(with)
			if err != nil {
				return nil, err
			}
			sources[filepath.ToSlash(rel)] = string(text)
		}
	}
	catalogue, err := os.ReadFile(filepath.Join(b.root, "docs", "bugs.md"))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString("// Written by docs/lab/texts.go.\nexport const SOURCES = {\n")
	literal := strings.NewReplacer(`\`, `\\`, "`", "\\`", "${", "\\${")
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(&out, "%q: `%s`,\n", name, literal.Replace(sources[name])) // shorter than JSON
	}
	out.WriteString("};\n")
	text, err := json.Marshal(bugTexts(string(catalogue))) // JSON is JavaScript
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "export const BUGS = %s;\n", text)
	return []byte(out.String()), nil
}

// A bugText is what docs/bugs.md says of a bug, in HTML.
type bugText struct {
	Title string   `json:"title"`
	Text  []string `json:"text"` // paragraphs
}

var (
	bugHeading = regexp.MustCompile(`(?m)^### ([A-E]\d+): (.+)$`)
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
		section := catalogue[h[1]:end]
		bug := bugText{Title: catalogue[h[4]:h[5]]}
		for n, p := range strings.Split(strings.TrimSpace(section), "\n\n") {
			if n == 0 || strings.HasPrefix(p, "**") {
				bug.Text = append(bug.Text, inlineHTML(strings.ReplaceAll(p, "\n", " ")))
			}
		}
		all[catalogue[h[2]:h[3]]] = bug
	}
	return all
}

// inlineHTML writes a line of Markdown as HTML: code, bold, and the text of links.
func inlineHTML(md string) string {
	md = linkMark.ReplaceAllString(escape(md), "$1")
	return boldMark.ReplaceAllString(codeMark.ReplaceAllString(md, "<code>$1</code>"), "<b>$1</b>")
}
