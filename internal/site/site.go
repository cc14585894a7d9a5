// Package site writes what is generated of the pages, in both languages, and compares it with what is there. That is
// a whole file, or what is in a page between two lines: <!-- NAME --> and <!-- end of NAME -->.
//
// The tests of this package write what can be made with the packages that they import, and run the tests of other
// packages, which write the rest with [Holds]: the output of a program, for example. They also hold the pages against
// the project: terms, quotations and editions, the map of the packages, and the lines of Go of each group of folders.
package site

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

// TestGoGenerateWritesAll, in written_test.go, writes all but the tables of docs/explorer.md and of the foreign suites
// in docs/tests.md. The commands that these two pages name write those, in some minutes.
//
//go:generate go test -C ../.. -count=1 -timeout 1h -v ./internal/site -run GoGenerate -update

var update = flag.Bool("update", false, "write what is generated, in place of comparing it")

// Updates reports whether the flag -update is set: what is generated is to be written.
func Updates() bool { return *update }

// Root returns the path of the project's folder from a folder below it, in which a test runs.
func Root() string {
	root := "."
	for range 9 { // no folder of the project is so deep
		if _, err := os.Stat(filepath.Join(root, "docs", "bugs.md")); err == nil {
			return root
		}
		root = filepath.Join(root, "..")
	}
	panic("site: this folder is not below the project's")
}

// Read returns the text of a file, whose path is from the root.
func Read(t testing.TB, file string) string {
	t.Helper()
	return string(testenv.Must(os.ReadFile(filepath.Join(Root(), file)))(t))
}

var endMark = regexp.MustCompile(`(?m)^<!-- end of (.+) -->$`)

// Cut cuts a page around what is generated between two marks. Before ends with the first mark, and after begins with
// the second one. If the page does not have both, ok is false.
func Cut(page, mark string) (before, there, after string, ok bool) {
	begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->"
	before, rest, begins := strings.Cut(page, begin)
	there, after, ends := strings.Cut(rest, end)
	return before + begin, there, end + after, begins && ends
}

// Strip returns a page without what is generated of it, and without the marks.
func Strip(page string) string {
	for _, end := range endMark.FindAllStringSubmatch(page, -1) {
		if before, _, after, ok := Cut(page, end[1]); ok {
			page = strings.TrimSuffix(before, "<!-- "+end[1]+" -->\n") + strings.TrimPrefix(after, end[0]+"\n")
		}
	}
	return page
}

// Holds compares a text with what a page has at a mark, or with a whole file if the mark is "". The path
// of the page is from the root. If the page has something else, Holds fails the test, or with -update
// writes the text. A page without the mark fails the test, too.
func Holds(t testing.TB, page, mark, text string) {
	t.Helper()
	want, place := text, page
	if mark != "" {
		before, _, after, ok := Cut(Read(t, page), mark)
		if !ok {
			t.Fatalf("%s has no place for what is generated: write <!-- %s --> and <!-- end of %[2]s --> there", page, mark)
		}
		want, place = before+text+after, page+", <!-- "+mark+" -->,"
	}
	file := filepath.Join(Root(), page)
	there, err := os.ReadFile(file)
	switch {
	case err == nil && string(there) == want:
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("%s is stale: go generate ./...\n%s", place, difference(string(there), want))
	}
}

// HoldsBoth is Holds for a page and its Chinese edition.
func HoldsBoth(t testing.TB, page, mark string, text i18n.Text) {
	t.Helper()
	for _, lang := range []i18n.Language{i18n.English, i18n.Chinese} {
		Holds(t, lang.Page(page), mark, text.In(lang))
	}
}

// difference is the first line in which two texts differ.
func difference(there, want string) string {
	was, is := strings.Split(there, "\n"), strings.Split(want, "\n")
	n := 0
	for n < len(was) && n < len(is) && was[n] == is[n] {
		n++
	}
	line := func(all []string) string { return strings.Join(all[n:min(n+1, len(all))], "") }
	return fmt.Sprintf("line %d:\n- %s\n+ %s", n+1, line(was), line(is))
}
