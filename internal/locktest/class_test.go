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

func fileText(t *testing.T, path ...string) string {
	t.Helper()
	return string(testenv.Must(os.ReadFile(filepath.Join(path...)))(t))
}

// A question for a class, in the README of a step, asks the students to edit lock.go.
type question struct {
	step   string
	number int
	test   string // of the step, which must fail
	fails  string // the case of the test that must fail first
	hunks  []string
}

// questionsOf reads testdata/questions.txt, which describes its form.
func questionsOf(t *testing.T) (all []question) {
	t.Helper()
	_, text, _ := strings.Cut(fileText(t, "testdata/questions.txt"), "\n== ")
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
	program := edited(t, root)
	for i, q := range questionsOf(t) {
		t.Run(fmt.Sprintf("%s question %d", q.step, q.number), func(t *testing.T) {
			t.Parallel()
			test := fmt.Sprintf("TestQuestion%d", i)
			cmd := exec.Command(program, "-test.run=^"+test+"$", "-test.failfast")
			cmd.Env = append(os.Environ(), "LC_ALL=C", "ZK="+ensemble.SpecEmbedded)
			printed, err := cmd.CombinedOutput()
			out := string(printed)
			require.Error(t, err, "the edit fails no test:\n%s", out)
			require.NotContains(t, out, "panic: ", "the edit ends the test in a panic")
			failed := regexp.MustCompile(`(?m)^    --- FAIL: (\S+)`).FindStringSubmatch(out)
			require.NotEmpty(t, failed, "the edit fails no case:\n%s", out)
			require.Equal(t, test+"/"+strings.ReplaceAll(q.fails, " ", "_"), failed[1], "%s", out)

			// The README has the question between its own number and the next one.
			_, class, _ := strings.Cut(fileText(t, root, q.step, "README.md"), "**For a class.**")
			_, question, _ := strings.Cut(class, fmt.Sprintf("\n%d. ", q.number))
			question, _, _ = strings.Cut(question, fmt.Sprintf("\n%d. ", q.number+1))
			require.Contains(t, strings.Join(strings.Fields(question), " "), q.fails,
				"the question must name the case that fails")
		})
	}
}

// edited builds a program that has, for each question, the step as it edits it, with the step's tests. Linking ten
// programs would take most of the time. Each edited step is a package in a folder that exists only in an overlay.
func edited(t *testing.T, root string) (program string) {
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

// A proof is what an answer to a question of a step refers to: a case, whose Chinese is the gloss, or a test.
type proof struct{ inCase, gloss, test string }

// proofs returns what follows a mark in the answer below a heading, and the proofs that it names.
func proofs(t *testing.T, page, heading, mark string) (text string, all []proof) {
	t.Helper()
	_, answer, ok := strings.Cut(page, "### "+heading+"\n")
	require.True(t, ok, "no answer to it: %s", heading)
	answer, _, _ = strings.Cut(answer, "\n#")
	_, text, ok = strings.Cut(strings.Join(strings.Fields(answer), " "), mark)
	require.True(t, ok, "%s names no proof", heading)
	for _, m := range regexp.MustCompile(`\*([^*]+)\*(?:（([^）]*\p{Han}[^）]*)）)?|`+"`(Test\\w+)`").FindAllStringSubmatch(text, -1) {
		all = append(all, proof{inCase: m[1], gloss: m[2], test: m[3]})
	}
	require.NotEmpty(t, all, heading)
	return text, all
}

// TestClassAnswers checks that each question of each step has an answer in docs/teaching.md, which
// names a case or a test that exists. The Chinese pages name the same, each case as the grader does in Chinese.
func TestClassAnswers(t *testing.T) {
	testenv.Embedded(t, "has its own server")
	teaching, inChinese := fileText(t, "../../docs/teaching.md"), fileText(t, "../../docs/teaching.zh-CN.md")
	var sources strings.Builder // of the tests, and of the suites' cases
	for _, pattern := range []string{"*.go", "leases/*.go", "../../0*/*_test.go", "../bugs/examples/*_test.go", "../../zkserver/*_test.go"} {
		for _, file := range testenv.Must(filepath.Glob(pattern))(t) {
			sources.WriteString(fileText(t, file))
		}
	}

	steps := testenv.Must(filepath.Glob("../../0*/README.md"))(t)
	require.Len(t, steps, 5)
	answered := 0
	for _, file := range steps {
		step := filepath.Base(filepath.Dir(file))
		_, class, ok := strings.Cut(fileText(t, file), "**For a class.**")
		require.True(t, ok, file)
		readme := fileText(t, i18n.Chinese.Page(file))
		for _, m := range regexp.MustCompile(`\*([A-Za-z][^*]+)\*（([^）]+)）`).FindAllStringSubmatch(readme, -1) {
			require.Equal(t, i18n.Text(m[1]).In(i18n.Chinese), m[2], "%s: the Chinese of %s", step, m[1])
		}
		for number := range len(regexp.MustCompile(`(?m)^\d+\. `).FindAllString(class, -1)) {
			name := fmt.Sprintf("Step %s, question %d", strings.TrimLeft(step[:2], "0"), number+1)
			shown, english := proofs(t, teaching, name, "**Proof**: ")
			for i, p := range english {
				if p.inCase != "" {
					english[i].gloss = i18n.Text(p.inCase).In(i18n.Chinese)
					require.Contains(t, sources.String(), `"`+p.inCase+`"`, "%s: there is no such case", name)
				} else {
					require.Contains(t, sources.String(), "func "+p.test+"(", "%s: there is no such test", name)
				}
			}

			_, twins := proofs(t, inChinese, fmt.Sprintf("第 %s 步，第 %d 题", strings.TrimLeft(step[:2], "0"), number+1), "**证明**：")
			require.ElementsMatch(t, english, twins, "%s: the Chinese page names other tests, or cases in other words", name)
			for _, q := range questionsOf(t) {
				if q.step == step && q.number == number+1 {
					require.Contains(t, shown, q.fails, name)
				}
			}
			answered++
		}
	}
	require.GreaterOrEqual(t, answered, 15)
	require.Equal(t, answered, strings.Count(teaching, "\n### Step "), "an answer to no question")
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
		locked := make(chan error, 1)
		go func() { locked <- second.Lock() }()
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
