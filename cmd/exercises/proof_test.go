package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

const notBegun = "it does not begin: an init has not come to an end"

// generous are limits that no attempt here reaches on a busy machine, if it is not endless.
var generous = limits{time: 10 * time.Minute, memory: 1 << 30, begin: 10 * time.Minute}

// writeAttempt writes an attempt of one file into a new folder, and reads it.
func writeAttempt(t *testing.T, e *exercise, program string) *attempt {
	t.Helper()
	file := filepath.Join(t.TempDir(), e.writes())
	require.NoError(t, os.WriteFile(file, []byte(program), 0o644))
	return testenv.Must(readAttempt(filepath.Dir(file), e))(t)
}

// buildTogether has attempts built as one program when the first of them is graded: most of the time is the linker's.
func buildTogether(t *testing.T, all map[string]*attempt) {
	t.Helper()
	var attempts []*attempt
	built := sync.OnceValues(func() (string, error) {
		c, err := newCell(t.Context(), generous)
		if err != nil {
			return "", err
		}
		t.Cleanup(c.close)
		return c.build(t.Context(), rootOf(t), attempts...)
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		if !a.asksForData() { // data is not built
			a.id, a.built = fmt.Sprint(len(attempts)), built
			attempts = append(attempts, a)
		}
	}
}

// attemptsIn reads the attempts in some files, by the file. They are built together.
func attemptsIn(t *testing.T, files []string) map[string]*attempt {
	t.Helper()
	all := make(map[string]*attempt)
	for _, file := range files {
		all[file] = writeAttempt(t, exerciseOf(t, file), fileText(t, file))
	}
	buildTogether(t, all)
	return all
}

// gradeOf grades an attempt, and looks at the messages.
func gradeOf(t *testing.T, a *attempt, l limits, onFailure func(failure) bool) *result {
	t.Helper()
	r := testenv.Must(grade(t.Context(), rootOf(t), a, l, onFailure))(t)
	requireChinese(t, a, r)
	requireAddresses(t, a, r)
	return r
}

// requireAddresses asserts that each message with a schedule has an address in the lab. The grader
// has replayed the schedule as the lab does: otherwise there is none.
func requireAddresses(t *testing.T, a *attempt, r *result) {
	t.Helper()
	for _, f := range r.Failed {
		if strings.Contains(f.Words.String(), ", in this schedule:\n") {
			require.Contains(t, f.Trace, "#lock=exercise-"+strings.TrimPrefix(a.exercise.folder, "_")+"&",
				"%s: the lab does not come to it: %s", f.Case, f.Words.String())
		}
		words := f.Words.String()
		if strings.Contains(words, " has left ") && strings.Contains(words, "getChildren2 lock: the request is lost") {
			require.Contains(t, words, ": a getChildren2 is lost; before its error is returned the node must be deleted",
				"which request is to be tried again")
		}
	}
}

// requireChinese asserts that the Chinese messages about an attempt have no English words but the attempt's own.
func requireChinese(t *testing.T, a *attempt, r *result) {
	t.Helper()
	files := slices.Sorted(maps.Values(a.files))
	if slices.Contains(a.imports, step3) {
		files = append(files, filepath.Join(rootOf(t), exercises[2].answer))
	}
	var own []string // sentences in the attempt's own strings, without what a format puts in
	for _, file := range files {
		for _, m := range stringLiteral.FindAllStringSubmatch(fileText(t, file), -1) {
			for _, words := range verb.Split(m[1], -1) {
				if strings.Count(strings.TrimSpace(words), " ") > 1 { // a word or two may be one of ours
					own = append(own, words)
				}
			}
		}
	}
	why := r.Why.In(i18n.Chinese)
	if strings.HasPrefix(r.Why.String(), "does not compile") {
		why = firstLines(why, 1) // the others are the compiler's
	}
	said := []string{why}
	for _, f := range r.Failed {
		said = append(said, a.caseOf(f.Case).In(i18n.Chinese), f.Words.In(i18n.Chinese))
		require.Equal(t, strings.Count(f.Words.String(), "%!"), strings.Count(f.Words.In(i18n.Chinese), "%!"),
			"the sentence does not take these values: %s", f.Words.In(i18n.Chinese))
	}
	for _, words := range said {
		require.Empty(t, leftEnglish(words, own...), "%s", words)
	}
}

// stringLiteral is one with several words, and verb is that of a format.
var (
	stringLiteral = regexp.MustCompile(`"([^"\n]+ [^"\n]+)"`)
	verb          = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z%]`)
)

// takesMinutes runs a test at landings only, and beside others.
func takesMinutes(t *testing.T) {
	testenv.Landing(t, "takes minutes")
	testenv.NotRaced(t, "each attempt is built and runs in a process of its own")
	t.Parallel()
}

// withCases returns an exercise with the cases alone for which keep is true.
func withCases(e *exercise, keep func(s suite, name string) bool) *exercise {
	some := *e
	some.tests = nil
	for _, s := range e.tests {
		all := s.all
		s.all = nil
		for _, name := range all {
			if keep(s, name) {
				s.all = append(s.all, name)
			}
		}
		if len(s.all) > 0 {
			some.tests = append(some.tests, s)
		}
	}
	return &some
}

const withBasics, withoutBasics = true, false // of sample

// sample returns an exercise with one case of each group of a suite, and with all basic cases if
// basic is set. It is for attempts that are not likely to differ in the other cases.
func sample(e *exercise, basic bool) *exercise {
	seen := make(map[string]bool)
	return withCases(e, func(s suite, name string) bool {
		group := s.test + string(s.groups[name])
		first := !seen[group]
		seen[group] = true
		return first || basic && slices.Contains(s.basic, name)
	})
}

// TestGrade grades two attempts at one exercise: the solution in two files, and one that does not compile.
func TestGrade(t *testing.T) {
	t.Parallel()
	root := rootOf(t)
	e := testenv.Must(find("3"))(t)
	dir := t.TempDir()
	solution := fileText(t, root, e.answer)
	middle := strings.Index(solution, "// giveUp leaves") // there the second file begins
	require.Positive(t, middle)
	files := map[string]string{
		"lock.go": strings.Replace(solution[:middle], "\t\"time\"\n", "", 1), // only the second file needs it
		"more.go": "package predecessor\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\t\"time\"\n\n\t\"github.com/go-zookeeper/zk\"\n)\n\n" + solution[middle:],
		// The student's own tests are not run.
		"my_test.go":   "package predecessor\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n",
		"lock_test.go": "package predecessor\n",
	}
	for name, program := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(program), 0o644))
	}
	a := testenv.Must(readAttempt(dir, nil))(t)
	require.Equal(t, e, a.exercise, "the package clause says which exercise it is")
	a.exercise = sample(e, withBasics) // the proof has all cases
	r := gradeOf(t, a, generous, nil)
	require.Empty(t, r.Failed)
	require.Empty(t, r.Why)
	require.True(t, r.Full)
	require.Equal(t, e.points(), r.Points)
	require.Equal(t, len(a.names()), r.Passed)

	r = gradeOf(t, writeAttempt(t, e, "package predecessor\n\nfunc New() { undefined() }\n"), generous, nil)
	require.Contains(t, r.Why.String(), "does not compile: lock.go:3:14: undefined: undefined")
	require.Equal(t, "lock.go:1\nlock_test.go:2\n\thave ()\n", ownFirst("lock_test.go:2\n\thave ()\nlock.go:1\n"), "the compiler sorts by path")
	require.Zero(t, r.Points)
	require.NotContains(t, fileText(t, e.dir(root), "lock.go"), "undefined()", "the checkout has been written to")
}

func TestStubsFail(t *testing.T) {
	takesMinutes(t)
	all := make(map[string]*attempt)
	for _, e := range exercises {
		program, err := exec.Command("git", "show", "HEAD:docs/exercises/"+e.folder+"/"+e.writes()).Output()
		if err != nil { // no git here: the file as it is
			program = []byte(fileText(t, e.dir(rootOf(t)), e.writes()))
		}
		all[e.folder] = writeAttempt(t, e, string(program))
		all[e.folder].exercise = sample(e, withBasics)
	}
	buildTogether(t, all)
	for _, e := range exercises {
		t.Run(e.folder, func(t *testing.T) {
			t.Parallel()
			r := gradeOf(t, all[e.folder], generous, nil)
			require.Empty(t, r.Why, "the stub must compile and run")
			require.Zero(t, r.Points)
			require.Len(t, r.Failed, r.Cases-r.Passed, "each case is judged")
			for _, s := range e.tests {
				isFailed := func(name string) bool { return !slices.Contains(r.Passes, name) }
				passes := slices.DeleteFunc(slices.Clone(s.basic), isFailed)
				require.LessOrEqual(t, len(passes), 1, "the stub passes %q, more than one basic case of %s", passes, s.test)
			}
			firstTask := e.tests[0].all[:1]
			if stages := e.stages(); stages != nil {
				firstTask = stages[0].Cases
			}
			require.Contains(t, firstTask, r.Failed[0].Case)
			require.Contains(t, r.Failed[0].Words.String(), "not written yet")
		})
	}
}

func TestSolutionsPass(t *testing.T) {
	takesMinutes(t)
	root, all := rootOf(t), make(map[string]*attempt)
	for _, e := range exercises {
		all[e.folder] = writeAttempt(t, e, fileText(t, root, e.answer))
		if !strings.Contains(e.answer, ".solution") && !testenv.AtLength() {
			all[e.folder].exercise = sample(e, withBasics) // a step: its own test plays all cases
		}
	}
	buildTogether(t, all)
	for _, e := range exercises {
		t.Run(e.folder, func(t *testing.T) {
			t.Parallel()
			r := gradeOf(t, all[e.folder], generous, nil)
			require.Empty(t, r.Why)
			require.Empty(t, r.Failed)
			require.True(t, r.Full)
			require.Equal(t, e.points(), r.Points)
			isStep := !strings.Contains(e.answer, ".solution") // the race detector has seen a step in its own tests
			if testenv.AtLength() && !isStep && !e.asksForData() {
				testWithDetector(t, root, e)
			}
		})
	}
}

// testWithDetector runs the test of an exercise with our solution in the place of the stub, and with the race detector.
func testWithDetector(t *testing.T, root string, e *exercise) {
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`,
		filepath.Join(e.dir(root), e.writes()), filepath.Join(root, e.answer)), 0o600))
	var tests []string
	for _, s := range e.tests {
		tests = append(tests, s.test)
	}
	args := []string{"test", "-count=1", "-overlay=" + overlay, "-race", "-run=^(" + strings.Join(tests, "|") + ")$"}
	if len(e.tests) > 1 { // with the detector a schedule takes ten times as long, and the fixed cases have each line run
		args = append(args, "-skip=^TestSchedules$")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./docs/exercises/"+e.folder)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=1") // the detector needs it, and a C compiler
	out := testenv.Must(cmd.CombinedOutput())(t, args)
	require.NotContains(t, string(out), "no tests to run")
}

