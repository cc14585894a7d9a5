package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/docs/exercises/breaking"
	"example.com/zklock/docs/lab/locks"
)

// Exercise 12: a student opens a listing, clicks on what happens next until the
// page says that the goal is reached, and copies the link. The grader takes it.
func TestTheLinkOfASchedulerIsAnAnswer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../exercises/_12-break-this-lock/.solution/" + breaking.File)
	require.NoError(t, err)
	answers, err := breaking.Read(text)
	require.NoError(t, err)
	p := open(t, "#lock=naive&n=2&t=0ns")
	for _, task := range locks.Tasks {
		t.Run(task.Lock.Name, func(t *testing.T) {
			if task.Number > 1 {
			}
			ours, err := locks.ParseAddress(answers[task.Number])
			require.NoError(t, err)
			p := &tab{T: t, ctx: p.ctx}
			p.open(task.Lock.Open().String())
			require.Contains(t, js[string](p, "document.getElementById('goal').textContent"), task.Lock.Goal.En)
			require.NotEmpty(t, breaking.Play(t, task.Number, p.state().Link).Words, "an answer before the first choice")
			for i, choice := range ours.Choices {
				require.False(t, js[bool](p, "!!document.getElementById('reached')"), "before choice %d", i+1)
				p.click(fmt.Sprintf("[data-choice=%s]", quoted(choice)))
				p.await(fmt.Sprintf("lab.app.play && lab.app.play.length == %d", i+1))
				p.settled()
			}
			require.Equal(t, "yes", js[string](p, "document.getElementById('reached').dataset.reached"))
			require.Equal(t, breaking.Result{Choices: len(ours.Choices)}, breaking.Play(t, task.Number, p.state().Link))
		})
	}
}
