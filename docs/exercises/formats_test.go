package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/exercises/killing"
	"example.com/zklock/internal/language"
	"example.com/zklock/internal/locktest"
)

// The fields of each format that we write, as they are documented. A field more is to be
// looked up there.
// Gradescope: https://gradescope-autograders.readthedocs.io/en/latest/specs/.
type gradescopeResults struct {
	Score            *float64 `json:"score"`
	ExecutionTime    *float64 `json:"execution_time"`
	Output           string   `json:"output"`
	OutputFormat     string   `json:"output_format"`
	TestOutputFormat string   `json:"test_output_format"`
	TestNameFormat   string   `json:"test_name_format"`
	Visibility       string   `json:"visibility"`
	Tests            []struct {
		Score    *float64 `json:"score"`
		MaxScore *float64 `json:"max_score"`
		Status   string   `json:"status"`
		Name     string   `json:"name"`
		Number   string   `json:"number"`
		Output   string   `json:"output"`
	} `json:"tests"`
}

// GitHub Classroom: what the graders of github.com/classroom-resources write, and
// autograding-grading-reporter reads.
type classroomResult struct {
	Version  *int   `json:"version"`
	Status   string `json:"status"`
	MaxScore *int   `json:"max_score"`
	Tests    []struct {
		Name          string  `json:"name"`
		Status        string  `json:"status"`
		Score         *int    `json:"score"`
		Message       *string `json:"message"`
		TestCode      string  `json:"test_code"`
		Filename      string  `json:"filename"`
		LineNo        int     `json:"line_no"`
		ExecutionTime string  `json:"execution_time"`
	} `json:"tests"`
}

// strictly reads JSON that has documented fields alone.
func strictly[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), "%s", text)
	require.False(t, d.More(), "one value in a file")
	return v
}

// judged is a result in which all cases pass except one of a group.
func judged(e *exercise, fails locktest.Group, words language.Text) *result {
	r := &result{Exercise: e.number, Of: e.points(), Cases: e.cases(), Took: 1.5}
	for _, s := range e.tests {
		for _, name := range s.all {
			if s.groups[name] == fails && len(r.Failed) == 0 {
				r.Failed = append(r.Failed, failure{Case: name, Group: fails, Words: words, Printed: "printed"})
			} else {
				r.Passes = append(r.Passes, name)
			}
		}
	}
	r.Passed = len(r.Passes)
	r.judge(&attempt{exercise: e})
	return r
}

// graded5 is a student who has all points of exercise 1, fails a case of the faults of
// exercise 2 and one of the safety of 3, has an attempt at 4 that does not compile, and
// nothing of 5.
func graded5(t *testing.T) grades {
	one, two, three, four := exercises[0], exercises[1], exercises[2], exercises[3]
	rows := []row{
		{Student: "anna", exercise: one, result: judged(one, "none", language.Text{})},
		{Student: "anna", exercise: two, result: judged(two, locktest.Faults, language.Same("two \"words\" <b>\n&"))},
		{Student: "anna", exercise: three, result: judged(three, locktest.Safety, language.Say("two holders", "两个持有者"))},
		{Student: "anna", exercise: four, result: &result{Exercise: 4, Of: four.points(), Cases: four.cases(), Why: language.Say("does not compile: %s", "编译不通过：%s", "lock.go:3:14")}},
	}
	require.True(t, rows[0].Full)
	require.True(t, rows[2].Unsafe)
	rows[2].Failed[0].Trace = "#lock=exercise-03-predecessor"
	return (&app{root: rootOf(t)}).gradesOf(rows, exercises[:5])
}

// pointsOf5 are the points that graded5 has: exercise 2 loses those for faults.
func pointsOf5() (got, of int) {
	for _, s := range exercises[1].shares {
		if s.group != locktest.Faults {
			got += s.points
		}
	}
	for _, e := range exercises[:5] {
		of += e.points()
	}
	return got + exercises[0].points(), of
}

