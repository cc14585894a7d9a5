package language_test

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
)

func TestTheLanguageIsThatOfTheFlagElseOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		tag, lcAll, lang string
		want             language.Language
	}{
		{"", "", "", language.English},
		{"", "", "C.UTF-8", language.English},
		{"", "", "zh_CN.UTF-8", language.Chinese},
		{"", "", "ZH_TW", language.Chinese},
		{"", "", "zha_CN", language.English},
		{"", "en_US.UTF-8", "zh_CN.UTF-8", language.English},
		{"", "zh_CN.UTF-8", "C", language.Chinese},
		{"en", "zh_CN.UTF-8", "zh_CN.UTF-8", language.English},
		{"zh", "C", "C", language.Chinese},
		{"zh-CN", "C", "C", language.Chinese},
	} {
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		require.Equal(t, c.want, language.Of(c.tag), "%v", c)
	}
}

func TestTheFlagTakesNoOtherLanguage(t *testing.T) {
	for tag, want := range map[string]language.Language{"en": "en", "zh": "zh", "zh-CN": "zh", "zh_CN.UTF-8": "zh", "en-GB": "en"} {
		lang := language.English
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Var(&lang, "lang", language.Usage)
		require.NoError(t, flags.Parse([]string{"-lang", tag}))
		require.Equal(t, want, lang)
	}
	for _, tag := range []string{"", "fr", "zhuang", "-"} {
		lang := language.Chinese
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Var(&lang, "lang", language.Usage)
		require.ErrorContains(t, flags.Parse([]string{"-lang", tag}), "give en or zh")
		require.Equal(t, language.Chinese, lang, "a refused flag changes nothing")
	}
}

func TestAPageHasItsEdition(t *testing.T) {
	require.Equal(t, "docs/teaching.md", language.English.Page("docs/teaching.md"))
	require.Equal(t, "docs/teaching.zh-CN.md", language.Chinese.Page("docs/teaching.md"))
}
