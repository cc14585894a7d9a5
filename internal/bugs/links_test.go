package bugs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bugs/scenes"
)

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
				rows["../../"+step+"/README"+page] += fmt.Sprintf("| [%s](../docs/bugs%s#%s) | %s | [%s](../docs/scenes%s#%s) |\n",
					b.ID, page, scenes.Anchor(b.Heading().In(e.lang)), b.Title.In(e.lang), scene.In(e.lang), page, strings.ToLower(b.ID))
			}
		}
	}
	require.Len(t, rows, 2*6, "READMEs of steps with bugs, and of zklock")
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
