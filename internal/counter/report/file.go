package report

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"

	"example.com/zklock/internal/i18n"
)

// CheckFile says why WriteFile could not write a file.
func CheckFile(name string) error {
	f, err := create(name)
	if err == nil {
		f.discard()
	}
	return err
}

// WriteFile replaces a file by what write writes, as a whole or not at all.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.discard()
		return err
	}
	return f.keep()
}

// A newFile is written beside the file that it will replace. A device or a pipe is
// written to in place.
type newFile struct {
	*os.File
	name string // of the file that it replaces; "": none
}

func create(name string) (*newFile, error) {
	mode := os.FileMode(0o666)
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return nil, i18n.Errorf("%s is a folder", "%s 是文件夹", name)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &newFile{f, ""}, err
	case err == nil:
		old, err := os.OpenFile(name, os.O_WRONLY, 0) // a file that may not be written is not replaced either
		if err != nil {
			return nil, err
		}
		old.Close()
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, err
		}
		mode = info.Mode().Perm()
	}
	beside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8])
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err, ok := errors.AsType[*os.PathError](err); ok {
		err.Path = name // which the caller knows
	}
	return &newFile{f, name}, err
}

func (f *newFile) keep() error {
	if err := f.Close(); err != nil || f.name == "" {
		f.discard()
		return err
	}
	return os.Rename(f.Name(), f.name)
}

func (f *newFile) discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.Name())
	}
}
