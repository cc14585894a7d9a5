package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/zklock/cmd/exercises/confine"
	"example.com/zklock/internal/i18n"
)

// gradeAll is the command grade: it grades the attempts in students' folders, and prints a table of the results.
func (a *app) gradeAll(ctx context.Context, flags *flag.FlagSet, args []string) error {
	c, err := a.parseGrade(flags, args)
	if err != nil {
		return err
	}
	todo, rows, err := c.jobsOf()
	if err != nil {
		return err
	}
	began := time.Now()
	rows = append(rows, a.gradeEach(ctx, todo, c)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(strings.Compare(a.Student, b.Student), cmp.Compare(a.number, b.number))
	})

	g := gradesOf(rows, c.asked)
	a.printTable(g)
	a.print("\n%s, %s, in %v.\n", count(len(c.dirs), "1 folder", "folders"),
		count(len(todo), "1 attempt", "attempts"), time.Since(began).Round(time.Second))
	canCutOff := confine.Offline(exec.Command("")) // asks with a command that is never run
	if !canCutOff && networked() {
		a.print("The attempts had a network: this system does not let an account like this take it away.\n")
	}
	return errors.Join(writeFile(c.csv, writeCSV, g), writeFile(c.json, writeJSON, g))
}

// A gradeCall is what the flags and the arguments of the command grade say.
type gradeCall struct {
	dirs      []string    // the students' folders
	asked     []*exercise // that are to be graded; none: all
	jobs      int         // how many attempts are graded at the same time
	csv, json string      // files for the results; "": none
}

// parseGrade reads the flags and arguments of the command grade, and sets the limits of an attempt.
func (a *app) parseGrade(flags *flag.FlagSet, args []string) (c gradeCall, err error) {
	only := flags.String("exercise", "", i18n.FlagUsage("grade these `numbers` only: 3, or 1,2,3"))
	flags.Var((*memory)(&a.limits.memory), "memory", i18n.FlagUsage("`memory` that one attempt may use"))
	flags.IntVar(&c.jobs, "j", runtime.NumCPU(), i18n.FlagUsage("`number` of attempts that are graded at the same time"))
	flags.StringVar(&c.csv, "csv", "", i18n.FlagUsage("write the results to this `file`"))
	flags.StringVar(&c.json, "json", "", i18n.FlagUsage("write all that is known of the results to this `file`"))
	dirs, err := parse(flags, args, 0, math.MaxInt) // any number of folders
	if err != nil {
		return c, err
	}
	if len(dirs) == 0 {
		return c, i18n.Errorf("grade needs the students' folders: go run ./cmd/exercises grade students/*")
	}
	if c.jobs <= 0 {
		return c, i18n.Errorf("-j must be more than 0")
	}
	if c.asked, err = findAll(*only); err != nil {
		return c, err
	}
	c.dirs = expand(dirs)
	return c, checkWritable(c.csv, c.json) // better now than after all has been graded
}

type job struct{ dir, student string }

// jobsOf finds the attempts in the students' folders. It returns a row for each folder that has none.
func (c gradeCall) jobsOf() (todo []job, without []row, err error) {
	students := studentsOf(c.dirs)
	for i, dir := range c.dirs {
		found, err := findAttempts(dir, c.asked)
		if _, missing := os.Stat(dir); missing != nil {
			return nil, nil, err // which says that the folder is missing: its name was given, not found by a pattern
		}
		if err != nil {
			without = append(without, rowWithout(students[i], i18n.TextOf(err)))
		}
		for _, folder := range found {
			todo = append(todo, job{dir: folder, student: students[i]})
		}
	}
	return todo, without, nil
}

// gradeEach grades the attempts, some of them at the same time, and returns a row for each. If ctx
// ends, the rows of the attempts that are left are empty.
func (a *app) gradeEach(ctx context.Context, todo []job, c gradeCall) []row {
	rows := make([]row, len(todo))
	var done atomic.Int64
	atOnce(c.jobs, len(todo), func(i int) {
		if ctx.Err() != nil {
			return
		}
		rows[i] = a.gradeOne(ctx, todo[i].student, todo[i].dir, c.asked)
		if n := done.Add(1); terminal(os.Stderr) {
			fmt.Fprint(os.Stderr, a.say("\r%d of %d graded", n, len(todo)))
		}
	})
	if terminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\r\033[K") // clears the line
	}
	return rows
}

// gradeOne grades the attempt in a folder. Its errors are in the row.
func (a *app) gradeOne(ctx context.Context, student, dir string, asked []*exercise) row {
	e, _ := find(filepath.Base(dir)) // if the folder has another name, readAttempt finds the exercise
	if len(asked) == 1 {
		e = asked[0]
	}
	at, err := readAttempt(dir, e)
	if at != nil && at.exercise != nil {
		e = at.exercise
	}
	if e == nil {
		return rowWithout(student, i18n.TextOf(err))
	}
	if len(asked) > 0 && !slices.Contains(asked, e) {
		return rowWithout(student, i18n.Textf("%s has exercise %d, which was not asked for", dir, e.number))
	}

	r := row{Student: student, exercise: e, result: e.ungraded("")}
	if err != nil {
		r.Why = i18n.TextOf(err)
		return r
	}
	if a.stubs.have(at) {
		r.Why = "the stub, as it was"
		return r
	}
	graded, err := grade(ctx, a.root, at, a.limits, nil)
	if err != nil {
		r.Why = i18n.TextOf(err)
		return r
	}
	r.result = graded
	return r
}

// rowWithout is the row of a student for a folder that has no attempt.
func rowWithout(student string, why i18n.Text) row {
	return row{Student: student, exercise: &exercise{}, result: &result{Why: why}}
}

