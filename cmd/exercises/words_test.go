package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n/chinesetest"
)

// TestTheLanguageFollowsTheReader: it is that of the flag, else of LC_ALL, else of LANG, else English.
func TestTheLanguageFollowsTheReader(t *testing.T) {
	t.Setenv("EXERCISES_CACHE", t.TempDir())
	said := func(lcAll, lang string, args ...string) string {
		t.Setenv("LC_ALL", lcAll)
		t.Setenv("LANG", lang)
		out, err := called(t, args...)
		if err != nil {
			out += err.Error()
		}
		return out
	}
	require.Contains(t, said("", "zh_CN.UTF-8", "hint", "1"), "提示 1（共 3 条）\n\n")
	require.Contains(t, said("zh_CN.UTF-8", "C", "hint", "1"), "提示 2（共 3 条）")
	for _, english := range []string{said("", "", "hint", "1"), said("en_US.UTF-8", "zh_CN.UTF-8", "hint", "1"),
		said("", "zh_CN.UTF-8", "hint", "1", "-lang", "en")} {
		require.Contains(t, english, "Hint 1 of 3\n\nOnly one")
		require.NotRegexp(t, `\p{Han}`, english)
	}
	require.Contains(t, said("", "", "hint", "-lang=zh", "1"), "提示 1（共 3 条）")
	require.Contains(t, said("", "", "hint", "-lang=fr", "1"), "give en or zh")

	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "练习 1：一个临时节点\n\n**目标。**")
	require.Contains(t, said("", "zh_CN.UTF-8", "next"), "docs/exercises/_01-naive/README.zh-CN.md")
	require.Contains(t, said("", "zh_CN.UTF-8", "watch", "-x"), "没有选项 -x")
	for _, args := range [][]string{{"help"}, {"nothing"}, {"hint"}, {"hint", "99"}, {"hint", "1", "2"},
		{"watch", "-x"}, {"grade"},
		{"grade", "-j", "0", "x"}, {"show", "7"}, {"next"}} {
		require.Empty(t, leftEnglish(said("", "zh_CN.UTF-8", args...)), "%v", args)
	}
}

// leftEnglish returns the English words in a text for a reader of Chinese, besides the names of cases and what stays.
func leftEnglish(text string, stays ...string) []string {
	for _, e := range exercises {
		stays = append(stays, e.names()...)
	}
	slices.SortFunc(stays, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	return chinesetest.English(text, stays...)
}
