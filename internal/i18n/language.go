// Package i18n says which language the reader of a command reads: that of its flag -lang, else that of the environment,
// else English. A [Text] has a sentence in both languages: the code has the English, and the catalogue in the folder zh
// has its Chinese.
package i18n

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A Language is that of a reader. Its pointer is a flag.Value.
type Language string

const (
	English Language = "en"
	Chinese Language = "zh"
)

// Usage is the help of a command's flag -lang.
var Usage = FlagUsage("the `language`, en or zh; otherwise that of LC_ALL or LANG")

// Of returns the language of a tag such as "zh", "zh-CN" or "en_US.UTF-8". If the tag is empty, the
// tag is that of LC_ALL, or that of LANG if LC_ALL is empty, too. If it is not Chinese, the language is English.
func Of(tag string) Language {
	if baseOf(cmp.Or(tag, os.Getenv("LC_ALL"), os.Getenv("LANG"))) == Chinese {
		return Chinese
	}
	return English
}

// baseOf is the first part of a tag: "zh" of "zh-CN".
func baseOf(tag string) Language {
	if end := strings.IndexAny(tag, "-_."); end >= 0 {
		tag = tag[:end]
	}
	return Language(strings.ToLower(tag))
}

func (l *Language) String() string { return string(*l) }

// Set makes a Language a flag: it takes the tags of Of, but no other language.
func (l *Language) Set(tag string) error {
	if b := baseOf(tag); b != English && b != Chinese {
		return Errorf("give en or zh")
	}
	*l = Of(tag)
	return nil
}

// Page returns the path of the reader's edition of a page X.md: the Chinese one is X.zh-CN.md beside it.
func (l Language) Page(page string) string {
	if l != Chinese {
		return page
	}
	ext := path.Ext(page)
	return strings.TrimSuffix(page, ext) + ".zh-CN" + ext
}

// FlagUsage marks the usage of a flag as a text of the catalogue, which Help translates.
func FlagUsage(t Text) string { return string(t) }

// Help returns the help of flags. Their usages are results of FlagUsage.
func (l Language) Help(flags *flag.FlagSet) string {
	var help strings.Builder
	flags.VisitAll(func(f *flag.Flag) { f.Usage = Text(f.Usage).In(l) })
	flags.SetOutput(&help)
	flags.PrintDefaults()
	return regexp.MustCompile(`(?m) \(default (.*)\)$`).ReplaceAllString(help.String(), Both("$0", "（默认 $1）").In(l))
}

var (
	// wrongFlags are the errors of package flag about a wrong flag, each with its Chinese.
	wrongFlags = []struct{ pattern, chinese string }{
		{`^flag provided but not defined: (-.*)$`, "没有选项 %s"},
		{`^flag needs an argument: (-.*)$`, "选项 %s 缺少值"},
		{`^bad flag syntax: (.*)$`, "选项 %s 的写法不对"},
	}
	wrongValue = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(\S+): `)
	reasonsZh  = map[string]string{"parse error": "格式不对", "value out of range": "超出范围"} // why a value is wrong
)

// WrongFlag returns an error of flags.Parse in both languages. The English is package flag's own.
func WrongFlag(flags *flag.FlagSet, err error) error {
	for _, wrong := range wrongFlags {
		if m := regexp.MustCompile(wrong.pattern).FindStringSubmatch(err.Error()); m != nil {
			return &Error{Both(err.Error(), fmt.Sprintf(wrong.chinese, m[1])), nil}
		}
	}
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		value, _ := strconv.Unquote(m[1])
		reason := TextOf(flags.Lookup(m[2]).Value.Set(value)).In(Chinese) // Set fails again, and its error has both languages
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
