package locktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	herd "example.com/zklock/02-herd-effect"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

// Each step's README has questions for a class, and docs/teaching.md has the answers. Some questions ask the students
// to edit lock.go: the tests here make these edits, and look at what each answer names as its proof.

func fileText(t *testing.T, path ...string) string {
	t.Helper()
	return string(testenv.Must(os.ReadFile(filepath.Join(path...)))(t))
}

// A question asks the students to edit lock.go.
type question struct {
	step   string // its folder
	number int
	test   string   // of the step, which must fail
	fails  string   // the case of the test that must fail first
	hunks  []string // of the edit: lines with - before them are replaced by the lines with + before them
}

// questionsOf reads testdata/questions.txt, which describes its form.
func questionsOf(t *testing.T) (all []question) {
	t.Helper()
	_, text, _ := strings.Cut(fileText(t, "testdata/questions.txt"), "\n== ") // before it, the file says what its form is
	for part := range strings.SplitSeq(text, "\n== ") {
		head, hunks, _ := strings.Cut(part, "\n")
		field := strings.Split(head, " | ")
		all = append(all, question{step: field[0], number: testenv.Must(strconv.Atoi(field[1]))(t), test: field[2],
			fails: field[3], hunks: strings.Split(strings.TrimSpace(hunks), "\n\n")})
	}
	return all
}

// edit applies the hunks of a question to the text of lock.go.
func (q question) edit(t *testing.T, lock string) string {
	t.Helper()
	for _, hunk := range q.hunks {
		var before, after strings.Builder
		for line := range strings.Lines(hunk + "\n") {
			if rest, ok := strings.CutPrefix(line, "-"); ok {
				before.WriteString(rest)
			} else {
				after.WriteString(strings.TrimPrefix(line, "+"))
			}
		}
		require.Equal(t, 1, strings.Count(lock, before.String()),
			"question %d of %s: lock.go must have these lines once:\n%s", q.number, q.step, before.String())
		lock = strings.Replace(lock, before.String(), after.String(), 1)
	}
	return lock
}

// TestClassQuestions does what each question asks for, and runs the step's test.
func TestClassQuestions(t *testing.T) {
	testenv.Landing(t, "builds the steps again, with an edit for each question")
	testenv.NotRaced(t, "the lessons are wrong then, on purpose")
	testenv.Embedded(t, "has its own server")
	root := testenv.Must(filepath.Abs("../.."))(t)
	program := buildEdited(t, root)
	for i, q := range questionsOf(t) {
		t.Run(fmt.Sprintf("%s question %d", q.step, q.number), func(t *testing.T) {
			t.Parallel()
			test := fmt.Sprint("TestQuestion", i) // buildEdited has given it this name
			cmd := exec.Command(program, "-test.run=^"+test+"$", "-test.failfast")
			cmd.Env = append(os.Environ(), "LC_ALL=C", "ZK="+ensemble.SpecEmbedded)
			printed, err := cmd.CombinedOutput()
			out := string(printed)
			require.Error(t, err, "the edit fails no test:\n%s", out)
			require.NotContains(t, out, "panic: ", "the edit ends the test in a panic")
			failed := regexp.MustCompile(`(?m)^    --- FAIL: (\S+)`).FindStringSubmatch(out)
			require.NotEmpty(t, failed, "the edit fails no case:\n%s", out)
			require.Equal(t, test+"/"+strings.ReplaceAll(q.fails, " ", "_"), failed[1], "another case fails first:\n%s", out)

			// The README has the question between its own number and the next one.
			_, class, _ := strings.Cut(fileText(t, root, q.step, "README.md"), "**For a class.**")
			_, question, _ := strings.Cut(class, fmt.Sprintf("\n%d. ", q.number))
			question, _, _ = strings.Cut(question, fmt.Sprintf("\n%d. ", q.number+1))
			require.Contains(t, strings.Join(strings.Fields(question), " "), q.fails,
				"the question must name the case that fails")
		})
	}
}

