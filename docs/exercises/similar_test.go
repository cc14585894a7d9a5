package main

import (
	"bytes"
	"fmt"
	"go/ast"
	goformat "go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
)

// disguised is a program with other names, without comments, and with its
// declarations in the opposite order, the imports aside.
func disguised(t *testing.T, program string) string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "lock.go", program, parser.SkipObjectResolution)
	require.NoError(t, err)
	keep := map[string]bool{"_": true, "init": true, "zk": true}
	for _, spec := range f.Imports {
		keep[strings.Trim(filepath.Base(spec.Path.Value), `"`)] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id != f.Name && !id.IsExported() && !keep[id.Name] && types.Universe.Lookup(id.Name) == nil {
			id.Name = "q" + strings.ToUpper(id.Name)
		}
		return true
	})
	last := slices.IndexFunc(f.Decls, func(d ast.Decl) bool { g, ok := d.(*ast.GenDecl); return !ok || g.Tok != token.IMPORT })
	slices.Reverse(f.Decls[last:])
	var out bytes.Buffer
	for _, d := range f.Decls { // one by one: the positions are those of the old order
		require.NoError(t, goformat.Node(&out, token.NewFileSet(), d))
		out.WriteString("\n\n")
	}
	return "package " + f.Name.Name + "\n\n" + out.String()
}

// padded is a program with a senseless statement before every fourth one or so.
func padded(t *testing.T, program string) string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "lock.go", program, parser.SkipObjectResolution)
	require.NoError(t, err)
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		block, ok := node.(*ast.BlockStmt)
		if !ok {
			return true
		}
		var list []ast.Stmt
		for _, s := range block.List {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause: // of a switch, which may have nothing else
				list = append(list, s)
				continue
			}
			if n++; n%4 == 0 {
				nothing, err := parser.ParseExpr(`len("")`)
				require.NoError(t, err)
				list = append(list, &ast.AssignStmt{Lhs: []ast.Expr{ast.NewIdent("_")}, Tok: token.ASSIGN, Rhs: []ast.Expr{nothing}})
			}
			list = append(list, s)
		}
		block.List = list
		return true
	})
	var out bytes.Buffer
	require.NoError(t, goformat.Node(&out, token.NewFileSet(), f))
	return out.String()
}

// handedIn is the row of an attempt that need not be graded.
func handedIn(t *testing.T, a *app, e *exercise, student, program string) row {
	t.Helper()
	stubs, err := readStubs(a.root)
	require.NoError(t, err)
	at := written(t, e, program)
	return row{Student: student, exercise: e, result: &result{Exercise: e.number}, shape: a.shaped(at, stubs)}
}

// TestADisguisedCopyIsFound: neither other names, another order nor senseless
// statements hide a copy.
func TestADisguisedCopyIsFound(t *testing.T) {
	root := rootOf(t)
	a := &app{root: root}
	files := must(filepath.Glob("testdata/attempts/02-right-*.go.txt"))
	e := must(find("2"))
	for _, file := range files {
		original := text(t, file)
		copied := disguised(t, original)
		require.Less(t, len(strings.Split(original, "\n"))/4, len(strings.Split(copied, "\n")))
		stubs, err := readStubs(root)
		require.NoError(t, err)
		require.Less(t, a.same(written(t, e, copied), stubs), 25, "the lines are others")

		rows := []row{handedIn(t, a, e, "ann", original), handedIn(t, a, e, "bob", copied)}
		pairs := a.pairsOf(rows)
		require.Len(t, pairs, 1, file)
		require.Equal(t, pair{2, "ann", "bob", pairs[0].Percent}, pairs[0])
		require.GreaterOrEqual(t, pairs[0].Percent, 95, file)
		require.Equal(t, "ann", rows[1].To)

		rows[1] = handedIn(t, a, e, "bob", padded(t, copied))
		pairs = a.pairsOf(rows)
		require.Len(t, pairs, 1, file)
		require.GreaterOrEqual(t, pairs[0].Percent, threshold+20, "%s: with senseless statements", file)
	}
	solution := text(t, root, e.answer)
	pairs := a.pairsOf([]row{handedIn(t, a, e, "eve", disguised(t, solution))})
	require.Len(t, pairs, 1)
	require.Equal(t, "eve, "+ourName, pairs[0].A+", "+pairs[0].B, "a copy of our solution")
}