func TestGradescope(t *testing.T) {
	got, of := pointsOf5()
	var out bytes.Buffer
	require.NoError(t, writeGradescope(&out, graded5(t)))
	r := strictly[gradescopeResults](t, out.Bytes())
	require.EqualValues(t, got, *r.Score)
	require.Equal(t, 4.5, *r.ExecutionTime)
	require.Subset(t, []string{"text", "html", "simple_format", "md", "ansi"}, []string{r.OutputFormat, r.TestOutputFormat, r.TestNameFormat})
	require.Contains(t, []string{"hidden", "after_due_date", "after_published", "visible"}, r.Visibility)
	require.Len(t, r.Tests, 20)
	sum, most := 0.0, 0.0
	var states []string
	outputs := make(map[string]string)
	for _, test := range r.Tests {
		require.NotEmpty(t, test.Name)
		require.NotNil(t, test.Score)
		require.NotNil(t, test.MaxScore)
		sum, most = sum+*test.Score, most+*test.MaxScore
		require.Contains(t, []string{"passed", "failed"}, test.Status)
		states = append(states, test.Status[:4])
		require.NotContains(t, outputs, test.Number, "a number comes once")
		outputs[test.Number] = test.Output
	}
	require.Equal(t, *r.Score, sum, "the score is the sum")
	require.EqualValues(t, of, most, "what was not handed in counts")
	require.Equal(t, strings.Fields("pass pass pass pass  pass pass fail pass  fail fail fail fail  fail fail fail fail  fail fail fail fail"), states)
	require.Contains(t, outputs["2.3"], "FAIL: ")
	require.Contains(t, outputs["2.3"], "\n    two \"words\" <b>\n    &\nIt has printed:\nprinted")
	require.Contains(t, outputs["3.1"], "two holders")
	require.Contains(t, outputs["3.1"], "go run ./docs/lab -lock docs/exercises/_03-predecessor -open -scene '#lock=exercise-03-predecessor'")
	require.Contains(t, outputs["3.2"], "bring no points because of this one")
	require.Contains(t, outputs["4.1"], "does not compile: lock.go:3:14")
	require.Contains(t, outputs["5.1"], "nothing was handed in")
}

func TestGitHubClassroom(t *testing.T) {
	got, of := pointsOf5()
	read := func(g grades) classroomResult {
		var out bytes.Buffer
		require.NoError(t, writeClassroom(&out, g))
		require.Equal(t, 1, strings.Count(out.String(), "\n"), "the value of a step's output is one line")
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(out.String()))
		require.NoError(t, err)
		return strictly[classroomResult](t, raw)
	}
	r := read(graded5(t))
	require.Equal(t, 1, *r.Version)
	require.Equal(t, "fail", r.Status)
	require.Equal(t, of, *r.MaxScore)
	sum := 0
	count := make(map[string]int)
	for _, test := range r.Tests {
		require.NotEmpty(t, test.Name)
		require.NotNil(t, test.Message)
		require.NotEmpty(t, test.ExecutionTime)
		require.Contains(t, test.TestCode, *test.Message, "the reporter prints the message of an error alone, and this always")
		sum += *test.Score
		count[test.Status]++
	}
	require.Equal(t, got, sum)
	require.Equal(t, map[string]int{"pass": 7, "fail": 5, "error": 8}, count)

	all := graded5(t)
	all.Asked, all.Rows = all.Asked[:1], all.Rows[:1]
	require.Equal(t, "pass", read(all).Status)
}