// buildEdited builds one test program for all questions, because to link is most of the work. It has the step of each
// question with the edit, a package in a folder that exists only in an overlay, and the step's test as TestQuestion0, 1, ….
func buildEdited(t *testing.T, root string) (program string) {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string) // the overlay
	add := func(source string, path ...string) {
		file := filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
		replace[filepath.Join(append([]string{root, "asked"}, path...)...)] = file
	}

	imports, tests := "", "func TestMain(m *testing.M) { locktest.Main(m) }\n"
	for i, q := range questionsOf(t) {
		name := fmt.Sprint("question", i)
		add(q.edit(t, fileText(t, root, q.step, "lock.go")), name, "lock.go")
		add(strings.ReplaceAll(fileText(t, root, q.step, "lock_test.go"), "zklock/"+q.step, "zklock/asked/"+name), name,
			"tests", "tests.go")
		imports += fmt.Sprintf("import %s \"example.com/zklock/asked/%s/tests\"\n", name, name)
		tests += fmt.Sprintf("func TestQuestion%d(t *testing.T) { %s.%s(t) }\n", i, name, q.test)
	}

	add("package asked\nimport \"testing\"\nimport \"example.com/zklock/internal/locktest\"\n"+imports+tests,
		"asked_test.go")
	overlay := testenv.Must(json.Marshal(map[string]any{"Replace": replace}))(t)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	program = filepath.Join(dir, "asked.test.exe")
	cmd := exec.Command("go", "test", "-c", "-o="+program, "-vet=off", "-ldflags=-s -w", "-overlay="+file, "./asked")
	cmd.Dir = root
	testenv.Must(cmd.CombinedOutput())(t)
	return program
}

// TestClassAnswers checks docs/teaching.md: it has an answer to each question of each step, which names as its proof a
// case or a test that exists. The Chinese page must name the same ones. Both it and the steps' Chinese pages must call
// each case as the grader does in Chinese.
func TestClassAnswers(t *testing.T) {
	testenv.Embedded(t, "has its own server")
	teaching, inChinese := fileText(t, "../../docs/teaching.md"), fileText(t, "../../docs/teaching.zh-CN.md")
	sources := sourcesOfProofs(t)
	asked := questionsOf(t) // those that ask for an edit

	readmes := testenv.Must(filepath.Glob("../../0*/README.md"))(t)
	require.Len(t, readmes, 5)
	answered := 0
	for _, readme := range readmes {
		step := filepath.Base(filepath.Dir(readme)) // such as 01-naive-ephemeral
		stepNumber := strings.TrimLeft(step[:2], "0")
		_, class, ok := strings.Cut(fileText(t, readme), "**For a class.**")
		require.True(t, ok, readme)
		requireGlosses(t, i18n.Chinese.Page(readme))
		questions := len(regexp.MustCompile(`(?m)^\d+\. `).FindAllString(class, -1))
		for number := 1; number <= questions; number++ {
			english := answerBelow(t, teaching, fmt.Sprintf("Step %s, question %d", stepNumber, number), "**Proof**: ")
			english.requireProofsIn(t, sources)
			chinese := answerBelow(t, inChinese, fmt.Sprintf("第 %s 步，第 %d 题", stepNumber, number), "**证明**：")
			require.ElementsMatch(t, english.proofsInChinese(), chinese.proofs,
				"%s: the Chinese page names other tests, or cases in other words", english.heading)
			for _, q := range asked {
				if q.step == step && q.number == number {
					require.Contains(t, english.shown, q.fails, english.heading)
				}
			}
			answered++
		}
	}
	require.GreaterOrEqual(t, answered, 15)
	require.Equal(t, answered, strings.Count(teaching, "\n### Step "), "an answer to no question")
}

// sourcesOfProofs returns the text of all files that have a proof: a test, or a case of a suite.
func sourcesOfProofs(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "leases/*.go", "../../0*/*_test.go", "../bugs/examples/*_test.go", "../../zkserver/*_test.go"} {
		for _, file := range testenv.Must(filepath.Glob(pattern))(t) {
			all.WriteString(fileText(t, file))
		}
	}
	return all.String()
}

