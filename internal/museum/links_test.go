package museum

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/museum/scenes"
)

// pages returns the repository's pages, with their text but without code.
func pages(t *testing.T) map[string]string {
	pages := make(map[string]string)
	for _, pattern := range []string{"*.md", "0*/*.md", "zk*/*.md", "cmd/*/*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"} {
		files, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			pages[file] = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`").ReplaceAllStringFunc(string(text), func(code string) string {
				if strings.HasPrefix(code, "```") {
					return strings.Repeat("\n", strings.Count(code, "\n"))
				}
				return strings.Trim(code, "`") // in a heading it is part of the anchor
			})
		}
	}
	require.Contains(t, pages, "../../README.md")
	return pages
}

// anchors returns the anchors of a page's headings. GitHub numbers those that
// occur twice.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := scenes.Anchor(m[1])
		for i := 1; all[name]; i++ {
			name = fmt.Sprintf("%s-%d", scenes.Anchor(m[1]), i)
		}
		all[name] = true
	}
	return all
}

// broken returns the links of a page that lead nowhere in the repository.
func broken(file, text string, pages map[string]string) (faults []string) {
	for _, m := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		path, fragment, _ := strings.Cut(m[1], "#")
		target := file
		if path != "" {
			target = filepath.Join(filepath.Dir(file), path)
		}
		if info, err := os.Stat(target); err != nil {
			faults = append(faults, m[1]+": no such file")
		} else if _, err := os.Stat(filepath.Join(target, "README.md")); info.IsDir() && err != nil {
			faults = append(faults, m[1]+": a folder without a README")
		} else if fragment != "" && !anchors(pages[target])[fragment] {
			faults = append(faults, m[1]+": no such heading")
		}
	}
	return faults
}

func TestEveryLinkOfEveryPageResolves(t *testing.T) {
	pages := pages(t)
	for file, text := range pages {
		require.Empty(t, broken(file, text, pages),
			"links in %s that lead nowhere: mend the link, or write the file or the heading that it names", strings.TrimPrefix(file, "../../"))
	}
	t.Run("and a broken one is found", func(t *testing.T) {
		const text = "[a](LICENSE) [b](nowhere.md) [c](docs/bugs.md#nowhere) [d](#here) [e](#nowhere) [f](zklock/) [g](bench/)\n\n## Here!\n"
		pages["../../README.md"] = text
		require.Equal(t, []string{"nowhere.md: no such file", "docs/bugs.md#nowhere: no such heading", "#nowhere: no such heading",
			"bench/: a folder without a README"},
			broken("../../README.md", text, pages))
	})
}

// The README of each step, in both languages, has a row for each bug of the
// step: the row leads to the bug's entry in the catalogue, and to its scene in the
// lab.
func TestEachStepLinksItsBugsAndTheirScenes(t *testing.T) {
	rows := make(map[string]string)
	for _, b := range scenes.Bugs {
		scene := scenes.Text{En: "no scene", Zh: "没有场景"}
		if _, ok := scenes.Find(b.ID); ok {
			scene = scenes.Text{En: "scene " + b.ID, Zh: "场景 " + b.ID}
		}
		steps := []string{b.Step}
		if b.ID == "A6" { // step 1 has it, and step 2 cures it
			steps = append(steps, "02-herd-effect")
		}
		for _, step := range steps {
			for _, e := range []edition{english, chinese} {
				page := strings.TrimPrefix(filepath.Base(e.file), "bugs")
				rows["../../"+step+"/README"+page] += fmt.Sprintf("| [%s](../docs/bugs%s#%s) | %s | [%s](../docs/lab/scenes%s#%s) |\n",
					b.ID, page, scenes.Anchor(e.text(b.Heading())), e.text(b.Title), e.text(scene), page, strings.ToLower(b.ID))
			}
		}
	}
	require.Len(t, rows, 2*5, "READMEs of steps with bugs")
	for file, want := range rows {
		readme := read(t, file)
		table := regexp.MustCompile(`(?m)(^\| \[\w+\]\(\.\./docs/bugs\.(?:zh-CN\.)?md#.*\n)+`)
		found := table.FindAllString(readme, -1)
		require.Len(t, found, 1, "tables of bugs in %s; its rows begin with | [A1](../docs/bugs.md#", file)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(readme, found[0], want, 1)), 0o644))
			continue
		}
		require.Equal(t, want, found[0], "the bugs in %s are not those of docs/bugs.md: go generate ./...", file)
	}
}
