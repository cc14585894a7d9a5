//go:build browser

package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/grader/counterexample"
	"example.com/zklock/internal/lab/locks"
	"example.com/zklock/internal/testenv"
)

// Exercise 11: a student opens a listing, clicks on what happens next until the
// page says that the goal is reached, and copies the link. The grader takes it.
func TestTheLinkOfASchedulerIsAnAnswer(t *testing.T) {
	t.Parallel()
	text := testenv.Must(os.ReadFile("../../../docs/exercises/_11-break-this-lock/.solution/" + counterexample.File))(t)
	answers := testenv.Must(counterexample.Read(text))(t)
	on := open(t, "#lock=naive&n=2&t=0ns")
	for _, task := range locks.Tasks {
		t.Run(task.Lock.Name, func(t *testing.T) {
			p := &tab{T: t, ctx: on.ctx}
			answer := func() counterexample.Result { return counterexample.Play(t, task.Number, js[string](p, "s.link")) }
			ours := testenv.Must(locks.ParseAddress(answers[task.Number]))(t)
			p.play(row{"open " + scene(task.Lock.Name), "text('#goal')", has{task.Lock.Goal.Text.String()}})
			require.NotEmpty(t, answer().Words, "an answer before the first choice")
			p.play(chosen(ours)...)
			p.play(row{"", "one('#reached').dataset.reached", "yes"})
			require.Equal(t, counterexample.Result{Choices: len(ours.Choices)}, answer())
		})
	}
}

// chosen are the choices of a schedule, clicked one after the other. The goal is reached with the last one.
func chosen(a locks.Address) (rows []row) {
	for i, choice := range a.Choices {
		do := fmt.Sprintf("click [data-choice=%s] | wait app.play?.length == %d", quoted(choice), i+1)
		rows = append(rows, row{do + " | go s.end", "!!one('#reached')", i == len(a.Choices)-1})
	}
	return rows
}
