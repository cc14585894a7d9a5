package house

import (
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
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"example.com/zklock/internal/museum/scenes"
)

// A page X.md may have a Chinese edition, X.zh-CN.md. It says what the English page
// says: each section has the same level, links, code, shapes of diagrams and
// figures. Below each Chinese heading is a stamp, the hash of the English section
// that was translated. No test can tell whether the sense is the same, or whether
// the translator read the section before the stamp was renewed.

var (
	stampPages  = flag.String("edition.stamp", "", "write the stamps of these Chinese `pages`, paths from the root of the repository with commas between them")
	updateLinks = flag.Bool("edition.update", false, "lead the links of Chinese pages to Chinese pages, where these exist")
)

var (
	headingLine = regexp.MustCompile(`^(#{1,6}) (.*?)\s*$`)
	stampLine   = regexp.MustCompile(`^<!-- en:(\w*) -->$`)
	itemLine    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s`)
	linkTarget  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// In this order: what is inside of code or a comment is not a link, and what is
	// inside of a link is not a figure.
	factToken = regexp.MustCompile("`[^`]+`|<!--.*?-->|</?\\w[^>]*>|" + `\]\([^()\s]+\)|\*\*|[A-Za-z]*\pN+(?:[.,]\pN+)*`)
	figure    = regexp.MustCompile(`[A-Za-z]*\pN+(?:[.,]\pN+)*`)
)

// chinese returns the path of a page's Chinese edition, and english that of the
// page of which a page is the edition, or its own.
func chinese(page string) string { return strings.TrimSuffix(english(page), ".md") + ".zh-CN.md" }
func english(page string) string { return strings.Replace(page, ".zh-CN.md", ".md", 1) }

// switches returns the first lines that a page and its edition must have.
func switches(page string) (en, zh string) {
	return "English | [简体中文](" + path.Base(chinese(page)) + ")", "[English](" + path.Base(english(page)) + ") | 简体中文"
}

// A section is a heading and what is below it, up to the next heading.
type section struct {
	level int
	title string
	line  int      // of the heading, from 0
	body  []string // without the stamp
	stamp string
}

// hash is the same after a change of the line breaks.
func (s section) hash() string {
	text := strings.Join(strings.Fields(s.title+"\n"+strings.Join(s.body, "\n")), " ")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:8]
}

// sections takes a page apart, and returns the anchors of its headings, too. What
// is before the first heading is not among them.
func sections(page string) (all []section, anchors []string) {
	fenced := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		last := len(all) - 1
		if m := headingLine.FindStringSubmatch(line); m != nil && !fenced {
			all = append(all, section{level: len(m[1]), title: m[2], line: i})
			name := scenes.Anchor(linkTarget.ReplaceAllString(m[2], ""))
			anchor := name
			for n := 1; slices.Contains(anchors, anchor); n++ {
				anchor = fmt.Sprintf("%s-%d", name, n)
			}
			anchors = append(anchors, anchor)
		} else if m := stampLine.FindStringSubmatch(line); m != nil && last >= 0 && i == all[last].line+1 {
			all[last].stamp = m[1]
		} else if last >= 0 {
			all[last].body = append(all[last].body, line)
		}
	}
	return all, anchors
}

