// Tests of texts that have both languages, of the choice of the language, of the flag -lang, and of the help of flags.
package i18n_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
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

func TestWhatIsPutIntoATextIsInItsLanguage(t *testing.T) {
	holder := i18n.Text("the holder")
	lock := i18n.Textf("Lock of %s fails", holder) // the Chinese of both is in zh/internal-i18n.po
	require.Equal(t, i18n.Both("Lock of the holder fails", "持有者的 Lock 失败"), lock)
	require.Equal(t, "x 的 Lock 失败", i18n.Textf("Lock of %s fails", "x").In(i18n.Chinese), "a blank is between Chinese and other letters")
	require.Equal(t, i18n.Both("2 of 3 cases", "3 个用例，通过 2 个"), i18n.Textf("%d of %d cases", 2, 3))
	require.Equal(t, "持有者\n3", i18n.Join([]i18n.Text{holder, i18n.Same("3")}, "\n").In(i18n.Chinese))
	require.Equal(t, i18n.Both("the holder; a, b", "持有者；a、b"), i18n.Join([]i18n.Text{holder, i18n.List([]string{"a", "b"})}, "; "))
	require.Equal(t, "the holder", fmt.Sprint(holder))
}

func TestATextInJSON(t *testing.T) {
	for text, want := range map[i18n.Text]string{
		i18n.Both("waits < 1 s", "等待"): `{"en":"waits \u003c 1 s","zh":"等待"}`,
		i18n.Same("EOF"):               `"EOF"`,
	} {
		b := testenv.Must(json.Marshal(text))(t)
		require.Equal(t, want, string(b))
		var again i18n.Text
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, text, again)
	}
	require.Error(t, json.Unmarshal([]byte("7"), new(i18n.Text)))
}

func TestAnErrorSaysItInBothLanguages(t *testing.T) {
	inner := i18n.Errorf("standard output: %w", io.EOF)
	require.ErrorIs(t, inner, io.EOF)
	require.EqualError(t, inner, "standard output: EOF")
	require.Equal(t, "标准输出：EOF", i18n.TextOf(inner).In(i18n.Chinese))
	outer := i18n.Errorf("%s: %w", i18n.Text("the waiter"), inner)
	require.ErrorIs(t, outer, io.EOF)
	require.Equal(t, i18n.Both("the waiter: standard output: EOF", "等待者：标准输出：EOF"), i18n.TextOf(outer))

	other := fmt.Errorf("of a library: %w", inner)
	require.Equal(t, i18n.Same(other.Error()), i18n.TextOf(other), "its own words are in front")
	require.NotErrorIs(t, i18n.Errorf("%s: %v", "it", io.EOF), io.EOF)
	require.Equal(t, "EOF", i18n.TextOf(errors.New("EOF")).In(i18n.Chinese))
}
