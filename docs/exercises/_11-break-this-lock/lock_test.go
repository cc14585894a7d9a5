package breakthis

import (
	"testing"

	"example.com/zklock/internal/grader/counterexample"
)

func TestBreak(t *testing.T) {
	counterexample.Run(t, counterexample.File) // judges each link in answers.txt
}
