package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The documented fields of each format, with the values that a field may have.
// Gradescope: https://gradescope-autograders.readthedocs.io/en/latest/specs/.
type gradescopeResults struct {
	Score            *float64        `json:"score"`
	ExecutionTime    *float64        `json:"execution_time"`
	Output           string          `json:"output"`
	OutputFormat     oneOfFormats    `json:"output_format"`
	TestOutputFormat oneOfFormats    `json:"test_output_format"`
	TestNameFormat   oneOfFormats    `json:"test_name_format"`
	Visibility       oneOfVisibility `json:"visibility"`
	StdoutVisibility oneOfVisibility `json:"stdout_visibility"`
	ExtraData        map[string]any  `json:"extra_data"`
	Tests            []struct {
		Score        *float64        `json:"score"`
		MaxScore     *float64        `json:"max_score"`
		Status       gradescopeState `json:"status"`
		Name         string          `json:"name"`
		NameFormat   oneOfFormats    `json:"name_format"`
		Number       string          `json:"number"`
		Output       string          `json:"output"`
		OutputFormat oneOfFormats    `json:"output_format"`
		Tags         []string        `json:"tags"`
		Visibility   oneOfVisibility `json:"visibility"`
		ExtraData    map[string]any  `json:"extra_data"`
	} `json:"tests"`
	Leaderboard []map[string]any `json:"leaderboard"`
}

// GitHub Classroom: what the graders of github.com/classroom-resources write, and
// autograding-grading-reporter reads.
type classroomResult struct {
	Version  *int           `json:"version"`
	Status   classroomState `json:"status"`
	MaxScore *int           `json:"max_score"`
	Markdown string         `json:"markdown"`
	Tests    []struct {
		Name          string         `json:"name"`
		Status        classroomState `json:"status"`
		Score         *int           `json:"score"`
		Message       *string        `json:"message"`
		TestCode      string         `json:"test_code"`
		Filename      string         `json:"filename"`
		LineNo        int            `json:"line_no"`
		ExecutionTime string         `json:"execution_time"`
	} `json:"tests"`
}

// Classroom 50: https://github.com/foundation50/classroom50/wiki/Advanced-Autograding.
type classroom50Result struct {
	Schema         string         `json:"schema"`
	Classroom      string         `json:"classroom"`
	Assignment     string         `json:"assignment"`
	AssignmentType string         `json:"assignment_type"`
	Owner          string         `json:"owner"`
	Submission     string         `json:"submission"`
	Commit         string         `json:"commit"`
	Release        string         `json:"release"`
	Review         string         `json:"review"`
	Datetime       time.Time      `json:"datetime"`
	GradedAt       *time.Time     `json:"graded_at"`
	SubmittedBy    map[string]any `json:"submitted_by"`
	Score          *int           `json:"score"`
	MaxScore       *int           `json:"max-score"`
	Tests          []struct {
		TestName string `json:"test-name"`
		Passed   *bool  `json:"passed"`
		Score    *int   `json:"score"`
		MaxScore *int   `json:"max-score"`
		Message  string `json:"message"` // more fields are allowed
	} `json:"tests"`
}

type (
	oneOfFormats    string
	oneOfVisibility string
	gradescopeState string
	classroomState  string
)

func oneOf(text []byte, values ...string) (string, error) {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return "", err
	}
	if !slices.Contains(values, s) {
		return "", fmt.Errorf("%q is none of %q", s, values)
	}
	return s, nil
}

func (v *oneOfFormats) UnmarshalJSON(b []byte) error {
	s, err := oneOf(b, "text", "html", "simple_format", "md", "ansi")
	*v = oneOfFormats(s)
	return err
}

func (v *oneOfVisibility) UnmarshalJSON(b []byte) error {
	s, err := oneOf(b, "hidden", "after_due_date", "after_published", "visible")
	*v = oneOfVisibility(s)
	return err
}

func (v *gradescopeState) UnmarshalJSON(b []byte) error {
	s, err := oneOf(b, "passed", "failed")
	*v = gradescopeState(s)
	return err
}

