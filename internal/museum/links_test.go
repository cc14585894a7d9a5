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
	for _, pattern := range []string{"*.md", "0*/*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"} {
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
		require.Equal(t, []string{"nowhere.md: no such file", "docs/bugs.md#nowhere: no such heading", "#nowhere: no such heading", "bench/: a folder without a README"},
			broken("../../README.md", text, pages))
	})
}

// The README of each step, in both languages, has a row for each bug that the
// catalogue lists under the step: the row leads to the bug's entry, and to its scene
// in the lab.
func TestEachStepLinksItsBugsAndTheirScenes(t *testing.T) {
	catalogue, err := os.ReadFile("../../docs/bugs.md")
	require.NoError(t, err)
	rows := make(map[string]string)
	folder := ""
	for _, m := range regexp.MustCompile(`(?m)^##(?:# ((\w+): (.*))| Step (\d): .*)$`).FindAllStringSubmatch(string(catalogue), -1) {
		if m[4] != "" {
			folders, err := filepath.Glob("../../0" + m[4] + "-*")
			require.NoError(t, err)
			require.Len(t, folders, 1, "the folders of step %s", m[4])
			folder = folders[0]
			continue
		}
		require.NotEmpty(t, folder, "the catalogue lists bug %s under no step", m[1])
		id, readme, readmeZh := strings.ToLower(m[2]), "/README.md", "/README.zh-CN.md"
		require.FileExists(t, "bugs/bug_"+id+"_test.go", "the test of bug %s", m[1])
		scene, sceneZh := "no scene", "没有场景"
		if _, ok := scenes.Find(m[2]); ok {
			scene, sceneZh = "scene "+m[2], "场景 "+m[2]
		}
		row := fmt.Sprintf("| [%s](../docs/bugs.md#%s) | %s | [%s](../docs/lab/scenes.md#%s) |\n", m[2], scenes.Anchor(m[1]), m[3], scene, id)
		_, title := scenes.Title(m[2])
		rowZh := fmt.Sprintf("| [%s](../docs/bugs.zh-CN.md#%s) | %s | [%s](../docs/lab/scenes.zh-CN.md#%s) |\n", m[2], scenes.Anchor(headingZh(m[2])), title, sceneZh, id)
		rows[folder+readme] += row
		rows[folder+readmeZh] += rowZh
		if m[2] == "A6" { // step 1 has it, and step 2 cures it
			rows["../../02-herd-effect"+readme] += row
			rows["../../02-herd-effect"+readmeZh] += rowZh
		}
	}
	require.Len(t, rows, 2*5, "READMEs of steps with bugs")
	for file, want := range rows {
		readme, err := os.ReadFile(file)
		require.NoError(t, err)
		table := regexp.MustCompile(`(?m)(^\| \[\w+\]\(\.\./docs/bugs\.(?:zh-CN\.)?md#.*\n)+`)
		found := table.FindAllString(string(readme), -1)
		require.Len(t, found, 1, "tables of bugs in %s; its rows begin with | [A1](../docs/bugs.md#", file)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(readme), found[0], want, 1)), 0o644))
			continue
		}
		require.Equal(t, want, found[0], "the bugs in %s are not those of docs/bugs.md: go generate ./...", file)
	}
}
