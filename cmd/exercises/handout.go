package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"example.com/zklock/internal/i18n"
)

// A hand-out is a folder for students. It has pages and stubs, but no solutions, steps, mutants or attempts. What an
// attempt imports comes as compiled archives, and the grader as a binary: for this system and go.mod's version of Go.
const (
	builtFolder = "cmd/exercises/grader" // of a hand-out, from its root on
	builtList   = builtFolder + "/list"  // of the archives
)

// builtMain is cmd/exercises of a hand-out: it runs the grader.
//
//go:embed handout.go.txt
var builtMain string

func handedOut(root string) bool {
	_, err := os.Stat(filepath.Join(root, builtList))
	return err == nil
}

// handOut writes a hand-out into a folder, which must be empty or missing.
func (a *app) handOut(ctx context.Context, dir string) error {
	list, missing := os.ReadDir(dir)
	isOccupied := missing == nil && len(list) > 0
	if dir == "" || isOccupied {
		return i18n.Errorf("%q is not a new folder: go run ./cmd/exercises hand-out DIR", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}

	patterns := []string{"go.sum", "LICENSE", stubsFile, "docs/exercises/README*.md", "docs/exercises/primers/*.md", "internal/bugs/listings/*.go"}
	for _, e := range exercises {
		patterns = append(patterns, "docs/exercises/"+e.folder+"/*.*")
	}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(filepath.Join(a.root, filepath.FromSlash(pattern))) // no pattern of ours is wrong
		for _, file := range files {
			info, err := os.Stat(file)
			if err == nil && !info.IsDir() { // such as .solution
				err = copyFile(filepath.Join(dir, strings.TrimPrefix(file, a.root)), file)
			}
			if err != nil {
				return err
			}
		}
	}
	return a.writeBuilt(ctx, dir)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	return errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
}

// writeBuilt writes the grader, and the archives for an attempt.
func (a *app) writeBuilt(ctx context.Context, dir string) error {
	grader := filepath.Join(dir, builtFolder)
	build := goTool(ctx, a.root, portable, "build", "-o", filepath.Join(grader, "exercises"), "./cmd/exercises")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	list, err := archivesOf(ctx, a.root, portable)
	if err != nil {
		return err
	}
	var builtFiles strings.Builder
	for _, p := range list {
		if p.std {
			fmt.Fprintf(&builtFiles, "%s %s\n", p.name, stdMark)
			continue
		}
		name := strings.NewReplacer("/", "-", ".", "-").Replace(p.name) + ".a"
		if err := copyFile(filepath.Join(grader, name), p.file); err != nil {
			return err
		}
		fmt.Fprintf(&builtFiles, "%s %s/%s\n", p.name, builtFolder, name)
	}

	module, err := os.ReadFile(filepath.Join(a.root, "go.mod"))
	if err != nil {
		return err
	}
	// Only this version of Go can read the archives.
	goMod := strings.Replace(string(unixLines(module)), "\n\nrequire", "\n\ntoolchain "+runtime.Version()+"\n\nrequire", 1)
	program := strings.Replace(builtMain, "GRADER", builtFolder+"/exercises", 1)
	write := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	err = errors.Join(write(builtList, builtFiles.String()), write("go.mod", goMod), write("cmd/exercises/main.go", program))
	if err != nil {
		return err
	}
	a.print("%s is ready. In it: go run ./cmd/exercises next\n", dir)
	return nil
}
