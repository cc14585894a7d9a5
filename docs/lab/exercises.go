package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// exercises writes the file of package engine that imports the exercises, ""
// if there are none.
func (b *builder) exercises() (string, error) {
	folders, err := filepath.Glob(filepath.Join(b.root, "docs", "exercises", "_[0-9]*", "lock.go"))
	if err != nil || len(folders) == 0 {
		return "", err
	}
	slices.Sort(folders)
	var imports, list strings.Builder
	for i, file := range folders {
		folder := filepath.Base(filepath.Dir(file))
		has, err := declared(filepath.Dir(file))
		if err != nil {
			return "", err
		}
		if has["a file"] && !(has["New(conn, path)"] && has["(l) Lock"] && has["(l) TryLock"] && has["(l) Unlock"]) {
			continue // the lab plays locks: not a register, a semaphore or an election
		}
		p := fmt.Sprintf("exercise%d", i+1)
		open := fmt.Sprintf("locks.Alone(%s.New)", p)
		if has["NewOwner"] {
			open = fmt.Sprintf("locks.Owned(%s.New, %s.NewOwner)", p, p)
		}
		notLocked := "nil"
		for _, name := range []string{"ErrNotLocked", "ErrNotOwner"} {
			if has[name] {
				notLocked = p + "." + name
			}
		}
		number := strings.TrimLeft(strings.TrimPrefix(folder, "_"), "0")
		number, _, _ = strings.Cut(number, "-")
		fmt.Fprintf(&imports, "\t%s %q\n", p, "example.com/zklock/docs/exercises/"+folder)
		fmt.Fprintf(&list, "\t\tlocks.Exercise{Folder: %q, Title: locks.Text{En: %q, Zh: %q}, Queue: %v, NotLocked: %s, Contexts: %v, Together: %v, Open: %s},\n",
			strings.TrimPrefix(folder, "_"), heading(filepath.Dir(file), "Exercise "+number), "练习 "+number, number != "1", notLocked, has["Lock(ctx)"], has["NewOwner"], open)
	}
	return "//go:build js && wasm\n\npackage main\n\nimport (\n\t\"example.com/zklock/docs/lab/locks\"\n" + imports.String() +
		")\n\nfunc init() {\n\tlocks.AddExercises(\n" + list.String() + "\t)\n}\n", nil
}

// declared lists the names that the package in a folder declares; "Lock(ctx)"
// is among them if its method Lock has a parameter, "(l) Lock" if there is such
// a method, and "New(conn, path)" if New has two parameters. "a file" is among
// them if all files parse: what does not is left to the compiler.
func declared(dir string) (map[string]bool, error) {
	has := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	broken := false
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if f == nil {
			return nil, err
		}
		if err != nil {
			broken = true
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					has[d.Name.Name] = true
					if d.Name.Name == "New" && d.Type.Params.NumFields() == 2 {
						has["New(conn, path)"] = true
					}
					continue
				}
				has["(l) "+d.Name.Name] = true
				if d.Name.Name == "Lock" && d.Type.Params.NumFields() > 0 {
					_, owner := d.Type.Params.List[0].Type.(*ast.StarExpr)
					has["Lock(ctx)"] = !owner
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, id := range v.Names {
							has[id.Name] = true
						}
					}
				}
			}
		}
	}
	has["a file"] = !broken
	return has, nil
}

// heading is the first heading of a folder's README.
func heading(dir, otherwise string) string {
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return otherwise
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "# "); ok {
			return text
		}
	}
	return otherwise
}
