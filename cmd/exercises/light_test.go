package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/site"
	"example.com/zklock/internal/testenv"
)

func TestMain(m *testing.M) {
	os.Setenv("LC_ALL", "C") // the tests read English, whatever their reader's language is
	counterexample.Serve(os.Args[1:])
	dying(os.Args[1:])
	commanding(os.Args[1:])
	dialing(os.Args[1:])
	cache, err := os.MkdirTemp("", "exercises-cache-")
	if err != nil {
		panic(err)
	}
	os.Setenv("EXERCISES_CACHE", cache)
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// called is what a call of the command says.
func called(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	var out bytes.Buffer
	lang := i18n.Of("")
	if err = run(t.Context(), args, &out, &lang); err != nil {
		err = errors.New(i18n.TextOf(err).In(lang))
	}
	return out.String(), err
}

func rootOf(t *testing.T) string {
	t.Helper()
	return testenv.Must(findRoot())(t)
}

func text(t *testing.T, elements ...string) string {
	t.Helper()
	b := testenv.Must(os.ReadFile(filepath.Join(elements...)))(t)
	return string(unixLines(b))
}

// TestStubsAreRecorded is for list, which does not grade an exercise that
// nobody has begun. In a clone in which somebody solves an exercise it fails, and that is fine.
func TestStubsAreRecorded(t *testing.T) {
	root := rootOf(t)
	recorded := make(stubs)
	for _, e := range exercises {
		a, err := read(e.dir(root), e)
		require.NoError(t, err, "the stub of %v is refused", e)
		recorded[e.folder] = map[i18n.Language]string{i18n.English: a.hash}
		zh, of := testenv.Must2(e.chineseStub(root))(t)
		require.Equal(t, a.hash, of, "%s: translate the stub, and write this hash behind en: in the first line of the Chinese one", e.folder)
		recorded[e.folder][i18n.Chinese] = written(t, e, string(zh)).hash
	}
	want := testenv.Must(json.MarshalIndent(recorded, "", "\t"))(t)
	site.Holds(t, stubsFile, "", string(want)+"\n")
}

// A stub that Git has checked out with the line ends of Windows is still a stub.
func TestLineEndsMakeNoDifference(t *testing.T) {
	e := exercises[0]
	stub := text(t, e.dir(rootOf(t)), "lock.go")
	require.Equal(t, written(t, e, stub).hash, written(t, e, strings.ReplaceAll(stub, "\n", "\r\n")).hash)
}

// TestWatchOutlivesAFileThatIsAway: to save is, for some editors, to remove the
// file and to write it again.
func TestWatchOutlivesAFileThatIsAway(t *testing.T) {
	root := t.TempDir()
	e := exercises[0]
	require.NoError(t, os.MkdirAll(e.dir(root), 0o755))
	file := filepath.Join(e.dir(root), "lock.go")
	// An attempt that is refused is not built, so this takes no time. The sleeps below
	// are in virtual time: several looks at the file.
	save := func(name string) {
		require.NoError(t, os.WriteFile(file, []byte("package naive\n\nimport \""+name+"\"\n"), 0o644))
	}
	save("os")
	bubble.Test(t, func(t *testing.T) {
		var out testenv.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&app{root: root, out: &out}).watch(ctx, e, false) }()
		synctest.Wait()
		require.Contains(t, out.String(), "imports os,")

		require.NoError(t, os.Remove(file))
		time.Sleep(2 * poll) // of virtual time: it has looked again
		synctest.Wait()
		require.NotContains(t, out.String(), "no Go files", "it is away for a moment only")
		time.Sleep(20 * poll) // longer than any editor needs to save
		synctest.Wait()
		require.Equal(t, 1, strings.Count(out.String(), "no Go files"))

		save("net")
		time.Sleep(2 * poll) // it has looked again
		synctest.Wait()
		require.Contains(t, out.String(), "imports net,")
		cancel()
		require.NoError(t, <-ended)
	})
}

