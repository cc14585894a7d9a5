package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/locktest"
	"example.com/zklock/internal/testenv"
)

const noGroup locktest.Group = "none" // the group of no case

// judged returns a result in which one case of the group failing fails and all others pass, with the points for that.
func judged(e *exercise, failing locktest.Group, words i18n.Text) *result {
	r := &result{Exercise: e.number, Of: e.points(), Cases: len(e.names()), Took: 1.5}
	for _, s := range e.tests {
		for _, name := range s.all {
			if s.groups[name] == failing && len(r.Failed) == 0 {
				r.Failed = append(r.Failed, failure{Case: name, Group: failing, Words: words, Printed: "printed"})
			} else {
				r.Passes = append(r.Passes, name)
			}
		}
	}
	r.Passed = len(r.Passes)
	r.judge(&attempt{exercise: e})
	return r
}

// oneStudent returns the grades of a student for exercises 1 to 5. The student has all points of 1, fails a case of the
// group faults in 2 and one of the group safety in 3, has an attempt at 4 that does not compile, and has not begun 5.
func oneStudent(t *testing.T) grades {
	one, two, three, four := exercises[0], exercises[1], exercises[2], exercises[3]
	rows := []row{
		{Student: "anna", exercise: one, result: judged(one, noGroup, "")},
		{Student: "anna", exercise: two, result: judged(two, locktest.Faults, i18n.Same("two \"words\" <b>\n&"))},
		{Student: "anna", exercise: three, result: judged(three, locktest.Safety, "two holders")},
		{Student: "anna", exercise: four, result: four.ungraded(i18n.Textf("does not compile: %s", "lock.go:3:14"))},
	}
	require.True(t, rows[0].Full)
	require.True(t, rows[2].Unsafe)
	return gradesOf(rows, exercises[:5])
}

// The table is in the reader's language. The CSV and JSON files are for programs: they are the same in both languages.
func TestTheTableIsInTheReadersLanguage(t *testing.T) {
	written := func(l i18n.Language) (table, files string) {
		g := oneStudent(t)
		// Bob has no folder, and so no exercise.
		g.Rows = append(g.Rows, row{Student: "bob", exercise: &exercise{}, result: &result{Why: i18n.Textf("there is no folder %s", "bob")}})
		g.Sums = sumsOf(g.Rows, exercises)
		write := func(f func(w io.Writer, g grades) error) string {
			var out bytes.Buffer
			require.NoError(t, f(&out, g))
			return out.String()
		}
		var out bytes.Buffer
		(&app{language: l, out: &out}).printTable(g)
		return out.String(), write(writeCSV) + write(writeJSON)
	}
	english, englishFiles := written(i18n.English)
	chinese, chineseFiles := written(i18n.Chinese)
	require.Equal(t, englishFiles, chineseFiles)
	require.NotRegexp(t, `\p{Han}`, english)
	require.Empty(t, leftEnglish(chinese))
	for _, want := range []string{"学生", "没有通过：", "编译不通过", "没有文件夹"} {
		require.Contains(t, chinese, want)
	}
	lines := strings.Split(chinese, "\n")
	// The column on the screen in which a mark ends.
	columnAfter := func(line, mark string) int { return i18n.Wide(line[:strings.Index(line, mark)+len(mark)]) }
	require.Equal(t, columnAfter(lines[0], "用时"), columnAfter(lines[1], " s"), "a character takes two columns:\n%s", chinese)
}

// The file of a class says why an attempt has no points, and counts those of each exercise that was asked for. All
// attempts here are of kinds that are refused before they are built, so the test is fast.
func TestTheFilesOfAClass(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "all.json")
	herd := filepath.Join(dir, "02-herd")
	require.NoError(t, os.MkdirAll(herd, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(herd, "lock.go"), []byte("package herd\n\nimport \"os\"\n"), 0o644))
	for _, c := range []struct{ name, dir, asked, why string }{
		{name: "a refused attempt", dir: dir, asked: "1,2", why: "imports os"},
		{name: "an empty folder", dir: t.TempDir(), asked: "1,2", why: "has no attempt"},
		{name: "an exercise not asked for", dir: herd, asked: "1,3", why: "exercise 2, which was not asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := testenv.Must(called(t, "grade", c.dir, "-exercise", c.asked, "-json", file))(t)
			require.Contains(t, fileText(t, file), c.why)
			of := 0
			for _, e := range testenv.Must(findAll(c.asked))(t) {
				of += e.points() // also if it is not handed in
			}
			require.Contains(t, fileText(t, file), fmt.Sprintf(`"of": %d`, of))
			require.Regexp(t, fmt.Sprintf(`(?m)0 of %d$`, of), said)
		})
	}
	require.ErrorContains(t, testenv.Err(called(t, "grade", dir, "-exercise", "1,99")), `no exercise "99"`)
}

