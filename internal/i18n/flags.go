package i18n

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Both is the usage of a flag for Help.
func Both(en, zh string) string { return en + edge + zh }

// Help is the help of flags whose usages are of Both.
func (l Language) Help(flags *flag.FlagSet) string {
	var help strings.Builder
	flags.VisitAll(func(f *flag.Flag) {
		en, zh, _ := strings.Cut(f.Usage, edge)
		f.Usage = Text{en, zh}.In(l)
	})
	flags.SetOutput(&help)
	flags.PrintDefaults()
	return regexp.MustCompile(`(?m) \(default (.*)\)$`).ReplaceAllString(help.String(), Text{"$0", "（默认 $1）"}.In(l))
}

// wrongFlags are what package flag says of a wrong flag, by the Chinese; reasonsZh are for what the flags' values say.
var (
	wrongFlags = map[string]*regexp.Regexp{
		"没有选项 %s":                     regexp.MustCompile(`^flag provided but not defined: (-.*)$`),
		"选项 %s 缺少值":                   regexp.MustCompile(`^flag needs an argument: (-.*)$`),
		"选项 %s 的写法不对":                 regexp.MustCompile(`^bad flag syntax: (.*)$`),
		"选项 -%[2]s 的值 %[1]s 无效：%[3]v": regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(\S+): `),
	}
	reasonsZh = map[string]string{"parse error": "格式不对", "value out of range": "超出范围"}
)

// WrongFlag returns an error of flags.Parse in both languages.
func WrongFlag(flags *flag.FlagSet, err error) error {
	for zh, says := range wrongFlags {
		switch m := says.FindStringSubmatch(err.Error()); len(m) {
		case 2:
			return &Error{Text{err.Error(), Textf("", zh, m[1]).Zh}, nil} // the English is package flag's own
		case 3: // package flag has put the value's own error into its English
			value, _ := strconv.Unquote(m[1])
			said := TextOf(flags.Lookup(m[2]).Value.Set(value)).Zh
			return &Error{Text{err.Error(), Textf("", zh, m[1], m[2], cmp.Or(reasonsZh[said], said)).Zh}, nil}
		}
	}
	return err
}

// Parse parses the flags of a command that takes no arguments, and whose usages are of Both. If they
// ask for help, it writes that, and the command is over. What is wrong with them is of Misusef.
func Parse(flags *flag.FlagSet, args []string, stderr io.Writer, lang *Language) (help bool, err error) {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err = io.WriteString(stderr, lang.Help(flags))
		return true, err
	case err != nil:
		return false, Misusef("%w; see -help", "%v；见 -help", WrongFlag(flags, err))
	case flags.NArg() > 0:
		return false, Misusef("%q is not understood; see -help", "无法识别 %q；见 -help", flags.Arg(0))
	}
	return false, nil
}
