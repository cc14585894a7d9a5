package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"example.com/zklock/internal/i18n"
)

// stubsFile has the hash of each exercise's stub in each language, so that a stub as it was
// need not be graded. go test ./cmd/exercises -update writes it.
const stubsFile = "docs/exercises/stubs.json"

// stubs are the hashes, by the exercise's folder.
type stubs map[string]map[i18n.Language]string

func readStubs(root string) (stubs, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stubsFile)))
	if err != nil {
		return nil, err
	}
	var s stubs
	err = json.Unmarshal(text, &s)
	return s, err
}

// language returns the language of an attempt that is a stub as it was, "" if it is not.
func (s stubs) language(a *attempt) i18n.Language {
	for l, hash := range s[a.folder] {
		if hash == a.hash {
			return l
		}
	}
	return ""
}

func (s stubs) have(a *attempt) bool { return s.language(a) != "" }

// start puts the stub into the reader's language. It does not change a file that a student has written to.
func (a *app) start(e *exercise) error {
	at, err := readAttempt(e.dir(a.root), e)
	if err != nil {
		return err
	}
	file := "docs/exercises/" + e.folder + "/" + e.writes()
	switch language := a.stubs.language(at); {
	case language == "":
		return i18n.Errorf("exercise %d is begun, and its file stays as it is; this begins again: git checkout %s", e.number, file)
	case language == a.language: // there is nothing to write
	case language == i18n.Chinese:
		return i18n.Errorf("the stub of exercise %d is in Chinese; this has the English one: git checkout %s", e.number, file)
	default:
		stub, _, err := e.chineseStub(a.root)
		if err == nil {
			err = os.WriteFile(at.files[e.writes()], stub, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return a.goal(e)
}

// chineseStub returns the stub with Chinese comments, and the hash of the English stub that it translates.
func (e *exercise) chineseStub(root string) (stub []byte, englishHash string, err error) {
	name, isGo := strings.CutSuffix(e.writes(), ".go")
	if isGo {
		name += ".zh-CN.go.txt" // not a file of the package
	} else {
		name = strings.TrimSuffix(name, ".txt") + ".zh-CN.txt"
	}
	text, err := os.ReadFile(filepath.Join(e.dir(root), name))
	if err != nil {
		return nil, "", err
	}
	first, stub, _ := bytes.Cut(text, []byte("\n"))
	_, englishHash, _ = strings.Cut(strings.TrimSpace(string(first)), " en:") // such as "// en:5d41…"
	return stub, englishHash, nil
}
