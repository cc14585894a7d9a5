package build

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// An exerciseAPI says how the lab opens the locks of an exercise, and what their package must declare for that.
type exerciseAPI struct {
	open      string // a Go expression of type locks.Open, in which %[1]s is the package
	notLocked string // the package's error for an unlock without the lock
	needs     string // what else, with commas, as declared has it: "New 2" is a function of two parameters
}

var (
	plain        = exerciseAPI{"locks.Alone(%[1]s.New)", "ErrNotLocked", "New 2, Lock, TryLock, Unlock"}
	exerciseAPIs = map[string]exerciseAPI{
		"01-naive": plain, "02-herd": plain, "03-predecessor": plain, "05-give-up": plain, "06-find-again": plain,
		"04-reentrant":  {"locks.Owned(%[1]s.New, %[1]s.NewOwner)", "ErrNotOwner", "New 2, NewOwner 1, Lock, TryLock, Unlock"},
		"07-fence":      {"locks.Registers(%[1]s.New, %[1]s.ErrStale)", "ErrStale", "New 2, Write, Read"},
		"08-semaphore":  {"locks.Permits(%[1]s.New)", "ErrNotAcquired", "New 3, Acquire, TryAcquire, Release"},
		"09-read-write": {"locks.ReadersAndWriters(%[1]s.New)", "ErrNotLocked", "New 2, RLock, RUnlock, Lock, Unlock"},
		"10-election":   {"locks.Candidates(%[1]s.New)", "ErrLost", "New 3, Lead"},
	}
)

// exercises returns the text of a Go file of package engine that imports the exercises and adds their locks
// to the catalogue; "" if no lock can be played.
func (b *Builder) exercises() (string, error) {
	var imports, calls strings.Builder
	for i, e := range locks.Playable {
		dir := filepath.Join(b.Root, "docs", "exercises", "_"+e.Folder)
		from := dir
		if b.Own != nil && b.Own.Folder == e.Folder {
			from = b.Own.Dir
		}
		_, has, err := declared(from)
		if err != nil {
			return "", err
		}
		api := exerciseAPIs[e.Folder]
		needs := append(strings.Split(api.needs, ", "), api.notLocked)
		if slices.ContainsFunc(needs, func(name string) bool { return !has[name] }) {
			continue // not finished: the catalogue leaves it out
		}

		pkg := fmt.Sprintf("exercise%d", i+1)
		number, _, _ := strings.Cut(strings.TrimLeft(e.Folder, "0"), "-")
		fmt.Fprintf(&imports, "\t%s %q\n", pkg, "example.com/zklock/docs/exercises/_"+e.Folder)
		en, zh := firstHeading(dir, "README.md", "Exercise "+number), firstHeading(dir, "README.zh-CN.md", "练习 "+number)
		title, open := string(i18n.Both(en, zh)), fmt.Sprintf(api.open, pkg)
		fmt.Fprintf(&calls, "\tlocks.AddExercise(%q, locks.Text(%q), %s, %s.%s)\n", e.Folder, title, open, pkg, api.notLocked)
	}
	if calls.Len() == 0 {
		return "", nil
	}
	return "//go:build js && wasm\n\npackage main\n\nimport (\n\t\"example.com/zklock/internal/lab/locks\"\n" +
		imports.String() + ")\n\nfunc init() {\n" + calls.String() + "}\n", nil
}

// An OwnFolder is a student's folder, whose lock the lab plays in the place of an exercise's.
type OwnFolder struct {
	Dir    string // absolute
	Folder string // of the exercise, such as 03-predecessor
}

// OwnLock returns a student's folder with the exercise that has the same package clause.
func (b *Builder) OwnLock(dir string) (*OwnFolder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	name, _, err := declared(dir)
	if err == nil && name == "" {
		err = i18n.Errorf("the folder has no Go file of a lock")
	}
	if err != nil {
		return nil, i18n.Errorf("-lock %s: %w", dir, err)
	}
	for _, e := range locks.Playable {
		stub, _, err := declared(filepath.Join(b.Root, "docs", "exercises", "_"+e.Folder))
		if err != nil {
			return nil, err
		}
		if stub == name {
			return &OwnFolder{dir, e.Folder}, nil
		}
	}
	return nil, i18n.Errorf("-lock %s: the lab plays no exercise whose package is %s: keep the package clause of the "+
		"stub", dir, name)
}

// goFiles are the Go files of a folder without its tests.
func goFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		name := entry.Name()
		isTest := strings.HasSuffix(name, "_test.go")
		isIgnored := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") // by the go command
		if !entry.IsDir() && strings.HasSuffix(name, ".go") && !isTest && !isIgnored {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files, err
}

// replace returns an overlay for the compiler, as its flag -overlay takes it: by the path of each file of the exercise,
// the path of the student's file to read instead. "" hides a file that the student does not have.
func (o *OwnFolder) replace(root string) (map[string]string, error) {
	exercise := filepath.Join(root, "docs", "exercises", "_"+o.Folder)
	files, err := goFiles(exercise)
	if err != nil {
		return nil, err
	}
	replace := make(map[string]string)
	for _, file := range files {
		replace[file] = ""
	}
	if files, err = goFiles(o.Dir); err != nil {
		return nil, err
	}
	for _, file := range files {
		in := filepath.Join(exercise, filepath.Base(file))
		replace[in] = file
		if in == file {
			delete(replace, in) // nothing to replace: the student works in the exercise's folder
		}
	}
	return replace, nil
}

// declared returns the name of the package in a folder, and what it declares: the names of variables and methods, and
// those of functions with the number of their parameters, "New 2". If a file does not parse, it is as if the package
// declared nothing.
func declared(dir string) (pkg string, has map[string]bool, err error) {
	has = make(map[string]bool)
	files, err := goFiles(dir)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if f != nil && f.Name != nil {
			pkg = f.Name.Name
		}
		if err != nil {
			return pkg, nil, nil
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					has[fmt.Sprint(d.Name.Name, " ", d.Type.Params.NumFields())] = true
				} else {
					has[d.Name.Name] = true
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
	return pkg, has, err
}

// firstHeading is the first heading of a page in a folder, or otherwise, if the page has none or is not there.
func firstHeading(dir, page, otherwise string) string {
	b, _ := os.ReadFile(filepath.Join(dir, page))
	_, text, _ := strings.Cut("\n"+string(b), "\n# ")
	text, _, _ = strings.Cut(text, "\n")
	return cmp.Or(text, otherwise)
}
