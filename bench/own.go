package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
	"time"
)

// -locks also takes folders: packages with a lock of the reader's own. They
// are not part of this program, so it builds another one that has them: a file
// that adds them to own, and the folders themselves, are laid over this
// package with go build -overlay. Nothing in the repository changes.

// own holds the locks that this program was built with by their folders.
var own []contestant

// An ownLock is a package with a lock.
type ownLock struct {
	Folder string // as it was typed
	Name   string // in tables
	dir    string // absolute
	files  []string

	// What the package has.
	Import  string
	Result  string // of New, as seen from here
	Kind    int    // the step whose API it has: 3 stands for steps 1 to 3
	Session bool   // it has WithSessionTimeout
}

// isFolder says whether -locks names a folder.
func isFolder(name string) bool {
	return strings.HasPrefix(name, ".") || strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator)
}

// ownContestants returns the locks in the folders, by the folders' own names
// unless these are taken.
func ownContestants(folders, taken []string) ([]contestant, error) {
	count := make(map[string]int)
	for _, name := range taken {
		count[name]++
	}
	names := make([]string, len(folders))
	dirs := make([]string, len(folders))
	for i, folder := range folders {
		dir, err := filepath.Abs(folder)
		if err != nil {
			return nil, err
		}
		if slices.Contains(dirs, dir) {
			return nil, fmt.Errorf("-locks: %s is named twice", folder)
		}
		names[i], dirs[i] = filepath.Base(dir), dir
		count[names[i]]++
	}
	var cs []contestant
	for i, folder := range folders {
		j := slices.IndexFunc(own, func(c contestant) bool { return c.folder == folder })
		c := contestant{folder: folder}
		if j >= 0 {
			c = own[j]
		}
		if c.name = names[i]; count[c.name] > 1 {
			c.name = filepath.ToSlash(filepath.Clean(folder))
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// built says whether this program can run the lock.
func (c contestant) built() bool {
	if c.other != nil {
		return c.other.built()
	}
	return c.folder == "" || c.new != nil || c.begin != nil
}

// missing are the locks of cfg that this program was not built with.
func (cfg config) missing() []contestant {
	return slices.DeleteFunc(slices.Clone(cfg.locks), contestant.built)
}

// runWith builds a program that has the missing locks and runs it in place of
// this one.
func runWith(ctx context.Context, missing []contestant, args []string, stdout, stderr io.Writer) (status int, err error) {
	dir, err := os.MkdirTemp("", "zklock-bench-")
	if err != nil {
		return exitFailure, err
	}
	defer os.RemoveAll(dir)
	var folders, names []string
	for _, c := range missing {
		if c.other == nil {
			folders = append(folders, c.folder)
		}
		names = append(names, c.name)
	}
	tags := tagsOf(missing)
	if len(tags) > 0 {
		fmt.Fprintln(stderr, "building a program that has the other locks; the first time their clients are downloaded …")
	}
	program, err := buildWith(ctx, folders, tags, dir)
	if err != nil {
		return exitFailure, fmt.Errorf("-locks: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it prints what is finished
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	switch status := cmd.ProcessState.ExitCode(); {
	case err == nil:
		return exitOK, nil
	case status == exitFailure || status == exitInterrupted:
		return status, nil // it has said why
	default: // Go's own for a panic is 2
		return exitFailure, fmt.Errorf("the benchmark crashed (%w): a goroutine of %s panicked, see above",
			err, strings.Join(names, " or of "))
	}
}

// sourceFolder is where this package was compiled from.
func sourceFolder() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.Stat(file); err != nil || !filepath.IsAbs(file) {
		return "", errors.New("a lock that is not built in needs the source of this program: use go run ./bench in a clone")
	}
	return filepath.Dir(file), nil
}

// buildWith builds a program that has the locks in the folders, and those of the
// tags. It writes to dir alone.
func buildWith(ctx context.Context, folders, tags []string, dir string) (program string, err error) {
	source, err := sourceFolder()
	if err != nil {
		return "", err
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("a lock that is not built in needs the go command: %w", err)
	}
	replace := make(map[string]string)
	var locks []ownLock
	for i, folder := range folders {
		l, err := readOwnLock(folder)
		if err != nil {
			return "", fmt.Errorf("%s: %w", folder, err)
		}
		l.Import = fmt.Sprintf("own%d", i)
		for _, file := range l.files {
			replace[filepath.Join(source, l.Import, file)] = filepath.Join(l.dir, file)
		}
		locks = append(locks, l)
	}
	var code bytes.Buffer
	if err := ownTemplate.Execute(&code, locks); err != nil {
		return "", err
	}
	generated := filepath.Join(dir, generatedName)
	if err := os.WriteFile(generated, code.Bytes(), 0o600); err != nil {
		return "", err
	}
	if len(locks) > 0 {
		replace[filepath.Join(source, generatedName)] = generated
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "bench")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	args := []string{"build", "-overlay", overlayFile, "-o", program, "-ldflags=-s -w"} // to link in half the time
	if own := buildTags(); own != "" {
		tags = append(tags, own)
	}
	if len(tags) > 0 {
		args = append(args, "-tags", strings.Join(tags, ","))
	}
	cmd := exec.CommandContext(ctx, goCommand, append(args, ".")...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", errInterrupted
		}
		return "", compileError(string(out), err, source, locks)
	}
	return program, nil
}

// buildTags are those of this program.
func buildTags() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				return s.Value
			}
		}
	}
	return ""
}

