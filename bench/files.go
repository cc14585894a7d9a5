package main

import (
	"io"
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
			write = func(w io.Writer) error {
				return report.WriteReport(w, report.Settings{Each: cfg.each(), Rounds: cfg.rounds, WarmUp: cfg.warmup, Limit: cfg.limit}, results, cfg.lang)
			}
		}
		if e := report.WriteFile(o.name, write); e != nil && err == nil {
			err = i18n.Errorf("%s: %w", "%s：%v", o.flag, e)
		}
	}
	return err
}
