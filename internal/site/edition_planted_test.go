package site_test

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// smallEdition has the pages of testdata/edition.txt, which are each below a line with their path: an English page and
// its Chinese edition, with links to two other pairs.
func smallEdition(t *testing.T) edition {
	t.Helper()
	text := string(testenv.Must(os.ReadFile("testdata/edition.txt"))(t))
	tree := make(fstest.MapFS)
	for file := range strings.SplitSeq(text[len("-- "):], "\n-- ") {
		name, page, _ := strings.Cut(file, " --\n")
		tree[name] = &fstest.MapFile{Data: []byte(strings.TrimSuffix(page, "\n") + "\n")}
	}
	e := edition{tree}
	for _, page := range []string{"docs/x.zh-CN.md", "y/README.zh-CN.md"} {
		text := testenv.Must(e.stamped(page, true))(t)
		e.write(page, text)
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
		page := cmp.Or(map[string]string{"English": "docs/x.md", "Chinese": "docs/x.zh-CN.md"}[language], "y/README.md")
		t.Run(name, func(t *testing.T) {
			e := smallEdition(t)
			text, _ := e.read(page)
			require.Contains(t, text, old)
			e.write(page, strings.Replace(text, old, planted, 1))
			found := e.faults("docs/x.md")
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
	const page = "# Bugs\n\nA word.\n\n<!-- bugs -->\n| [A1: old](#a1) | A | hang |\n<!-- end of bugs -->\n" +
		"| [A](guide.md), one | [A1](#old) |\n| [`x`](../x/) | what it is | old |\n\n<!-- A1 -->\nold;\n\n```mermaid\n" +
		"old\n```\n<!-- end of A1 -->\n\nThe end.\n<!-- scenes -->\n\n## All of this\n\n### A1\nold\n<!-- end of scenes -->\n"
	hash := func(old, text string) string { // of the page with the text in the place of the old one
		all, _ := sections(strings.ReplaceAll(page, old, text))
		require.Empty(t, all[1].hash()+all[2].hash())
		return all[0].hash()
	}
	require.Equal(t, hash("old", "old"), hash("old", "new"))
	for _, read := range []string{"Bugs", "word", ", one", "what it is", "The end"} {
		require.NotEqual(t, hash("old", "old"), hash(read, "else"), read)
	}
}

// TestEditionWritesStampsAndLinks: writing them once more changes nothing.
func TestEditionWritesStampsAndLinks(t *testing.T) {
	e := smallEdition(t)
	const en, zh = "docs/x.md", "docs/x.zh-CN.md"
	right, _ := e.read(zh)
	again := testenv.Must(e.stamped(zh, true))(t)
	require.Equal(t, right, again)
	require.Equal(t, right, e.relinked(zh))

	text, _ := e.read(en)
	e.write(en, strings.Replace(text, "2 requests", "two requests", 1))
	text = testenv.Must(e.stamped(zh, true))(t)
	require.NotEqual(t, right, text)
	e.write(zh, text)
	same := testenv.Must(e.stamped(zh, false))(t)
	require.Equal(t, text, same, "none is missing")
	require.Equal(t, []string{"line 3, 页面: the text: figure 2 is there 1 times, and 0 times in English"}, e.faults(en),
		"a new stamp hides no other fault")

	for _, link := range []string{"../y/README.md#the-second", "../y#the-second", "../y/#the-second"} {
		e.write(zh, strings.Replace(right, "../y/README.zh-CN.md#第二节", link, 1))
		require.NotEmpty(t, e.faults(en))
		require.Equal(t, right, e.relinked(zh))
	}

	require.Error(t, testenv.Err(e.stamped(en, true)), "an English page gets no stamps")
	e.write(zh, strings.Replace(right, "## 两步\n", "", 1))
	require.Error(t, testenv.Err(e.stamped(zh, true)), "which heading lacks its twin is the translator's to say")
}
