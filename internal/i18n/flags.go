package i18n

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// FlagUsage is the usage of a flag, for Help.
func FlagUsage(t Text) string { return string(t) }

// Help returns the help of flags. Their usages are results of FlagUsage.
func (l Language) Help(flags *flag.FlagSet) string {
	var help strings.Builder
	flags.VisitAll(func(f *flag.Flag) {
		f.Usage = Text(f.Usage).In(l)
	})
	flags.SetOutput(&help)
	flags.PrintDefaults()
	return regexp.MustCompile(`(?m) \(default (.*)\)$`).ReplaceAllString(help.String(), Both("$0", "（默认 $1）").In(l))
}

var (
	// wrongFlags are the errors of package flag about a wrong flag, by their Chinese.
	wrongFlags = map[string]*regexp.Regexp{
		"没有选项 %s":     regexp.MustCompile(`^flag provided but not defined: (-.*)$`),
		"选项 %s 缺少值":   regexp.MustCompile(`^flag needs an argument: (-.*)$`),
		"选项 %s 的写法不对": regexp.MustCompile(`^bad flag syntax: (.*)$`),
	}
	wrongValue = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(\S+): `)
	reasonsZh  = map[string]string{"parse error": "格式不对", "value out of range": "超出范围"} // why a value is wrong
)

// WrongFlag returns an error of flags.Parse in both languages. The English is package flag's own.
func WrongFlag(flags *flag.FlagSet, err error) error {
	for zh, english := range wrongFlags {
		if m := english.FindStringSubmatch(err.Error()); m != nil {
			return &Error{Both(err.Error(), fmt.Sprintf(zh, m[1])), nil}
		}
	}
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		value, _ := strconv.Unquote(m[1])
		reason := TextOf(flags.Lookup(m[2]).Value.Set(value)).In(Chinese) // the flag says again what is wrong, in both languages
		zh := fmt.Sprintf("选项 -%s 的值 %s 无效：%v", m[2], m[1], cmp.Or(reasonsZh[reason], reason))
		return &Error{Both(err.Error(), zh), nil}
	}
	return err
}

// Parse parses the flags of a command that takes no arguments. Their usages are results of FlagUsage. If the
// flags ask for help, it writes the help. An error is one of Misusef.
func Parse(flags *flag.FlagSet, args []string, stderr io.Writer, lang *Language) (help bool, err error) {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err = io.WriteString(stderr, lang.Help(flags))
		return true, err
	case err != nil:
		return false, Misusef("%w; see -help", WrongFlag(flags, err))
	case flags.NArg() > 0:
		return false, Misusef("%q is not understood; see -help", flags.Arg(0))
	}
	return false, nil
}
