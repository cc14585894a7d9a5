// Package build makes the lab's page from the sources of a checkout: its files, its engine, and both as one file.
package build

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/zklock/internal/i18n"
)

// A Builder makes the page from the sources of a checkout.
type Builder struct {
	Root     string        // of the checkout
	Own      *OwnFolder    // a student's folder in the place of an exercise's; nil: there is none
	Lang     i18n.Language // in which the page opens; "": the browser's
	wasmExec []byte        // wasm_exec.js of the toolchain
}

// A Page is the lab's page, built.
type Page struct {
	Wasm  []byte
	Files map[string][]byte // those of internal/lab/page, and wasm_exec.js
}

// A CompileError has what the compiler says of the sources.
type CompileError struct{ Text string }

func (e *CompileError) Error() string { return "the engine does not compile:\n" + e.Text }

// goTool runs the go command in a folder, with more variables in its environment.
func goTool(ctx context.Context, dir string, env []string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	return strings.TrimSpace(out.String()), strings.TrimSpace(text.String()), err
}

// New looks for the go command and for the checkout around dir.
func New(ctx context.Context, dir string) (*Builder, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, i18n.Errorf("there is no go command in PATH, and the lab is built with it")
	}
	root, text, err := goTool(ctx, dir, nil, "list", "-m", "-f", "{{.Dir}}", "example.com/zklock")
	if err == nil {
		_, err = os.Stat(filepath.Join(root, "internal", "lab", "engine"))
	}
	if err != nil {
		return nil, i18n.Errorf("the lab is built from the project's sources: start it inside them (%s)", firstLine(text, err))
	}
	goroot, text, err := goTool(ctx, dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, i18n.Errorf("go env: %s", firstLine(text, err))
	}
	js, err := os.ReadFile(filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, i18n.Errorf("the Go toolchain has no wasm_exec.js: %w", err)
	}
	return &Builder{Root: root, wasmExec: js}, nil
}

func firstLine(text string, err error) string {
	line, _, _ := strings.Cut(text, "\n")
	return cmp.Or(line, err.Error())
}

// Build compiles the engine and reads the files of the page. If the exercises do not compile
// and are optional, it returns both a page without them and the error.
func (b *Builder) Build(ctx context.Context, exercisesOptional bool) (*Page, error) {
	files, err := b.ReadFiles()
	if err != nil {
		return nil, err
	}
	exercises, err := b.exercises()
	if err != nil {
		return nil, err
	}
	wasm, err := b.compile(ctx, exercises)
	var wrong *CompileError
	if exercisesOptional && exercises != "" && errors.As(err, &wrong) {
		wasm, _ = b.compile(ctx, "") // err stays: the caller gets both
	}
	if wasm == nil {
		return nil, err
	}
	return &Page{wasm, files}, err
}

// compile makes the engine. Exercises is the text of one more source file of it; "": there is none.
func (b *Builder) compile(ctx context.Context, exercises string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "zklock-lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "engine.wasm")
	// Nothing of net/... and testing is inlined: they are hardly ever called, and so the file is smaller.
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-gcflags=net/...=-l", "-gcflags=testing=-l", "-o", out}
	if exercises != "" {
		file, overlay := filepath.Join(dir, "exercises.go"), filepath.Join(dir, "overlay.json")
		replace := make(map[string]string)
		if b.Own != nil {
			if replace, err = b.Own.replace(b.Root); err != nil {
				return nil, err
			}
		}
		replace[filepath.Join(b.Root, "internal", "lab", "engine", "exercises_generated.go")] = file
		list, _ := json.Marshal(map[string]any{"Replace": replace}) // of strings: there is no error
		if err := errors.Join(os.WriteFile(file, []byte(exercises), 0o644), os.WriteFile(overlay, list, 0o644)); err != nil {
			return nil, err
		}
		args = append(args, "-overlay", overlay)
	}
	_, text, err := goTool(ctx, b.Root, []string{"GOOS=js", "GOARCH=wasm"}, append(args, "./internal/lab/engine")...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &CompileError{cmp.Or(text, err.Error())}
	}
	return os.ReadFile(out)
}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	z.Write(b)                                              // to memory, which does not fail
	z.Close()
	return out.Bytes()
}

// ReadFiles reads the files of the page.
func (b *Builder) ReadFiles() (map[string][]byte, error) {
	dir := filepath.Join(b.Root, "internal", "lab", "page")
	page := map[string][]byte{"wasm_exec.js": b.wasmExec}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name) // it is below dir
		page[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	if err == nil {
		page["texts.js"], err = b.texts()
	}
	if err == nil && page["index.html"] == nil {
		err = i18n.Errorf("internal/lab/page has no index.html")
	}
	if b.Lang != "" {
		page["index.html"] = InHead(page["index.html"], fmt.Sprintf(`<meta name="lab-language" content="%s">`, b.Lang))
	}
	return page, err
}

// A Stamp is the size and the time of each source file. If two are equal, the sources have not changed in between.
type Stamp map[string]string

// Stamp looks at all sources that the page may depend on.
func (b *Builder) Stamp() Stamp {
	s := make(Stamp)
	if b.Own != nil {
		files, _ := goFiles(b.Own.Dir) // an editor may remove a file and write it again when it saves
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				s[name] = fmt.Sprint(info.Size(), " ", info.ModTime())
			}
		}
	}
	filepath.WalkDir(b.Root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		if d.IsDir() {
			if n := d.Name(); name != b.Root && strings.HasPrefix(n, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		dir, file := filepath.Split(name)
		isGo := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") || file == "go.mod"
		inPage := strings.HasPrefix(name, filepath.Join(b.Root, "internal", "lab", "page")+string(filepath.Separator))
		inBugs := filepath.Clean(dir) == filepath.Join(b.Root, "docs") && strings.HasPrefix(file, "bugs.") // quoted
		if info, err := d.Info(); err == nil && (isGo || inPage || inBugs) {
			s[name] = fmt.Sprint(info.Size(), " ", info.ModTime())
		}
		return nil
	})
	return s
}
