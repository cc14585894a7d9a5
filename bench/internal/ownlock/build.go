// Package ownlock builds a benchmark that has locks of the reader's own: a file
// that adds them to package main, and the folders themselves, are laid over it
// with go build -overlay. Nothing in the repository changes.
package ownlock

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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"example.com/zklock/internal/language"
)

// A lock is a package with a lock.
type lock struct {
	Folder string // as it was typed
	Name   string // in tables
	dir    string // absolute
	files  []string

	// The API of the package.
	Import  string
	Result  string // of New, as seen from here
	Kind    api
	Session bool // it has WithSessionTimeout
}

// An api is what New and its result look like.
type api int

const (
	likeStep3 api = iota + 3 // and steps 1 and 2
	likeStep4
	likeStep5
	likeZklock
)

// apis are what the benchmark needs of each.
var apis = map[api]language.Text{
	likeStep3:  as("New(conn *zk.Conn, path string) *Lock", "Lock() error", "Unlock() error", "03-sequential-predecessor"),
	likeStep4:  as("New(conn *zk.Conn, path string) *Mutex", "Lock(owner *Owner) error", "Unlock(owner *Owner) error", "04-reentrant"),
	likeStep5:  as("New(conn *zk.Conn, path string, sessionTimeout time.Duration) *Lock", "Lock(ctx) (*Lease, error)", "Unlock(ctx) error", "05-timeout"),
	likeZklock: as("New(conn *zk.Conn, path string) (*Mutex, error)", "Lock(ctx, owner) (*Lease, error)", "Unlock(ctx) error", "zklock"),
}

func as(new, lock, unlock, in string) language.Text {
	return language.Say("%s, with %s and %s, as in %s", "%s，以及 %s 和 %s，与 %s 里一样", new, lock, unlock, in)
}

// Build builds a program that has the locks in the folders, and those of the
// tags. Source is the folder of package main. It writes to dir alone.
func Build(ctx context.Context, source string, folders, tags []string, dir string) (program string, err error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", language.Errorf("a lock that is not built in needs the go command: %w", "不是内置的锁，需要用到 go 命令：%v", err)
	}
	replace := make(map[string]string)
	var locks []lock
	for i, folder := range folders {
		l, err := read(folder)
		if err != nil {
			return "", language.Errorf("%s: %w", "%s：%v", folder, err)
		}
		l.Import = fmt.Sprintf("own%d", i)
		for _, file := range l.files {
			replace[filepath.Join(source, beside, l.Import, file)] = filepath.Join(l.dir, file)
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

// beside is where the locks are built, from the folder of package main: a copy of zklock may
// import zklock's internal packages there.
const beside = "../zklock"

var ownTemplate = template.Must(template.New("own").Parse(`package main

import (
	"time"

	"github.com/go-zookeeper/zk"
{{range .}}
	{{.Import}} "example.com/zklock/zklock/{{.Import}}"{{end}}
)

var _ time.Duration

func init() {
	own = append(own,
{{- range .}}
		contestant{folder: {{printf "%q" .Folder}}, open: onZoo(
		{{- if eq .Kind 3}}each(func(conn *zk.Conn, path string) locker { return {{.Import}}.New(conn, path) })
		{{- else if eq .Kind 4}}owned(func(conn *zk.Conn, path string) *{{.Import}}.{{.Result}} { return {{.Import}}.New(conn, path) }, {{.Import}}.NewOwner)
		{{- else if eq .Kind 5}}ownerless(func(conn *zk.Conn, path string, session time.Duration) *{{.Import}}.{{.Result}} { return {{.Import}}.New(conn, path, session) })
		{{- else}}leased(func(conn *zk.Conn, path string, session time.Duration) (*{{.Import}}.{{.Result}}, error) { return {{.Import}}.New(conn, path{{if .Session}}, {{.Import}}.WithSessionTimeout(session){{end}}) }, {{.Import}}.NewOwner)
		{{- end}})},
{{- end}}
	)
}
`))

// read finds the package in a folder.
func read(folder string) (l lock, err error) {
	l.Folder = folder
	if l.dir, err = filepath.Abs(folder); err != nil {
		return l, err
	}
	if info, err := os.Stat(l.dir); err != nil || !info.IsDir() {
		return l, language.Errorf("there is no such folder", "没有这个文件夹")
	}
	b := build.Default
	b.BuildTags = strings.Split(buildTags(), ",")
	pkg, err := b.ImportDir(l.dir, 0)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none):
		return l, language.Errorf("the folder has no Go files", "文件夹里没有 Go 文件")
	case err != nil:
		return l, language.Errorf("does not compile: %s", "编译不过：%s", strings.ReplaceAll(err.Error(), l.dir+string(filepath.Separator), ""))
	case pkg.Name == "main":
		return l, language.Errorf("package main cannot be imported: give the package another name", "package main 不能导入：请给包另起一个名字")
	}
	l.files = pkg.GoFiles
	return l, l.findAPI()
}

// findAPI finds the API of the folder's New.
func (l *lock) findAPI() error {
	var newFunc *ast.FuncType
	newOwner := false
	for _, file := range l.files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return language.Errorf("does not compile: %s", "编译不过：%s", strings.ReplaceAll(err.Error(), l.dir+string(filepath.Separator), ""))
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
		return language.Errorf("it has no function New; the benchmark needs %s", "没有函数 New；基准测试需要 %s", apis[likeStep3])
	}
	switch results := newFunc.Results.NumFields(); {
	case results == 2:
		l.Kind = likeZklock
	case results == 1 && newOwner:
		l.Kind = likeStep4
	case results == 1 && newFunc.Params.NumFields() == 3:
		l.Kind = likeStep5
	default:
		l.Kind = likeStep3
		return nil
	}
	if star, ok := newFunc.Results.List[0].Type.(*ast.StarExpr); ok {
		if name, ok := star.X.(*ast.Ident); ok && (newOwner || l.Kind == likeStep5) {
			l.Result = name.Name
			return nil
		}
	}
	return language.Errorf("New is not what the benchmark needs: %s", "New 与基准测试要求的不符：%s", apis[l.Kind])
}

// compileError makes one line of what the compiler said first.
func compileError(out string, err error, source string, locks []lock) error {
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
					return language.Errorf("%s: New is not what the benchmark needs: %s; the compiler says: %s", "%s：New 与基准测试要求的不符：%s；编译器说：%s", l.Folder, apis[l.Kind],
						strings.ReplaceAll(text, l.Import+".", ""))
				}
			}
		}
		for _, l := range locks {
			// The compiler names files relative to where it ran, if that is shorter.
			for _, dir := range []string{l.dir, relative(source, l.dir), filepath.Join(beside, l.Import)} {
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
	return language.Errorf("does not compile: %s", "编译不过：%s", strings.Join(lines, "; "))
}

// relative is the path of dir seen from base, as the compiler writes it.
func relative(base, dir string) string {
	rel, err := filepath.Rel(base, dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return rel
	}
	return "." + string(filepath.Separator) + rel
}
