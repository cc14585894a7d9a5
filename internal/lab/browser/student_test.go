//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// What the grader finds in a student's lock opens in a lab with that lock: the page shows what the grader says.
func TestTheGradersScheduleOpensWithTheStudentsLock(t *testing.T) {
	t.Parallel()
	attempts := []struct{ name, harm string }{
		{"03-wrong-removes-a-slow-predecessor", "deletes another's node"},
		{"10-wrong-told-by-the-session-event-only", "loss reported too late"}, // leads in a goroutine of its own
		{"08-wrong-uuid-names-compared-as-text", "two holders"},
		{"04-wrong-failed-unlock-forgotten", "hang"},
	}
	if !testenv.AtLength() {
		attempts = attempts[:1] // each takes half a minute of a processor
	}
	for _, attempt := range attempts {
		name, harm := attempt.name, attempt.harm
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := testenv.Must(os.ReadFile("../../../cmd/exercises/testdata/attempts/" + name + ".go.txt"))(t)
			lock := filepath.Join(dir, "ann")
			require.NoError(t, os.Mkdir(lock, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(lock, "lock.go"), program, 0o644))
			goRun := func(args ...string) {
				testenv.Must(exec.CommandContext(t.Context(), "go", append([]string{"run"}, args...)...).CombinedOutput())(t)
			}
			file := filepath.Join(dir, "grades.json")
			goRun("../../../cmd/exercises", "grade", lock, "-json", file)
			text := testenv.Must(os.ReadFile(file))(t)
			var grades struct {
				Students []struct {
					Exercises []struct {
						Failed []struct{ Words, Trace string }
					}
				}
			}
			require.NoError(t, json.Unmarshal(text, &grades))
			address := ""
			for _, failure := range grades.Students[0].Exercises[0].Failed {
				if address == "" && strings.Contains(failure.Words, harm+": ") {
					address = failure.Trace
				}
			}
			require.NotEmpty(t, address, "the grader shows no schedule with %q:\n%s", harm, text)

			lab := filepath.Join(dir, "lab.html")
			goRun("../../../cmd/lab", "-lock", lock, "-out", lab)
			p := openAt(t, "file://"+lab+address, deskWidth, deskHeight)
			p.play(row{look: "[s.mode, s.panels.length, kind(p.filmViolation)]", want: list{"schedule", 1, harm}})
			if !strings.HasPrefix(name, "10-") { // in exercise 10 a goroutine of the lock leads: the page points to no line
				require.Contains(t, js[string](p, "document.querySelector('.code').textContent"), "package ", "their source")
			}
		})
	}
}

// Exercise 11: a student opens a listing, clicks on what happens next until the
// page says that the goal is reached, and copies the link. The grader takes it.
func TestTheLinkOfASchedulerIsAnAnswer(t *testing.T) {
	t.Parallel()
	text := testenv.Must(os.ReadFile("../../../docs/exercises/_11-break-this-lock/.solution/" + counterexample.File))(t)
	answers := testenv.Must(counterexample.Read(text))(t)
	on := open(t, "#lock=naive&n=2&t=0ns")
	for _, task := range locks.Tasks {
		t.Run(task.Lock.Name, func(t *testing.T) {
			p := &tab{T: t, ctx: on.ctx} // the same tab in this subtest
			answer := func() counterexample.Result { return counterexample.Play(t, task.Number, js[string](p, "s.link")) }
			ours := testenv.Must(locks.ParseAddress(answers[task.Number]))(t)
			p.play(row{do: "open " + scene(task.Lock.Name), look: "text('#goal')", want: has{task.Lock.Goal.Text.String()}})
			require.NotEmpty(t, answer().Words, "an answer before the first choice")
			p.play(chosen(ours)...)
			p.play(row{look: "one('#reached').dataset.reached", want: "yes"})
			require.Equal(t, counterexample.Result{Choices: len(ours.Choices)}, answer())
		})
	}
}

// chosen are the choices of a schedule, clicked one after the other. The goal is reached with the last one.
func chosen(a locks.Address) (rows []row) {
	for i, choice := range a.Choices {
		do := fmt.Sprintf("click [data-choice=%s] | wait app.play?.length == %d", quoted(choice), i+1)
		rows = append(rows, row{do: do + " | go s.end", look: "!!one('#reached')", want: i == len(a.Choices)-1})
	}
	return rows
}
