package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
)

// The command grade writes its results to files for programs, a CSV file and a JSON file, if their names are given.

// checkWritable returns an error if a file could not be written later. It leaves each file as it is.
func checkWritable(names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		_, missing := os.Stat(name)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return i18n.Errorf("the results cannot be written: %w", err)
		}
		err = file.Close()
		if missing != nil { // this call has made it
			err = errors.Join(err, os.Remove(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes results to a file in one of the formats below, unless the name is empty.
func writeFile(name string, format func(w io.Writer, g grades) error, g grades) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	return errors.Join(format(&text, g), os.WriteFile(name, text.Bytes(), 0o666))
}

// writeCSV writes a line for each attempt. The sum of a student is on each line of the student.
func writeCSV(f io.Writer, g grades) error {
	w := csv.NewWriter(f) // its Error, at the end, has the error of any Write
	sums := make(map[string]sum)
	for _, s := range g.Sums {
		sums[s.Student] = s
	}
	w.Write([]string{"student", "exercise", "folder", "points", "of", "student_points", "student_of",
		"safety", "liveness", "faults", "cost", "full", "passed", "cases", "seconds", "first_failing_case", "words", "why"})
	for _, r := range g.Rows {
		s := sums[r.Student]
		var first failure
		if len(r.Failed) > 0 {
			first = r.Failed[0]
		}
		full, passed := strconv.FormatBool(r.Full), strconv.Itoa(r.Passed)
		if r.Ungraded {
			full, passed = "", ""
		}
		points, total := pointsText(r.Points, r.Ungraded), pointsText(s.Points, s.Ungraded)
		w.Write([]string{csvText(r.Student), strconv.Itoa(r.number), r.folder, points, strconv.Itoa(r.Of), total, strconv.Itoa(s.Of),
			r.pointsOf(locktest.Safety), r.pointsOf(locktest.Liveness), r.pointsOf(locktest.Faults), r.pointsOf(locktest.Cost),
			full, passed, strconv.Itoa(r.Cases), strconv.FormatFloat(r.Took, 'f', 2, 64), first.Case,
			csvText(firstLines(first.Words.String(), 1)), csvText(firstLines(r.Why.String(), 1))})
	}
	w.Flush()
	return w.Error()
}

// pointsOf is the number of points for a group's cases, "" if the exercise has no such group.
func (r *result) pointsOf(group locktest.Group) string {
	for _, p := range r.Parts {
		if p.Group == group {
			return strconv.Itoa(p.Points)
		}
	}
	return ""
}

// csvText keeps a spreadsheet from taking a text that a student has chosen for a formula.
func csvText(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}

type studentJSON struct {
	Student   string        `json:"student"`
	Points    *int          `json:"points"` // null: an attempt was not graded
	Of        int           `json:"of"`
	Attempts  int           `json:"attempts"`
	Exercises []attemptJSON `json:"exercises"`
}

// An attemptJSON is a result, some of whose fields are hidden by others of the same name: texts are in English here.
type attemptJSON struct {
	Folder string `json:"folder,omitempty"`
	*result
	Points *int          `json:"points"` // null: it was not graded
	Passed *int          `json:"passed"`
	Why    string        `json:"why,omitempty"`
	Failed []failureJSON `json:"failed,omitempty"`
}

type failureJSON struct {
	failure
	Words string `json:"words"`
}

func (r row) json() attemptJSON {
	a := attemptJSON{Folder: r.folder, result: r.result, Why: r.Why.String()}
	if !r.Ungraded {
		a.Points = &r.Points
		a.Passed = &r.Passed
	}
	for _, f := range r.Failed {
		a.Failed = append(a.Failed, failureJSON{f, f.Words.String()})
	}
	return a
}

func writeJSON(w io.Writer, g grades) error {
	students := []studentJSON{} // not nil: an empty list is [] in JSON, and not null
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