const generatedName = "own_generated.go"

var ownTemplate = template.Must(template.New("own").Parse(`package main

import (
	"time"

	"github.com/go-zookeeper/zk"
{{range .}}
	{{.Import}} "example.com/zklock/bench/{{.Import}}"{{end}}
)

var _ time.Duration

func init() {
	own = append(own,
{{- range .}}
		contestant{folder: {{printf "%q" .Folder}},
		{{- if eq .Kind 3}} new: func(conn *zk.Conn, path string) locker { return {{.Import}}.New(conn, path) }
		{{- else if eq .Kind 4}} begin: owned(func(conn *zk.Conn, path string) *{{.Import}}.{{.Result}} { return {{.Import}}.New(conn, path) }, {{.Import}}.NewOwner)
		{{- else}} begin: leased(func(conn *zk.Conn, path string, session time.Duration) (*{{.Import}}.{{.Result}}, error) { return {{.Import}}.New(conn, path{{if .Session}}, {{.Import}}.WithSessionTimeout(session){{end}}) }, {{.Import}}.NewOwner)
		{{- end}}},
{{- end}}
	)
}
`))

// apis are what New and its result must look like.
var apis = map[int]string{
	3: "New(conn *zk.Conn, path string) *Lock, with Lock() error and Unlock() error, as in 03-sequential-predecessor",
	4: "New(conn *zk.Conn, path string) *Mutex, with Lock(owner *Owner) error and Unlock(owner *Owner) error, as in 04-reentrant",
	5: "New(conn *zk.Conn, path string) (*Mutex, error), with Lock(ctx, owner) (*Lease, error) and Unlock(ctx) error, as in zklock",
}

// readOwnLock finds out what a folder holds.
func readOwnLock(folder string) (l ownLock, err error) {
	l.Folder = folder
	if l.dir, err = filepath.Abs(folder); err != nil {
		return l, err
	}
	if info, err := os.Stat(l.dir); err != nil || !info.IsDir() {
		return l, errors.New("there is no such folder")
	}
	b := build.Default
	b.BuildTags = strings.Split(buildTags(), ",")
	pkg, err := b.ImportDir(l.dir, 0)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none):
		return l, errors.New("the folder has no Go files")
	case err != nil:
		return l, fmt.Errorf("does not compile: %s", strings.ReplaceAll(err.Error(), l.dir+string(filepath.Separator), ""))
	case pkg.Name == "main":
		return l, errors.New("package main cannot be imported: give the package another name")
	}
	l.files = pkg.GoFiles
	var newFunc *ast.FuncType
	newOwner := false
	for _, file := range l.files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return l, fmt.Errorf("does not compile: %s", strings.ReplaceAll(err.Error(), l.dir+string(filepath.Separator), ""))
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				switch f.Name.Name {
				case "New":
					newFunc = f.Type
				case "NewOwner":
					newOwner = true
				case "WithSessionTimeout":
					l.Session = true
				}
			}
		}
	}
	if newFunc == nil {
		return l, fmt.Errorf("it has no function New; the benchmark needs %s", apis[3])
	}
	results := newFunc.Results.NumFields()
	switch {
	case results == 2:
		l.Kind = 5
	case newOwner:
		l.Kind = 4
	default:
		l.Kind = 3
	}
	if l.Kind > 3 {
		star, ok := newFunc.Results.List[0].Type.(*ast.StarExpr)
		if ok {
			name, isName := star.X.(*ast.Ident)
			if ok = isName; ok {
				l.Result = name.Name
			}
		}
		if !ok || !newOwner {
			return l, fmt.Errorf("New is not what the benchmark needs: %s", apis[l.Kind])
		}
	}
	return l, nil
}

// compileError makes one line of what the compiler said first.
func compileError(out string, err error, source string, locks []ownLock) error {
	const most = 3
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		if strings.Contains(line, generatedName) {
			for _, l := range locks {
				if strings.Contains(line, l.Import+".") {
					_, text, _ := strings.Cut(line, ": ")
					return fmt.Errorf("%s: New is not what the benchmark needs: %s; the compiler says: %s", l.Folder, apis[l.Kind],
						strings.ReplaceAll(text, l.Import+".", ""))
				}
			}
		}
		for _, l := range locks {
			// The compiler names files relative to where it ran, if that is shorter.
			for _, dir := range []string{l.dir, relative(source, l.dir), l.Import} {
				if rest, ok := strings.CutPrefix(line, dir+string(filepath.Separator)); ok {
					line = filepath.Join(l.Folder, rest)
				}
			}
		}
		if lines = append(lines, line); len(lines) == most {
			break
		}
	}
	if len(lines) == 0 {
		lines = []string{err.Error()}
	}
	return fmt.Errorf("does not compile: %s", strings.Join(lines, "; "))
}

// relative is the path of dir seen from base, as the compiler writes it.
func relative(base, dir string) string {
	rel, err := filepath.Rel(base, dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return rel
	}
	return "." + string(filepath.Separator) + rel
}