// TestWrongAttemptsGetTheirMessage grades first attempts as a class writes them; for a landing, one of
// each exercise. The first line of each has words that the first message must have; several, between " | ", are
// alternatives, because the order of packets decides which case fails first.
func TestWrongAttemptsGetTheirMessage(t *testing.T) {
	takesMinutes(t)
	files := testenv.Must(filepath.Glob("testdata/wrong/*.txt"))(t)
	if !testenv.AtLength() {
		files = slices.CompactFunc(files, func(a, b string) bool { return exerciseOf(t, a) == exerciseOf(t, b) })
	}
	all := attemptsIn(t, files)
	for file, a := range all {
		program := fileText(t, file)
		name := attemptName(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, _, _ := strings.Cut(program, "\n")
			_, says, ok := strings.Cut(line, " says: ")
			require.True(t, ok)
			r := gradeOf(t, a, generous, func(failure) bool { return false }) // the first failure ends it
			require.Empty(t, r.Why)
			require.NotEmpty(t, r.Failed, "all cases pass")
			f := r.Failed[0]
			t.Logf("%s: %s: %s", name, f.Case, firstLines(f.Words.String(), 1))
			isSaid := func(words string) bool { return strings.Contains(f.Words.String(), words) }
			require.True(t, slices.ContainsFunc(strings.Split(says, " | "), isSaid),
				"%s, line 1, has %q; the case %q says: %s", file, says, f.Case, f.Words)
			require.NotRegexp(t, regexp.MustCompile(`\.go:\d+ <`), f.Words.String(),
				"places in the grader mean nothing to a student")
		})
	}
}

