package locktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	herd "example.com/zklock/02-herd-effect"
	"example.com/zklock/internal/bubble"
	"example.com/zklock/internal/ensemble"
	"example.com/zklock/internal/testenv"
	"example.com/zklock/internal/wiretap"
	"example.com/zklock/zkserver"
)

// An edit is a change of a step's lock.go. A question for a class, in the step's README, asks the students to make it.
type edit struct {
	old string // a pattern, which is found once in the step's lock.go
	new string // what takes its place; $1 is its first group
}

func fileText(t *testing.T, path ...string) string {
	t.Helper()
	return string(testenv.Must(os.ReadFile(filepath.Join(path...)))(t))
}

// The questions of the steps' READMEs that ask for an edit.
var questions = []struct {
	step   string
	number int
	edits  []edit
	test   string // of the step, which must fail
	fails  string // the case of the test that must fail first
}{
	{step: "01-naive-ephemeral", number: 2, test: "TestLock", fails: "a release between looking and watching is not missed",
		edits: []edit{{`\.GetW\(l\.path\)`, ".ExistsW(l.path)"}}},
	{step: "01-naive-ephemeral", number: 3, test: "TestLock", fails: "an error other than node exists is returned and not taken for held",
		edits: []edit{{`return false, fmt\.Errorf\("naive: lock.*\n`, "return false, nil\n"}}},
	{step: "02-herd-effect", number: 2, test: "TestLock", fails: "the requests are exactly as many as predicted", edits: []edit{
		{`children, _, changed, err := l\.conn\.ChildrenW\(l\.path\)`, "children, _, err := l.conn.Children(l.path)"},
		{`(?m)^(\t\tif event := <-changed)`, "\t\t_, _, changed, err := l.conn.GetW(l.path + \"/\" + slices.Min(children))\n" +
			"\t\tif errors.Is(err, zk.ErrNoNode) {\n\t\t\tcontinue\n\t\t}\n" +
			"\t\tif err != nil {\n\t\t\treturn l.giveUp(node, err)\n\t\t}\n$1"},
		{`(?m)^\t"path"\n`, "\t\"path\"\n\t\"slices\"\n"}}},
	{step: "03-sequential-predecessor", number: 1, test: "TestLock", fails: "a waiter that goes lets nobody in before the holder has let go",
		edits: []edit{{`(?s)(if event := <-changed; event\.Err != nil \{.*?\n\t\t\}\n)`, "$1\t\tl.node = node\n\t\treturn nil\n"}}},
	{step: "03-sequential-predecessor", number: 2, test: "TestLock", fails: "a release between looking and watching is not missed", edits: []edit{
		{`\.GetW\(l\.path \+ "/" \+ before\)`, `.ExistsW(l.path + "/" + before)`},
		{`\t\tif errors\.Is\(err, zk\.ErrNoNode\) \{\n\t\t\tcontinue\n\t\t\}\n`, ""}}},
	{step: "04-reentrant", number: 1, test: "TestOwners", fails: "another owner of the same Mutex waits its turn in the queue",
		edits: []edit{{`h := &hold\{`, "h := &hold{times: 1, "}}},
	{step: "04-reentrant", number: 2, test: "TestOwners", fails: "two goroutines of one owner that lock at once make one node", edits: []edit{
		{`\tm\.book\[owner\] = h\n`, ""},
		{`\t\th\.times = 1\n`, "\t\th.times = 1\n\t\tm.book[owner] = h\n"}}},
	{step: "05-timeout", number: 1, test: "TestContexts", fails: "a request that is answered after ctx has ended leaves nothing behind", edits: []edit{
		{`(?s)\tselect \{\n\tcase (l\.held <- struct\{\}\{\}):\n\tcase <-ctx\.Done\(\):\n\t\treturn ctx\.Err\(\)\n\t\}\n`, "\t$1\n"}}},
	{step: "05-timeout", number: 2, test: "TestLeases", fails: "a holder whose answer comes late loses the lock before the next one gets in", edits: []edit{
		{`\t\tsent := time\.Now\(\)\n`, ""},
		{`sent\.Add\(`, "time.Now().Add("}}},
	{step: "05-timeout", number: 3, test: "TestLeases", fails: "Unlock after the parent was made again touches nobody else's node",
		edits: []edit{{`if conn\.SessionID\(\) != l\.session \{`, "if false {"}}},
}

