package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.com/zklock/internal/i18n"
)

// An archive is a compiled package. An attempt is compiled and linked with the archives that its
// test needs. This takes half of the time that go test -c takes, because that checks each package again.
type archive struct {
	name, file string
	std        bool // of the standard library
}

// stdMark stands, in a hand-out's list, for the archive of a standard package: Go has it on each machine.
const stdMark = "std"

const local, portable = false, true // of what a call of go writes

// goTool prepares a call of go. If the output is to be portable, it is the same in each folder and on each machine.
func goTool(ctx context.Context, root string, isPortable bool, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
	if isPortable { // of two settings of a variable, the last one counts
		cmd.Env = append(cmd.Env, "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOTOOLCHAIN="+runtime.Version())
	}
	return cmd
}

// knownArchives are those that archivesOf has found, by the root of the repository.
var knownArchives = struct {
	sync.Mutex
	byRoot map[string][]archive
}{byRoot: make(map[string][]archive)}

// archivesOf returns the archives that attempts, and the tests of the exercises, may need. Go compiles what is missing.
// For a hand-out of this root they must be portable; then they are not remembered.
func archivesOf(ctx context.Context, root string, isPortable bool) (list []archive, err error) {
	knownArchives.Lock()
	defer knownArchives.Unlock()
	if list := knownArchives.byRoot[root]; list != nil && !isPortable {
		return list, nil
	}
	var packages []string // of which go has the archives
	if handedOut(root) {
		list, packages, err = archivesIn(root)
	} else {
		packages, err = neededPackages(root)
	}
	if err != nil {
		return nil, err
	}

	args := append([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Standard}} {{.Export}}"}, packages...)
	cmd := goTool(ctx, root, isPortable || handedOut(root), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue // unsafe has no file
		}
		list = append(list, archive{name: f[0], file: f[2], std: f[1] == "true"})
	}
	if !isPortable {
		knownArchives.byRoot[root] = list
	}
	return list, nil
}

// archivesIn reads a hand-out's list: the archives in it, and the packages of the standard library.
func archivesIn(root string) (list []archive, std []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, builtList))
	for line := range strings.Lines(string(text)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if file == stdMark {
			std = append(std, name)
		} else {
			list = append(list, archive{name: name, file: filepath.Join(root, file)})
		}
	}
	return list, std, err
}

// neededPackages are the packages that attempts may import, and that the exercises' tests import.
func neededPackages(root string) ([]string, error) {
	packages := slices.Clone(importable)
	for _, e := range exercises {
		test, err := parser.ParseFile(token.NewFileSet(), filepath.Join(e.dir(root), "lock_test.go"), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		packages = append(packages, e.imports...)
		for _, spec := range test.Imports {
			packages = append(packages, strings.Trim(spec.Path.Value, `"`))
		}
	}
	return packages, nil
}

// testMain is the program that runs the tests of its attempts: their imports, and their tests.
const testMain = `package main

import (
	"regexp"
	"testing"
%s)

func main() {
	testing.Main(regexp.MatchString, []testing.InternalTest{%s}, nil, nil)
}
`

// build compiles attempts with our tests into one test binary. Its error is for the student.
func (c *cell) build(ctx context.Context, root string, attempts ...*attempt) (binary string, err error) {
	list, err := archivesOf(ctx, root, local)
	if err != nil {
		return "", err
	}
	tools, err := goTool(ctx, root, handedOut(root), "env", "GOTOOLDIR").Output()
	if err != nil {
		return "", err
	}
	toolDir := strings.TrimSpace(string(tools))
	in := func(name string) string { return filepath.Join(c.dir, name) }
	callTool := func(a *attempt, name string, args ...string) error {
		return c.call(exec.CommandContext(ctx, filepath.Join(toolDir, name), args...), root, a)
	}

	// The file importcfg tells the compiler and the linker where the archive of each package is.
	var importcfg strings.Builder
	for _, p := range list {
		fmt.Fprintf(&importcfg, "packagefile %s=%s\n", p.name, p.file)
	}
	var imports, tests string // of the main program
	for _, a := range attempts {
		fmt.Fprintf(&importcfg, "packagefile %s=%s\n", a.importPath(), in(a.archiveName()))
		imports += fmt.Sprintf("\tattempt%s %q\n", a.id, a.importPath())
		for _, s := range a.exercise.tests {
			tests += fmt.Sprintf("{Name: %q, F: attempt%s.%s}, ", s.test+a.id, a.id, s.test)
		}
	}
	write := func(name, text string) error { return os.WriteFile(in(name), []byte(text), 0o600) }
	err = errors.Join(write("main.go", fmt.Sprintf(testMain, imports, tests)), write("importcfg", importcfg.String()))
	if err != nil {
		return "", err
	}

	// The main program comes last: it imports the attempts.
	importing := []string{"-pack", "-importcfg", in("importcfg")}
	for _, a := range attempts {
		ourTest := filepath.Join(a.exercise.dir(root), "lock_test.go")
		files := slices.Sorted(maps.Values(a.files))
		args := slices.Concat([]string{"-p", a.importPath(), "-o", in(a.archiveName())}, importing, files, []string{ourTest})
		if err := callTool(a, "compile", args...); err != nil {
			return "", err
		}
	}
	args := slices.Concat([]string{"-p", "main", "-o", in("main.a")}, importing, []string{in("main.go")})
	if err := callTool(attempts[0], "compile", args...); err != nil {
		return "", err
	}
	binary = in("attempt.test")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	// -s and -w leave out what a debugger needs. testBinary is set as go test sets it, for testing.Testing.
	err = callTool(attempts[0], "link", "-s", "-w", "-X=testing.testBinary=1", "-importcfg", in("importcfg"), "-o", binary, in("main.a"))
	return binary, err
}

func (a *attempt) importPath() string {
	return path.Join("example.com/zklock/docs/exercises", a.id, a.folder)
}
func (a *attempt) archiveName() string { return "lock" + a.id + ".a" }

// call runs the compiler or the linker in the cell. If the attempt does not compile, it is refused.
func (c *cell) call(tool *exec.Cmd, root string, a *attempt) error {
	cmd := c.command(tool.Path, tool.Args[1:], append(os.Environ(), "TMPDIR="+c.dir))
	cmd.Dir = root
	var out capped
	cmd.Stdout, cmd.Stderr = &out, &out
	ended, err := c.run(cmd)
	if err != nil {
		return i18n.Errorf("go does not start: %w", err)
	}
	if ended == nil {
		return nil
	}
	if err := c.tooBusy(); err != nil {
		return err
	}
	if why := c.over(); why.String() != "" {
		return refuse("does not compile: %s", why.Text)
	}

	// A student reads the names of the files, without the folders that they are in.
	text := strings.ReplaceAll(out.String(), a.exercise.dir(root)+string(filepath.Separator), "")
	for name, file := range a.files {
		text = strings.ReplaceAll(text, file+":", name+":")
	}
	if strings.TrimSpace(text) == "" { // the tool has failed, and not the attempt
		return i18n.Errorf("%s: %w", strings.Join(tool.Args[:3], " "), ended)
	}
	return refuse("does not compile: %s", firstLines(ownFirst(text), 5))
}

// ownFirst puts the errors in the attempt before those that follow in our test. The compiler sorts them by path.
func ownFirst(text string) string {
	ours := regexp.MustCompile(`(?m)^lock_test\.go:.*\n(\t.*\n)*`)
	return ours.ReplaceAllString(text, "") + strings.Join(ours.FindAllString(text, -1), "")
}
