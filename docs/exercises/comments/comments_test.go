package comments

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/language/chinesetest"
)

// TestEachCommentOfAStubHasItsTwin, and each twin its comment.
func TestEachCommentOfAStubHasItsTwin(t *testing.T) {
	used := make(map[string]bool)
	files, err := filepath.Glob("../_*/*")
	require.NoError(t, err)
	for _, file := range files {
		marker := map[string]string{".go": OfGo, ".txt": OfLists}[filepath.Ext(file)]
		if marker == "" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		english := strings.ReplaceAll(string(text), "\r\n", "\n")
		all := of(english, marker)
		require.NotEmpty(t, all, "%s has comments", file)
		for _, c := range all {
			used[unmarked(english[c.from:c.to], marker)] = true
		}
		stub, err := Chinese(english, marker)
		require.NoError(t, err, "write the twin into the table of words.go")
		for line := range strings.Lines(stub) {
			_, comment, is := strings.Cut(line, marker+" ")
			if !is {
				continue
			}
			require.LessOrEqual(t, language.Wide(line), columns+8, "%s", line)
			require.NotRegexp(t, `^[，。；：、）”]`, comment)
			require.Empty(t, chinesetest.English(comment))
			require.NotRegexp(t, `\p{Han}[,;:?!()]`, comment, "punctuation between Chinese words is full-width")
		}
	}
	for comment, twin := range words {
		require.True(t, used[comment], "no stub says %q", comment)
		require.Regexp(t, `\p{Han}`, twin)
	}
}

func TestACommentIsWrapped(t *testing.T) {
	for in, want := range map[string]string{
		"一": "// 一",
		strings.Repeat("字", 30) + "，" + strings.Repeat("词", 20) + "。": "// " + strings.Repeat("字", 30) + "，\n// " + strings.Repeat("词", 20) + "。",
		strings.Repeat("字", 40) + "，然后":                               "// " + strings.Repeat("字", 39) + "\n// 字，然后", // no line begins with a comma
		"先 " + strings.Repeat("x", 74) + " Lock，后 y":                  "// 先 " + strings.Repeat("x", 74) + "\n// Lock，后 y",
		"一段\n\n又一段":                                                   "// 一段\n//\n// 又一段",
	} {
		require.Equal(t, want, commented(in, "//"))
	}
	for english, twin := range words {
		joined := regexp.MustCompile(`\s`).ReplaceAllString(strings.ReplaceAll(commented(twin, "@"), "@", ""), "")
		require.Equal(t, regexp.MustCompile(`\s`).ReplaceAllString(twin, ""), joined, "nothing is lost of %q", english)
		require.True(t, utf8.ValidString(joined))
	}
}
