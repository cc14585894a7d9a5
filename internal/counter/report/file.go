package report

import (
	"bytes"
	"io"
	"os"
)

// CheckFile says why WriteFile could not write a file, and leaves it as it is.
func CheckFile(name string) error {
	_, missing := os.Lstat(name) // an error if there is no such file
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

// WriteFile replaces the text of a file by what write writes. If write fails, the file stays as it was; if the disk is
// full, it does not.
func WriteFile(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
