package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/i18n"
)

const (
	maxFiles = 50      // the most files that one attempt may have
	maxBytes = 1 << 20 // the most bytes that its files may have together
)

// An attempt is a student's solution of one exercise: the Go files of a folder. The folder's tests are left out,
// because ours are run in their place. If the exercise asks for data, the attempt is the data files.
type attempt struct {
	*exercise
	dir   string
	files map[string]string // name to absolute path
	hash  string            // of names and texts; line ends make no difference

	// Only for tests, which build many attempts as one program.
	id    string // its number in that program
	built func() (binary string, err error)
}

// A refusal says why an attempt is not run. It costs the attempt its points.
type refusal struct{ error }

func refuse(format string, args ...any) error { return refusal{i18n.Errorf(format, args...)} }

func (r refusal) Unwrap() error { return r.error }

// readAttempt reads the attempt in a folder. Asked is the exercise that it must be of; if it is nil, a data file or the
// package clause tells the exercise. With a refusal of a known exercise, readAttempt returns the attempt as well.
func readAttempt(dir string, asked *exercise) (*attempt, error) {
	entries, err := os.ReadDir(dir)
	full, errFull := filepath.Abs(dir)
	if err := cmp.Or(err, errFull); err != nil {
		return nil, err
	}
	if asked == nil {
		asked = ofData(entries)
	}
	a := &attempt{exercise: asked, dir: dir, files: make(map[string]string)}
	kind := cmp.Or(asked, anyLock) // it says which files belong to the attempt, also if the exercise is not known yet
	r := &reading{attempt: a, dir: full, kind: kind, sum: sha256.New(), fset: token.NewFileSet()}
	if err := r.readFiles(entries); err != nil {
		return nil, err
	}
	a.hash = fmt.Sprintf("%x", r.sum.Sum(nil))

	switch {
	case len(a.files) == 0 && r.refused == nil && !kind.asksForData(): // a data file is missing until it is begun
		return nil, i18n.Errorf("%s has no Go files: copy the exercise's %s into it", dir, kind.writes())
	case a.exercise == nil && r.refused != nil:
		return nil, r.refused
	case a.exercise == nil:
		return nil, i18n.Errorf("%s: no exercise has a package with this name: keep the package clause of the stub", dir)
	}
	for _, f := range r.parsed {
		r.refused = cmp.Or(r.refused, a.allowed(r.fset, f))
	}
	return a, r.refused
}

// A reading is an attempt whose files are being read.
type reading struct {
	attempt *attempt  // parse sets its exercise, if that is nil, when a package clause names one
	dir     string    // its folder, as an absolute path
	kind    *exercise // the attempt's exercise, anyLock if that is not known yet
	sum     hash.Hash // of all files
	size    int64     // of the files together, in bytes
	fset    *token.FileSet
	parsed  []*ast.File
	refused error // the first refusal; reading goes on after it, because a later file may say which exercise this is
}

func (r *reading) refuse(format string, args ...any) {
	r.refused = cmp.Or(r.refused, refuse(format, args...))
}

// readFiles reads the files of the attempt, up to the first that would make it too large. It refuses the attempt if it
// has a file that it must not have.
func (r *reading) readFiles(entries []fs.DirEntry) error {
	for _, entry := range entries {
		name := entry.Name()
		isMachineCode := strings.HasSuffix(name, ".s") || strings.HasSuffix(name, ".syso")
		if isMachineCode && !r.kind.asksForData() {
			r.refuse("%s: a lock is written in Go", name)
		}
		if entry.IsDir() || !r.kind.owns(name) {
			continue
		}
		if !entry.Type().IsRegular() {
			r.refuse("%s is not a regular file", name)
			continue
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}
		r.size += info.Size()
		if len(r.attempt.files) == maxFiles || r.size > maxBytes {
			r.refuse("too much to read: an attempt has at most %d files, of %d bytes together", maxFiles, maxBytes)
			return nil
		}
		if err := r.readFile(name); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) readFile(name string) error {
	file := filepath.Join(r.dir, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r.attempt.files[name] = file
	lines := unixLines(text)
	fmt.Fprintf(r.sum, "%s %d\n%s", name, len(lines), lines)
	if !r.kind.asksForData() {
		r.parse(name, text)
	}
	return nil
}

func (r *reading) parse(name string, text []byte) {
	f, err := parser.ParseFile(r.fset, name, text, parser.SkipObjectResolution)
	if f != nil && f.Name != nil && r.attempt.exercise == nil {
		for _, e := range exercises {
			if e.pkg == f.Name.Name {
				r.attempt.exercise = e
			}
		}
	}
	if err != nil {
		r.refuse("does not compile: %s", firstLines(err.Error(), 1))
		return
	}
	r.parsed = append(r.parsed, f)
}

// anyLock stands for an exercise that is not known yet: it asks for a lock.
var anyLock = &exercise{}

// ofData returns the exercise whose data file is in a folder, nil if there is none or the folder has Go files.
func ofData(entries []fs.DirEntry) (found *exercise) {
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		if anyLock.owns(entry.Name()) {
			return nil
		}
		for _, e := range exercises {
			if found == nil && e.asksForData() && e.owns(entry.Name()) {
				found = e
			}
		}
	}
	return found
}

func (e *exercise) begun(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return !entry.IsDir() && e.owns(entry.Name()) })
}