// TestTheTranscriptOfThePage plays what README.md and its Chinese edition show. It does not compare how many
// cases pass: after a failure, that depends on the order in which packets arrive.
func TestTheTranscriptOfThePage(t *testing.T) {
	takesMinutes(t)
	root := rootOf(t)
	e := testenv.Must(find("3"))(t)
	at := writeAttempt(t, e, fileText(t, "testdata/wrong/3-woken-is-holder.go.txt"))
	// Nor does it compare the flag -lock: the attempt is not in the exercise's folder. Each of these varies.
	varying := regexp.MustCompile(`(?m)^\d+ of |: \d+ of its | -lock \S+|通过 \d+ 个`)
	for _, l := range []i18n.Language{i18n.English, i18n.Chinese} {
		_, page, ok := strings.Cut(fileText(t, root, l.Page("docs/exercises/README.md")), "$ go run ./cmd/exercises watch 3\n")
		require.True(t, ok)
		page, _, ok = strings.Cut(page, "```")
		require.True(t, ok)
		var out bytes.Buffer
		a := &app{root: root, out: &out, limits: generous, language: l}
		testenv.Must(a.report(t.Context(), e, at, nil))(t)
		require.Equal(t, varying.ReplaceAllString(strings.TrimSpace(page), ""), varying.ReplaceAllString(strings.TrimSpace(out.String()), ""))
	}
}

