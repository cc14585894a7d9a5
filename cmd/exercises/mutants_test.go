package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/testenv"
)

// A mutant is the solution with one place changed, in a file of the folder mutants, such as this one (also and says are
// left out in most):
//
//	case: the node goes with the last Unlock and not before
//	also: another owner of the same Mutex waits its turn in the queue
//	says: two holders
//	--- old
//	h.times--
//	--- new
//	h.times = 0
type mutant struct {
	name     string
	killedBy []string // the cases that it must fail
	says     string   // words that a message of theirs must have
	old, new string   // the place in the solution, and what the mutant has there
}

// mutantFile matches a file: the cases, with a line also: before each but the first; says; old; new.
var mutantFile = regexp.MustCompile(`(?s)^\w+: (.*?)(?:\nsays: ([^\n]*))?\n--- old\n(.*)\n--- new\n(.*?)\n?$`)

func mutants(t *testing.T, root string, e *exercise) (list []mutant) {
	t.Helper()
	files := testenv.Must(filepath.Glob(filepath.Join(e.dir(root), "mutants", "*.txt")))(t)
	for _, file := range files {
		m := mutantFile.FindStringSubmatch(fileText(t, file))
		require.NotNil(t, m, "%s: want a line such as case: …, --- old, …, --- new, …", file)
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		list = append(list, mutant{name: name, killedBy: strings.Split(m[1], "\nalso: "), says: m[2], old: m[3], new: m[4]})
	}
	return list
}

func (m mutant) of(t *testing.T, solution string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(solution, m.old), "mutant %s: its place must be once in the solution:\n%s", m.name, m.old)
	return strings.Replace(solution, m.old, m.new, 1)
}

// TestMutantsFitTheSolution asserts that each mutant can be made of the solution. For each case of owners, contexts and
// lost replies, there must be a mutant that fails it: the tests of locktest have no broken lock for these.
func TestMutantsFitTheSolution(t *testing.T) {
	root := rootOf(t)
	for _, e := range exercises {
		solution := fileText(t, root, e.answer)
		list := mutants(t, root, e)
		require.GreaterOrEqual(t, len(list), 5, "%s has too few mutants", e.folder)
		var failed []string
		for _, m := range list {
			require.NotEqual(t, solution, m.of(t, solution))
			require.Subset(t, e.names(), m.killedBy, "%s: mutant %s names a case that is not graded", e.folder, m.name)
			failed = append(failed, m.killedBy...)
		}
		withoutBrokenLocks := []string{"TestOwners", "TestContexts", "TestLostReplies"}
		for _, s := range e.tests {
			if slices.Contains(withoutBrokenLocks, s.test) {
				require.Subset(t, failed, s.all, "%s: no mutant fails a case of %s: write one, or a line also: in one", e.folder, s.test)
			}
		}
	}
}

// groupOf names the suite of a case, and the case's group.
func groupOf(e *exercise, name string) string {
	for _, s := range e.tests {
		if slices.Contains(s.all, name) {
			return s.test + " " + string(s.groups[name])
		}
	}
	return ""
}

// TestMutantsDie grades each mutant; in a short run, the first one for each group of cases of a suite.
func TestMutantsDie(t *testing.T) {
	takesMinutes(t)
	root := rootOf(t)
	for _, e := range exercises {
		played := mutants(t, root, e)
		if !testenv.AtLength() {
			seen := make(map[string]bool)
			played = slices.DeleteFunc(played, func(m mutant) bool {
				group := groupOf(e, m.killedBy[0])
				known := seen[group]
				seen[group] = true
				return known
			})
		}

		solution, made := fileText(t, root, e.answer), make(map[string]*attempt)
		for _, m := range played {
			// Only the cases that the mutant names are asked for: others may fail as well.
			made[m.name] = writeAttempt(t, e, m.of(t, solution))
			made[m.name].exercise = withCases(e, func(_ suite, name string) bool { return slices.Contains(m.killedBy, name) })
		}
		buildTogether(t, made)
		for _, m := range played {
			t.Run(e.folder+" "+m.name, func(t *testing.T) {
				t.Parallel()
				r := gradeOf(t, made[m.name], generous, nil)
				require.Empty(t, r.Why)
				require.Len(t, r.Failed, len(m.killedBy), "of the cases %q not all fail", m.killedBy)
				said := ""
				for _, f := range r.Failed {
					t.Logf("%s: %s", f.Case, firstLines(f.Words.String(), 1))
					said += f.Words.String() + "\n"
				}
				require.Contains(t, said, m.says)
			})
		}
	}
}