// units cuts a section into the units that are compared: the heading, each block
// of code, each cell of a table, each item of a list, and the rest together.
// Blocks of code are returned with their fences.
func (s section) units() (names []string, texts map[string]string) {
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
		case block != nil || strings.HasPrefix(line, "```"):
			block = append(block, line)
			if len(block) > 1 && line == "```" {
				blocks++
				add(fmt.Sprintf("block %d", blocks), strings.Join(block, "\n"))
				block = nil
			}
		case strings.HasPrefix(line, "|"):
			rows++
			for i, cell := range cells(line) {
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

// cells returns the cells of a row. A vertical bar in code has a backslash before
// it.
func cells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	all := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i := range all {
		all[i] = strings.ReplaceAll(strings.TrimSpace(all[i]), "\x00", `\|`)
	}
	return all
}

// label is what a translator may change in a line of a diagram, in one of the groups.
var label = regexp.MustCompile(`"([^"]*)"|\(\[(.*?)\]\)|\[([^\]"]+)\]|-- ([^">].*?) -->|-\. ([^">].*?) \.->| as (.*)$|^(?:loop|alt|else|opt|par|and) (.*)$|^(?:\w+ ?-+[>)x]+ ?\w+|Note [\w ]+[\w,]+): ?(.*)$`)

// shape is a line of a diagram without its words, but with the figures in them.
func shape(line string) string {
	line = strings.TrimSpace(line)
	var figures []string
	line = label.ReplaceAllStringFunc(line, func(found string) string {
		for _, words := range label.FindStringSubmatch(found)[1:] {
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

// An edition is a set of pages, by their paths from the root.
type edition struct{ tree fs.FS }

func (e edition) read(page string) (string, bool) {
	text, err := fs.ReadFile(e.tree, page)
	return string(text), err == nil
}

// lead says what a link of a page leads to: the path of a page is the English one's,
// and its heading is given by its number. other is where the link should lead, "" if
// it should lead where it does.
func (e edition) lead(page, link string) (target, other, fault string) {
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
	text, _ := e.read(file)
	_, here := sections(text)
	number := slices.Index(here, anchor)
	if hasAnchor && number < 0 {
		return link, "", "no such heading"
	}
	target = english(file)
	if hasAnchor {
		target += fmt.Sprintf(", heading %d", number+1)
	}
	if twin, ok := e.read(chinese(file)); ok && page == chinese(page) && file == english(file) && strings.HasSuffix(file, ".md") {
		rel, err := filepath.Rel(path.Dir(page), chinese(file))
		if err != nil {
			return target, "", err.Error()
		}
		other = filepath.ToSlash(rel)
		if _, anchors := sections(twin); hasAnchor && number < len(anchors) {
			other += "#" + anchors[number]
		}
	}
	return target, other, ""
}

// facts returns what a unit has that is the same in both languages, with a count
// for each.
func (e edition) facts(page, unit string) (all map[string]int, faults []string) {
	all = make(map[string]int)
	for _, token := range factToken.FindAllString(unit, -1) {
		switch {
		case token[0] == '`':
			all[token]++
		case token[0] == ']':
			target, other, fault := e.lead(page, token[2:len(token)-1])
			all["a link to "+target]++
			if fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %s", token[1:], fault))
			}
			if other != "" {
				faults = append(faults, fmt.Sprintf("%s leads to an English page: the Chinese one is (%s)", token[1:], other))
			}
		case token == "**":
			all["the mark **"]++
		case token[0] == '<':
			all[token]++
		default:
			all["figure "+token]++
		}
	}
	return all, faults
}

// compare returns the faults of a Chinese unit. what names the unit.
func (e edition) compare(page, what, en, zh string) (faults []string) {
	if strings.HasPrefix(en, "```mermaid") && strings.HasPrefix(zh, "```mermaid") {
		ens, zhs := strings.Split(en, "\n"), strings.Split(zh, "\n")
		if len(ens) != len(zhs) {
			return []string{fmt.Sprintf("%s: the diagram has %d lines, and %d in English", what, len(zhs), len(ens))}
		}
		for i := range ens {
			if shape(ens[i]) != shape(zhs[i]) {
				faults = append(faults, fmt.Sprintf("%s: line %d of the diagram is %q, and in English %q", what, i+1, strings.TrimSpace(zhs[i]), strings.TrimSpace(ens[i])))
			}
		}
		return faults
	}
	if strings.HasPrefix(en, "```") || strings.HasPrefix(zh, "```") {
		if en != zh {
			faults = append(faults, what+": the code differs from that of the English page")
		}
		return faults
	}
	want, _ := e.facts(page, en) // its own links are another test's
	got, faults := e.facts(chinese(page), zh)
	for i := range faults {
		faults[i] = what + ": " + faults[i]
	}
	for fact := range want {
		if _, ok := got[fact]; !ok {
			got[fact] = 0
		}
	}
	for fact, n := range got {
		if n != want[fact] {
			faults = append(faults, fmt.Sprintf("%s: %s is there %d times, and %d times in English", what, fact, n, want[fact]))
		}
	}
	return faults
}

// faults returns what is wrong with the Chinese edition of a page.
func (e edition) faults(page string) (all []string) {
	enText, ok := e.read(page)
	if !ok {
		return []string{"the English page is missing"}
	}
	zhText, _ := e.read(chinese(page))
	enSwitch, zhSwitch := switches(page)
	if !strings.HasPrefix(enText, enSwitch+"\n\n# ") {
		all = append(all, fmt.Sprintf("the English page must begin with the line %s, an empty line, and its heading", enSwitch))
	}
	if !strings.HasPrefix(zhText, zhSwitch+"\n\n# ") {
		all = append(all, fmt.Sprintf("the Chinese page must begin with the line %s, an empty line, and its heading", zhSwitch))
	}
	all = append(all, set(enText, zhText)...)
	ens, _ := sections(enText)
	zhs, _ := sections(zhText)
	if len(ens) != len(zhs) {
		return append(all, fmt.Sprintf("there are %d headings, and %d in English", len(zhs), len(ens)))
	}
	for i, zh := range zhs {
		en := ens[i]
		say := func(format string, args ...any) {
			all = append(all, fmt.Sprintf("line %d, %s: ", zh.line+1, zh.title)+fmt.Sprintf(format, args...))
		}
		if en.level != zh.level {
			say("the heading has level %d, and %d in English", zh.level, en.level)
		}
		switch zh.stamp {
		case en.hash():
		case "":
			say("the stamp is missing: go test ./internal/house -run Edition -edition.stamp %s", chinese(page))
		default:
			say("the English section has changed since it was translated: translate it again, then go test ./internal/house -run Edition -edition.stamp %s", chinese(page))
		}
		enNames, enUnits := en.units()
		zhNames, zhUnits := zh.units()
		for _, name := range slices.Concat(enNames, zhNames) {
			_, inEn := enUnits[name]
			_, inZh := zhUnits[name]
			switch {
			case inEn && !inZh:
				say("%s is missing; in English it is %.60q", name, strings.TrimSpace(enUnits[name]))
			case inZh && !inEn:
				say("%s is not in the English section: %.60q", name, strings.TrimSpace(zhUnits[name]))
			}
		}
		for _, name := range enNames {
			if zhUnit, ok := zhUnits[name]; ok {
				found := e.compare(page, name, enUnits[name], zhUnit)
				slices.Sort(found)
				for _, fault := range found {
					say("%s", fault)
				}
			}
		}
	}
	return all
}

var (
	anyFence = regexp.MustCompile("(?ms)^```.*?^```$")
	markup   = regexp.MustCompile("<!--.*?-->|</?\\w[^>]*>|\\]\\([^()\\s]+\\)|\\*\\*|!?\\[")
	inCode   = regexp.MustCompile("`[^`\n]+`")
	// What a Chinese typesetter would not set, with all around it that has no blank
	// and no Chinese punctuation: a run that the English page has, too, is quoted.
	unset    = regexp.MustCompile(`[^\s，。、；：？！（）“”《》|]*(?:\p{Han}[,;:?!()]|[,;:?!()]\p{Han}|\p{Han}\.(?:\s|$)|\p{Han}[\w` + "\ue000" + `]|[\w` + "\ue000" + `]\p{Han})[^\s，。、；：？！（）“”《》|]*`)
	rendered = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	htmlCode = regexp.MustCompile(`(?s)<code.*?</code>`)
)

// plain is a page without code and markup. A mark stands for a piece of code.
func plain(page string) string {
	page = inCode.ReplaceAllString(anyFence.ReplaceAllString(page, ""), "\ue000")
	return markup.ReplaceAllString(page, "")
}

// set returns what is wrong with the typesetting of a Chinese page.
func set(en, zh string) (faults []string) {
	quoted := plain(en)
	for i, line := range strings.Split(plain(anyFence.ReplaceAllStringFunc(zh, func(code string) string {
		return strings.Repeat("\n", strings.Count(code, "\n"))
	})), "\n") {
		for _, run := range unset.FindAllString(line, -1) {
			if !strings.Contains(quoted, run) {
				faults = append(faults, fmt.Sprintf("line %d: %s: Chinese punctuation is full-width, and a blank is between Chinese words and others", i+1, strings.ReplaceAll(run, "\ue000", "`…`")))
			}
		}
	}
	var page strings.Builder
	if err := rendered.Convert([]byte(zh), &page); err != nil {
		return append(faults, err.Error())
	}
	if before, _, ok := strings.Cut(htmlCode.ReplaceAllString(page.String(), ""), "**"); ok {
		before = before[max(0, len(before)-60):]
		faults = append(faults, fmt.Sprintf("the marks ** after %q do not make words bold: between a punctuation mark inside of them and a letter outside must be a blank", strings.ToValidUTF8(before, "")))
	}
	return faults
}

// stamped returns a Chinese page with the stamps of the English sections.
func (e edition) stamped(page string) (string, error) {
	enText, _ := e.read(english(page))
	zhText, ok := e.read(page)
	if !ok || page == english(page) {
		return "", fmt.Errorf("%s is not a Chinese page", page)
	}
	ens, _ := sections(enText)
	zhs, _ := sections(zhText)
	if len(ens) != len(zhs) {
		return "", fmt.Errorf("%s has %d headings, and the English page has %d", page, len(zhs), len(ens))
	}
	lines := strings.Split(zhText, "\n")
	for i, zh := range slices.Backward(zhs) {
		stamp := "<!-- en:" + ens[i].hash() + " -->"
		if at := zh.line + 1; at < len(lines) && stampLine.MatchString(lines[at]) {
			lines[at] = stamp
		} else {
			lines = slices.Insert(lines, at, stamp)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// led returns a Chinese page with the links that lead to Chinese pages, where these
// exist.
func (e edition) led(page string) string {
	text, _ := e.read(page)
	first, rest, _ := strings.Cut(text, "\n") // the switch leads to the English page
	return first + "\n" + linkTarget.ReplaceAllStringFunc(rest, func(link string) string {
		if _, other, _ := e.lead(page, link[2:len(link)-1]); other != "" {
			return "](" + other + ")"
		}
		return link
	})
}

// pages are the Chinese pages.
func (e edition) pages() (all []string, err error) {
	err = fs.WalkDir(e.tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(file, ".zh-CN.md") {
			all = append(all, file)
		}
		return err
	})
	return all, err
}

// TestEditionSaysWhatTheEnglishPageSays: each Chinese page.
func TestEditionSaysWhatTheEnglishPageSays(t *testing.T) {
	e := edition{os.DirFS(root)}
	pages, err := e.pages()
	require.NoError(t, err)
	write := func(page, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(text), 0o644))
	}
	if *updateLinks {
		for _, page := range pages {
			write(page, e.led(page))
		}
	}
	if *stampPages != "" {
		for page := range strings.SplitSeq(*stampPages, ",") {
			text, err := e.stamped(path.Clean(page))
			require.NoError(t, err)
			write(page, text)
		}
	}
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			require.Empty(t, strings.Join(e.faults(english(page)), "\n"))
		})
	}
}

// small is an English page and its Chinese edition, with a link to another pair and
// to a page that has no edition.
func small(t *testing.T) edition {
	t.Helper()
	files := map[string]string{
		"docs/x.md": `English | [简体中文](x.zh-CN.md)

# The page

A waiter sends 2 requests: ` + "`create` and\n`getChildren`" + `, see [the other page](../y/#the-second).
**The cost** is 5 requests, [as measured](z.md#times).

## Two steps

` + "```mermaid" + `
sequenceDiagram
    A->>S: create lock-0
    Note over A,B: two holders after 3 s
` + "```" + `

` + "```" + `
go run ./bench -n 100 # comments stay
## not a heading
` + "```" + `

| bug | cured in |
|---|---|
| [A1](z.md): it waits | step 3 |
| ` + "`a \\| b`" + ` is lost | step 4 |
| nobody is woken | step 4 |

1. Predict 10.
2. Read [lock.go](../lock.go),
   then run it.
`,
		"docs/x.zh-CN.md": `[English](x.md) | 简体中文

# 页面

等待者发出 2 个请求：` + "`create` 和 `getChildren`" + `，见[另一页](../y/README.zh-CN.md#第二节)。
**代价**是 5 个请求（[实测](z.md#times)）。

## 两步

` + "```mermaid" + `
sequenceDiagram
    A->>S: create lock-0
    Note over A,B: 3 秒后出现两个持有者
` + "```" + `

` + "```" + `
go run ./bench -n 100 # comments stay
## not a heading
` + "```" + `

| bug | 在哪里修好 |
|---|---|
| [A1](z.md)：一直等待 | 第 3 步 |
| ` + "`a \\| b`" + ` 丢失 | 第 4 步 |
| 没有人被唤醒 | 第 4 步 |

1. 先预测 10。
2. 阅读 [lock.go](../lock.go)，
   再运行。
`,
		"docs/z.md":         "# Z\n\n## Times\n",
		"lock.go":           "package lock\n",
		"y/README.md":       "English | [简体中文](README.zh-CN.md)\n\n# Y\n\n## The second\n",
		"y/README.zh-CN.md": "[English](README.md) | 简体中文\n\n# 另一页\n\n## 第二节\n",
	}
	tree := make(fstest.MapFS)
	for file, text := range files {
		tree[file] = &fstest.MapFile{Data: []byte(text)}
	}
	e := edition{tree}
	for _, page := range []string{"docs/x.zh-CN.md", "y/README.zh-CN.md"} {
		text, err := e.stamped(page)
		require.NoError(t, err)
		e.write(page, text)
	}
	return e
}

func (e edition) write(page, text string) {
	e.tree.(fstest.MapFS)[page] = &fstest.MapFile{Data: []byte(text)}
}

// TestEditionFindsWhatIsPlanted plants a fault in a small page, or an edit that is
// not a fault.
func TestEditionFindsWhatIsPlanted(t *testing.T) {
	const en, zh = "docs/x.md", "docs/x.zh-CN.md"
	for name, c := range map[string]struct {
		page, old, new string
		want           string // part of the one fault, "" for none
	}{
		"nothing":                               {en, "", "", ""},
		"English: a word":                       {en, "A waiter", "Each waiter", "the English section has changed"},
		"English: a word of a heading":          {en, "## Two steps", "## The steps", "两步: the English section has changed"},
		"English: another line break":           {en, "A waiter sends", "A\nwaiter sends", ""},
		"English: another empty line":           {en, "\n## Two", "\n\n## Two", ""},
		"English: without the switch":           {en, "English | [简体中文](x.zh-CN.md)\n\n", "", "the English page must begin"},
		"English: a new section":                {en, "## Two", "## One\n\n## Two", "there are 2 headings, and 3"},
		"Chinese: other words":                  {zh, "一直等待", "永远等待", ""},
		"Chinese: another order of words":       {zh, "发出 2 个请求：`create` 和 `getChildren`", "发出 `getChildren` 和 `create` 共 2 个请求", ""},
		"Chinese: another line break":           {zh, "。\n**代价**", "。**代价**", ""},
		"Chinese: other labels in a diagram":    {zh, "3 秒后出现两个持有者", "3 秒以后，有两个持有者", ""},
		"Chinese: without the switch":           {zh, "[English](x.md) | 简体中文\n\n", "", "the Chinese page must begin"},
		"Chinese: the switch leads elsewhere":   {zh, "[English](x.md)", "[English](z.md)", "the Chinese page must begin"},
		"Chinese: a heading of another level":   {zh, "## 两步", "### 两步", "the heading has level 3, and 2"},
		"Chinese: a heading missing":            {zh, "## 两步\n", "", "there are 1 headings, and 2"},
		"Chinese: a stamp missing":              {zh, "<!-- en:", "<!-- ", "the stamp is missing"},
		"Chinese: a link missing":               {zh, "[lock.go](../lock.go)", "lock.go", "item 2: a link to lock.go is there 0 times, and 1"},
		"Chinese: a link to another place":      {zh, "(../lock.go)", "(z.md)", "item 2: a link to"},
		"Chinese: a link to another heading":    {zh, "z.md#times", "z.md#z", "a link to docs/z.md, heading"},
		"Chinese: a link to no heading":         {zh, "#第二节", "#第三节", "no such heading"},
		"Chinese: a link to no file":            {zh, "(../lock.go)", "(../lok.go)", "no such file"},
		"Chinese: an English page with a twin":  {zh, "../y/README.zh-CN.md#第二节", "../y/README.md#the-second", "the Chinese one is (../y/README.zh-CN.md#第二节)"},
		"Chinese: a folder with a twin":         {zh, "../y/README.zh-CN.md#第二节", "../y/#the-second", "the Chinese one is (../y/README.zh-CN.md#第二节)"},
		"Chinese: a figure of the text":         {zh, "发出 2 个", "发出 3 个", "the text: figure"},
		"Chinese: a figure of a row":            {zh, "第 3 步", "第 5 步", "row 3, cell 2: figure"},
		"Chinese: a figure of an item":          {zh, "预测 10", "预测 11", "item 1: figure"},
		"Chinese: two rows exchanged":           {zh, "| [A1](z.md)：一直等待 | 第 3 步 |\n| `a \\| b` 丢失 | 第 4 步 |", "| `a \\| b` 丢失 | 第 4 步 |\n| [A1](z.md)：一直等待 | 第 3 步 |", "row 3, cell"},
		"Chinese: two items exchanged":          {zh, "1. 先预测 10。\n2. 阅读 [lock.go](../lock.go)，\n   再运行。", "1. 阅读 [lock.go](../lock.go)，\n   再运行。\n2. 先预测 10。", "item 1: "},
		"Chinese: two cells exchanged":          {zh, "| 没有人被唤醒 | 第 4 步 |", "| 第 4 步 | 没有人被唤醒 |", "row 5, cell"},
		"Chinese: a row missing":                {zh, "| 没有人被唤醒 | 第 4 步 |\n", "", "row 5, cell 1 is missing"},
		"Chinese: a row more":                   {zh, "| 没有人被唤醒 | 第 4 步 |\n", "| 没有人被唤醒 | 第 4 步 |\n| 无 | 无 |\n", "row 6, cell 1 is not in the English"},
		"Chinese: an item missing":              {zh, "1. 先预测 10。\n", "", "item 2 is missing"},
		"Chinese: code in the text":             {zh, "`getChildren`", "`getchildren`", "`getChildren` is there 0 times"},
		"Chinese: a block of code":              {zh, "-n 100", "-n 200", "block 2: the code differs"},
		"Chinese: a comment in code":            {zh, "# comments stay", "# 注释", "block 2: the code differs"},
		"Chinese: a block missing":              {zh, "```\ngo run ./bench -n 100 # comments stay\n## not a heading\n```\n", "", "block 2 is missing"},
		"Chinese: a line of a diagram missing":  {zh, "    A->>S: create lock-0\n", "", "block 1: the diagram has 4 lines, and 5"},
		"Chinese: another arrow":                {zh, "A->>S:", "A-->>S:", "block 1: line 3 of the diagram"},
		"Chinese: another figure in a label":    {zh, "3 秒后", "4 秒后", "block 1: line 4 of the diagram"},
		"Chinese: a note over somebody else":    {zh, "over A,B", "over A,S", "block 1: line 4 of the diagram"},
		"Chinese: bold words that are not bold": {zh, "**代价**是", "**代价。**是", "do not make words bold"},
		"Chinese: a quotation with a blank":     {zh, "阅读", "阅读 a,b", ""},
		"Chinese: a half-width comma":           {zh, "发出 2 个请求：", "发出,即 2 个请求：", "line 6: 等待者发出,即: Chinese punctuation"},
		"Chinese: a half-width stop":            {zh, "再运行。", "再运行.", "再运行.: Chinese punctuation"},
		"Chinese: no blank before a figure":     {zh, "发出 2 个", "发出2 个", "Chinese punctuation"},
		"Chinese: no blank after code":          {zh, "`create` 和", "`create`和", "Chinese punctuation"},
		"Chinese: no blank before a link":       {zh, "[A1](z.md)：", "见[A1](z.md)：", "Chinese punctuation"},
		"Chinese: bold words missing":           {zh, "**代价**", "代价", "the mark **"},
		"the linked page gets another heading":  {"y/README.md", "## The second", "## The third", "a link to ../y/#the-second is there 0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			e := small(t)
			text, _ := e.read(c.page)
			require.Contains(t, text, c.old)
			e.write(c.page, strings.Replace(text, c.old, c.new, 1))
			found := e.faults(en)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, strings.Join(found, "\n"), c.want)
		})
	}
}