// The page's few lines for jq turn a student's grades into results for Gradescope, whose fields are those of
// https://gradescope-autograders.readthedocs.io/en/latest/specs/.
func TestThePageTurnsTheJSONIntoGradescopes(t *testing.T) {
	block := regexp.MustCompile("(?s)```\njq '(.*?)' grades.json >results.json\n```")
	match := block.FindStringSubmatch(fileText(t, rootOf(t), "docs/exercises/README.md"))
	require.NotNil(t, match)
	lines, program := match[0], match[1]
	require.LessOrEqual(t, strings.Count(lines, "\n")-1, 15, "the page says that it is a few lines")
	require.Contains(t, fileText(t, rootOf(t), "docs/exercises/README.zh-CN.md"), lines)
	jq, err := exec.LookPath("jq")
	if err != nil {
		testenv.Missing(t, "needs jq: apt-get install jq")
	}

	var grades, results bytes.Buffer
	require.NoError(t, writeJSON(&grades, oneStudent(t)))
	cmd := exec.CommandContext(t.Context(), jq, program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &grades, &results, os.Stderr
	require.NoError(t, cmd.Run())

	var r struct {
		Score        *float64 `json:"score"`
		OutputFormat string   `json:"output_format"`
		Visibility   string   `json:"visibility"`
		Tests        []struct {
			Score    *float64 `json:"score"`
			MaxScore *float64 `json:"max_score"`
			Name     string   `json:"name"`
			Output   string   `json:"output"`
		} `json:"tests"`
	}
	strict := json.NewDecoder(&results)
	strict.DisallowUnknownFields()
	require.NoError(t, strict.Decode(&r))
	require.Equal(t, "text", r.OutputFormat)
	require.Equal(t, "visible", r.Visibility)
	require.Len(t, r.Tests, 4)
	total := 0.0
	for i, test := range r.Tests {
		require.EqualValues(t, exercises[i].points(), *test.MaxScore)
		require.Equal(t, exercises[i].folder, test.Name)
		total += *test.Score
	}
	require.Equal(t, total, *r.Score)
	require.Positive(t, *r.Tests[0].Score)
	require.Empty(t, r.Tests[0].Output)
	require.Contains(t, r.Tests[1].Output, "FAIL: ")
	require.Contains(t, r.Tests[1].Output, "\ntwo \"words\" <b>\n&")
	require.Contains(t, r.Tests[2].Output, "two holders")
	require.Equal(t, "does not compile: lock.go:3:14", r.Tests[3].Output)
}

// Each student's points are out of those of all exercises asked for, or of all at which any student has an attempt.
func TestASumPerStudent(t *testing.T) {
	one, two, three := exercises[0], exercises[1], exercises[2]
	rowOf := func(student string, e *exercise, points int) row {
		return row{Student: student, exercise: e, result: &result{Exercise: e.number, Points: points, Of: e.points()}}
	}
	rows := []row{
		rowOf("ann", one, 10), rowOf("ann", three, 7), rowOf("bob", one, 6),
		{Student: "eve", exercise: &exercise{}, result: &result{Why: i18n.Same("no such folder")}},
	}
	g := gradesOf(rows, nil)
	of := one.points() + three.points()
	ann, bob := sum{Student: "ann", Attempts: 2, Points: 17, Of: of}, sum{Student: "bob", Attempts: 1, Points: 6, Of: of}
	require.Equal(t, []sum{ann, bob, {Student: "eve", Of: of}}, g.Sums, "what bob and eve have not handed in counts")
	asked := gradesOf(rows[:3], []*exercise{one, two, three})
	ann.Of, bob.Of = of+two.points(), of+two.points()
	require.Equal(t, []sum{ann, bob}, asked.Sums, "nobody has an attempt at exercise 2, which was asked for")

	var out bytes.Buffer
	(&app{out: &out}).printTable(g)
	require.Regexp(t, fmt.Sprintf(`(?m)^ann +17 of %d$`, of), out.String())

	out.Reset()
	require.NoError(t, writeCSV(&out, g))
	lines := testenv.Must(csv.NewReader(&out).ReadAll())(t)
	pointsColumn, ofColumn := slices.Index(lines[0], "student_points"), slices.Index(lines[0], "student_of")
	var sums []string
	for _, line := range lines[1:] {
		sums = append(sums, line[0]+" "+line[pointsColumn]+" of "+line[ofColumn])
	}
	require.Equal(t, []string{"ann 17 of 25", "ann 17 of 25", "bob 6 of 25", "eve 0 of 25"}, sums, "a line for each row, with the sum")
}
