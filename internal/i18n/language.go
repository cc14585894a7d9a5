// Package i18n says which language the reader of a command reads: that of its
// flag -lang, else that of the environment, else English. A [Text] has a sentence in both languages: the code has
// the English, and the catalogue in the folder zh has its Chinese.
package i18n

import (
	"cmp"
	"os"
	"path"
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
	end := strings.IndexAny(tag, "-_.")
	if end < 0 {
		end = len(tag)
	}
	return Language(strings.ToLower(tag[:end]))
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

// Page returns the path of the reader's edition of a page X.md: the Chinese one is
// X.zh-CN.md beside it.
func (l Language) Page(page string) string {
	if ext := path.Ext(page); l == Chinese {
		return strings.TrimSuffix(page, ext) + ".zh-CN" + ext
	}
	return page
}
