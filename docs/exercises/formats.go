package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/language"
)

// A format is a file that grade writes when all is graded.
type format struct {
	flag  string
	usage string // in both languages
	file  *string
	one   bool // it is about one student: the format has room for no other
	// write writes the file.
	write func(w io.Writer, g grades) error
}

// formats declares the flags that name these files.
func formats(flags *flag.FlagSet) []format {
	list := []format{
		{flag: "csv", usage: language.Both("write the results to this `file`", "把结果写入这个`文件`"), write: writeCSV},
		{flag: "html", usage: language.Both("write a page with the failing cases to this `file`", "把没有通过的用例写成页面，存入这个`文件`"), write: func(w io.Writer, g grades) error { return page.Execute(w, g) }},
		{flag: "json", usage: language.Both("write all that is known of the results to this `file`", "把全部结果写入这个`文件`"), write: writeJSON},
		{flag: "gradescope", usage: language.Both("write one student's results to this `file`, as Gradescope's results.json", "把一个学生的结果写入这个`文件`，格式是 Gradescope 的 results.json"), one: true, write: writeGradescope},
		{flag: "classroom", usage: language.Both("write one student's results to this `file`, as GitHub Classroom's reporter reads them: JSON in base64", "把一个学生的结果写入这个`文件`，格式是 GitHub Classroom 的 reporter 读取的 base64 编码 JSON"), one: true, write: writeClassroom},
	}
	for i, f := range list {
		list[i].file = flags.String(f.flag, "", f.usage)
	}
	return list
}