// TestHostileAttempts grades attempts that would harm the lecturer's machine, or buy points: each is the harmless one
// and a file with the harm. The list of allowed imports keeps most of them from running; here they run all the same.
func TestHostileAttempts(t *testing.T) {
	takesMinutes(t)
	root := rootOf(t)
	e := testenv.Must(find("1"))(t)
	for _, h := range programsOf(t, "testdata/hostile.txt") {
		t.Run(h.name, func(t *testing.T) {
			if h.where == "linux" && runtime.GOOS != "linux" {
				t.Skip("needs what watches a group of processes: Linux")
			}
			t.Parallel()
			program := "package naive\n\n" + h.text
			if !strings.Contains(program, ") Lock() error") {
				program += "\nfunc (l *Lock) Lock() error { return nil }\n"
			}
			dir := t.TempDir()
			a := &attempt{exercise: sample(e, withoutBasics), dir: dir, files: make(map[string]string)} // readAttempt would refuse most
			for name, text := range map[string]string{"lock.go": fileText(t, "testdata/harmless.go.txt"), "more.go": program} {
				a.files[name] = filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(a.files[name], []byte(text), 0o644))
			}
			l := generous
			l.memory = 512 << 20
			if h.says == notBegun {
				l.begin = 0 // it never begins, and need not be given time for that
			}
			r := testenv.Must(grade(t.Context(), root, a, l, nil))(t)
			require.Zero(t, r.Points)
			words := r.Why.String()
			for _, f := range r.Failed {
				words += "\n" + f.Words.String()
				require.Less(t, len(f.Printed), 1<<20, "far more than the grader keeps of an output is in the message")
			}
			require.Contains(t, words, h.says)
		})
	}
}