func (v *classroomState) UnmarshalJSON(b []byte) error {
	s, err := oneOf(b, "pass", "fail", "error")
	*v = classroomState(s)
	return err
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

// graded3 is a student who has all points of exercise 1, basic points of exercise 2,
// an attempt at 3 that does not compile, and nothing of 4.
func graded3(t *testing.T) grades {
	full := func(e *exercise) *result {
		return &result{Exercise: e.number, Points: e.points(), Of: e.points(), Basic: true, Full: true, Passed: e.cases(), Cases: e.cases(), Took: 1.5}
	}
	one, two, three := exercises[0], exercises[1], exercises[2]
	part := full(two)
	part.Full, part.Points, part.Passed = false, two.basic, two.cases()-1
	part.Failed = []failure{{Case: "a case", Words: "two \"holders\" <b>\n&", Printed: "printed"}}
	rows := []row{
		{Student: "anna", exercise: one, result: full(one)},
		{Student: "anna", exercise: two, result: part},
		{Student: "anna", exercise: three, result: &result{Exercise: 3, Of: three.points(), Cases: three.cases(), Why: "does not compile: lock.go:3:14"}},
	}
	return (&app{root: rootOf(t)}).gradesOf(rows, exercises[:4])
}

func TestGradescope(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeGradescope(&out, graded3(t)))
	r := strictly[gradescopeResults](t, out.Bytes())
	require.Equal(t, 16.0, *r.Score)
	require.Equal(t, 3.0, *r.ExecutionTime)
	require.Len(t, r.Tests, 8)
	sum, most := 0.0, 0.0
	var states []string
	numbers := make(map[string]bool)
	for _, test := range r.Tests {
		require.NotEmpty(t, test.Name)
		require.NotNil(t, test.Score)
		require.NotNil(t, test.MaxScore)
		sum, most = sum+*test.Score, most+*test.MaxScore
		states = append(states, string(test.Status))
		require.False(t, numbers[test.Number], "a number comes once")
		numbers[test.Number] = true
	}
	require.Equal(t, *r.Score, sum, "the score is the sum")
	require.Equal(t, 10.0+10+15+15, most, "what was not handed in counts")
	require.Equal(t, "passed passed passed failed failed failed failed failed", strings.Join(states, " "))
	require.Contains(t, r.Tests[3].Output, "FAIL: a case\n    two \"holders\" <b>\n    &\nIt has printed:\nprinted")
	require.Contains(t, r.Tests[4].Output, "does not compile: lock.go:3:14")
	require.Contains(t, r.Tests[6].Output, "nothing was handed in")
}

func TestGitHubClassroom(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeClassroom(&out, graded3(t)))
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the value of a step's output is one line")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(out.String()))
	require.NoError(t, err)
	r := strictly[classroomResult](t, raw)
	require.Equal(t, 1, *r.Version)
	require.EqualValues(t, "fail", r.Status)
	require.Equal(t, 50, *r.MaxScore)
	sum := 0
	var states []string
	for _, test := range r.Tests {
		require.NotEmpty(t, test.Name)
		require.NotNil(t, test.Message)
		require.NotEmpty(t, test.ExecutionTime)
		require.Contains(t, test.TestCode, *test.Message, "the reporter prints the message of an error alone, and this always")
		sum += *test.Score
		states = append(states, string(test.Status))
	}
	require.Equal(t, 16, sum)
	require.Equal(t, "pass pass pass fail error error error error", strings.Join(states, " "))

	all := graded3(t)
	all.Asked = all.Asked[:1]
	all.Rows = all.Rows[:1]
	out.Reset()
	require.NoError(t, writeClassroom(&out, all))
	raw, err = base64.StdEncoding.DecodeString(strings.TrimSpace(out.String()))
	require.NoError(t, err)
	require.EqualValues(t, "pass", strictly[classroomResult](t, raw).Status)
}

