package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"example.com/zklock/internal/i18n"
)

// cacheDir is the directory for grades, each in a file named after a hash of all that it depends on, and for
// the number of hints that were opened. It may be deleted at any time: a student's progress is the grade of
// the files as they are. The environment variable EXERCISES_CACHE may name another directory.
func cacheDir() (string, error) {
	dir := os.Getenv("EXERCISES_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "zklock-exercises")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// thisProgram is a hash of the running program, which contains the grader: another grader may give another grade.
// It is empty if the program cannot be read.
var thisProgram = sync.OnceValue(func() string {
	self, _ := os.Executable() // "" if it is not known, which no file is named
	text, err := os.ReadFile(self)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
})

// key is a hash of all that the grade of an attempt depends on.
func (a *app) key(at *attempt) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %v\n", thisProgram(), at.folder, at.hash, a.limits)
	files := []string{filepath.Join(at.exercise.dir(a.root), "lock_test.go")}
	for _, p := range at.imports {
		dir := filepath.Join(a.root, strings.TrimPrefix(p, "example.com/zklock/")) // Glob would take a [ in it for a pattern
		sources, err := fs.Glob(os.DirFS(dir), "*.go")
		if err != nil {
			return "", err
		}
		for _, name := range sources {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && at.asksForData() {
			continue // an exercise that asks for data may have no test
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(file), len(text), text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// recall returns the grade that is kept for a key, nil if there is none. A cache that cannot be read costs only time.
func recall(key string) *result {
	dir, err := cacheDir()
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, key+".json"))
	r := new(result)
	if err != nil || json.Unmarshal(text, r) != nil {
		return nil
	}
	return r
}

// remember keeps a grade, unless it was cut short by a limit: another time it may get further.
func remember(key string, r *result) {
	dir, err := cacheDir()
	if err != nil || r.Why.String() != "" {
		return
	}
	if text, err := json.Marshal(r); err == nil {
		os.WriteFile(filepath.Join(dir, key+".json"), text, 0o644)
	}
}

// hintsFile has the number of opened hints of an exercise. Each checkout has its own.
func (a *app) hintsFile(e *exercise) (string, error) {
	dir, err := cacheDir()
	return filepath.Join(dir, fmt.Sprintf("hints-%x%s", sha256.Sum256([]byte(a.root)), e.folder)), err
}

// openedHints reads the file of hints. Without one, or if it has no such number, no hint is open.
func (a *app) openedHints(e *exercise) int {
	file, _ := a.hintsFile(e)
	text, _ := os.ReadFile(file)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return max(n, 0)
}

// keepOpened records that n hints of an exercise are open.
func (a *app) keepOpened(e *exercise, n int) error {
	file, err := a.hintsFile(e)
	if err == nil {
		err = os.WriteFile(file, []byte(strconv.Itoa(n)), 0o644)
	}
	if err != nil {
		return i18n.Errorf("how many hints are open cannot be kept, so the next one does not open: set the environment "+
			"variable EXERCISES_CACHE to a folder that can be written (%w)", err)
	}
	return nil
}