// TestEditionWritesStampsAndLinks: of a page that is named, and twice is as good as
// once.
func TestEditionWritesStampsAndLinks(t *testing.T) {
	e := small(t)
	const en, zh = "docs/x.md", "docs/x.zh-CN.md"
	right, _ := e.read(zh)
	again, err := e.stamped(zh)
	require.NoError(t, err)
	require.Equal(t, right, again)
	require.Equal(t, right, e.led(zh))

	text, _ := e.read(en)
	e.write(en, strings.Replace(text, "2 requests", "two requests", 1))
	text, err = e.stamped(zh)
	require.NoError(t, err)
	require.NotEqual(t, right, text)
	e.write(zh, text)
	require.Equal(t, []string{"line 3, 页面: the text: figure 2 is there 1 times, and 0 times in English"}, e.faults(en), "a new stamp hides no other fault")

	for _, link := range []string{"../y/README.md#the-second", "../y#the-second", "../y/#the-second"} {
		e.write(zh, strings.Replace(right, "../y/README.zh-CN.md#第二节", link, 1))
		require.NotEmpty(t, e.faults(en))
		require.Equal(t, right, e.led(zh))
	}

	_, err = e.stamped(en)
	require.Error(t, err, "an English page gets no stamps")
	e.write(zh, strings.Replace(right, "## 两步\n", "", 1))
	_, err = e.stamped(zh)
	require.Error(t, err, "which heading lacks its twin is the translator's to say")
}