// TestClassQuestions does what each question asks for, and runs the step's test.
func TestClassQuestions(t *testing.T) {
	testenv.Landing(t, "builds the steps again, with an edit for each question")
	testenv.NotRaced(t, "the lessons are wrong then, on purpose")
	testenv.Embedded(t, "has its own server")
	root := testenv.Must(filepath.Abs("../.."))(t)
	program := edited(t, root)
	for i, q := range questions {
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

			_, class, _ := strings.Cut(fileText(t, root, q.step, "README.md"), "**For a class.**")
			_, question, _ := strings.Cut(class, fmt.Sprintf("\n%d. ", q.number))
			question, _, _ = strings.Cut(question, fmt.Sprintf("\n%d. ", q.number+1))
			require.Contains(t, strings.Join(strings.Fields(question), " "), q.fails,
				"the question must name the case that fails")
		})
	}
}

// edited builds a program that has, for each question, the step as the question edits it, with the
// step's tests. It is one program, because linking ten would take most of the time. Each edited step
// is a package in a folder of its own, which exists only in an overlay.
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
	for i, q := range questions {
		name := fmt.Sprint("question", i)
		lock := fileText(t, root, q.step, "lock.go")
		for _, e := range q.edits {
			old := regexp.MustCompile(e.old)
			require.Len(t, old.FindAllString(lock, -1), 1, "question %d of %s: the lines to edit, %q, must be there once",
				q.number, q.step, old)
			lock = old.ReplaceAllString(lock, e.new)
		}
		add(lock, name, "lock.go")
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

// A proof is what an answer to a question of a step refers to: a case, on the Chinese page with a gloss, or a test.
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
		all = append(all, proof{m[1], m[2], m[3]})
	}
	require.NotEmpty(t, all, heading)
	return text, all
}

// TestClassAnswers checks that each question of each step has an answer in docs/teaching.md, which
// names a case or a test that exists. The Chinese page must name the same, each case with its gloss.
func TestClassAnswers(t *testing.T) {
	testenv.Embedded(t, "has its own server")
	teaching, inChinese := fileText(t, "../../docs/teaching.md"), fileText(t, "../../docs/teaching.zh-CN.md")
	var sources strings.Builder // of the tests, and of the suites' cases
	for _, pattern := range []string{"*.go", "../../0*/*_test.go", "../bugs/examples/*_test.go", "../../zkserver/*_test.go"} {
		files := testenv.Must(filepath.Glob(pattern))(t)
		for _, file := range files {
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
		for number := range len(regexp.MustCompile(`(?m)^\d+\. `).FindAllString(class, -1)) {
			name := fmt.Sprintf("Step %s, question %d", strings.TrimLeft(step[:2], "0"), number+1)
			shown, english := proofs(t, teaching, name, "**Proof**: ")
			for _, p := range english {
				if p.inCase != "" {
					require.Contains(t, sources.String(), `"`+p.inCase+`"`, "%s: there is no such case", name)
				} else {
					require.Contains(t, sources.String(), "func "+p.test+"(", "%s: there is no such test", name)
				}
			}

			_, twins := proofs(t, inChinese, fmt.Sprintf("第 %s 步，第 %d 题", strings.TrimLeft(step[:2], "0"), number+1), "**证明**：")
			for i, p := range twins {
				require.Equal(t, p.inCase != "", p.gloss != "", "%s: the Chinese page has no gloss for %q", name, p.inCase)
				twins[i].gloss = ""
			}
			require.ElementsMatch(t, english, twins, "%s: the Chinese page names other tests", name)
			for _, q := range questions {
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
