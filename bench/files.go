package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

type output struct{ flag, name string }

// outputs are the files that the flags name.
func (cfg config) outputs() []output {
	all := []output{{"-json", cfg.json}, {"-report", cfg.report}}
	return slices.DeleteFunc(all, func(o output) bool { return o.name == "" })
}

// writesFiles reports whether the results go to files as well.
func (cfg config) writesFiles() bool { return len(cfg.outputs()) > 0 }

// checkFiles refuses a file that two flags name: one would write over the other.
func (cfg config) checkFiles() error {
	outputs := cfg.outputs()
	for i, o := range outputs {
		for _, earlier := range outputs[:i] {
			if sameFile(earlier.name, o.name) {
				return i18n.Errorf("%s: %s is the file of %s, too: give each its own", "%s：%s 也是 %s 的文件：请各用一个", o.flag, o.name, earlier.flag)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are of one file, whether it exists yet or
// not. A device such as /dev/null takes what several write.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB) && infoA.Mode().IsRegular()
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absA == absB
}

// checkWritable says which file cannot be written: a long run must not end without a
// file to write to.
func (cfg config) checkWritable() error {
	for _, o := range cfg.outputs() {
		if err := report.CheckFile(o.name); err != nil {
			return i18n.Errorf("%s: %w", "%s：%v", o.flag, err)
		}
	}
	return nil
}

// writeFiles writes the results to all files, and returns the first error.
func (cfg config) writeFiles(results []report.Run) (err error) {
	for _, o := range cfg.outputs() {
		write := func(w io.Writer) error { return report.WriteJSON(w, results) }
		if o.flag == "-report" {
			write = func(w io.Writer) error { return report.WriteReport(w, cfg.settings(), results, cfg.lang) }
		}
		if e := report.WriteFile(o.name, write); e != nil && err == nil {
			err = i18n.Errorf("%s: %w", "%s：%v", o.flag, e)
		}
	}
	return err
}
