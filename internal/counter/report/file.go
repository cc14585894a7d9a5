package report

import (
	"bytes"
	"io"
	"os"
)

// CheckFile says why WriteFile could not write a file, and leaves it as it is.
func CheckFile(name string) error {
	_, missing := os.Lstat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	f.Close()
	if missing != nil {
		return os.Remove(name)
	}
	return nil
}

// WriteFile puts what write writes in the place of a file's text. If write fails, that stays; if the disk fills up, it does not.
func WriteFile(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
