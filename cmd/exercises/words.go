package main

import (
	"os"
	"path/filepath"
	"regexp"

	"example.com/zklock/internal/i18n"
)

// say says it in the reader's language.
func (a *app) say(format string, args ...any) string {
	return i18n.Textf(format, args...).In(a.language)
}

// page returns the name of a page of an exercise in the reader's language, or its English name if
// there is no such page.
func (a *app) page(e *exercise, name string) string {
	twin := a.language.Page(name)
	if _, err := os.Stat(filepath.Join(e.dir(a.root), twin)); err == nil {
		return twin
	}
	return name
}

// stamps are the lines of a Chinese page by which a test finds what was translated.
var stamps = regexp.MustCompile(`(?m)^<!-- en:[0-9a-f]+ -->\n`)