// TestEveryExerciseIsComplete compares the pages with the catalog.
func TestEveryExerciseIsComplete(t *testing.T) {
	root := rootOf(t)
	folders := testenv.Must(filepath.Glob(filepath.Join(root, "docs/exercises/_[0-9]*")))(t)
	require.Len(t, exercises, len(folders), "a folder is not in the catalog, or an exercise has none")
	index := text(t, root, "docs/exercises/README.md")
	last := 0
	for _, e := range exercises {
		require.Greater(t, e.number, last, "the catalog goes by number")
		last = e.number
		require.Equal(t, fmt.Sprintf("_%02d-", e.number), e.folder[:4])
		for _, s := range e.tests {
			for _, name := range s.all {
				require.True(t, slices.ContainsFunc(e.shares, func(p share) bool { return p.group == s.groups[name] }),
					"%v: the case %q brings no points", e, name)
			}
			for _, name := range s.basic {
				require.Contains(t, s.all, name, "%v: a basic case of %s", e, s.test)
			}
			if s.test != "" {
				require.Contains(t, text(t, e.dir(root), "lock_test.go"), "func "+s.test+"(t *testing.T) {")
			}
		}
		readme := text(t, e.dir(root), "README.md")
		facts := []string{
			fmt.Sprintf("# Exercise %d: ", e.number), "**Goal.** ", "**Read** ",
			ours(t, e),
			fmt.Sprintf("go run ./cmd/exercises hint %d", e.number),
			"go test ./docs/exercises/" + e.folder,
		}
		for _, s := range e.shares {
			facts = append(facts, fmt.Sprintf("\n| %s | %d |", s.group, s.points))
		}
		for _, fact := range facts {
			require.Contains(t, readme, fact, "%s", e.folder)
		}
		require.Contains(t, index, fmt.Sprintf("| [%d", e.number), "docs/exercises/README.md")
		require.Contains(t, index, fmt.Sprintf("](%s/) | %d |", e.folder, e.points()), "docs/exercises/README.md")
		hints := testenv.Must(hintsIn(filepath.Join(e.dir(root), "hints.md")))(t)
		require.Len(t, hints, 3, "%s/hints.md", e.folder)
		if step := filepath.Dir(e.answer); !strings.Contains(e.answer, ".solution") {
			require.Contains(t, text(t, root, step, "lock_test.go"), "exploretest.Test(", "the solution is a step, and no test explores the step")
		}
	}
}

// TestTheFiguresOfThePages: those that are in the code, or that are counted in it. The proof plays
// the transcript, and says how many cases pass.
func TestTheFiguresOfThePages(t *testing.T) {
	root := rootOf(t)
	flood := regexp.MustCompile(`const flood = (\d+) << 20`).
		FindStringSubmatch(text(t, root, "internal/locktest/runner/runner.go"))
	require.NotNil(t, flood)
	var minutes []int
	for _, stages := range staged().Exercises {
		require.Len(t, stages, 3)
		for _, s := range stages {
			minutes = append(minutes, s.Minutes)
		}
	}
	from, to := slices.Min(minutes), slices.Max(minutes)
	third := exercises[2]
	stage := len(third.stages()[1].Cases)
	for page, facts := range map[string][]string{
		"docs/exercises/README": {
			fmt.Sprintf(" of %d cases pass: ", third.cases()), fmt.Sprintf(" of its %d cases pass.", stage),
			fmt.Sprintf("three stages of %d to %d minutes each", from, to),
			flood[1] + " MiB in one case", fmt.Sprintf("within %v seconds", beginning.Seconds()),
			fmt.Sprintf("after %d times its `-limit`", farAway),
		},
		"docs/exercises/README.zh-CN": {
			fmt.Sprintf("\n%d 个用例，通过 ", third.cases()), fmt.Sprintf("本阶段有 %d 个用例，已通过 ", stage), fmt.Sprintf("每个阶段 %d 到 %d 分钟", from, to),
			flood[1] + " MiB", fmt.Sprintf("在 %v 秒之内", beginning.Seconds()), fmt.Sprintf("`-limit` 的 %d 倍", farAway),
		},
		"docs/teaching":       {fmt.Sprintf("of %d to %d minutes, each", from, to), flood[1] + " MiB in one case"},
		"docs/teaching.zh-CN": {fmt.Sprintf("每个阶段 %d 到 %d 分钟", from, to), flood[1] + " MiB"},
	} {
		for _, fact := range facts {
			require.True(t, strings.Contains(text(t, root, page+".md"), fact), "%s must say %q", page, fact)
		}
	}
}