func TestClassroom50(t *testing.T) {
	env := map[string]string{"CLASSROOM": "dist", "ASSIGNMENT": "locks", "SUBMISSION_TAG": "submit/1", "COMMIT_URL": "https://a", "RELEASE_URL": "https://b"}
	var out bytes.Buffer
	get := func(name string) string { return env[name] }
	require.NoError(t, writeClassroom50(&out, graded3(t), get, time.Unix(0, 0)))
	r := strictly[classroom50Result](t, out.Bytes())
	require.Equal(t, "classroom50/result/v1", r.Schema)
	require.Equal(t, "https://a", r.Review, "the commit, if the runner names no comparison")
	require.Equal(t, 16, *r.Score)
	require.Equal(t, 50, *r.MaxScore)
	sum := 0
	for _, test := range r.Tests {
		require.NotEmpty(t, test.TestName)
		require.Equal(t, *test.Passed, *test.Score == *test.MaxScore)
		sum += *test.Score
	}
	require.Equal(t, 16, sum)
	delete(env, "ASSIGNMENT")
	require.ErrorContains(t, writeClassroom50(&out, graded3(t), get, time.Unix(0, 0)), "ASSIGNMENT is not set")
}

// TestTheFilesOfOneStudent calls the command: an attempt that is refused need not be
// built.
func TestTheFilesOfOneStudent(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "02-herd"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "02-herd", "lock.go"), []byte("package herd\n\nimport \"os\"\n"), 0o644))
	in := func(name string) string { return filepath.Join(out, name) }
	var said bytes.Buffer
	err := run(t.Context(), []string{"grade", dir, "-exercise", "1,2", "-gradescope", in("results.json"), "-classroom", in("result.txt"), "-json", in("all.json")}, &said)
	require.NoError(t, err)
	r := strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Len(t, r.Tests, 4)
	require.Contains(t, r.Tests[0].Output, "nothing was handed in")
	require.Contains(t, r.Tests[2].Output, "imports os")
	require.Contains(t, text(t, in("all.json")), `"of": 20`)
	require.Regexp(t, `(?m)0 of 20$`, said.String())
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text(t, in("result.txt"))))
	require.NoError(t, err)
	require.EqualValues(t, "error", strictly[classroomResult](t, raw).Status)

	// A folder without an attempt is told so, and the file is written all the same.
	empty := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"grade", empty, "-exercise", "1", "-gradescope", in("results.json")}, &said))
	r = strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Zero(t, *r.Score)
	require.Contains(t, r.Output, "has no attempt")

	// An exercise that was not asked for costs nothing and gives nothing.
	require.NoError(t, run(t.Context(), []string{"grade", filepath.Join(dir, "02-herd"), "-exercise", "1,3", "-gradescope", in("results.json")}, &said))
	r = strictly[gradescopeResults](t, []byte(text(t, in("results.json"))))
	require.Contains(t, r.Output, "exercise 2, which was not asked for")
	require.Len(t, r.Tests, 4)

	err = run(t.Context(), []string{"grade", dir, empty, "-gradescope", in("results.json")}, &said)
	require.ErrorContains(t, err, "-gradescope is for one student's folder, and there are 2")
	err = run(t.Context(), []string{"grade", dir, "-exercise", "1,99"}, &said)
	require.ErrorContains(t, err, `no exercise "99"`)
}

// TestTheFilesToCopy: they call the command as it is, and the workflow is as the
// reporter wants it.
func TestTheFilesToCopy(t *testing.T) {
	folder := filepath.Join(rootOf(t), "docs", "teaching", "autograders")
	declared := flag.NewFlagSet("grade", flag.ContinueOnError)
	declared.String("exercise", "", "")
	formats(declared)
	call := regexp.MustCompile(`\./docs/exercises\W+grade\b.*(?:\n.*classroom50.*)?`)
	for file, format := range map[string]string{"classroom.yml": "classroom", "gradescope-run": "gradescope", "classroom50.py": "classroom50"} {
		line := call.FindString(text(t, folder, file))
		require.NotEmpty(t, line, file)
		var named []string
		for _, m := range regexp.MustCompile(`[ "]-(\w+)`).FindAllStringSubmatch(line, -1) {
			require.NotNil(t, declared.Lookup(m[1]), "%s: grade has no flag -%s", file, m[1])
			named = append(named, m[1])
		}
		require.Equal(t, []string{"exercise", format}, named, file)
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
