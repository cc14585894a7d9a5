package site_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// What a reader can take in at once. Generated files are left out. A package is
// measured without its tests, and a function of a test is not.
const (
	mostOfPackage    = 4000 // lines
	mostOfFile       = 600
	mostOfFunction   = 80
	mostOfComplexity = 25  // ways through a function, as gocyclo counts them
	mostOfLine       = 160 // characters; see longLines
)

// overLimit finds the packages, files, functions and lines over a limit, with the size of each.
func overLimit(tree fs.FS) (sizes map[string]int, err error) {
	sizes = make(map[string]int)
	packages := make(map[string]int)
	check := func(what string, size, limit int) {
		if size > limit {
			sizes[what] = size
		}
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return nil // a file that does not compile belongs to a test
		}
		lines := bytes.Count(text, []byte("\n"))
		check(name+": file", lines, mostOfFile)
		for line, length := range longLines(files, file, text) {
			check(fmt.Sprintf("%s:%d: line", name, line), length, mostOfLine)
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		packages[path.Dir(name)] += lines
		for line, f := range functions(files, file) {
			at := fmt.Sprintf("%s:%d: ", name, line)
			check(at+"lines of the function", files.Position(f.End()).Line-line+1, mostOfFunction)
			check(at+"complexity of the function", complexity(f), mostOfComplexity)
		}
		return nil
	})
	for dir, lines := range packages {
		check(dir+": package", lines, mostOfPackage)
	}
	return sizes, err
}

// longLines returns the lines over the limit, by their numbers, with their lengths. These lines may be longer: lines of
// raw strings; lines with Chinese, which have a sentence in both languages; and rows of tables, which are lines in a
// composite literal, but not in a function in it.
func longLines(files *token.FileSet, file *ast.File, text []byte) map[int]int {
	long := make(map[int]int)
	for i, line := range bytes.Split(text, []byte("\n")) {
		isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }
		if n := utf8.RuneCount(line); n > mostOfLine && !bytes.ContainsFunc(line, isHan) {
			long[i+1] = n
		}
	}
	if len(long) == 0 {
		return nil
	}
	mayBeLong := make(map[int]bool)
	mark := func(from, to token.Pos, may bool) { // the lines after that of from
		for line := files.Position(from).Line + 1; line <= files.Position(to).Line; line++ {
			mayBeLong[line] = may
		}
	}
	ast.Inspect(file, func(node ast.Node) bool { // outer nodes come before inner ones, whose marks count
		switch node := node.(type) {
		case *ast.CompositeLit:
			mark(node.Lbrace, node.Rbrace, true)
		case *ast.FuncLit:
			mark(node.Body.Lbrace, node.Body.Rbrace, false)
		case *ast.BasicLit:
			if strings.HasPrefix(node.Value, "`") {
				mark(node.Pos(), node.End(), true)
			}
		}
		return true
	})
	maps.DeleteFunc(long, func(line, _ int) bool { return mayBeLong[line] })
	return long
}

// functions returns the functions of a file, and the literals outside of them, by the lines at which they begin.
func functions(files *token.FileSet, file *ast.File) map[int]ast.Node {
	all := make(map[int]ast.Node)
	ast.Inspect(file, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			all[files.Position(node.Pos()).Line] = node
			return false
		}
		return true
	})
	return all
}

// complexity is the number of ways through a function: one, and one more for each branch.
func complexity(f ast.Node) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func TestNothingIsTooLong(t *testing.T) {
	sizes := testenv.Must(overLimit(os.DirFS(root)))(t)
	require.Empty(t, sizes, "divide what is over a limit; of a package, move a part into one below it")
}

// TestWhatIsTooLongIsFound plants one of each kind that is over the limit, and one that is just within it.
func TestWhatIsTooLongIsFound(t *testing.T) {
	long := func(lines int) string { return "package a\n" + strings.Repeat("//\n", lines-1) }
	function := func(name string, lines int) string {
		return "package a\n\nfunc " + name + "() {\n" + strings.Repeat("\t_ = 0\n", lines-2) + "}\n"
	}
	branches := func(name string, n int) string { // six: the function itself, if, &&, ||, for and a case of select
		return "package a\n\nfunc " + name + "(b bool, c chan int) {\n\tif b && b || b {\n\t}\n\tfor range c {\n\t}\n" +
			"\tselect {\n\tcase <-c:\n\tdefault:\n\t}\n\tswitch {\n" +
			strings.Repeat("\tcase b:\n", n-6) + "\tdefault:\n\t}\n}\n"
	}
	wide := func(n int) string { return "\"" + strings.Repeat("é", n-2) + "\"" } // "var a = " is eight more
	lines := "package a\n\nvar a = " + wide(152) + "\nvar b = " + wide(153) + "\nvar c = []string{" + wide(153) + "}\nvar d = []any{\n\t" +
		wide(160) + ", func() {\n\t\t_ = " + wide(160) + "\n\t\t_ = []string{\n\t\t\t" + wide(160) + ",\n\t\t}\n\t},\n\t`\n" + wide(161) + "`,\n}\n" +
		"var e = `\n" + wide(161) + "`\n// 锁" + wide(160) + "\n// " + wide(160) + "\n"
	tree := fstest.MapFS{
		"file/in.go":         {Data: []byte(long(600))},
		"file/over.go":       {Data: []byte(long(601))},
		"file/over_test.go":  {Data: []byte(long(601))},
		"file/generated.go":  {Data: []byte("// Code generated by a test. DO NOT EDIT.\n\n" + long(601))},
		"function/in.go":     {Data: []byte(function("in", 80))},
		"function/over.go":   {Data: []byte(function("over", 81))},
		"function/a_test.go": {Data: []byte(function("over", 81))},
		"variable/over.go":   {Data: []byte("package a\n\nvar f = func() {\n" + strings.Repeat("\t_ = 0\n", 79) + "}\n")},
		"complex/in.go":      {Data: []byte(branches("in", 25))},
		"complex/over.go":    {Data: []byte(branches("over", 26))},
		"text/over.txt":      {Data: []byte(long(601))},
		"line/lines.go":      {Data: []byte(lines)},
	}
	for i := range 7 { // 4000 lines, and 4002
		tree[fmt.Sprintf("package/in/a%d.go", i)] = &fstest.MapFile{Data: []byte(long(571 + i/4))}
		tree[fmt.Sprintf("package/over/a%d.go", i)] = &fstest.MapFile{Data: []byte(long(571 + i/3))}
		tree[fmt.Sprintf("package/in/a%d_test.go", i)] = &fstest.MapFile{Data: []byte(long(571))}
	}
	sizes := testenv.Must(overLimit(tree))(t)
	require.Equal(t, []string{
		"complex/over.go:3: complexity of the function", "file/over.go: file", "file/over_test.go: file",
		"function/over.go:3: lines of the function", "line/lines.go:19: line", "line/lines.go:4: line",
		"line/lines.go:5: line", "line/lines.go:8: line", "package/over: package", "variable/over.go:3: lines of the function",
	}, slices.Sorted(maps.Keys(sizes)))
	require.Equal(t, 26, sizes["complex/over.go:3: complexity of the function"])
}