// check says before anything is graded why a file could not be written later.
func check(list []format, students int) error {
	for _, f := range list {
		if *f.file != "" && f.one && students != 1 {
			return language.Errorf(
				"-%s is for one student's folder, and there are %d: its format has room for one", "-%s 只能用于一个学生的文件夹，现在有 %d 个：这种格式只容得下一个", f.flag, students)
		}
		if err := writable(*f.file); err != nil {
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

// An item is a group of an exercise's cases, and what these have brought: one test in
// the formats of other systems.
type item struct {
	part
	failed []failure // the cases that it was lost for
}

func (i item) passed() bool { return i.Points == i.Of }

// items are those of an attempt. One that was not graded has them as well, with no
// points.
func (r row) items() (list []item) {
	for _, s := range r.shares {
		i := item{part: part{Group: s.group, Of: s.points}}
		if n := slices.IndexFunc(r.Parts, func(p part) bool { return p.Group == s.group }); n >= 0 {
			i.part = r.Parts[n]
		}
		for _, f := range r.Failed {
			if f.Group == s.group {
				i.failed = append(i.failed, f)
			}
		}
		list = append(list, i)
	}
	return list
}

// message is the text for a student about an item: first the fault of the attempt
// as a whole, and then each case that fails, with its words.
func (g grades) message(r row, s item) string {
	var b strings.Builder
	if r.Why.En != "" {
		fmt.Fprintf(&b, "%s\n", g.In(r.Why))
	}
	if r.Score.En != "" {
		fmt.Fprintf(&b, "%s\n", g.In(r.Score))
	}
	for _, f := range s.failed {
		b.WriteString(g.Say("\nFAIL: %s\n", "\n没有通过：%s\n", r.caseOf(f.Case)))
		for line := range strings.Lines(strings.TrimSpace(g.In(f.Words))) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
		}
		if f.Printed != "" {
			b.WriteString(g.Say("It has printed:\n%s\n", "程序的输出：\n%s\n", firstLines(f.Printed, 20)))
		}
	}
	if i := slices.IndexFunc(s.failed, func(f failure) bool { return strings.HasPrefix(f.Trace, "#") && !strings.Contains(f.Trace, "'") }); i >= 0 {
		lock := "" // the student's clone has it
		if r.ext == "" {
			lock = "-lock docs/exercises/" + r.folder + " "
		}
		b.WriteString(g.Say(
			"\nThe schedule of %q, in the lab: go run ./docs/lab %s-open -scene '%s'\n", "\n在实验室里播放 %q 的调度：go run ./docs/lab %s-open -scene '%s'\n", r.caseOf(s.failed[i].Case), lock, s.failed[i].Trace))
	}
	if len(s.failed) == 0 && r.Unsafe {
		b.WriteString(g.Say(
			"Its cases pass, and bring no points because of this one: %s\n", "这一组的用例都通过了，但因为下面这个用例，不给分：%s\n", r.caseOf(r.First().Case)))
	}
	return strings.TrimSpace(b.String())
}

// called names an item where the exercises are in one list.
func (g grades) called(r row, s item) string {
	return g.Say("Exercise %d, %s: %s", "练习 %d，%s：%s", r.number, r.title, nameOf(s.Group))
}

// of is the student's row of an exercise. An exercise of which the student has handed
// in nothing has a row that says so.
func (g grades) of(e *exercise) row {
	for _, r := range g.Rows {
		if r.number == e.number {
			return r
		}
	}
	return row{exercise: e, result: e.ungraded(language.Say("nothing was handed in", "没有交"))}
}

// A student is what the JSON says of one.
type studentJSON struct {
	Student   string        `json:"student"`
	Points    int           `json:"points"`
	Of        int           `json:"of"`
	Attempts  int           `json:"attempts"`
	Exercises []attemptJSON `json:"exercises"`
}

type attemptJSON struct {
	Folder string `json:"folder,omitempty"`
	*result
	// What a program reads is English.
	Score  string        `json:"score,omitempty"`
	Why    string        `json:"why,omitempty"`
	Failed []failureJSON `json:"failed,omitempty"`
	Notes  []string      `json:"notes,omitempty"`

	Same    int    `json:"same_percent"`
	Similar int    `json:"similar_percent"`
	To      string `json:"similar_to,omitempty"`
}

type failureJSON struct {
	failure
	Words string `json:"words"`
}

func (r row) json() attemptJSON {
	a := attemptJSON{Folder: r.folder, result: r.result, Score: r.Score.En, Why: r.Why.En, Same: r.Same, Similar: r.Similar, To: r.To}
	for _, f := range r.Failed {
		a.Failed = append(a.Failed, failureJSON{f, f.Words.En})
	}
	for _, n := range r.Notes {
		a.Notes = append(a.Notes, n.En)
	}
	return a
}

// writeJSON writes all students, and the pairs of attempts that resemble each other.
func writeJSON(w io.Writer, g grades) error {
	students := []studentJSON{}
	for _, s := range g.Sums {
		student := studentJSON{Student: s.Student, Points: s.Points, Of: s.Of, Attempts: s.Attempts, Exercises: []attemptJSON{}}
		for _, r := range g.Rows {
			if r.Student == s.Student {
				student.Exercises = append(student.Exercises, r.json())
			}
		}
		students = append(students, student)
	}
	return indented(w, struct {
		Students []studentJSON `json:"students"`
		Pairs    []pair        `json:"similar_pairs"`
	}{students, append([]pair{}, g.Pairs...)})
}

func indented(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// writeGradescope writes what Gradescope reads from /autograder/results/results.json:
// https://gradescope-autograders.readthedocs.io/en/latest/specs/.
func writeGradescope(w io.Writer, g grades) error {
	type test struct {
		Score    int    `json:"score"`
		MaxScore int    `json:"max_score"`
		Status   string `json:"status"`
		Name     string `json:"name"`
		Number   string `json:"number"`
		Output   string `json:"output,omitempty"`
	}
	out := struct {
		Score        int     `json:"score"`
		Time         float64 `json:"execution_time"`
		Output       string  `json:"output,omitempty"`
		OutputFormat string  `json:"output_format"`
		TestFormat   string  `json:"test_output_format"`
		NameFormat   string  `json:"test_name_format"`
		Visibility   string  `json:"visibility"`
		Tests        []test  `json:"tests"`
	}{OutputFormat: "text", TestFormat: "text", NameFormat: "text", Visibility: "visible", Tests: []test{}}
	for _, e := range g.Asked {
		r := g.of(e)
		out.Time += r.Took
		for i, s := range r.items() {
			status := "failed"
			if s.passed() {
				status = "passed"
			}
			out.Score += s.Points
			out.Tests = append(out.Tests, test{s.Points, s.Of, status, g.called(r, s), fmt.Sprintf("%d.%d", e.number, i+1), g.message(r, s)})
		}
	}
	out.Output = g.strayed()
	return indented(w, out)
}

// writeClassroom writes what the action autograding-grading-reporter reads as the
// result of a step: https://github.com/classroom-resources/autograding-grading-reporter.
func writeClassroom(w io.Writer, g grades) error {
	type test struct {
		Name     string `json:"name"`
		Status   string `json:"status"` // pass, fail or error
		Score    int    `json:"score"`
		Message  string `json:"message"`
		Code     string `json:"test_code"`
		Filename string `json:"filename"`
		Line     int    `json:"line_no"`
		Time     string `json:"execution_time"`
	}
	out := struct {
		Version  int    `json:"version"`
		Status   string `json:"status"`
		MaxScore int    `json:"max_score"`
		Tests    []test `json:"tests"`
	}{Version: 1, Status: "pass", Tests: []test{}}
	for _, e := range g.Asked {
		r := g.of(e)
		for _, s := range r.items() {
			status := "pass"
			switch {
			case s.passed():
			case r.Why.En != "" && len(r.Failed) == 0:
				status = "error"
			default:
				status = "fail"
			}
			if out.Status != "fail" && status != "pass" {
				out.Status = status
			}
			out.MaxScore += s.Of
			message := g.message(r, s)
			out.Tests = append(out.Tests, test{Name: g.called(r, s), Status: status, Score: s.Points, Message: message,
				// The reporter prints this field always, and the message of an error alone.
				Code: strings.TrimSpace("go test ./docs/exercises/" + e.folder + "\n" + message), Filename: e.folder + "/" + e.writes(), Time: strconv.FormatFloat(r.Took, 'f', -1, 64) + "s"})
		}
	}
	if why := g.strayed(); why != "" {
		out.Status = "error"
		out.Tests = append(out.Tests, test{Name: g.Say("the folder", "文件夹"), Status: "error", Message: why, Time: "0s"})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, base64.StdEncoding.EncodeToString(text))
	return err
}

// strayed says of one student's folder what belongs to no exercise that was asked
// for: a folder without an attempt, or a package of another name.
func (g grades) strayed() string {
	var lines []string
	for _, r := range g.Rows {
		if !slices.ContainsFunc(g.Asked, func(e *exercise) bool { return e.number == r.number }) {
			lines = append(lines, g.In(cmp.Or(r.Why, language.Say("exercise %d was not asked for", "没有要求评练习 %d", r.number))))
		}
	}
	return strings.Join(lines, "\n")
}
