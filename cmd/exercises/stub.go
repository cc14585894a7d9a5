package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"example.com/zklock/internal/i18n"
)

// stubsFile has the hash of each exercise's stub in each language, so that one that
// nobody has touched need not be graded. go test ./cmd/exercises -update
// writes it.
const stubsFile = "docs/exercises/stubs.json"

// stubs are the hashes, by the exercise's folder.
type stubs map[string]map[i18n.Language]string

func readStubs(root string) (stubs, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stubsFile)))
	if err != nil {
		return nil, err
	}
	var s stubs
	return s, json.Unmarshal(text, &s)
}

// language is that of the stub that an attempt is, "" if it is none.
func (s stubs) language(a *attempt) i18n.Language {
	for l, hash := range s[a.folder] {
		if hash == a.hash {
			return l
		}
	}
	return ""
}

// is reports whether an attempt is a stub, as it was.
func (s stubs) is(a *attempt) bool { return s.language(a) != "" }

// start puts the stub into the reader's language. A file that has been written to
// stays as it is.
func (a *app) start(e *exercise) error {
	at, err := readAttempt(e.dir(a.root), e)
	if err != nil {
		return err
	}
	file := "docs/exercises/" + e.folder + "/" + e.writes()
	switch is := a.stubs.language(at); {
	case is == "":
		return i18n.Errorf("exercise %d is begun, and its file stays as it is; this begins again: git checkout %s", "练习 %d 已经动手做了，文件保持原样；要从头再来：git checkout %s", e.number, file)
	case is == a.language:
	case is == i18n.Chinese:
		return i18n.Errorf("the stub of exercise %d is in Chinese; this has the English one: git checkout %s", "练习 %d 的骨架代码是中文的；要换回英文：git checkout %s", e.number, file)
	default:
		stub, _, err := e.chineseStub(a.root)
		if err != nil {
			return err
		}
		if err := os.WriteFile(at.files[e.writes()], stub, 0o644); err != nil {
			return err
		}
	}
	return a.goal(e)
}

// chineseStub is the stub with Chinese comments, and the hash of the English one that they translate.
func (e *exercise) chineseStub(root string) (stub []byte, of string, err error) {
	name, goes := strings.CutSuffix(e.writes(), ".go")
	if goes {
		name += ".zh-CN.go.txt" // of no package
	} else {
		name = strings.TrimSuffix(name, ".txt") + ".zh-CN.txt"
	}
	text, err := os.ReadFile(filepath.Join(e.dir(root), name))
	if err != nil {
		return nil, "", err
	}
	first, stub, _ := bytes.Cut(text, []byte("\n"))
	_, of, _ = strings.Cut(strings.TrimSpace(string(first)), " en:")
	return stub, of, nil
}
