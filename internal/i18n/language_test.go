// Tests of the choice of the language, of the flag -lang, and of the help of flags.
package i18n_test

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
)

func TestTheFlagChoosesTheLanguageAndWithoutItTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		tag         string // the value of the flag
		lcAll, lang string // LC_ALL and LANG of the environment
		want        i18n.Language
	}{
		{want: i18n.English},
		{lang: "C.UTF-8", want: i18n.English},
		{lang: "zh_CN.UTF-8", want: i18n.Chinese},
		{lang: "ZH_TW", want: i18n.Chinese},
		{lang: "zha_CN", want: i18n.English}, // Zhuang
		{lcAll: "en_US.UTF-8", lang: "zh_CN.UTF-8", want: i18n.English},
		{lcAll: "zh_CN.UTF-8", lang: "C", want: i18n.Chinese},
		{tag: "en", lcAll: "zh_CN.UTF-8", lang: "zh_CN.UTF-8", want: i18n.English},
		{tag: "zh-CN", lcAll: "C", lang: "C", want: i18n.Chinese},
	} {
		t.Setenv("LC_ALL", c.lcAll)
		t.Setenv("LANG", c.lang)
		require.Equal(t, c.want, i18n.Of(c.tag), "%v", c)
	}
}

func TestTheFlagTakesNoOtherLanguage(t *testing.T) {
	for tag, want := range map[string]i18n.Language{"en": "en", "zh": "zh", "zh-CN": "zh", "zh_CN.UTF-8": "zh", "en-GB": "en"} {
		lang := i18n.English
		require.NoError(t, lang.Set(tag))
		require.Equal(t, want, lang)
	}
	for _, tag := range []string{"", "fr", "zhuang", "-"} {
		lang := i18n.Chinese
		require.ErrorContains(t, lang.Set(tag), "give en or zh")
		require.Equal(t, i18n.Chinese, lang, "a refused flag changes nothing")
	}
}

func TestTheHelpIsInTheReadersLanguage(t *testing.T) {
	const english, chinese = "  -x file\n    \tthe file (default 2)\n", "  -x 文件\n    \t那个文件（默认 2）\n"
	for lang, want := range map[i18n.Language]string{"": english, "en": english, "zh": chinese} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Int("x", 2, i18n.FlagUsage(i18n.Both("the `file`", "那个`文件`")))
		require.Equal(t, want, lang.Help(flags))
	}
}

func TestAWrongFlagIsSaidInBothLanguages(t *testing.T) {
	for arg, want := range map[string]i18n.Text{
		"-x":        i18n.Both("flag provided but not defined: -x", "没有选项 -x"),
		"-n":        i18n.Both("flag needs an argument: -n", "选项 -n 缺少值"),
		"---n":      i18n.Both("bad flag syntax: ---n", "选项 ---n 的写法不对"),
		`-n="a: b"`: i18n.Both(`invalid value "\"a: b\"" for flag -n: parse error`, `选项 -n 的值 "\"a: b\"" 无效：格式不对`),
		"-b=9":      i18n.Both(`invalid boolean value "9" for -b: parse error`, `选项 -b 的值 "9" 无效：格式不对`),
		"-lang=fr":  i18n.Both(`invalid value "fr" for flag -lang: give en or zh`, `选项 -lang 的值 "fr" 无效：请写 en 或 zh`),
	} {
		var lang i18n.Language
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Int("n", 0, "")
		flags.Bool("b", false, "")
		flags.Var(&lang, "lang", "")
		err := flags.Parse([]string{arg})
		require.EqualError(t, err, want.String())
		require.Equal(t, want, i18n.TextOf(i18n.WrongFlag(flags, err)))
	}
}
