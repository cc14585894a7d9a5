package main

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
	"time"

	"example.com/zklock/docs/lab/guide"
	"example.com/zklock/internal/language"
)

// A builder makes the page from the sources of a checkout.
type builder struct {
	root string            // of the checkout
	exec []byte            // wasm_exec.js of the toolchain
	own  *ownFolder        // nil: the exercises' own folders
	lang language.Language // in which the page opens; "": the browser's
}

// A builtPage is a page that is ready.
type builtPage struct {
	wasm []byte
	page map[string][]byte // the files of docs/lab/page, and wasm_exec.js
}

// A compileError is the compiler's message on the sources.
type compileError struct{ text string }

func (e *compileError) Error() string { return "the engine does not compile:\n" + e.text }

func goTool(ctx context.Context, dir string, env []string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	return strings.TrimSpace(out.String()), strings.TrimSpace(text.String()), err
}

// newBuilder looks for the go command and for the checkout around dir.
func newBuilder(ctx context.Context, dir string) (*builder, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("there is no go command in PATH, and the lab is built with it")
	}
	root, text, err := goTool(ctx, dir, nil, "list", "-m", "-f", "{{.Dir}}", "example.com/zklock")
	if err == nil {
		_, err = os.Stat(filepath.Join(root, "docs", "lab", "engine"))
	}
	if err != nil {
		return nil, fmt.Errorf("the lab is built from the project's sources: start it inside them (%s)", firstLine(text, err))
	}
	goroot, text, err := goTool(ctx, dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, fmt.Errorf("go env: %s", firstLine(text, err))
	}
	js, err := os.ReadFile(filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, fmt.Errorf("the Go toolchain has no wasm_exec.js: %w", err)
	}
	return &builder{root: root, exec: js}, nil
}

func firstLine(text string, err error) string {
	line, _, _ := strings.Cut(text, "\n")
	return cmp.Or(line, err.Error())
}

// build compiles the engine and reads the page. If it does not compile because
// of an exercise, and without is set, there is a page without the exercises,
// beside the error.
func (b *builder) build(ctx context.Context, without bool) (*builtPage, error) {
	page, err := b.page()
	if err != nil {
		return nil, err
	}
	source, err := b.exercises()
	if err != nil {
		return nil, err
	}
	wasm, err := b.compile(ctx, source)
	var wrong *compileError
	if without && source != "" && errors.As(err, &wrong) {
		wasm, _ = b.compile(ctx, "")
	}
	if wasm == nil {
		return nil, err
	}
	return &builtPage{wasm, page}, err
}

// compile makes the engine, with one more source file if it is not empty.
func (b *builder) compile(ctx context.Context, source string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "zklock-lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "engine.wasm")
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}
	if source != "" {
		file, overlay := filepath.Join(dir, "exercises.go"), filepath.Join(dir, "overlay.json")
		replace := make(map[string]string)
		if b.own != nil {
			if replace, err = b.own.replace(b.root); err != nil {
				return nil, err
			}
		}
		replace[filepath.Join(b.root, "docs", "lab", "engine", "exercises_generated.go")] = file
		list, err := json.Marshal(map[string]any{"Replace": replace})
		if err == nil {
			err = os.WriteFile(file, []byte(source), 0o644)
		}
		if err == nil {
			err = os.WriteFile(overlay, list, 0o644)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", overlay)
	}
	_, text, err := goTool(ctx, b.root, []string{"GOOS=js", "GOARCH=wasm"}, append(args, "./docs/lab/engine")...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &compileError{cmp.Or(text, err.Error())}
	}
	return os.ReadFile(out)
}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	z.Write(b) // to memory
	z.Close()
	return out.Bytes()
}

// page reads the files of the page.
func (b *builder) page() (map[string][]byte, error) {
	dir := filepath.Join(b.root, "docs", "lab", "page")
	page := map[string][]byte{"wasm_exec.js": b.exec}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		page[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	if err == nil {
		page["texts.js"], err = b.texts()
	}
	if err == nil {
		page["rows.js"], err = rows(b.root)
	}
	if err == nil && page["index.html"] == nil {
		err = errors.New("docs/lab/page has no index.html")
	}
	if b.lang != "" {
		for _, name := range []string{"index.html", "reader.html"} {
			page[name] = inHead(page[name], fmt.Sprintf(`<meta name="lab-language" content="%s">`, b.lang))
		}
	}
	return page, err
}

// rows makes the script that holds the reading guide.
func rows(root string) ([]byte, error) {
	g, err := guide.Read(root)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "// Written by docs/lab/guide.\nexport const GUIDE = %s;\n", text), nil
}

// A stamp is the state of the sources at an instant. Two that are equal
// were built from the same sources.
type stamp map[string]fileStamp

type fileStamp struct {
	size int64
	mod  time.Time
}

// stamp looks at all sources that the page may depend on.
func (b *builder) stamp() stamp {
	s := make(stamp)
	if b.own != nil {
		files, _ := goFiles(b.own.dir) // it may go and come back while it is saved
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				s[name] = fileStamp{info.Size(), info.ModTime()}
			}
		}
	}
	filepath.WalkDir(b.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it goes while it is looked at
		}
		if d.IsDir() {
			if n := d.Name(); name != b.root && strings.HasPrefix(n, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		inPage := strings.HasPrefix(name, filepath.Join(b.root, "docs", "lab", "page")+string(filepath.Separator))
		if dir, file := filepath.Split(name); dir == filepath.Join(b.root, "docs")+string(filepath.Separator) &&
			(strings.HasPrefix(file, "bugs.") || strings.HasPrefix(file, "reading-guide.")) {
			inPage = true // the page quotes them
		}
		if !inPage && (!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")) && d.Name() != "go.mod" {
			return nil
		}
		if info, err := d.Info(); err == nil {
			s[name] = fileStamp{info.Size(), info.ModTime()}
		}
		return nil
	})
	return s
}