// expand replaces a pattern by its matches if no shell has done so, as on Windows. It names each folder once.
func expand(args []string) (dirs []string) {
	for _, arg := range args {
		found := []string{arg}
		if _, err := os.Stat(arg); err != nil {
			if matches, _ := filepath.Glob(arg); len(matches) > 0 {
				found = matches
			}
		}
		for _, dir := range found {
			if dir = filepath.Clean(dir); !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// studentsOf returns the students' names: the folder's name, or its path where two folders have the same name.
func studentsOf(dirs []string) []string {
	names := make([]string, len(dirs))
	times := make(map[string]int)
	for i, dir := range dirs {
		full, _ := filepath.Abs(dir) // dir may be a dot; Abs fails only without a working directory, which findRoot has used
		names[i] = filepath.Base(full)
		times[names[i]]++
	}
	for i, dir := range dirs {
		if times[names[i]] > 1 {
			names[i] = dir
		}
	}
	return names
}

// grades are the results of all attempts, and of each student.
type grades struct {
	Rows  []row
	Sums  []sum
	Asked []*exercise // that count: those of the flag -exercise, or all at which any student has an attempt
}

// A row is the result of one attempt, or of a folder that has none.
type row struct {
	Student string // the folder's name
	*exercise
	*result
}

// gradesOf sums up the rows. If no exercise was asked for, those count at which any student has an attempt.
func gradesOf(rows []row, asked []*exercise) grades {
	if len(asked) == 0 {
		for _, e := range exercises {
			if slices.ContainsFunc(rows, func(r row) bool { return r.number == e.number }) {
				asked = append(asked, e)
			}
		}
	}
	return grades{Rows: rows, Asked: asked, Sums: sumsOf(rows, asked)}
}

// A sum is a student's result for all exercises. An exercise that the student has not handed in counts in Of, too.
type sum struct {
	Student              string
	Attempts, Points, Of int
	Ungraded             bool // an attempt was not graded, so the points are not known
}

// sumsOf adds up the points, in the order of the rows. Asked are the exercises that count.
func sumsOf(rows []row, asked []*exercise) (sums []sum) {
	of := 0
	for _, e := range asked {
		of += e.points()
	}
	for _, r := range rows {
		i := slices.IndexFunc(sums, func(s sum) bool { return s.Student == r.Student })
		if i < 0 {
			i = len(sums)
			sums = append(sums, sum{Student: r.Student, Of: of})
		}
		s := &sums[i]
		s.Points += r.Points
		s.Ungraded = s.Ungraded || r.Ungraded
		if r.number > 0 {
			s.Attempts++
		}
	}
	return sums
}

// printTable prints the rows, and the sums if there are several exercises.
func (a *app) printTable(g grades) {
	cells := [][]string{{a.say("student"), a.say("exercise"), a.say("points"), a.say("cases"), a.say("time"), ""}}
	for _, r := range g.Rows {
		points, cases := fmt.Sprintf("%d/%-2d", r.Points, r.Of), fmt.Sprintf("%d/%-3d", r.Passed, r.Cases)
		if r.Ungraded {
			points, cases = "", ""
		}
		cells = append(cells, []string{r.Student, strings.TrimPrefix(r.folder, "_"), points, cases, fmt.Sprintf("%.1f s", r.Took), a.note(r)})
	}
	fmt.Fprint(a.out, i18n.Table(cells, 2, 3, 4)) // points, cases and time are flush right
	aStudentHasSeveral := len(g.Sums) < len(g.Rows)
	if len(g.Asked) > 1 || aStudentHasSeveral {
		sums := [][]string{{cells[0][0], a.say("points"), ""}}
		for _, s := range g.Sums {
			points, why := a.say("%d of %d", s.Points, s.Of), ""
			if s.Ungraded {
				points, why = "", a.say("an exercise was not graded")
			}
			sums = append(sums, []string{s.Student, points, why})
		}
		fmt.Fprint(a.out, "\n", i18n.Table(sums))
	}
}

func (a *app) note(r row) string {
	switch {
	case r.Why.String() != "":
		return firstLines(r.Why.In(a.language), 1)
	case len(r.Failed) > 0:
		return a.say("fails: %s", r.caseOf(r.Failed[0].Case))
	}
	return ""
}

// count says how many things there are. One is the text for a single one, several the noun after another number.
func count(n int, one, several i18n.Text) i18n.Text {
	if n == 1 {
		return one
	}
	return i18n.Textf("%d %s", n, several)
}

// networked reports whether there is a network besides the loopback interface. A container may have none.
func networked() bool {
	list, err := net.Interfaces()
	return err != nil || slices.ContainsFunc(list, func(i net.Interface) bool {
		return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0
	})
}

// limit is the value of a flag such as 1m or 90s.
type limit time.Duration

func (l *limit) String() string { return time.Duration(*l).String() }

func (l *limit) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return i18n.Errorf("give it as 90s or 5m")
	}
	*l = limit(d)
	return nil
}

// memory is the value of a flag such as 1GiB, 512MiB, or a number of bytes.
type memory int64

var memoryUnits = map[string]int64{"GiB": 1 << 30, "MiB": 1 << 20, "G": 1 << 30, "M": 1 << 20}

func (m *memory) String() string { return bytesOf(int64(*m)) }

func (m *memory) Set(text string) error {
	unit := int64(1)
	for suffix, bytes := range memoryUnits {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, bytes
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	tooMuch := n > 1<<40/unit // bytes: with more, the product could overflow
	if err != nil || n <= 0 || tooMuch || n*unit < 64<<20 {
		return i18n.Errorf("give it as 512MiB or 2GiB, at least 64MiB")
	}
	*m = memory(n * unit)
	return nil
}
