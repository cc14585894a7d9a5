package main

import (
	"io"
	"slices"

	"example.com/zklock/internal/counter/report"
	"example.com/zklock/internal/i18n"
)

// An output is a file, and the flag that names it.
type output struct{ flag, file string }

// outputs are the files that the flags name.
func (cfg config) outputs() []output {
	all := []output{{"-json", cfg.json}, {"-report", cfg.report}}
	return slices.DeleteFunc(all, func(o output) bool { return o.file == "" })
}

// checkWritable fails if a file cannot be written. It is called before the run, whose results would be lost.
func (cfg config) checkWritable() error {
	for _, o := range cfg.outputs() {
		if err := report.CheckFile(o.file); err != nil {
			return i18n.Errorf("%s: %w", o.flag, err)
		}
	}
	return nil
}

// writeFiles writes the results to all files, and returns the first error.
func (cfg config) writeFiles(results []report.Run) (err error) {
	for _, o := range cfg.outputs() {
		e := report.WriteFile(o.file, func(w io.Writer) error {
			if o.flag == "-json" {
				return report.WriteJSON(w, results)
			}
			settings := report.Settings{Each: cfg.whatEachDoes(), Rounds: cfg.rounds, WarmUp: cfg.warmup, Limit: cfg.limit}
			return report.WriteReport(w, settings, results, cfg.lang)
		})
		if e != nil && err == nil {
			err = i18n.Errorf("%s: %w", o.flag, e)
		}
	}
	return err
}