// TestNextBeginsWithTheGoal: the heading and the goal, whatever is before them.
func TestNextBeginsWithTheGoal(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		require.Regexp(t, fmt.Sprintf(`^Exercise %d: [^\n]+\n\n\*\*Goal\.\*\* (?:[^\n]+\n)+\n$`, e.number),
			goalOf([]byte(text(t, e.dir(root), "README.md"))))
	}
	const page = "# Exercise 1: x\n\n**Goal.** Write\nit.\n\n**Read**\n"
	for _, before := range []string{"", "English | [简体中文](README.zh-CN.md)\n\n"} {
		require.Equal(t, "Exercise 1: x\n\n**Goal.** Write\nit.\n\n", goalOf([]byte(before+page)))
		require.Equal(t, "Exercise 1: x\n\n**Goal.** Write\nit.\n\n", goalOf([]byte(strings.ReplaceAll(before+page, "\n", "\r\n"))))
	}
}

// ours is a README's sentence on the size of our solution.
func ours(t *testing.T, e *exercise) string {
	t.Helper()
	answer := text(t, rootOf(t), e.answer)
	if e.file != counterexample.File {
		return fmt.Sprintf("Ours has %d lines", strings.Count(answer, "\n"))
	}
	answers := testenv.Must(counterexample.Read([]byte(answer)))(t)
	var list []string
	for _, n := range slices.Sorted(maps.Keys(answers)) {
		a := testenv.Must(locks.ParseAddress(answers[n]))(t)
		list = append(list, fmt.Sprint(len(a.Choices)))
	}
	last := len(list) - 1
	return fmt.Sprintf("Ours has %s and %s choices", strings.Join(list[:last], ", "), list[last])
}

// code lists the lines of a program as they are compared: without comments and
// blanks, and without those that say too little to give anything away.
func code(program string) (lines []string) {
	for line := range strings.Lines(program) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.Join(strings.Fields(line), "")
		if len(line) >= 12 {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestPagesGiveNothingAway looks for lines of the solution in what a student
// reads before.
func TestPagesGiveNothingAway(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		stub := code(text(t, e.dir(root), e.writes()))
		var secret []string
		for _, line := range code(text(t, root, e.answer)) {
			if !slices.Contains(stub, line) && !strings.HasPrefix(line, `"`) {
				secret = append(secret, line)
			}
		}
		least := 20
		if e.file == counterexample.File {
			least = len(locks.Tasks) - 1 // a line each
		}
		require.Greater(t, len(secret), least, "%s: the stub has nearly all of the solution", e.folder)
		pages := testenv.Must(filepath.Glob(filepath.Join(e.dir(root), "*.md")))(t)
		for _, pattern := range []string{"docs/exercises/primers/%02d-*.md", "cmd/primers/%02d_*.go"} {
			pages = append(pages, testenv.Must(filepath.Glob(filepath.Join(root, fmt.Sprintf(pattern, e.number))))(t)...)
		}
		chinese := func(page string) bool { return strings.HasSuffix(page, ".zh-CN.md") }
		others := slices.DeleteFunc(slices.Clone(pages), chinese)
		require.True(t, len(others) == 4 || e.number > 10 && len(others) == 2, "%s: README and hints, a primer and its program", e.folder)
		for _, page := range pages {
			words := strings.Join(strings.Fields(text(t, page)), "")
			for _, line := range secret {
				if strings.HasSuffix(page, ".go") && len(line) < 25 {
					continue // a program has short lines that say nothing, such as the case of a select
				}
				require.NotContains(t, words, line, "%s has a line of the solution", page)
			}
		}
	}
}

// A mutant is the solution with one place changed, in a file of the folder
// mutants.
type mutant struct {
	name     string
	dies     []string // the cases that it must fail
	says     string   // words that a message of theirs must have
	old, new string   // the place in the solution, and what the mutant has there
}

// mutantFile is a file of the folder mutants.
var mutantFile = regexp.MustCompile(`(?s)^\w+: (.*?)(?:\nsays: ([^\n]*))?\n--- old\n(.*)\n--- new\n(.*?)\n?$`)

func mutants(t *testing.T, root string, e *exercise) (list []mutant) {
	t.Helper()
	files := testenv.Must(filepath.Glob(filepath.Join(e.dir(root), "mutants", "*.txt")))(t)
	for _, file := range files {
		m := mutantFile.FindStringSubmatch(text(t, file))
		require.NotNil(t, m, "%s: want a line such as case: …, --- old, …, --- new, …", file)
		list = append(list, mutant{strings.TrimSuffix(filepath.Base(file), ".txt"), strings.Split(m[1], "\nalso: "), m[2], m[3], m[4]})
	}
	return list
}

func (m mutant) of(t *testing.T, solution string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(solution, m.old), "mutant %s: its place must be once in the solution:\n%s", m.name, m.old)
	return strings.Replace(solution, m.old, m.new, 1)
}

