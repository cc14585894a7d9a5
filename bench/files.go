package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/zklock/internal/explore"
)

// files are those that the results are written to. They are opened first: a
// long run must not end without a file to write to.
type files struct {
	json, csv, report, record *os.File // nil: not asked for
}

func openFiles(cfg config) (f files, err error) {
	for _, o := range []struct {
		flag, name string
		file       **os.File
	}{{"-json", cfg.json, &f.json}, {"-csv", cfg.csv, &f.csv}, {"-report", cfg.report, &f.report}, {"-record", cfg.record, &f.record}} {
		if o.name == "" {
			continue
		}
		if *o.file, err = os.Create(o.name); err != nil {
			f.close()
			return f, fmt.Errorf("%s: %w", o.flag, err)
		}
	}
	if cfg.svg != "" {
		if _, err := os.Stat(filepath.Dir(cfg.svg)); err != nil {
			f.close()
			return f, fmt.Errorf("-svg: %w", err)
		}
	}
	return f, nil
}

func (f files) close() {
	for _, file := range []*os.File{f.json, f.csv, f.report, f.record} {
		if file != nil {
			file.Close()
		}
	}
}

// write writes the results to all files, and returns the first error.
func (f files) write(cfg config, results []result, film *explore.Film) (err error) {
	note := func(flag string, e error) {
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", flag, e)
		}
	}
	to := func(flag string, file *os.File, write func(io.Writer) error) {
		if file == nil {
			return
		}
		note(flag, write(file))
		note(flag, file.Close())
	}
	to("-json", f.json, func(w io.Writer) error { return writeJSON(w, results) })
	to("-csv", f.csv, func(w io.Writer) error { return writeCSV(w, results) })
	to("-record", f.record, func(w io.Writer) error { return writeFilm(w, film) })
	if f.report == nil && cfg.svg == "" {
		return err
	}
	charts, chartErr := drawCharts(results)
	note("-report", chartErr)
	to("-report", f.report, func(w io.Writer) error { return writeReport(w, cfg, results, charts) })
	if cfg.svg != "" {
		note("-svg", writeCharts(cfg.svg, charts))
	}
	return err
}

func writeJSON(w io.Writer, results []result) error {
	if results == nil {
		results = []result{} // an empty array, not null
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}