// TestALecturerReadsTheReadersLanguage: the table, the page, and what other systems show
// to a student. The files for programs are the same in both languages.
func TestALecturerReadsTheReadersLanguage(t *testing.T) {
	in := func(l language.Language) (persons, programs string) {
		g := graded5(t)
		g.language = l
		g.Rows[1].Failed[0].Words = language.Say("Lock of the holder fails", "持有者的 Lock 失败")
		kill := row{Student: "anna", exercise: exercises[10], result: judged(exercises[10], basicGroup, language.Say("there is no schedule", "还没有调度"))}
		kill.Score, kill.Notes = killing.Score(3), []language.Text{language.Say("mutant %d dies", "变异体 %d 已死", 1)}
		answers := row{Student: "anna", exercise: exercises[11], result: judged(exercises[11], basicGroup, language.Say("there is no answer", "没有答案"))}
		answers.Failed[0].Trace = "#lock=C-await"
		g.Rows = append(g.Rows, kill, answers, row{Student: "bob", exercise: &exercise{}, result: &result{Why: language.Say("there is no folder %s", "没有文件夹 %s", "bob")}})
		for i := range g.Rows {
			g.Rows[i].To = []string{ourName, "bob"}[i%2]
		}
		g.Pairs = []pair{{3, "anna", "bob", 90}, {3, "anna", ourName, 70}}
		g.Sums = sumsOf(g.Rows, exercises)
		write := func(f func(w io.Writer, g grades) error) string {
			var out bytes.Buffer
			require.NoError(t, f(&out, g))
			return out.String()
		}
		a := &app{language: l}
		persons += write(func(w io.Writer, g grades) error { a.out = w; a.table(g); return nil })
		persons += write(func(w io.Writer, g grades) error { return page.Execute(w, g) })
		persons += write(writeGradescope)
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(write(writeClassroom)))
		require.NoError(t, err)
		persons += string(raw)
		return persons, write(writeCSV) + write(writeJSON)
	}
	english, programs := in(language.English)
	twin, same := in(language.Chinese)
	require.Equal(t, programs, same)
	require.NotRegexp(t, `\p{Han}`, english)
	twin = html.UnescapeString(regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>|\\n`).ReplaceAllString(twin, "\n"))
	require.Empty(t, leftEnglish(twin))
	for _, want := range []string{"学生", "成绩", "持有者的 Lock 失败", "没有通过：", "没有交", "编译不通过", "文件夹", "10 个变异体，已死 3 个", "我们的解答", "不给分", "在实验室里打开这个调度"} {
		require.Contains(t, twin, want)
	}
	var table bytes.Buffer
	g := graded5(t)
	g.language = language.Chinese
	(&app{language: language.Chinese, out: &table}).table(g)
	lines := strings.Split(table.String(), "\n")
	end := func(line, mark string) int { return language.Wide(line[:strings.Index(line, mark)+len(mark)]) }
	require.Equal(t, end(lines[0], "用时"), end(lines[1], " s"), "a character takes two columns:\n%s", table.String())
}

// TestTheFilesOfOneStudent calls the command: an attempt that is refused need not be
// built.
func TestTheFilesOfOneStudent(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "02-herd"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "02-herd", "lock.go"), []byte("package herd\n\nimport \"os\"\n"), 0o644))
	in := func(name string) string { return filepath.Join(out, name) }
	var said bytes.Buffer
	err := run(t.Context(), []string{"grade", dir, "-exercise", "1,2", "-gradescope", in("results.json"), "-classroom", in("result.txt"), "-json",
		in("all.json")}, &said)
	require.NoError(t, err)
	r := strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Len(t, r.Tests, 8)
	require.Contains(t, r.Tests[0].Output, "nothing was handed in")
	require.Contains(t, r.Tests[4].Output, "imports os")
	require.Contains(t, text(t, in("all.json")), `"of": 20`)
	require.Regexp(t, `(?m)0 of 20$`, said.String())
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text(t, in("result.txt"))))
	require.NoError(t, err)
	require.Equal(t, "error", strictly[classroomResult](t, raw).Status)

	// For a folder without an attempt the output says so, and the file is written all
	// the same.
	empty := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"grade", empty, "-exercise", "1", "-gradescope", in("results.json")}, &said))
	r = strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Zero(t, *r.Score)
	require.Contains(t, r.Output, "has no attempt")

	// An exercise that was not asked for costs nothing and gives nothing.
	require.NoError(t, run(t.Context(), []string{"grade", filepath.Join(dir, "02-herd"), "-exercise", "1,3", "-gradescope", in("results.json")}, &said))
	r = strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Contains(t, r.Output, "exercise 2, which was not asked for")
	require.Len(t, r.Tests, 8)

	before := said.String()
	err = run(t.Context(), []string{"grade", dir, empty, "-gradescope", in("results.json")}, &said)
	require.ErrorContains(t, err, "-gradescope is for one student's folder, and there are 2")
	require.Equal(t, before, said.String(), "that is said before anything is graded")
	err = run(t.Context(), []string{"grade", dir, "-exercise", "1,99"}, &said)
	require.ErrorContains(t, err, `no exercise "99"`)
}

// TestTheFilesToCopy: they call the command as it is, and the workflow is as the
// reporter requires it.
func TestTheFilesToCopy(t *testing.T) {
	folder := filepath.Join(rootOf(t), "docs", "teaching", "autograders")
	declared := flag.NewFlagSet("grade", flag.ContinueOnError)
	declared.String("exercise", "", "")
	formats(declared)
	call := regexp.MustCompile(`\./docs/exercises\W+grade\b.*`)
	for file, format := range map[string]string{"classroom.yml": "classroom", "gradescope-run": "gradescope"} {
		line := call.FindString(text(t, folder, file))
		require.NotEmpty(t, line, file)
		var named []string
		for _, m := range regexp.MustCompile(`[ "]-(\w+)`).FindAllStringSubmatch(line, -1) {
			require.NotNil(t, declared.Lookup(m[1]), "%s: grade has no flag -%s", file, m[1])
			named = append(named, m[1])
		}
		require.Equal(t, []string{"exercise", format}, named, file)
	}

	container := regexp.MustCompile(` -(\w+) /out/`).FindAllStringSubmatch(text(t, folder, "container"), -1)
	require.Len(t, container, 3)
	for _, m := range container {
		require.NotNil(t, declared.Lookup(m[1]), "container: grade has no flag -%s", m[1])
	}

	// https://github.com/classroom-resources/autograding-grading-reporter: the name of
	// the workflow and of its one job, and the variable of each runner.
	workflow := text(t, folder, "classroom.yml")
	require.Contains(t, workflow, "\nname: Autograding Tests\n")
	require.Equal(t, []string{"jobs:\n  run-autograding-tests:\n"}, regexp.MustCompile(`(?m)^jobs:\n  [\w-]+:\n`).FindAllString(workflow, -1))
	require.Len(t, regexp.MustCompile(`(?m)^  [\w-]+:\n`).FindAllString(workflow[strings.Index(workflow, "\njobs:"):], -1), 1, "one job")
	runner := regexp.MustCompile(`runners: (\w+)\n`).FindStringSubmatch(workflow)
	require.Len(t, runner, 2)
	require.Contains(t, workflow, "        id: "+runner[1]+"\n")
	require.Contains(t, workflow, "\n          "+strings.ToUpper(runner[1])+"_RESULTS: \"${{steps."+runner[1]+".outputs.result}}\"\n")
	require.NotContains(t, workflow, "\t", "YAML has no tabs")
}