// TestMutantsFitTheSolution: and each case of locktest that no broken lock of its own tests fails,
// those of owners, contexts and lost replies, is one that a mutant must fail.
func TestMutantsFitTheSolution(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		solution := text(t, root, e.answer)
		list := mutants(t, root, e)
		require.GreaterOrEqual(t, len(list), 5, "%s", e.folder)
		var failed []string
		for _, m := range list {
			require.NotEqual(t, solution, m.of(t, solution))
			require.Subset(t, e.names(), m.dies, "%s: mutant %s names a case that is not graded", e.folder, m.name)
			failed = append(failed, m.dies...)
		}
		for _, s := range e.tests {
			if slices.Contains([]string{"TestOwners", "TestContexts", "TestLostReplies"}, s.test) {
				require.Subset(t, failed, s.all, "%s: no mutant fails a case of %s: write one, or a line also: in one", e.folder, s.test)
			}
		}
	}
}

// A saidProgram is a program of which the grader says something.
type saidProgram struct{ name, where, says, text string }

var saidLine = regexp.MustCompile(`(?m)^== (.+?)(?: \((.+)\))?: ?(.*)\n`)

// programsOf are those of a file, each below a line with its name, where it is, and what is said of it:
// "== hides an import (z.go): imports runtime/debug".
func programsOf(t *testing.T, file string) (list []saidProgram) {
	t.Helper()
	texts := saidLine.Split(text(t, file), -1)
	for i, m := range saidLine.FindAllStringSubmatch(text(t, file), -1) {
		list = append(list, saidProgram{m[1], m[2], m[3], texts[i+1]})
	}
	require.NotEmpty(t, list)
	return list
}

// TestUnneededImportsAreRefused: such an attempt is not run.
func TestUnneededImportsAreRefused(t *testing.T) {
	refused := append(programsOf(t, "testdata/refused.txt"),
		saidProgram{"is larger than a lock", "", "too much to read", "package predecessor\n//" + strings.Repeat("x", maxBytes)})
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package predecessor\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, cmp.Or(test.where, "lock.go")), []byte(test.text), 0o644))
			e := testenv.Must(find("3"))(t)
			_, err := read(dir, e)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.ErrorAs(t, err, new(refusal))
			require.NotContains(t, err.Error(), "\n", "an error is one line")
		})
	}
}

// TestASumPerStudent: a lecturer needs one figure for each student.
func TestASumPerStudent(t *testing.T) {
	of := func(student string, e *exercise, points int) row {
		return row{Student: student, exercise: e, result: &result{Exercise: e.number, Points: points, Of: e.points()}}
	}
	rows := []row{
		of("ann", exercises[0], 10), of("ann", exercises[2], 7), of("bob", exercises[0], 6),
		{Student: "eve", exercise: &exercise{}, result: &result{Why: i18n.Same("no such folder")}},
	}
	g := (&app{root: rootOf(t)}).gradesOf(rows, nil)
	require.Equal(t, []sum{{"ann", 2, 17, 25, false}, {"bob", 1, 6, 25, false}, {"eve", 0, 0, 25, false}}, g.Sums,
		"what bob and eve have not handed in counts")
	three := (&app{root: rootOf(t)}).gradesOf(rows[:3], exercises[:3])
	require.Equal(t, []sum{{"ann", 2, 17, 35, false}, {"bob", 1, 6, 35, false}}, three.Sums, "three exercises were asked for")

	var out bytes.Buffer
	(&app{out: &out}).table(g)
	require.Regexp(t, `(?m)^ann +17 of 25$`, out.String())

	out.Reset()
	require.NoError(t, writeCSV(&out, g))
	lines := testenv.Must(csv.NewReader(&out).ReadAll())(t)
	points, most := slices.Index(lines[0], "student_points"), slices.Index(lines[0], "student_of")
	var sums []string
	for _, line := range lines[1:] {
		require.Len(t, line, len(lines[0]))
		sums = append(sums, line[points]+" of "+line[most])
	}
	require.Equal(t, []string{"17 of 25", "17 of 25", "6 of 25", "0 of 25"}, sums)

	out.Reset()
	require.NoError(t, writeJSON(&out, g))
	require.Equal(t, 3, strings.Count(out.String(), `"student":`))
	require.Regexp(t, `"student": "ann",\s+"points": 17,\s+"of": 25,\s+"attempts": 2,`, out.String())
}

