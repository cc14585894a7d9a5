package counterexample

import (
	"os"
	"testing"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/lab/locks"
)

// Run is the test of the exercise's folder: it judges the answers in a file, a
// case each.
func Run(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	played := make(map[int]Result)
	for _, task := range locks.Tasks {
		played[task.Number] = Play(t, task.Number, answers[task.Number])
	}
	for _, c := range Cases() {
		t.Run(c.Name.String(), func(t *testing.T) {
			if words := c.Words(played[c.Number]); words.String() != "" {
				t.Error(words.In(i18n.Of("")))
			}
		})
	}
}