// An answer is that to a question of a step, on a page.
type answer struct {
	heading string
	shown   string // what the page says of the proofs
	proofs  []proof
}

// A proof is a case, on the Chinese page with a gloss, or a test.
type proof struct{ inCase, gloss, test string }

// proofPattern finds a case in italics, with or without a gloss, or a test in code.
var proofPattern = regexp.MustCompile(`\*([^*]+)\*(?:（([^）]*\p{Han}[^）]*)）)?|` + "`(Test\\w+)`")

// answerBelow reads the answer below a heading of a page; mark is the word before its proofs.
func answerBelow(t *testing.T, page, heading, mark string) answer {
	t.Helper()
	_, text, ok := strings.Cut(page, "### "+heading+"\n")
	require.True(t, ok, "no answer to it: %s", heading)
	text, _, _ = strings.Cut(text, "\n#")
	_, shown, ok := strings.Cut(strings.Join(strings.Fields(text), " "), mark)
	require.True(t, ok, "%s names no proof", heading)
	a := answer{heading: heading, shown: shown}
	for _, m := range proofPattern.FindAllStringSubmatch(shown, -1) {
		a.proofs = append(a.proofs, proof{inCase: m[1], gloss: m[2], test: m[3]})
	}
	require.NotEmpty(t, a.proofs, heading)
	return a
}

func (a answer) requireProofsIn(t *testing.T, sources string) {
	t.Helper()
	for _, p := range a.proofs {
		if p.inCase != "" {
			require.Contains(t, sources, `"`+p.inCase+`"`, "%s: there is no such case", a.heading)
		} else {
			require.Contains(t, sources, "func "+p.test+"(", "%s: there is no such test", a.heading)
		}
	}
}

// proofsInChinese are the proofs as the Chinese page must name them: each case with its gloss.
func (a answer) proofsInChinese() (all []proof) {
	for _, p := range a.proofs {
		if p.inCase != "" {
			p.gloss = i18n.Text(p.inCase).In(i18n.Chinese)
		}
		all = append(all, p)
	}
	return all
}

// requireGlosses compares the Chinese behind the name of each case on a page with the grader's.
func requireGlosses(t *testing.T, page string) {
	t.Helper()
	glossed := regexp.MustCompile(`\*([A-Za-z][^*]+)\*（([^）]+)）`)
	require.Regexp(t, glossed, fileText(t, page))
	for _, m := range glossed.FindAllStringSubmatch(fileText(t, page), -1) {
		require.Equal(t, i18n.Text(m[1]).In(i18n.Chinese), m[2], "%s: the Chinese of %s", page, m[1])
	}
}

// TestClassHoldersEvent answers the third question of step 2. The holder's last ChildrenW has left a watch behind, so a
// new waiter causes an event for the holder. No goroutine waits for that event, and the holder sends nothing.
func TestClassHoldersEvent(t *testing.T) {
	testenv.Embedded(t, "has its own server")
	bubble.Test(t, func(t *testing.T) {
		zoo := ensemble.OverPipes(zkserver.Run(t))
		conn, holder := classSession(t, zoo)
		first := herd.New(conn, "/lock")
		require.NoError(t, first.Lock())
		before := holder.Counts().Total()
		conn, _ = classSession(t, zoo)
		second := herd.New(conn, "/lock")
		locked := bubble.Aside(second.Lock)
		time.Sleep(time.Second) // until the second waits
		require.EqualValues(t, 1, holder.Counts().Events, "the arrival of a waiter sends the holder an event")
		require.Equal(t, before, holder.Counts().Total(), "the event makes the holder send a request")
		require.NoError(t, first.Unlock())
		require.NoError(t, <-locked)
		require.NoError(t, second.Unlock())
	})
}

func classSession(t *testing.T, zoo *ensemble.Ensemble) (*zk.Conn, *wiretap.Tap) {
	t.Helper()
	tap := new(wiretap.Tap)
	conn := testenv.Must(zoo.Connect(t.Context(), ensemble.Options{Tap: tap}))(t)
	t.Cleanup(conn.Close)
	return conn, tap
}