// TestStudentsOfOneName: each folder is a student, whatever its name.
func TestStudentsOfOneName(t *testing.T) {
	root, dir := rootOf(t), t.TempDir()
	for _, name := range []string{"a/anna", "b/anna", "b/bob"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755))
	}
	t.Chdir(filepath.Join(dir, "b"))
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	dirs := expand([]string{in("a/anna"), in("b") + "/*", in("b/bob") + "/", "."})
	require.Equal(t, []string{in("a/anna"), in("b/anna"), in("b/bob"), "."}, dirs, "a pattern stands for what it matches, and no folder comes twice")
	names := testenv.Must(studentsOf(dirs))(t)
	require.Equal(t, []string{in("a/anna"), in("b/anna"), "bob", "b"}, names, "two students of one name are two")

	_, err := attempts(in("nobody"), nil)
	require.EqualError(t, err, "there is no folder "+in("nobody"))
	require.NoError(t, os.WriteFile(in("zip"), nil, 0o644))
	require.ErrorContains(t, testenv.Err(attempts(in("zip"), nil)), "zip is not a folder")
	require.NoError(t, os.WriteFile(in("b/bob/catalog.go"), []byte("package herd\n"), 0o644))
	found := testenv.Must(attempts(in("b/bob"), nil))(t, "a file may have the name of one of ours")
	require.Equal(t, []string{in("b/bob")}, found)
	found = testenv.Must(attempts(filepath.Join(root, "docs", "exercises"), nil))(t)
	require.Len(t, found, len(exercises), "our own folder is not one attempt")
}

// TestCommandLine tries what needs no grading.
func TestCommandLine(t *testing.T) {
	t.Setenv("EXERCISES_CACHE", t.TempDir()) // no hint is open yet, each time that this runs
	say := func(args ...string) (string, error) { return called(t, args...) }
	out := testenv.Must(say())(t)
	require.Contains(t, out, "go run ./cmd/exercises next")
	_, err := say("lst")
	require.ErrorContains(t, err, `no command "lst"; go run ./cmd/exercises lists them`)
	require.ErrorContains(t, testenv.Err(say("hint")), "go run ./cmd/exercises hint 3")
	require.ErrorContains(t, testenv.Err(say("hint", "99")), `no exercise "99": give a number from 1 to`)
	require.ErrorContains(t, testenv.Err(say("grade")), "grade students/*")
	_, err = say("grade", t.TempDir(), "nobody")
	require.EqualError(t, err, "there is no folder nobody")

	for n := 1; n <= 4; n++ {
		out = testenv.Must(say("hint", "3"))(t)
		require.Equal(t, min(n, 3), strings.Count(out, "Hint "), "hints open one by one:\n%s", out)
	}
	require.Contains(t, out, "There are no more.")
	for _, kept := range []string{"null", `{"_03-predecessor":-7}`, `{"_03-predec`} {
		root := rootOf(t)
		file := testenv.Must((&app{root: root}).hintsFile())(t)
		require.NoError(t, os.WriteFile(file, []byte(kept), 0o644))
		out = testenv.Must(say("hint", "3"))(t)
		require.Equal(t, 1, strings.Count(out, "Hint "), "the file says %s", kept)
	}

	out, err = say("hint", "-1")
	require.EqualError(t, err, "flag provided but not defined: -1")
	require.Contains(t, out, "go run ./cmd/exercises hint 3", "what is not understood is followed by what is")
	nowhere := filepath.Join(t.TempDir(), "no", "grades.csv")
	out, err = say("grade", t.TempDir(), "-csv", nowhere)
	require.ErrorContains(t, err, "the results cannot be written")
	require.Empty(t, out, "that is said before all are graded")
	t.Run("no place for the count of hints", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		t.Setenv("EXERCISES_CACHE", file)
		out, err := say("hint", "3")
		require.Contains(t, out, "Hint 1 of 3")
		require.ErrorContains(t, err, "set the environment variable EXERCISES_CACHE to a folder that can be written")
	})

	if testenv.AtLanding() { // the others are in the proof, or are the checkout's own
		return
	}
	out = testenv.Must(say("show", "3", "-give-up"))(t)
	require.Contains(t, out, "package predecessor")
}
