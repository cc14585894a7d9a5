package museum

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		name := anchor(m[1])
		for i := 1; all[name]; i++ {
			name = fmt.Sprintf("%s-%d", anchor(m[1]), i)
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
		if _, err := os.Stat(target); err != nil {
			faults = append(faults, m[1]+": no such file")
		} else if fragment != "" && !anchors(pages[target])[fragment] {
			faults = append(faults, m[1]+": no such heading")
		}
	}
	return faults
}

func TestEveryLinkOfEveryPageResolves(t *testing.T) {
	pages := pages(t)
	for file, text := range pages {
		require.Empty(t, broken(file, text, pages), file)
	}
	t.Run("and a broken one is found", func(t *testing.T) {
		const text = "[a](LICENSE) [b](nowhere.md) [c](docs/bugs.md#nowhere) [d](#here) [e](#nowhere)\n\n## Here!\n"
		pages["../../README.md"] = text
		require.Equal(t, []string{"nowhere.md: no such file", "docs/bugs.md#nowhere: no such heading", "#nowhere: no such heading"},
			broken("../../README.md", text, pages))
	})
}

// The README of each step links the bugs whose tests stand beside it.
func TestEachStepLinksItsBugs(t *testing.T) {
	catalogue, err := os.ReadFile("../../docs/bugs.md")
	require.NoError(t, err)
	links := 0
	for _, m := range regexp.MustCompile(`(?m)^### ((\w+): .*)$`).FindAllStringSubmatch(string(catalogue), -1) {
		tests, err := filepath.Glob("../../0*/bug_" + strings.ToLower(m[2]) + "_test.go")
		require.NoError(t, err)
		require.Len(t, tests, 1, m[1])
		readme, err := os.ReadFile(filepath.Dir(tests[0]) + "/README.md")
		require.NoError(t, err)
		require.Contains(t, string(readme), fmt.Sprintf("[%s](../docs/bugs.md#%s)", m[2], anchor(m[1])),
			"%s does not link its bug", filepath.Dir(tests[0]))
		links++
	}
	require.NotZero(t, links)
}
