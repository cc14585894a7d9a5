package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"example.com/zklock/internal/language"
)

// Two attempts are compared by the shape of their syntax trees, as MOSS compares
// texts: Schleimer, Wilkerson and Aiken, Winnowing: Local Algorithms for Document
// Fingerprinting, 2003. Names, comments, blanks, the order of functions and the
// division into files do not count, so renaming and moving hide nothing. The lines
// of the stub do not count either.
const (
	gram      = 16 // nodes of the tree that are one piece
	window    = 4  // of as many pieces in a row, one is kept at least
	threshold = 55 // of a hundred pieces of the smaller attempt: the pair is listed
	tooSmall  = 20 // pieces: fewer say nothing, since short programs resemble each other
)

// ourName is the name under which our solution takes part in the comparison.
const ourName = "our solution"

// A shape is a set of pieces of a program.
type shape map[uint64]bool

// shapeOf collects the pieces of some Go files. A file that cannot be parsed has
// those of the part before the error.
func shapeOf(files []string) shape {
	s := make(shape)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		f, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if f == nil {
			continue
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				s.add(nodes(f.Body))
			}
		}
	}
	return s
}

// nodes lists a tree: a word for each node and one for its end. A name is a word
// without the name.
func nodes(root ast.Node) (words []string) {
	ast.Inspect(root, func(n ast.Node) bool {
		word := "."
		switch n := n.(type) {
		case nil:
		case *ast.BinaryExpr:
			word = n.Op.String()
		case *ast.UnaryExpr:
			word = n.Op.String()
		case *ast.BasicLit:
			word = n.Kind.String()
		case *ast.BranchStmt:
			word = n.Tok.String()
		case *ast.SelectorExpr:
			// Names of the client library stay: conn.Get, zk.ErrNoNode.
			word = "select"
			if n.Sel.IsExported() {
				word = n.Sel.Name
			}
		default:
			word = strings.TrimPrefix(reflect.TypeOf(n).String(), "*ast.")
		}
		words = append(words, word)
		return true
	})
	return words
}

// add keeps of each window of pieces the one with the smallest hash.
func (s shape) add(words []string) {
	var hashes []uint64
	for i := 0; i+gram <= len(words); i++ {
		h := fnv.New64a()
		h.Write([]byte(strings.Join(words[i:i+gram], " ")))
		hashes = append(hashes, h.Sum64())
	}
	for i := 0; i+window <= len(hashes); i++ {
		s[slices.Min(hashes[i:i+window])] = true
	}
}

// like says how many in a hundred of the smaller one's pieces the other one has, too.
func (s shape) like(other shape) int {
	if len(other) < len(s) {
		s, other = other, s
	}
	if len(s) < tooSmall {
		return 0
	}
	common := 0
	for h := range s {
		if other[h] {
			common++
		}
	}
	return 100 * common / len(s)
}

// A pair is two attempts at one exercise that resemble each other.
type pair struct {
	Exercise int    `json:"exercise"`
	A        string `json:"a"`
	B        string `json:"b"`
	Percent  int    `json:"percent"`
}

// pairsOf compares the attempts at each exercise with each other and with our
// solution. It notes in each row the student whose attempt resembles it most, and
// returns the pairs above the threshold, the most similar ones first.
func (a *app) pairsOf(rows []row) (pairs []pair) {
	for _, e := range exercises {
		if e.ext != "" {
			continue // data has no syntax tree
		}
		type program struct {
			row *row // nil: ours
			shape
		}
		var programs []program
		for i := range rows {
			if rows[i].number == e.number && rows[i].shape != nil {
				programs = append(programs, program{&rows[i], rows[i].shape})
			}
		}
		if len(programs) == 0 {
			continue
		}
		programs = append(programs, program{nil, shapeOf([]string{filepath.Join(a.root, filepath.FromSlash(e.answer))})})
		name := func(p program) string {
			if p.row == nil {
				return ourName
			}
			return p.row.Student
		}
		for i, p := range programs {
			for _, q := range programs[:i] {
				percent := p.like(q.shape)
				for _, both := range [][2]program{{p, q}, {q, p}} {
					if r := both[0].row; r != nil && percent > r.Similar {
						r.Similar, r.To = percent, name(both[1])
					}
				}
				if percent >= threshold {
					pairs = append(pairs, pair{e.number, name(q), name(p), percent})
				}
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.Percent, x.Percent), cmp.Compare(x.Exercise, y.Exercise), strings.Compare(x.A, y.A))
	})
	return pairs
}

// A group is the attempts at one exercise that pairs join: of copies of one attempt each
// resembles each.
type group struct {
	Exercise    int
	Least, Most int // in a hundred, of its pairs
	Names       []string
}

// Groups are those of the pairs, the most similar first.
func (g grades) Groups() (groups []group) {
	for _, p := range g.Pairs {
		joined := group{p.Exercise, p.Percent, p.Percent, []string{p.A, p.B}}
		var others []group
		for _, other := range groups {
			if other.Exercise != p.Exercise || !slices.Contains(other.Names, p.A) && !slices.Contains(other.Names, p.B) {
				others = append(others, other)
				continue
			}
			joined = group{p.Exercise, min(joined.Least, other.Least), max(joined.Most, other.Most), append(joined.Names, other.Names...)}
		}
		slices.Sort(joined.Names)
		joined.Names = slices.Compact(joined.Names)
		groups = append(others, joined)
	}
	slices.SortStableFunc(groups, func(x, y group) int {
		return cmp.Or(cmp.Compare(y.Most, x.Most), cmp.Compare(x.Exercise, y.Exercise), strings.Compare(x.Names[0], y.Names[0]))
	})
	return groups
}

// Percent is how similar the attempts of a group are.
func (g group) Percent() language.Text {
	if g.Least == g.Most {
		return language.Same(fmt.Sprintf("%d %%", g.Most))
	}
	return language.Say("%d to %d %%", "%d～%d %%", g.Least, g.Most)
}

// shaped is the shape of what a student wrote: the stub's pieces do not count.
func (a *app) shaped(at *attempt, stubs stubs) shape {
	if at.ext != "" {
		return nil
	}
	s := shapeOf(paths(at))
	for h := range shapeOf(a.given(at, stubs)) {
		delete(s, h)
	}
	return s
}

func paths(at *attempt) []string { return slices.Sorted(maps.Values(at.files)) }
