package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"

	"example.com/zklock/internal/i18n"
)

// A format is a file that grade writes when all is graded.
type format struct {
	file  *string // its name; "": none is written
	write func(w io.Writer, g grades) error
}

// formats declares the flags that name these files.
func formats(flags *flag.FlagSet) []format {
	return []format{
		{flags.String("csv", "", i18n.Both("write the results to this `file`", "把结果写入这个`文件`")), writeCSV},
		{flags.String("json", "", i18n.Both("write all that is known of the results to this `file`", "把全部结果写入这个`文件`")), writeJSON},
	}
}

// check says before anything is graded why a file could not be written later, and leaves each as it is.
func check(list []format) error {
	for _, f := range list {
		if *f.file == "" {
			continue
		}
		_, before := os.Stat(*f.file)
		file, err := os.OpenFile(*f.file, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return i18n.Errorf("the results cannot be written: %w", "无法写入结果：%v", err)
		}
		if err = file.Close(); before != nil {
			err = errors.Join(err, os.Remove(*f.file))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes the files that have a name.
func writeAll(list []format, g grades) (err error) {
	for _, f := range list {
		if *f.file != "" {
			var text bytes.Buffer
			err = errors.Join(err, f.write(&text, g), os.WriteFile(*f.file, text.Bytes(), 0o666))
		}
	}
	return err
}

// A student is what the JSON says of one.
type studentJSON struct {
	Student   string        `json:"student"`
	Points    *int          `json:"points"` // null: an attempt was not graded
	Of        int           `json:"of"`
	Attempts  int           `json:"attempts"`
	Exercises []attemptJSON `json:"exercises"`
}

type attemptJSON struct {
	Folder string `json:"folder,omitempty"`
	*result
	Points *int `json:"points"` // null: it was not graded
	Passed *int `json:"passed"`
	// What a program reads is English.
	Why    string        `json:"why,omitempty"`
	Failed []failureJSON `json:"failed,omitempty"`
}

type failureJSON struct {
	failure
	Words string `json:"words"`
}

func (r row) json() attemptJSON {
	a := attemptJSON{Folder: r.folder, result: r.result, Why: r.Why.En}
	if !r.Ungraded {
		a.Points, a.Passed = &r.Points, &r.Passed
	}
	for _, f := range r.Failed {
		a.Failed = append(a.Failed, failureJSON{f, f.Words.En})
	}
	return a
}

// writeJSON writes all students.
func writeJSON(w io.Writer, g grades) error {
	students := []studentJSON{}
	for _, s := range g.Sums {
		student := studentJSON{Student: s.Student, Of: s.Of, Attempts: s.Attempts, Exercises: []attemptJSON{}}
		if !s.Ungraded {
			student.Points = &s.Points
		}
		for _, r := range g.Rows {
			if r.Student == s.Student {
				student.Exercises = append(student.Exercises, r.json())
			}
		}
		students = append(students, student)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"students": students})
}