// findAll returns the exercises of a list such as 1,2,3. An empty list has none.
func findAll(list string) (found []*exercise, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		e, err := find(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *exercise) int { return a.number - b.number })
	return found, nil
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// The packages that a lock may import. Others could start a process, read the
// grader's messages or write a file: os, os/exec, syscall, unsafe, net, …
var importable = []string{
	"bytes", "cmp", "container/heap", "container/list", "container/ring", "context", "crypto/rand", "crypto/sha256",
	"encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "iter", "log", "maps",
	"math", "math/rand", "math/rand/v2", "path", "regexp", "slices", "sort", "strconv", "strings", "sync", "sync/atomic",
	"time", "unicode", "unicode/utf8",
	client,
}

const client = "github.com/go-zookeeper/zk"

// dials reports whether a function of the client opens a connection of its own, or asks the network for addresses.
func dials(name string) bool {
	return strings.HasPrefix(name, "Connect") || strings.HasPrefix(name, "FLW") ||
		strings.Contains(name, "DNSHostProvider")
}

// allowed refuses a file that imports a package not in importable, uses the client's own lock, or opens a connection.
func (a *attempt) allowed(fset *token.FileSet, f *ast.File) error {
	if f.Name.Name != a.pkg {
		return refuse("%s: this is package %s, and %v must be package %s", fset.Position(f.Name.Pos()), f.Name.Name, a.exercise, a.pkg)
	}
	clientNames := map[string]bool{} // in this file
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return refuse("does not compile: %v", err)
		}
		if !slices.Contains(importable, name) && !slices.Contains(a.imports, name) {
			return refuse("%s imports %s, which a lock does not need; it may import %s, and the packages of the standard "+
				"library that README.md lists", fset.Position(spec.Pos()), name, client)
		}
		if name == client {
			if spec.Name != nil && spec.Name.Name == "." {
				return refuse("%s: import %s under a name, not with a dot", fset.Position(spec.Pos()), client)
			}
			local := path.Base(name)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			clientNames[local] = true
		}
	}

	var bad error
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || bad != nil {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok || !clientNames[x.Name] {
			return true
		}
		switch name := s.Sel.Name; {
		case name == "NewLock" || name == "Lock":
			bad = refuse("%s: %s.%s is the client's own lock, and this exercise is to write one", fset.Position(s.Pos()), x.Name, name)
		case dials(name):
			bad = refuse("%s: %s.%s opens a connection of its own, and a lock uses the one that New is given",
				fset.Position(s.Pos()), x.Name, name)
		}
		return true
	})
	return bad
}

// findAttempts lists the attempts in a student's folder: the folder itself, or the folders of exercises in it, or
// those in a clone of this repository. Asked are the exercises that are to be graded; if there are none, all are.
func findAttempts(dir string, asked []*exercise) (found []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, i18n.Errorf("there is no folder %s", dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, i18n.Errorf("%s is not a folder: give the folder with the student's files", dir)
	}
	if isAttempt(dir, asked) {
		return []string{dir}, nil
	}
	for _, base := range []string{dir, filepath.Join(dir, "docs", "exercises")} {
		for _, e := range exercises {
			if len(asked) > 0 && !slices.Contains(asked, e) {
				continue
			}
			for _, name := range []string{e.folder, strings.TrimPrefix(e.folder, "_")} { // students copy it with and without _
				if e.begun(filepath.Join(base, name)) {
					found = append(found, filepath.Join(base, name))
					break
				}
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, i18n.Errorf("%s has no attempt: neither a file of one nor a folder such as %s", dir, exercises[0].folder)
}

// isAttempt reports whether a folder itself has the files of an attempt.
func isAttempt(dir string, asked []*exercise) bool {
	if _, err := os.Stat(filepath.Join(dir, path.Base(stubsFile))); err == nil {
		return false // docs/exercises, which alone has this file: it has attempts, and is none
	}
	begunHere := func(e *exercise) bool { return e.begun(dir) }
	if begunHere(anyLock) || slices.ContainsFunc(asked, begunHere) {
		return true
	}
	entries, _ := os.ReadDir(dir)
	return len(asked) == 0 && ofData(entries) != nil
}

// firstLines returns up to n lines of a text, without the blank lines before them.
func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
