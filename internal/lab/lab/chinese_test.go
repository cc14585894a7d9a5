package lab_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n/chinesetest"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

var (
	literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	han     = regexp.MustCompile(`\p{Han}`)
	quoted  = regexp.MustCompile(`(?:Quote|"quote"): +"(?:[^"\\]|\\.)*"`) // the articles' own words
	named   = regexp.MustCompile(`fencing token（隔离令牌）|隔离级别`)
	narrow  = regexp.MustCompile(`\p{Han}[,;:!?()]|[,;:!?()]\p{Han}`)
	// The last cell of the glossary's rows has the words that the project does not use.
	avoided = regexp.MustCompile(`(?m)^\|.*\| ([^|]*) \|$`)
	// These the glossary has as words of the articles, or they are everyday words that
	// the lab had for a term: 创建, 拿到锁, 释放锁, 击鼓传花.
	old = []string{"建立节点", "建立自己", "已建立", "得到锁", "解锁", "伐鼓传花"}
)

// saidByTheArticles are errors of their locks: those stay English.
var saidByTheArticles = []string{"listings: the lock call returned false", "failed to acquire lock within wait time"}

// avoid returns the words that the lab does not use.
func avoid(t *testing.T) []string {
	t.Helper()
	b := testenv.Must(os.ReadFile("../../../docs/glossary.zh-CN.md"))(t)
	words := slices.Clone(old)
	for _, row := range avoided.FindAllStringSubmatch(string(b), -1) {
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			words = append(words, word[1])
		}
	}
	require.Greater(t, len(words), len(old)+10, "words in the glossary")
	return words
}

// offends returns the Chinese strings of a source that have one of the words, or
// punctuation of half the width, or a sentence in English.
func offends(source string, words []string) (list []string) {
	for _, text := range literal.FindAllString(named.ReplaceAllString(quoted.ReplaceAllString(source, ""), ""), -1) {
		if !han.MatchString(text) {
			continue
		}
		bad := narrow.FindString(text)
		if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(text, w) }); i >= 0 {
			bad = words[i]
		}
		if left := chinesetest.English(strings.Trim(text, `"`), saidByTheArticles...); bad == "" && len(left) > 0 {
			bad = left[0]
		}
		if bad != "" {
			list = append(list, bad+" in "+text)
		}
	}
	return list
}

// TestTheLabsChineseFollowsTheGlossary: the same words on the page, in the captions and in
// the pages of the Chinese edition, and full-width punctuation.
func TestTheLabsChineseFollowsTheGlossary(t *testing.T) {
	words := avoid(t)
	require.Empty(t, offends(`{"at": "1ms", "quote": "当前一个子节点被删除时,重新执行第四步", "en": "It waits.", "zh": "{0} 建立连接，并监听 /lock（父节点）。"}`, words))
	for _, bad := range []string{"节点已删除,等待者醒来。", "父节点(队列)", "得到响应:{0}", "它请求建立节点。", "它监视父节点。", "应答丢失", "隔离", "等待者 waits on a watch。", "防护令牌", "伐鼓传花"} {
		require.Len(t, offends(`["text", "`+bad+`"]`, words), 1, bad)
	}

	var sources []string
	require.NoError(t, filepath.WalkDir("../../..", func(file string, d fs.DirEntry, err error) error {
		articles := strings.Contains(file, "internal/lab/guide/") || strings.HasSuffix(file, "cmd/book/page/also.js") // their own words
		if !articles && !strings.HasSuffix(file, "_test.go") && slices.Contains([]string{".go", ".js", ".json"}, filepath.Ext(file)) {
			sources = append(sources, file)
		}
		return err
	}))
	found := 0
	for _, file := range sources {
		b := testenv.Must(os.ReadFile(file))(t)
		found += len(han.FindAllString(string(b), -1))
		assert.Empty(t, offends(string(b), words), "%s: docs/glossary.zh-CN.md has the words to use", file)
	}
	require.NotZero(t, found)
}

// TestAButtonThatIsNamedIsThere: a caption or a note names a button of the page between
// quotation marks.
func TestAButtonThatIsNamedIsThere(t *testing.T) {
	b := testenv.Must(os.ReadFile("../page/strings.js"))(t)
	named := 0
	for _, l := range locks.All() {
		texts := []locks.Text{l.Note}
		if l.Story != nil {
			for _, s := range l.Story.Stops {
				texts = append(texts, s.Text)
			}
		}
		for _, text := range texts {
			for _, button := range regexp.MustCompile(`“([^”]+)”`).FindAllStringSubmatch(text.En+text.Zh, -1) {
				named++
				assert.Contains(t, string(b), `: "`+button[1]+`"`, "%s: %s", l.Name, text)
			}
		}
	}
	require.NotZero(t, named)
}
