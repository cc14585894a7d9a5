package killing

import (
	"embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed mutants/*.txt
var mutantFiles embed.FS

// change is the change of the i-th mutant, from 0.
func change(i int) Change {
	text, err := mutantFiles.ReadFile("mutants/" + tenMutants[i].file + ".txt")
	if err != nil {
		panic(err)
	}
	c, err := ReadChange(string(text))
	if err != nil {
		panic(err)
	}
	return c
}

// A Change is a place in a program, and what a mutant of it has there.
type Change struct {
	Head     string // of the file's first line, behind the colon
	old, new string
}

// ReadChange reads a file of a folder mutants.
func ReadChange(text string) (Change, error) {
	_, text, ok := strings.Cut(text, ": ")
	head, rest, ok2 := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n--- old\n")
	old, replacement, ok3 := strings.Cut(rest, "\n--- new\n")
	if !ok || !ok2 || !ok3 {
		return Change{}, errors.New("want a line such as case: …, --- old, …, --- new, …")
	}
	return Change{head, old, strings.TrimSuffix(replacement, "\n")}, nil
}

// Of is a program with the change. The place must be there once.
func (c Change) Of(program string) (string, error) {
	if n := strings.Count(program, c.old); n != 1 {
		return "", fmt.Errorf("the place is %d times in the program, not once:\n%s", n, c.old)
	}
	return strings.Replace(program, c.old, c.new, 1), nil
}