// TestCopiesAreOneLine: a line for each group of attempts that resemble each other, not one
// for each of its pairs.
func TestCopiesAreOneLine(t *testing.T) {
	var pairs []pair
	for i := range 28 {
		for j := range i {
			pairs = append(pairs, pair{2, fmt.Sprintf("s%02d", j), fmt.Sprintf("s%02d", i), 100 - i%3})
		}
	}
	pairs = append(pairs, pair{3, "s01", "s02", 60}, pair{2, "x", ourName, 70}, pair{2, "x", "y", 58})
	g := grades{Pairs: pairs, language: language.English}
	var lines []string
	for _, group := range g.Groups() {
		lines = append(lines, fmt.Sprintf("%s %d %s", group.Percent().En, group.Exercise, g.Members(group)))
	}
	require.Len(t, lines, 3)
	require.Regexp(t, `^98 to 100 % 2 (s\d\d, ){27}s27$`, lines[0])
	require.Equal(t, []string{"58 to 70 % 2 our solution, x, y", "60 % 3 s01, s02"}, lines[1:])
	require.Equal(t, "我们的解答，x，y", grades{language: language.Chinese}.Members(g.Groups()[1]))
}

// TestIndependentAttemptsAreNotPairs: the exercise and the client's calls are the
// same for all, and that is not a copy. The authors of these attempts have not seen
// each other's, nor our solution.
func TestIndependentAttemptsAreNotPairs(t *testing.T) {
	a := &app{root: rootOf(t)}
	var rows []row
	for _, file := range must(filepath.Glob("testdata/attempts/*-right-*.go.txt")) {
		e := exerciseOf(file)
		rows = append(rows, handedIn(t, a, e, file, text(t, file)))
	}
	// Of the wrong first attempts one of each exercise: those of one exercise are
	// changes of each other.
	seen := make(map[*exercise]bool)
	for _, file := range must(filepath.Glob("testdata/wrong/*.go.txt")) {
		e := exerciseOf(file)
		if !seen[e] && e.file == "" {
			rows = append(rows, handedIn(t, a, e, file, text(t, file)))
			seen[e] = true
		}
	}
	require.Greater(t, len(rows), 30)
	for _, p := range a.pairsOf(rows) {
		t.Errorf("exercise %d: %s and %s: %d %%", p.Exercise, p.A, p.B, p.Percent)
	}
	most := 0
	for _, r := range rows {
		require.NotNil(t, r.shape)
		most = max(most, r.Similar)
		require.Less(t, r.Similar, threshold-5, "%s is too near the threshold", r.Student)
	}
	for page, fact := range map[string]string{"README.md": "had at most %d,", "README.zh-CN.md": "最高是 %d；"} {
		require.True(t, strings.Contains(text(t, a.root, "docs/exercises", page), fmt.Sprintf(fact, most)), "%s must say that the nearest have %d", page, most)
	}
}

// exerciseOf is the exercise of a file of testdata: its name begins with the number.
func exerciseOf(file string) *exercise {
	number, _, _ := strings.Cut(filepath.Base(file), "-")
	return must(find(number))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTheStubIsNotACopy: what all have been given, and a few lines, are not
// compared.
func TestTheStubIsNotACopy(t *testing.T) {
	a := &app{root: rootOf(t)}
	for _, e := range exercises {
		if e.ext != "" {
			continue
		}
		stub, err := os.ReadFile(filepath.Join(e.dir(a.root), e.writes()))
		require.NoError(t, err)
		more := "\nfunc helper(a, b int) int { if a < b { return a }; return b }\n"
		rows := []row{handedIn(t, a, e, "ann", string(stub)+more), handedIn(t, a, e, "bob", string(stub)+more)}
		require.Empty(t, a.pairsOf(rows), "%s", e.folder)
	}
}
